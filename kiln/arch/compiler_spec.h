// What measured kernels show of the vendor's compiler, as figures. docs/timing.md names the rows.
#pragma once

#include <cstdint>

namespace kiln {

struct CompilerSpec {
  // A longer loop of nl.affine_range is not merged: ACMP-conv1d-6 (64 passes) was, ACMP-conv1d-3 (2048) was not.
  std::int64_t merged_passes = 128;
  std::int64_t merged_elements = 16;  // of one of its instructions, per partition
  // Generation from which on loaded operands stay in SBUF: FUS-MLP; on trn1 DOC-MAMBA-v1, ACMP-mamba-0 and NKIB1-mamba
  // load them again.
  int keeps_loads = 3;
};

}  // namespace kiln
