#include "kiln/tensor/passes/collective_kernel.h"

#include <algorithm>
#include <numeric>

#include "kiln/isa/inst_view.h"
#include "kiln/isa/replica_groups.h"

namespace kiln::tensor {
namespace {

using isa::View;

using Views = std::vector<View>;

// Rows of a view for each channel.
Views by_channel(const View& view, int channels) {
  Views out;
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = view.dim(0) * c / channels;
    out.push_back(view.slice(0, first, view.dim(0) * (c + 1) / channels - first));
  }
  return out;
}

void issue_ring(isa::Kernel& k, const Exchange& e, const Views& from, const View& to) {
  Ints ids(static_cast<std::size_t>(e.channels));
  std::iota(ids.begin(), ids.end(), 0);
  const Views source = by_channel(from[0], e.channels), target = by_channel(to, e.channels);
  if (e.has_two()) {
    k.collective_permute_implicit_reduce({.srcs0_by_channel = source,
                                          .srcs1_by_channel = by_channel(from[1], e.channels),
                                          .dsts_by_channel = target,
                                          .replica_group = e.groups,
                                          .op = e.op,
                                          .channel_ids = ids});
  } else {
    k.collective_permute_implicit(
        {.srcs_by_channel = source, .dsts_by_channel = target, .replica_group = e.groups, .channel_ids = ids});
  }
}

void issue(isa::Kernel& k, const Exchange& e, const Views& from, const View& to) {
  switch (e.moving) {
    case OpCode::all_reduce:
      k.all_reduce({.srcs = from, .dsts = {to}, .replica_group = e.groups, .op = e.op});
      break;
    case OpCode::all_gather:
      k.all_gather({.srcs = from, .dsts = {to}, .replica_group = e.groups, .collective_dim = 0});
      break;
    case OpCode::reduce_scatter:
      k.reduce_scatter({.srcs = from, .dsts = {to}, .replica_group = e.groups, .collective_dim = 0, .op = e.op});
      break;
    case OpCode::all_to_all:
      k.all_to_all({.srcs = from, .dsts = {to}, .replica_group = e.groups, .collective_dim = 0});
      break;
    case OpCode::collective_permute:
      k.collective_permute({.srcs = from, .dsts = {to}, .source_target_pairs = e.groups});
      break;
    default:
      issue_ring(k, e, from, to);
      break;
  }
}

Shape share_of(Shape shape, const Share& share) {
  std::int64_t& n = shape[static_cast<std::size_t>(share.axis)];
  if (share.is_half()) n = half_extent(n);
  return shape;
}

// What a core brings, and what it has of a half: of an odd extent one of them brings the middle, and both have it.
View brought_by(const View& view, int axis, int core) {
  const std::int64_t first = view.dim(axis) / 2;
  return view.slice(axis, core == 0 ? 0 : first, core == 0 ? first : view.dim(axis) - first);
}
View half_of(const View& view, int axis, int core) {
  const std::int64_t n = half_extent(view.dim(axis));
  return view.slice(axis, core * (view.dim(axis) - n), n);
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
    Views x, sent;
    for (const char* name : {"x", "x1"})
      if (x.empty() || e_.has_two())
        x.push_back(k_.input(name, pair_ ? share_of(e_.before, pair_->brought) : e_.before, e_.dtype));
    const View y = k_.output("y", pair_ ? share_of(e_.after, pair_->wanted) : e_.after, e_.dtype);
    for (const char* name : {"sent", "sent1"})
      if (sent.size() < x.size()) sent.push_back(own(name, e_.before));
    const View received = own("received", e_.after);
    for (std::size_t i = 0; i < x.size(); ++i) bring(x[i], sent[i]);
    issue(k_, e_, sent, received);
    const bool half = pair_ && pair_->wanted.is_half();
    k_.dma_copy({.dst = y, .src = half ? half_of(received, pair_->wanted.axis, pair_->core) : received});
    if (e_.repeats)
      tell_done(k_, {y.slice(0, 0, 1).slice(1, 0, 1)}, meeting_of(e_), memory(),
                pair_ && is_shared() ? std::optional(pair_->core) : std::nullopt);
    return k_.finish();
  }

