// What an instruction has to wait for: memory, registers, hidden state, explicit dependencies.
#include "kiln/timing/core.h"

#include <algorithm>

#include "kiln/isa/semantics/cost.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr std::size_t kWindow = 192;  // instructions that the list scheduler chooses from
constexpr int kStates = 4;            // StateBits

std::int64_t capacity(const Arch& arch, bool psum) {
  return psum ? arch.psum_partition_bytes : arch.sbuf_partition_bytes - arch.sbuf_reserved_bytes;
}

Lane make_lane(const char* name, Engine engine, int core, int queue) {
  Lane lane;
  lane.name = core == 0 ? name : "core " + std::to_string(core) + " " + name;
  lane.engine = engine;
  lane.core = core;
  lane.queue = queue;
  return lane;
}

}  // namespace

Core::Core(const Program& program, const Arch& arch, const TimingOptions& options, int number, bool pair)
    : program_(program),
      arch_(arch),
      options_(options),
      number_(number),
      pair_(pair),
      plan_(options.changes.empty() ? make_plan(program, arch) : make_plan(program, arch, options.changes[number])),
      loop_value_(program.loops.size()),
      region_of_(program.tensors.size()),
      instances_(program.tensors.size()),
      register_writer_(program.registers.size(), kNoOp),
      register_readers_(program.registers.size()),
      warm_(arch.timing.matmul.warm_up_ns <= 0),
      reorder_(options.reorder) {
  std::int64_t free[2] = {capacity(arch, false), capacity(arch, true)};
  regions_.resize(program.tensors.size() + 2);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& t = program.tensors[id];
    const bool placed = t.address && is_on_chip(t.memory);
    const bool psum = t.memory == Memory::psum;
    region_of_[id] = static_cast<std::uint32_t>(placed ? program.tensors.size() + psum : id);
    if (placed) free[psum] -= t.bytes_per_partition();
  }
  for (int m = 0; m < 2; ++m) {
    pools_[m] = Pool(std::max<std::int64_t>(0, free[m]));
    timed_[m] = TimedPool(std::max<std::int64_t>(0, free[m]));
  }
  if (!options.changes.empty() && !options.changes[number].in_turn.empty()) {
    turns_of_.assign(program.tensors.size(), kNone);
    for (TensorId id : options.changes[number].in_turn) {
      turns_of_[id] = static_cast<std::uint32_t>(turns_.size());
      turns_.emplace_back(options.changes[number].buffers);
    }
  }
  if (!program.deps.empty()) last_op_of_.assign(program.instructions.size(), kNoOp);
  const char* names[kStreamCount] = {"tensor", "vector", "scalar", "gpsimd", "sync", "sync stores"};
  const Engine engines[kStreamCount] = {Engine::tensor, Engine::vector, Engine::scalar,
                                        Engine::gpsimd, Engine::sync,   Engine::sync};
  for (int s = 0; s < kStreamCount; ++s) {
    lanes.push_back(make_lane(names[s], engines[s], number_, -1));
    streams_[s].in_flight.assign(static_cast<std::size_t>(arch.dma.outstanding_transfers), 0);
  }
  active_until_.assign(lanes.size(), 0);
}

void Core::expect(double instructions) {
  constexpr double kMost = 4e6;
  expected_ = instructions;
  const auto count = static_cast<std::size_t>(std::min(instructions, kMost));
  times_.reserve(count);
  events.reserve(count + count / 2);  // DMAs have two
}

std::int64_t Core::evaluate(const Affine& affine) const {
  std::int64_t value = affine.constant;
  for (const Term& term : program_.terms_of(affine)) value += term.coefficient * loop_value_[term.loop];
  return value;
}

Box Core::box_of(const Use& use) const {
  const BoxShape& shape = plan_.shapes[use.shape];
  if (use.uncertain) return shape.everything();
  const Access& a = *use.access;
  std::int64_t offset = evaluate(a.offset);
  if (a.dynamic != kNone) {
    const Dynamic& d = program_.dynamics[a.dynamic];
    offset += d.scale * loop_value_[plan_.loop_of_register[d.source]];
  }
  return shape.at(a.partition.term_count ? evaluate(a.partition) : a.partition.constant, offset * size_bytes(a.dtype));
}

// A tensor of few partitions leaves the others to its neighbours.
std::int64_t Core::pool_bytes(TensorId id) const {
  constexpr std::int64_t kQuadrant = kQuadrantPartitions;
  const Tensor& t = program_.tensors[id];
  const std::int64_t quadrants = (t.partitions() + kQuadrant - 1) / kQuadrant;
  return std::max<std::int64_t>(1, t.bytes_per_partition() * quadrants * kQuadrant / arch_.partitions);
}

