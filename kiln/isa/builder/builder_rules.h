// The rules that the builder itself enforces, before there is a program to check.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa::builder_rules {

inline constexpr Rule kRank{1, "a tensor has 1 to 8 positive dimensions, on chip 2 to 5, and at most 2^48 elements",
                            "reshape it"};
inline constexpr Rule kView{2, "a view stays inside its tensor and keeps the partition dimension in place",
                            "slice free dimensions, and reach other partitions with a slice of dimension 0"};
inline constexpr Rule kTiles{3, "tiles() takes a positive size of tile and a total that is not negative",
                             "pass the size of the dimension and the size of a tile"};
inline constexpr Rule kRunTime{4, "a view has one run-time address: an offset, or rows or elements that indices choose",
                               "compute the sum of the offsets first, or copy in two steps"};

inline constexpr Rule kRules[] = {kRank, kView, kTiles, kRunTime};
inline constexpr RuleTable kTable{"builder", "kernels in the C++ builder", kRules};

}  // namespace kiln::isa::builder_rules
