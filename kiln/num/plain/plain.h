// The definition of the row kernels: element by element, one function for each entry of Kernels.
#pragma once

#include <type_traits>

#include "kiln/num/kernels.h"

namespace kiln::plain {

#define KILN_KERNEL(name) std::remove_pointer_t<decltype(Kernels::name)> name;
#include "kiln/num/kernels.def"
#undef KILN_KERNEL

}  // namespace kiln::plain
