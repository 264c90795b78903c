#include "kiln/num/plain/plain.h"

#include <iterator>

namespace kiln {

namespace {

constexpr const char* kNames[] = {
#define KILN_KERNEL(name) #name,
#include "kiln/num/kernels.def"
#undef KILN_KERNEL
};
static_assert(sizeof(Kernels) == sizeof(Kernels::load) * std::size(kNames), "kernels.def has every entry");

}  // namespace

const Kernels& plain_kernels() {
  static constexpr Kernels table = {
#define KILN_KERNEL(name) .name = plain::name,
#include "kiln/num/kernels.def"
#undef KILN_KERNEL
  };
  return table;
}

}  // namespace kiln
