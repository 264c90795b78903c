// Lists of ranks as an argument of an instruction: each list after its length (AttrType::Groups).
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/inst_view.h"

namespace kiln::isa {

using RankList = std::span<const std::int64_t>;

// The lists, as far as the lengths fit.
std::vector<RankList> replica_groups(const InstView& inst, int param);

// Where `rank` stands in its list: the list, empty when it is in none.
RankList group_of(const InstView& inst, int param, std::int64_t rank);

// Of an instruction in which ranks meet: those that `rank` meets there, itself included, in the order of the list; of
// pairs, all that are named, ascending. Empty when it has no part in it.
std::vector<std::int64_t> meeting_ranks(const InstView& inst, std::int64_t rank);

// How many ranks a launch has at least that the program names ranks of: the largest one and 1; 1 when it names none.
int named_ranks(const Program& program);

// "[[0, 1], [2, 3]]"
std::string groups_text(const InstView& inst, int param);

}  // namespace kiln::isa
