#include "kiln/timing/steady.h"

#include <algorithm>

#include "kiln/analysis/statements.h"

namespace kiln::timing {
using namespace isa;

Steady::Steady(CoreModel& core, LoopId loop)
    : core_(core), loop_(loop), horizon_(core.progress().last_end() + core.plan().dma_done) {
  core_.reach().begin(core_.progress().op_count());
  mark();
}

Steady::~Steady() {
  core_.reach().end();
  core_.end_replay();
}

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

std::int64_t Steady::after_iteration(std::int64_t left, int number, std::vector<Gap>& gaps) {
  if (over_) return 0;
  if (replay_left_ > 0) {
    in_replay();
    return 0;
  }
  mark();
  const std::int64_t last = iterations() - 1;
  const LoopReach::Seen seen = core_.reach().take();
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
    return leave_out(p, replayed, left, number, gaps);
  }
  return 0;
}

// By tensor: instructions outside the loop use it.
std::vector<bool> Steady::used_outside() const {
  const Program& program = core_.program();
  std::vector<bool> inside(program.instructions.size());
  analysis::for_each_instruction(program, {Node::Kind::loop, loop_}, [&](InstructionId id) { inside[id] = true; });
  std::vector<bool> outside(program.tensors.size());
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (inside[id]) continue;
    for (const Use& use : core_.plan().uses_of(core_.plan().ops[id])) outside[use.tensor] = true;
  }
  return outside;
}

// The iterations after the gap are not simulated either: they repeat the last ones before it, so that what
// follows finds the memory as the loop leaves it.
std::int64_t Steady::leave_out(std::int64_t period, std::int64_t replayed, std::int64_t left, int number,
                               std::vector<Gap>& gaps) {
  const Progress& progress = core_.progress();
  const std::int64_t last = iterations() - 1;
  const std::int64_t periods = (left - replayed) / period, skipped = periods * period;
  const Time each = period_time_[period];
  const Mark& from = marks_[static_cast<std::size_t>(last - replayed + 1)];
  const Mark& steady = marks_[static_cast<std::size_t>(last - period + 1)];
  const std::int64_t jumps = (skipped + replayed) / period;
  core_.begin_replay({.ops = progress.op_count() - from.first_op,
                      .events = core_.log().event_count() - from.first_event,
                      .first_event = from.first_event,
                      .by = jumps * each});
  unsigned used = 0;
  const Time begin = progress.times(steady.first_op).start;
  Time complete = begin;
  for (OpId op = steady.first_op; op < progress.op_count(); ++op) {
    used |= 1u << progress.times(op).stream;
    complete = std::min(complete, progress.times(op).start);
  }
  core_.jump(used, complete + each, each, jumps);
  core_.log().leave_out(steady.first_event, periods, periods * each);
  gaps.push_back({loop_, number, begin + each, begin + each + periods * each, skipped, steady.first_event,
                  core_.log().event_count() - 1});
  replay_left_ = replayed_ = replayed;
  period_ = period;
  periods_left_out_ = periods;
  return skipped;
}

// After an iteration that was repeated. The last of them show what a period counts.
void Steady::in_replay() {
  --replay_left_;
  if (replay_left_ == period_) {
    before_ = core_.log().counts();
    core_.begin_ramps({.loop = loop_,
                       .stride = period_ * core_.program().loops[loop_].step,
                       .count = periods_left_out_ + replayed_ / period_,
                       .period = period_time_[period_],
                       .outside = used_outside()});
  }
  if (replay_left_ > 0) return;
  core_.log().repeat_since(before_, periods_left_out_);
  core_.end_replay();
  over_ = true;
}

}  // namespace kiln::timing
