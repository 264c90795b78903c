#include "kiln/isa/replica_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace kiln::isa {

std::vector<RankList> replica_groups(const InstView& inst, int param) {
  std::vector<RankList> lists;
  for (RankList rest = inst.integers(param); !rest.empty();) {
    const auto length = static_cast<std::size_t>(std::clamp<std::int64_t>(rest[0], 0, std::ssize(rest) - 1));
    lists.push_back(rest.subspan(1, length));
    rest = rest.subspan(1 + length);
  }
  return lists;
}

RankList group_of(const InstView& inst, int param, std::int64_t rank) {
  for (const RankList list : replica_groups(inst, param)) {
    if (std::ranges::find(list, rank) != list.end()) return list;
  }
  return {};
}

std::vector<std::int64_t> meeting_ranks(const InstView& inst, std::int64_t rank) {
  const Collective& collective = *inst.facts().collective;
  if (!collective.by_pairs) {
    const RankList list = group_of(inst, collective.groups, rank);
    return {list.begin(), list.end()};
  }
  std::set<std::int64_t> named;
  for (const RankList pair : replica_groups(inst, collective.groups)) named.insert(pair.begin(), pair.end());
  if (!named.contains(rank)) return {};
  return {named.begin(), named.end()};
}

int named_ranks(const Program& program) {
  std::int64_t most = 0;
  for (const Instruction& i : program.instructions) {
    const InstView inst(program, i);
    const int groups = inst.row().find_param(AttrType::Groups);
    if (groups < 0) continue;
    for (const RankList list : replica_groups(inst, groups)) {
      for (const std::int64_t rank : list) most = std::max(most, rank);
    }
  }
  return static_cast<int>(most) + 1;
}

std::string groups_text(const InstView& inst, int param) {
  std::vector<std::string> lists;
  for (const RankList list : replica_groups(inst, param)) lists.push_back(fmt::format("[{}]", fmt::join(list, ", ")));
  return fmt::format("[{}]", fmt::join(lists, ", "));
}

}  // namespace kiln::isa
