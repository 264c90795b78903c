#include "kiln/tensor/passes/share.h"

#include <algorithm>

#include "kiln/tensor/passes/collectives.h"

namespace kiln::tensor {
namespace {

using Shares = std::vector<Share>;
using Needed = std::optional<Shares>;

struct Asked {
  const Graph& graph;
  const Op& op;
  int axis;  // of the result, of which a half is wanted
  const Shape& shape(std::size_t i) const { return graph.type(op.operands[i]).shape; }
  int rank() const { return static_cast<int>(op.type.shape.size()); }
};

// An operand that broadcasts to the result: its half, or all of it where it does not move along the axis.
Share aligned(const Asked& a, std::size_t i) {
  const Shape& x = a.shape(i);
  const int d = a.axis - a.rank() + static_cast<int>(x.size());
  return d < 0 || x[d] == 1 ? Share{} : Share::half_of(d);
}

Needed all_aligned(const Asked& a) {
  Shares out;
  for (std::size_t i = 0; i < a.op.operands.size(); ++i) out.push_back(aligned(a, i));
  return out;
}

// Operands that have the result's extent along the axis.
Needed same_axis(const Asked& a, int besides) {
  if (a.axis == besides) return {};
  Shares out;
  for (std::size_t i = 0; i < a.op.operands.size(); ++i) {
    const Shape& x = a.shape(i);
    if (static_cast<int>(x.size()) != a.rank() || x[a.axis] != a.op.type.shape[a.axis]) return {};
    out.push_back(Share::half_of(a.axis));
  }
  return out;
}

Needed of_reduction(const Asked& a) {
  const Ints& axes = a.op.ints("axes");
  const auto is_reduced = [&](int d) { return std::find(axes.begin(), axes.end(), d) != axes.end(); };
  if (a.op.flag("keepdims")) return is_reduced(a.axis) ? Needed{} : Shares{Share::half_of(a.axis)};
  int left = a.axis;
  for (int d = 0; d < static_cast<int>(a.shape(0).size()); ++d) {
    if (!is_reduced(d) && left-- == 0) return Shares{Share::half_of(d)};
  }
  return {};
}

Needed of_product(const Asked& a) {
  if (a.shape(0).size() < 2 || a.shape(1).size() < 2) return {};
  if (a.axis == a.rank() - 1) return Shares{{}, Share::half_of(static_cast<int>(a.shape(1).size()) - 1)};
  if (a.axis == a.rank() - 2) return Shares{Share::half_of(static_cast<int>(a.shape(0).size()) - 2), {}};
  return Shares{aligned(a, 0), aligned(a, 1)};
}

// The dimension of x whose halves are those of dimension `axis` of y, where both begin a group of equal size.
std::optional<int> same_halves(const Shape& x, const Shape& y, int axis) {
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    if (x[i] == 1 && y[j] != 1) {
      ++i;
      continue;
    }
    if (y[j] == 1 && x[i] != 1) {
      if (static_cast<int>(j++) == axis) return {};
      continue;
    }
    const std::size_t first_x = i, first_y = j;
    std::int64_t n = x[i++], m = y[j++];
    while (n != m && i <= x.size() && j <= y.size()) {
      if (n < m && i < x.size())
        n *= x[i++];
      else if (m < n && j < y.size())
        m *= y[j++];
      else
        return {};
    }
    if (static_cast<int>(first_y) == axis) {
      const bool even = x[first_x] % 2 == 0 && y[first_y] % 2 == 0;
      return even || x[first_x] == y[first_y] ? std::optional(static_cast<int>(first_x)) : std::nullopt;
    }
    if (static_cast<int>(j) > axis) return {};
  }
  return {};
}

Needed of_slice(const Asked& a) {
  const bool all = a.op.ints("starts")[a.axis] == 0 && a.op.ints("steps")[a.axis] == 1 &&
                   a.shape(0)[a.axis] == a.op.type.shape[a.axis];
  return all ? Needed(Shares{Share::half_of(a.axis)}) : Needed{};
}

Needed of_half(const Asked& a) {
  const OpCode code = a.op.code;
  if (is_elementwise(code)) return all_aligned(a);
  switch (code) {
    case OpCode::input:
    case OpCode::constant:
    case OpCode::iota:
      return Shares{};
    case OpCode::where:
    case OpCode::cast:
    case OpCode::bitcast:
    case OpCode::broadcast_to:
      return all_aligned(a);
    case OpCode::sum:
    case OpCode::prod:
    case OpCode::max:
    case OpCode::min:
    case OpCode::argmax:
    case OpCode::argmin:
      return of_reduction(a);
    case OpCode::cumsum:
    case OpCode::cumprod:
    case OpCode::cummax:
    case OpCode::cummin:
    case OpCode::linear_scan:
    case OpCode::concat:
    case OpCode::argsort:
    case OpCode::sort:
    case OpCode::top_k_indices:
    case OpCode::take_along_axis:
    case OpCode::put_along_axis:
      return same_axis(a, static_cast<int>(a.op.integer("axis")));
    case OpCode::matmul:
    case OpCode::matmul_f32:
      return of_product(a);
    case OpCode::transpose:
      return Shares{Share::half_of(static_cast<int>(a.op.ints("perm")[a.axis]))};
    case OpCode::reshape: {
      const auto d = same_halves(a.shape(0), a.op.type.shape, a.axis);
      return d ? Needed(Shares{Share::half_of(*d)}) : Needed{};
    }
    case OpCode::slice:
      return of_slice(a);
    case OpCode::gather_rows:
      if (a.axis >= static_cast<int>(a.shape(1).size())) return {};
      return Shares{{}, Share::half_of(a.axis)};
    default:
      return {};
  }
}

// Sums of halves along an even extent.
Needed of_summand(const Graph& graph, const Op& op) {
  const auto shape = [&](std::size_t i) -> const Shape& { return graph.type(op.operands[i]).shape; };
  if (is_product(op.code) && shape(0).size() >= 2 && shape(1).size() >= 2) {
    const int k = static_cast<int>(shape(0).size()) - 1;
    if (shape(0)[k] % 2 != 0 || shape(0)[k] < 2) return {};
    return Shares{Share::half_of(k), Share::half_of(static_cast<int>(shape(1).size()) - 2)};
  }
  if (op.code != OpCode::sum) return {};
  for (std::int64_t axis : op.ints("axes")) {
    if (shape(0)[axis] % 2 == 0 && shape(0)[axis] >= 2) return Shares{Share::half_of(static_cast<int>(axis))};
  }
  return {};
}

}  // namespace

