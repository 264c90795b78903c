#include "kiln/sim/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/declared_storage.h"
#include "kiln/sim/rounded_integers.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;

namespace {
constexpr std::int64_t kOpenTasks = 256;                 // how far issuing may run ahead of values
constexpr std::int64_t kInlineWork = 16 * 1024;          // below this a task costs more than it wins
constexpr std::int64_t kCopyBytes = 2 << 20;             // storages of a tensor that is declared in a loop,
constexpr std::int64_t kMinCopies = 4, kMaxCopies = 32;  // at least and at most so many
constexpr std::int64_t kRowSkew = 192;                   // keeps rows of a whole memory off the same cache sets
constexpr std::int64_t kSpareBytes = 256 << 20;          // storages that wait for a next tensor

// The first is the one used most lately, so few are used when few are enough.
std::shared_ptr<Storage> first_idle(const std::vector<std::shared_ptr<Storage>>& pool) {
  const auto it = std::ranges::find_if(pool, [](const auto& s) { return s->is_idle(); });
  return it == pool.end() ? nullptr : *it;
}

bool is_multicore(Opcode op) { return op == Opcode::sendrecv || op == Opcode::core_barrier; }
bool is_register_instruction(const Instruction& inst) { return info(inst.opcode).group == "register"; }
}  // namespace

Core::Core(const Program& program, const Arch& arch, const RunOptions& options, Common& common, int rank)
    : program_(program),
      arch_(arch),
      options_(options),
      common_(common),
      queue_(common.queue),
      kernels_(options.plain ? plain_kernels() : fast_kernels()),
      loop_value_(program.loops.size()),
      registers_(program.registers.size()),
      register_defined_(program.registers.size()),
      bindings_(program.tensors.size()),
      pool_(program.tensors.size()),
      deposits_(program),
      origin_(program.tensors.size()),
      rank_(rank) {
  if (gives_storages_back(program)) lifetimes_.emplace(program);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& t = program.tensors[id];
    if (t.role != Role::internal || t.memory == Memory::shared_hbm) {
      bind_shared(id);
    } else if (t.address && is_on_chip(t.memory)) {
      bind_placed(id);
    }
  }
  frames_.push_back({&program.body});
  if (rank >= std::ssize(options.watched) || options.watched[rank].empty()) return;
  watched_.resize(program.instructions.size());
  for (const InstructionId id : options.watched[rank]) watched_.at(id) = true;
}

// A tensor that other cores or the caller see.
void Core::bind_shared(TensorId id) {
  const Tensor& t = program_.tensors[id];
  Binding& b = common_.tensors[t.name];
  if (!b.storage) b.storage = std::make_shared<Storage>(t.partitions(), t.bytes_per_partition());
  Storage& s = *b.storage;
  if (s.rows != t.partitions() || s.row_bytes != t.bytes_per_partition()) {
    Diagnostic d = run_diagnostic(run_rules::kSharedTensor,
                                  fmt::format("`{}` has {} x {} bytes on one core, {} x {} on the other", t.name,
                                              s.rows, s.row_bytes, t.partitions(), t.bytes_per_partition()));
    d.loc = program_.locs[t.loc];
    throw Error(std::move(d));
  }
  if (t.role == Role::output || t.role == Role::internal) {
    origin_[id] = common_.origins.add(program_, id);
    s.shadow.reset(s.rows * s.row_bytes, origin_[id]);
  }
  if (t.memory == Memory::psum) s.psum.reset(s.rows * s.row_bytes, 0);
  bindings_[id] = b;
}

// A tensor with an address is a window into the whole memory; windows may lie over each other.
void Core::bind_placed(TensorId id) {
  const Tensor& t = program_.tensors[id];
  auto& memory = placed_[t.memory == Memory::psum];
  if (!memory) {
    const std::int64_t bytes = t.memory == Memory::psum ? arch_.psum_partition_bytes : arch_.sbuf_partition_bytes;
    memory = std::make_shared<Storage>(arch_.partitions, bytes + kRowSkew);
    memory->psum.reset(memory->rows * memory->row_bytes, 0);
    if (t.memory == Memory::psum) memory->owners = std::make_unique<Owners>(memory->rows * memory->row_bytes);
  }
  bindings_[id] = {memory, t.address->partition, t.address->byte_offset};
  for (std::int64_t row = 0; row < t.partitions(); ++row) {
    const std::int64_t begin = (t.address->partition + row) * memory->row_bytes + t.address->byte_offset;
    memory->shadow.fill(begin, begin + t.bytes_per_partition(), Origins::unread());
  }
}

