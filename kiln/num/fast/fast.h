// The vectorised row kernels, bit-equal to kiln::plain, one function for each entry of Kernels.
#pragma once

#include "kiln/num/kernels.h"

namespace kiln::fast {

void load(DType, const void* src, std::ptrdiff_t stride, std::size_t n, float* dst);
void store(DType, const float* src, std::size_t n, void* dst, std::ptrdiff_t stride);
void load_bits(int size_bytes, const void* src, std::ptrdiff_t stride, std::size_t n, std::uint32_t* dst);
void store_bits(int size_bytes, const std::uint32_t* src, std::size_t n, void* dst, std::ptrdiff_t stride);
void alu_vv(AluOp, const float* a, const float* b, float* out, std::size_t n);
void alu_vs(AluOp, const float* a, float b, float* out, std::size_t n);
void alu_sv(AluOp, float a, const float* b, float* out, std::size_t n);
void bits_vv(AluOp, int width_bits, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
             std::size_t n);
void bits_vs(AluOp, int width_bits, const std::uint32_t* a, std::uint32_t b, bool swapped, std::uint32_t* out,
             std::size_t n);
void int_vv(AluOp, bool is_signed, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
            std::size_t n);
void activation(ActFn, const float* x, float param, float* out, std::size_t n);
void scaled_activation(ActFn, const float* x, float scale, float bias, float param, float* out,
                       std::size_t n);
void fold_rows(AluOp, const float* x, std::ptrdiff_t row_stride, std::size_t rows, std::size_t n, float* acc);
void matmul(const float* a, std::ptrdiff_t a_stride, const float* b, std::ptrdiff_t b_stride, float* out,
            std::ptrdiff_t out_stride, std::size_t k, std::size_t m, std::size_t n, bool accumulate);
void transpose(int size_bytes, const void* src, std::ptrdiff_t src_stride, void* dst,
               std::ptrdiff_t dst_stride, std::size_t rows, std::size_t cols);

}  // namespace kiln::fast
