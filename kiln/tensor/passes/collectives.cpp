#include "kiln/tensor/passes/collectives.h"

#include <algorithm>
#include <numeric>

#include "kiln/isa/builder/builder.h"
#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/passes/bodies.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

AluOp alu_of(const Op& op) {
  const std::string& text = op.text("op");
  return text == "add" ? AluOp::add : text == "minimum" ? AluOp::minimum : AluOp::maximum;
}

// The instruction that moves for an op, from and to tensors of the kernel's own.
void issue(isa::Kernel& k, const Op& op, OpCode moving, isa::View from, isa::View to) {
  const RankGroups groups = groups_of(op);
  switch (moving) {
    case OpCode::all_reduce:
      k.all_reduce({.srcs = {from}, .dsts = {to}, .replica_group = groups, .op = alu_of(op)});
      break;
    case OpCode::all_gather:
      k.all_gather({.srcs = {from}, .dsts = {to}, .replica_group = groups, .collective_dim = 0});
      break;
    case OpCode::reduce_scatter:
      k.reduce_scatter({.srcs = {from}, .dsts = {to}, .replica_group = groups, .collective_dim = 0, .op = alu_of(op)});
      break;
    case OpCode::all_to_all:
      k.all_to_all({.srcs = {from}, .dsts = {to}, .replica_group = groups, .collective_dim = 0});
      break;
    default:
      k.collective_permute({.srcs = {from}, .dsts = {to}, .source_target_pairs = groups});
      break;
  }
}

// A kernel that makes one matrix of another.
std::shared_ptr<const isa::Program> kernel_of(const Op& op, OpCode moving, Target target, DType dtype,
                                              const Shape& before, const Shape& after) {
  isa::Kernel k(std::string(name(moving)), target);
  const isa::View x = k.input("x", before, dtype), y = k.output("y", after, dtype);
  const auto own = [&](const char* name, const Shape& shape) {
    return k.tensor(Memory::shared_hbm, isa::Role::internal, shape, dtype, {name});
  };
  const isa::View sent = own("sent", before), received = own("received", after);
  k.dma_copy({.dst = sent, .src = x});
  issue(k, op, moving, sent, received);
  k.dma_copy({.dst = y, .src = received});
  return std::make_shared<const isa::Program>(k.finish());
}

// The axis first, the others in their order; and back.
Ints to_front(int rank, std::int64_t axis) {
  Ints perm{axis};
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != axis) perm.push_back(d);
  return perm;
}
Ints inverse(const Ints& perm) {
  Ints out(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) out[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return out;
}
Shape in_order_of(const Shape& shape, const Ints& perm) {
  Shape out;
  for (const std::int64_t d : perm) out.push_back(shape[static_cast<std::size_t>(d)]);
  return out;
}

Shape as_matrix(const Shape& shape) {
  const std::int64_t rows = shape.empty() ? 1 : shape[0];
  return {rows, shape.empty() ? 1 : product(shape) / std::max<std::int64_t>(1, rows)};
}

class CollectiveLowering {
 public:
  CollectiveLowering(const Rewriting& r, Target target) : r_(r), target_(target), x_(r.operand(0)) {}

  Expr run() {
    if (is_reduction() && !is_float(x_.dtype())) return reduced_here();
    if (r_.op.code == OpCode::all_reduce || r_.op.code == OpCode::collective_permute)
      return reshape(along_rows(r_.op.code, as_matrix(x_.shape()), as_matrix(x_.shape())), x_.shape());
    const bool joins = r_.op.code == OpCode::all_to_all;
    const std::int64_t axis = r_.op.integer(joins ? "split" : "axis");
    const Ints perm = to_front(x_.rank(), axis);
    x_ = transpose(x_, perm);
    Shape after = in_order_of(r_.op.type.shape, perm);
    if (joins) after = x_.shape();
    const Expr y = reshape(along_rows(r_.op.code, as_matrix(x_.shape()), as_matrix(after)), after);
    return joins ? joined(y, perm) : transpose(y, inverse(perm));
  }

 private:
  bool is_reduction() const { return r_.op.code == OpCode::all_reduce || r_.op.code == OpCode::reduce_scatter; }

  Expr along_rows(OpCode moving, const Shape& before, const Shape& after) {
    const Expr x = reshape(x_, before);
    return {r_.to, r_.to.kernel(kernel_of(r_.op, moving, target_, x.dtype(), before, after), {x.value()})};
  }

  // Ranks reduce in float32, which does not hold all integers: they are gathered, or the parts of a rank are, and
  // reduced on the core.
  Expr reduced_here() {
    const std::int64_t ranks = group_size(r_.op), size = product(x_.shape());
    if (r_.op.code == OpCode::all_reduce)
      return reshape(over_ranks(along_rows(OpCode::all_gather, {1, size}, {ranks, size})), x_.shape());
    const Ints perm = to_front(x_.rank(), r_.op.integer("axis"));
    x_ = transpose(x_, perm);
    const Shape rows = as_matrix(x_.shape());
    const Expr parts = reshape(along_rows(OpCode::all_to_all, rows, rows), {ranks, size / ranks});
    return transpose(reshape(over_ranks(parts), in_order_of(r_.op.type.shape, perm)), inverse(perm));
  }
  Expr over_ranks(const Expr& x) const {
    const AluOp op = alu_of(r_.op);
    return op == AluOp::add ? sum(x, {{0}}) : op == AluOp::minimum ? min(x, {{0}}) : max(x, {{0}});
  }

  // Of (ranks x part, others) with what rank i sent in place i: the ranks go before the axis that they are joined
  // along.
  Expr joined(const Expr& y, const Ints& perm) const {
    const std::int64_t ranks = group_size(r_.op), axis = r_.op.integer("axis");
    Shape parts = y.shape();
    parts[0] /= ranks;
    parts.insert(parts.begin(), ranks);
    Ints order;  // dimension 0 are the ranks, 1 + i is dimension perm[i] of the whole
    const Ints back = inverse(perm);
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(perm.size()); ++d) {
      if (d == axis) order.push_back(0);
      order.push_back(1 + back[static_cast<std::size_t>(d)]);
    }
    return reshape(transpose(reshape(y, parts), order), r_.op.type.shape);
  }

  const Rewriting& r_;
  Target target_;
  Expr x_;
};

template <Target T>
Graph lowered(const Graph& graph) {
  return rebuilt(graph, [](const Rewriting& r) -> std::optional<Value> {
    if (!is_collective(r.op.code) || r.op.type.size() == 0) return {};
    return CollectiveLowering(r, T).run().value();
  });
}

using LowerTo = Graph (*)(const Graph&);
constexpr LowerTo kLowered[] = {lowered<Target::trn1>, lowered<Target::trn2>, lowered<Target::trn3>};

}  // namespace

bool has_collectives(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](const Op& op) {
    return is_collective(op.code) ||
           std::ranges::any_of(op.bodies, [](const Body& body) { return has_collectives(*body); });
  });
}

Graph with_collective_kernels(const Graph& graph, Target target) {
  const LowerTo pass = kLowered[static_cast<std::size_t>(target)];
  return with_bodies(pass(graph), pass);
}

}  // namespace kiln::tensor
