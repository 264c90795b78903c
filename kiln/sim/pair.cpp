#include "kiln/sim/pair.h"

#include <fmt/format.h>

#include "kiln/isa/print.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;

namespace {

std::string at(const Core& core) {
  const Instruction& inst = *core.waiting_at();
  return fmt::format("{} at {}", print(core.program(), inst), to_string(core.program().locs[inst.loc]));
}

[[noreturn]] void deadlock(const std::vector<std::unique_ptr<Core>>& cores) {
  std::string because;
  const Core* first = nullptr;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const bool waits = cores[i]->waiting_at();
    if (waits && !first) first = cores[i].get();
    because += fmt::format("{}core {} {}", i ? "; " : "", i,
                           waits ? "waits in " + at(*cores[i]) : std::string("has ended"));
  }
  Diagnostic d = run_diagnostic("run.R7", because);
  d.loc = first->program().locs[first->waiting_at()->loc];
  throw Error(std::move(d));
}

bool same_meeting(const Core& a, const Core& b) {
  const Instruction &x = *a.waiting_at(), &y = *b.waiting_at();
  if (x.opcode != y.opcode) return false;
  if (x.opcode == Opcode::core_barrier) return true;
  using args::sendrecv::pipe_id;
  return InstView(a.program(), x).integer(pipe_id) == InstView(b.program(), y).integer(pipe_id);
}

// `from` sends its src into the dst of `to`.
void transfer(Core& from, Core& to) {
  const TrackedOperand& src = from.operands()[0];
  const TrackedOperand& dst = to.operands()[1];
  EngineState state;
  const Run run(to.program(), *to.waiting_at(), arch(Target::trn2), Engine::dma, plain_kernels(), state);
  copy_elements(run, dst.tile, src.tile);
  Tracker reads = from.tracker(*from.waiting_at()), writes = to.tracker(*to.waiting_at());
  if (reads.is_clean(src.param)) {
    writes.write_clean(dst.param);
  } else {
    writes.write(dst.param, reads.read(src.param));
  }
}

void meet(Core& a, Core& b) {
  if (a.waiting_at()->opcode == Opcode::sendrecv) {
    transfer(a, b);
    transfer(b, a);
  }
  a.resume();
  b.resume();
}

}  // namespace

void run_together(const std::vector<std::unique_ptr<Core>>& cores) {
  std::vector<bool> ended(cores.size());
  while (true) {
    bool all_ended = true;
    for (std::size_t i = 0; i < cores.size(); ++i) {
      if (!ended[i]) ended[i] = cores[i]->advance();
      all_ended = all_ended && ended[i];
    }
    if (all_ended) return;
    const bool pair = cores.size() == 2 && !ended[0] && !ended[1];
    if (!pair || !same_meeting(*cores[0], *cores[1])) deadlock(cores);
    meet(*cores[0], *cores[1]);
  }
}

}  // namespace kiln::sim
