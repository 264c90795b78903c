// DoubleLoops: blocks of a product beyond float32, as double_gemm.h tells. Operands are sums of two float32 matrices.
#pragma once

#include "kernels/blas/double_gemm.h"
#include "kernels/blas/product_block.h"

namespace kiln::kernels {

// A number for each element of a tile, or of a matrix in HBM, as the sum of two, the second at most half an ulp of the
// first.
struct DoubleView {
  isa::View high, low;
};

class DoubleLoops {
 public:
  // `a` and `b` in HBM, with the shapes that the configuration says.
  DoubleLoops(isa::Kernel& k, const DoubleGemmConfig& config, const DoubleView& a, const DoubleView& b);

  // All blocks, to `c` [M, N] in HBM.
  void run(const DoubleView& c);

  // Slices of an operand that stay in SBUF for many blocks: all of K, and all rows of op(a) or some columns of op(b).
  using Slices = std::vector<isa::View>;  // bfloat16 [128, tiles, x]
  Slices sliced_a();
  Slices sliced_b(const isa::Index& n0, std::int64_t n);
  // Of what the caller has loaded: [128, tiles, x], which is overwritten.
  Slices sliced(const DoubleView& chunk);
  struct Kept {
    const Slices *a = nullptr, *b = nullptr;  // b those of the columns asked for
  };
  // Rows m0 … m0 + m, at most 128, and columns n0 … n0 + n, at most 512, in SBUF.
  DoubleView block(const isa::Index& m0, std::int64_t m, const isa::Index& n0, std::int64_t n, const Kept& kept);
  DoubleView block(const isa::Index& m0, std::int64_t m, const isa::Index& n0, std::int64_t n) {
    return block(m0, m, n0, n, {});
  }

 private:
  // sums[o] has the upper halves of order o and the lower ones of order o - 1, exact for 65536 of K; the last one the
  // lower halves of order 3 and all of orders 4 and 5.
  using Sums = std::vector<isa::View>;
  struct Operand {
    Source high, low;
  };

  void for_chunks(const Piece& p,
                  const std::function<void(const isa::Index&, const isa::Index&, std::int64_t, bool)>& body);
  Slices slices(std::int64_t rows, std::int64_t x);
  void cut(const Slices& to, const Operand& from, const isa::Index& k0, std::int64_t rows, const isa::Index& x0,
           std::int64_t x);
  void cut(const Slices& to, const DoubleView& chunk, std::int64_t rows);
  isa::View cleared(const isa::View& like);
  void apply(const isa::View& to, const isa::View& x, const isa::View& y, AluOp op, Engine engine);
  void round(const isa::View& to, const isa::View& x, double magic);
  Slices sliced(const Operand& from, const isa::Index& x0, std::int64_t x);
  isa::View bank(std::int64_t m, std::int64_t n);
  void add_products(const isa::View& sum, const Slices& a, const Slices& b, int order, std::int64_t rows);
  void multiply(const Sums& sums, const Slices& a, const Slices& b, std::int64_t m, std::int64_t n, std::int64_t rows,
                bool is_first);
  void add_up(const Sums& sums, isa::View& high, isa::View& low, bool is_first);
  DoubleView normal(const isa::View& high, const isa::View& low);
  isa::View two_sum(const isa::View& x, const isa::View& y, const isa::View& lost);

  isa::Kernel& k_;
  DoubleGemmConfig c_;
  Operand a_, b_;
  bool resident_;
};

}  // namespace kiln::kernels