void Core::declare(TensorId id) {
  const Tensor& t = program_.tensors[id];
  if (t.role != Role::internal || t.address || t.memory == Memory::shared_hbm) return;
  Instance& instance = instances_[id];
  instance.users = kNoUsers;
  instance.first = kNoOp;
  instance.before.clear();
  instance.writers.clear();
  instance.earlier_writers.clear();
  regions(id).clear();
  if (!is_on_chip(t.memory)) return;
  if (reorder_) {
    instance.stay = static_cast<std::uint32_t>(stays_.size());
    stays_.push_back({pool_bytes(id), in_psum(id)});
  } else {
    pool(id).take(pool_bytes(id), instance.before);
  }
}

void Core::release(TensorId id, bool for_good) {
  const Tensor& t = program_.tensors[id];
  if (t.role != Role::internal || !is_on_chip(t.memory)) return;
  if (for_good && !t.address) regions(id) = {};
  const Instance& instance = instances_[id];
  if (instance.stay != kNone) {
    stays_[instance.stay].closed = true;
    leave(stays_[instance.stay]);
  } else if (!t.address) {
    pool(id).give_back(pool_bytes(id), instance.users);
  }
  if (instance.first != kNoOp && !replay_.on)
    lives.push_back({t.bytes_per_partition(), t.memory == Memory::psum, instance.first, instance.users});
}

// The compiler that reorders knows of a loop's results in HBM as a whole: the loops after it wait for all of
// them, while iterations of one loop do not wait for each other.
void Core::wait_for_loops(Instance& instance, const Issue& issue, const Use& use, std::vector<Dependency>& out) {
  std::vector<OpId>&now = instance.writers, &earlier = instance.earlier_writers;
  if (instance.loop != top_loop) {
    instance.loop = top_loop;
    earlier.insert(earlier.end(), now.begin(), now.end());
    now.clear();
  }
  if (use.writes) now.push_back(issue.op);
  if (!use.reads || earlier.empty()) return;
  // Of those that have a time, the last one stands for all.
  const auto known = std::partition(earlier.begin(), earlier.end(), [&](OpId op) { return times_[op].end < 0; });
  if (earlier.end() - known > 1) {
    *known = *std::max_element(known, earlier.end(), [&](OpId a, OpId b) { return times_[a].end < times_[b].end; });
    earlier.erase(known + 1, earlier.end());
  }
  for (OpId op : earlier) out.push_back({op, Wait::read});
}

void Core::touch(Issue& issue, const Op& op, const Use& use) {
  Instance& instance = instances_[use.tensor];
  std::vector<Dependency>& out = use.stationary ? issue.early : issue.deps;
  const int stream = static_cast<int>(op.stream);
  const std::size_t before = out.size();
  const Box box = box_of(use);
  Regions& all = regions(use.tensor);
  Turns* turns = turns_of_.empty() || turns_of_[use.tensor] == kNone ? nullptr : &turns_[turns_of_[use.tensor]];
  if (turns && use.writes) turns->write(box, issue.op, updates(op, use));
  all.touch(box, issue.op, stream, use.reads, use.writes, !reorder_, out);
  if (turns) {
    if (use.writes) turns->correct(out, before);
    if (use.reads && !use.writes) turns->read();
    turns->use(issue.op, stream);
  }
  const Tensor& tensor = program_.tensors[use.tensor];
  if (reorder_ && is_hbm(tensor.memory) && tensor.role == Role::internal) wait_for_loops(instance, issue, use, out);
  if (all.is_crowded()) {
    const Time floor = earliest_start() - plan_.dma_done;
    all.forget([&](OpId op) { return times_[op].end >= 0 && times_[op].end < floor; });
  }
  if (replay_.on && replay_.ramp_loop != kNone && replay_.outside[use.tensor]) add_ramp(use, box, issue.op);
  if (use.writes && out.size() == before) {
    for (OpId user : instance.before) out.push_back({user, Wait::memory});
  }
  if (instance.stay != kNone && std::find(issue.stays.begin(), issue.stays.end(), instance.stay) == issue.stays.end()) {
    issue.stays.push_back(instance.stay);
    ++stays_[instance.stay].waiting;
  }
  if (instance.first == kNoOp) instance.first = issue.op;
  instance.users[stream] = issue.op;
}

// The tensor engine adds to what it wrote itself; once that was read, it begins anew.
bool Core::updates(const Op& op, const Use& use) const {
  if (use.reads) return op.stream != Stream::tensor;
  const Use* uses = &plan_.uses[op.first_use];
  return std::any_of(uses, uses + op.use_count,
                     [&](const Use& other) { return other.tensor == use.tensor && other.reads; });
}

