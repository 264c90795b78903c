#include "kiln/isa/semantics/run.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "kiln/isa/semantics/box.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/rows.h"

namespace kiln::isa {

Tile& Run::add_tile(int param) {
  KILN_ASSERT(tile_count_ < kMaxTiles);
  if (last_param_ != param) slot_[param] = static_cast<std::uint8_t>(tile_count_);
  last_param_ = param;
  return tiles_[tile_count_++];
}

float Run::column(int param, std::int64_t row, float otherwise) const {
  if (!has(param)) return otherwise;
  if (!is_tile(param)) return static_cast<float>(real(param));
  float scratch;
  return *load_row(*this, tile(param), row, 0, 1, &scratch);
}

void Run::fail(const Rule& rule, std::string found) const {
  throw Error(broken(*this, arch(), rule, {.found = std::move(found)}));
}

void Run::warn(const Rule& rule, const std::string& found) const {
  if (warnings && inputs_written)
    warnings->add(execution(), rule.number,
                  [&] { return broken(*this, arch(), rule, {.found = found, .severity = Severity::warning}); });
}

void WarningSink::add(const Execution& execution, int number, FunctionRef<Diagnostic()> make) {
  const auto& [sequence, inst, loops] = execution;
  std::lock_guard lock(mutex_);
  const auto it = found_.find({inst, number});
  if (it != found_.end() && it->second.sequence <= sequence) return;
  found_.insert_or_assign({inst, number}, Entry{sequence, number, {make(), inst, loops ? loops->pass() : Pass{}}});
}

std::vector<WarningSink::Warning> WarningSink::take() {
  std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (auto& [key, entry] : found_) entries.push_back(std::move(entry));
  found_.clear();
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.sequence, a.number) < std::pair(b.sequence, b.number);
  });
  std::vector<Warning> out;
  for (Entry& entry : entries) out.push_back(std::move(entry.warning));
  return out;
}

namespace {

// Elements of short runs are brought together first: a call of a kernel per run costs more than its elements.
constexpr std::int64_t kShortRun = 256;

bool has_short_runs(const Tile& t) {
  return t.column || (t.free_rank > 1 && t.free[t.free_rank - 1].count < kShortRun);
}

template <class Word>
void gather_indexed(const Tile& t, std::int64_t row, std::int64_t first, std::int64_t n, void* out) {
  for_runs(t, row, first, n, [&](std::byte* at, std::int64_t, std::int64_t, std::int64_t position) {
    std::memcpy(static_cast<Word*>(out) + position, at, sizeof(Word));
  });
}

template <class Word>
void scatter_indexed(const Tile& t, std::int64_t row, std::int64_t first, std::int64_t n, const void* words) {
  for_runs(t, row, first, n, [&](std::byte* at, std::int64_t, std::int64_t, std::int64_t position) {
    std::memcpy(at, static_cast<const Word*>(words) + position, sizeof(Word));
  });
}

template <class Word>
void gather_steps(const Tile& t, std::int64_t row, std::int64_t first, std::int64_t n, void* out) {
  const std::int64_t step = t.free_rank ? t.free[0].stride : 1;
  const std::byte* from = t.row(row) + first * step * std::int64_t{sizeof(Word)};
  if (step == 1) return static_cast<void>(std::memcpy(out, from, n * sizeof(Word)));
  move_words<Word>(static_cast<std::byte*>(out), 1, from, step, n);
}

// A row's elements [first, first + n) as boxes, of which the other side has no gaps. Calls fn(box, offset in the row,
// position), both in elements.
template <class Fn>
void for_row_boxes(const Tile& t, std::int64_t first, std::int64_t n, bool gathers, Fn&& fn) {
  constexpr Dim kOne{1, 1};
  const bool one = t.free_rank == 0;
  for_boxes(
      one ? &kOne : t.free, one ? 1 : t.free_rank, first, n,
      [&](std::int64_t offset, std::int64_t position, const Dim* dims, int rank) {
        Box box;
        std::int64_t step = 1;
        for (int d = rank - 1; d >= 0; step *= dims[d--].count) {
          gathers ? box.add({dims[d].count, dims[d].stride, step}) : box.add({dims[d].count, step, dims[d].stride});
        }
        fn(box, offset, position);
      });
}

// Elements [first, first + n) of a row, one after the other.
void gather(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::int64_t n, void* out) {
  const auto size = static_cast<int>(t.element_bytes());
  if (t.column && size == 4) return gather_indexed<std::uint32_t>(t, row, first, n, out);
  if (t.column && size == 2) return gather_indexed<std::uint16_t>(t, row, first, n, out);
  if (t.column) return gather_indexed<std::uint8_t>(t, row, first, n, out);
  if (t.free_rank <= 1 && size == 4) return gather_steps<std::uint32_t>(t, row, first, n, out);
  if (t.free_rank <= 1 && size == 2) return gather_steps<std::uint16_t>(t, row, first, n, out);
  if (t.free_rank <= 1) return gather_steps<std::uint8_t>(t, row, first, n, out);
  for_row_boxes(t, first, n, true, [&](Box& box, std::int64_t offset, std::int64_t position) {
    box.move(r.k, size, t.row(row) + offset * size, static_cast<std::byte*>(out) + position * size);
  });
}

// The opposite.
void scatter(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::int64_t n, const void* words) {
  const auto size = static_cast<int>(t.element_bytes());
  if (t.column && size == 4) return scatter_indexed<std::uint32_t>(t, row, first, n, words);
  if (t.column && size == 2) return scatter_indexed<std::uint16_t>(t, row, first, n, words);
  if (t.column) return scatter_indexed<std::uint8_t>(t, row, first, n, words);
  for_row_boxes(t, first, n, false, [&](Box& box, std::int64_t offset, std::int64_t position) {
    box.move(r.k, size, static_cast<const std::byte*>(words) + position * size, t.row(row) + offset * size);
  });
}

// Calls fn(first, n) for pieces of a row that fit into a buffer of kChunk elements.
template <class Fn>
void for_pieces(std::int64_t first, std::size_t n, Fn&& fn) {
  for (std::size_t done = 0; done < n; done += kChunk)
    fn(first + static_cast<std::int64_t>(done), std::min(kChunk, n - done), done);
}

void load_runs(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n, float* out) {
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.load(t.dtype, at, stride, count, out + position);
  });
}

