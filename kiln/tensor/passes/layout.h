// Layout: for a region, which of its rows lie on partitions, which are loops, which are in the free dimension, and from
// where in HBM each of its operands comes.
#pragma once

#include <map>

#include "kiln/arch/arch.h"
#include "kiln/tensor/passes/footprint.h"
#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

// How an operand that lies in HBM, or a result that goes there, moves with the rows of a region.
struct Leaf {
  Value value = 0;  // the operand as the region sees it
  Value base = 0;   // whose storage it is
  int output = -1;  // of a store: an output of the graph
  std::int64_t offset = 0;
  std::vector<std::int64_t> loops;  // elements per step of each loop
  std::int64_t partition = 0;       // elements per partition
  std::int64_t packed = 0;          // elements per row that follows on the same partition
  Dims free;                        // dimensions of the value, those of rows as an extent of 1
  bool is_matrix = false;           // second operand of a product: free is (rows to sum over, columns)
};

struct Layout {
  bool is_possible = true;          // false: operands move with the rows in ways that have no common loops
  std::vector<std::int64_t> loops;  // extents, outermost first
  std::int64_t partitions = 1;      // extent that is covered in blocks of 128
  std::int64_t packed = 1;          // rows that follow each other on one partition
  std::vector<Leaf> loads;
  std::vector<Leaf> stores;
  std::map<std::pair<Value, int>, int> load_of;  // (op, operand) to loads
  std::vector<Footprint> footprints;             // loads that come together
  const Footprint* footprint(int load) const;    // of a load; nothing: it comes by itself
  int body_level() const { return static_cast<int>(loops.size()) + 1; }
  // The innermost loop that a leaf moves with, counted from 1; one more: with the blocks of partitions; 0: never.
  int level(const Leaf& leaf) const;
};

struct LayoutOptions {
  std::int64_t rows = 0;    // R; 0: the largest candidate
  std::int64_t packed = 1;  // as in Layout; taken when it divides the partitions
  auto operator<=>(const LayoutOptions&) const = default;
};
Layout layout(const Graph& graph, const Fusion& fusion, int region, const LayoutOptions& options = {});

}  // namespace kiln::tensor
