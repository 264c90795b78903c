#include "kiln/sim/watch.h"

#include "kiln/isa/inst_view.h"

namespace kiln::sim {

Watch::Watch(const isa::Program& program, const RunOptions& options, int core)
    : program_(program), see_(options.see), core_(core) {
  if (core >= std::ssize(options.watched) || options.watched[core].empty()) return;
  watched_.resize(program.instructions.size());
  for (const isa::InstructionId id : options.watched[core]) watched_.at(id) = true;
}

isa::TensorId Watch::tensor_of(isa::InstructionId id) const {
  return isa::InstView(program_, program_.instructions[id]).access(0).tensor;
}

void Watch::show(isa::InstructionId id, const Bindings& bindings) const {
  const isa::TensorId tensor = tensor_of(id);
  const isa::Tensor& t = program_.tensors[tensor];
  const Binding& b = bindings[tensor];
  Sight sight{core_, id, {}, {}};
  for (std::int64_t row = 0; row < t.partitions(); ++row) {
    const std::int64_t begin = (b.row + row) * b.storage->row_bytes + b.byte;
    const std::int64_t end = begin + t.bytes_per_partition();
    sight.bytes.insert(sight.bytes.end(), b.storage->data + begin, b.storage->data + end);
    for (std::int64_t i = begin; i < end; ++i) sight.is_missing.push_back(b.storage->shadow.at(i) != 0);
  }
  see_(sight);
}

}  // namespace kiln::sim
