#include "kiln/isa/semantics/run.h"

#include <algorithm>
#include <cstring>

#include "kiln/isa/semantics/check.h"

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

const float* load_row(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                      float* scratch) {
  if (t.dtype == DType::float32 && t.row_is_contiguous()) return reinterpret_cast<const float*>(t.row(row)) + first;
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.load(t.dtype, at, stride, count, scratch + position);
  });
  return scratch;
}

void store_row(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n, const float* values) {
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.store(t.dtype, values + position, count, at, stride);
  });
}

void load_row_bits(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                   std::uint32_t* out) {
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.load_bits(size_bytes(t.dtype), at, stride, count, out + position);
  });
}

void store_row_bits(const Run& r, const Tile& t, std::int64_t row, std::int64_t first, std::size_t n,
                    const std::uint32_t* bits) {
  for_runs(t, row, first, static_cast<std::int64_t>(n), [&](std::byte* at, auto stride, auto count, auto position) {
    r.k.store_bits(size_bytes(t.dtype), bits + position, count, at, stride);
  });
}

void map_rows(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, bool by_row,
              FunctionRef<void(const RowChunk&)> body) {
  alignas(64) float scratch[3][kChunk];
  alignas(64) float result[kChunk];
  bool dense = !by_row && dst.is_dense();
  for (const Tile* t : inputs) dense &= t->is_dense();
  // Dense tiles are one long row: same elements, same order, fewer and longer pieces.
  Tile flat_dst = dst, flat[3];
  std::size_t input_count = 0;
  for (const Tile* t : inputs) flat[input_count++] = *t;
  const auto flatten = [&](Tile& t) {
    t.free_size *= t.rows;
    t.rows = 1;
    t.free_rank = 1;
    t.free[0] = {1, t.free_size};
  };
  if (dense) {
    flatten(flat_dst);
    for (std::size_t i = 0; i < input_count; ++i) flatten(flat[i]);
  }
  const bool direct = dst.dtype == DType::float32 && dst.row_is_contiguous();
  for (std::int64_t row = 0; row < flat_dst.rows; ++row) {
    for (std::int64_t first = 0; first < flat_dst.free_size; first += kChunk) {
      RowChunk chunk{row, first, std::min<std::size_t>(kChunk, flat_dst.free_size - first), {}, result};
      for (std::size_t i = 0; i < input_count; ++i) chunk.in[i] = load_row(r, flat[i], row, first, chunk.n, scratch[i]);
      if (direct) chunk.out = reinterpret_cast<float*>(flat_dst.row(row)) + first;
      body(chunk);
      if (!direct) store_row(r, flat_dst, row, first, chunk.n, result);
    }
  }
}

void map_and_fold(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, AluOp op, float* acc,
                  FunctionRef<void(const RowChunk&)> body) {
  constexpr std::size_t kRows = 16, kColumns = 256;  // folded together: folds are fast across rows
  alignas(64) float scratch[3][kColumns];
  alignas(64) float results[kRows][kColumns];
  for (std::int64_t block = 0; block < dst.rows; block += kRows) {
    const std::size_t rows = std::min<std::size_t>(kRows, dst.rows - block);
    for (std::int64_t first = 0; first < dst.free_size; first += kColumns) {
      const std::size_t n = std::min<std::size_t>(kColumns, dst.free_size - first);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::int64_t row = block + static_cast<std::int64_t>(i);
        RowChunk chunk{row, first, n, {}, results[i]};
        int k = 0;
        for (const Tile* t : inputs) chunk.in[k] = load_row(r, *t, row, first, n, scratch[k]), ++k;
        body(chunk);
        store_row(r, dst, row, first, n, results[i]);
      }
      r.k.fold_rows(op, results[0], kColumns, rows, n, acc + block);
    }
  }
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
  if (dst.dtype == src.dtype && to_stride == 1 && from_stride == 1) {
    std::memmove(to, from, n * size);
    return;
  }
  alignas(64) std::uint32_t bits[kChunk];
  alignas(64) float values[kChunk];
  for (std::int64_t done = 0; done < n; done += kChunk) {
    const std::int64_t m = std::min<std::int64_t>(kChunk, n - done);
    const std::byte* source = from + done * from_stride * size_bytes(src.dtype);
    std::byte* target = to + done * to_stride * size;
    if (dst.dtype == src.dtype) {
      r.k.load_bits(size, source, from_stride, m, bits);
      r.k.store_bits(size, bits, m, target, to_stride);
    } else {
      r.k.load(src.dtype, source, from_stride, m, values);
      r.k.store(dst.dtype, values, m, target, to_stride);
    }
  }
}

}  // namespace

void copy_elements(const Run& r, const Tile& dst, const Tile& src) {
  if (dst.count() == 0) return;
  if (dst.dtype == src.dtype && dst.is_dense() && src.is_dense()) {
    std::memmove(dst.data, src.data, dst.count() * dst.element_bytes());
    return;
  }
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
