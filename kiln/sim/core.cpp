#include "kiln/sim/core.h"

#include <algorithm>

#include "kiln/isa/uses.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/compute.h"
#include "kiln/sim/declared_storage.h"
#include "kiln/sim/kept_state.h"
#include "kiln/sim/operand_overlap.h"
#include "kiln/sim/placed_error.h"
#include "kiln/sim/plain_copy.h"
#include "kiln/sim/rounded_integers.h"
#include "kiln/sim/whole_access.h"

namespace kiln::sim {
using namespace isa;

// The row-by-row definition of values is left with its copies. So are the stores of pairs, whose cores watch each
// other's outputs.
Core::Core(const Program& program, const Arch& arch, const RunOptions& options, Common& common, int number)
    : program_(program),
      arch_(arch),
      common_(common),
      kernels_(options.plain ? plain_kernels() : fast_kernels()),
      registers_(program),
      loops_(program, registers_, common.report.loops, options.max_passes),
      bindings_(program, arch, common.tensors, common.origins),
      pool_(program, common.queue),
      loans_(common.may_borrow && !options.plain),
      postponed_(common.may_borrow && !options.plain && common.cores == 1, common.ranks == 1),
      deposits_(program, common.may_borrow && !options.plain && common.cores == 1, common.ranks == 1),
      resolver_({program, arch, bindings_, loops_, registers_, postponed_, common.origins, common.queue}),
      races_(program, number, loops_, common),
      dispatch_(common.queue),
      watch_(program, options, common.rank * common.cores + number),
      kept_state_(common.queue.threads() > 1 ? kept_state(program) : ~0u) {
  if (gives_storages_back(program)) lifetimes_.emplace(program);
}

bool Core::advance() {
  try {
    return go_on();
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& e) {
    throw PlacedError(e, program_, current_, loops_.pass(), common_.rank);
  }
}

bool Core::go_on() {
  const auto left = [this](LoopId loop, std::size_t position) {
    if (lifetimes_) release_after(loop, position);
  };
  while (const Node* node = loops_.next(left)) {
    if (node->kind == Node::Kind::declare) {
      declare(node->index);
    } else {
      current_ = &program_.instructions[node->index];
      execute(*current_);
      races_.after();
      if (watch_.is_watched(node->index)) show(node->index);
    }
    current_ = nullptr;
    if (waiting_) return false;
    if (common_.queue.failed()) [[unlikely]]
      common_.queue.wait();
  }
  return true;
}

// A tensor comes to life where it will be stored, or in a storage of its own.
void Core::declare(TensorId id) {
  if (!is_declared_storage(program_.tensors[id])) return;
  loans_.forget(id);
  postponed_.forget(id);
  // Tiles that are read where an input lies get their copies before the input is written.
  const TensorId target = deposits_.target_of(id);
  if (target != kNone && program_.tensors[target].role == Role::inout) {
    for (TensorId t = postponed_.reader_of(target); t != kNone; t = postponed_.reader_of(target)) copy_now(t);
  }
  std::shared_ptr<Storage> storage = deposits_.place(id, bindings_, loops_);
  bindings_.declare(id, storage ? std::move(storage) : pool_.take(id));
}

void Core::release_after(LoopId loop, std::size_t position) {
  for (const TensorId id : lifetimes_->after(loop, position)) {
    if (!is_declared_storage(program_.tensors[id])) continue;
    pool_.give_back(id);
    loans_.forget(id);
    postponed_.forget(id);
    bindings_.release(id);
  }
}

// The order in which an instruction goes. Everything but the values happens here, in program order; the values are
// computed now or later, by any thread.
void Core::execute(const Instruction& inst) {
  const InstView view(program_, inst);
  const Engine engine = resolve_engine(view, arch_);
  count(engine);

  // Where its operands are.
  operands_.clear();
  lent_.clear();
  if (!loans_.empty()) repay_written(inst);
  if (!postponed_.empty()) settle(inst);
  Run run = start_run(view, engine);
  resolver_.add_operands(run, lent_, operands_);

  // Whether it may use them: each other, and those that the other core sees.
  if (operands_.may_overlap) check_overlaps(run, operands_);
  if (common_.ranks > 1) touch_destinations();
  if (view.facts().meets) {  // what follows is done when all cores are here (pair.h, ranks.h)
    if (!view.facts().collective) common_.queue.wait();
    forget_largest(run, operands_);
    waiting_ = &inst;
    return;
  }
  if (kChecks && common_.cores == 2) races_.check(inst, operands_);

  // What it knows besides: registers, and which bytes were written.
  if (!view.row().is_register()) registers_.read_argument(run);
  follow_shadows(run);

  // Its values.
  if (view.row().is_register()) {
    common_.queue.wait();
    registers_.execute(run);
    return;
  }
  if (needs_no_copy(run)) return;
  if (view.facts().moving >= 0) run.soon = read_soon();
  const Semantics& semantics = *view.row().semantics;
  dispatch_.issue(run, semantics.state ? semantics.state(view) & kept_state_ : 0, operands_, bindings_);
}

// What one of the next statements loads: products are long enough to fetch it meanwhile.
Soon Core::read_soon() const {
  constexpr std::size_t kFar = 8;  // statements
  for (std::size_t i = 0; i < kFar; ++i) {
    const Node* node = loops_.ahead(i);
    if (!node || node->kind == Node::Kind::loop) break;
    if (node->kind == Node::Kind::declare) continue;
    const InstView view(program_, program_.instructions[node->index]);
    if (is_plain_copy(view) && view.is_tile(from_of(view))) return resolver_.foresee(view.access(from_of(view)));
  }
  return {};
}

void Core::count(Engine engine) {
  ++common_.sequence;
  common_.queue.poll();
  constexpr std::int64_t kOften = 1024;
  if (++common_.report.instructions % kOften == 0 && common_.done && common_.expected > 0)
    common_.done->store(static_cast<double>(common_.report.instructions) / common_.expected, std::memory_order_relaxed);
  ++common_.report.instructions_by_engine[static_cast<int>(engine)];
}

Run Core::start_run(const InstView& view, Engine engine) {
  const bool looks = kChecks && may_round_integers(view);
  Run run(program_, view.inst(), arch_, engine, looks ? looking(kernels_) : kernels_, state_);
  run.sequence = common_.sequence;
  run.rank_number = common_.rank;
  run.loops = &loops_;
  run.warnings = &common_.warnings;
  run.kept_state = kept_state_;
  return run;
}

// Whether an instruction writes every element of a tensor, after it has read it for the last time.
bool Core::replaces(const InstView& view, int param) const {
  const Access& to = view.access(param);
  const isa::Facts& facts = view.facts();
  if (param != view.row().result || view.row().params[param].is_input() || facts.writes_some || facts.meets ||
      !covers(to, program_.tensors[to.tensor]))
    return false;
  bool alone = true;
  for_each_use(program_, view.inst(), [&](const Access& a, Use) {
    const bool same = a.dtype == to.dtype && a.rank == to.rank && std::equal(a.dims, a.dims + a.rank, to.dims);
    alone = alone && a.dynamic == kNone;  // which has an index tile to be read
    if (&a != &to && a.tensor == to.tensor) alone = alone && same && covers(a, program_.tensors[a.tensor]);
  });
  return alone;
}

// Makes the copies of loans that an instruction is going to write to.
void Core::repay_written(const Instruction& inst) {
  const InstView view(program_, inst);
  const auto& params = view.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!params[i].is_output()) continue;
    if (view.arg(param).kind == Arg::Kind::access) {
      const TensorId id = view.access(param).tensor;
      std::optional<Lent> lent = replaces(view, param) ? loans_.replace(id, bindings_) : std::nullopt;
      lent ? lent_.push_back(std::move(*lent)) : repay(id);
    }
    if (view.arg(param).kind == Arg::Kind::accesses) {
      for (const Access& a : view.accesses(param)) repay(a.tensor);
    }
  }
}

