#include "kiln/sim/byte_map.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln::sim {
namespace {
bool is_clean(const auto& page) { return !page.units && page.value == 0; }

constexpr std::int64_t units_of(std::int64_t bytes, int shift) {
  return (bytes + (std::int64_t{1} << shift) - 1) >> shift;
}

constexpr int kMixed = -1;

// How many bytes of a word have their highest bit, and no other one.
template <class Word>
std::int32_t count_marks(Word marks) {
  constexpr std::uint64_t kOnes = Word(~Word{0}) / 0xff;
  return static_cast<std::int32_t>(static_cast<Word>((marks >> 7) * kOnes) >> (8 * (sizeof(Word) - 1)));
}

// Writes words of equal bytes, `step` bytes apart; returns by how much the number of bytes that are not 0 grows. All
// were `before`, or kMixed.
template <class Word>
std::int32_t change(std::uint8_t* b, std::int64_t step, std::int64_t count, std::uint8_t value, int before) {
  constexpr Word kOnes = static_cast<Word>(Word(~Word{0}) / 0xff);
  constexpr Word kLow = static_cast<Word>(kOnes * 0x7f), kHigh = static_cast<Word>(kOnes * 0x80);
  const Word filled = static_cast<Word>(kOnes * value);
  const std::int32_t set = value ? sizeof(Word) : 0;
  if (before != kMixed) {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(b + i * step, &filled, sizeof filled);
    return (set - (before ? static_cast<std::int32_t>(sizeof(Word)) : 0)) * static_cast<std::int32_t>(count);
  }
  std::int32_t grown = 0;
  for (std::int64_t i = 0; i < count; ++i, b += step) {
    Word word;
    std::memcpy(&word, b, sizeof word);
    const auto marks = static_cast<Word>((static_cast<Word>((word & kLow) + kLow) | word) & kHigh);  // a bit per byte
    grown += set - count_marks(marks);
    std::memcpy(b, &filled, sizeof word);
  }
  return grown;
}

// In short pieces, whose counts fit into the bytes of a vector.
std::int32_t count_set(const std::uint8_t* b, std::int64_t n) {
  constexpr std::int64_t kPiece = 128;
  std::int32_t count = 0;
  for (; n >= kPiece; b += kPiece, n -= kPiece) {
    std::uint8_t in_piece = 0;
    for (std::int64_t j = 0; j < kPiece; ++j) in_piece += b[j] != 0;
    count += in_piece;
  }
  for (; n > 0; ++b, --n) count += *b != 0;
  return count;
}
}  // namespace

void ByteMap::reset(std::int64_t size, std::uint8_t value) {
  size_ = size;
  uniform_ = true;
  value_ = value;
  patches_.clear();
  pages_.clear();
}

std::int64_t ByteMap::page_size(std::size_t i) const {
  return std::min(kPage, size_ - static_cast<std::int64_t>(i) * kPage);
}

void ByteMap::spread() {
  pages_.resize((size_ + kPage - 1) / kPage);
  for (Page& page : pages_) page.value = value_;
  clean_pages_ = value_ == 0 ? pages_.size() : 0;
  uniform_ = false;
  for (const SpacedRanges& patch : std::exchange(patches_, {})) {
    patch.for_groups([&](std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count) {
      fill_pages_spaced(begin, bytes, step, count, patch_value_);
    });
  }
}

void ByteMap::fill_page(Page& page, std::int64_t size, std::int64_t begin, std::int64_t end, std::uint8_t value) {
  if (begin == 0 && end == size) {
    page.units.reset();
    page.value = value;
    return;
  }
  if (!page.units && page.value == value) return;
  const auto is_whole = [](std::int64_t bytes) { return bytes % (std::int64_t{1} << kLine) == 0; };
  store(page, size, is_whole(begin) && (is_whole(end) || end == size) ? kLine : 0);
  const std::int64_t first = begin >> page.shift, count = units_of(end, page.shift) - first;
  std::uint8_t* b = page.units.get() + first;
  page.nonzero -= count_set(b, count);
  std::memset(b, value, count);
  if (value) page.nonzero += static_cast<std::int32_t>(count);
  if (page.nonzero == 0) {
    page.units.reset();
    page.value = 0;
  }
}

// In units of 2^shift bytes, or shorter ones when it has them.
void ByteMap::store(Page& page, std::int64_t size, int shift) {
  if (page.units && page.shift <= shift) return;
  const std::int64_t count = units_of(size, shift);
  auto units = std::make_unique_for_overwrite<std::uint8_t[]>(count);
  if (!page.units) {
    std::memset(units.get(), page.value, count);
    page.nonzero = page.value ? static_cast<std::int32_t>(count) : 0;
  } else {  // by bytes from now on
    for (std::int64_t i = 0; i < count; ++i) units[i] = page.units[i >> page.shift];
    page.nonzero = static_cast<std::int32_t>(nonzero_bytes(page, size));
  }
  page.units = std::move(units);
  page.shift = static_cast<std::uint8_t>(shift);
}

