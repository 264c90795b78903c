// get_nc_version and get_nc_sub_version: answered while a kernel is built, from arch/; they never stand in a
// program.
#include "kiln/isa/table.h"

namespace kiln::isa {
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

extern const Semantics semantics_get_nc_version = query("nc_version.gen2, gen3 or gen4, by the target.");
extern const Semantics semantics_get_nc_sub_version = query("0 for the first silicon revision, 1 for the second.");

}  // namespace kiln::isa
