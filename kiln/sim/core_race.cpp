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

std::vector<std::byte> bytes_of(const Storage& storage, const Races::Clash& clash) {
  std::vector<std::byte> out;
  for (const auto& [begin, end] : clash.ranges)
    out.insert(out.end(), storage.data + begin, storage.data + end);
  return out;
}

// Whether the bytes hold what they held. Those that hold no value count as the same: where they go is what
// matters, and that is checked elsewhere.
bool same_values(const Storage& storage, const Races::Clash& clash, const std::vector<std::byte>& before) {
  const std::byte* old = before.data();
  for (const auto& [begin, end] : clash.ranges) {
    for (std::int64_t at = begin; at < end; ++at, ++old) {
      if (storage.data[at] != *old && storage.shadow.at(at) == 0) return false;
    }
  }
  return true;
}

}  // namespace

void Core::check_races(const Instruction& inst) {
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
      if (clash.ranges.empty()) continue;
      queue_.wait();  // the other core's values must be there to be compared with
      rewrites_.push_back({&inst, o, clash, bytes_of(*o.storage, clash)});
    }
  }
}

// A core wrote bytes that the other one wrote or read. Kernels do that with values that both have, step by
// step; when they end with the same ones, no order matters.
void Core::check_agreement() {
  if (rewrites_.empty()) return;
  queue_.wait();
  for (const Rewrite& r : rewrites_) {
    if (!same_values(*r.operand.storage, r.clash, r.before)) report_race(*r.inst, r.operand, r.clash);
  }
  rewrites_.clear();
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
