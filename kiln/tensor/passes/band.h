// Band: conditions that compare a column with a row, such as a causal mask.
#pragma once

#include <cstdint>
#include <optional>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

inline constexpr double kHiddenFill = -1e4;  // a fill of at most this is a mask, not a score

// n where the condition is column <= row + n; nothing when it says something else.
std::optional<std::int64_t> band_of(const Graph& graph, Value condition);

// n where the condition is column >= row - n.
std::optional<std::int64_t> floor_of(const Graph& graph, Value condition);

// The same of conditions that both hold, and of |row - column| against a number: row - back <= column <= row + ahead.
struct KeyWindow {
  std::optional<std::int64_t> ahead = {}, back = {};
};
KeyWindow window_of(const Graph& graph, Value condition);

}  // namespace kiln::tensor
