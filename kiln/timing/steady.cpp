#include "kiln/timing/steady.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/analysis/statements.h"
#include "kiln/base/quantity_text.h"
#include "kiln/timing/rules.h"
#include "kiln/timing/trips.h"

namespace kiln::timing {
using namespace isa;

Steady::Steady(CoreModel& core, LoopId loop, LeftOut& left_out)
    : core_(core),
      loop_(loop),
      left_out_(left_out),
      depth_(core.reach().begin(core.progress().op_count())),
      horizon_(core.progress().last_end() + core.plan().dma_done) {
  mark();
}

Steady::~Steady() { core_.reach().end(); }

void Steady::mark() { marks_.push_back({core_.progress().op_count(), core_.log().event_count(), core_.loop_state()}); }

Time Steady::distance(std::int64_t a, std::int64_t b) const {
  const Progress& progress = core_.progress();
  const OpId from = first_op(a), to = first_op(b), count = first_op(a + 1) - from;
  if (count == 0 || first_op(b + 1) - to != count) return -1;
  const Mark &x = marks_[static_cast<std::size_t>(a + 1)], &y = marks_[static_cast<std::size_t>(b + 1)];
  if (x.state != y.state) return -1;
  const Time later = progress.times(to).start - progress.times(from).start;
  for (OpId i = 0; i < count; ++i) {
    const OpTimes &p = progress.times(from + i), &q = progress.times(to + i);
    if (q.start - p.start != later || q.end - p.end != later) return -1;
  }
  return later;
}

bool Steady::past_is_over(std::int64_t period) const {
  for (OpId op = first_op(iterations() - period); op < core_.progress().op_count(); ++op) {
    if (core_.progress().times(op).start < horizon_) return false;
  }
  return true;
}

std::int64_t Steady::after_iteration(std::int64_t left) {
  if (over_) return 0;
  if (replay_left_ > 0) {
    in_replay();
    return 0;
  }
  if (const Replay* outer = core_.replay()) return leave_out_again(*outer);
  return watch(left);
}

std::int64_t Steady::watch(std::int64_t left) {
  mark();
  const std::int64_t last = iterations() - 1;
  const LoopReach::Seen seen = core_.reach().take(depth_);
  if (seen.oldest != kNoOp) {
    const auto at = std::upper_bound(marks_.begin(), marks_.end(), seen.oldest,
                                     [](OpId op, const Mark& m) { return op < m.first_op; });
    reach_ = std::max(reach_, last - (at - marks_.begin() - 1));
  }
  for (std::int64_t p = 1; p <= std::min(kPeriods, last); ++p) {
    const Time d = seen.stale ? -1 : distance(last - p, last);
    alike_[p] = d < 0 ? 0 : d == period_time_[p] ? alike_[p] + 1 : 1;
    period_time_[p] = d;
    const std::int64_t replayed = (reach_ + p + p - 1) / p * p + p;
    if (alike_[p] < replayed || left < replayed + p || !past_is_over(p)) continue;
    skip_ = {loop_, core_.progress().op_count(), p, (left - replayed) / p, replayed, d};
    leave_out();
    return begin_replay();
  }
  return 0;
}

// By tensor: instructions outside the loop use it.
const std::vector<bool>& Steady::used_outside() const {
  std::vector<bool>& outside = left_out_.outside[loop_];
  if (!outside.empty()) return outside;
  const Program& program = core_.program();
  std::vector<bool> inside(program.instructions.size());
  analysis::for_each_instruction(program, {Node::Kind::loop, loop_}, [&](InstructionId id) { inside[id] = true; });
  outside.resize(program.tensors.size());
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (inside[id]) continue;
    for (const Use& use : core_.plan().uses_of(id)) outside[core_.program().accesses[use.access].tensor] = true;
  }
  return outside;
}

