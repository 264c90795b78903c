// A chip of whose PSUM the compiler keeps some banks for itself.
#pragma once

#include "kiln/arch/arch.h"

namespace kiln::check {

inline Arch with_reserved_psum_banks(Arch arch, int banks) {
  arch.psum_banks -= banks;
  arch.psum_partition_bytes -= banks * arch.psum_bank_bytes;
  return arch;
}

}  // namespace kiln::check
