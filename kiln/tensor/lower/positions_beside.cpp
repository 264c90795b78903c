// Where the largest or the smallest of several lines on a partition is, whose elements lie apart: columns that stand
// beside each other as they do in HBM. The same search as of whole lines (positions.cpp), of all of them at once.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::View;

// `count` lines `apart` elements from each other, each of n elements `stride` from each other.
struct RegionEmitter::LinesBeside {
  Tile tile;
  DType dtype = DType::float32;
  std::int64_t count = 1, apart = 1, n = 1, stride = 1;

  View all() const { return view_of(tile, {{apart, count}, {stride, n}}); }
};

namespace {

// One value for each line, for each of n elements.
View repeated(const Tile& t, std::int64_t lines, std::int64_t n) { return view_of(t, {{1, lines}, {0, n}}); }

}  // namespace

Tile RegionEmitter::beside(std::int64_t count, std::int64_t n, DType t) {
  return new_tile(k_, Memory::sbuf, rows_, {1, {count, n}}, t);
}

// How many elements of each line are left from the first on that equals the best one, or is NaN.
Tile RegionEmitter::left_from_first(const LinesBeside& x, const Tile& best) {
  const Tile hit = beside(x.count, x.n, DType::float32), same = beside(x.count, x.n, DType::float32),
             first = beside(x.count, 1, DType::float32);
  const Dims plain{{x.n, x.count}, {1, x.n}};
  const View hits = view_of(hit, plain), equal = view_of(same, plain);
  k_.tensor_tensor({.dst = hits, .data1 = x.all(), .data2 = x.all(), .op = AluOp::not_equal, .engine = Engine::gpsimd});
  k_.tensor_tensor({.dst = equal, .data1 = x.all(), .data2 = repeated(best, x.count, x.n), .op = AluOp::equal});
  k_.tensor_tensor({.dst = hits, .data1 = hits, .data2 = equal, .op = AluOp::maximum});
  const View ramp = view_of(count_down(x.n), {{0, x.count}, {1, x.n}});
  k_.tensor_tensor({.dst = hits, .data1 = hits, .data2 = ramp, .op = AluOp::multiply});
  k_.tensor_reduce({.dst = view_of(first, {{1, x.count}}), .op = AluOp::maximum, .data = hits, .axis = {2}});
  return first;
}

// Two tiles of 16-bit floats pass the vector engine twice as fast as a reduction reads them.
bool RegionEmitter::takes_halves(DType t) const {
  return is_float(t) && size_bytes(t) == 2 && arch_.features.vector_fast_modes;
}

std::int64_t RegionEmitter::block_beside(const LinesBeside& x) const {
  constexpr std::int64_t kShortest = 64, kShortBlock = 16;
  const std::int64_t block = block_of_line(x.n);
  return takes_halves(x.dtype) && x.n >= kShortest ? std::max(block, kShortBlock) : block;
}

// Of all whole blocks the larger ones, or the smaller ones, of both halves, three times.
Tile RegionEmitter::halved_blocks(const LinesBeside& x, std::int64_t block, AluOp op) {
  const std::int64_t full = x.n / block, apart = block / 2 * x.count;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, {full * apart}}, x.dtype);
  std::int64_t half = apart;
  k_.tensor_tensor({.dst = view_of(out, {{apart, full}, {1, half}}),
                    .data1 = view_of(x.tile, {{2 * apart, full}, {1, half}}),
                    .data2 = view_of(x.tile, {{2 * apart, full}, {1, half}}, half),
                    .op = op});
  for (int step = 0; step < 2; ++step) {
    half /= 2;
    const View first = view_of(out, {{apart, full}, {1, half}});
    k_.tensor_tensor({.dst = first, .data1 = first, .data2 = view_of(out, {{apart, full}, {1, half}}, half), .op = op});
  }
  return out;
}

// The best of each block of each line. The last one ends where the line ends.
RegionEmitter::LinesBeside RegionEmitter::best_of_blocks(const LinesBeside& x, std::int64_t block, AluOp op) {
  const std::int64_t full = x.n / block, blocks = (x.n + block - 1) / block;
  const LinesBeside out{beside(x.count, blocks, x.dtype), x.dtype, x.count, blocks, blocks, 1};
  const bool halves = takes_halves(x.dtype) && block % 8 == 0;
  const Tile data = halves ? halved_blocks(x, block, op) : x.tile;
  const std::int64_t left = halves ? block / 8 : block, apart = x.stride * (halves ? block / 2 : block);
  k_.tensor_reduce({.dst = view_of(out.tile, {{1, full}, {blocks, x.count}}),
                    .op = op,
                    .data = view_of(data, {{apart, full}, {x.apart, x.count}, {x.stride, left}}),
                    .axis = {3}});
  if (blocks > full)
    k_.tensor_reduce({.dst = view_of(out.tile, {{blocks, x.count}}, full),
                      .op = op,
                      .data = view_of(x.tile, {{x.apart, x.count}, {x.stride, block}}, (x.n - block) * x.stride),
                      .axis = {2}});
  return out;
}

// Where the elements of a block of each line lie, less where the first one behind the block would in the first line.
Tile RegionEmitter::places_below_end(const LinesBeside& x, std::int64_t block) {
  for (const Ramp& r : ramps_) {
    if (r.packed != -x.count || r.n != block || r.apart != x.stride) continue;
    Tile t = r.tile;
    t.rows = rows_;
    return t;
  }
  const Tile out = beside(x.count, block, DType::float32);
  k_.iota({.dst = view_of(out, {{block, x.count}, {1, block}}),
           .pattern = {{x.apart, x.count}, {x.stride, block}},
           .offset = -block * x.stride});
  return out;
}