// A tensor comes to life: its content is undefined. In a loop it gets another storage while the previous one
// is in use, so iterations overlap.
void Core::declare(TensorId id) {
  const Tensor& t = program_.tensors[id];
  if (!is_declared_storage(t)) return;
  loans_.erase(id);
  if (!deposit(id)) bindings_[id] = {free_storage(id), 0, 0};
  Storage& storage = *bindings_[id].storage;
  if (!origin_[id]) origin_[id] = common_.origins.add(program_, id);
  storage.shadow.reset(storage.rows * storage.row_bytes, origin_[id]);
  if (t.memory == Memory::psum) storage.psum.reset(storage.rows * storage.row_bytes, 0);
}

std::shared_ptr<Storage> Core::free_storage(TensorId id) {
  const Tensor& t = program_.tensors[id];
  auto& pool = pool_[id];
  const std::int64_t bytes = std::max<std::int64_t>(t.partitions() * t.bytes_per_partition(), 1);
  const std::int64_t copies = std::clamp(kCopyBytes / bytes, kMinCopies, kMaxCopies);
  std::shared_ptr<Storage> storage = first_idle(pool);
  while (!storage && std::ssize(pool) >= copies) {
    queue_.help();
    storage = first_idle(pool);
  }
  if (!storage) {
    storage = make_storage(t.partitions(), t.bytes_per_partition());
    pool.push_back(storage);
  }
  return storage;
}

std::shared_ptr<Storage> Core::make_storage(std::int64_t rows, std::int64_t row_bytes) {
  const auto take = [&]() -> std::shared_ptr<Storage> {
    auto& spare = spare_[{rows, row_bytes}];
    for (auto& s : spare) {
      if (!s->is_idle()) continue;
      std::swap(s, spare.back());
      const std::shared_ptr<Storage> storage = std::move(spare.back());
      spare.pop_back();
      spare_bytes_ -= rows * row_bytes;
      return storage;
    }
    return nullptr;
  };
  if (auto storage = take()) return storage;
  if (spare_bytes_ > kSpareBytes) {  // too far ahead of the values, or too many sizes
    queue_.wait_until(0);
    if (auto storage = take()) return storage;
    spare_.clear();
    spare_bytes_ = 0;
  }
  return std::make_shared<Storage>(rows, row_bytes);
}

// A tensor that nothing uses any more gives its storages to the next ones of its size.
void Core::release(TensorId id) {
  for (auto& s : pool_[id]) {
    spare_bytes_ += s->rows * s->row_bytes;
    spare_[{s->rows, s->row_bytes}].push_back(std::move(s));
  }
  pool_[id].clear();
  loans_.erase(id);
  bindings_[id] = {};
}

void Core::release_after(LoopId loop, std::size_t position) {
  for (TensorId id : lifetimes_->after(loop, position)) {
    if (is_declared_storage(program_.tensors[id])) release(id);
  }
}

std::uint32_t Core::read_register(RegisterId id, LocId loc) const {
  if (register_defined_[id]) return registers_[id];
  Diagnostic d = run_diagnostic(run_rules::kRegisterWritten,
                                fmt::format("register `{}` is read before it is written", program_.registers[id].name));
  d.loc = program_.locs[loc];
  throw Error(std::move(d));
}

std::int64_t Core::bound(const Bound& b, LocId loc) const {
  return b.is_register ? static_cast<std::int32_t>(read_register(static_cast<RegisterId>(b.value), loc)) : b.value;
}

// A loop whose bounds already say that it exceeds the limit is not begun.
void Core::check_trip_count(const Loop& loop) const {
  const std::int64_t lower = bound(loop.lower, loop.loc), upper = bound(loop.upper, loop.loc);
  if ((upper - lower) / loop.step <= options_.max_dynamic_iterations) return;
  Diagnostic d =
      run_diagnostic(run_rules::kLoopEnds, fmt::format("a loop from {} to {}{}, where {} iterations are allowed", lower,
                                                       upper, float_bits_text(upper), options_.max_dynamic_iterations));
  d.loc = program_.locs[loop.loc];
  throw Error(std::move(d));
}

void Core::enter(LoopId id) {
  const Loop& loop = program_.loops[id];
  if (loop.kind != Loop::Kind::dynamic_while) loop_value_[id] = bound(loop.lower, loop.loc);
  if (loop.kind == Loop::Kind::dynamic_for) check_trip_count(loop);
  if (loop.kind != Loop::Kind::static_for) ++count_of(loop).entries;
  if (goes_on(loop, id)) frames_.push_back({&loop.body, 0, id, 0});
}

