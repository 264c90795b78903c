// The oracle of collectives: what ranks that meet give each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/evaluate_ranks.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

// What each rank of a group has for the operands, in the order of the list.
using Brought = std::vector<Given>;

double combined(const std::string& op, double a, double b) {
  if (op == "add") return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return op == "maximum" ? std::max(a, b) : std::min(a, b);
}

Array reduced(const Op& op, const Given& sources) {
  Array out = *sources[0];
  for (std::size_t r = 1; r < sources.size(); ++r) {
    for (std::size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = combined(op.text("op"), out.data[i], sources[r]->data[i]);
  }
  if (!is_float(out.type.dtype))  // modulo 2^32
    out = from_bytes(out.type, to_bytes(out).data());
  return out;
}

Array all_reduced(const Op& op, const Brought& brought) {
  Given sources;
  for (const Given& own : brought) sources.push_back(own[0]);
  return reduced(op, sources);
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
  const Given& before = brought[static_cast<std::size_t>((mine + n - 1) % n)];
  std::vector<Array> parts;
  switch (op.code) {
    case OpCode::collective_permute_implicit:
      return *before[0];
    case OpCode::collective_permute_implicit_reduce:
      return reduced(op, before);
    case OpCode::all_reduce:
      return all_reduced(op, brought);
    case OpCode::reduce_scatter:
      return share_of(all_reduced(op, brought), op.integer("axis"), n, mine);
    case OpCode::all_to_all:
      for (const Given& own : brought) parts.push_back(share_of(*own[0], op.integer("split"), n, mine));
      return joined(op.type, op.integer("axis"), parts);
    default:
      for (const Given& own : brought) parts.push_back(*own[0]);
      return joined(op.type, op.integer("axis"), parts);
  }
}

// Where the ranks of a list stand in the team; nothing when none of them does.
std::vector<std::size_t> members_of(const Ints& list, const Team& team) {
  std::vector<std::size_t> members;
  std::int64_t here = -1, away = -1;
  for (const std::int64_t rank : list) {
    if (rank >= team.of)
      raise(rules::kTable, rules::kRankGroups, {.found = fmt::format("rank {} of {} ranks", rank, team.of)});
    const auto at = std::ranges::find(team.ranks, rank);
    (at == team.ranks.end() ? away : here) = rank;
    members.push_back(static_cast<std::size_t>(at - team.ranks.begin()));
  }
  if (here < 0) return {};
  if (away >= 0)
    raise(rules::kTable, rules::kRanksTogether,
          {.found = fmt::format("rank {} waits for rank {}, which took another branch or left the loop", here, away)});
  return members;
}

}  // namespace

std::vector<Results> meet(const Op& op, const std::vector<Given>& of_rank, const Team& team) {
  if (is_rank_number(op.code)) return rank_numbers(op, of_rank, team);
  std::vector<Results> out(of_rank.size());
  for (const Ints& list : groups_of(op)) {
    const std::vector<std::size_t> members = members_of(list, team);
    if (members.empty()) continue;
    if (op.code == OpCode::collective_permute) {
      out[members[1]] = {*of_rank[members[0]][0]};
      continue;
    }
    Brought brought;
    for (const std::size_t i : members) brought.push_back(of_rank[i]);
    for (std::size_t i = 0; i < members.size(); ++i)
      out[members[i]] = is_sized(op.code) ? sized_parts(op, brought, i)
                                          : Results{exchanged(op, brought, static_cast<std::int64_t>(i))};
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].empty())
      raise(rules::kTable, rules::kRankGroups, {.found = fmt::format("rank {} is in no group", team.ranks[i])});
  }
  return out;
}

Array eval_collective(const Eval& e) {
  raise(rules::kTable, rules::kNotYet,
        {.found = fmt::format("{} of one rank alone", name(e.op.code)), .help = "evaluate all ranks together"});
}

}  // namespace kiln::tensor
