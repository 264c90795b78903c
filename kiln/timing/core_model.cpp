#include "kiln/timing/core_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>

#include "kiln/base/memory_limit.h"
#include "kiln/timing/rules.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr OpId kForgetEvery = 1024;

const ProgramChange& change_of(const TimingOptions& options, int core) {
  static const ProgramChange none;
  return options.changes.empty() ? none : options.changes[static_cast<std::size_t>(core)];
}

}  // namespace

CoreModel::CoreModel(const Program& program, const Arch& arch, const TimingOptions& options, int number, bool pair,
                     const std::string& prefix)
    : program_(program),
      arch_(arch),
      options_(options),
      number_(number),
      reorder_(options.reorder.value()),
      own_plan_(std::make_shared<const Plan>(make_plan(program, arch, change_of(options, number)))),
      plan_(*own_plan_),
      log_(number, prefix, std::ranges::any_of(plan_.ops.kinds(), &Op::crosses)),
      progress_(plan_, log_.events()),
      dependencies_(program, plan_, change_of(options, number), reorder_),
      memory_(program, plan_, arch, reorder_),
      scheduler_(plan_),
      compute_(arch),
      array_(arch.timing.matmul),
      dma_(arch, pair) {}

std::unique_ptr<CoreModel> CoreModel::fork() const {
  std::unique_ptr<CoreModel> other(new CoreModel(*this));
  other->progress_.read_from(other->log_.events());
  return other;
}

void CoreModel::expect(double instructions) {
  constexpr double kMost = 4e6;
  expected_ = instructions;
  auto count = static_cast<std::size_t>(std::min(instructions, kMost));
  std::size_t transfers = count / 2;
  if (program_.loops.empty()) {  // known exactly
    count = program_.instructions.size();
    const auto moves = [&](InstructionId id) { return plan_.ops[id].kind == Kind::transfer; };
    transfers = static_cast<std::size_t>(
        std::ranges::count_if(std::views::iota(InstructionId{0}, static_cast<InstructionId>(count)), moves));
  }
  progress_.reserve(count);
  if (program_.loops.empty()) lives_.reserve(program_.tensors.size());
  log_.reserve(count + transfers);  // DMAs have two events
}

void CoreModel::declare(TensorId id) {
  const Tensor& t = program_.tensors[id];
  if (t.role != Role::internal || t.address || t.memory == Memory::shared_hbm) return;
  dependencies_.declare(id);
  if (is_on_chip(t.memory)) memory_.declare(id);
}

void CoreModel::release(TensorId id, bool for_good) {
  const Tensor& t = program_.tensors[id];
  if (t.role != Role::internal || !is_on_chip(t.memory)) return;
  if (for_good) dependencies_.release_for_good(id);
  const Users& users = dependencies_.users(id);
  if (!t.address) memory_.release(id, users, for_good);
  const OpId first = options_.pictures_memory ? dependencies_.first_user(id) : kNoOp;
  if (first != kNoOp && !replay_) {
    const auto is_open = [&](OpId op) { return op != kNoOp && !progress_.has_times(op); };
    if (is_open(first) || std::ranges::any_of(users, is_open)) {
      ended_.push_back({id, first, users});
    } else {
      add_life({id, first, users});
    }
  }
  if (for_good) dependencies_.forget_users(id);
}

void CoreModel::add_life(const Stay& stay) {
  const OpTimes first = progress_.times(stay.first);
  Life life{stay.tensor, first.event - first.transfer, first.event};
  Time end = std::numeric_limits<Time>::min();
  for (OpId op : stay.users) {
    if (op == kNoOp) continue;
    const OpTimes times = progress_.times(op);
    if (times.end > end) end = times.end, life.end = times.event;
  }
  lives_.push_back(life);
}

// In which order an instruction goes through the parts: what it waits for; then either its times are those of an
// earlier iteration, or it starts now, or the list scheduler holds it back and starts another one when it is full.
void CoreModel::execute(InstructionId id) {
  const bool holds = reorder_ && !replay_;
  Issue& issue = holds ? scheduler_.next() : now_;
  const Op& op = begin(issue, id);
  if (replay_) return repeat(issue, op);
  if (!holds) return start(issue, progress_.ready({0, Wait::none, kNone}, issue.deps, op.stream));
  scheduler_.hold(progress_);
  if (scheduler_.is_full()) start_next();
}

