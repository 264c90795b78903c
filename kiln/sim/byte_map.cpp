#include "kiln/sim/byte_map.h"

#include <algorithm>
#include <cstring>

namespace kiln::sim {
namespace {
bool is_clean(const auto& page) { return !page.bytes && page.value == 0; }

// In short pieces, whose counts fit into the bytes of a vector.
std::int32_t count_set(const std::uint8_t* b, std::int64_t n) {
  constexpr std::int64_t kPiece = 128;
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < n; i += kPiece) {
    const std::int64_t end = std::min(i + kPiece, n);
    std::uint8_t in_piece = 0;
    for (std::int64_t j = i; j < end; ++j) in_piece += b[j] != 0;
    count += in_piece;
  }
  return count;
}
}  // namespace

void ByteMap::reset(std::int64_t size, std::uint8_t value) {
  size_ = size;
  uniform_ = true;
  value_ = value;
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
}

void ByteMap::fill_page(Page& page, std::int64_t size, std::int64_t begin, std::int64_t end, std::uint8_t value) {
  if (begin == 0 && end == size) {
    page.bytes.reset();
    page.value = value;
    return;
  }
  if (!page.bytes) {
    if (page.value == value) return;
    page.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(size);
    std::memset(page.bytes.get(), page.value, size);
    page.nonzero = page.value ? static_cast<std::int32_t>(size) : 0;
  }
  std::uint8_t* b = page.bytes.get();
  page.nonzero -= count_set(b + begin, end - begin);
  std::memset(b + begin, value, end - begin);
  if (value) page.nonzero += static_cast<std::int32_t>(end - begin);
  if (page.nonzero == 0) {
    page.bytes.reset();
    page.value = 0;
  }
}

void ByteMap::fill(std::int64_t begin, std::int64_t end, std::uint8_t value) {
  if (begin >= end || is_uniform(value)) return;
  if (begin == 0 && end == size_) return reset(size_, value);
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

std::uint8_t ByteMap::at(std::int64_t i) const {
  if (uniform_) return value_;
  const Page& page = pages_[i / kPage];
  return page.bytes ? page.bytes[i % kPage] : page.value;
}

bool ByteMap::all(std::int64_t begin, std::int64_t end, std::uint8_t value) const {
  if (uniform_) return value_ == value || begin >= end;
  for (std::int64_t at = begin; at < end;) {
    const std::size_t i = at / kPage;
    const std::int64_t base = static_cast<std::int64_t>(i) * kPage;
    const std::int64_t stop = std::min(end, base + page_size(i));
    const Page& page = pages_[i];
    if (!page.bytes && page.value != value) return false;
    if (page.bytes) {
      const std::uint8_t* b = page.bytes.get() + (at - base);
      if (b[0] != value || std::memcmp(b, b + 1, stop - at - 1) != 0) return false;
    }
    at = stop;
  }
  return true;
}

std::uint8_t ByteMap::first_nonzero(std::int64_t begin, std::int64_t end) const {
  if (uniform_) return begin < end ? value_ : 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (const std::uint8_t v = at(i)) return v;
  }
  return 0;
}

std::int64_t ByteMap::count_nonzero() const {
  if (uniform_) return value_ ? size_ : 0;
  std::int64_t n = 0;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const Page& page = pages_[i];
    n += page.bytes ? page.nonzero : page.value ? page_size(i) : 0;
  }
  return n;
}

std::int64_t ByteMap::find_nonzero() const {
  if (uniform_) return value_ ? 0 : size_;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (is_clean(pages_[i])) continue;
    std::int64_t found = static_cast<std::int64_t>(i) * kPage;
    while (at(found) == 0) ++found;  // a page that is not clean has one
    return found;
  }
  return size_;
}

}  // namespace kiln::sim
