#include "kiln/sim/dispatch.h"

#include <algorithm>

#include "kiln/sim/compute.h"

namespace kiln::sim {
namespace {
constexpr std::int64_t kOpenTasks = 16;          // of each thread, by which issuing runs ahead: caches hold their tiles
constexpr std::int64_t kInlineWork = 16 * 1024;  // below this a task costs more than it wins

// Elements that are looked at; two products count as one of them.
std::int64_t work_of(const isa::Run& run, const Operands& operands) {
  std::int64_t elements = 0, results = 0, lanes = 0;
  for (const Operand& o : operands.list) {
    elements += o.tile.count();
    if (run.row().params[o.param].is_output())
      results += o.tile.count();
    else
      lanes = std::max(lanes, o.tile.rows);
  }
  return run.engine() == Engine::tensor ? elements + results * lanes / 2 : elements;
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
  const std::int64_t work = queue_.threads() == 1 ? 0 : work_of(run, operands);
  if (queue_.threads() == 1 || queue_.takes_alone(work) || (work < kInlineWork && !must_wait(state, operands))) {
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