// No instruction to come starts before.
Time Core::earliest_start() const {
  Time earliest = last_end;
  for (int s = 0; s < kStreamCount; ++s) {
    if (plan_.uses_stream[s] && !retired_[s]) earliest = std::min(earliest, streams_[s].free);
  }
  return earliest;
}

void Core::add_ramp(const Use& use, const Box& box, OpId op) {
  std::int64_t& variable = loop_value_[replay_.ramp_loop];
  variable -= replay_.ramp_stride;
  const Box before = box_of(use);
  variable += replay_.ramp_stride;
  Ramp ramp{box, {}, replay_.ramp_count, op, replay_.ramp_period, use.writes};
  bool moves = false;
  for (int d = 0; d < box.rank; ++d) {
    ramp.step[d] = before.lo[d] - box.lo[d];
    if (before.hi[d] - box.hi[d] != ramp.step[d]) return;
    moves |= ramp.step[d] != 0;
  }
  if (moves) regions(use.tensor).add_ramp(ramp);
}

void Core::add_state(Issue& issue, const Op& op) {
  for (std::uint32_t r = 0; r < op.register_count; ++r) {
    const RegisterId id = plan_.registers[op.first_register + r];
    if (register_writer_[id] != kNoOp) issue.deps.push_back({register_writer_[id], Wait::state});
    if (reorder_) register_readers_[id].push_back(issue.op);
  }
  if (op.writes_register != kNone) {
    for (OpId reader : register_readers_[op.writes_register]) issue.deps.push_back({reader, Wait::state});
    register_readers_[op.writes_register].clear();
    if (register_writer_[op.writes_register] != kNoOp)
      issue.deps.push_back({register_writer_[op.writes_register], Wait::state});
    register_writer_[op.writes_register] = issue.op;
  }
  for (int bit = 0; bit < kStates; ++bit) {
    if (!(op.state >> bit & 1)) continue;
    if (state_user_[bit] != kNoOp) issue.deps.push_back({state_user_[bit], Wait::state});
    state_user_[bit] = issue.op;
  }
}

void Core::note_oldest(const Issue& issue) {
  for (const auto* deps : {&issue.deps, &issue.early}) {
    for (const Dependency& d : *deps) {
      if (d.op >= loop_begin_) {
        oldest_ = std::min(oldest_, d.op);
      } else if (d.wait == Wait::memory) {
        stale_ = true;
      }
    }
  }
}

void Core::find_dependencies(Issue& issue, const Op& op) {
  issue.deps.clear();
  issue.early.clear();
  issue.stays.clear();
  for (std::uint32_t u = 0; u < op.use_count; ++u) touch(issue, op, plan_.uses[op.first_use + u]);
  if (op.state || op.register_count || op.writes_register != kNone) add_state(issue, op);
  if (!last_op_of_.empty()) {
    const Instruction& inst = program_.instructions[issue.inst];
    for (std::uint32_t d = 0; d < inst.dep_count; ++d) {
      const OpId op_id = last_op_of_[program_.deps[inst.first_dep + d]];
      if (op_id != kNoOp) issue.deps.push_back({op_id, Wait::dependency});
    }
    last_op_of_[issue.inst] = issue.op;
  }
  if (loop_begin_ != kNoOp) note_oldest(issue);
}

void Core::execute(InstructionId id) {
  const Op& op = plan_.ops[id];
  scratch_.inst = id;
  scratch_.op = static_cast<OpId>(times_.size());
  times_.push_back({.stream = static_cast<std::uint8_t>(op.stream), .transfer = op.kind == Kind::transfer});
  find_dependencies(scratch_, op);
  if (replay_.on) return replay(scratch_, op);
  if (!reorder_) return commit(scratch_);
  hold_back();
  if (held_ >= kWindow) commit_best();
}

void Core::hold_back() {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(issues_.size()));
    issues_.emplace_back();
  }
  const std::uint32_t place = spare_.back();
  spare_.pop_back();
  std::swap(issues_[place], scratch_);
  Issue& issue = issues_[place];
  issue.waiters.clear();
  issue.missing = 0;
  place_of_.resize(times_.size(), kNone);
  place_of_[issue.op] = place;
  ++held_;
  for (const auto* deps : {&issue.deps, &issue.early}) {
    for (const Dependency& d : *deps) {
      if (d.op == issue.op || times_[d.op].end >= 0) continue;
      issues_[place_of_[d.op]].waiters.push_back(place);
      ++issue.missing;
    }
  }
  if (issue.missing == 0) make_ready(place);
}

void Core::make_ready(std::uint32_t place) {
  Issue& issue = issues_[place];
  const int s = static_cast<int>(plan_.ops[issue.inst].stream);
  const Ready none{0, Wait::none, kNone};
  issue.known = std::max(ready(none, issue.deps, s).at, ready(none, issue.early, s).at);
  ready_[s].push_back(place);
}

