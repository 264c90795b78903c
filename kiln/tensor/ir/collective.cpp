#include "kiln/tensor/ir/collective.h"

#include <algorithm>
#include <array>

namespace kiln::tensor {
namespace {
constexpr std::array kCollectives{OpCode::all_reduce,
                                  OpCode::all_gather,
                                  OpCode::reduce_scatter,
                                  OpCode::all_to_all,
                                  OpCode::collective_permute,
                                  OpCode::collective_permute_implicit,
                                  OpCode::collective_permute_implicit_reduce};
}

bool is_collective(OpCode code) {
  return std::ranges::find(kCollectives, code) != kCollectives.end() || is_sized(code) || is_rank_number(code);
}

bool is_rank_number(OpCode code) {
  return code == OpCode::rank_id || code == OpCode::collective_permute_implicit_current_processing_rank_id;
}

bool is_sized(OpCode code) { return code == OpCode::all_to_all_v || code == OpCode::all_gather_v; }

Ints flat_groups(const RankGroups& groups) {
  Ints flat;
  for (const Ints& list : groups) {
    flat.push_back(static_cast<std::int64_t>(list.size()));
    flat.insert(flat.end(), list.begin(), list.end());
  }
  return flat;
}

RankGroups groups_of(const Op& op) {
  const Ints& flat = op.ints("groups");
  RankGroups groups;
  for (std::size_t at = 0; at < flat.size();) {
    const auto length = static_cast<std::size_t>(
        std::clamp<std::int64_t>(flat[at], 0, static_cast<std::int64_t>(flat.size() - at - 1)));
    const auto first = flat.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    groups.emplace_back(first, first + static_cast<std::ptrdiff_t>(length));
    at += length + 1;
  }
  return groups;
}

std::int64_t group_size(const Op& op) { return static_cast<std::int64_t>(groups_of(op).at(0).size()); }

}  // namespace kiln::tensor
