#include "kiln/isa/dma.h"

#include <algorithm>

#include "kiln/isa/operand_rules.h"

namespace kiln::isa {
namespace {

// Contiguous runs of an access: every partition row on chip is one of its own.
double runs(const CostQuery& q, const Access& a) {
  const int first = is_on_chip(q.program().tensors[a.tensor].memory) || a.dynamic != kNone ? 1 : 0;
  Dim merged[kMaxRank];
  const int rank = merge_dims(a.dims + first, a.rank - first, merged);
  const std::int64_t run = rank > 0 && merged[rank - 1].stride == 1 ? merged[rank - 1].count : 1;
  return static_cast<double>(a.count()) / static_cast<double>(run);
}

double bytes(const Access& a) { return static_cast<double>(a.count()) * size_bytes(a.dtype); }

}  // namespace

Cost dma_cost(const CostQuery& q, const Access& dst, std::span<const Access> srcs, double rate) {
  Cost c{.dma_bytes = bytes(dst), .dma_descriptors = runs(q, dst), .dma_rate = rate};
  double read = 0;
  for (const Access& s : srcs) {
    read += bytes(s);
    c.dma_descriptors = std::max(c.dma_descriptors, runs(q, s));
  }
  c.dma_bytes = std::max(c.dma_bytes, read);
  return c;
}

}  // namespace kiln::isa