// The last line may be a part of one.
std::int64_t ByteMap::nonzero_bytes(const Page& page, std::int64_t size) {
  if (!page.units) return page.value ? size : 0;
  const std::int64_t count = units_of(size, page.shift), all = std::int64_t{page.nonzero} << page.shift;
  return page.units[count - 1] ? all - ((count << page.shift) - size) : all;
}

void ByteMap::fill(std::int64_t begin, std::int64_t end, std::uint8_t value) {
  if (begin < end && !fill_lines(begin, end, value)) fill(SpacedRanges{begin, end - begin}, value);
}

// Some lines of a page that has others: what rows anywhere in a tensor mostly are. False for the rest.
bool ByteMap::fill_lines(std::int64_t begin, std::int64_t end, std::uint8_t value) {
  constexpr std::int64_t kInLine = (std::int64_t{1} << kLine) - 1;
  if (pages_.empty() || ((begin | end) & kInLine) != 0 || begin / kPage != (end - 1) / kPage) return false;
  Page& page = pages_[begin / kPage];
  if (!page.units || page.shift != kLine) return false;
  std::uint8_t* b = page.units.get() + (begin % kPage >> kLine);
  const std::int64_t count = (end - begin) >> kLine;
  for (std::int64_t i = 0; i < count; ++i) {
    page.nonzero += (value != 0) - (b[i] != 0);
    b[i] = value;
  }
  if (page.nonzero > 0) return true;
  page.units.reset();
  page.value = 0;
  if (++clean_pages_ == pages_.size()) reset(size_, 0);
  return true;
}

void ByteMap::fill(SpacedRanges ranges, std::uint8_t value) {
  if (ranges.bytes <= 0 || is_uniform(value)) return;
  ranges.join();
  if (ranges.bytes == size_) return reset(size_, value);
  if (pages_.empty()) {
    if (add_patch(ranges, value)) return;
    spread();
  }
  ranges.for_groups([&](std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count) {
    fill_pages_spaced(begin, bytes, step, count, value);
  });
}

void ByteMap::fill_pages(std::int64_t begin, std::int64_t end, std::uint8_t value) {
  if (is_uniform(value)) return;
  if (uniform_) spread();
  for (std::int64_t at = begin; at < end;) {
    const std::size_t i = at / kPage;
    const std::int64_t base = static_cast<std::int64_t>(i) * kPage;
    const std::int64_t stop = std::min(end, base + page_size(i));
    const bool was_clean = is_clean(pages_[i]);
    fill_page(pages_[i], page_size(i), at - base, stop - base, value);
    clean_pages_ += is_clean(pages_[i]) - was_clean;
    at = stop;
  }
  if (clean_pages_ == pages_.size()) reset(size_, 0);
}

// A page at a time, whose bytes are at hand for all of its ranges.
void ByteMap::fill_pages_spaced(std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count,
                                std::uint8_t value) {
  if (count == 1 || (bytes != 1 && bytes != 2 && bytes != 4)) {
    for (std::int64_t i = 0; i < count; ++i) fill_pages(begin + i * step, begin + i * step + bytes, value);
    return;
  }
  if (is_uniform(value)) return;
  if (uniform_) spread();
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t at = begin + i * step;
    const std::size_t p = at / kPage;
    const std::int64_t base = static_cast<std::int64_t>(p) * kPage, in_page = base + page_size(p) - bytes - at;
    if (in_page < 0) {  // a range over the end of a page
      fill_pages(at, at + bytes, value);
      if (is_uniform(value)) return;
      if (uniform_) spread();
      ++i;
      continue;
    }
    const std::int64_t n = std::min(count - i, in_page / step + 1);
    const bool was_clean = is_clean(pages_[p]);
    fill_spaced_page(pages_[p], page_size(p), at - base, bytes, step, n, value);
    clean_pages_ += is_clean(pages_[p]) - was_clean;
    i += n;
  }
  if (clean_pages_ == pages_.size()) reset(size_, 0);
}

void ByteMap::fill_spaced_page(Page& page, std::int64_t size, std::int64_t begin, std::int64_t bytes, std::int64_t step,
                               std::int64_t count, std::uint8_t value) {
  if (!page.units && page.value == value) return;
  const bool was_uniform = !page.units;
  store(page, size, 0);
  std::uint8_t* b = page.units.get() + begin;
  const auto write = bytes == 4 ? &change<std::uint32_t> : bytes == 2 ? &change<std::uint16_t> : &change<std::uint8_t>;
  const std::int32_t nonzero = page.nonzero + write(b, step, count, value, was_uniform ? page.value : kMixed);
  page.nonzero = nonzero;
  if (nonzero) return;
  page.units.reset();
  page.value = 0;
}