void load_short_runs(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n, float* out) {
  if (t.dtype == DType::float32) return gather(r, t, row, first, static_cast<std::int64_t>(n), out);
  alignas(64) std::uint32_t words[kChunk];
  gather(r, t, row, first, static_cast<std::int64_t>(n), words);
  if (is_wide_integer(t.dtype) && !stays_exact(words, n)) return load_runs(r, t, row, first, n, out);
  r.k.load(t.dtype, words, 1, n, out);
}

}  // namespace

const float* load_row(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                      float* scratch) {
  if (t.dtype == DType::float32 && t.row_is_contiguous()) return reinterpret_cast<const float*>(t.row(row)) + first;
  if (has_short_runs(t)) {
    for_pieces(first, n, [&](std::int64_t from, std::size_t count, std::size_t done) {
      load_short_runs(r, t, row, from, count, scratch + done);
    });
  } else {
    load_runs(r, t, row, first, n, scratch);
  }
  return scratch;
}

void store_row(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n, const float* values) {
  if (t.dtype == DType::float32 && t.row_is_contiguous() && !t.row_offset)
    return static_cast<void>(std::memmove(reinterpret_cast<float*>(t.row(row)) + first, values, n * sizeof(float)));
  if (has_short_runs(t) && !is_wide_integer(t.dtype)) {
    alignas(64) std::uint32_t words[kChunk];
    return for_pieces(first, n, [&](std::int64_t to, std::size_t count, std::size_t done) {
      if (t.dtype != DType::float32) r.k.store(t.dtype, values + done, count, words, 1);
      const void* from = t.dtype == DType::float32 ? static_cast<const void*>(values + done) : words;
      scatter(r, t, row, to, static_cast<std::int64_t>(count), from);
    });
  }
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.store(t.dtype, values + position, count, at, stride);
  });
}

void load_row_bits(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                   std::uint32_t* out) {
  const int size = size_bytes(t.dtype);
  if (has_short_runs(t)) {
    alignas(64) std::uint32_t words[kChunk];
    return for_pieces(first, n, [&](std::int64_t from, std::size_t count, std::size_t done) {
      gather(r, t, row, from, static_cast<std::int64_t>(count), size == 4 ? out + done : words);
      if (size < 4) r.k.load_bits(size, words, 1, count, out + done);
    });
  }
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.load_bits(size, at, stride, count, out + position);
  });
}

