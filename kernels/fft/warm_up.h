// WarmUp: products of zeros before the first ones of a kernel. On trn2 and trn3 the tensor engine runs at half its
// clock until it has been busy for a while; waiting for the first rows it would not be.
#pragma once

#include <cstdint>

#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

class WarmUp {
 public:
  // Columns of zeros that are multiplied; 0: none. The tile of zeros is the first thing that the kernel makes.
  WarmUp(isa::Kernel& k, std::int64_t columns);
  // Adds them to a sum in PSUM that is about to be made, the first time that it is asked to.
  void before(const isa::View& sum) const;

 private:
  isa::Kernel& k_;
  isa::View zeros_;
  mutable std::int64_t columns_;
};

}  // namespace kiln::kernels
