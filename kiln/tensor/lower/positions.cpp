// Where the largest or the smallest of a line is, the first of equal ones, and of NaN the first. All elements are
// looked at once, for the best of each block; then blocks are searched for the first that has the best of all, and that
// block for its place. NaN is the best of every block that has one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/row_candidates.h"

namespace kiln::tensor {

using isa::View;

namespace {

constexpr std::int64_t kShortestLine = 32;  // elements, below which all of them are compared
constexpr std::int64_t kHalvedBlock = 32;   // elements of a block, from which halves are worth it

// `count` elements of each of the lines of a tile that follow each other, from one of them on.
View lines(const Tile& t, std::int64_t packed, std::int64_t count, std::int64_t from = 0) {
  if (packed == 1) return view_of(t, {{1, count}}, from);
  return view_of(t, {{t.packed.stride, packed}, {1, count}}, from);
}

}  // namespace

// The length of a block, so that blocks and elements of one are about as many; a multiple of 8 where it is long.
std::int64_t RegionEmitter::block_of_line(std::int64_t n) {
  if (n < kShortestLine) return n;
  const auto even = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  return even < 16 ? even : (even + 7) / 8 * 8;
}

// -n .. -1 on every partition, for each of the lines that follow each other `apart` elements on.
Tile RegionEmitter::ramp_below_zero(std::int64_t packed, std::int64_t n, std::int64_t apart) {
  for (const Ramp& r : ramps_) {
    if (r.packed != packed || r.n != n || r.apart != apart) continue;
    Tile t = r.tile;
    t.rows = rows_;
    return t;
  }
  const Tile t = new_tile(k_, Memory::sbuf, rows_, {packed, {n}}, DType::float32);
  isa::Pattern pattern{{1, n}};
  if (packed > 1) pattern.insert(pattern.begin(), {apart, packed});
  k_.iota({.dst = lines(t, packed, n), .pattern = pattern, .offset = -n});
  return t;
}

// Those that whole lines need are made once, before all loops.
void RegionEmitter::make_ramps() {
  for (Value v : fusion_.regions[region_].ops) {
    if (!is_search(graph_.op(v).code) || streams()) continue;
    if (!searches_last(graph_, graph_.op(v))) {
      make_ramps_beside(v);
      continue;
    }
    const std::int64_t n = graph_.type(graph_.op(v).operands[0]).shape.back(), block = block_of_line(n);
    ramps_.push_back({0, block, 0, count_down(block)});
    if (block == n) continue;
    const std::int64_t blocks = (n + block - 1) / block;
    if (blocks != block) ramps_.push_back({0, blocks, 0, count_down(blocks)});
    const std::int64_t packed = layout_.packed, apart = packed == 1 ? 0 : n;
    ramps_.push_back({packed, block, apart, ramp_below_zero(packed, block, apart)});
  }
}

// n .. 1 on every partition.
Tile RegionEmitter::count_down(std::int64_t n) {
  for (const Ramp& r : ramps_) {
    if (r.packed != 0 || r.n != n) continue;
    Tile t = r.tile;
    t.rows = rows_;
    return t;
  }
  const Tile t = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, DType::float32);
  k_.iota({.dst = lines(t, 1, n), .pattern = {{-1, n}}, .offset = n});
  return t;
}

// How many elements of a line of n are left from the first on that equals the best one, or is NaN.
Tile RegionEmitter::left_from_first(const Tile& x, std::int64_t n, const Tile& best) {
  const std::int64_t packed = layout_.packed;
  const Tile hit = new_tile(k_, Memory::sbuf, rows_, {packed, {n}}, packed == 1 ? DType::uint8 : DType::float32),
             first = new_tile(k_, Memory::sbuf, rows_, {packed, {1}}, DType::float32);
  const View all = lines(hit, packed, n), given = lines(x, packed, n);
  k_.tensor_tensor({.dst = all, .data1 = given, .data2 = given, .op = AluOp::not_equal});
  if (packed == 1) {
    k_.scalar_tensor_tensor({.dst = all,
                             .data = given,
                             .op0 = AluOp::equal,
                             .operand0 = column_of(best),
                             .op1 = AluOp::maximum,
                             .operand1 = all});
  } else {
    const Tile same = new_tile(k_, Memory::sbuf, rows_, {packed, {n}}, DType::float32);
    const View equal = lines(same, packed, n);
    k_.tensor_tensor({.dst = equal,
                      .data1 = given,
                      .data2 = view_of(best, {{best.packed.stride, packed}, {0, n}}),
                      .op = AluOp::equal});
    k_.tensor_tensor({.dst = all, .data1 = all, .data2 = equal, .op = AluOp::maximum});
  }
  const Tile ramp = count_down(n);
  if (packed == 1) {
    const Tile unused = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, DType::float32);
    k_.select_reduce({.dst = lines(unused, 1, n),
                      .predicate = all,
                      .on_true = lines(ramp, 1, n),
                      .on_false = 0.0,
                      .reduce_res = column_of(first),
                      .reduce_cmd = isa::ReduceCmd::reset_reduce,
                      .reduce_op = AluOp::maximum});
    return first;
  }
  k_.tensor_tensor({.dst = all, .data1 = all, .data2 = view_of(ramp, {{0, packed}, {1, n}}), .op = AluOp::multiply});
  k_.tensor_reduce({.dst = lines(first, packed, 1), .op = AluOp::maximum, .data = all, .axis = {2}});
  return first;
}

