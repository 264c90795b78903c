// The oracle on several ranks: op by op, collectives on the arrays of all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

// What each rank of a group has for the operand, in the order of the list.
using Brought = std::vector<const Array*>;

double combined(const std::string& op, double a, double b) {
  if (op == "add") return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return op == "maximum" ? std::max(a, b) : std::min(a, b);
}

Array all_reduced(const Op& op, const Brought& brought) {
  Array out = *brought[0];
  for (std::size_t r = 1; r < brought.size(); ++r) {
    for (std::size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = combined(op.text("op"), out.data[i], brought[r]->data[i]);
  }
  if (!is_float(out.type.dtype))  // modulo 2^32
    out = from_bytes(out.type, to_bytes(out).data());
  return out;
}

// Calls fn(element of the whole, element of the part) for part `part` of `shape` along an axis.
template <class Fn>
void for_part(const Shape& shape, std::int64_t axis, std::int64_t parts, std::int64_t part, Fn&& fn) {
  Shape small = shape;
  small[axis] /= parts;
  const Shape strides = strides_of(shape);
  for_each(small, [&](std::int64_t i, const Shape& at) {
    std::int64_t whole = part * small[axis] * strides[axis];
    for (std::size_t d = 0; d < at.size(); ++d) whole += at[d] * strides[d];
    fn(whole, i);
  });
}

Array share_of(const Array& whole, std::int64_t axis, std::int64_t parts, std::int64_t part) {
  Array out{whole.type, {}};
  out.type.shape[axis] /= parts;
  out.data.resize(static_cast<std::size_t>(out.type.size()));
  for_part(whole.type.shape, axis, parts, part,
           [&](std::int64_t from, std::int64_t to) { out.data[to] = whole.data[from]; });
  return out;
}

Array joined(const Type& type, std::int64_t axis, const std::vector<Array>& parts) {
  Array out{type, std::vector<double>(static_cast<std::size_t>(type.size()))};
  for (std::size_t p = 0; p < parts.size(); ++p)
    for_part(type.shape, axis, static_cast<std::int64_t>(parts.size()), static_cast<std::int64_t>(p),
             [&](std::int64_t to, std::int64_t from) { out.data[to] = parts[p].data[from]; });
  return out;
}

// What the rank at position `mine` of its group gets.
Array exchanged(const Op& op, const Brought& brought, std::int64_t mine) {
  const auto n = static_cast<std::int64_t>(brought.size());
  std::vector<Array> parts;
  switch (op.code) {
    case OpCode::all_reduce:
      return all_reduced(op, brought);
    case OpCode::reduce_scatter:
      return share_of(all_reduced(op, brought), op.integer("axis"), n, mine);
    case OpCode::all_to_all:
      for (const Array* a : brought) parts.push_back(share_of(*a, op.integer("split"), n, mine));
      return joined(op.type, op.integer("axis"), parts);
    default:
      for (const Array* a : brought) parts.push_back(*a);
      return joined(op.type, op.integer("axis"), parts);
  }
}

// The value of a collective on each rank.
std::vector<Array> meet(const Op& op, const std::vector<const Array*>& of_rank) {
  std::vector<Array> out(of_rank.size(), Array{op.type, {}});
  const auto at = [&](std::int64_t rank) {
    if (rank >= static_cast<std::int64_t>(of_rank.size()))
      raise(rules::kTable, rules::kRankGroups, {.found = fmt::format("rank {} of {} ranks", rank, of_rank.size())});
    return static_cast<std::size_t>(rank);
  };
  for (const Ints& list : groups_of(op)) {
    if (op.code == OpCode::collective_permute) {
      out[at(list[1])] = *of_rank[at(list[0])];
      continue;
    }
    Brought brought;
    for (const std::int64_t rank : list) brought.push_back(of_rank[at(rank)]);
    for (std::size_t i = 0; i < list.size(); ++i)
      out[at(list[i])] = exchanged(op, brought, static_cast<std::int64_t>(i));
  }
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    if (static_cast<std::int64_t>(out[rank].data.size()) != op.type.size())
      raise(rules::kTable, rules::kRankGroups, {.found = fmt::format("rank {} is in no group", rank)});
  }
  return out;
}

}  // namespace

Array eval_collective(const Eval& e) {
  raise(rules::kTable, rules::kNotYet,
        {.found = fmt::format("not yet: {} of one rank in the oracle, or in a body; evaluate all ranks together",
                              name(e.op.code)),
         .category = Category::not_yet});
}

std::vector<Arrays> evaluate(const Graph& graph, const std::vector<Arrays>& inputs) {
  std::vector<Evaluation> ranks;
  for (const Arrays& own : inputs) ranks.emplace_back(graph, own);
  for (const Op& op : graph.ops()) {
    if (!is_collective(op.code)) {
      for (Evaluation& rank : ranks) rank.add(op);
      continue;
    }
    std::vector<const Array*> of_rank;
    for (const Evaluation& rank : ranks) of_rank.push_back(&rank.value(op.operands[0]));
    std::vector<Array> met = meet(op, of_rank);
    for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].add(std::move(met[r]));
  }
  std::vector<Arrays> outputs;
  for (const Evaluation& rank : ranks) outputs.push_back(rank.outputs());
  return outputs;
}

}  // namespace kiln::tensor