void store_row_bits(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                    const std::uint32_t* bits) {
  const int size = size_bytes(t.dtype);
  if (has_short_runs(t)) {
    alignas(64) std::uint32_t words[kChunk];
    return for_pieces(first, n, [&](std::int64_t to, std::size_t count, std::size_t done) {
      if (size < 4) r.k.store_bits(size, bits + done, count, words, 1);
      scatter(r, t, row, to, static_cast<std::int64_t>(count), size == 4 ? bits + done : words);
    });
  }
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.store_bits(size, bits + position, count, at, stride);
  });
}

const void* load_row_words(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                           void* scratch) {
  if (t.row_is_contiguous()) return t.row(row) + first * t.element_bytes();
  gather(r, t, row, first, static_cast<std::int64_t>(n), scratch);
  return scratch;
}

void store_row_words(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                     const void* words) {
  scatter(r, t, row, first, static_cast<std::int64_t>(n), words);
}

namespace {

// Walks a tile's elements in row-major order as runs.
class Cursor {
 public:
  explicit Cursor(const Tile& t) : t_(t) { open_row(); }
  bool skipping() const { return t_.row_offset && t_.row_offset[row_] == kSkipRow; }
  std::int64_t run() const { return run_left_; }
  std::byte* at() const { return at_; }
  std::int64_t stride() const { return stride_; }
  void advance(std::int64_t n) {
    at_ += n * stride_ * t_.element_bytes();
    run_left_ -= n;
    first_ += n;
    if (run_left_ > 0) return;
    if (first_ == t_.free_size) {
      if (++row_ == t_.rows) return;
      first_ = 0;
      open_row();
    } else {
      open_run();
    }
  }

