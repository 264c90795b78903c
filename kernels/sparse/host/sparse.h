// kiln::sparse: operations on sparse matrices, computed by the backend of the moment (kernels/backend/backend.h). T is
// float, or double where native computes. Dense matrices lie by rows without gaps. Arguments that are wrong throw Error
// (sparse.R*) before anything is written; formats.h has matrices that own their memory, and conversions.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::sparse {

using Int = std::int64_t;

// By rows: row i has the elements row_start[i] … row_start[i + 1].
template <class T>
struct Csr {
  Int rows = 0, columns = 0;
  const Int* row_start = nullptr;
  const Int* column = nullptr;
  const T* values = nullptr;
  Int count() const { return row_start[rows]; }
};

// Dense blocks [block, block] by rows of blocks; the last ones may reach beyond the matrix.
template <class T>
struct Bsr {
  Int rows = 0, columns = 0, block = 128;
  const Int* row_start = nullptr;
  const Int* column = nullptr;
  const T* blocks = nullptr;
  Int block_rows() const { return (rows + block - 1) / block; }
  Int count() const { return row_start[block_rows()]; }
};

// c = alpha a b + beta c with b [a.columns, n] and c [a.rows, n]; c is not read with beta 0.
template <class T>
void spmm(const Csr<T>& a, Int n, T alpha, const T* b, T beta, T* c);
// c = a b.
template <class T>
void bsr_spmm(const Bsr<T>& a, Int n, const T* b, T* c);
// values[e] = Σ x(row of e, ·) y(column of e, ·) with x [rows, n] and y [columns, n]; a.values is not read.
template <class T>
void sddmm(const Csr<T>& a, Int n, const T* x, const T* y, T* values);
// The same for whole blocks: blocks [count, block, block] of x yᵀ at the places of a; zero beyond the matrix.
template <class T>
void bsr_sddmm(const Bsr<T>& a, Int n, const T* x, const T* y, T* blocks);
// c = (a where row_bound(i) column_bound(j) > limit, else 0) b with a [rows, columns], or [columns, rows] in memory
// with trans_a. Bounds and their products are of T.
template <class T>
void screened_spmm(Int rows, Int columns, Int n, bool trans_a, const T* a, const T* row_bound, const T* column_bound,
                   T limit, const T* b, T* c);

// The elements of a b at the places of `places`, which has all that the product has.
template <class T>
void spgemm(const Csr<T>& a, const Csr<T>& b, const Csr<T>& places, T* values);
// The places of a b: row_start and column, ascending in each row.
template <class T>
void spgemm_places(const Csr<T>& a, const Csr<T>& b, std::vector<Int>& row_start, std::vector<Int>& column);

// Attention over stored tiles of 128 x 128 (kernels/sparse/attention.h).
struct Attention {
  Int heads = 1, queries = 0, keys = 0, head = 0;
  const Int* row_start = nullptr;  // of tiles, with ascending columns
  const Int* column = nullptr;
  const Int* mask = nullptr;     // of each tile, its mask or -1; null: none has one
  const float* masks = nullptr;  // [mask_count, 128, 128]: 0, or kernels::kMasked
  Int mask_count = 0;
  double scale = 1;
};
// Kernels take float32 and bfloat16, native computes float32 and float64. minus_lse [heads, queries] is of float32
// (float64 with float64), or null. With it and bfloat16, `unrounded` [heads, queries, head] is the result in float32,
// which is the `out` of the backward pass (float64 with float64).
enum class Elements : int { float32, bfloat16, float64 };
void attention(const Attention& a, Elements elements, const void* q, const void* k, const void* v, void* out,
               void* minus_lse, float* unrounded = nullptr);
void attention_backward(const Attention& a, Elements elements, const void* q, const void* k, const void* v,
                        const void* out, const void* minus_lse, const void* dout, void* dq, void* dk, void* dv);

// How a solver ended.
struct Solved {
  Int passes = 0;
  double residual = 0;  // ‖r‖ / ‖b‖; of power_iteration the eigenvalue
};
enum class Preconditioned : int { no, diagonal, matrix };
// Conjugate gradients, until ‖r‖ < tol ‖b‖; `inverse` [n] is that of the diagonal, `m` a matrix close to the inverse.
template <class T>
Solved conjugate_gradient(const Bsr<T>& a, const T* b, T* x, double tol, Int most, Preconditioned kind,
                          const T* inverse, const Bsr<T>* m);
// x += d with d = alpha[i] r + beta[i] d for each step.
template <class T>
Solved fixed_iteration(const Bsr<T>& a, const T* b, T* x, Int steps, const T* alpha, const T* beta);
// Until the eigenvalue changes by less than tol.
template <class T>
Solved power_iteration(const Bsr<T>& a, T* v, double tol, Int most);

}  // namespace kiln::sparse
