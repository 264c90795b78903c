// The caller's vectors and matrices as the dense arrays that cross to a device, and results on their way back. What
// lies dense already is not copied.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/blas/host/types.h"

namespace kiln::blas {

// An array that programs read: the caller's memory, or a copy.
template <class T>
struct Packed {
  std::vector<T> own;
  const T* callers = nullptr;
  const T* data() const { return callers ? callers : own.data(); }
};

// The first element in memory of a vector with a negative increment is its last one.
template <class P>
P first_element(P x, Int n, Int inc) {
  return inc < 0 ? x - (n - 1) * inc : x;
}

template <class T>
T conj_if(T v, bool conjugate) {
  if constexpr (is_complex<T>) return conjugate ? std::conj(v) : v;
  return v;
}

// A vector as kernels take it, `inc` apart and inc positive.
template <class T>
struct InVector {
  Packed<T> array;
  Int inc = 1;
};
template <class T>
InVector<T> in_vector(Int n, const T* x, Int inc, bool conjugate = false) {
  InVector<T> v;
  if (inc > 0 && !conjugate) return {{{}, x}, inc};
  v.array.own.resize(static_cast<std::size_t>(n));
  const T* from = first_element(x, n, inc);
  for (Int i = 0; i < n; ++i) v.array.own[static_cast<std::size_t>(i)] = conj_if(from[i * inc], conjugate);
  return v;
}
template <class T>
void out_vector(const std::vector<T>& values, T* x, Int inc) {
  T* to = first_element(x, static_cast<Int>(values.size()), inc);
  for (std::size_t i = 0; i < values.size(); ++i) to[static_cast<Int>(i) * inc] = values[i];
}

// `rows` rows of `columns` elements, `ld` apart.
template <class T>
Packed<T> in_matrix(Int rows, Int columns, const T* a, Int ld) {
  Packed<T> out;
  if (ld == columns) return {{}, a};
  out.own.resize(static_cast<std::size_t>(rows * columns));
  for (Int i = 0; i < rows; ++i) std::copy_n(a + i * ld, columns, out.own.data() + i * columns);
  return out;
}
template <class T>
void out_matrix(const T* values, Int rows, Int columns, T* a, Int ld) {
  for (Int i = 0; i < rows; ++i) std::copy_n(values + i * columns, columns, a + i * ld);
}
// Only a triangle, rows as stored.
template <class T>
void out_triangle(const T* values, Int n, bool upper, T* a, Int ld) {
  for (Int i = 0; i < n; ++i) {
    const Int from = upper ? i : 0, to = upper ? n : i + 1;
    std::copy(values + i * n + from, values + i * n + to, a + i * ld + from);
  }
}

// A packed triangle of rows, as a full matrix whose other triangle is zero, and back.
template <class T>
std::vector<T> unpacked(const T* ap, Int n, bool upper) {
  std::vector<T> out(static_cast<std::size_t>(n * n));
  for (Int i = 0; i < n; ++i) {
    const Int from = upper ? i : 0, to = upper ? n : i + 1;
    std::copy_n(ap, to - from, out.data() + i * n + from);
    ap += to - from;
  }
  return out;
}
template <class T>
void repack(const std::vector<T>& full, Int n, bool upper, T* ap) {
  for (Int i = 0; i < n; ++i) {
    const Int from = upper ? i : 0, to = upper ? n : i + 1;
    ap = std::copy(full.data() + i * n + from, full.data() + i * n + to, ap);
  }
}

// A triangular band of rows (element j of row i at place j - i + below) as a full matrix.
template <class T>
std::vector<T> from_band(const T* a, Int n, Int below, Int above, Int ld) {
  std::vector<T> out(static_cast<std::size_t>(n * n));
  for (Int i = 0; i < n; ++i) {
    for (Int j = std::max<Int>(0, i - below); j <= std::min(n - 1, i + above); ++j) {
      out[static_cast<std::size_t>(i * n + j)] = a[i * ld + j - i + below];
    }
  }
  return out;
}

}  // namespace kiln::blas