// The best of each block of a line. The last one ends where the line ends, and shares elements with the one before.
Tile RegionEmitter::best_of_blocks(const Tile& x, std::int64_t n, std::int64_t block, AluOp op) {
  const std::int64_t packed = layout_.packed, full = n / block, blocks = (n + block - 1) / block;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {packed, {blocks}}, x.dtype());
  const auto parts = [&](const Tile& t, std::int64_t apart, std::int64_t count, std::int64_t from) {
    Dims dims{{apart, full}, {1, count}};
    if (packed > 1) dims.insert(dims.begin(), {t.packed.stride, packed});
    return view_of(t, dims, from);
  };
  const bool halves = is_float(x.dtype()) && size_bytes(x.dtype()) == 2 && arch_.features.vector_fast_modes;
  Tile data = x;
  std::int64_t width = block, apart = block;
  if (halves && block % 8 == 0 && block >= kHalvedBlock) {  // two tiles of 16-bit floats pass twice as fast
    data = new_tile(k_, Memory::sbuf, rows_, {packed, {full * block / 2}}, x.dtype());
    for (int step = 0; step < 3; ++step, width /= 2) {
      const Tile& from = step == 0 ? x : data;
      const std::int64_t half = width / 2;
      k_.tensor_tensor({.dst = parts(data, block / 2, half, 0),
                        .data1 = parts(from, apart, half, 0),
                        .data2 = parts(from, apart, half, half),
                        .op = op});
      apart = block / 2;
    }
  }
  const std::int64_t last = packed == 1 ? 2 : 3;
  k_.tensor_reduce({.dst = lines(out, packed, full), .op = op, .data = parts(data, apart, width, 0), .axis = {last}});
  if (blocks > full)
    k_.tensor_reduce(
        {.dst = lines(out, packed, 1, full), .op = op, .data = lines(x, packed, block, n - block), .axis = {last - 1}});
  return out;
}

// The best of each line, and where it is.
RegionEmitter::Found RegionEmitter::find_in_lines(const Tile& x, std::int64_t n, AluOp op) {
  const std::int64_t packed = layout_.packed, block = block_of_line(n), blocks = (n + block - 1) / block;
  const auto column = [&] { return new_tile(k_, Memory::sbuf, rows_, {packed, {1}}, DType::float32); };
  const Found out{column(), column()};
  const Tile bests = block < n ? best_of_blocks(x, n, block, op) : x;
  const std::int64_t searched = block < n ? blocks : n;
  k_.tensor_reduce({.dst = lines(out.best, packed, 1),
                    .op = op,
                    .data = lines(bests, packed, searched),
                    .axis = {packed == 1 ? 1 : 2}});
  const View left = lines(left_from_first(bests, searched, out.best), packed, 1);
  const View start = lines(out.at, packed, 1);
  if (block == n) {
    k_.tensor_scalar(
        {.dst = start, .data = left, .op0 = AluOp::subtract, .operand0 = static_cast<double>(n), .reverse0 = true});
    return out;
  }
  // Where the block ends.
  k_.tensor_scalar({.dst = start,
                    .data = left,
                    .op0 = AluOp::multiply,
                    .operand0 = static_cast<double>(-block),
                    .op1 = AluOp::add,
                    .operand1 = static_cast<double>((blocks + 1) * block)});
  if (n % block)
    k_.tensor_scalar({.dst = start, .data = start, .op0 = AluOp::minimum, .operand0 = static_cast<double>(n)});
  const Tile at = new_tile(k_, Memory::sbuf, rows_, {packed, {block}}, DType::uint32),
             elements = new_tile(k_, Memory::sbuf, rows_, {packed, {block}}, x.dtype());
  const Tile ramp = ramp_below_zero(packed, block, packed == 1 ? 0 : n);
  if (packed == 1)
    k_.tensor_scalar(
        {.dst = lines(at, 1, block), .data = lines(ramp, 1, block), .op0 = AluOp::add, .operand0 = column_of(out.at)});
  else
    k_.tensor_tensor({.dst = lines(at, packed, block),
                      .data1 = lines(ramp, packed, block),
                      .data2 = view_of(out.at, {{out.at.packed.stride, packed}, {0, block}}),
                      .op = AluOp::add});
  k_.nc_n_gather({.dst = view_of(elements, {{1, packed * block}}),
                  .data = view_of(x, {{1, packed * n}}),
                  .indices = view_of(at, {{1, packed * block}})});
  k_.tensor_tensor({.dst = start,
                    .data1 = start,
                    .data2 = lines(left_from_first(elements, block, out.best), packed, 1),
                    .op = AluOp::subtract});
  return out;
}

