// The vectorised row kernels, bit-equal to kiln::plain, one function for each entry of Kernels.
#pragma once

#include <type_traits>

#include "kiln/num/kernels.h"

namespace kiln::fast {

#define KILN_KERNEL(name) std::remove_pointer_t<decltype(Kernels::name)> name;
#include "kiln/num/kernels.def"
#undef KILN_KERNEL

}  // namespace kiln::fast