LoopCount& Core::count_of(const Loop& loop) {
  return common_.report.loops[loop.kind == Loop::Kind::dynamic_for ? loop.variable : program_.registers[loop.reg].name];
}

// Whether another iteration follows; hands a dynamic loop's register its value.
bool Core::goes_on(const Loop& loop, LoopId id) {
  if (loop.kind == Loop::Kind::dynamic_while) {
    if (read_register(loop.reg, loop.loc) == 0) return false;
    ++count_of(loop).iterations;
    return true;
  }
  if (loop_value_[id] >= bound(loop.upper, loop.loc)) return false;
  if (loop.kind == Loop::Kind::dynamic_for) {
    ++count_of(loop).iterations;
    registers_[loop.reg] = static_cast<std::uint32_t>(loop_value_[id]);
    register_defined_[loop.reg] = true;
  }
  return true;
}

// Starts the next iteration of the loop whose body just ended; false when there is none.
bool Core::repeat(Frame& frame) {
  const Loop& loop = program_.loops[frame.loop];
  frame.next = 0;
  loop_value_[frame.loop] += loop.step;
  if (!goes_on(loop, frame.loop)) return false;
  if (loop.kind != Loop::Kind::static_for && ++frame.iterations >= options_.max_dynamic_iterations) {
    Diagnostic d = run_diagnostic(run_rules::kLoopEnds, fmt::format("{} iterations and no end", frame.iterations));
    d.loc = program_.locs[loop.loc];
    throw Error(std::move(d));
  }
  return true;
}

bool Core::advance() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.next == frame.block->size()) {
      const LoopId loop = frame.loop;
      const std::size_t size = frame.block->size();
      if (loop != kNone && repeat(frame)) continue;
      frames_.pop_back();
      if (size > 0 && lifetimes_) release_after(loop, size - 1);
      continue;
    }
    if (frame.next > 0 && lifetimes_) release_after(frame.loop, frame.next - 1);
    const Node node = (*frame.block)[frame.next++];
    switch (node.kind) {
      case Node::Kind::declare:
        declare(node.index);
        break;
      case Node::Kind::loop:
        enter(node.index);
        break;
      case Node::Kind::instruction:
        execute(program_.instructions[node.index]);
        if (!scattered_.empty()) restore_scattered();
        if (!watched_.empty() && watched_[node.index]) show(node.index);
        break;
    }
    if (waiting_) return false;
    if (queue_.failed()) [[unlikely]]
      queue_.wait();
  }
  return true;
}

std::int64_t Core::evaluate(const Affine& affine) const {
  std::int64_t value = affine.constant;
  for (const Term& term : program_.terms_of(affine)) value += term.coefficient * loop_value_[term.loop];
  return value;
}

void Core::add_operand(Run& run, int param, const Access& access) {
  compare_ |= access.dynamic != kNone || access.offset.term_count || access.partition.term_count ||
              program_.tensors[access.tensor].address;
  Tile& tile = run.add_tile(param);
  resolve(tile, access, run);
  if (kChecks && access.dynamic != kNone) check_start(tile, param, access, run);
  operands_.push_back({param, &access, bindings_[access.tensor].storage.get(), tile});
}

void Core::add_operands(Run& run, const Instruction& inst) {
  const auto& params = info(inst.opcode).params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    const Arg& arg = run.arg(param);
    if (arg.kind == Arg::Kind::access) add_operand(run, param, run.access(param));
    if (arg.kind == Arg::Kind::accesses) {
      for (const Access& a : run.accesses(param)) add_operand(run, param, a);
    }
  }
}

Tracker Core::tracker(const Instruction& inst) {
  Tracker tracker{program_, inst, arch_, common_.origins, tracked_, operands_, common_.warnings};
  tracker.sequence = common_.sequence;
  tracker.queue = &queue_;
  return tracker;
}

// Shadows are checks; what PSUM holds is part of a matmul's meaning.
bool Core::needs_tracking() const {
  if (kChecks) return true;
  for (const TrackedOperand& o : operands_) {
    if (program_.tensors[o.access->tensor].memory == Memory::psum) return true;
  }
  return false;
}