std::uint8_t ByteMap::at(std::int64_t i) const {
  if (pages_.empty()) return covered(i, i + 1) ? patch_value_ : value_;
  const Page& page = pages_[i / kPage];
  return page.units ? page.units[i % kPage >> page.shift] : page.value;
}

bool ByteMap::all(std::int64_t begin, std::int64_t end, std::uint8_t value) const {
  if (uniform_ || begin >= end) return value_ == value || begin >= end;
  if (pages_.empty()) {
    const std::int64_t in_patches = covered(begin, end);
    return in_patches == end - begin ? patch_value_ == value : in_patches == 0 && value_ == value;
  }
  for (std::int64_t at = begin; at < end;) {
    const std::size_t i = at / kPage;
    const std::int64_t base = static_cast<std::int64_t>(i) * kPage;
    const std::int64_t stop = std::min(end, base + page_size(i));
    const Page& page = pages_[i];
    if (!page.units && page.value != value) return false;
    if (page.units) {
      const std::int64_t first = (at - base) >> page.shift, count = units_of(stop - base, page.shift) - first;
      const std::uint8_t* b = page.units.get() + first;
      if (b[0] != value || std::memcmp(b, b + 1, count - 1) != 0) return false;
    }
    at = stop;
  }
  return true;
}

// Ranges are mostly in one patch, or in none.
bool ByteMap::all(SpacedRanges ranges, std::uint8_t value) const {
  if (ranges.bytes <= 0) return true;
  if (uniform_) return value_ == value;
  ranges.join();
  if (ranges.rank == 0) return all(ranges.begin, ranges.end(), value);
  if (pages_.empty()) {
    if (std::ranges::any_of(patches_, [&](const SpacedRanges& p) { return p.holds(ranges); }))
      return patch_value_ == value;
    if (std::ranges::all_of(patches_, [&](const SpacedRanges& p) { return p.is_apart(ranges); }))
      return value_ == value;
  }
  bool same = true;
  ranges.for_groups([&](std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count) {
    for (std::int64_t i = 0; same && i < count; ++i) same = all(begin + i * step, begin + i * step + bytes, value);
  });
  return same;
}

void ByteMap::copy(std::int64_t begin, std::int64_t end, std::uint8_t* out) const {
  if (pages_.empty()) {
    std::memset(out, value_, end - begin);
    for (const SpacedRanges& patch : patches_) patch.put(patch_value_, begin, end, out);
    return;
  }
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t base = at / kPage * kPage, stop = std::min(end, base + kPage);
    const Page& page = pages_[at / kPage];
    std::uint8_t* to = out + (at - begin);
    if (!page.units) {
      std::memset(to, page.value, stop - at);
    } else if (page.shift == 0) {
      std::memcpy(to, page.units.get() + (at - base), stop - at);
    } else {
      for (std::int64_t i = at - base, end; i < stop - base; to += end - i, i = end) {
        end = std::min(((i >> page.shift) + 1) << page.shift, stop - base);
        std::memset(to, page.units[i >> page.shift], end - i);
      }
    }
    at = stop;
  }
}

std::uint8_t ByteMap::first_nonzero(std::int64_t begin, std::int64_t end) const {
  if (uniform_ || begin >= end) return begin < end ? value_ : 0;
  if (pages_.empty()) {
    const std::int64_t in_patches = covered(begin, end);
    if (in_patches == 0 || in_patches == end - begin) return in_patches ? patch_value_ : value_;
  }
  constexpr std::int64_t kFew = 8, kPiece = 256;
  for (std::int64_t i = begin; i < end && end - begin <= kFew; ++i) {
    if (const std::uint8_t v = at(i)) return v;
  }
  std::uint8_t piece[kPiece];
  for (std::int64_t i = begin; i < end && end - begin > kFew; i += kPiece) {
    const std::int64_t count = std::min(kPiece, end - i);
    copy(i, i + count, piece);
    const std::uint8_t* const found = std::find_if(piece, piece + count, [](std::uint8_t b) { return b != 0; });
    if (found != piece + count) return *found;
  }
  return 0;
}

std::int64_t ByteMap::count_nonzero() const {
  if (pages_.empty()) {
    const std::int64_t in_patches = covered(0, size_);
    return (patch_value_ ? in_patches : 0) + (value_ ? size_ - in_patches : 0);
  }
  std::int64_t n = 0;
  for (std::size_t i = 0; i < pages_.size(); ++i) n += nonzero_bytes(pages_[i], page_size(i));
  return n;
}

std::int64_t ByteMap::find_nonzero() const {
  if (uniform_) return value_ ? 0 : size_;
  if (pages_.empty()) return find_nonzero_in_patches();
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (is_clean(pages_[i])) continue;
    std::int64_t found = static_cast<std::int64_t>(i) * kPage;
    while (at(found) == 0) ++found;  // a page that is not clean has one
    return found;
  }
  return size_;
}

}  // namespace kiln::sim
