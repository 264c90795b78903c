// Reductions and scans along free dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::View;

namespace {

AluOp operator_of(OpCode code) {
  switch (code) {
    case OpCode::sum:
      return AluOp::add;
    case OpCode::prod:
      return AluOp::multiply;
    case OpCode::max:
      return AluOp::maximum;
    default:
      return AluOp::minimum;
  }
}

constexpr std::int64_t kLongLine = 1024;  // elements, from which halves are worth it

struct Reduction {
  isa::Kernel& k;
  const Tile &dst, &x;
  AluOp op;
  bool negate;
};

// `stay` are dimensions of x and of dst that stay, `go` those of x that go. Too many for one instruction: one for each
// element of the shortest that stays.
void reduce_parts(const Reduction& r, std::vector<Dims> stay, const Dims& go, std::int64_t to, std::int64_t from) {
  if (stay[0].size() + go.size() <= isa::kMaxOperandRank - 1) {
    Dims all = stay[0];
    all.insert(all.end(), go.begin(), go.end());
    isa::Ints axes;
    for (std::size_t i = 0; i < go.size(); ++i) axes.push_back(static_cast<std::int64_t>(1 + stay[0].size() + i));
    r.k.tensor_reduce({.dst = view_of(r.dst, stay[1], to),
                       .op = r.op,
                       .data = view_of(r.x, all, from),
                       .axis = axes,
                       .negate = r.negate});
    return;
  }
  const auto shorter = [](const isa::Dim& a, const isa::Dim& b) { return a.count < b.count; };
  const auto d = std::min_element(stay[0].begin(), stay[0].end(), shorter) - stay[0].begin();
  const isa::Dim in = stay[0][static_cast<std::size_t>(d)], out = stay[1][static_cast<std::size_t>(d)];
  for (Dims& dims : stay) dims.erase(dims.begin() + d);
  for (std::int64_t i = 0; i < in.count; ++i) reduce_parts(r, stay, go, to + i * out.stride, from + i * in.stride);
}

}  // namespace

// Whether one value per partition is left.
bool RegionEmitter::reduces_all(Value v) const { return layout_.packed == 1 && product(free_of(v).dims) == 1; }

// Whether v is a sum of rows that the scalar engine is to make, because no instruction makes it along the way.
bool RegionEmitter::sums_apart(Value v) const {
  const Op& op = graph_.op(v);
  if (!options_.sums_on_scalar || op.code != OpCode::sum || !reduces_all(v) || streams()) return false;
  const Value x = op.operands[0];
  if (graph_.type(x).dtype != DType::float32 || !row_dims(graph_.type(x).shape, rows_of_region_)) return false;
  const bool made = fusion_.region_of[x] == region_ && is_elementwise(graph_.op(x).code) &&
                    info(graph_.op(x).code).lowering.kind == Lowering::Kind::act;
  return !made;
}

// The row sum of v that the instruction which makes v can make as well.
std::optional<Value> RegionEmitter::row_sum_of(Value v) const {
  for (Value user : users_[v]) {
    if (graph_.op(user).code == OpCode::sum && reduces_all(user) && !find(user)) return user;
    const bool widens = graph_.op(user).code == OpCode::cast && graph_.type(user).dtype == DType::float32;
    if (!widens || !is_float(graph_.type(v).dtype)) continue;
    for (Value next : users_[user]) {  // the sum is in float32 anyway
      if (graph_.op(next).code == OpCode::sum && reduces_all(next) && !find(next)) return next;
    }
  }
  return {};
}

std::optional<Value> RegionEmitter::row_maximum_of(Value v) const {
  for (Value user : users_[v]) {
    if (graph_.op(user).code == OpCode::max && reduces_all(user) && !find(user)) return user;
  }
  return {};
}

// Of rows in parts: each partition reduces what it has, then those of a row what they have come to.
Tile RegionEmitter::reduce(Value v, const Tile* into, bool negate) {
  if (layout_.parts > 1) operand(v, 0);  // which may bring it along
  if (layout_.parts == 1 || find(v)) return reduce_elements(v, into, negate);
  const Tile all = across_parts(reduce_elements(v, nullptr), operator_of(graph_.op(v).code), negate ? -1 : 1);
  if (into) copy(*into, all, free_of(v));
  return into ? *into : all;
}

