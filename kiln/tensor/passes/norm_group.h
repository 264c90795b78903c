// Norm groups: a reduction of floats, what is made of it and of the same elements, one by one, and what else is reduced
// with it: a norm or a softmax along any dimensions, however its parts are reshaped.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct NormGroup {
  std::set<Value> whole;                // values with all elements
  std::set<Value> columns;              // values with one element for each row, reductions among them
  Shape fine;                           // all shapes of whole values are made of these dimensions, none of them 1
  std::vector<bool> goes;               // by dimension of `fine`: whether it is reduced
  std::int64_t rows = 1, elements = 1;  // of a row
  bool comes_back = false;              // something whole is made of a reduction
  bool is_closed = true;                // nobody else but outputs and views reads whole values

  bool has(Value v) const { return whole.contains(v) || columns.contains(v); }
};

bool is_norm_reduction(const Graph& graph, const Op& op);

// The group that a reduction is of; nothing where its shapes have no dimensions in common.
std::optional<NormGroup> norm_group_of(const Graph& graph, Value reduction);

// Whether a group of which rows lie in front is reduced with each row on several partitions (passes/row_parts.h), so
// that it is read once.
bool goes_in_parts(const NormGroup& group);
bool is_reduced_in_parts(const Graph& graph, Value reduction);
// What is of such groups.
std::set<Value> reduced_in_parts(const Graph& graph);

}  // namespace kiln::tensor