const Op& CoreModel::begin(Issue& issue, InstructionId id) {
  const Op& op = plan_.ops[id];
  issue.inst = id;
  issue.op = progress_.add(op);
  dependencies_.find(issue, op, progress_, memory_);
  reach_.note(issue);
  return op;
}

void CoreModel::start_next() {
  const ListScheduler::Chosen chosen = scheduler_.choose(progress_, memory_.stays());
  start(chosen.issue, chosen.ready);
  scheduler_.started(progress_);
}

void CoreModel::finish() {
  while (!scheduler_.is_empty()) start_next();
  for (const Stay& stay : ended_) add_life(stay);
  ended_.clear();
}

// `known`: as its dependencies let it.
void CoreModel::start(const Issue& issue, const Ready& known) {
  const Op& op = plan_.ops[issue.inst];
  Ready ready = op.early ? Ready{0, Wait::none, kNone} : progress_.stream(op.stream).ready();
  ready.later(known.at, known.wait, known.because);
  if (!issue.stays.empty()) {
    ready = memory_.stays().ready(ready, issue.stays, plan_.semaphore[static_cast<int>(op.stream)]);
    memory_.stays().take(issue.stays);
  }
  if (op.kind == Kind::transfer) {
    run_dma(issue, op, ready);
  } else if (op.engine == Engine::tensor && op.load > 0) {
    run_tensor(issue, op, ready);
  } else {
    run_compute(issue, op, ready);
  }
  if (!issue.stays.empty()) memory_.stays().leave(issue.stays, progress_.times(issue.op));
}

Event CoreModel::event_of(const Issue& issue, const Op& op, const Ready& start, Kind kind) {
  Event e{.inst = issue.inst,
          .because = start.because,
          .lane = static_cast<LaneId>(op.stream),
          .kind = kind,
          .wait = start.wait};
  e.issue = progress_.stream(op.stream).take_issue();
  e.start = start.at;
  return e;
}

EventId CoreModel::emit(const Event& event) {
  progress_.reach(event.end);
  return log_.add(event);
}

void CoreModel::done(const Issue& issue, const Op& op, EventId event) {
  progress_.set_event(issue.op, event);
  log_.count(op);
  if (progress_.op_count() % kForgetEvery == 0) forget();
}

void CoreModel::run_compute(const Issue& issue, const Op& op, const Ready& ready) {
  StreamState& stream = progress_.stream(op.stream);
  const Ready start = compute_.start(op, ready, stream);
  Event e = event_of(issue, op, start, Kind::execute);
  e.end = start.at + op.latency;
  e.occupied = op.interval;
  stream.free = start.at + op.interval;
  stream.last = emit(e);
  done(issue, op, stream.last);
}

void CoreModel::run_tensor(const Issue& issue, const Op& op, const Ready& ready) {
  StreamState& stream = progress_.stream(op.stream);
  const Ready load =
      progress_.ready({array_.load_from(op, issue.loaded), Wait::engine, stream.last}, issue.early, op.stream);
  const TensorArray::Run run = array_.run(op, ready, load, issue.loaded, stream.last);
  Event e = event_of(issue, op, run.start, Kind::execute);
  e.end = run.end;
  e.occupied = run.occupied;
  stream.free = run.next;
  stream.last = emit(e);
  done(issue, op, stream.last);
}

void CoreModel::run_dma(const Issue& issue, const Op& op, const Ready& ready, DmaUnit::Others others) {
  StreamState& stream = progress_.stream(op.stream);
  const DmaUnit::Run run = dma_.run(op, ready, stream, others);
  const Time triggered = run.trigger.at;
  Event trigger = event_of(issue, op, run.trigger, Kind::trigger);
  trigger.end = triggered + op.trigger;
  trigger.occupied = op.trigger;
  const EventId triggering = emit(trigger);
  if (!op.early) stream.free = triggered + op.interval, stream.last = triggering;

  Event e{.inst = issue.inst,
          .because = triggering,
          .lane = run.queue < 0 ? log_.link_lane() : log_.queue_lane(run.queue),
          .kind = Kind::transfer,
          .wait = run.late     ? Wait::peer
                  : run.queued ? Wait::queue
                               : Wait::start};
  e.issue = triggered;
  e.start = run.begin;
  e.end = run.end;
  e.occupied = e.end - e.start;
  e.hbm_bytes = op.hbm_read + op.hbm_written;
  done(issue, op, emit(e));
}

