// Row kernels: the arithmetic that instructions are made of, as one table of functions. There are two tables
// with the same meaning: `plain_kernels`, element by element, which is the definition, and `fast_kernels`,
// vectorised, which is bit-equal to it (NaN payloads of arithmetic results excepted: any NaN equals any NaN).
// The choice is made once per run, never per element. All float arithmetic is IEEE binary32, one rounding per
// operation, subnormals kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/base/dtype.h"
#include "kiln/num/op.h"

namespace kiln {

// A factor of a product: rows of float32 or bfloat16 elements, `stride` elements apart. `paired`: of float32, every
// second element of a row, as the parts of complex numbers lie; those between are not read.
struct Factor {
  DType dtype;
  const void* data;
  std::ptrdiff_t stride;
  bool paired = false;
};
inline bool is_factor_dtype(DType t) { return t == DType::float32 || t == DType::bfloat16; }

// Rows of floats, `step` of them from one row to the next. `one`: the first of a row stands for all of it.
struct FloatRows {
  const float* data;
  std::ptrdiff_t step;
  bool one;
};

// Rows of pairs of floats, as the parts of complex numbers lie: from one pair to the next two floats, from the first
// number of a pair to the second one `second` floats: 1, -1 where they change places, 0 where the first one counts
// twice. Where only first numbers are asked for, no others are read.
struct FloatPairs {
  const float* data;
  std::ptrdiff_t step;
  int second;
};

// Elements of 4 bytes of `rows` rows that come together: of each row those of `count` runs by turns, n of each; from
// one run to the next `between` elements, `step` from one element of a run to its next.
struct Interleaved {
  const void* data;
  std::ptrdiff_t row_step, between, step;
  std::size_t rows, count, n;
};

// Elements of bfloat16, or one number of float32 for all of them.
struct Bfloat16Row {
  const std::uint16_t* data;  // null: the number
  float number = 0.0f;
};

// Rows of bytes that are read after a call: it may fetch them from memory meanwhile.
struct Soon {
  const void* data = nullptr;
  std::ptrdiff_t row_bytes = 0;
  std::size_t rows = 0, bytes = 0;  // how many, and of each
};

struct Kernels {
  // Conversion of n elements that lie `stride` elements apart (stride 1 is contiguous, 0 repeats the first)
  // to and from float32. Packed dtypes are not allowed here.
  void (*load)(DType, const void* src, std::ptrdiff_t stride, std::size_t n, float* dst);
  void (*store)(DType, const float* src, std::size_t n, void* dst, std::ptrdiff_t stride);

  // From one dtype to another, through float32, of n elements that follow each other; neither is packed.
  void (*convert)(DType from, const void* src, DType to, std::size_t n, void* dst);

  // Raw bits, zero-extended to 32 bits, and the low bits stored back.
  void (*load_bits)(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n, std::uint32_t* dst);
  void (*store_bits)(int size_bytes, const std::uint32_t* src, std::size_t n, void* dst, std::ptrdiff_t stride);

  // Rows of n * count elements without gaps, bit for bit; from one to the next `out_step`.
  void (*interleave)(const Interleaved& from, void* out, std::ptrdiff_t out_step);

  // out[i] = op(a[i], b[i]), op(a[i], b), op(a, b[i]); unary operators ignore b. `out` may be `a` or `b`.
  // bypass gives a. average is not an elementwise operator. Returns the `largest` of what it wrote, which costs less
  // than to read it again; of NaNs, whose payload is open, one that is larger than infinity.
  std::uint32_t (*alu_vv)(AluOp, const float* a, const float* b, float* out, std::size_t n);
  std::uint32_t (*alu_vs)(AluOp, const float* a, float b, float* out, std::size_t n);
  std::uint32_t (*alu_sv)(AluOp, float a, const float* b, float* out, std::size_t n);
  // The same of `rows` rows of n floats. `out` may be rows of a or of b.
  std::uint32_t (*alu_rows)(AluOp, const FloatRows& a, const FloatRows& b, float* out, std::ptrdiff_t out_step,
                            std::size_t rows, std::size_t n);
  // The same of `rows` rows of n pairs, for operators of two operands. `out` has pairs, too, of which only the first
  // numbers are computed, and written, where `first_only`.
  std::uint32_t (*alu_pairs)(AluOp, const FloatPairs& a, const FloatPairs& b, float* out, std::ptrdiff_t out_step,
                             std::size_t rows, std::size_t n, bool first_only);

