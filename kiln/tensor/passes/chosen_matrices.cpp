#include "kiln/tensor/passes/chosen_matrices.h"

#include "kiln/tensor/ir/more.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kMostChosen = 32;      // products are written out
constexpr std::int64_t kSmallMatrix = 16384;  // of a matrix; smaller ones are rows that one DMA gathers

// (batch, rows, columns), or (rows, columns) for all of the batch; nothing where the batch is broadcast otherwise.
std::optional<Expr> in_one_batch(const Expr& y, const Shape& batch) {
  if (y.rank() == 2) return y;
  const Shape lead(y.shape().begin(), y.shape().end() - 2);
  if (lead != batch) return {};
  return reshape(y, {product(batch), y.shape()[y.rank() - 2], y.shape().back()});
}

Expr one_of(const Expr& x, std::int64_t i) { return slice(x, 0, i, i + 1); }

}  // namespace

std::optional<Value> product_of_chosen(const Rewriting& r, const std::vector<int>& uses) {
  if (!is_product(r.op.code) || uses[r.op.operands[1]] != 1) return {};
  const Op take_op = r.operand_op(1);  // a copy: adding ops moves them
  if (take_op.code != OpCode::take || take_op.integer("axis") != 0) return {};
  const Expr table(r.to, take_op.operands[0]), index(r.to, take_op.operands[1]);
  const std::int64_t m = index.type().size();
  if (table.rank() != 3 || m < 2 || m > kMostChosen || r.operand(0).rank() < 2) return {};
  if (table.type().size() / table.shape()[0] * size_bytes(table.dtype()) < kSmallMatrix) return {};
  const auto rows = in_one_batch(r.operand(0), index.shape());
  if (!rows) return {};
  const Expr places = reshape(index, {m});
  std::vector<Expr> parts;
  for (std::int64_t i = 0; i < m; ++i) {
    const Expr matrix = take(table, one_of(places, i), 0, take_op.text("mode"));
    const Expr mine = rows->rank() == 2 ? reshape(*rows, {1, rows->shape()[0], rows->shape()[1]}) : one_of(*rows, i);
    parts.emplace_back(r.to, r.to.add(r.op.code, {mine.value(), matrix.value()}, r.op.attrs));
  }
  return reshape(concat(parts, 0), r.op.type.shape).value();
}

}  // namespace kiln::tensor
