#include "kiln/analysis/region.h"

#include <algorithm>

#include "kiln/analysis/affine.h"

namespace kiln::analysis {
namespace {

using isa::Access;
using isa::Program;

constexpr std::int64_t kMaxRuns = 64;

}  // namespace

Region intersection(const Region& a, const Region& b) {
  return {std::max(a.partition, b.partition), std::min(a.partition_end, b.partition_end), std::max(a.begin, b.begin),
          std::min(a.end, b.end)};
}

void append_difference(const Region& from, const Region& cut, std::vector<Region>& out) {
  const Region common = intersection(from, cut);
  if (common.empty()) {
    out.push_back(from);
    return;
  }
  const Region pieces[] = {{from.partition, common.partition, from.begin, from.end},
                           {common.partition_end, from.partition_end, from.begin, from.end},
                           {common.partition, common.partition_end, from.begin, common.begin},
                           {common.partition, common.partition_end, common.end, from.end}};
  for (const Region& piece : pieces) {
    if (!piece.empty()) out.push_back(piece);
  }
}

namespace {

Region region_at(const isa::Tensor& tensor, const isa::Address& at) {
  const auto [partition, offset] = at;
  return {partition, partition + tensor.partitions(), offset, offset + tensor.bytes_per_partition()};
}

}  // namespace

Region region_of(const isa::Tensor& tensor) { return region_at(tensor, *tensor.address); }

Region reach(const Program& program, const Access& access) {
  return reach(program, access, *program.tensors[access.tensor].address);
}

Region reach(const Program& program, const Access& access, const isa::Address& at) {
  const Region whole = region_at(program.tensors[access.tensor], at);
  if (access.dynamic != isa::kNone) return whole;
  const isa::Range partitions = range_of(program, access.partition), elements = element_range(program, access);
  const std::int64_t bytes = size_bytes(access.dtype);
  return {whole.partition + partitions.min, whole.partition + partitions.max + access.rows(),
          whole.begin + elements.min * bytes, whole.begin + (elements.max + 1) * bytes};
}

std::vector<Region> certain_regions(const Program& program, const Access& access,
                                    std::span<const std::int64_t> loop_values) {
  if (access.dynamic != isa::kNone) return {};
  const Region whole = region_of(program.tensors[access.tensor]);
  const std::int64_t first_row = whole.partition + value_of(program, access.partition, loop_values);
  const std::int64_t first = value_of(program, access.offset, loop_values), bytes = size_bytes(access.dtype);
  // Inner dimensions that follow each other without a gap make one run.
  std::int64_t run = 1, runs = 1;
  int outer = access.rank;
  for (; outer > 1; --outer) {
    const isa::Dim& dim = access.dims[outer - 1];
    if (dim.count != 1 && dim.stride != run) break;
    run *= dim.count;
  }
  for (int d = 1; d < outer; ++d) runs *= access.dims[d].count;
  std::vector<Region> regions;
  for (std::int64_t r = 0; r < std::min(runs, kMaxRuns); ++r) {
    std::int64_t element = first, rest = r;
    for (int d = outer - 1; d > 0; --d) {
      element += rest % access.dims[d].count * access.dims[d].stride;
      rest /= access.dims[d].count;
    }
    const std::int64_t begin = whole.begin + element * bytes;
    regions.push_back({first_row, first_row + access.rows(), begin, begin + run * bytes});
  }
  return regions;
}

}  // namespace kiln::analysis
