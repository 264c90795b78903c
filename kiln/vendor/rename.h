// Renaming: a tile that is written anew becomes a new tile, so that writing need not wait for its readers.
#pragma once

#include "kiln/vendor/passes.h"

namespace kiln::vendor {

// Tiles in SBUF without an address, where nothing of what they held is read any more. Memory decides, as for tiles that
// a loop declares, how many are alive at once. PSUM tiles keep their place: kernels with one bank for all sums were
// measured at the speed of one bank. Returns how many tiles have more than one name now.
std::int64_t rename(isa::Program& program, const Arch& arch, const CompilerSpec& compiler = {});

}  // namespace kiln::vendor
