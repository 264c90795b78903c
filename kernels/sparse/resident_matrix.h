// ResidentMatrix and VectorTile: what solvers compute with. A vector of n lies as [128, tiles]: element i on partition
// i % 128, column i / 128; what is beyond n is zero. A scalar is [128, 1], the same on all partitions.
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

class ResidentMatrix {
 public:
  // Declares the input `name` and loads it, where it fits.
  ResidentMatrix(isa::Kernel& k, const std::string& name, const TilePattern& pattern);
  // y = a x; both are vectors, and y is zero beyond n before.
  void multiply(const isa::View& y, const isa::View& x) const;

 private:
  isa::Kernel& k_;
  const TilePattern& p_;
  isa::View blocks_;
  std::vector<isa::View> rows_;  // of tiles, in SBUF
};

class VectorMath {
 public:
  VectorMath(isa::Kernel& k, std::int64_t n);
  isa::View vector() const;                     // zero
  isa::View scalar() const;                     // not written
  isa::View load(const isa::View& from) const;  // from HBM, [n]
  void store(const isa::View& to, const isa::View& from) const;
  void dot(const isa::View& to, const isa::View& x, const isa::View& y) const;
  // to = x + factor y, with a factor of -1 in `minus`.
  void add(const isa::View& to, const isa::View& x, const isa::View& factor, const isa::View& y,
           bool minus = false) const;
  void divide(const isa::View& to, const isa::View& x, const isa::View& y) const;  // scalars
  // A row [1, count] of HBM on all partitions.
  isa::View spread(const isa::View& row) const;

 private:
  isa::Kernel& k_;
  std::int64_t n_, tiles_;
  isa::View ones_;
};

}  // namespace kiln::kernels
