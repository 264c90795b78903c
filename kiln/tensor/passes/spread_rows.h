// One row over many partitions. A region with a single row, as when a model adds one token, would have every value on
// one partition, whose elements pass an engine one by one. Values that element by element operators, sums and products
// make of each other are spread over partitions instead.
#pragma once

#include <cstdint>
#include <map>

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

struct Layout;

// Where the elements of a value lie that has `partitions` of them in each column. A number is on all partitions, and so
// is what has a last dimension of 1 among values that are turned.
struct SpreadRow {
  std::int64_t partitions = 1;
  bool turned = false;  // neighbours of the last dimension on neighbouring partitions; else those that follow on one
  bool operator==(const SpreadRow&) const = default;
};

// Takes the partitions out of the dimensions of a value, which are then those of what one partition has; returns their
// stride. Nothing when the partitions are no such dimension, or a part of one.
std::optional<std::int64_t> take_partitions(Dims& dims, const SpreadRow& s);

// By value of a region with one row: those that are spread; the others lie on one partition. Matrices of products that
// give such values take at most so many bytes of a partition.
std::map<Value, SpreadRow> spread_rows(const Graph& graph, const Fusion& fusion, int region, const Layout& layout,
                                       std::int64_t matrix_bytes);

// Columns of a product that a slice takes, when nobody reads the product but such slices: then each is a product.
bool is_part_of_product(const Graph& graph, const Fusion& fusion, Value v);

}  // namespace kiln::tensor
