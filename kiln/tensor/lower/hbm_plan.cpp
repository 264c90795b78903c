#include "kiln/tensor/lower/hbm_plan.h"

#include <algorithm>
#include <numeric>

namespace kiln::tensor {
namespace {

constexpr std::int64_t kAligned = 512;  // to whole descriptors of DMA

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

std::int64_t plan_hbm(std::vector<Lifetime>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::int64_t needed = 0;
  std::vector<const Lifetime*> placed;  // by offset
  for (const std::size_t i : order) {
    Lifetime& mine = buffers[i];
    mine.offset = 0;
    for (const Lifetime* other : placed) {
      if (!meet(mine, *other)) continue;
      if (other->offset >= mine.offset + mine.bytes) break;
      const std::int64_t behind = other->offset + other->bytes;
      mine.offset = std::max(mine.offset, (behind + kAligned - 1) / kAligned * kAligned);
    }
    const auto at = std::upper_bound(placed.begin(), placed.end(), mine.offset,
                                     [](std::int64_t offset, const Lifetime* x) { return offset < x->offset; });
    placed.insert(at, &mine);
    needed = std::max(needed, mine.offset + mine.bytes);
  }
  return needed;
}

}  // namespace kiln::tensor
