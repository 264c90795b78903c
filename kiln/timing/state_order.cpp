#include "kiln/timing/state_order.h"

namespace kiln::timing {
using namespace isa;

StateOrder::StateOrder(const Program& program, const Plan& plan, bool ordered)
    : program_(program),
      plan_(plan),
      ordered_(ordered),
      writer_(program.registers.size(), kNoOp),
      readers_(program.registers.size()) {
  if (!program.deps.empty()) last_op_of_.assign(program.instructions.size(), kNoOp);
}

void StateOrder::touch_registers(Issue& issue, const Op& op) {
  for (RegisterId id : plan_.registers_of(issue.inst)) {
    if (writer_[id] != kNoOp) issue.deps.push_back({writer_[id], Wait::state});
    if (!ordered_) readers_[id].push_back(issue.op);
  }
  if (op.writes_register == kNone) return;
  OpId& writer = writer_[op.writes_register];
  std::vector<OpId>& readers = readers_[op.writes_register];
  for (OpId reader : readers) issue.deps.push_back({reader, Wait::state});
  readers.clear();
  if (writer != kNoOp) issue.deps.push_back({writer, Wait::state});
  writer = issue.op;
}

void StateOrder::touch_stated(Issue& issue) {
  const Instruction& inst = program_.instructions[issue.inst];
  for (std::uint32_t d = 0; d < inst.dep_count; ++d) {
    const OpId op = last_op_of_[program_.deps[inst.first_dep + d]];
    if (op != kNoOp) issue.deps.push_back({op, Wait::dependency});
  }
  last_op_of_[issue.inst] = issue.op;
}

void StateOrder::touch(Issue& issue, const Op& op) {
  if (!plan_.registers_of(issue.inst).empty() || op.writes_register != kNone) touch_registers(issue, op);
  for (int bit = 0; op.state >> bit; ++bit) {
    if (!(op.state >> bit & 1)) continue;
    if (state_user_[bit] != kNoOp) issue.deps.push_back({state_user_[bit], Wait::state});
    state_user_[bit] = issue.op;
  }
  if (!last_op_of_.empty()) touch_stated(issue);
}

}  // namespace kiln::timing
