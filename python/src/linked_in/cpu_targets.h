// Which of Highway's instruction sets this CPU has, of those that the fast kernels are compiled for.
#pragma once

#include <cstdint>

namespace kiln::python {

// Bits of hwy/detect_targets.h. Where there is nothing to choose between, the one set that was compiled.
std::int64_t cpu_targets();

}  // namespace kiln::python
