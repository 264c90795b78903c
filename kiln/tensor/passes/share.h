// Share: what one core of a pair has of a value, and what an op needs of its operands to make that.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct Share {
  // whole: both cores have all of it. half: each has a half along an axis; of an odd extent both have the middle.
  // summand: what both have adds up to the value.
  enum class Kind : std::uint8_t { whole, half, summand } kind = Kind::whole;
  int axis = 0;  // of halves
  auto operator<=>(const Share&) const = default;

  static Share half_of(int axis) { return {Kind::half, axis}; }
  bool is_whole() const { return kind == Kind::whole; }
  bool is_half() const { return kind == Kind::half; }
  bool is_summand() const { return kind == Kind::summand; }
};

// Every share that a value could have; halves of odd extents only where they are asked for.
std::vector<Share> shares_of(const Graph& graph, Value v, bool with_odd = false);
// The shares of its operands with which a core computes its share of an op; nothing when it cannot.
std::optional<std::vector<Share>> needed(const Graph& graph, Value v, const Share& share);

}  // namespace kiln::tensor
