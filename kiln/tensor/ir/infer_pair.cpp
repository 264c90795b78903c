// Types of what the two cores of a pair have of one tensor.
#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {
namespace {

void require_core(const Ask& a) {
  const std::int64_t core = a.op.integer("core");
  a.require(core == 0 || core == 1, rules::kOperands, fmt::format("core {}", core));
}

}  // namespace

Type infer_exchange(const Ask& a) {
  require_core(a);
  return a.operand(0);
}

Type infer_pair_whole(const Ask& a) {
  require_core(a);
  Type out = a.operand(0);
  const std::int64_t axis = asked_axis(a), extent = a.op.integer("extent");
  a.require(out.shape[axis] == half_extent(extent), rules::kShape,
            fmt::format("{} as a half of {} along axis {}", to_string(out), extent, axis));
  out.shape[axis] = extent;
  return out;
}

}  // namespace kiln::tensor
