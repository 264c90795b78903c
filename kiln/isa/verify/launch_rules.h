// The rules of how the programs of a run stand together.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa::launch_rules {

inline constexpr Rule kCount{1, "a launch has one program for each core of each rank, and a rank has one core or two",
                             "give every core its program, also when they are the same"};
inline constexpr Rule kTarget{2, "the programs of a launch have one target", "build all of them for the same chip"};
inline constexpr Rule kLnc{3, "the two programs of a rank say lnc 2", "build both for lnc 2"};
inline constexpr Rule kReplicaGroups{4, "replica groups hold every rank once",
                                     "list each rank from 0 on in exactly one group"};
inline constexpr Rule kOneRank{5, "a launch has one rank in this version", "docs/status.md lists what exists"};

inline constexpr Rule kRules[] = {kCount, kTarget, kLnc, kReplicaGroups, kOneRank};
inline constexpr RuleTable kTable{"launch", "the programs of a run together", kRules, Category::config};

}  // namespace kiln::isa::launch_rules
