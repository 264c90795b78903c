// The most bytes that are alive at one moment: less memory than that can hold no placement, however clever.
#pragma once

#include <cstddef>
#include <vector>

#include "kiln/analysis/liveness.h"
#include "kiln/arch/arch.h"

namespace kiln::analysis {

using QuadrantMask = std::uint8_t;

// A tensor that needs `bytes` bytes in each of `quadrants` groups of partitions while `live`. Hand-placed
// ones also have their place; several of those may share bytes.
struct Demand {
  Interval live;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // placed
  QuadrantMask mask = 0;    // placed
  std::uint8_t quadrants = 1;
  bool placed = false;
};

// Some demands, each perhaps part of something larger.
class Demands {
 public:
  template <class T>
  Demands(const std::vector<T>& of)  // NOLINT(google-explicit-constructor)
      : first_(reinterpret_cast<const std::byte*>(static_cast<const Demand*>(of.data()))),
        count_(of.size()),
        step_(sizeof(T)) {}
  std::size_t size() const { return count_; }
  const Demand& operator[](std::size_t i) const { return *reinterpret_cast<const Demand*>(first_ + i * step_); }

 private:
  const std::byte* first_;
  std::size_t count_, step_;
};

struct Peak {
  std::int64_t bytes = 0;  // per partition, as if small tensors filled the quadrants evenly
  Position at = 0;
};

// In a memory of so many quadrants. Bytes of hand-placed tensors past `limit` do not count.
Peak find_peak(const Demands& demands, std::int64_t limit, int quadrants = 1);

}  // namespace kiln::analysis