void Core::repay(TensorId id) {
  if (const std::optional<Loan> loan = loans_.end(id, bindings_))
    copy(*loan->load, loan->sequence, loan->to, loan->from);
}

// Makes the copies of postponed loads that an instruction writes to, or reads otherwise than where the input lies.
void Core::settle(const Instruction& inst) {
  bool plain = !InstView(program_, inst).facts().meets;
  for_each_use(program_, inst, [&](const Access& a, Use) { plain = plain && a.dynamic == kNone; });
  for_each_use(program_, inst, [&](const Access& a, Use use) {
    if (!postponed_.has(a.tensor)) return;
    Tile tile;
    resolver_.place(tile, a, bindings_[a.tensor]);
    Tile moved = tile;
    const bool stays =
        plain && (!postponed_.meets(a.tensor, tile) || (use == Use::read && postponed_.move(a.tensor, moved)));
    if (!stays) copy_now(a.tensor);
  });
  for_each_use(program_, inst, [&](const Access& a, Use use) {
    if (use == Use::read || program_.tensors[a.tensor].role != Role::inout) return;
    for (TensorId id = postponed_.reader_of(a.tensor); id != kNone; id = postponed_.reader_of(a.tensor)) copy_now(id);
  });
}

void Core::copy_now(TensorId id) {
  for (const PostponedLoad& load : postponed_.take(id)) copy(*load.load, load.sequence, load.to, load.from);
}