 private:
  void open_row() {
    if (skipping()) {
      run_left_ = t_.free_size;
      stride_ = 0;
      return;
    }
    open_run();
  }
  void open_run() {
    const std::int64_t inner = t_.column ? 1 : t_.free_rank ? t_.free[t_.free_rank - 1].count : 1;
    const std::int64_t n = inner - first_ % inner;
    for_runs(t_, row_, first_, n, [&](std::byte* at, std::int64_t stride, std::int64_t count, std::int64_t) {
      at_ = at;
      stride_ = stride;
      run_left_ = count;
    });
  }
  const Tile& t_;
  std::int64_t row_ = 0, first_ = 0, run_left_ = 0, stride_ = 1;
  std::byte* at_ = nullptr;
};

void copy_run(const Run& r, const Tile& dst, std::byte* to, std::int64_t to_stride, const Tile& src,
              const std::byte* from, std::int64_t from_stride, std::int64_t n) {
  const int size = size_bytes(dst.dtype);
  if (dst.dtype == src.dtype) {
    if (to_stride == 1 && from_stride == 1) return static_cast<void>(std::memmove(to, from, n * size));
    // Parts of complex numbers, where neither run reaches into the other.
    const bool are_apart = to + n * to_stride * size <= from || from + n * from_stride * size <= to;
    if (size == 4 && are_apart && to_stride == 1 && from_stride == 2)
      return r.k.load_bits(size, from, from_stride, n, reinterpret_cast<std::uint32_t*>(to));
    if (size == 4 && are_apart && to_stride == 2 && from_stride == 1)
      return r.k.store_bits(size, reinterpret_cast<const std::uint32_t*>(from), n, to, to_stride);
    if (size == 4) return move_words<std::uint32_t>(to, to_stride, from, from_stride, n);
    if (size == 2) return move_words<std::uint16_t>(to, to_stride, from, from_stride, n);
    return move_words<std::uint8_t>(to, to_stride, from, from_stride, n);
  }
  const bool may_round = is_wide_integer(src.dtype) || is_wide_integer(dst.dtype);  // which load and store tell
  if (to_stride == 1 && from_stride == 1 && !may_round) return r.k.convert(src.dtype, from, dst.dtype, n, to);
  alignas(64) float values[kChunk];
  for (std::int64_t done = 0; done < n; done += kChunk) {
    const std::int64_t m = std::min<std::int64_t>(kChunk, n - done);
    r.k.load(src.dtype, from + done * from_stride * size_bytes(src.dtype), from_stride, m, values);
    r.k.store(dst.dtype, values, m, to + done * to_stride * size, to_stride);
  }
}

// Whether rows go to rows, and in runs so short that they are better brought together.
bool goes_by_rows(const Tile& dst, const Tile& src) {
  return dst.rows == src.rows && dst.free_size == src.free_size && !dst.row_offset && !src.row_offset &&
         (has_short_runs(dst) || has_short_runs(src));
}

// Where the elements of a row lie, from the first byte to behind the last one.
struct Reach {
  const std::byte *begin, *end;
};
Reach reach_of(const Tile& t, std::int64_t row) {
  std::int64_t first = 0, last = 0;
  for (int d = 0; d < t.free_rank; ++d) {
    const std::int64_t step = t.free[d].stride * (t.free[d].count - 1);
    (step < 0 ? first : last) += step;
  }
  const std::int64_t size = t.element_bytes();
  return {t.row(row) + first * size, t.row(row) + (last + 1) * size};
}

// Whether the elements of one lie apart from those of the other, for certain.
bool are_apart(const Tile& a, const Tile& b) {
  if (a.column || b.column || a.row_offset || b.row_offset || a.row_bytes < 0 || b.row_bytes < 0) return false;
  const Reach x = reach_of(a, 0), y = reach_of(b, 0);
  const std::byte *end_x = x.end + (a.rows - 1) * a.row_bytes, *end_y = y.end + (b.rows - 1) * b.row_bytes;
  if (end_x <= y.begin || end_y <= x.begin) return true;
  const bool rows_are_apart = x.end <= y.begin || y.end <= x.begin;  // side by side in rows of the same memory
  return rows_are_apart && a.row_bytes == b.row_bytes &&
         std::max(x.end, y.end) - std::min(x.begin, y.begin) <= a.row_bytes;
}

// Whole rows from or to where an index says; the processor cannot guess the next one, so it is asked for early.
bool copy_indexed_rows(const Tile& dst, const Tile& src) {
  if (dst.dtype != src.dtype || dst.rows != src.rows || dst.free_size != src.free_size || !dst.row_is_contiguous() ||
      !src.row_is_contiguous() || !(dst.row_offset || src.row_offset))
    return false;
  constexpr std::int64_t kLine = 64, kBytesAhead = 2048;
  const std::int64_t bytes = src.free_size * src.element_bytes();
  const std::int64_t ahead = std::clamp<std::int64_t>(kBytesAhead / std::max<std::int64_t>(bytes, 1), 2, 16);  // rows
  const auto skips = [](const Tile& t, std::int64_t row) { return t.row_offset && t.row_offset[row] == kSkipRow; };
  for (std::int64_t row = 0; row < dst.rows; ++row) {
    if (row + ahead < src.rows && !skips(src, row + ahead)) {
      for (std::int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(src.row(row + ahead) + at, 0, 3);
    }
    if (!skips(dst, row) && !skips(src, row)) std::memmove(dst.row(row), src.row(row), bytes);
  }
  return true;
}

// Short rows of another dtype, many at a time; false for others.
bool convert_short_rows(const Run& r, const Tile& dst, const Tile& src) {
  constexpr std::int64_t kShortRow = 64;
  if (dst.dtype == src.dtype || dst.rows != src.rows || dst.free_size != src.free_size || dst.free_size >= kShortRow ||
      !is_regular(dst) || !is_regular(src) || !are_apart(dst, src))
    return false;
  alignas(64) float between[kChunk];
  Rows to(r, dst), from(r, src);
  const std::int64_t block = static_cast<std::int64_t>(kChunk) / dst.free_size;
  for (std::int64_t row = 0; row < dst.rows; row += block) {
    const std::int64_t rows = std::min(block, dst.rows - row);
    float* const in_place = to.floats(row);
    const float* values = from.load(row, rows, in_place ? in_place : between);
    if (!in_place) to.store(row, rows, values);
  }
  return true;
}

void copy_row(const Run& r, const Tile& dst, const Tile& src, std::int64_t row) {
  if (dst.dtype == src.dtype && dst.row_is_contiguous() && are_apart(dst, src))
    return gather(r, src, row, 0, dst.free_size, dst.row(row));
  alignas(64) std::uint32_t words[kChunk];
  alignas(64) float values[kChunk];
  for_pieces(0, dst.free_size, [&](std::int64_t first, std::size_t count, std::size_t) {
    if (dst.dtype == src.dtype) {
      gather(r, src, row, first, static_cast<std::int64_t>(count), words);
      scatter(r, dst, row, first, static_cast<std::int64_t>(count), words);
    } else {
      store_row(r, dst, row, first, count, load_row(r, src, row, first, count, values));
    }
  });
}

}  // namespace

void follow_memory(Tile& dst, Tile& a, Tile& b) {
  constexpr std::int64_t kNarrow = 64;  // wider ones are as well read by columns
  const Dim across = a.free[0], down = a.free[1];
  const auto regular = [](const Tile& t) { return !t.row_offset && !t.column; };
  const auto by_columns = [&](const Tile& t) {
    return regular(t) && t.free_rank == 2 && std::equal(t.free, t.free + 2, a.free) && across.stride == 1 &&
           down.stride == across.count && across.count < kNarrow;
  };
  if (dst.rows == 0 || !by_columns(a) || !by_columns(b) || !regular(dst) || !dst.row_is_contiguous() ||
      dst.row_bytes <= 0 || a.row_bytes <= 0 || b.row_bytes <= 0 || !are_apart(dst, a) || !are_apart(dst, b))
    return;
  for (Tile* t : {&a, &b}) t->free_rank = 1, t->free[0] = {1, t->free_size};
  dst.free_rank = 2;
  dst.free[0] = {1, down.count};
  dst.free[1] = {down.count, across.count};
}

namespace {

// One row that becomes a column, or a column that becomes a row; false for others.
bool transpose_vector(const Tile& dst, const Tile& src) {
  struct Vector {
    std::byte* data;
    std::int64_t step, bytes;  // from one element to the next, and of all of them
  };
  const std::int64_t n = src.count(), size = src.element_bytes();
  const auto vector_of = [&](const Tile& t) -> std::optional<Vector> {
    if (t.row_offset || t.column || t.free_rank > 1 || (t.rows > 1 && t.free_size > 1)) return std::nullopt;
    const std::int64_t bytes = t.rows > 1 ? t.row_bytes : (t.free_rank ? t.free[0].stride : 1) * size;
    if (bytes <= 0 || bytes % size) return std::nullopt;
    return Vector{t.data, bytes / size, (n - 1) * bytes + size};
  };
  const std::optional<Vector> to = vector_of(dst), from = vector_of(src);
  if (!to || !from || (to->data < from->data + from->bytes && from->data < to->data + to->bytes)) return false;
  if (size == 4) return move_words<std::uint32_t>(to->data, to->step, from->data, from->step, n), true;
  if (size == 2) return move_words<std::uint16_t>(to->data, to->step, from->data, from->step, n), true;
  return move_words<std::uint8_t>(to->data, to->step, from->data, from->step, n), true;
}

}  // namespace

void transpose_elements(const Run& r, const Tile& dst, const Tile& src) {
  const std::int64_t size = src.element_bytes();
  if ((src.rows == 1 || src.free_size == 1) && transpose_vector(dst, src)) return;
  const auto regular = [&](const Tile& t) { return t.row_is_contiguous() && !t.row_offset && t.row_bytes % size == 0; };
  if (regular(dst) && regular(src) && dst.data != src.data)
    return r.k.transpose(static_cast<int>(size), src.data, src.row_bytes / size, dst.data, dst.row_bytes / size,
                         src.rows, src.free_size);
  std::vector<std::uint32_t> bits(src.count()), column(src.rows);
  for (std::int64_t p = 0; p < src.rows; ++p)
    load_row_bits(r, src, p, 0, src.free_size, bits.data() + p * src.free_size);
  for (std::int64_t f = 0; f < dst.rows; ++f) {
    for (std::int64_t p = 0; p < src.rows; ++p) column[p] = bits[p * src.free_size + f];
    store_row_bits(r, dst, f, 0, dst.free_size, column.data());
  }
}

void copy_elements(const Run& r, const Tile& dst, const Tile& src) {
  if (dst.count() == 0) return;
  if (dst.is_dense() && src.is_dense()) return copy_run(r, dst, dst.data, 1, src, src.data, 1, dst.count());
  if (dst.dtype == src.dtype && are_apart(dst, src)) {
    if (std::optional<Box> box = box_between(dst, src))
      return box->move(r.k, static_cast<int>(dst.element_bytes()), src.data, dst.data);
  }
  if (convert_short_rows(r, dst, src)) return;
  if (goes_by_rows(dst, src)) {
    for (std::int64_t row = 0; row < dst.rows; ++row) copy_row(r, dst, src, row);
    return;
  }
  if (copy_indexed_rows(dst, src)) return;
  Cursor to(dst), from(src);
  for (std::int64_t left = dst.count(); left > 0;) {
    const std::int64_t n = std::min(to.run(), from.run());
    if (!to.skipping() && !from.skipping()) copy_run(r, dst, to.at(), to.stride(), src, from.at(), from.stride(), n);
    to.advance(n);
    from.advance(n);
    left -= n;
  }
}

}  // namespace kiln::isa
