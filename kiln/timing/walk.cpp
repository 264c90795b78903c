#include "kiln/timing/walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/analysis/statements.h"
#include "kiln/timing/rules.h"
#include "kiln/timing/trips.h"

namespace kiln::timing {
using namespace isa;

Walk::Walk(CoreModel& core, const TimingOptions& options, int number, bool pair)
    : left_out{number},
      core_(core),
      program_(core.program()),
      pair_(pair),
      limit_(options.limit),
      loops_(program_, core.plan(), options, pair),
      lifetimes_(std::make_shared<const analysis::Lifetimes>(program_)) {
  for (LoopId id = 0; id < program_.loops.size(); ++id) {
    const Loop& loop = program_.loops[id];
    if (loop.kind != Loop::Kind::static_for) trip_counts.push_back({number, id, loops_.trips()[id]});
  }
  core_.expect(loops_.simulated());
  for (std::size_t i = 0; i < program_.body.size(); ++i) {
    analysis::for_each_instruction(program_, program_.body[i], [&](InstructionId id) {
      last_use_[static_cast<int>(core_.plan().ops[id].stream)] = i;
    });
  }
  frames_.push_back({&program_.body, kNone});
}

Walk::Walk(const Walk& other, CoreModel& core, LoopId loop, std::int64_t passes)
    : left_out{other.left_out.core},
      core_(core),
      program_(other.program_),
      pair_(other.pair_),
      limit_(other.limit_),
      taken_(other.taken_),
      loops_(other.loops_),
      lifetimes_(other.lifetimes_) {
  std::ranges::copy(other.last_use_, last_use_);
  for (const Frame& f : other.frames_)
    frames_.push_back({f.block, f.loop, f.next, f.iteration, f.loop == loop ? passes : f.count, f.first_op});
  loops_.set_trips(loop, passes);
  if (const Frame& f = other.frames_.back(); other.frames_.size() == 2)
    added_ops_ = static_cast<OpId>((core_.progress().op_count() - f.first_op) / f.count * (passes - f.count));
}

void Walk::enter(LoopId id) {
  const std::int64_t count = loops_.passes(id);
  if (count <= 0) return;
  if (frames_.size() == 1) core_.begin_outermost_loop();
  if (loops_.is_idle(id)) {
    idle(id);
    return;
  }
  Frame frame{&program_.loops[id].body, id, 0, 0, count, core_.progress().op_count()};
  if (!loops_.is_alone(id)) {
    frame.chain = loops_.chain(id);
    frame.loop = frame.chain.back();
    frame.block = &program_.loops[frame.loop].body;
  }
  frames_.push_back(std::move(frame));
  if (loops_.is_watched(id)) frames_.back().steady = std::make_unique<Steady>(core_, frames_.back().loop, left_out);
  set_variables(frames_.back());
}

// A loop without instructions takes what evaluating the conditions takes, its own and those of the loops in it. After
// the first pass nothing is waited for any more.
double Walk::idle(LoopId id) {
  const std::int64_t count = loops_.trips()[id];
  if (count <= 0) return 0;
  const Loop& loop = program_.loops[id];
  double turns = 0;  // of a pass
  for (const Node& node : loop.body) {
    if (node.kind == Node::Kind::loop) turns += idle(node.index);
  }
  if (loop.kind != Loop::Kind::static_for) {
    core_.turn(loop);
    turns += 1;
  }
  const double more = turns * static_cast<double>(count - 1);
  if (more > 0) core_.turn_again(loop, more);
  return turns + more;
}

void Walk::set_variables(const Frame& frame) {
  const auto set = [&](LoopId id, std::int64_t iteration) {
    const Loop& loop = program_.loops[id];
    core_.set_loop(id, (loop.lower.is_register ? 0 : loop.lower.value) + iteration * loop.step);
  };
  if (frame.chain.empty()) return set(frame.loop, frame.iteration);
  std::int64_t rest = frame.iteration;
  for (auto id = frame.chain.rbegin(); id != frame.chain.rend(); ++id) {
    set(*id, rest % loops_.trips()[*id]);
    rest /= loops_.trips()[*id];
  }
}

// Starts the next iteration of the loop whose body just ended; false when there is none.
bool Walk::repeat(Frame& frame) {
  if (frame.loop == kNone) return false;
  const Loop& loop = program_.loops[frame.loop];
  if (loop.kind != Loop::Kind::static_for) core_.turn(loop);
  if (frame.steady) frame.iteration += frame.steady->after_iteration(frame.count - frame.iteration - 1);
  if (++frame.iteration >= frame.count) return false;
  frame.next = 0;
  set_variables(frame);
  return true;
}

void Walk::tell(const Frame& frame) {
  if (frame.loop == kNone || frame.iteration + 1 < frame.count || !std::erase(told_of_, frame.loop)) return;
  (*at_end_)(frame.loop);
}

// One more instruction of a loop. Names the innermost loop that is to blame for most of them.
void Walk::take() {
  if (frames_.size() == 1 || ++taken_ <= limit_) return;
  const auto most = [&](const Frame& f) {
    return f.loop == kNone || core_.progress().op_count() - f.first_op > static_cast<double>(limit_) / 2;
  };
  auto found = std::find_if(frames_.rbegin(), frames_.rend(), most).base() - 1;
  if (found->loop == kNone) ++found;
  const Loop& loop = program_.loops[found->loop];
  raise(timing_rules::kTable, timing_rules::kOneByOne,
        {.found = fmt::format("the loop on `{}` is in pass {} of {} and still not steady, after {} instructions",
                              name_of(program_, loop), found->iteration + 1, found->count, limit_),
         .loc = program_.locs[loop.loc]});
}

// A statement is done: tensors die, streams end.
void Walk::after(LoopId loop, std::size_t position) {
  for (TensorId id : lifetimes_->after(loop, position)) core_.release(id, loop == kNone);
  if (loop != kNone) return;
  for (int s = 0; s < kStreamCount; ++s) {
    if (last_use_[s] == position) core_.retire(static_cast<Stream>(s));
  }
}

bool Walk::advance() {
  while (!frames_.empty() && !gave_up()) {
    Frame& frame = frames_.back();
    if (frame.next == frame.block->size()) {
      if (!told_of_.empty()) tell(frame);
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
      take();
      arrival = core_.arrive(node.index);
      meeting = node.index;
      waits = true;
    } else {
      take();
      core_.execute(node.index);
    }
    after(here, position);
    if (waits) return false;
    if (core_.progress().op_count() == ask_after_) {
      if (!(*goes_on_)()) return false;
      ask_after_ += ask_every_;
    }
  }
  core_.finish();
  return true;
}

}  // namespace kiln::timing
