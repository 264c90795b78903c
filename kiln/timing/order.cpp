#include "kiln/timing/order.h"

#include <algorithm>

namespace kiln::timing {
using namespace isa;

bool has_scratch(const Program& program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [](const Tensor& tensor) { return tensor.role == Role::internal && is_hbm(tensor.memory); });
}

}  // namespace kiln::timing
