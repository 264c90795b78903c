// Region: a rectangle of on-chip memory, and the regions that an access of a hand-placed tensor touches.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

// Partitions [partition, partition_end) and in each of them the bytes [begin, end).
struct Region {
  std::int64_t partition = 0, partition_end = 0, begin = 0, end = 0;
  bool empty() const { return partition >= partition_end || begin >= end; }
  bool covers(const Region& other) const {
    return partition <= other.partition && other.partition_end <= partition_end && begin <= other.begin &&
           other.end <= end;
  }
};
Region intersection(const Region& a, const Region& b);
// Appends the at most four regions that make up `from` without `cut`.
void append_difference(const Region& from, const Region& cut, std::vector<Region>& out);

// The whole of a hand-placed tensor.
Region region_of(const isa::Tensor& tensor);

// At least all that an access can touch, in any pass of any loop and with any run-time address.
Region reach(const isa::Program& program, const isa::Access& access);

// The same with the tensor at `at`, for tensors that are not placed by hand.
Region reach(const isa::Program& program, const isa::Access& access, const isa::Address& at);

// What an access touches for certain when the loop variables have these values (by LoopId): one region per
// contiguous run, the first 64 of them. Nothing when the address is known at run time only.
std::vector<Region> certain_regions(const isa::Program& program, const isa::Access& access,
                                    std::span<const std::int64_t> loop_values);

}  // namespace kiln::analysis
