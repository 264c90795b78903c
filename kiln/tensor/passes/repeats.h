// What repeats in a sequence: the layers of a model among its ops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kiln::tensor {

// From `start` on, `count` times `period` elements are equal to the `period` before them.
struct Repeat {
  std::size_t start = 0, period = 0, count = 0;
  std::size_t end() const { return start + period * count; }
};

// The longest one in [first, last); nothing when nothing follows itself.
std::optional<Repeat> longest_repeat(const std::vector<std::uint64_t>& marks, std::size_t first, std::size_t last);

}  // namespace kiln::tensor
