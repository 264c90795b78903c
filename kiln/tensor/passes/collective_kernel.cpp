#include "kiln/tensor/passes/collective_kernel.h"

#include <algorithm>
#include <array>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/replica_groups.h"

namespace kiln::tensor {
namespace {

using isa::View;

void issue(isa::Kernel& k, const Exchange& e, const View& from, const View& to) {
  switch (e.moving) {
    case OpCode::all_reduce:
      k.all_reduce({.srcs = {from}, .dsts = {to}, .replica_group = e.groups, .op = e.op});
      break;
    case OpCode::all_gather:
      k.all_gather({.srcs = {from}, .dsts = {to}, .replica_group = e.groups, .collective_dim = 0});
      break;
    case OpCode::reduce_scatter:
      k.reduce_scatter({.srcs = {from}, .dsts = {to}, .replica_group = e.groups, .collective_dim = 0, .op = e.op});
      break;
    case OpCode::all_to_all:
      k.all_to_all({.srcs = {from}, .dsts = {to}, .replica_group = e.groups, .collective_dim = 0});
      break;
    default:
      k.collective_permute({.srcs = {from}, .dsts = {to}, .source_target_pairs = e.groups});
      break;
  }
}

Shape share_of(Shape shape, const Share& share) {
  if (share.is_half()) shape[static_cast<std::size_t>(share.axis)] /= 2;
  return shape;
}

View half_of(const View& view, int axis, int core) {
  const std::int64_t first = view.dim(axis) / 2;
  return view.slice(axis, core == 0 ? 0 : first, core == 0 ? first : view.dim(axis) - first);
}

// Those that meet: the groups, or all ranks of a permutation.
RankGroups meeting_of(const Exchange& e) {
  if (e.moving != OpCode::collective_permute) return e.groups;
  Ints all;
  for (const Ints& pair : e.groups) all.push_back(pair[0]);
  std::ranges::sort(all);
  return {all};
}

class Writer {
 public:
  Writer(const Exchange& e, Target target, const std::optional<PairPart>& pair)
      : e_(e), pair_(pair), k_(std::string(name(e.moving)), target) {
    if (pair) k_.pair();
  }

  isa::Program run() {
    const View x = k_.input("x", pair_ ? share_of(e_.before, pair_->brought) : e_.before, e_.dtype);
    const View y = k_.output("y", pair_ ? share_of(e_.after, pair_->wanted) : e_.after, e_.dtype);
    const View sent = own("sent", e_.before), received = own("received", e_.after);
    bring(x, sent);
    issue(k_, e_, sent, received);
    const bool half = pair_ && pair_->wanted.is_half();
    k_.dma_copy({.dst = y, .src = half ? half_of(received, pair_->wanted.axis, pair_->core) : received});
    if (e_.repeats) tell(y);
    return k_.finish();
  }

 private:
  // One element has no halves: then each core of a pair has tensors of its own.
  bool is_shared() const { return product(e_.before) > 1; }
  View own(const char* name, const Shape& shape) {
    return k_.tensor(is_shared() ? Memory::shared_hbm : Memory::hbm, isa::Role::internal, shape, e_.dtype, {name});
  }

  void bring(const View& x, const View& sent) {
    if (!pair_ || !is_shared()) {
      k_.dma_copy({.dst = sent, .src = x});
      return;
    }
    const bool half = pair_->brought.is_half();
    const int axis = half ? pair_->brought.axis : e_.before[0] >= e_.before[1] ? 0 : 1;
    k_.dma_copy({.dst = half_of(sent, axis, pair_->core), .src = half ? x : half_of(x, axis, pair_->core)});
    k_.core_barrier({.data = sent, .cores = {0, 1}});
  }

  // Whoever has got this of a rank knows that it has taken what it received before (run.R18).
  void tell(const View& y) {
    const bool both = pair_ && is_shared();
    const std::int64_t cores = both ? 2 : 1, row = both ? pair_->core : 0;
    const RankGroups groups = meeting_of(e_);
    const View told = own("told", {cores, 1});
    const View heard = own("heard", {cores * static_cast<std::int64_t>(groups[0].size()), 1});
    k_.dma_copy({.dst = told.slice(0, row, 1), .src = y.slice(0, 0, 1).slice(1, 0, 1)});
    if (both) k_.core_barrier({.data = told, .cores = {0, 1}});
    k_.all_gather({.srcs = {told}, .dsts = {heard}, .replica_group = groups, .collective_dim = 0});
  }

  const Exchange& e_;
  const std::optional<PairPart>& pair_;
  isa::Kernel k_;
};

const isa::Instruction* collective_of(const isa::Program& program) {
  const auto found = std::ranges::find_if(program.instructions, [&](const isa::Instruction& inst) {
    return isa::InstView(program, inst).facts().collective != nullptr;
  });
  return found == program.instructions.end() ? nullptr : &*found;
}

}  // namespace

std::shared_ptr<const isa::Program> collective_kernel(const Exchange& exchange, Target target,
                                                      const std::optional<PairPart>& pair) {
  return std::make_shared<const isa::Program>(Writer(exchange, target, pair).run());
}

bool is_collective_kernel(const Op& op) {
  constexpr std::array kNames{"x", "y", "sent", "received", "told", "heard"};
  if (!op.kernel || (op.kernel->tensors.size() != 4 && op.kernel->tensors.size() != 6)) return false;
  return std::ranges::equal(op.kernel->tensors, std::span(kNames).first(op.kernel->tensors.size()), {},
                            &isa::Tensor::name) &&
         collective_of(*op.kernel) != nullptr;
}

Exchange exchange_of(const isa::Program& kernel) {
  const isa::InstView inst(kernel, *collective_of(kernel));
  Exchange e{.moving = OpCode::collective_permute,
             .groups = {},
             .dtype = kernel.tensors[0].dtype,
             .before = kernel.tensors[2].shape,
             .after = kernel.tensors[3].shape,
             .repeats = kernel.tensors.size() == 6};
  for (const isa::RankList list : isa::replica_groups(inst, inst.facts().collective->groups))
    e.groups.emplace_back(list.begin(), list.end());
  switch (inst.inst().opcode) {
    case isa::Opcode::all_reduce:
      e.moving = OpCode::all_reduce;
      e.op = inst.alu(isa::args::all_reduce::op);
      break;
    case isa::Opcode::reduce_scatter:
      e.moving = OpCode::reduce_scatter;
      e.op = inst.alu(isa::args::reduce_scatter::op);
      break;
    case isa::Opcode::all_gather:
      e.moving = OpCode::all_gather;
      break;
    case isa::Opcode::all_to_all:
      e.moving = OpCode::all_to_all;
      break;
    default:
      break;
  }
  return e;
}

}  // namespace kiln::tensor
