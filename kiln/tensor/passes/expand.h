// Expand: ops that are other ops in another order. Borders, flips, repetitions and diagonals become views and joins;
// indexing becomes rows by index and lines by index; sorts and running values lie along the last axis. What stays of
// them has instructions of its own.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

Graph expand(const Graph& graph);

// Nothing: the op stays.
std::optional<Value> expanded_move(const Rewriting& r);      // expand_moves.cpp
std::optional<Value> expanded_indexing(const Rewriting& r);  // expand_indexing.cpp
std::optional<Value> expanded_order(const Rewriting& r);     // expand_order.cpp
std::optional<Value> expanded_top(const Rewriting& r);       // expand_top.cpp
std::optional<Value> expanded_random(const Rewriting& r);    // expand_random.cpp
std::optional<Value> expanded_mx(const Rewriting& r);        // expand_mx.cpp
std::optional<Value> expanded_window(const Rewriting& r);    // expand_window.cpp

// The product of what quantising leaves of x and y (expand_mx.cpp), on a chip that has elements of the dtype or not.
Expr mx_product(const Expr& x, const Expr& y, DType element, bool has_element);

// Whether sorts compare values of a dtype as float32, which holds every one of them.
bool is_sort_key(DType dtype);

// The order of long lines, and the values of lines in order, where they had better be cut (expand_sort.cpp).
Expr order_of_blocks(const Expr& x);
std::optional<Expr> sorted_in_columns(const Expr& x);

// What an op on the last axis does, done along another one.
Expr with_axis_last(const Expr& x, std::int64_t axis);
Expr with_axis_back(const Expr& x, std::int64_t axis);

}  // namespace kiln::tensor