std::vector<Share> shares_of(const Graph& graph, Value v, bool with_odd) {
  std::vector<Share> out{{}};
  const Shape& shape = graph.type(v).shape;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (shape[d] >= 2 && (with_odd || shape[d] % 2 == 0)) out.push_back(Share::half_of(d));
  }
  if (needed(graph, v, {Share::Kind::summand, 0})) out.push_back({Share::Kind::summand, 0});
  return out;
}

std::optional<std::vector<Share>> needed(const Graph& graph, Value v, const Share& share) {
  const Op& op = graph.op(v);
  if (is_collective_kernel(op))
    return share.is_summand() ? Needed{} : Shares(op.operands.size(), share_to_send(graph.type(op.operands[0])));
  if (share.is_whole()) return Shares(op.operands.size());
  if (share.is_summand()) return of_summand(graph, op);
  Needed out = of_half({graph, op, share.axis});
  for (std::size_t i = 0; out && i < out->size(); ++i) {
    const Share& s = (*out)[i];
    if (!s.is_half()) continue;
    const std::int64_t n = graph.type(op.operands[i]).shape[s.axis];
    if (n % 2 != 0 && n != op.type.shape[share.axis]) return {};  // its middle is none of the result's
  }
  return out;
}

}  // namespace kiln::tensor
