// The rules of how the programs of a run stand together.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa::launch_rules {

inline constexpr Rule kCount{1, "a launch has one program for each core of each rank, and a rank has one core or two",
                             "give every core its program, also when they are the same"};
inline constexpr Rule kTarget{2, "the programs of a launch have one target", "build all of them for the same chip"};
inline constexpr Rule kLnc{3, "the two programs of a rank say lnc 2", "build both for lnc 2"};
inline constexpr Rule kRanks{4, "the ranks that a collective names are ranks of the launch",
                             "run it on more ranks: --ranks N, in Python nki.simulate(kernel, ranks=N)"};
inline constexpr Rule kOwnGroup{5, "a rank that enters a collective stands in one of its replica groups",
                                "list every rank in one group; a rank alone in its group gets its own values"};

inline constexpr Rule kRules[] = {kCount, kTarget, kLnc, kRanks, kOwnGroup};
inline constexpr RuleTable kTable{"launch", "the programs of a run together", kRules, Category::config};

}  // namespace kiln::isa::launch_rules
