// FarReduction: a reduction among ranks of several processes, or the part of one, which one process computes.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/semantics/gathering.h"

namespace kiln::sim {

struct FarReduction {
  AluOp op;
  DType dtype;
  int process;                        // that computes it
  std::int64_t count;                 // elements
  std::vector<isa::Parcel> from, to;  // data of other processes is null
  std::vector<int> from_homes, to_homes;

  bool is_streamed = false;  // in slices, and not as a whole

  // The first target of a process; null: it has none.
  const isa::Parcel* target_of(int process) const;
  // Those that have a target, but for the one that computes.
  std::vector<int> receivers() const;
};

// The elements from `first` on.
isa::Parcel from_on(const isa::Parcel& parcel, std::int64_t first, std::int64_t count);
std::span<std::byte> bytes_of(const isa::Parcel& parcel);

// Computes `sources` into all targets of this process from element `first` on; there is one at least.
void compute_slice(const FarReduction& r, int self, std::span<const isa::Parcel> sources, std::int64_t first,
                   const Kernels& kernels);
// Further targets of this process get what the first one got.
void spread_result(const FarReduction& r, int self);

}  // namespace kiln::sim
