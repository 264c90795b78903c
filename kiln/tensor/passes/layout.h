// Layout: for a region, which of its rows lie on partitions, which are loops, which are in the free dimension, and from
// where in HBM each of its operands comes.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "kiln/arch/arch.h"
#include "kiln/tensor/passes/footprint.h"
#include "kiln/tensor/passes/fuse.h"
#include "kiln/tensor/passes/spread_rows.h"

namespace kiln::tensor {

// How an operand that lies in HBM, or a result that goes there, moves with the rows of a region.
struct Leaf {
  Value value = 0;  // the operand as the region sees it
  Value base = 0;   // whose storage it is
  int output = -1;  // of a store: an output of the graph
  std::int64_t offset = 0;
  std::vector<std::int64_t> loops;  // elements per step of each loop
  std::int64_t partition = 0;       // elements per partition
  std::int64_t group = 0;           // elements per group of partitions, where a layout has groups
  std::int64_t packed = 0;          // elements per row that follows on the same partition
  Dims free;                        // dimensions of the value, those of rows as an extent of 1
  bool is_matrix = false;           // second operand of a product: free is (rows to sum over, columns)
  bool for_products = false;        // first operand of products, and nothing else
};

struct Layout {
  bool is_possible = true;          // false: operands move with the rows in ways that have no common loops
  std::vector<std::int64_t> loops;  // extents, outermost first
  std::int64_t partitions = 1;      // extent that is covered in blocks of 128
  std::int64_t grouped = 1;         // partitions that make a group, which moves by a stride of its own; 1: none do
  std::int64_t packed = 1;          // rows that follow each other on one partition
  std::int64_t parts = 1;           // partitions that a row lies on, which then are a group (passes/row_parts.h)
  std::vector<Leaf> loads;
  std::vector<Leaf> stores;
  std::map<std::pair<Value, int>, int> load_of;  // (op, operand) to loads
  bool spreads = false;                          // rows of other regions may lie on other partitions than here
  std::set<Value> multiplies;                    // products of the region
  std::map<Value, SpreadRow> spread;             // of a region with one row: values that lie on many partitions
  std::vector<Footprint> footprints;             // loads that come together
  std::vector<Layout> rest;                      // none, or that of rows which `units` of them leave over
  const Footprint* footprint(int load) const;    // of a load; nothing: it comes by itself
  std::int64_t rows = 0;                         // of the region, with those of another layout; 0: those of this one
  std::int64_t all_rows() const;
  int body_level() const { return static_cast<int>(loops.size()) + 1; }
  // What blocks of partitions are made of: rows, or groups of them; how many there are, and how many of `most` rows.
  std::int64_t units() const { return partitions / grouped; }
  std::int64_t units_of(std::int64_t most) const { return most / grouped; }
  // Elements per unit.
  std::int64_t step(const Leaf& leaf) const { return grouped > 1 ? leaf.group : leaf.partition; }
  // Where `rows` partitions of a leaf lie, one or two dimensions.
  Dims on_partitions(const Leaf& leaf, std::int64_t rows) const;
  bool is_even(const Leaf& leaf) const { return on_partitions(leaf, partitions).size() == 1; }
  // The innermost loop that a leaf moves with, counted from 1; one more: with the blocks of partitions; 0: never.
  int level(const Leaf& leaf) const;
  // How a load lies that is read by values which are spread; nothing: no such value reads it.
  std::optional<SpreadRow> spread_of_load(int load) const;
};

struct LayoutOptions {
  std::int64_t rows = 0;    // R; 0: the largest candidate
  std::int64_t packed = 1;  // as in Layout; taken when it divides the partitions
  bool groups = false;      // two dimensions of rows lie on partitions, if they can
  std::int64_t units = 0;   // so many partitions with `packed` rows each, and the rest by itself; 0: all rows alike
  std::int64_t parts = 1;   // as in Layout; divides parted_length()
  auto operator<=>(const LayoutOptions&) const = default;
};
// Whether all that a region does takes rows from any place.
bool is_plain(const Graph& graph, const Region& region);
Layout layout(const Graph& graph, const Fusion& fusion, int region, const LayoutOptions& options = {});

}  // namespace kiln::tensor