void CoreModel::repeat(const Issue& issue, const Op& op) {
  const OpTimes from = progress_.times(issue.op - replay_->ops);
  EventId event = kNone;
  for (EventId id = op.kind == Kind::transfer ? from.event - 1 : from.event; id <= from.event; ++id) {
    Event e = log_.events()[id];
    e.issue += replay_->by;
    e.start += replay_->by;
    e.end += replay_->by;
    if (id >= replay_->steady_event) e.repeats /= replay_->stands_for;
    if (e.because != kNone && e.because >= replay_->first_event) e.because += replay_->events;
    event = emit(e);
  }
  progress_.stream(op.stream).last = op.kind == Kind::transfer ? event - 1 : event;
  done(issue, op, event);
}

void CoreModel::forget() {
  const Time floor = progress_.earliest_start();
  dma_.forget_before(floor);
  compute_.forget_before(floor);
  if (!replay_) log_.forget_before(floor);  // else streams are already where the repeated iterations end
  // Vectors that grow are there twice for a while.
  const double kept = static_cast<double>(progress_.op_count()) * Progress::bytes_per_op() +
                      static_cast<double>(log_.event_count()) * Events::kBytesEach +
                      static_cast<double>(lives_.size()) * sizeof(Life) +
                      static_cast<double>(ended_.size()) * sizeof(Stay);
  require_memory(3 * kept, options_.max_memory, "what is kept of simulated instructions");
  if (options_.done && number_ == 0)
    options_.done->store(std::min(1.0, progress_.op_count() / expected_), std::memory_order_relaxed);
  if (options_.cancel && options_.cancel->load(std::memory_order_relaxed))
    raise(timing_rules::kTable, timing_rules::kCancelled, {});
}

void CoreModel::jump(unsigned used, Time complete, Time period, std::int64_t count) {
  progress_.move(used, period * count);
  const Time floor = progress_.earliest_free();
  dma_.jump(used, complete, period, count, floor);
  compute_.jump(complete, period, count, floor);
  if (used >> static_cast<int>(Stream::tensor) & 1) array_.move(period * count);
}

void CoreModel::retire(Stream stream) {
  // The list scheduler may still hold some of its instructions back.
  if (!reorder_) progress_.retire(stream);
}

Time CoreModel::arrive(InstructionId id) {
  finish();
  const Op& op = begin(meeting_, id);
  arrived_ = progress_.ready(progress_.stream(op.stream).ready(), meeting_.deps, op.stream);
  const Time at = arrived_.at;
  // A barrier orders everything before it.
  return op.kind == Kind::transfer ? at : std::max(at, progress_.last_end());
}

void CoreModel::meet(Time at, const LinkTurn& turn) {
  const Op& op = plan_.ops[meeting_.inst];
  if (op.crosses) {
    Op own = op;
    own.link = static_cast<Time>(static_cast<double>(op.link) * turn.part);
    own.transfer = std::max(own.moved, own.link + own.steps);
    return run_dma(meeting_, own, arrived_, {at, turn.from});  // nothing else of its stream waits for the others
  }
  const Ready ready{at, Wait::peer, progress_.stream(op.stream).last};
  if (op.kind == Kind::transfer) return run_dma(meeting_, op, ready);
  run_compute(meeting_, op, ready);
  progress_.hold_until(at);
}

// A repeated iteration takes its times from an earlier one, and the streams are already where its last turn left them.
void CoreModel::turn(const Loop& loop) {
  if (replay_) return;
  Time condition = 0;
  if (loop.reg != kNone && dependencies_.writer(loop.reg) != kNoOp) {
    finish();
    condition = progress_.times(dependencies_.writer(loop.reg)).end;
  }
  progress_.turn(condition, from_ns(arch_.timing.loop_ns));
}

void CoreModel::turn_again(const Loop& loop, double count) {
  if (replay_) return;
  const double takes = count * arch_.timing.loop_ns;
  if (takes > to_ns(kLongest - progress_.last_end())) {
    raise(timing_rules::kTable, timing_rules::kLongestTime,
          {.found = fmt::format("{:.3g} passes without an instruction", count), .loc = program_.locs[loop.loc]});
  }
  progress_.turn(0, static_cast<Time>(count) * from_ns(arch_.timing.loop_ns));
}

}  // namespace kiln::timing