Tile RegionEmitter::reduce_elements(Value v, const Tile* into, bool negate) {
  const Op& op = graph_.op(v);
  const DType from = graph_.type(op.operands[0]).dtype;
  const bool grows = op.code == OpCode::sum || op.code == OpCode::prod;
  const Tile x = operand(v, 0);
  if (is_integer(from) && (size_bytes(from) > 2 || grows)) return reduce_integers(v, x, into);
  if (const Tile* made = find(v); made && negate) {
    const Tile dst = new_tile(k_, Memory::sbuf, rows_, free_of(v), DType::float32);
    k_.tensor_scalar({.dst = column_of(dst), .data = column_of(*made), .op0 = AluOp::multiply, .operand0 = -1.0});
    return dst;
  }
  if (const Tile* made = find(v)) {  // the instruction that made x summed it up
    if (into) copy(*into, *made, free_of(v));
    return into ? *into : *made;
  }
  const Tile dst = target(v, into);
  const Free kept = free_of(v);
  const Free whole = fusion_.region_of[op.operands[0]] == region_ ? free_of(op.operands[0])
                                                                  : Free{layout_.packed, Strided{0, x.dims}.shape()};
  // Dimensions that stay in front, those that go behind.
  const Dims dims = spread_dims(x, whole), results = spread_dims(dst, kept);
  std::vector<Dims> stay(2), go(1);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool goes = d > 0 && kept.dims[d - 1] == 1 && dims[d].count != 1;
    if (goes) {
      go[0].push_back(dims[d]);
    } else {
      stay[0].push_back(dims[d]);
      stay[1].push_back(results[d]);
    }
  }
  join_together(stay);
  join_together(go);
  if (go[0].empty() && !negate) {
    copy(dst, x, kept);
    return dst;
  }
  if (go[0].empty()) {
    k_.tensor_scalar({.dst = column_of(dst), .data = column_of(x), .op0 = AluOp::multiply, .operand0 = -1.0});
    return dst;
  }
  const auto scratch = scratch_.find(v);
  if (scratch != scratch_.end() && !columns_ && !negate && stay[0].empty() && is_float(x.dtype())) {
    Tile junk = scratch->second;
    junk.rows = rows_;
    over(k_, {junk, x}, whole, [&](const std::vector<View>& t) {
      k_.activation({.dst = t[0],
                     .op = ActFn::copy,
                     .data = t[1],
                     .scale = 1.0,
                     .reduce_op = AluOp::add,
                     .reduce_res = column_of(dst),
                     .reduce_cmd = isa::ReduceCmd::reset_reduce});
    });
    return dst;
  }
  const bool extreme = op.code == OpCode::max || op.code == OpCode::min;
  if (extreme && rows_of_region_ > arch_.partitions && stay[0].empty() && go[0].size() == 1 && go[0][0].stride == 1 &&
      go[0][0].count >= kLongLine && is_float(x.dtype()) && size_bytes(x.dtype()) == 2 && !x.in_psum() &&
      arch_.features.vector_fast_modes) {
    const Tile half = reduce_halves(x, go[0][0].count, operator_of(op.code));
    reduce_parts({k_, dst, half, operator_of(op.code), negate}, stay, half.dims, 0, 0);
    return dst;
  }
  if (go[0].size() > isa::kMaxOperandRank - 1) not_yet(v, "a reduction over more than four dimensions");
  reduce_parts({k_, dst, x, operator_of(op.code), negate}, stay, go[0], 0, 0);
  return dst;
}

