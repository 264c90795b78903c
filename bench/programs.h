// The programs that the benchmarks time, by name, and one of small instructions.
#pragma once

#include <string_view>

#include "kiln/isa/program.h"

namespace kiln::bench {

// gemm_f32 and gemm_bf16 multiply rows x rows matrices; the others work on float32 (rows, columns).
// Throws Error of category config when there is no such program.
isa::Program program(std::string_view name, std::int64_t rows, std::int64_t columns);

// About `instructions` additions of (128, 8) tiles, one after the other and unrolled, between a load and a
// store.
isa::Program small_instructions(std::int64_t instructions);

}  // namespace kiln::bench
