#include "kiln/timing/access_boxes.h"

#include "kiln/analysis/affine.h"

namespace kiln::timing {
using namespace isa;

Box AccessBoxes::of(const Use& use) const {
  const BoxShape& shape = plan_.shapes[use.shape];
  if (use.uncertain) return shape.everything();
  const Access& a = program_.accesses[use.access];
  std::int64_t offset = analysis::value_of(program_, a.offset, values_);
  if (a.dynamic != kNone) {
    const Dynamic& d = program_.dynamics[a.dynamic];
    offset += d.scale * values_[plan_.loop_of_register[d.source]];
  }
  return shape.at(analysis::value_of(program_, a.partition, values_), offset * size_bytes(a.dtype));
}

Box AccessBoxes::moved(const Use& use, LoopId loop, std::int64_t by) {
  values_[loop] += by;
  const Box box = of(use);
  values_[loop] -= by;
  return box;
}

}  // namespace kiln::timing