// The larger ones, or the smaller ones, of both halves of a line, three times: two tiles of 16-bit floats pass the
// vector engine twice as fast as a reduction reads them.
Tile RegionEmitter::reduce_halves(const Tile& x, std::int64_t n, AluOp op) {
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, {n - n / 2}}, x.dtype());
  const std::int64_t longer = n - n / 2;  // the middle of an odd number is in both
  k_.tensor_tensor({.dst = view_of(out, {{1, longer}}),
                    .data1 = view_of(x, {{1, longer}}),
                    .data2 = view_of(x, {{1, longer}}, n - longer),
                    .op = op});
  n = longer;
  for (int step = 0; step < 2; ++step) {  // in place: the middle of an odd number stays
    const View front = view_of(out, {{1, n / 2}});
    k_.tensor_tensor({.dst = front, .data1 = front, .data2 = view_of(out, {{1, n / 2}}, n - n / 2), .op = op});
    n -= n / 2;
  }
  Tile left = out;
  left.dims = {{1, n}};
  return left;
}

// Integers exactly: halves are combined until one element is left.
Tile RegionEmitter::reduce_integers(Value v, const Tile& x, const Tile* into) {
  const Op& op = graph_.op(v);
  const Value operand_value = op.operands[0];
  const Free kept = free_of(v);
  const Free whole = fusion_.region_of[operand_value] == region_ ? free_of(operand_value)
                                                                 : Free{layout_.packed, Strided{0, x.dims}.shape()};
  Ints order;  // dimensions that stay, then those that go
  std::int64_t n = 1;
  Shape stay;
  for (std::size_t d = 0; d < whole.dims.size(); ++d) {
    if (kept.dims[d] == whole.dims[d]) order.push_back(static_cast<std::int64_t>(d)), stay.push_back(kept.dims[d]);
  }
  for (std::size_t d = 0; d < whole.dims.size(); ++d) {
    if (kept.dims[d] != whole.dims[d]) order.push_back(static_cast<std::int64_t>(d)), n *= whole.dims[d];
  }
  const DType wide = graph_.type(operand_value).dtype == DType::uint32 || op.type.dtype == DType::uint32 ? DType::uint32
                                                                                                         : DType::int32;
  Shape shape;
  for (std::int64_t d : order) shape.push_back(whole.dims[d]);
  const Tile work = new_tile(k_, Memory::sbuf, rows_, {whole.packed, shape}, wide);
  Tile source = x;
  source.dims = permuted({0, spread({0, x.dims}, whole.dims).dims}, order).dims;
  copy(work, source, {whole.packed, shape});
  const std::int64_t total = n;
  const auto part = [&](std::int64_t first, std::int64_t count) {
    Tile t = work;
    t.packed = whole.packed > 1 ? isa::Dim{product(shape), whole.packed} : isa::Dim{0, 1};
    t.dims = Strided::contiguous(stay).dims;
    for (isa::Dim& d : t.dims) d.stride *= total;
    t.dims.push_back({1, count});
    t.offset += first;
    return t;
  };
  for (; n > 1; n -= n / 2) {
    Shape halves = stay;
    halves.push_back(n / 2);
    over(k_, {part(0, n / 2), part(n - n / 2, n / 2)}, {whole.packed, halves}, [&](const std::vector<View>& t) {
      k_.tensor_tensor({.dst = t[0], .data1 = t[0], .data2 = t[1], .op = operator_of(op.code)});
    });
  }
  Tile result = part(0, 1);
  result.dims.pop_back();
  Tile dst = target(v, into);
  Tile flat = dst;
  flat.dims.clear();
  for (std::size_t i = 0; i < stay.size(); ++i) flat.dims.push_back(dst.dims[order[i]]);
  copy(flat, result, {whole.packed, stay});
  return dst;
}

namespace {

// s = op1(op0(data0, s), data1), where x is one of the two data or both.
struct Recurrence {
  AluOp op0, op1;
  double start;
  bool first, second;  // whether x is data0 and data1
  double other;        // what the other one is
};
Recurrence recurrence(OpCode code) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (code == OpCode::cumsum) return {AluOp::multiply, AluOp::add, 0, false, true, 1};
  if (code == OpCode::cumprod) return {AluOp::multiply, AluOp::add, 1, true, false, 0};
  if (code == OpCode::cummax) return {AluOp::maximum, AluOp::maximum, -inf, true, true, 0};
  return {AluOp::minimum, AluOp::minimum, inf, true, true, 0};
}

}  // namespace

