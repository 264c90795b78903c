#include "kiln/tensor/passes/long_sums.h"

#include "kiln/tensor/ir/more.h"

namespace kiln::tensor {

namespace {

// x.T @ y whose result lies in PSUM while the rows of x, which are computed, come (passes/row_sums.h).
bool adds_up_while_rows_come(const Rewriting& r) {
  constexpr std::int64_t kBlock = 128, kMostColumns = 1024;
  const Op& turned = r.operand_op(0);
  if (turned.code != OpCode::transpose || r.op.type.rank() != 2) return false;
  const OpCode made_by = r.to.op(turned.operands[0]).code;
  const Shape& shape = r.op.type.shape;
  return is_elementwise(made_by) && (shape[0] + kBlock - 1) / kBlock * shape[1] <= kMostColumns;
}

}  // namespace

std::optional<Value> sum_of_products(const Rewriting& r) {
  constexpr std::int64_t kRows = 128, kBlock = 128, kMatrixBytes = 8 << 20;
  if (!is_product(r.op.code) || adds_up_while_rows_come(r)) return {};
  const Expr x = r.operand(0), y = r.operand(1);
  if (x.rank() < 2 || y.rank() < 2 || !is_float(x.dtype()) || !is_float(y.dtype())) return {};
  const std::int64_t k = x.shape().back(), n = y.shape().back(), longest = longest_sum(x.dtype());
  const std::int64_t batch = product(y.shape(), 0, y.shape().size() - 2);
  if (k <= longest || k * n * size_bytes(y.dtype()) < kMatrixBytes) return {};
  if (r.op.type.size() / n / std::max<std::int64_t>(1, batch) <= kRows) return {};
  const std::int64_t pieces = (k + longest - 1) / longest,
                     piece = ((k + pieces - 1) / pieces + kBlock - 1) / kBlock * kBlock;
  std::optional<Expr> total;
  for (std::int64_t first = 0; first < k; first += piece) {
    const std::int64_t end = std::min(k, first + piece);
    const Expr a = slice(x, x.rank() - 1, first, end), b = slice(y, y.rank() - 2, first, end);
    const Expr part = size_bytes(x.dtype()) >= 4 ? matmul(a, b) : matmul_f32(a, b);
    total = total ? *total + part : part;
  }
  return cast(*total, r.op.type.dtype).value();
}

}  // namespace kiln::tensor