void Core::execute(const Instruction& inst) {
  const InstView view(program_, inst);
  const Engine engine = resolve_engine(view, arch_);
  ++common_.sequence;
  queue_.poll();
  ++common_.report.instructions;
  ++common_.report.instructions_by_engine[static_cast<int>(engine)];
  operands_.clear();
  keep_.clear();
  compare_ = false;
  if (!loans_.empty()) settle_written(inst);
  const bool looks = kChecks && may_round_integers(view);
  Run run(program_, inst, arch_, engine, looks ? looking(kernels_) : kernels_, state_);
  run.sequence = common_.sequence;
  run.warnings = &common_.warnings;
  add_operands(run, inst);
  if (compare_) check_overlaps(run);
  if (kChecks && common_.cores == 2 && !is_multicore(inst.opcode)) check_races(inst);
  if (is_multicore(inst.opcode)) {
    queue_.wait();
    waiting_ = &inst;
    return;
  }
  const Semantics& semantics = *view.row().semantics;
  if (!is_register_instruction(inst)) {
    for (int i = 0; i < static_cast<int>(view.row().params.size()); ++i) {
      if (view.is_register(i)) run.register_value = static_cast<std::int32_t>(read_register(view.reg(i), inst.loc));
    }
  }
  Tracker track = tracker(inst);
  track.register_value = run.register_value;
  if (needs_tracking()) {
    track.check_sinks();
    semantics.track(track);
  }
  run.inputs_written = !track.saw_unwritten;
  run.psum_mode = track.psum_mode;
  if (track.psum_add) {
    run.psum_add = track.psum_add->data();
    keep_.push_back(track.psum_add);
  }
  if (is_register_instruction(inst)) return run_register_instruction(run, inst);
  if (inst.opcode == Opcode::dma_copy && borrow(run)) return;
  if (inst.opcode == Opcode::dma_copy && is_deposited(run)) return;
  issue(run, semantics.state ? semantics.state(view) : 0);
}

// Hands out what a watched instruction has written, as soon as it is there.
void Core::show(InstructionId id) {
  const Access& access = InstView(program_, program_.instructions[id]).access(0);
  settle(access.tensor);
  queue_.wait();
  const Tensor& t = program_.tensors[access.tensor];
  const Binding& b = bindings_[access.tensor];
  Sight sight{rank_, id, {}, {}};
  for (std::int64_t row = 0; row < t.partitions(); ++row) {
    const std::int64_t begin = (b.row + row) * b.storage->row_bytes + b.byte;
    const std::int64_t end = begin + t.bytes_per_partition();
    sight.bytes.insert(sight.bytes.end(), b.storage->data + begin, b.storage->data + end);
    for (std::int64_t i = begin; i < end; ++i) sight.is_missing.push_back(b.storage->shadow.at(i) != 0);
  }
  options_.see(sight);
}

void Core::run_register_instruction(Run& run, const Instruction& inst) {
  queue_.wait();
  run.registers = registers_.data();
  const bool writes = inst.opcode != Opcode::register_store;
  const auto& params = info(inst.opcode).params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (run.is_register(param) && !(writes && param == 0)) read_register(run.reg(param), inst.loc);
  }
  info(inst.opcode).semantics->run(run);
  if (writes) {
    const bool defined = inst.opcode != Opcode::register_alloc || run.has(args::register_alloc::x);
    register_defined_[run.reg(0)] = defined;
  }
}

// Whether an unfinished task stands before this instruction.
bool Core::must_wait(unsigned state) {
  for (const TrackedOperand& o : operands_) {
    if (!o.storage->is_idle()) return true;
  }
  for (int bit = 0; bit < 4; ++bit) {
    if ((state >> bit & 1) && last_user_[bit] && !last_user_[bit]->finished()) return true;
  }
  return false;
}

void Core::add_uses(const TaskRef& task, unsigned state) {
  for (const TrackedOperand& o : operands_) {
    const bool writes = o.param >= 0 && task->run.row().params[o.param].is_output();
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

void Core::issue(Run& run, unsigned state) {
  const bool one_thread = queue_.threads() == 1;
  std::int64_t work = 0;
  if (!one_thread) {
    for (const TrackedOperand& o : operands_) work += o.tile.count();
    if (run.engine() == Engine::tensor) work *= 32;
  }
  if (one_thread || (work < kInlineWork && !must_wait(state))) {
    compute(run);
    return;
  }
  auto task = std::make_shared<Task>(run);
  task->keep = keep_;
  for (const TrackedOperand& o : operands_) {
    o.storage->drop_finished();
    task->keep.push_back(bindings_[o.access->tensor].storage);
  }
  add_uses(task, state);
  queue_.submit(task);
  queue_.wait_until(kOpenTasks);
}

}  // namespace kiln::sim
