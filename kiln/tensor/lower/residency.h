// Residency: which results of one region stay in SBUF for the regions behind it. A result with at most 128 rows lies
// there as (rows, elements of a row); another region that moves with the same rows takes it from there.
#pragma once

#include <set>

#include "kiln/tensor/passes/layout.h"

namespace kiln::tensor {

struct Residency {
  std::set<Value> kept;      // results that stay in SBUF
  std::set<Value> unstored;  // of these, those that nobody reads from HBM
  std::set<Value> turned;    // of these, those whose neighbours lie on neighbouring partitions
};

// By region: the layouts that were chosen, where a region has rows.
Residency residency(const Graph& graph, const Fusion& fusion, const std::vector<const Layout*>& layouts,
                    const Arch& arch);

// The shape of a kept result on the chip.
struct KeptShape {
  std::int64_t rows = 0, row = 0;  // partitions, and elements of each
  bool turned = false;             // element e lies on partition e % rows, not e / row
};

// Whether a store leaves whole rows on their partitions, or one row on many.
bool can_keep(const Layout& layout, const Leaf& store, std::int64_t elements, KeptShape& shape);
// Whether a load finds what it wants in such rows.
bool finds(const Layout& layout, const Leaf& load, const KeptShape& shape);
// Whether rows are pieces of one long row, which the tensor engine turns into its columns.
bool is_of_heads(const KeptShape& shape);
// Whether a load wants one such row, which lies on one partition, on all of its own: the tensor engine spreads it, as a
// product with ones.
bool spreads(const Graph& graph, const Region& region, const Layout& layout, const Leaf& load, const KeptShape& shape);

}  // namespace kiln::tensor