// Operand 0 of a search as lines without gaps.
Tile RegionEmitter::plain_lines(Value v) {
  const Tile t = operand(v, 0);
  const Value x = graph_.op(v).operands[0];
  const std::int64_t n = columns_ ? columns_->size : graph_.type(x).shape.back(), packed = layout_.packed;
  const bool follows = packed == 1 || (t.packed.count == packed && t.packed.stride == n);
  const bool plain = !t.in_psum() && Strided{0, t.dims}.is_contiguous() && t.count() == n && follows;
  if (plain) return {t.storage, t.offset, packed == 1 ? isa::Dim{0, 1} : t.packed, {{1, n}}, rows_};
  Shape free(t.dims.size(), 1);
  free.back() = n;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {packed, free}, t.dtype());
  copy(out, t, {packed, free});
  return {out.storage, 0, out.packed, {{1, n}}, rows_};
}

namespace {
AluOp better_of(OpCode code) { return code == OpCode::argmax ? AluOp::maximum : AluOp::minimum; }
}  // namespace

Tile RegionEmitter::locate(Value v, const Tile* into) {
  if (!searches_last(graph_, graph_.op(v))) return locate_beside(v, into);
  const Tile x = plain_lines(v);
  const Found found = find_in_lines(x, x.dims[0].count, better_of(graph_.op(v).code));
  const Tile dst = target(v, into);
  Tile at = found.at;
  at.dims = Strided::contiguous(Shape(graph_.type(v).shape.size(), 1)).dims;
  copy(dst, at, free_of(v));
  return dst;
}

// What is known before the first piece of wide rows.
RegionEmitter::Found RegionEmitter::nothing_found(Value v) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Free one{1, {1}};
  const auto column = [&] { return new_tile(k_, Memory::sbuf, rows_, one, DType::float32); };
  Found out{column(), column(), column()};
  fill(out.best, one, graph_.op(v).code == OpCode::argmax ? -kInf : kInf);
  fill(out.at, one, 0);
  fill(out.start, one, 0);
  return out;
}

// A piece of wide rows: what is better there takes the place of what was found before. NaN stays.
void RegionEmitter::find_in_piece(Value v, const Found& so_far) {
  const Tile x = plain_lines(v);
  const bool largest = graph_.op(v).code == OpCode::argmax;
  const Found here = find_in_lines(x, columns_->size, better_of(graph_.op(v).code));
  const auto column = [&](DType t) { return column_of(new_tile(k_, Memory::sbuf, rows_, {1, {1}}, t)); };
  const View worse = column(DType::float32), number = column(DType::float32), better = column(DType::uint8),
             best = column_of(so_far.best), at = column_of(here.at), start = column_of(so_far.start);
  k_.tensor_tensor({.dst = worse,
                    .data1 = column_of(here.best),
                    .data2 = best,
                    .op = largest ? AluOp::less_equal : AluOp::greater_equal});
  k_.tensor_tensor({.dst = number, .data1 = best, .data2 = best, .op = AluOp::equal});
  k_.tensor_tensor({.dst = better, .data1 = number, .data2 = worse, .op = AluOp::greater});
  k_.tensor_tensor({.dst = at, .data1 = at, .data2 = start, .op = AluOp::add});
  k_.tensor_scalar({.dst = start, .data = start, .op0 = AluOp::add, .operand0 = static_cast<double>(columns_->size)});
  k_.tensor_copy_predicated({.dst = best, .src = column_of(here.best), .predicate = better});
  k_.tensor_copy_predicated({.dst = column_of(so_far.at), .src = at, .predicate = better});
}

}  // namespace kiln::tensor
