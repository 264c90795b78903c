// How operations of kiln::sparse reach their backend.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <type_traits>

#include "kernels/backend/dispatch.h"
#include "kernels/sparse/host/sparse.h"
#include "kernels/sparse/sparse_rules.h"
#include "kernels/sparse/tile_pattern.h"
#include "kiln/num/kernels.h"

namespace kiln::sparse {

using backend::Array;

inline Array array(std::string name, const float* data, std::vector<Int> shape) {
  return {std::move(name), const_cast<float*>(data), std::move(shape), DType::float32};
}

// The name of an operation with BLAS's letter for its elements.
template <class T>
std::string named(const char* operation) {
  return std::string(std::is_same_v<T, float> ? "s" : "d") + operation;
}

// What an operation is called by. Kernels are for float; others compute natively.
template <class T>
backend::Call call_of(const char* operation, backend::Key key, std::function<isa::Program(Target)> program) {
  return {.library = "SPARSE",
          .operation = named<T>(operation),
          .key = std::move(key),
          .program = std::is_same_v<T, float> ? std::move(program) : nullptr,
          .arrays = {}};
}

template <class T, class Native, class Device>
void dispatch(const char* operation, backend::Key key, std::function<isa::Program(Target)> program, Native&& native,
              Device&& device, bool is_fine_grained = false) {
  backend::Call call = call_of<T>(operation, std::move(key), std::move(program));
  call.is_fine_grained = is_fine_grained;
  if constexpr (std::is_same_v<T, float>) {
    backend::dispatch(std::move(call), native, device);
  } else {
    backend::dispatch(std::move(call), native, [](auto&&) {});
  }
}

template <class T>
std::span<const T> view_of(const T* values, Int count) {
  return {values, static_cast<std::size_t>(count)};
}

// Whether a kernel is to compute with an infinity or NaN, which make NaN of zeros that nobody stored.
template <class T>
bool kernel_meets_infinity(std::initializer_list<std::span<const T>> operands) {
  if (!std::is_same_v<T, float> || backend::current("SPARSE") == backend::Backend::native) return false;
  constexpr std::uint32_t kInfinity = 0x7f800000;
  return std::any_of(operands.begin(), operands.end(), [](std::span<const T> values) {
    return fast_kernels().largest(sizeof(float), values.data(), 1, values.size()) >= kInfinity;
  });
}

// Copies of indices that live as long as somebody may ask for a program. Equal ones have the same number.
struct Kept {
  std::int64_t number;
  std::vector<Int> row_start, column;
  Int largest;                          // of column
  std::vector<std::int32_t> by_length;  // the rows, of each window of kWindow the short ones first
};
inline constexpr Int kWindow = 256;
inline std::string key_of(const Kept& kept) { return fmt::format("indices {} ", kept.number); }
// Those of an earlier call again when they are the same, since comparing is quicker than new memory. Refuses what
// require_indices does; indices that an earlier call brought are not looked at again.
std::shared_ptr<const Kept> keep(const char* what, Int rows, const Int* row_start, const Int* column, Int columns);
// Those of an earlier call with the same starts, and no index beyond `columns`: whether `column` is the same too, the
// caller has to see. Null: there are none.
std::shared_ptr<const Kept> kept_with(Int rows, const Int* row_start, Int columns);

inline void require_size(const char* what, std::initializer_list<Int> sizes) {
  for (const Int s : sizes) {
    if (s < 0 || s > (Int{1} << 31) - 1)
      raise(kernels::sparse_rules::kTable, kernels::sparse_rules::kSize, {.found = fmt::format("{}: {}", what, s)});
  }
}

// Starts ascend from 0, indices are below `size`.
inline void require_indices(const char* what, Int groups, const Int* start, const Int* index, Int size) {
  const auto refuse = [&](const std::string& found) {
    raise(kernels::sparse_rules::kTable, kernels::sparse_rules::kIndex, {.found = fmt::format("{}: {}", what, found)});
  };
  if (start[0] != 0 || !std::is_sorted(start, start + groups + 1)) refuse("starts that do not ascend from 0");
  Int least = 0, most = 0;
  for (Int e = 0; e < start[groups]; ++e) least = std::min(least, index[e]), most = std::max(most, index[e]);
  if (start[groups] > 0 && (least < 0 || most >= size))
    refuse(fmt::format("index {} of {}", least < 0 ? least : most, size));
}

template <class T>
void require_csr(const char* what, const Csr<T>& a) {
  require_size(what, {a.rows, a.columns});
  require_indices(what, a.rows, a.row_start, a.column, a.columns);
}
template <class T>
std::shared_ptr<const Kept> keep(const char* what, const Csr<T>& a) {
  require_size(what, {a.rows, a.columns});
  return keep(what, a.rows, a.row_start, a.column, a.columns);
}

template <class T>
void require_bsr(const char* what, const Bsr<T>& a) {
  require_size(what, {a.rows, a.columns, a.block - 1});
  require_indices(what, a.block_rows(), a.row_start, a.column, (a.columns + a.block - 1) / a.block);
}
template <class T>
std::shared_ptr<const Kept> keep(const char* what, const Bsr<T>& a) {
  require_size(what, {a.rows, a.columns, a.block - 1});
  return keep(what, a.block_rows(), a.row_start, a.column, (a.columns + a.block - 1) / a.block);
}

}  // namespace kiln::sparse
