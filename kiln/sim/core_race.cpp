// The part of a Core that watches what it shares with the other core of its pair.
#include <fmt/format.h>

#include <cstring>

#include "kiln/isa/print.h"
#include "kiln/sim/core.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/spans.h"

namespace kiln::sim {
using namespace isa;

namespace {

// Tensors that no program writes cannot be raced for.
bool is_raced_for(const Tensor& t) {
  return t.role == Role::output || t.role == Role::inout ||
         (t.role == Role::internal && t.memory == Memory::shared_hbm);
}

std::vector<std::byte> bytes_of(const TrackedOperand& o) {
  std::vector<std::byte> out;
  for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
    out.insert(out.end(), o.storage->data + byte, o.storage->data + byte + bytes);
  });
  return out;
}

}  // namespace

void Core::check_races(const Instruction& inst) {
  rewrite_.reset();
  for (const TrackedOperand& o : operands_) {
    if (!is_raced_for(program_.tensors[o.access->tensor])) continue;
    const ParamInfo* param = o.param >= 0 ? &info(inst.opcode).params[o.param] : nullptr;
    const bool writes = param && param->is_output();
    const bool reads = !param || param->is_input();
    for (const bool write : {false, true}) {
      if (write ? !writes : !reads) continue;
      const Races::Clash clash = common_.races.access(rank_, program_, inst, o, write);
      if (!clash.found) continue;
      if (!write) report_race(inst, o, clash);
      queue_.wait();  // the other core's values must be there to be compared with
      rewrite_ = Rewrite{o, clash, bytes_of(o)};
    }
  }
}

// A core wrote bytes that the other one wrote or read. Kernels do that with values that both have; when
// nothing changes, no order matters.
void Core::check_agreement(const Instruction& inst) {
  queue_.wait();
  const Rewrite rewrite = std::move(*rewrite_);
  rewrite_.reset();
  if (bytes_of(rewrite.operand) != rewrite.before) report_race(inst, rewrite.operand, rewrite.clash);
}

void Core::report_race(const Instruction& inst, const TrackedOperand& operand,
                       const Races::Clash& clash) const {
  const bool writes = operand.param >= 0 && info(inst.opcode).params[operand.param].is_output();
  const Tensor& tensor = program_.tensors[operand.access->tensor];
  Diagnostic d = run_diagnostic(
      "run.R11",
      fmt::format("core {} {} elements of `{}` that core {} {}, and no core_barrier or sendrecv stands "
                  "between them",
                  rank_, writes ? "writes" : "reads", tensor.name, 1 - rank_,
                  !writes            ? "writes"
                  : clash.they_write ? "writes with other values"
                                     : "reads"));
  d.category = Category::undefined;
  d.loc = program_.locs[inst.loc];
  d.context = print(program_, inst);
  if (clash.inst)
    d.notes.push_back({fmt::format("core {} does it here: {}", 1 - rank_, print(*clash.program, *clash.inst)),
                       clash.program->locs[clash.inst->loc]});
  throw Error(std::move(d));
}

}  // namespace kiln::sim
