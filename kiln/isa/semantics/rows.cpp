#include "kiln/isa/semantics/rows.h"

#include <algorithm>
#include <cstring>

namespace kiln::isa {

bool stays_exact(const std::uint32_t* words, std::size_t n) {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < n; ++i) all |= words[i];
  return all < 1u << 24;
}

Box& Rows::box(std::int64_t rows, bool gathers) {
  if (box_rows_ == rows) return box_;
  box_ = Box();
  std::int64_t step = 1;
  const auto add = [&](const Dim& d) {
    gathers ? box_.add({d.count, d.stride, step}) : box_.add({d.count, step, d.stride});
    step *= d.count;
  };
  for (int d = tile_.free_rank - 1; d >= 0; --d) add(tile_.free[d]);
  add({tile_.row_bytes / size_, rows});
  box_rows_ = rows;
  return box_;
}

const float* Rows::load(std::int64_t row, std::int64_t rows, float* scratch) {
  if (const float* in_place = floats(row)) return in_place;
  const std::int64_t n = rows * tile_.free_size;
  if (is_dense_) {
    r_.k.load(tile_.dtype, tile_.row(row), 1, n, scratch);
    return scratch;
  }
  if (is_regular() && tile_.dtype == DType::float32) {
    box(rows, true).move(r_.k, size_, tile_.row(row), reinterpret_cast<std::byte*>(scratch));
    return scratch;
  }
  if (is_regular()) {
    alignas(64) std::uint32_t words[kChunk];
    load_words(row, rows, words);
    if (!is_wide_integer(tile_.dtype) || stays_exact(words, n)) {
      r_.k.load(tile_.dtype, words, 1, n, scratch);
      return scratch;
    }
  }
  float* to = scratch;
  for (std::int64_t i = 0; i < rows; ++i, to += tile_.free_size) {
    const float* from = load_row(r_, tile_, row + i, 0, tile_.free_size, to);
    if (from != to) std::copy_n(from, tile_.free_size, to);
  }
  return scratch;
}

void Rows::store(std::int64_t row, std::int64_t rows, const float* values) {
  const std::int64_t n = rows * tile_.free_size;
  if (is_dense_) return r_.k.store(tile_.dtype, values, n, tile_.row(row), 1);
  if (!is_regular() || is_wide_integer(tile_.dtype)) {
    for (std::int64_t i = 0; i < rows; ++i)
      store_row(r_, tile_, row + i, 0, tile_.free_size, values + i * tile_.free_size);
    return;
  }
  if (tile_.dtype == DType::float32) return store_words(row, rows, values);
  alignas(64) std::uint32_t words[kChunk];
  r_.k.store(tile_.dtype, values, n, words, 1);
  store_words(row, rows, words);
}

const void* Rows::load_words(std::int64_t row, std::int64_t rows, void* scratch) {
  if (is_dense_) return tile_.row(row);
  auto* to = static_cast<std::byte*>(scratch);
  if (is_regular()) {
    box(rows, true).move(r_.k, size_, tile_.row(row), to);
    return scratch;
  }
  const std::int64_t bytes = tile_.free_size * size_;
  for (std::int64_t i = 0; i < rows; ++i) {
    const void* from = load_row_words(r_, tile_, row + i, 0, tile_.free_size, to + i * bytes);
    if (from != to + i * bytes) std::memcpy(to + i * bytes, from, bytes);
  }
  return scratch;
}

void Rows::store_words(std::int64_t row, std::int64_t rows, const void* words) {
  const std::int64_t bytes = tile_.free_size * size_;
  const auto* from = static_cast<const std::byte*>(words);
  if (is_dense_) return static_cast<void>(std::memcpy(tile_.row(row), words, rows * bytes));
  if (is_regular()) return box(rows, false).move(r_.k, size_, from, tile_.row(row));
  for (std::int64_t i = 0; i < rows; ++i) store_row_words(r_, tile_, row + i, 0, tile_.free_size, from + i * bytes);
}

const std::uint32_t* Rows::load_bits(std::int64_t row, std::int64_t rows, std::uint32_t* scratch) {
  if (size_ == 4) return static_cast<const std::uint32_t*>(load_words(row, rows, scratch));
  alignas(64) std::uint16_t words[kChunk];
  r_.k.load_bits(size_, load_words(row, rows, words), 1, rows * tile_.free_size, scratch);
  return scratch;
}

void Rows::store_bits(std::int64_t row, std::int64_t rows, const std::uint32_t* bits) {
  if (size_ == 4) return store_words(row, rows, bits);
  const std::int64_t n = rows * tile_.free_size;
  if (is_dense_) return r_.k.store_bits(size_, bits, n, tile_.row(row), 1);
  alignas(64) std::uint16_t words[kChunk];
  r_.k.store_bits(size_, bits, n, words, 1);
  store_words(row, rows, words);
}

}  // namespace kiln::isa
