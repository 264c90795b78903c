// Residency: which results of one region stay in SBUF for the regions behind it. A result with at most 128 rows lies
// there as (rows, elements of a row), one with more in blocks of 128 beside each other; another region that moves with
// the same rows, or multiplies with them, takes it from there.
#pragma once

#include <map>
#include <set>

#include "kiln/tensor/passes/layout.h"

namespace kiln::tensor {

// The shape of a kept result on the chip.
struct KeptShape {
  std::int64_t rows = 0, row = 0;  // partitions, and elements of each
  bool turned = false;             // element e lies on partition e % rows, not e / row
  std::int64_t blocks = 1;         // of 128 rows
  std::int64_t all = 0;            // of several blocks: rows of all of them
  // Of several blocks: elements from one to the next. A block begins at its first row times a whole number.
  std::int64_t pitch() const { return (row + 127) / 128 * 128; }
  std::int64_t rows_of(std::int64_t block) const { return block + 1 < blocks ? 128 : all - 128 * block; }
};

struct Residency {
  std::set<Value> kept;                  // results that stay in SBUF
  std::set<Value> unstored;              // of these, those that nobody reads from HBM
  std::set<Value> turned;                // of these, those whose neighbours lie on neighbouring partitions
  std::map<Value, KeptShape> in_blocks;  // of these, those with more than 128 rows, which nobody reads from HBM
};

// By region: the layouts that were chosen, where a region has rows.
// `blocks`: also results with more than 128 rows.
Residency residency(const Graph& graph, const Fusion& fusion, const std::vector<const Layout*>& layouts,
                    const Arch& arch, bool blocks);

// Whether a store leaves whole rows on their partitions, or one row on many.
bool can_keep(const Layout& layout, const Leaf& store, std::int64_t elements, KeptShape& shape);
// Whether a load finds what it wants in such rows.
bool finds(const Layout& layout, const Leaf& load, const KeptShape& shape);
// The same of results with more than 128 rows.
bool can_keep_blocks(const Layout& layout, const Leaf& store, std::int64_t elements, KeptShape& shape);
bool finds_blocks(const Layout& layout, const Leaf& load, const KeptShape& shape);
// Whether such rows are what products sum over, so that the rows of a load lie there as columns.
bool finds_columns(const Layout& layout, const Leaf& load, const KeptShape& shape);
// Whether rows are pieces of one long row, which the tensor engine turns into its columns.
bool is_of_heads(const KeptShape& shape);
// Whether a load wants one such row, which lies on one partition, on all of its own: the tensor engine spreads it, as a
// product with ones.
bool spreads(const Graph& graph, const Region& region, const Layout& layout, const Leaf& load, const KeptShape& shape);

}  // namespace kiln::tensor
