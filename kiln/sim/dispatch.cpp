#include "kiln/sim/dispatch.h"

#include "kiln/sim/compute.h"

namespace kiln::sim {
namespace {
constexpr std::int64_t kOpenTasks = 16;          // of each thread, by which issuing runs ahead: caches hold their tiles
constexpr std::int64_t kInlineWork = 16 * 1024;  // below this a task costs more than it wins

std::int64_t work_of(const isa::Run& run, const Operands& operands) {
  std::int64_t work = 0;
  for (const Operand& o : operands.list) work += o.tile.count();
  return run.engine() == Engine::tensor ? work * 32 : work;
}

}  // namespace

// Whether an unfinished task stands before this instruction.
bool Dispatch::must_wait(unsigned state, const Operands& operands) const {
  for (const Operand& o : operands.list) {
    if (!o.storage->is_idle()) return true;
  }
  for (int bit = 0; bit < 4; ++bit) {
    if ((state >> bit & 1) && last_user_[bit] && !last_user_[bit]->finished()) return true;
  }
  return false;
}

void Dispatch::add_uses(const TaskRef& task, unsigned state, const Operands& operands) {
  for (const Operand& o : operands.list) {
    const bool writes = task->run.row().params[o.param].is_output();
    const Region region = region_of(o);
    for (const Storage::Use& use : o.storage->uses) {
      if ((writes || use.writes) && use.task != task && region.overlaps(use.region)) TaskQueue::order(use.task, task);
    }
    o.storage->uses.push_back({task, region, writes});
  }
  for (int bit = 0; bit < 4; ++bit) {
    if (!(state >> bit & 1)) continue;
    if (last_user_[bit]) TaskQueue::order(last_user_[bit], task);
    last_user_[bit] = task;
  }
}

void Dispatch::issue(isa::Run& run, unsigned state, const Operands& operands, const Bindings& bindings) {
  if (queue_.threads() == 1 || (work_of(run, operands) < kInlineWork && !must_wait(state, operands))) {
    compute_here(run, queue_.nonfinite(), operands);
    return;
  }
  auto task = std::make_shared<Task>(run);
  task->operands = std::make_shared<const Operands>(operands);  // which keeps what tiles point to
  for (const Operand& o : operands.list) {
    o.storage->drop_finished();
    task->keep.push_back(bindings[o.access->tensor].storage);
  }
  add_uses(task, state, operands);
  queue_.submit(task);
  queue_.wait_until(kOpenTasks * queue_.threads());
}

}  // namespace kiln::sim
