#include "kiln/timing/dependencies.h"

#include <algorithm>

namespace kiln::timing {
using namespace isa;

Dependencies::Dependencies(const Program& program, const Plan& plan, const ProgramChange& change, bool reorder)
    : program_(program),
      plan_(plan),
      reorder_(reorder),
      boxes_(program, plan),
      tensors_(program.tensors.size()),
      loop_writers_(reorder ? program.tensors.size() : 0, program.loops.empty()),
      state_(program, plan, !reorder) {
  if (!change.in_turn.empty()) turns_of_.assign(program.tensors.size(), kNone);
  for (TensorId id : change.in_turn) {
    turns_of_[id] = static_cast<std::uint32_t>(turns_.size());
    turns_.emplace_back(change.buffers);
  }
}

Regions& Dependencies::regions(TensorUse& of, const Tensor& tensor) {
  const bool shares = tensor.address && is_on_chip(tensor.memory);
  Copied<Regions>& out = shares ? placed_[tensor.memory == Memory::psum] : of.regions;
  if (out) return *out;
  if (spare_.empty()) {
    out = std::make_unique<Regions>();
  } else {
    out = std::move(spare_.back());
    spare_.pop_back();
  }
  return *out;
}

// What has room for regions keeps it.
void Dependencies::declare(TensorId id) {
  if (reorder_) loop_writers_.forget(id);
  if (!tensors_.has(id)) return;
  TensorUse& use = tensors_[id];
  use.users = kNoUsers;
  use.first = kNoOp;
  if (use.regions) use.regions->clear();
}

void Dependencies::release_for_good(TensorId id) {
  if (!tensors_.has(id) || !tensors_[id].regions) return;
  Copied<Regions> gone = std::move(tensors_[id].regions);
  if (!gone->is_small()) return;
  gone->clear();
  spare_.push_back(std::move(gone));
}

void Dependencies::find(Issue& issue, const Op& op, const Progress& progress, TensorMemory& memory) {
  issue.deps.clear();
  issue.early.clear();
  issue.stays.clear();
  issue.loaded = {};
  for (const Use& use : plan_.uses_of(issue.inst)) touch(issue, op, use, progress, memory);
  state_.touch(issue, op);
}

void Dependencies::touch(Issue& issue, const Op& op, const Use& use, const Progress& progress, TensorMemory& memory) {
  Waits& out = use.stationary ? issue.early : issue.deps;
  const std::size_t before = out.size();
  const TensorId id = tensor_of(use);
  const Tensor& tensor = program_.tensors[id];
  TensorUse& t = tensors_[id];
  Regions& bytes = regions(t, tensor);
  const Box box = boxes_.of(use);
  touch_bytes(issue, op, use, box, bytes, out);
  if (use.stationary && !use.uncertain) {
    issue.loaded = {id, box.hash()};
    for (std::size_t i = before; i < out.size(); ++i) issue.loaded.writer = out[i].op;
  }
  if (reorder_ && is_hbm(tensor.memory) && tensor.role == Role::internal)
    loop_writers_.touch(id, use, issue.op, progress, out);
  if (bytes.is_crowded()) {
    const Time floor = progress.earliest_start() - plan_.dma_done;
    bytes.forget([&](OpId o) { return progress.has_times(o) && progress.times(o).end < floor; });
  }
  if (!ramps_.empty()) add_ramp(use, box, issue.op, bytes);
  if (reorder_) {
    memory.add_stay(id, issue.stays);
  } else if (use.writes && out.size() == before) {
    for (OpId user : memory.users_before(id)) out.push_back({user, Wait::memory});
  }
  if (t.first == kNoOp) t.first = issue.op;
  t.users[static_cast<std::size_t>(op.stream)] = issue.op;
}

void Dependencies::touch_bytes(Issue& issue, const Op& op, const Use& use, const Box& box, Regions& regions,
                               Waits& out) {
  const int stream = static_cast<int>(op.stream);
  const std::size_t before = out.size();
  const TensorId id = tensor_of(use);
  Turns* turns = turns_of_.empty() || turns_of_[id] == kNone ? nullptr : &turns_[turns_of_[id]];
  if (turns && use.writes) turns->write(box, issue.op, updates(issue, op, use));
  regions.touch(box, issue.op, stream, use.reads, use.writes, !reorder_, out);
  if (!turns) return;
  if (use.writes) turns->correct(out, before);
  if (use.reads && !use.writes) turns->read();
  turns->use(issue.op, stream);
}

// The tensor engine adds to what it wrote itself; once that was read, it begins anew.
bool Dependencies::updates(const Issue& issue, const Op& op, const Use& use) const {
  if (use.reads) return op.stream != Stream::tensor;
  const auto uses = plan_.uses_of(issue.inst);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& other) { return tensor_of(other) == tensor_of(use) && other.reads; });
}

void Dependencies::add_ramp(const Use& use, const Box& box, OpId op, Regions& regions) {
  Ramp ramp{box, {}, op, use.writes};
  for (const LoopRamp& loop : ramps_) {
    if (!(*loop.outside)[tensor_of(use)]) continue;
    const Box before = boxes_.moved(use, loop.loop, -loop.stride);
    Ramp::Axis axis{{}, loop.count, loop.period};
    bool moves = false, alike = true;
    for (int d = 0; d < box.rank; ++d) {
      axis.step[d] = before.lo[d] - box.lo[d];
      alike &= before.hi[d] - box.hi[d] == axis.step[d];
      moves |= axis.step[d] != 0;
    }
    if (moves && alike) ramp.axes.push_back(axis);
  }
  if (!ramp.axes.empty()) regions.add_ramp(std::move(ramp));
}

}  // namespace kiln::timing
