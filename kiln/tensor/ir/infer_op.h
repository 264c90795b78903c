// What the functions of type inference are written with, and those that stand beside infer.cpp.
#pragma once

#include <fmt/format.h>

#include "kiln/tensor/ir/graph.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {

// An op that asks for its type.
struct Ask {
  const Graph& graph;
  const Op& op;
  const Type& operand(std::size_t i) const { return graph.type(op.operands[i]); }
  [[noreturn]] void refuse(const Rule& rule, std::string found) const {
    raise(rules::kTable, rule,
          {.found = std::move(found), .loc = graph.loc(op), .context = fmt::format("op {}", name(op.code))});
  }
  void require(bool holds, const Rule& rule, const std::string& found) const {
    if (!holds) refuse(rule, found);
  }
};

// The axis that an attribute names: a dimension of the first operand.
std::int64_t asked_axis(const Ask& a, std::string_view attribute = "axis");

// infer.cpp: the shape of a product of matrices.
Shape asked_product(const Ask& a);

// infer_moves.cpp
Type infer_flip(const Ask& a);
Type infer_roll(const Ask& a);
Type infer_tile(const Ask& a);
Type infer_repeat(const Ask& a);
Type infer_border(const Ask& a);
Type infer_diagonal(const Ask& a);
Type infer_diag_matrix(const Ask& a);
Type infer_trace(const Ask& a);

// infer_indexing.cpp
Type infer_take(const Ask& a);
Type infer_take_along(const Ask& a);
Type infer_put_along(const Ask& a);
Type infer_scatter_at(const Ask& a);
Type infer_gather_nd(const Ask& a);
Type infer_scatter_nd(const Ask& a);
Type infer_compress(const Ask& a);
Type infer_nonzero(const Ask& a);
Type infer_one_hot(const Ask& a);
Type infer_searchsorted(const Ask& a);
Type infer_bincount(const Ask& a);

// infer_control.cpp
Type infer_for_loop(const Ask& a);
Type infer_while_loop(const Ask& a);
Type infer_branch(const Ask& a);
Type infer_call(const Ask& a);
Type infer_result(const Ask& a);
Type infer_kernel(const Ask& a);

// infer_pair.cpp
Type infer_exchange(const Ask& a);
Type infer_pair_whole(const Ask& a);

// infer_collective.cpp
Type infer_all_reduce(const Ask& a);
Type infer_all_gather(const Ask& a);
Type infer_reduce_scatter(const Ask& a);
Type infer_all_to_all(const Ask& a);
Type infer_collective_permute(const Ask& a);
Type infer_ring_step(const Ask& a);
Type infer_ring_reduce(const Ask& a);
Type infer_all_to_all_v(const Ask& a);
Type infer_all_gather_v(const Ask& a);
Type infer_processing_rank(const Ask& a);
Type infer_rank_id(const Ask& a);

// random.cpp
Type infer_random_bits(const Ask& a);
Type infer_random_uniform(const Ask& a);

// quantised.cpp
Type infer_matmul_f32(const Ask& a);
Type infer_mx_quantize(const Ask& a);
Type infer_mx_scales(const Ask& a);
Type infer_mx_dequantize(const Ask& a);
Type infer_mx_matmul(const Ask& a);

// infer_window.cpp
Type infer_conv(const Ask& a);
Type infer_pool(const Ask& a);

// infer_order.cpp
Type infer_running(const Ask& a);
Type infer_linear_scan(const Ask& a);
Type infer_sorted(const Ask& a);
Type infer_order(const Ask& a);
Type infer_dealt(const Ask& a);
Type infer_top(const Ask& a);
Type infer_top_order(const Ask& a);

}  // namespace kiln::tensor
