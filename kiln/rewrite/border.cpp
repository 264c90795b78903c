#include "kiln/rewrite/border.h"

#include "kiln/analysis/writers.h"

namespace kiln::rewrite {
using namespace isa;

void draw_border(Program& program, std::span<const TensorId> outputs) {
  const std::vector<bool> written = analysis::written_tensors(program);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    Tensor& t = program.tensors[i];
    if (t.role == Role::inout && !written[i]) t.role = Role::input;
  }
  for (const TensorId id : outputs) {
    Tensor& t = program.tensors[id];
    if (t.role == Role::internal) t.role = Role::output;
  }
}

Program with_border(Program program, std::span<const TensorId> outputs) {
  draw_border(program, outputs);
  return program;
}

}  // namespace kiln::rewrite
