#include "kiln/tensor/passes/collectives.h"

#include <algorithm>
#include <numeric>

#include "kiln/tensor/passes/bodies.h"
#include "kiln/tensor/passes/rank_kernel.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/sized_kernel.h"

namespace kiln::tensor {
namespace {

AluOp alu_of(const Op& op) {
  const std::string& text = op.text("op");
  return text == "add" ? AluOp::add : text == "minimum" ? AluOp::minimum : AluOp::maximum;
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
  CollectiveLowering(const Rewriting& r, Target target, bool repeats)
      : r_(r), target_(target), repeats_(repeats), x_(r.operand(0)) {}

  Expr run() {
    if (is_ring()) return around();
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
  bool is_ring() const {
    return r_.op.code == OpCode::collective_permute_implicit ||
           r_.op.code == OpCode::collective_permute_implicit_reduce;
  }
  // A step around the ring. Integers are reduced on the core, as below.
  Expr around() {
    const bool reduces = r_.op.code == OpCode::collective_permute_implicit_reduce;
    const std::int64_t channels = r_.op.integer("channels");
    const Shape shape = x_.shape();
    Shape rows = as_matrix(shape);
    if (rows[0] < channels) rows = {product(rows), 1};
    if (!reduces || is_float(x_.dtype())) {
      std::vector<Value> sources{reshape(x_, rows).value()};
      if (reduces) sources.push_back(reshape(r_.operand(1), rows).value());
      return reshape(exchanged(r_.op.code, rows, rows, std::move(sources)), shape);
    }
    const AluOp op = alu_of(r_.op);
    const Expr y = r_.operand(1);
    x_ = op == AluOp::add ? x_ + y : op == AluOp::minimum ? minimum(x_, y) : maximum(x_, y);
    return reshape(exchanged(OpCode::collective_permute_implicit, rows, rows, {reshape(x_, rows).value()}), shape);
  }

  bool is_reduction() const { return r_.op.code == OpCode::all_reduce || r_.op.code == OpCode::reduce_scatter; }

  Expr along_rows(OpCode moving, const Shape& before, const Shape& after) {
    return exchanged(moving, before, after, {reshape(x_, before).value()});
  }

  Expr exchanged(OpCode moving, const Shape& before, const Shape& after, std::vector<Value> sources) {
    const bool reduces = moving == OpCode::all_reduce || moving == OpCode::reduce_scatter ||
                         moving == OpCode::collective_permute_implicit_reduce;
    const Exchange e{.moving = moving,
                     .groups = groups_of(r_.op),
                     .op = reduces ? alu_of(r_.op) : AluOp::add,
                     .dtype = x_.dtype(),
                     .before = before,
                     .after = after,
                     .repeats = repeats_,
                     .channels = is_ring() ? static_cast<int>(r_.op.integer("channels")) : 1};
    return {r_.to, r_.to.kernel(collective_kernel(e, target_), std::move(sources))};
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
  bool repeats_;
  Expr x_;
};

// Stays the op that `result` takes its results of.
Value sized(const Rewriting& r, Target target) {
  const SizedExchange e{.moving = r.op.code,
                        .groups = groups_of(r.op),
                        .dtype = r.operand(0).dtype(),
                        .counted = r.operand(2).dtype(),
                        .src = r.operand(0).shape(),
                        .dst = r.operand(1).shape(),
                        .has_places = r.operands.size() > 4};
  std::vector<Value> operands = r.operands;
  for (std::size_t i = 3; i < operands.size(); ++i)  // dtypes of 32 bits
    if (r.to.type(operands[i]).dtype != e.counted) operands[i] = bitcast(r.operand(i), e.counted).value();
  return r.to.kernel(sized_kernel(e, target), std::move(operands));
}

Value rank_number(const Rewriting& r, Target target) {
  const auto table = [&](std::int64_t ranks) { return r.to.iota({DType::int32, {ranks}}, 0); };
  if (r.op.code == OpCode::rank_id) {
    const std::int64_t ranks = r.op.integer("ranks");
    return reshape(Expr(r.to, r.to.kernel(rank_id_kernel(ranks, target), {table(ranks)})), {}).value();
  }
  RingStep step{groups_of(r.op), r.op.integer("channel"), {}, r.operand(0).dtype()};
  if (const auto number = splat_of(r.to, r.operands[0])) step.known = static_cast<std::int64_t>(*number);
  std::vector<Value> operands;
  if (!step.known) operands.push_back(r.operands[0]);
  operands.push_back(table(ranks_in_table(step)));
  return reshape(Expr(r.to, r.to.kernel(processing_rank_kernel(step, target), std::move(operands))), {}).value();
}

template <Target T, bool InBody>
Graph lowered(const Graph& graph) {
  return rebuilt(graph, [](const Rewriting& r) -> std::optional<Value> {
    if (!is_collective(r.op.code) || r.op.type.size() == 0) return {};
    if (is_rank_number(r.op.code)) return rank_number(r, T);
    if (is_sized(r.op.code)) return sized(r, T);
    return CollectiveLowering(r, T, InBody).run().value();
  });
}

using Pass = Graph (*)(const Graph&);
constexpr Pass kLowered[] = {lowered<Target::trn1, false>, lowered<Target::trn2, false>, lowered<Target::trn3, false>};
constexpr Pass kInBodies[] = {lowered<Target::trn1, true>, lowered<Target::trn2, true>, lowered<Target::trn3, true>};

template <int Core>
Graph of_core(const Graph& body) {
  return rebuilt(body, [](const Rewriting& r) -> std::optional<Value> {
    if (!meets_in_kernel(r.op)) return {};
    return r.to.kernel(kernel_of_core(*r.op.kernel, PairPart{Core, {}, {}}), r.operands);
  });
}

}  // namespace

bool has_collectives(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](const Op& op) {
    return is_collective(op.code) ||
           std::ranges::any_of(op.bodies, [](const Body& body) { return has_collectives(*body); });
  });
}

Graph with_collective_kernels(const Graph& graph, Target target) {
  const auto chip = static_cast<std::size_t>(target);
  return with_bodies(kLowered[chip](graph), kInBodies[chip]);
}

bool meets_in_kernel(const Op& op) { return is_collective_kernel(op) || is_sized_kernel(op); }

std::shared_ptr<const isa::Program> kernel_of_core(const isa::Program& kernel, const PairPart& part) {
  if (is_sized_program(kernel)) return sized_kernel(sized_exchange_of(kernel), kernel.target, part.core);
  return collective_kernel(exchange_of(kernel), kernel.target, part);
}

Share share_to_send(const Type& sent) {
  for (int axis = 0; axis < sent.rank(); ++axis)
    if (sent.shape[static_cast<std::size_t>(axis)] >= 2 && sent.shape[static_cast<std::size_t>(axis)] % 2 == 0)
      return Share::half_of(axis);
  return {};
}

Graph with_pair_kernels(const Graph& body, int core) {
  const Pass pass = core == 0 ? of_core<0> : of_core<1>;
  return with_bodies(pass(body), pass);
}

}  // namespace kiln::tensor
