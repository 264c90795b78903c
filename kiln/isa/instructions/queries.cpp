// get_nc_version and get_nc_sub_version: answered while a kernel is built, from arch/; they never stand in a
// program.
#include "kiln/isa/table.h"

namespace kiln::isa::instruction {
namespace {
constexpr Semantics query(const char* description) {
  return {.rules = {},
          .description = description,
          .engine = nullptr,
          .check = nullptr,
          .run = nullptr,
          .cost = nullptr,
          .track = nullptr,
          .cost_text = "none: answered while the kernel is built"};
}
}  // namespace

namespace get_nc_version {
extern const Semantics semantics = query("nc_version.gen2, gen3 or gen4, by the target.");
}

namespace get_nc_sub_version {
extern const Semantics semantics = query("0 for the first silicon revision, 1 for the second.");
}

}  // namespace kiln::isa::instruction