void Core::copy(const Instruction& load, std::int64_t sequence, const Tile& to, const Tile& from) {
  const InstView view(program_, load);
  Run run(program_, load, arch_, resolve_engine(view, arch_), kernels_, state_);
  run.sequence = sequence;
  run.loops = &loops_;
  run.warnings = &common_.warnings;
  Operands operands;
  const int dst = to_of(view), src = from_of(view);
  for (const int param : {dst, src}) {
    const Access& access = view.access(param);
    run.add_tile(param) = param == dst ? to : from;
    operands.list.push_back({param, &access, bindings_[access.tensor].storage.get(), run.tile(param)});
  }
  dispatch_.issue(run, 0, operands, bindings_);
}

// What a collective wrote to and this rank uses: until when other ranks must not write there again.
void Core::touch_destinations() {
  for (const Operand& o : operands_.list) {
    const bool is_sent_to =
        InstView(program_, *current_).facts().collective && info(current_->opcode).params[o.param].is_output();
    if (o.storage->received && !is_sent_to) o.storage->touched = common_.entered;
  }
}

Operand& Core::operand(int param) { return *std::ranges::find(operands_.list, param, &Operand::param); }

Tracker Core::tracker(const Instruction& inst) {
  Tracker tracker{program_, inst, arch_, common_.origins, tracked_, operands_.list, common_.warnings};
  tracker.sequence = common_.sequence;
  tracker.loops = &loops_;
  tracker.queue = &common_.queue;
  return tracker;
}

// Shadows are checks; what PSUM holds is part of a matmul's meaning.
bool Core::needs_tracking() const {
  return kChecks || std::ranges::any_of(operands_.list, [&](const Operand& o) {
           return program_.tensors[o.access->tensor].memory == Memory::psum;
         });
}

void Core::follow_shadows(Run& run) {
  Tracker track = tracker(run.inst());
  track.register_value = run.register_value;
  if (needs_tracking()) {
    track.check_sinks();
    run.row().semantics->track(track);
  }
  run.inputs_written = !track.saw_unwritten;
  run.psum_mode = track.psum_mode;
  if (track.psum_add) {
    run.psum_add = track.psum_add->data();
    operands_.keep.push_back(track.psum_add);
  }
}

// A load that reads the input where it lies, or a store of what was computed in its place.
bool Core::needs_no_copy(const Run& run) {
  return is_plain_copy(run) && (loans_.borrow(run, bindings_) || postponed_.add(run, bindings_) ||
                                deposits_.is_done(run, operands_, bindings_));
}

void Core::show(InstructionId id) {
  repay(watch_.tensor_of(id));
  copy_now(watch_.tensor_of(id));
  common_.queue.wait();
  watch_.show(id, bindings_);
}

}  // namespace kiln::sim