// The iterations after the gap are not simulated either: they repeat the last ones before it, so that what
// follows finds the memory as the loop leaves it.
void Steady::leave_out() {
  jump();
  const Mark& steady = marks_[static_cast<std::size_t>(iterations() - skip_.period)];
  const Time begin = core_.progress().times(steady.first_op).start + skip_.each, by = skip_.periods * skip_.each;
  skip_.first_event = steady.first_event;
  skip_.gap = left_out_.gaps.size();
  const double moved = core_.log().leave_out(steady.first_event, skip_.periods);
  core_.log().move_lanes(steady.first_event, by);
  left_out_.gaps.push_back({loop_, left_out_.core, begin, begin + by, skip_.iterations(), skip_.periods,
                            steady.first_event, core_.log().event_count() - 1, moved});
  own_replay_ = true;
}

void Steady::jump() {
  const Progress& progress = core_.progress();
  const Mark& from = marks_[static_cast<std::size_t>(iterations() - skip_.replayed)];
  const Mark& steady = marks_[static_cast<std::size_t>(iterations() - skip_.period)];
  const std::int64_t jumps = skip_.periods + skip_.replayed / skip_.period;
  Time by = 0;
  if (__builtin_mul_overflow(jumps, skip_.each, &by) || by > kLongest - progress.last_end()) {
    const Loop& loop = core_.program().loops[loop_];
    raise(timing_rules::kTable, timing_rules::kLongestTime,
          {.found = fmt::format("{} more passes of the loop on `{}`, {} each", skip_.iterations(),
                                name_of(core_.program(), loop),
                                time_text(to_ns(skip_.each) / static_cast<double>(skip_.period))),
           .loc = core_.program().locs[loop.loc]});
  }
  core_.begin_replay({.ops = progress.op_count() - from.first_op,
                      .events = core_.log().event_count() - from.first_event,
                      .first_event = from.first_event,
                      .steady_event = steady.first_event,
                      .stands_for = skip_.periods + 1,
                      .by = by});
  unsigned used = 0;
  Time complete = progress.times(steady.first_op).start;
  for (OpId op = steady.first_op; op < progress.op_count(); ++op) {
    used |= 1u << progress.times(op).stream;
    complete = std::min(complete, progress.times(op).start);
  }
  core_.jump(used, complete + skip_.each, skip_.each, jumps);
}

// An outer loop repeats iterations in which this one left out some.
std::int64_t Steady::leave_out_again(const Replay& outer) {
  const Skip* skip = left_out_.find(loop_, core_.progress().op_count() - outer.ops);
  if (!skip) return 0;
  skip_ = *skip;
  Gap gap = left_out_.gaps[skip_.gap];
  gap.begin += outer.by;
  gap.end += outer.by;
  gap.first_event += outer.events;
  gap.last_event += outer.events;
  skip_.at = core_.progress().op_count();
  skip_.first_event += outer.events;
  skip_.gap = left_out_.gaps.size();
  left_out_.gaps.push_back(gap);
  core_.log().move_lanes(skip_.first_event, skip_.periods * skip_.each);
  return begin_replay();
}

std::int64_t Steady::begin_replay() {
  left_out_.skips.push_back(skip_);
  replay_left_ = skip_.replayed;
  return skip_.iterations();
}

// After an iteration that was repeated. The last of them show what a period counts.
void Steady::in_replay() {
  --replay_left_;
  if (replay_left_ == skip_.period) {
    before_ = core_.log().counts();
    core_.begin_ramps({.loop = loop_,
                       .stride = skip_.period * core_.program().loops[loop_].step,
                       .count = skip_.periods + skip_.replayed / skip_.period,
                       .period = skip_.each,
                       .outside = &used_outside()});
  }
  if (replay_left_ > 0) return;
  core_.log().repeat_since(before_, skip_.periods);
  core_.end_ramps();
  if (own_replay_) core_.end_replay();
  over_ = true;
}

}  // namespace kiln::timing
