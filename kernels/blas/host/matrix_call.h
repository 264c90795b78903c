// What routines of level 3 share: matrices brought to rows, factors by kind, results that go back when they are there.
#pragma once

#include <array>

#include "kernels/blas/host/arguments.h"
#include "kernels/blas/host/blas.h"
#include "kernels/blas/host/device_call.h"
#include "kernels/blas/host/native.h"
#include "kernels/blas/host/packing.h"
#include "kernels/blas/scalar.h"

namespace kiln::blas {

inline bool by_columns(Layout layout) { return layout == Layout::col_major; }
inline Uplo flipped(Uplo u) { return u == Uplo::upper ? Uplo::lower : Uplo::upper; }
inline Side flipped(Side s) { return s == Side::left ? Side::right : Side::left; }

template <class T>
kernels::Scalar kind_of(T v) {
  return v == T(0) ? kernels::Scalar::zero : v == T(1) ? kernels::Scalar::one : kernels::Scalar::given;
}

// alpha and beta as a program reads them: [1, 2], or [1, 4] of complex ones.
template <class T>
std::vector<float> scalar_pair(T alpha, T beta) {
  if constexpr (is_complex<T>) {
    return {static_cast<float>(alpha.real()), static_cast<float>(alpha.imag()), static_cast<float>(beta.real()),
            static_cast<float>(beta.imag())};
  } else {
    return {static_cast<float>(alpha), static_cast<float>(beta)};
  }
}

// Adds `scalars` where a factor is given.
template <class T>
void add_scalars(std::vector<Array>& arrays, const std::vector<float>& scalars, T alpha, T beta) {
  if (kind_of(alpha) != kernels::Scalar::given && kind_of(beta) != kernels::Scalar::given) return;
  arrays.push_back(
      {"scalars", const_cast<float*>(scalars.data()), {1, static_cast<Int>(scalars.size())}, DType::float32});
}

// The m x n result of a call: c itself where it lies dense and is not read, else memory of its own until it is whole.
template <class T>
class Result {
 public:
  Result(Int m, Int n, T* c, Int ldc) : m_(m), n_(n), c_(c), ldc_(ldc), own_(static_cast<std::size_t>(m * n)) {}
  Array array_of(std::string name) { return array(std::move(name), own_.data(), {m_, n_}); }
  void store() const { out_matrix(own_.data(), m_, n_, c_, ldc_); }
  void store_triangle(bool upper) const { out_triangle(own_.data(), n_, upper, c_, ldc_); }
  std::vector<T>& values() { return own_; }

 private:
  Int m_, n_;
  T* c_;
  Int ldc_;
  std::vector<T> own_;
};

// c = beta c, where the product does not count.
template <class T>
void only_scale(Int rows, Int columns, T beta, T* c, Int ldc) {
  if (beta == T(1)) return;
  for (Int i = 0; i < rows; ++i) {
    for (Int j = 0; j < columns; ++j) c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
  }
}

}  // namespace kiln::blas
