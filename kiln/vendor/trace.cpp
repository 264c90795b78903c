#include "kiln/vendor/trace.h"

#include <algorithm>

#include "kiln/analysis/statements.h"
#include "kiln/rewrite/edit.h"

namespace kiln::vendor {
using namespace isa;

std::vector<std::uint32_t> writers_of(const Program& program) {
  std::vector<std::uint32_t> writers(program.tensors.size());
  for (const Instruction& inst : program.instructions) {
    for_each_use(program, inst, [&](const Access& access, Use use) {
      if (use != Use::read) ++writers[access.tensor];
    });
  }
  return writers;
}

bool is_fixed(const Program&, const Access& access) {
  return access.dynamic == kNone && access.partition.term_count == 0 && access.offset.term_count == 0;
}

bool is_whole(const Program& program, const Access& access) {
  return is_fixed(program, access) && access.count() == program.tensors[access.tensor].size() &&
         access.dtype == program.tensors[access.tensor].dtype;
}

bool is_free_tile(const Tensor& tensor, Memory memory) {
  return tensor.role == Role::internal && tensor.memory == memory && !tensor.address;
}

std::vector<ArgBefore> use_instead(Program& program, InstructionId id, const std::vector<TensorId>& to) {
  std::vector<ArgBefore> changed;
  const Instruction inst = program.instructions[id];
  const int params = static_cast<int>(info(inst.opcode).params.size());
  for (int i = 0; i < params; ++i) {
    Arg& arg = rewrite::arg_of(program, inst, i);
    if (arg.kind != Arg::Kind::access) continue;
    Access access = program.accesses[arg.index];
    access.tensor = to[access.tensor];
    if (access.tensor == kNone) continue;
    changed.push_back({static_cast<std::size_t>(&arg - program.args.data()), arg});
    arg = rewrite::share_access(program, access);
  }
  return changed;
}

std::vector<Span> spans_of(const Program& program) {
  std::vector<Span> spans(program.tensors.size());
  for (std::uint32_t i = 0; i < program.body.size(); ++i) {
    analysis::for_each_instruction(program, program.body[i], [&](InstructionId id) {
      for_each_use(program, program.instructions[id], [&](const Access& access, Use) {
        Span& span = spans[access.tensor];
        span.first = std::min(span.first, i);
        span.last = std::max(span.last, i);
      });
    });
  }
  return spans;
}

std::int64_t sbuf_peak(const Program& program, const std::vector<Span>& spans, const std::vector<bool>& left_out) {
  std::vector<std::int64_t> change(program.body.size() + 2);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.memory != Memory::sbuf || spans[id].first == kNone || left_out[id]) continue;
    change[spans[id].first] += tensor.bytes_per_partition();
    change[spans[id].last + 1] -= tensor.bytes_per_partition();
  }
  std::int64_t now = 0, most = 0;
  for (const std::int64_t by : change) most = std::max(most, now += by);
  return most;
}

}  // namespace kiln::vendor
