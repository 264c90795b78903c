// ResidentRows: the rows of a dense matrix in tiles of 128, loaded when first asked for. They stay in SBUF where all of
// them fit, else each use loads its own.
#pragma once

#include <map>

#include "kernels/blas/product_block.h"

namespace kiln::kernels {

class ResidentRows {
 public:
  // matrix [rows, ·], columns n0 … n0 + n of it. `used`: how many tiles will be asked for, with repetitions left out.
  ResidentRows(isa::Kernel& k, const isa::View& matrix, const isa::Index& n0, std::int64_t n, std::int64_t used);
  // Tile t, [height, n].
  isa::View tile(std::int64_t t);

 private:
  isa::Kernel& k_;
  isa::View matrix_;
  isa::Index n0_;
  std::int64_t n_;
  bool stays_;
  std::map<std::int64_t, isa::View> tiles_;
};

}  // namespace kiln::kernels
