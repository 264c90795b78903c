#include "kiln/tensor/passes/row_candidates.h"

#include <algorithm>

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

std::optional<std::size_t> row_dims(const Shape& shape, std::int64_t rows) {
  std::int64_t n = 1;
  for (std::size_t p = 0;; ++p) {
    if (n == rows) return p;
    if (p == shape.size()) return {};
    n *= shape[p];
  }
}

bool reduces_rows(OpCode code) { return (code >= OpCode::sum && code <= OpCode::min) || is_search(code); }

bool searches_last(const Graph& graph, const Op& op) {
  return op.ints("axes").size() == 1 && op.ints("axes")[0] + 1 == graph.type(op.operands[0]).rank();
}

namespace {

std::set<std::int64_t> prefix_products(const Shape& shape, std::size_t most) {
  std::set<std::int64_t> out{1};
  std::int64_t n = 1;
  for (std::size_t i = 0; i < most; ++i) out.insert(n *= shape[i]);
  return out;
}

}  // namespace

std::set<std::int64_t> own_candidates(const Graph& graph, const Op& op) {
  const Shape& shape = op.type.shape;
  if (is_search(op.code) && searches_last(graph, op)) return {product(shape, 0, shape.size() - 1)};
  if (reduces_rows(op.code)) {
    const Shape& x = graph.type(op.operands[0]).shape;
    return prefix_products(x,
                           static_cast<std::size_t>(*std::min_element(op.ints("axes").begin(), op.ints("axes").end())));
  }
  switch (op.code) {
    case OpCode::matmul:
    case OpCode::matmul_f32:
      return {product(shape, 0, shape.size() - 1)};
    case OpCode::gather_rows:
      return {graph.type(op.operands[1]).size()};
    case OpCode::take_along_axis:
    case OpCode::put_along_axis:
    case OpCode::argsort:
    case OpCode::sort:
    case OpCode::deal:
    case OpCode::top_k_indices:
      return {product(shape, 0, shape.size() - 1)};
    case OpCode::cumprod:
    case OpCode::cummax:
    case OpCode::cummin:
    case OpCode::cumsum:
    case OpCode::linear_scan:
      return prefix_products(shape, static_cast<std::size_t>(op.integer("axis")));
    case OpCode::concat:
    case OpCode::pair_gather:
      return prefix_products(shape, static_cast<std::size_t>(op.integer("axis")));
    default:
      return prefix_products(shape, shape.size());
  }
}

bool keeps_rows(const Graph& graph, const Op& op, std::size_t i, std::int64_t rows) {
  const Shape &x = graph.type(op.operands[i]).shape, &y = op.type.shape;
  const auto px = row_dims(x, rows), py = row_dims(y, rows);
  if (!px || !py) return false;
  if (is_product(op.code)) return i == 0 && product(x, 0, x.size() - 1) == rows;
  if (op.code == OpCode::gather_rows) return false;
  if (op.code == OpCode::reshape) return true;
  if (op.code == OpCode::transpose) {
    for (std::size_t d = 0; d < *py; ++d) {
      if (op.ints("perm")[d] != static_cast<std::int64_t>(d)) return false;
    }
    return true;
  }
  // Right-aligned: every row dimension is there in full. One of which a slice leaves a single element is not.
  const std::size_t skip = y.size() - x.size();
  for (std::size_t d = 0; d < *py; ++d) {
    if (d < skip ? y[d] != 1 : x[d - skip] != y[d]) return false;
  }
  if (op.code == OpCode::slice) {
    for (std::size_t d = 0; d < *py; ++d) {
      if (op.ints("starts")[d] != 0 || op.ints("steps")[d] != 1) return false;
    }
  }
  return true;
}

}  // namespace kiln::tensor