// Those that all blocks of rows need are made once.
void RegionEmitter::make_ramps_beside(Value v) {
  const LinesBeside x = lines_beside(graph_, v);
  const std::int64_t block = block_beside(x), blocks = (x.n + block - 1) / block;
  ramps_.push_back({0, block, 0, count_down(block)});
  if (block == x.n) return;
  if (blocks != block) ramps_.push_back({0, blocks, 0, count_down(blocks)});
  ramps_.push_back({-x.count, block, x.stride, places_below_end(x, block)});
}

// The elements of a block of each line, whose end is known.
RegionEmitter::LinesBeside RegionEmitter::gathered_block(const LinesBeside& x, std::int64_t block, const Tile& end) {
  const Tile ramp = places_below_end(x, block), at = beside(x.count, block, DType::uint32);
  const Tile start = beside(x.count, 1, DType::float32);
  const Dims plain{{block, x.count}, {1, block}};
  const LinesBeside out{beside(x.count, block, x.dtype), x.dtype, x.count, block, block, 1};
  k_.tensor_scalar({.dst = view_of(start, {{1, x.count}}),
                    .data = view_of(end, {{1, x.count}}),
                    .op0 = AluOp::multiply,
                    .operand0 = static_cast<double>(x.stride)});
  k_.tensor_tensor({.dst = view_of(at, plain),
                    .data1 = view_of(ramp, plain),
                    .data2 = repeated(start, x.count, block),
                    .op = AluOp::add});
  k_.nc_n_gather({.dst = view_of(out.tile, {{1, x.count * block}}),
                  .data = view_of(x.tile, {{1, x.count * x.n}}),
                  .indices = view_of(at, {{1, x.count * block}})});
  return out;
}

// The places of the best ones of all lines: one after the other.
Tile RegionEmitter::find_beside(const LinesBeside& x, AluOp op) {
  const std::int64_t block = block_beside(x), blocks = (x.n + block - 1) / block;
  const LinesBeside bests = block < x.n ? best_of_blocks(x, block, op) : x;
  const Tile best = beside(x.count, 1, x.dtype), at = beside(x.count, 1, DType::float32);
  k_.tensor_reduce({.dst = view_of(best, {{1, x.count}}), .op = op, .data = bests.all(), .axis = {2}});
  const Tile left = left_from_first(bests, best);
  const View place = view_of(at, {{1, x.count}}), first = view_of(left, {{1, x.count}});
  if (block == x.n) {
    k_.tensor_scalar(
        {.dst = place, .data = first, .op0 = AluOp::subtract, .operand0 = static_cast<double>(x.n), .reverse0 = true});
    return at;
  }
  k_.tensor_scalar({.dst = place,  // where the block ends
                    .data = first,
                    .op0 = AluOp::multiply,
                    .operand0 = static_cast<double>(-block),
                    .op1 = AluOp::add,
                    .operand1 = static_cast<double>((blocks + 1) * block)});
  if (x.n % block)
    k_.tensor_scalar({.dst = place, .data = place, .op0 = AluOp::minimum, .operand0 = static_cast<double>(x.n)});
  const Tile more = left_from_first(gathered_block(x, block, at), best);
  k_.tensor_tensor({.dst = place, .data1 = place, .data2 = view_of(more, {{1, x.count}}), .op = AluOp::subtract});
  return at;
}

RegionEmitter::LinesBeside RegionEmitter::lines_beside(const Graph& graph, Value v) {
  const Op& op = graph.op(v);
  const Shape& shape = graph.type(op.operands[0]).shape;
  const auto axis = static_cast<std::size_t>(op.ints("axes")[0]);
  const std::int64_t count = product(shape, axis + 1, shape.size());
  return {.tile = {},
          .dtype = graph.type(op.operands[0]).dtype,
          .count = count,
          .apart = 1,
          .n = shape[axis],
          .stride = count};
}

// A search along a free dimension that others follow.
Tile RegionEmitter::locate_beside(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Shape& shape = graph_.type(op.operands[0]).shape;
  const auto axis = static_cast<std::size_t>(op.ints("axes")[0]);
  LinesBeside all = lines_beside(graph_, v);
  if (layout_.packed != 1) not_yet(v, "a search of columns with several rows on a partition");
  Tile x = operand(v, 0);
  Shape free(shape.size(), 1);
  for (std::size_t d = axis; d < shape.size(); ++d) free[d] = shape[d];
  if (x.in_psum() || x.dtype() != all.dtype || !Strided{0, x.dims}.is_contiguous() || x.count() != all.n * all.count) {
    const Tile plain = new_tile(k_, Memory::sbuf, rows_, {1, free}, all.dtype);
    copy(plain, x, {1, free});
    x = plain;
  }
  all.tile = x;
  Tile at = find_beside(all, op.code == OpCode::argmax ? AluOp::maximum : AluOp::minimum);
  const Tile dst = target(v, into);
  at.dims = Strided::contiguous(graph_.type(v).shape).dims;
  copy(dst, at, free_of(v));
  return dst;
}

}  // namespace kiln::tensor
