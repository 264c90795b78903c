// The oracle of collectives on parts of any size, and of numbers of ranks.
#include <fmt/format.h>

#include <algorithm>

#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/evaluate_ranks.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

// Positions of the operands.
constexpr std::size_t kSrc = 0, kDst = 1, kCounts = 2, kDispls = 3, kPlaces = 4;

// A number of elements, or a place among them.
std::int64_t element_of(const Array& a, std::size_t i) { return static_cast<std::int64_t>(a.data[i]); }

[[noreturn]] void misfit(std::int64_t count, std::int64_t from, const char* of, const Array& a) {
  raise(rules::kTable, rules::kRankCounts,
        {.found = fmt::format("{} elements from {} on of a {} of {}", count, from, of, a.data.size())});
}

bool lies_in(std::int64_t count, std::int64_t from, std::int64_t size) {
  return count >= 0 && from >= 0 && count <= size && from <= size - count;
}

}  // namespace

Results sized_parts(const Op& op, const std::vector<Given>& brought, std::size_t mine) {
  Array out = *brought[mine][kDst];
  Array counts{result_types(op)[1], {}};
  const auto size = std::ssize(out.data), slot = size / std::ssize(brought);
  const std::size_t column = op.code == OpCode::all_gather_v ? 0 : mine;
  for (std::size_t sender = 0; sender < brought.size(); ++sender) {
    const Given& from = brought[sender];
    const std::int64_t count = element_of(*from[kCounts], column), first = element_of(*from[kDispls], column);
    if (!lies_in(count, first, std::ssize(from[kSrc]->data))) misfit(count, first, "src", *from[kSrc]);
    const bool placed = brought[mine].size() > kPlaces;
    const auto to = placed ? element_of(*brought[mine][kPlaces], sender) : slot * static_cast<std::int64_t>(sender);
    if (!lies_in(count, to, size) || (!placed && count > slot)) misfit(count, to, "dst", out);
    std::copy_n(from[kSrc]->data.begin() + first, count, out.data.begin() + to);
    counts.data.push_back(static_cast<double>(count));
  }
  return {std::move(out), std::move(counts)};
}

std::vector<Results> rank_numbers(const Op& op, const std::vector<Given>& of_rank, const Team& team) {
  std::vector<Results> out;
  const auto number = [&](std::int64_t rank) { out.push_back({Array{op.type, {static_cast<double>(rank)}}}); };
  for (std::size_t i = 0; i < of_rank.size(); ++i) {
    const std::int64_t rank = team.ranks[i];
    if (op.code == OpCode::rank_id) {
      if (rank >= op.integer("ranks"))
        raise(rules::kTable, rules::kRankGroups, {.found = fmt::format("rank {} of {}", rank, op.integer("ranks"))});
      number(rank);
      continue;
    }
    const std::int64_t step = element_of(*of_rank[i][0], 0);
    if (step < 0) raise(rules::kTable, rules::kRankStep, {.found = fmt::format("step {}", step)});
    const RankGroups groups = groups_of(op);
    const auto list =
        std::ranges::find_if(groups, [&](const Ints& l) { return std::ranges::find(l, rank) != l.end(); });
    if (list == groups.end())
      raise(rules::kTable, rules::kRankGroups, {.found = fmt::format("rank {} is in no group", rank)});
    const auto n = std::ssize(*list), here = std::ranges::find(*list, rank) - list->begin();
    number((*list)[static_cast<std::size_t>((here + n - step % n) % n)]);
  }
  return out;
}

}  // namespace kiln::tensor
