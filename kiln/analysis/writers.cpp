#include "kiln/analysis/writers.h"

#include "kiln/isa/uses.h"

namespace kiln::analysis {
using namespace isa;

namespace {

// Calls fn(tensor) for every tile that an instruction writes.
template <class Fn>
void for_each_written(const Program& program, const Instruction& inst, Fn&& fn) {
  for_each_use(program, inst, [&](const Access& access, Use use) {
    if (use != Use::read) fn(access.tensor);
  });
}

}  // namespace

bool writes(const Program& program, const Instruction& inst, FunctionRef<bool(TensorId)> is_it) {
  bool found = false;
  for_each_written(program, inst, [&](TensorId written) { found = found || is_it(written); });
  return found;
}

std::vector<InstructionId> writers_of(const Program& program, TensorId tensor) {
  std::vector<InstructionId> out;
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    const auto is_it = [&](TensorId written) { return written == tensor; };
    if (writes(program, program.instructions[id], is_it)) out.push_back(id);
  }
  return out;
}

std::vector<bool> written_tensors(const Program& program) {
  std::vector<bool> written(program.tensors.size());
  for (const Instruction& inst : program.instructions)
    for_each_written(program, inst, [&](TensorId tensor) { written[tensor] = true; });
  return written;
}

std::vector<InstructionId> only_writers(const Program& program) {
  std::vector<InstructionId> writers(program.tensors.size(), kNone);
  std::vector<bool> written(program.tensors.size());
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    for_each_written(program, program.instructions[id], [&](TensorId tensor) {
      writers[tensor] = written[tensor] ? kNone : id;
      written[tensor] = true;
    });
  }
  return writers;
}

}  // namespace kiln::analysis
