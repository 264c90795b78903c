// GemmLoops: the loops around the blocks of a product; gemm, its batched forms and whatever has a product inside share
// them. The panel (all of K) of one operand stays in SBUF while the other one streams by, where two panels fit: the
// operand that has to be transposed, since that is slow on trn1.
#pragma once

#include "kernels/blas/epilogue.h"
#include "kernels/blas/gemm.h"
#include "kernels/blas/split.h"

namespace kiln::kernels {

// The operands of a product as they lie in memory.
struct GemmOperands {
  Source a, b;
  isa::View from, to;  // c before and after; `from` counts only with a beta
};

class GemmLoops {
 public:
  GemmLoops(isa::Kernel& k, const GemmConfig& config, const Epilogue& epilogue, const GemmOperands& operands);
  void run();

 private:
  // A block of the result.
  struct Block {
    isa::Index m0;
    std::int64_t m;
    isa::Index n0;
    std::int64_t n;
  };
  bool fits_twice() const;
  Parts parts(std::int64_t rows, std::int64_t x) const;
  void load(const Parts& to, const Source& from, const isa::Index& k0, std::int64_t rows, const isa::Index& x0,
            std::int64_t x) const;
  void multiply(const Block& b, const Parts& panel, bool loads_panel = false);

  isa::Kernel& k_;
  const GemmConfig& c_;
  const Epilogue& epilogue_;
  GemmOperands x_;
  GemmBlocking blocking_;
  std::int64_t chunk_;  // of K
  bool rows_outside_, resident_;
};

}  // namespace kiln::kernels
