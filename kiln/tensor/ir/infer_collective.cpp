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

namespace {

// Each channel takes a part of x.
void require_channels(const Ask& a) {
  const std::int64_t channels = a.op.integer("channels"), size = a.operand(0).size();
  a.require(channels >= 1 && channels <= kMostChannels && (channels <= size || size == 0), rules::kRankChannels,
            fmt::format("{} in {} channels", to_string(a.operand(0)), channels));
}

bool is_count(const Type& t, const Shape& shape) {
  return (t.dtype == DType::int32 || t.dtype == DType::uint32) && t.shape == shape;
}

// Of src and dst, which are flat, and of counts and places in them.
Type infer_sized(const Ask& a, const Shape& counts) {
  const Type &src = a.operand(0), &dst = a.operand(1);
  a.require(src.dtype == dst.dtype && src.rank() >= 1 && dst.rank() >= 1 && src.size() > 0 && dst.size() > 0,
            rules::kConcat, fmt::format("src {}, dst {}", to_string(src), to_string(dst)));
  for (std::size_t i = 2; i < a.op.operands.size(); ++i)
    a.require(is_count(a.operand(i), counts), rules::kIndex,
              fmt::format("{} as counts or places, of which there are {}", to_string(a.operand(i)), to_string(counts)));
  return dst;
}

}  // namespace

Type infer_ring_step(const Ask& a) {
  asked_ranks(a);
  require_channels(a);
  return a.operand(0);
}

Type infer_ring_reduce(const Ask& a) {
  asked_ranks(a);
  require_reducible(a);
  require_channels(a);
  a.require(a.operand(0) == a.operand(1), rules::kConcat,
            fmt::format("{} and {}", to_string(a.operand(0)), to_string(a.operand(1))));
  return a.operand(0);
}

Type infer_all_to_all_v(const Ask& a) {
  const std::int64_t ranks = asked_ranks(a);
  const std::size_t given = a.op.operands.size();
  a.require(given == 4 || given == 5, rules::kOperands, fmt::format("{} operands of all_to_all_v", given));
  return infer_sized(a, {ranks});
}

Type infer_all_gather_v(const Ask& a) {
  asked_ranks(a);
  return infer_sized(a, {});
}

Type infer_processing_rank(const Ask& a) {
  asked_ranks(a);
  const std::int64_t channel = a.op.integer("channel");
  a.require(channel >= 0 && channel < kMostChannels, rules::kRankChannels, fmt::format("channel {}", channel));
  a.require(is_count(a.operand(0), {}), rules::kIndex, fmt::format("{} as a step", to_string(a.operand(0))));
  return {DType::int32, {}};
}

Type infer_rank_id(const Ask& a) {
  const std::int64_t ranks = a.op.integer("ranks");
  a.require(ranks >= 1, rules::kRankGroups, fmt::format("{} ranks", ranks));
  return {DType::int32, {}};
}

}  // namespace kiln::tensor
