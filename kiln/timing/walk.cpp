#include "kiln/timing/walk.h"

#include <algorithm>

#include "kiln/analysis/statements.h"
#include "kiln/timing/trips.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr double kAllAtOnce = 100'000;  // executed instructions that are simulated one by one
constexpr double kMinIterations = 24;   // fewer are not worth extrapolating
constexpr double kUntilSteady = 16;     // iterations that becoming steady takes, about

}  // namespace

Walk::Walk(CoreModel& core, const TimingOptions& options, int number, bool pair)
    : core_(core),
      program_(core.program()),
      number_(number),
      pair_(pair),
      trips_(timing::trip_counts(program_, options)),
      lifetimes_(program_),
      may_be_steady_(program_.loops.size(), false) {
  for (LoopId id = 0; id < program_.loops.size(); ++id) {
    const Loop& loop = program_.loops[id];
    if (loop.kind != Loop::Kind::static_for) trip_counts.push_back({number, id, trips_[id]});
  }
  const double executed = analysis::executed_instructions(program_, program_.body, trips_);
  const bool long_loops = options.extrapolate && !options.reorder.value() && !pair && executed > kAllAtOnce;
  if (long_loops) choose_steady(program_.body);
  core_.expect(long_loops ? static_cast<double>(program_.instructions.size()) : executed);
  for (std::size_t i = 0; i < program_.body.size(); ++i) {
    analysis::for_each_instruction(program_, program_.body[i], [&](InstructionId id) {
      last_use_[static_cast<int>(core_.plan().ops[id].stream)] = i;
    });
  }
  frames_.push_back({&program_.body, kNone});
}

// Marks the outermost loops that are long, but whose iterations are short enough to simulate some of them.
void Walk::choose_steady(const Block& block) {
  for (const Node& node : block) {
    if (node.kind != Node::Kind::loop) continue;
    const Block& body = program_.loops[node.index].body;
    const double each = analysis::executed_instructions(program_, body, trips_),
                 count = static_cast<double>(trips_[node.index]);
    if (each * count <= kAllAtOnce / kUntilSteady) continue;
    if (count >= kMinIterations && each * kUntilSteady <= kAllAtOnce) {
      may_be_steady_[node.index] = true;
    } else {
      choose_steady(body);
    }
  }
}

void Walk::enter(LoopId id) {
  const std::int64_t count = trips_[id];
  if (count <= 0) return;
  if (frames_.size() == 1) core_.begin_outermost_loop();
  frames_.push_back({&program_.loops[id].body, id, 0, 0, count});
  Frame& frame = frames_.back();
  if (may_be_steady_[id]) frame.steady = std::make_unique<Steady>(core_, id);
  set_variable(frame);
}

void Walk::set_variable(const Frame& frame) {
  const Loop& loop = program_.loops[frame.loop];
  const std::int64_t lower = loop.lower.is_register ? 0 : loop.lower.value;
  core_.set_loop(frame.loop, lower + frame.iteration * loop.step);
}

// Starts the next iteration of the loop whose body just ended; false when there is none.
bool Walk::repeat(Frame& frame) {
  if (frame.loop == kNone) return false;
  const Loop& loop = program_.loops[frame.loop];
  if (loop.kind != Loop::Kind::static_for) core_.turn(loop);
  if (frame.steady) {
    const std::int64_t left = frame.count - frame.iteration - 1;
    frame.iteration += frame.steady->after_iteration(left, number_, gaps);
  }
  if (++frame.iteration >= frame.count) return false;
  frame.next = 0;
  set_variable(frame);
  return true;
}

// A statement is done: tensors die, streams end.
void Walk::after(LoopId loop, std::size_t position) {
  for (TensorId id : lifetimes_.after(loop, position)) core_.release(id, loop == kNone);
  if (loop != kNone) return;
  for (int s = 0; s < kStreamCount; ++s) {
    if (last_use_[s] == position) core_.retire(static_cast<Stream>(s));
  }
}

bool Walk::advance() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.next == frame.block->size()) {
      if (!repeat(frame)) {
        const LoopId loop = frame.loop;
        frames_.pop_back();
        if (loop == kNone) break;
        Frame& outer = frames_.back();
        after(outer.loop, outer.next - 1);
      }
      continue;
    }
    const std::size_t position = frame.next++;
    const Node node = (*frame.block)[position];
    const LoopId here = frame.loop;
    bool waits = false;
    if (node.kind == Node::Kind::loop) {
      const std::size_t depth = frames_.size();
      enter(node.index);
      if (frames_.size() > depth) continue;  // released when it ends
    } else if (node.kind == Node::Kind::declare) {
      core_.declare(node.index);
    } else if (pair_ && core_.meets(node.index)) {
      arrival = core_.arrive(node.index);
      meeting = node.index;
      waits = true;
    } else {
      core_.execute(node.index);
    }
    after(here, position);
    if (waits) return false;
  }
  core_.finish();
  return true;
}

}  // namespace kiln::timing