// When an instruction whose dependencies have times could start; negative when there is no memory for it.
Time Core::estimate(const Issue& issue, bool oldest) const {
  for (std::uint32_t stay : issue.stays) {
    if (!oldest && !stays_[stay].taken && timed_[stays_[stay].psum].look(stays_[stay].bytes).at < 0) return -1;
  }
  const StreamState& stream = streams_[static_cast<int>(plan_.ops[issue.inst].stream)];
  return with_memory({std::max(issue.known, stream.free), Wait::engine, kNone}, issue).at;
}

// The vendor's compiler may reorder; this one takes the instruction that can start first, in program order
// among equals. Memory is given out in that order, except that the oldest instruction never waits for what
// was not given back.
void Core::commit_best() {
  while (times_[oldest_op_].end >= 0) ++oldest_op_;
  std::uint32_t best = kNone;
  Time earliest = -1;
  for (int s = 0; s < kStreamCount; ++s) {
    for (std::uint32_t place : ready_[s]) {
      const Issue& issue = issues_[place];
      const Time soonest = std::max(issue.known, streams_[s].free);
      if (earliest >= 0 && (soonest > earliest || (soonest == earliest && issue.op > issues_[best].op)))
        continue;  // memory can only make it later
      const Time t = estimate(issue, issue.op == oldest_op_);
      if (t < 0) continue;
      if (earliest < 0 || t < earliest || (t == earliest && issue.op < issues_[best].op)) best = place, earliest = t;
    }
  }
  Issue& issue = issues_[best];
  commit(issue);
  auto& places = ready_[static_cast<int>(plan_.ops[issue.inst].stream)];
  std::swap(*std::find(places.begin(), places.end(), best), places.back());
  places.pop_back();
  for (std::uint32_t waiter : issue.waiters) {
    if (--issues_[waiter].missing == 0) make_ready(waiter);
  }
  spare_.push_back(best);
  --held_;
}

Core::Ready Core::with_memory(Ready r, const Issue& issue) const {
  for (std::uint32_t id : issue.stays) {
    const Stay& stay = stays_[id];
    if (stay.taken) continue;
    const TimedPool::Given given = timed_[stay.psum].look(stay.bytes);
    if (given.at > 0)
      r.later(given.at + plan_.semaphore[static_cast<int>(plan_.ops[issue.inst].stream)], Wait::memory, given.event);
  }
  return r;
}

void Core::take_memory(const Issue& issue) {
  for (std::uint32_t id : issue.stays) {
    Stay& stay = stays_[id];
    if (stay.taken) continue;
    timed_[stay.psum].take(stay.bytes);
    stay.taken = true;
  }
}

void Core::give_memory(const Issue& issue) {
  const OpTimes& t = times_[issue.op];
  for (std::uint32_t id : issue.stays) {
    Stay& stay = stays_[id];
    --stay.waiting;
    if (t.end >= stay.end) stay.end = t.end, stay.last = t.event;
    leave(stay);
  }
}

void Core::leave(Stay& stay) {
  if (stay.closed && stay.waiting == 0 && stay.taken) timed_[stay.psum].give_back(stay.bytes, stay.end, stay.last);
}

void Core::finish() {
  while (held_ > 0) commit_best();
}

Time Core::arrive(InstructionId id) {
  finish();
  const Op& op = plan_.ops[id];
  meeting_.inst = id;
  meeting_.op = static_cast<OpId>(times_.size());
  times_.push_back({.stream = static_cast<std::uint8_t>(op.stream), .transfer = op.kind == Kind::transfer});
  find_dependencies(meeting_, op);
  // A barrier orders everything before it.
  const int s = static_cast<int>(op.stream);
  Time at = ready({streams_[s].free, Wait::engine, kNone}, meeting_.deps, s).at;
  if (op.kind != Kind::transfer) at = std::max(at, last_end);
  return at;
}

void Core::meet(Time at) {
  const Op& op = plan_.ops[meeting_.inst];
  StreamState& stream = streams_[static_cast<int>(op.stream)];
  Ready r{at, Wait::peer, stream.last};
  if (op.kind == Kind::transfer) return run_dma(meeting_, op, r);
  run_compute(meeting_, op, r);
  for (StreamState& s : streams_) s.free = std::max(s.free, at);
}

void Core::turn(const Loop& loop) {
  Time condition = 0;
  if (loop.reg != kNone && register_writer_[loop.reg] != kNoOp) {
    finish();
    condition = times_[register_writer_[loop.reg]].end;
  }
  for (StreamState& s : streams_) {
    const Time free = std::max(s.free, condition) + from_ns(arch_.timing.loop_ns);
    s.turn += free - s.free;
    s.free = free;
  }
}

}  // namespace kiln::timing
