#include "kiln/tensor/passes/short_products.h"

#include "kiln/tensor/ir/more.h"

namespace kiln::tensor {

namespace {

// y[k, j] as a number where it is known, else as a column of one element.
Expr element(const Expr& y, std::int64_t k, std::int64_t j) {
  const Op& op = y.graph().op(y.value());
  if (op.code == OpCode::constant && op.numbers && static_cast<std::int64_t>(op.numbers->size()) == y.type().size()) {
    const double number = (*op.numbers)[static_cast<std::size_t>(k * y.shape().back() + j)];
    return {y.graph(), y.graph().constant({DType::float32, {}}, {number})};
  }
  return cast(slice(slice(y, 0, k, k + 1), 1, j, j + 1), DType::float32);
}

Expr columns_of(const Expr& data, const Expr& y) {
  const std::int64_t depth = y.shape()[0], columns = y.shape()[1];
  std::vector<Expr> out;
  for (std::int64_t j = 0; j < columns; ++j) {
    std::optional<Expr> sum;
    for (std::int64_t k = 0; k < depth; ++k) {
      const Expr product = slice(data, 1, k, k + 1) * element(y, k, j);
      sum = sum ? *sum + product : product;
    }
    out.push_back(*sum);
  }
  return columns == 1 ? out[0] : concat(out, 1);
}

// How many rows lie on all partitions together; the rest of them goes by itself.
std::int64_t whole_rows(std::int64_t rows) {
  constexpr std::int64_t kFewest = 96, kPartitions = 128, kTogether = 16;
  for (std::int64_t p = kPartitions; p >= kFewest; --p) {
    if (rows % p == 0) return rows;
  }
  return rows / (kPartitions * kTogether) * (kPartitions * kTogether);
}

}  // namespace

std::optional<Expr> sums_by_column(const Expr& x, const Expr& y) {
  constexpr std::int64_t kManyRows = 16384, kLongestRow = 16, kMostProducts = 64;
  const Shape &shape = x.shape(), &matrix = y.shape();
  const std::int64_t depth = shape.back(), columns = matrix.back(),
                     rows = x.type().size() / std::max<std::int64_t>(1, depth);
  if (matrix.size() != 2 || !is_float(x.dtype()) || !is_float(y.dtype())) return {};
  if (rows < kManyRows || depth > kLongestRow || depth * columns > kMostProducts || depth * columns == 0) return {};
  const Expr data = cast(reshape(x, {rows, depth}), DType::float32);
  const std::int64_t whole = whole_rows(rows);
  if (whole == rows) return columns_of(data, y);
  return concat({columns_of(slice(data, 0, 0, whole), y), columns_of(slice(data, 0, whole, rows), y)}, 0);
}

}  // namespace kiln::tensor
