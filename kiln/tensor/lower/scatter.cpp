// Rows of a table changed by index, one after the other: an index that is there twice counts twice.
#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

AluOp operator_of(const std::string& mode, bool truth) {
  if (mode == "add") return truth ? AluOp::maximum : AluOp::add;
  if (mode == "multiply") return truth ? AluOp::minimum : AluOp::multiply;
  return mode == "maximum" ? AluOp::maximum : AluOp::minimum;
}

// As many partitions as a row divides into.
std::int64_t lanes_of(std::int64_t row) {
  std::int64_t lanes = std::min<std::int64_t>(row, 128);
  while (row % lanes != 0) --lanes;
  return lanes;
}

// Elements of a row on some partitions: runs of `length` on each of `lanes`, `each` apart.
struct Piece {
  std::int64_t lanes, each, length;
};

// A row, in pieces that fit the chip together: all of it on as many partitions as it divides into, or, where these are
// few for so long a row, on 128 of them and a rest.
void over_pieces(isa::Kernel& k, std::int64_t row, const std::function<void(const Index&, const Piece&)>& body) {
  constexpr std::int64_t kFewLanes = 64, kShort = 4000, kLongest = 8192;
  const std::int64_t divisor = lanes_of(row), lanes = divisor < kFewLanes && row / divisor > kShort ? kBlock : divisor,
                     each = row / lanes, rest = row % lanes;
  k.tiles(each, kLongest, [&](const Index& first, std::int64_t length) { body(first, {lanes, each, length}); });
  if (rest > 0) body(lanes * each, {rest, 1, 1});
}

// The low bytes of 32-bit integers.
View low_bytes(const View& wide, DType t) {
  const std::int64_t ratio = 4 / size_bytes(t);
  return wide.view(t).ap({{wide.dim(1) * ratio, wide.dim(0)}, {ratio, wide.dim(1)}});
}

}  // namespace

// What is there and what comes, put together; narrow integers in 32 bits, of which the low ones are kept.
View Copies::combined(const View& now, const View& more, const std::string& mode, bool truth) {
  const DType t = now.dtype();
  const isa::Shape shape{now.dim(0), now.dim(1)};
  const AluOp op = operator_of(mode, truth);
  if (!is_integer(t) || size_bytes(t) == 4 || truth) {
    k.tensor_tensor({.dst = now, .data1 = now, .data2 = more, .op = op});
    return now;
  }
  const View a = k.sbuf(shape, DType::int32), b = k.sbuf(shape, DType::int32);
  k.tensor_copy({.dst = a, .src = now});
  k.tensor_copy({.dst = b, .src = more});
  k.tensor_tensor({.dst = a, .data1 = a, .data2 = b, .op = op});
  k.tensor_copy({.dst = now, .src = low_bytes(a, t)});
  return now;
}

void Copies::scatter_in_order(Value v) {
  constexpr std::int64_t kRowBytes = 32768;  // of a row that lies on one partition
  const Op& op = graph.op(v);
  const std::string& mode = op.text("mode");
  // Nothing is read: many rows at once, of equal indices the last one wins.
  if (mode == "set" && op.type.shape[1] * size_bytes(op.type.dtype) <= kRowBytes) return scatter(v);
  if (adds_in_blocks(v)) return scatter_sums(v);
  if (!in_place.contains(v)) place(storage.of.at(v), Strided::contiguous(op.type.shape), op.operands[0]);
  scatter_rows_in_order(v);
}

void Copies::scatter_rows_in_order(Value v) {
  const Op& op = graph.op(v);
  const std::string& mode = op.text("mode");
  const View& dst = storage.of.at(v);
  const std::int64_t row = op.type.shape[1], m = graph.type(op.operands[1]).size();
  const auto [indices, at] = stored(op.operands[1]);
  const auto [updates, from] = stored(op.operands[2]);
  const isa::Dim rows = from.dims[0], columns = from.dims[1];
  k.loop(m, [&, indices = indices, updates = updates, at = at, from = from](Index i) {
    const isa::Reg index = k.reg();
    k.register_load({.dst = index, .src = indices.ap({{1, 1}}, at.offset + i * at.dims[0].stride)});
    over_pieces(k, row, [&](const Index& first, const Piece& piece) {
      const auto [lanes, each, length] = piece;
      View more = k.sbuf({lanes, length}, dst.dtype());
      k.dma_copy({.dst = more,
                  .src = updates.ap({{columns.stride * each, lanes}, {columns.stride, length}},
                                    from.offset + i * rows.stride + first * columns.stride)});
      const View place = dst.ap({{each, lanes}, {1, length}}, first).scalar_offset(index, row);
      if (mode != "set") {
        const View now = k.sbuf({lanes, length}, dst.dtype());
        k.dma_copy({.dst = now, .src = place});
        more = combined(now, more, mode, op.type.dtype == DType::bool_);
      }
      k.dma_copy({.dst = place, .src = more});
    });
  });
}

}  // namespace kiln::tensor
