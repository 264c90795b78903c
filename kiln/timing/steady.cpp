#include "kiln/timing/steady.h"

#include <algorithm>

#include "kiln/analysis/statements.h"

namespace kiln::timing {
using namespace isa;

Steady::Steady(Core& core, LoopId loop) : core_(core), loop_(loop), horizon_(core.last_end + core.plan_.dma_done) {
  core_.loop_begin_ = static_cast<OpId>(core_.op_count());
  core_.oldest_ = kNoOp;
  mark();
}

Steady::~Steady() {
  core_.loop_begin_ = kNoOp;
  core_.replay_ = {};
}

void Steady::mark() {
  marks_.push_back({static_cast<OpId>(core_.op_count()),
                    static_cast<EventId>(core_.events.size()),
                    core_.heat_,
                    core_.table_,
                    {core_.pools_[0].unused(), core_.pools_[1].unused()}});
}

Time Steady::distance(std::int64_t a, std::int64_t b) const {
  const OpId from = first_op(a), to = first_op(b), count = first_op(a + 1) - from;
  if (count == 0 || first_op(b + 1) - to != count) return -1;
  const Mark &x = marks_[static_cast<std::size_t>(a + 1)], &y = marks_[static_cast<std::size_t>(b + 1)];
  if (x.heat != y.heat || x.table != y.table || x.unused[0] != y.unused[0] || x.unused[1] != y.unused[1]) return -1;
  const Time later = core_.times(to).start - core_.times(from).start;
  for (OpId i = 0; i < count; ++i) {
    const OpTimes &p = core_.times(from + i), &q = core_.times(to + i);
    if (q.start - p.start != later || q.end - p.end != later) return -1;
  }
  return later;
}

bool Steady::past_is_over(std::int64_t period) const {
  for (OpId op = first_op(iterations() - period); op < core_.op_count(); ++op) {
    if (core_.times(op).start < horizon_) return false;
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
  if (core_.oldest_ != kNoOp) {
    const auto at = std::upper_bound(marks_.begin(), marks_.end(), core_.oldest_,
                                     [](OpId op, const Mark& m) { return op < m.first_op; });
    reach_ = std::max(reach_, last - (at - marks_.begin() - 1));
  }
  const bool stale = core_.stale_;
  core_.oldest_ = kNoOp;
  core_.stale_ = false;
  for (std::int64_t p = 1; p <= std::min(kPeriods, last); ++p) {
    const Time d = stale ? -1 : distance(last - p, last);
    alike_[p] = d < 0 ? 0 : d == period_time_[p] ? alike_[p] + 1 : 1;
    period_time_[p] = d;
    const std::int64_t replayed = (reach_ + p + p - 1) / p * p + p;
    if (alike_[p] < replayed || left < replayed + p || !past_is_over(p)) continue;
    return leave_out(p, replayed, left, number, gaps);
  }
  return 0;
}

void Steady::find_outside() {
  const Program& program = core_.program();
  std::vector<bool> inside(program.instructions.size());
  analysis::for_each_instruction(program, {Node::Kind::loop, loop_}, [&](InstructionId id) { inside[id] = true; });
  core_.replay_.outside.assign(program.tensors.size(), false);
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    if (inside[id]) continue;
    const Op& op = core_.plan_.ops[id];
    for (std::uint32_t u = 0; u < op.use_count; ++u)
      core_.replay_.outside[core_.plan_.uses[op.first_use + u].tensor] = true;
  }
}

// The iterations after the gap are not simulated either: they repeat the last ones before it, so that what
// follows finds the memory as the loop leaves it.
std::int64_t Steady::leave_out(std::int64_t period, std::int64_t replayed, std::int64_t left, int number,
                               std::vector<Gap>& gaps) {
  const std::int64_t last = iterations() - 1;
  const std::int64_t skipped = (left - replayed) / period * period;
  const Time each = period_time_[period];
  const Mark& from = marks_[static_cast<std::size_t>(last - replayed + 1)];
  const Mark& steady = marks_[static_cast<std::size_t>(last - period + 1)];
  core_.replay_.on = true;
  core_.replay_.ops = static_cast<OpId>(core_.op_count()) - from.first_op;
  core_.replay_.events = static_cast<EventId>(core_.events.size()) - from.first_event;
  core_.replay_.first_event = from.first_event;
  core_.replay_.by = (skipped + replayed) / period * each;
  find_outside();
  unsigned used = 0;
  Time complete = core_.times(steady.first_op).start;
  for (OpId op = steady.first_op; op < core_.op_count(); ++op) {
    used |= 1u << core_.times(op).stream;
    complete = std::min(complete, core_.times(op).start);
  }
  core_.jump(used, complete + each, each, (skipped + replayed) / period);
  std::vector<bool> lane_used(core_.lanes.size());
  for (std::size_t e = steady.first_event; e < core_.events.size(); ++e) lane_used[core_.events[e].lane] = true;
  for (std::size_t i = 0; i < lane_used.size(); ++i) {
    if (lane_used[i]) core_.active_until_[i] += skipped / period * each;
  }
  const Time begin = core_.times(steady.first_op).start + each;
  gaps.push_back({loop_, number, begin, begin + skipped / period * each, skipped, steady.first_event,
                  static_cast<EventId>(core_.events.size() - 1)});
  for (std::size_t e = steady.first_event; e < core_.events.size(); ++e) core_.events[e].repeats += skipped / period;
  replay_left_ = replayed_ = replayed;
  period_ = period;
  periods_left_out_ = skipped / period;
  return skipped;
}

// After an iteration that was repeated. The last of them show what a period counts.
void Steady::in_replay() {
  --replay_left_;
  if (replay_left_ == period_) {
    before_ = counts();
    core_.replay_.ramp_loop = loop_;
    core_.replay_.ramp_stride = period_ * core_.program().loops[loop_].step;
    core_.replay_.ramp_count = periods_left_out_ + replayed_ / period_;
    core_.replay_.ramp_period = period_time_[period_];
  }
  if (replay_left_ == 0) finish_replay();
}

void Steady::finish_replay() {
  const Counts now = counts();
  const std::int64_t n = periods_left_out_;
  for (std::size_t i = 0; i < before_.lanes.size(); ++i) {
    Lane& lane = core_.lanes[i];
    lane.executions += n * (now.lanes[i].executions - before_.lanes[i].executions);
    lane.busy += n * (now.lanes[i].busy - before_.lanes[i].busy);
    lane.active += n * (now.lanes[i].active - before_.lanes[i].active);
    for (int w = 0; w < kWaitCount; ++w) lane.waiting[w] += n * (now.lanes[i].waiting[w] - before_.lanes[i].waiting[w]);
  }
  Totals& t = core_.totals;
  t.instructions += n * (now.totals.instructions - before_.totals.instructions);
  t.hbm_read += static_cast<double>(n) * (now.totals.hbm_read - before_.totals.hbm_read);
  t.hbm_written += static_cast<double>(n) * (now.totals.hbm_written - before_.totals.hbm_written);
  t.macs += static_cast<double>(n) * (now.totals.macs - before_.totals.macs);
  t.flops += static_cast<double>(n) * (now.totals.flops - before_.totals.flops);
  core_.transfers.add_total(n * (now.transfers - before_.transfers));
  core_.replay_ = {};
  over_ = true;
}

}  // namespace kiln::timing
