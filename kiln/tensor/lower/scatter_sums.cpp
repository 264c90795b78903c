// Rows added to those of a table by index, 128 at a time: a matrix that says which of them have equal indices adds
// these up on the tensor engine, so that each may be written by itself. Where a row is no number, 0 times it would
// spoil the others: the program sees that and adds all rows once more, one after the other.
#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kSumBytes = 16384;  // of a row that lies on one partition
constexpr std::int64_t kBankColumns = 512;

}  // namespace

// Not where the table is updated in place: what it was would be lost.
bool Copies::adds_in_blocks(Value v) const {
  constexpr std::int64_t kFewRows = 16;
  const Op& op = graph.op(v);
  const DType t = op.type.dtype;
  return op.text("mode") == "add" && is_float(t) && size_bytes(t) >= 2 && !in_place.contains(v) && !storage.is_alike &&
         graph.type(op.operands[2]).dtype == t && graph.type(op.operands[1]).size() >= kFewRows &&
         op.type.shape[1] * size_bytes(t) <= kSumBytes;
}

// 128 rows or fewer, from `first` on. `spoiled`: no number where one of them is none.
void Copies::add_block(const View& dst, const Rows& from, const Index& first, std::int64_t n, const View& spoiled) {
  const std::int64_t row = from.row, step = from.index_stride;
  const DType t = dst.dtype(), index_type = from.indices.dtype();
  const View index = k.sbuf({n, 1}, index_type), others = k.sbuf({n, n}, index_type),
             equal = k.sbuf({n, n}, index_type);
  const Index at = from.first_index + first * step;
  k.dma_copy({.dst = index, .src = from.indices.ap({{step, n}, {1, 1}}, at)});
  k.dma_copy({.dst = others, .src = from.indices.ap({{0, n}, {step, n}}, at)});
  k.tensor_tensor({.dst = equal, .data1 = others, .data2 = index.ap({{1, n}, {0, n}}), .op = AluOp::equal});
  const View same = k.sbuf({n, n}, t), rows = k.sbuf({n, row}, t), now = k.sbuf({n, row}, t);
  k.tensor_copy({.dst = same, .src = equal});
  k.dma_copy({.dst = rows,
              .src = from.updates.ap({{from.stride, n}, {from.column, row}}, from.first_update + first * from.stride)});
  const View nothing = k.sbuf({n, row}, DType::float32), told = k.sbuf({n, 1}, DType::float32);
  k.tensor_scalar({.dst = nothing, .data = rows, .op0 = AluOp::multiply, .operand0 = 0.0});
  k.tensor_reduce({.dst = told, .op = AluOp::add, .data = nothing, .axis = {1}});
  const View all = spoiled.ap({{1, n}, {1, 1}});
  k.tensor_tensor({.dst = all, .data1 = all, .data2 = told, .op = AluOp::add});
  k.dma_copy({.dst = now, .src = dst.ap({{row, n}, {1, row}}).vector_offset(index, row)});
  k.tiles(row, kBankColumns, [&](Index column, std::int64_t w) {
    const View sum = k.psum({n, w}, DType::float32), part = now.ap({{row, n}, {1, w}}, column);
    k.nc_matmul({.dst = sum, .stationary = same, .moving = rows.ap({{row, n}, {1, w}}, column)});
    k.tensor_tensor({.dst = part, .data1 = part, .data2 = sum, .op = AluOp::add});
  });
  k.dma_copy({.dst = dst.ap({{row, n}, {1, row}}).vector_offset(index, row), .src = now});
}

void Copies::scatter_sums(Value v) {
  const Op& op = graph.op(v);
  const View& dst = storage.of.at(v);
  const Strided whole = Strided::contiguous(op.type.shape);
  const auto [indices, at] = stored(op.operands[1]);
  const auto [updates, from] = stored(op.operands[2]);
  const Rows rows{.indices = indices,
                  .updates = updates,
                  .first_index = at.offset,
                  .index_stride = at.dims[0].stride,
                  .first_update = from.offset,
                  .stride = from.dims[0].stride,
                  .column = from.dims[1].stride,
                  .row = op.type.shape[1]};
  place(dst, whole, op.operands[0]);
  const View spoiled = k.sbuf({kBlock, 1}, DType::float32), ones = k.sbuf({kBlock, 1}, DType::float32);
  k.memset({.dst = spoiled, .value = 0.0});
  k.memset({.dst = ones, .value = 1.0});
  k.tiles(graph.type(op.operands[1]).size(), kBlock,
          [&](Index first, std::int64_t n) { add_block(dst, rows, first, n, spoiled); });
  const View bad = k.sbuf({kBlock, 1}, DType::float32), any = k.sbuf({1, 1}, DType::int32);
  const View count = k.psum({1, 1}, DType::float32);
  k.tensor_scalar({.dst = bad, .data = spoiled, .op0 = AluOp::not_equal, .operand0 = 0.0});
  k.nc_matmul({.dst = count, .stationary = bad, .moving = ones});
  k.tensor_scalar({.dst = any, .data = count, .op0 = AluOp::greater, .operand0 = 0.5});
  const isa::Reg again = k.reg();
  k.register_load({.dst = again, .src = any});
  k.fori_loop(0, again, [&](isa::Reg) {
    k.usually(0);
    place(dst, whole, op.operands[0]);
    scatter_rows_in_order(v);
  });
}

}  // namespace kiln::tensor