 private:
  // One element has no halves: then each core of a pair has tensors of its own.
  bool is_shared() const { return product(e_.before) > 1; }
  Memory memory() const { return is_shared() ? Memory::shared_hbm : Memory::hbm; }
  View own(const char* name, const Shape& shape) {
    return k_.tensor(memory(), isa::Role::internal, shape, e_.dtype, {name});
  }

  void bring(const View& x, const View& sent) {
    if (!pair_ || !is_shared()) {
      k_.dma_copy({.dst = sent, .src = x});
      return;
    }
    const bool half = pair_->brought.is_half();
    const int axis = half ? pair_->brought.axis : e_.before[0] >= e_.before[1] ? 0 : 1;
    k_.dma_copy({.dst = brought_by(sent, axis, pair_->core), .src = half ? x : brought_by(x, axis, pair_->core)});
    k_.core_barrier({.data = sent, .cores = {0, 1}});
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

// The names of a kernel's tensors.
std::vector<std::string> names_of(bool has_two, bool repeats) {
  std::vector<std::string> names = has_two ? std::vector<std::string>{"x", "x1", "y", "sent", "sent1", "received"}
                                           : std::vector<std::string>{"x", "y", "sent", "received"};
  if (repeats) names.insert(names.end(), {"told", "heard"});
  return names;
}

const isa::Tensor* tensor_of(const isa::Program& kernel, std::string_view name) {
  const auto found = std::ranges::find(kernel.tensors, name, &isa::Tensor::name);
  return found == kernel.tensors.end() ? nullptr : &*found;
}

}  // namespace

void tell_done(isa::Kernel& k, const Views& ones, const RankGroups& groups, Memory memory, std::optional<int> core) {
  const std::int64_t cores = core ? 2 : 1, row = core.value_or(0);
  std::int64_t bytes = 0;
  for (const View& one : ones) bytes += size_bytes(one.dtype());
  const View told = k.tensor(memory, isa::Role::internal, {cores, bytes}, DType::uint8, {"told"});
  const View heard =
      k.tensor(memory, isa::Role::internal, {cores * std::ssize(groups[0]), bytes}, DType::uint8, {"heard"});
  std::int64_t at = 0;
  for (const View& one : ones) {
    const std::int64_t size = size_bytes(one.dtype());
    k.dma_copy({.dst = told.slice(0, row, 1).slice(1, at, size), .src = one.view(DType::uint8)});
    at += size;
  }
  if (core) k.core_barrier({.data = told, .cores = {0, 1}});
  k.all_gather({.srcs = {told}, .dsts = {heard}, .replica_group = groups, .collective_dim = 0});
}

std::shared_ptr<const isa::Program> collective_kernel(const Exchange& exchange, Target target,
                                                      const std::optional<PairPart>& pair) {
  return std::make_shared<const isa::Program>(Writer(exchange, target, pair).run());
}

bool is_collective_kernel(const Op& op) {
  if (!op.kernel || !collective_of(*op.kernel)) return false;
  const bool has_two = tensor_of(*op.kernel, "x1"), repeats = tensor_of(*op.kernel, "told");
  return std::ranges::equal(op.kernel->tensors, names_of(has_two, repeats), {}, &isa::Tensor::name);
}

Exchange exchange_of(const isa::Program& kernel) {
  const isa::InstView inst(kernel, *collective_of(kernel));
  const int received = inst.facts().collective->received;
  Exchange e{.moving = OpCode::collective_permute,
             .groups = {},
             .dtype = kernel.tensors[0].dtype,
             .before = tensor_of(kernel, "sent")->shape,
             .after = tensor_of(kernel, "received")->shape,
             .repeats = tensor_of(kernel, "told") != nullptr,
             .channels = static_cast<int>(inst.accesses(received).size())};
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
    case isa::Opcode::collective_permute_implicit:
      e.moving = OpCode::collective_permute_implicit;
      break;
    case isa::Opcode::collective_permute_implicit_reduce:
      e.moving = OpCode::collective_permute_implicit_reduce;
      e.op = inst.alu(isa::args::collective_permute_implicit_reduce::op);
      break;
    default:
      break;
  }
  return e;
}

}  // namespace kiln::tensor
