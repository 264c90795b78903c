// Types of what ranks exchange.
#include <algorithm>
#include <set>

#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {
namespace {

// Lists of one length, each rank in one of them. A group of one rank is one too.
std::int64_t asked_ranks(const Ask& a) {
  const RankGroups groups = groups_of(a.op);
  const std::string text = to_string(a.op.ints("groups"));
  a.require(!groups.empty() && !groups[0].empty(), rules::kRankGroups, "no ranks");
  std::set<std::int64_t> seen;
  for (const Ints& list : groups) {
    a.require(list.size() == groups[0].size(), rules::kRankGroups, text);
    for (const std::int64_t rank : list)
      a.require(rank >= 0 && seen.insert(rank).second, rules::kRankGroups, fmt::format("rank {} in {}", rank, text));
  }
  return static_cast<std::int64_t>(groups[0].size());
}

void require_reducible(const Ask& a) {
  const std::string& op = a.op.text("op");
  a.require(op == "add" || op == "minimum" || op == "maximum", rules::kOperands,
            fmt::format("op `{}`; there are add, minimum, maximum", op));
  const DType t = a.operand(0).dtype;
  a.require(is_float(t) || t == DType::int32 || t == DType::uint32, rules::kDtype,
            fmt::format("{}; ranks reduce floats and 32-bit integers", to_string(a.operand(0))));
}

void require_parts(const Ask& a, std::int64_t axis, std::int64_t ranks) {
  a.require(a.operand(0).shape[axis] % ranks == 0, rules::kRankParts,
            fmt::format("{} in {} parts along axis {}", to_string(a.operand(0)), ranks, axis));
}

}  // namespace

Type infer_all_reduce(const Ask& a) {
  asked_ranks(a);
  require_reducible(a);
  return a.operand(0);
}

Type infer_all_gather(const Ask& a) {
  Type out = a.operand(0);
  out.shape[asked_axis(a)] *= asked_ranks(a);
  return out;
}

Type infer_reduce_scatter(const Ask& a) {
  const std::int64_t axis = asked_axis(a), ranks = asked_ranks(a);
  require_reducible(a);
  require_parts(a, axis, ranks);
  Type out = a.operand(0);
  out.shape[axis] /= ranks;
  return out;
}

Type infer_all_to_all(const Ask& a) {
  const std::int64_t split = asked_axis(a, "split"), axis = asked_axis(a), ranks = asked_ranks(a);
  require_parts(a, split, ranks);
  Type out = a.operand(0);
  out.shape[split] /= ranks;
  out.shape[axis] *= ranks;
  return out;
}

// Every rank that sends receives too, so that no rank has a result that nobody wrote.
Type infer_collective_permute(const Ask& a) {
  std::set<std::int64_t> sources, targets;
  for (const Ints& pair : groups_of(a.op)) {
    const bool fits =
        pair.size() == 2 && pair[0] >= 0 && sources.insert(pair[0]).second && targets.insert(pair[1]).second;
    a.require(fits, rules::kRankPairs, to_string(a.op.ints("groups")));
  }
  a.require(!sources.empty() && sources == targets, rules::kRankPairs, to_string(a.op.ints("groups")));
  return a.operand(0);
}

}  // namespace kiln::tensor