// Whether a running value can go in pieces of its row: a piece is as exact as what the next one goes on from.
// with.
bool RegionEmitter::can_go_on(Value v) const {
  const Op& op = graph_.op(v);
  const bool is_exact = op.type.dtype == DType::float32 || op.code == OpCode::linear_scan;
  return is_running(op.code) && is_exact && op.type.shape.back() == widest_ &&
         op.integer("axis") + 1 == static_cast<std::int64_t>(op.type.shape.size());
}

// What the first piece goes on from.
Tile RegionEmitter::nothing_before(Value v) {
  if (graph_.op(v).code == OpCode::linear_scan) return before_linear_scan(v);
  const Free one{1, {1}};
  const Tile out = new_tile(k_, Memory::sbuf, rows_, one, DType::float32);
  fill(out, one, recurrence(graph_.op(v).code).start);
  return out;
}

// A piece that was computed by itself, which is more exact, with what all before it come to.
void RegionEmitter::go_on(OpCode code, const Tile& piece, const Tile& before) {
  const isa::Dim row = piece.dims.back();
  const bool by_scalar = arch_.features.scalar_tensor_ops && (code == OpCode::cumsum || code == OpCode::cumprod);
  const AluOp op = code == OpCode::cumsum    ? AluOp::add
                   : code == OpCode::cumprod ? AluOp::multiply
                   : code == OpCode::cummax  ? AluOp::maximum
                                             : AluOp::minimum;
  const View all = view_of(piece, {row});
  k_.tensor_scalar({.dst = all,
                    .data = all,
                    .op0 = op,
                    .operand0 = column_of(before),
                    .engine = by_scalar ? Engine::scalar : Engine::unknown});
  k_.tensor_copy({.dst = column_of(before), .src = view_of(piece, {{1, 1}}, (row.count - 1) * row.stride)});
}

// A recurrence along the last dimension; the others one by one.
Tile RegionEmitter::scan(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  if (op.code == OpCode::linear_scan) return linear_scan(v, into);
  const auto axis = static_cast<std::size_t>(op.integer("axis"));
  if (!is_float(op.type.dtype)) not_yet(v, fmt::format("{} of integers", name(op.code)));
  const Recurrence how = recurrence(op.code);
  const Free free = free_of(v);
  const Tile x = operand(v, 0), dst = target(v, into);
  const std::int64_t n = free.dims[axis];
  const auto carried = columns_ ? carried_.find(v) : carried_.end();
  const bool takes_number = !how.first || !how.second;  // the same one all along
  const Free one{1, {1}};
  const Tile number = takes_number ? new_tile(k_, Memory::sbuf, rows_, one, DType::float32) : x;
  if (takes_number) fill(number, one, how.other);
  Dims from = spread_dims(x, free), to = spread_dims(dst, free);
  const isa::Dim last_from = from[axis + 1], last_to = to[axis + 1];
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  const std::function<void(std::size_t, isa::Index, isa::Index)> each = [&](std::size_t d, isa::Index a, isa::Index b) {
    if (d == from.size()) {
      k_.tensor_tensor_scan({.dst = view_of(dst, {last_to}, b),
                             .data0 = how.first ? view_of(x, {last_from}, a) : view_of(number, {{0, n}}),
                             .data1 = how.second ? view_of(x, {last_from}, a) : view_of(number, {{0, n}}),
                             .initial = how.start,
                             .op0 = how.op0,
                             .op1 = how.op1});
    } else if (from[d].count == 1) {
      each(d + 1, a, b);
    } else {
      k_.loop(from[d].count, [&](isa::Index i) { each(d + 1, a + i * from[d].stride, b + i * to[d].stride); });
    }
  };
  each(0, 0, 0);
  if (carried != carried_.end()) go_on(op.code, dst, carried->second);
  return dst;
}

}  // namespace kiln::tensor