  // The same of a row of bfloat16: each result is rounded once more. `out` may be a or b. Returns the `largest` of the
  // elements it wrote.
  std::uint32_t (*alu_bfloat16)(AluOp, const Bfloat16Row& a, const Bfloat16Row& b, std::uint16_t* out, std::size_t n);

  // The same of rows of one dtype of 8 or 16 bits, whose results are stored as `store` does. `out` may be a or b.
  void (*alu_narrow)(AluOp, DType, const void* a, const void* b, void* out, std::size_t n);

  // Bit operators on elements of `width_bits` (8, 16, 32), zero-extended in 32 bits.
  void (*bits_vv)(AluOp, int width_bits, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
                  std::size_t n);
  void (*bits_vs)(AluOp, int width_bits, const std::uint32_t* a, std::uint32_t b, bool swapped, std::uint32_t* out,
                  std::size_t n);

  // Exact 32-bit integer arithmetic, wrapping: add, subtract, multiply, maximum, minimum and the comparisons
  // (1 or 0).
  void (*int_vv)(AluOp, bool is_signed, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
                 std::size_t n);

  // out[i] = fn(x[i]); `param` is relu_param, used by prelu only. out may be x. Returns as alu_vv.
  std::uint32_t (*activation)(ActFn, const float* x, float param, float* out, std::size_t n);
  // out[i] = fn(x[i] * scale + bias): the product rounded, then the sum rounded, then fn.
  std::uint32_t (*scaled_activation)(ActFn, const float* x, float scale, float bias, float param, float* out,
                                     std::size_t n);

  // Whether low <= x[i] * scale + bias <= high, or the same of its magnitude, for all of them. NaN does not.
  bool (*stays_within)(float low, float high, bool magnitude, const float* x, float scale, float bias, std::size_t n);

  // acc[r] = fold of op over x[r][0..n) in ascending order starting from acc[r]; rows lie row_stride floats
  // apart. The order is part of the definition for add, subtract and multiply.
  void (*fold_rows)(AluOp, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc);

  // out[m][n] (rows out_stride apart) = sum over k ascending of fma(a[k][m], b[k][n], sum), starting at +0.
  // With `accumulate`, the finished sum is added to out[m][n] once; without, it replaces it. Returns as alu_vv, or ~0u:
  // not told. What comes `soon` has no part in the result.
  std::uint32_t (*matmul)(const Factor& a, const Factor& b, float* out, std::ptrdiff_t out_stride, std::size_t k,
                          std::size_t m, std::size_t n, bool accumulate, const Soon& soon);

  // dst[c][r] = src[r][c] for rows x cols elements of size_bytes 1, 2 or 4; row strides in elements.
  void (*transpose)(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst, std::ptrdiff_t dst_stride,
                    std::size_t rows, std::size_t cols);

  // The same of numbers of float32 (4 bytes) or bfloat16 (2) as the sum of each and 0, that is without -0. Returns the
  // `largest` of what it wrote; the payload of NaNs is open.
  std::uint32_t (*transpose_numbers)(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst,
                                     std::ptrdiff_t dst_stride, std::size_t rows, std::size_t cols);

  // The largest of n elements of size_bytes 1, 2 or 4 that lie `stride` elements apart, taken as bits without their
  // highest one, the sign: of floating-point numbers the largest magnitude, and of those infinity and then NaN.
  std::uint32_t (*largest)(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n);

  // out[r][i] = x[r][i] * s + y[r][i], the product rounded and then the sum, where s is the result before, at first
  // state[r]; state[r] becomes the last one. Rows lie so many floats apart; out may be x or y.
  void (*linear_scan)(const float* x, std::ptrdiff_t x_stride, const float* y, std::ptrdiff_t y_stride, float* out,
                      std::ptrdiff_t out_stride, std::size_t rows, std::size_t n, float* state);
};

const Kernels& plain_kernels();
// The fast table, or the plain one when the CPU has no fused multiply-add vectors.
const Kernels& fast_kernels();

}  // namespace kiln
