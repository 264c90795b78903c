// Elementwise values: which instruction takes how many ops at once.
#include <algorithm>
#include <cmath>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::View;
using Views = std::vector<View>;

namespace {

constexpr std::int64_t kSharedFrom = 512;  // columns in PSUM: fewer are not worth two instructions

bool is_small_integer(DType t) { return is_integer(t) && size_bytes(t) <= 2; }
bool wraps(OpCode code) { return code == OpCode::add || code == OpCode::subtract || code == OpCode::multiply; }
bool is_short_float(const Tile& t) { return is_float(t.dtype()) && size_bytes(t.dtype()) == 2; }
bool is_short(DType t) { return is_float(t) && size_bytes(t) < 4; }
bool compares_short_floats(const Graph& graph, const Op& op) {
  return is_comparison(op.code) &&
         (is_short(graph.type(op.operands[0]).dtype) || is_short(graph.type(op.operands[1]).dtype));
}
bool is_plain(AluOp op) { return !is_bitvec(op) && op != AluOp::power; }

}  // namespace

// Whether all elements of an integer value are surely below 2^24, where float32 tells them from all others.
bool RegionEmitter::is_small(Value v) const {
  constexpr double kMost = 0x1p24;
  const Op& op = graph_.op(v);
  if (size_bytes(op.type.dtype) <= 2 || is_search(op.code)) return true;
  if (const auto n = splat_of(graph_, v)) return std::abs(*n) < kMost;
  if (op.code == OpCode::iota) return static_cast<double>(op.type.size()) < kMost;
  if (op.code == OpCode::constant && op.numbers)
    return std::all_of(op.numbers->begin(), op.numbers->end(), [](double x) { return std::abs(x) < kMost; });
  const bool passes_on = is_view(op.code) || (op.code == OpCode::cast && is_integer(graph_.type(op.operands[0]).dtype));
  return passes_on && is_small(op.operands[0]);
}

// Whether the engines compare v exactly in float32.
bool RegionEmitter::compares_in_float(Value v) const {
  const Op& op = graph_.op(v);
  if (!is_comparison(op.code)) return false;
  const DType working = working_dtype(graph_, op);
  if (is_float(working) || is_small_integer(working)) return true;
  return is_integer(working) && (is_small(op.operands[0]) || is_small(op.operands[1]));
}

// v as an operator between data of its own shape and a scalar.
std::optional<RegionEmitter::Chain> RegionEmitter::chain(Value v) const {
  const Op& op = graph_.op(v);
  if (!is_elementwise(op.code) || op.operands.size() != 2) return {};
  const Lowering& lowering = info(op.code).lowering;
  if (lowering.kind != Lowering::Kind::alu || is_bitvec(lowering.alu)) return {};
  for (int i : {1, 0}) {
    const Value data = op.operands[1 - i], other = op.operands[i];
    if (!is_column(other) || graph_.type(data).shape != op.type.shape || splat_of(graph_, data)) continue;
    return Chain{data, lowering.alu, other, 1 - i, i, i == 0};
  }
  return {};
}

// Whether an operand of v may lie in float32 though its dtype is shorter: sums in PSUM, and values of rows.
bool RegionEmitter::reads_more_bits(Value v) const {
  const auto& x = graph_.op(v).operands;
  return std::any_of(x.begin(), x.end(), [&](Value i) {
    const bool here = fusion_.region_of[i] == region_ && is_short(graph_.type(i).dtype);
    return here && (is_product(graph_.op(i).code) || tile_dtype(i) != graph_.type(i).dtype);
  });
}

// Whether the op that asks can take v along: nobody else wants it, or it costs nothing to compute it again.
bool RegionEmitter::is_inlined(Value v, const Shape& shape, bool again) const {
  if (fusion_.region_of[v] != region_ || graph_.type(v).shape != shape || find(v) || made_by_moments(v)) return false;
  if (!is_elementwise(graph_.op(v).code) || !is_float(working_dtype(graph_, graph_.op(v)))) return false;
  if (compares_short_floats(graph_, graph_.op(v)) && reads_more_bits(v)) return false;
  if (uses_[v] == 1) return true;
  const auto c = again && product(free_of(v).dims) > 1 ? chain(v) : std::nullopt;
  const auto is_there = [&](Value x) { return fusion_.region_of[x] != region_ || find(x); };
  return c && is_there(c->data) && !splat_of(graph_, c->scalar) && is_there(c->scalar);
}

isa::Operand RegionEmitter::scalar(const Given& g) {
  if (g.number) return *g.number;
  const Free one{1, Shape(g.tile.dims.size(), 1)};
  const Tile t = in_dtype(layout_.spread.empty() ? g.tile : in_sbuf(g.tile, one), one, DType::float32);
  return column_of(t);
}

// The negative of a number or of one value per partition. The factor of a mean takes the sign along.
isa::Operand RegionEmitter::less(Value v, std::size_t i) {
  const Value x = graph_.op(v).operands[i];
  if (const auto number = splat_of(graph_, x)) return -*number;
  const Op& op = graph_.op(x);
  const bool alone = fusion_.region_of[x] == region_ && op.code == OpCode::multiply && uses_[x] == 1 && !find(x) &&
                     !made_by_moments(x);
  const auto factor = alone ? splat_of(graph_, op.operands[1]) : std::nullopt;
  const Tile column = factor ? operand(x, 0) : given(v, i).tile;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32);
  k_.tensor_scalar(
      {.dst = column_of(out), .data = column_of(column), .op0 = AluOp::multiply, .operand0 = factor ? -*factor : -1.0});
  if (factor) scopes_.back().consumed.insert(x);
  return column_of(out);
}

// Who combines two tiles: gpsimd when it is asked to and can.
Engine RegionEmitter::pair_engine(const Tile& dst, const Tile& x, const Tile& y) {
  const bool floats = is_float(dst.dtype()) && (is_float(x.dtype()) || is_float(y.dtype()));
  const bool here = !dst.in_psum() && !x.in_psum() && !y.in_psum();
  if (!options_.pairs_on_gpsimd || !floats || !here) return Engine::unknown;
  const bool wide = dst.count() > 64;  // what is short goes along with the others
  return options_.pairs_in_turn && (!wide || ++pairs_ % 2 != 0) ? Engine::unknown : Engine::gpsimd;
}

Engine RegionEmitter::factor_engine(const Tile& dst, AluOp op, bool reverse) const {
  const bool fits = (op == AluOp::multiply || op == AluOp::add) && !reverse && is_float(dst.dtype());
  return options_.factors_on_scalar && fits && arch_.features.scalar_tensor_ops && dst.count() > 64 ? Engine::scalar
                                                                                                    : Engine::unknown;
}

// Values that a function of the scalar engine makes only to sum them up are written over each other.
void RegionEmitter::make_scratch() {
  if (layout_.partitions <= arch_.partitions && layout_.loops.empty()) return;
  for (Value v : fusion_.regions[region_].ops) {
    if (is_left_out(v)) continue;
    if (sums_apart(v)) {
      Free free{1, {}};
      for (std::int64_t n : graph_.type(graph_.op(v).operands[0]).shape) free.dims.push_back(n);
      const auto rows = *row_dims(free.dims, rows_of_region_);
      std::fill_n(free.dims.begin(), rows, 1);
      scratch_[v] = new_tile(k_, Memory::sbuf, rows_, free, DType::bfloat16);
    }
    const bool act = is_elementwise(graph_.op(v).code) && info(graph_.op(v).code).lowering.kind == Lowering::Kind::act;
    if (!act || uses_[v] != 1 || layout_.packed != 1 || streams() || !is_float(graph_.type(v).dtype)) continue;
    const auto sum = row_sum_of(v);
    if (!sum || graph_.op(*sum).operands[0] != v) continue;
    scratch_[v] = new_tile(k_, Memory::sbuf, rows_, free_of(v), DType::bfloat16);
  }
}

Tile RegionEmitter::elementwise(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Lowering& lowering = info(op.code).lowering;
  if (op.code == OpCode::reciprocal) {
    const Tile x = operand(v, 0), dst = target(v, into);
    over(k_, {dst, x}, free_of(v), [&](const Views& t) { k_.reciprocal({.dst = t[0], .data = t[1]}); });
    return dst;
  }
  if (op.code == OpCode::sin || op.code == OpCode::arctan || lowering.kind == Lowering::Kind::act)
    return activate(v, into);
  const DType working = working_dtype(graph_, op);
  const bool bits = op.code == OpCode::right_shift || (lowering.kind == Lowering::Kind::alu && is_bitvec(lowering.alu));
  const bool exact = is_integer(working) && (!is_small_integer(working) || wraps(op.code)) && !compares_in_float(v);
  if (bits || exact) return operate_on_integers(v, into);
  return operate(v, into);
}

// x * scale - mean * scale, for (x - mean) * scale: what the scalar engine can.
void RegionEmitter::scale_and_shift(const Tile& dst, const Tile& x, const Free& free, const Tile& mean,
                                    const Tile& scale) {
  const Tile shift = new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32);
  k_.scalar_tensor_tensor({.dst = column_of(shift),
                           .data = column_of(mean),
                           .op0 = AluOp::multiply,
                           .operand0 = -1.0,
                           .op1 = AluOp::multiply,
                           .operand1 = column_of(scale)});
  over(k_, {dst, x}, free, [&](const Views& t) {
    k_.tensor_scalar({.dst = t[0],
                      .data = t[1],
                      .op0 = AluOp::multiply,
                      .operand0 = column_of(scale),
                      .op1 = AluOp::add,
                      .operand1 = column_of(shift),
                      .engine = Engine::scalar});
  });
}

// 16-bit floats pass the vector engine four at a time with scalars and two at a time with another tile, but one by one
// with both.
bool RegionEmitter::is_quicker_apart(Value v, const Chain& inner) const {
  constexpr std::int64_t kLongRow = 512;  // elements: one instruction more costs less from there on
  if (!arch_.features.vector_fast_modes || size_bytes(graph_.type(v).dtype) != 2 || !is_float(graph_.type(v).dtype))
    return false;
  if (rows_of_region_ <= arch_.partitions || free_of(v).count() < kLongRow) return false;
  const Type& from = graph_.type(inner.data);
  const auto is_product_here = [&](Value x) {
    return fusion_.region_of[x] == region_ && is_product(graph_.op(x).code);
  };
  return from.dtype == graph_.type(v).dtype && from.shape == graph_.type(v).shape && !is_product_here(inner.data) &&
         std::none_of(graph_.op(v).operands.begin(), graph_.op(v).operands.end(), is_product_here);
}

// What a comparison reads has the bits of its dtype, as it has where it was sorted or searched: sums in PSUM and
// values of rows have more of them.
Tile RegionEmitter::as_compared(Value v, std::size_t i) {
  const Value x = graph_.op(v).operands[i];
  const DType t = graph_.type(x).dtype;
  const Tile tile = operand(v, i);
  if (!is_short(t) || size_bytes(t) >= size_bytes(tile.dtype())) return tile;
  const Free own =
      fusion_.region_of[x] == region_ ? free_of(x) : Free{tile.packed.count, Strided{0, tile.dims}.shape()};
  return in_dtype(tile, own, t);
}

Tile RegionEmitter::compare(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const AluOp alu = info(op.code).lowering.alu;
  const Free free = free_of(v);
  if (const auto c = chain(v)) {
    const auto number = splat_of(graph_, c->scalar);
    const Tile x = as_compared(v, c->data_at);
    const isa::Operand with = scalar(number ? Given{number, {}} : Given{{}, as_compared(v, c->scalar_at)});
    const Tile dst = target(v, into);
    over(k_, {dst, x}, free, [&](const Views& t) {
      k_.tensor_scalar({.dst = t[0], .data = t[1], .op0 = alu, .operand0 = with, .reverse0 = c->reverse});
    });
    return dst;
  }
  const Tile x = as_compared(v, 0), y = as_compared(v, 1), dst = target(v, into);
  over(k_, {dst, x, y}, free,
       [&](const Views& t) { k_.tensor_tensor({.dst = t[0], .data1 = t[1], .data2 = t[2], .op = alu}); });
  return dst;
}

// Two operators with scalars, an operator with a scalar and one with a tile, or one operator.
Tile RegionEmitter::operate(Value v, const Tile* into) {
  if (compares_short_floats(graph_, graph_.op(v))) return compare(v, into);
  if (const auto linear = linear_of(v)) return scaled_and_shifted(v, *linear, into);
  if (const auto sum = share_terms(v, into)) return *sum;
  const Op& op = graph_.op(v);
  const Lowering& lowering = info(op.code).lowering;
  const AluOp alu = op.code == OpCode::power ? AluOp::power : lowering.alu;
  if (op.code != OpCode::power && lowering.kind != Lowering::Kind::alu) not_yet(v, std::string(name(op.code)));
  const Free free = free_of(v);
  auto outer = op.code == OpCode::power ? std::nullopt : chain(v);
  if (op.code == OpCode::power && is_column(op.operands[1]) && graph_.type(op.operands[0]).shape == op.type.shape)
    outer = Chain{op.operands[0], AluOp::power, op.operands[1], 0, 1, false};
  if (outer) {
    const auto inner =
        is_plain(alu) && is_inlined(outer->data, op.type.shape, true) ? chain(outer->data) : std::nullopt;
    const bool takes = inner && is_plain(inner->op);
    const Tile data = takes ? operand(outer->data, inner->data_at) : Tile{};
    const Given a = takes ? given(outer->data, inner->scalar_at) : Given{};
    const Given b = takes ? given(v, outer->scalar_at) : Given{};
    if (takes && !find(outer->data)) {  // the second scalar may be made of it
      const isa::Operand first = scalar(a), second = scalar(b);
      const Tile dst = target(v, into, outer->data, inner->data_at, data);
      if (uses_[outer->data] == 1) scopes_.back().consumed.insert(outer->data);
      const bool centres = inner->op == AluOp::subtract && !inner->reverse && outer->op == AluOp::multiply && !b.number;
      if (centres && !a.number && is_short_float(dst) && factor_engine(dst, AluOp::add, false) == Engine::scalar) {
        scale_and_shift(dst, data, free, a.tile, b.tile);
        return dst;
      }
      over(k_, {dst, data}, free, [&](const Views& t) {
        k_.tensor_scalar({.dst = t[0],
                          .data = t[1],
                          .op0 = inner->op,
                          .operand0 = first,
                          .reverse0 = inner->reverse,
                          .op1 = outer->op,
                          .operand1 = second,
                          .reverse1 = outer->reverse});
      });
      return dst;
    }
    Tile x = operand(v, outer->data_at);
    if (alu == AluOp::power) x = in_sbuf(x, free);
    AluOp with_op = outer->op;
    const bool on_scalar = factor_engine(x, AluOp::add, outer->reverse) == Engine::scalar;
    if (with_op == AluOp::subtract && on_scalar && is_float(op.type.dtype))
      with_op = AluOp::add;  // that engine only adds
    const isa::Operand with = with_op == outer->op ? scalar(given(v, outer->scalar_at)) : less(v, outer->scalar_at);
    const Tile dst = target(v, into, v, outer->data_at, x);
    over(k_, {dst, x}, free, [&](const Views& t) {
      k_.tensor_scalar({.dst = t[0],
                        .data = t[1],
                        .op0 = with_op,
                        .operand0 = with,
                        .reverse0 = outer->reverse,
                        .engine = factor_engine(dst, with_op, outer->reverse)});
    });
    return dst;
  }
  // Truth that is a factor or a summand is what the comparison gives.
  const auto asked = [&](Value x) {
    const Op& number = graph_.op(x);
    const bool alone = number.code == OpCode::cast && fusion_.region_of[x] == region_ && uses_[x] == 1 && !find(x);
    return alone && compares_in_float(number.operands[0]) ? number.operands[0] : x;
  };
  for (int i : {0, 1}) {
    const Value part = asked(op.operands[i]);
    if (!is_plain(alu) || !is_inlined(part, op.type.shape) || splat_of(graph_, op.operands[1 - i])) continue;
    const auto inner = chain(part);
    if (!inner || !is_plain(inner->op) || is_quicker_apart(v, *inner)) continue;
    const Tile data = operand(part, inner->data_at);
    Tile other = operand(v, 1 - i);
    if (data.in_psum() && other.in_psum()) other = in_sbuf(other, free);
    const isa::Operand with = scalar(given(part, inner->scalar_at));
    const Tile dst = target(v, into, part, inner->data_at, data);
    scopes_.back().consumed.insert({part, op.operands[i]});
    over(k_, {dst, data, other}, free, [&](const Views& t) {
      k_.scalar_tensor_tensor({.dst = t[0],
                               .data = t[1],
                               .op0 = inner->op,
                               .operand0 = with,
                               .op1 = alu,
                               .operand1 = t[2],
                               .reverse0 = inner->reverse,
                               .reverse1 = i == 1});
    });
    return dst;
  }
  Tile x = operand(v, 0), y = operand(v, 1);
  if ((x.in_psum() && y.in_psum()) || alu == AluOp::power) x = in_sbuf(x, free);
  if (alu == AluOp::power) y = in_sbuf(y, free);
  Tile dst = target(v, into, v, 0, x);
  const Engine engine = alu == AluOp::power ? Engine::unknown : pair_engine(dst, x, y);
  over(k_, {dst, x, y}, free, [&](const Views& t) {
    k_.tensor_tensor({.dst = t[0], .data1 = t[1], .data2 = t[2], .op = alu, .engine = engine});
  });
  return dst;
}

namespace {

// Whether float32 has all results of an operator on short integers, which then need not be widened before it.
bool is_exact_in_float(OpCode code, DType t) {
  if (!is_small_integer(t)) return false;
  return code == OpCode::add || code == OpCode::subtract || (code == OpCode::multiply && size_bytes(t) == 1);
}

}  // namespace

// 32-bit integers exactly; narrower ones in 32 bits, of which the low ones are kept.
Tile RegionEmitter::operate_on_integers(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  Lowering lowering = info(op.code).lowering;
  if (op.code == OpCode::right_shift) lowering = {.kind = Lowering::Kind::alu, .alu = AluOp::right_shift};
  if (lowering.kind != Lowering::Kind::alu) not_yet(v, std::string(name(op.code)) + " of integers");
  const DType working = working_dtype(graph_, op);
  const bool bits = is_bitvec(lowering.alu);
  const bool short_sum = size_bytes(working) == 1 && (op.code == OpCode::add || op.code == OpCode::subtract);
  const bool in_float = is_exact_in_float(op.code, working);
  const DType wide = bits                       ? (working == DType::bool_ ? DType::uint8 : working)
                     : working == DType::uint32 ? DType::uint32
                     : in_float && short_sum    ? DType::int16
                                                : DType::int32;
  const Free free = free_of(v);
  const auto take = [&](std::size_t i) {
    Tile t = operand(v, i);
    const Value x = op.operands[i];
    const Free own = fusion_.region_of[x] == region_ ? free_of(x) : Free{t.packed.count, Strided{0, t.dims}.shape()};
    return in_float ? in_sbuf(t, own) : in_dtype(in_sbuf(t, own), own, wide);
  };
  const auto whole = [&](Value x) -> std::optional<std::int64_t> {
    const auto n = splat_of(graph_, x);
    return n ? std::optional(static_cast<std::int64_t>(*n)) : std::nullopt;
  };
  const bool truth = op.type.dtype == DType::bool_ && working != DType::bool_;
  const Tile sum = !truth && tile_dtype(v) == wide ? target(v, into) : new_tile(k_, Memory::sbuf, rows_, free, wide);
  const auto number = whole(op.operands[1]), left = whole(op.operands[0]);
  const bool exact_scalar = bits || wraps(op.code) || lowering.alu == AluOp::maximum || lowering.alu == AluOp::minimum;
  if (exact_scalar && (number || left)) {
    const Tile x = take(number ? 0 : 1);
    const std::int64_t n = number ? *number : *left;
    const isa::Operand with = in_float ? isa::Operand(static_cast<double>(n)) : isa::Operand(n);
    over(k_, {sum, x}, free, [&](const Views& t) {
      k_.tensor_scalar({.dst = t[0], .data = t[1], .op0 = lowering.alu, .operand0 = with, .reverse0 = !number});
    });
  } else {
    const Tile x = take(0), y = take(1);
    over(k_, {sum, x, y}, free,
         [&](const Views& t) { k_.tensor_tensor({.dst = t[0], .data1 = t[1], .data2 = t[2], .op = lowering.alu}); });
  }
  if (!truth && tile_dtype(v) == wide) return sum;
  const Tile dst = target(v, into);
  if (truth) {
    copy(dst, sum, free);
    return dst;
  }
  Tile low = sum;  // the low bytes of each element
  const std::int64_t ratio = size_bytes(wide) / size_bytes(dst.dtype());
  low.storage = sum.storage.view(dst.dtype());
  low.packed.stride *= ratio;
  for (isa::Dim& d : low.dims) d.stride *= ratio;
  copy(dst, low, free);
  return dst;
}

// A column that only this op reads, made with the other sign: by the reduction, or by the factor that it has anyway.
std::optional<Tile> RegionEmitter::negated(Value user, int at) {
  const Value m = graph_.op(user).operands[at];
  if (fusion_.region_of[m] != region_ || uses_[m] != 1 || find(m) || !is_column(m) || made_by_moments(m)) return {};
  const Op& op = graph_.op(m);
  if (op.code == OpCode::max || op.code == OpCode::min) {
    const Tile dst = reduce(m, nullptr, true);
    scopes_.back().consumed.insert(m);
    return dst;
  }
  const auto factor = op.code == OpCode::multiply ? chain(m) : std::nullopt;
  const auto number = factor ? splat_of(graph_, factor->scalar) : std::nullopt;
  if (!number) return {};
  const Tile data = operand(m, factor->data_at), dst = target(m, nullptr);
  k_.tensor_scalar({.dst = column_of(dst), .data = column_of(data), .op0 = AluOp::multiply, .operand0 = -*number});
  scopes_.back().consumed.insert(m);
  return dst;
}

// f(data * scale + bias), and the sum of the row where somebody asks for it.
Tile RegionEmitter::activate(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const ActFn fn = op.code == OpCode::sin      ? ActFn::sin
                   : op.code == OpCode::arctan ? ActFn::arctan
                                               : info(op.code).lowering.act;
  Value user = v;
  int at = 0;
  std::optional<isa::Operand> bias;
  isa::Operand scale = 1.0;
  const Shape& shape = op.type.shape;
  const auto inlined = [&]() -> std::optional<Chain> {
    const Value x = graph_.op(user).operands[at];
    return is_inlined(x, shape, true) ? chain(x) : std::nullopt;
  };
  const bool takes_bias = fn != ActFn::reciprocal && fn != ActFn::copy;
  if (auto c = inlined(); c && takes_bias && (c->op == AluOp::add || (c->op == AluOp::subtract && !c->reverse))) {
    const bool minus = c->op == AluOp::subtract;
    const auto turned = minus ? negated(graph_.op(user).operands[at], c->scalar_at) : std::nullopt;
    const Given b = turned ? Given{{}, *turned} : given(graph_.op(user).operands[at], c->scalar_at);
    if (turned) {
      bias = column_of(*turned);
    } else if (b.number) {
      const double x = minus ? -*b.number : *b.number;
      bias = arch_.features.scalar_immediate_bias ? isa::Operand(x) : isa::Operand(column_of(number_tile(x)));
    } else if (minus) {
      const Free one{1, Shape(b.tile.dims.size(), 1)};
      const Tile negated = new_tile(k_, Memory::sbuf, rows_, one, DType::float32);
      k_.tensor_scalar(
          {.dst = column_of(negated), .data = column_of(b.tile), .op0 = AluOp::multiply, .operand0 = -1.0});
      bias = column_of(negated);
    } else {
      bias = scalar(b);
    }
    user = graph_.op(user).operands[at];
    at = c->data_at;
  }
  if (auto c = inlined(); c && c->op == AluOp::multiply) {
    scale = scalar(given(graph_.op(user).operands[at], c->scalar_at));
    user = graph_.op(user).operands[at];
    at = c->data_at;
  }
  const Tile data = operand(user, at);
  const auto sum = row_sum_of(v);
  const auto scratch = scratch_.find(v);
  Tile dst = sum && scratch != scratch_.end() && !into && !columns_ ? scratch->second : target(v, into, user, at, data);
  dst.rows = rows_;
  std::optional<Tile> total;
  if (sum) scopes_.back().values[*sum] = *(total = target(*sum, nullptr));
  over(k_, {dst, data}, free_of(v), [&](const Views& t) {
    isa::activation_args args{.dst = t[0], .op = fn, .data = t[1], .scale = scale};
    if (bias) args.bias = *bias;
    if (total) {
      args.reduce_op = AluOp::add;
      args.reduce_res = column_of(*total);
      args.reduce_cmd = isa::ReduceCmd::reset_reduce;
    }
    k_.activation(args);
  });
  if (sum && is_summed_across(v, graph_.type(*sum))) scopes_.back().values[*sum] = across(*total);
  if (sum && layout_.parts > 1) scopes_.back().values[*sum] = across_parts(*total, AluOp::add);
  return dst;
}

// The value that is not chosen does not matter, NaN or not: it is overwritten, not multiplied by zero.
Tile RegionEmitter::choose(Value v, const Tile* into) {
  const Free free = free_of(v);
  const Tile condition = operand(v, 0);
  const Given yes = given(v, 1), no = given(v, 2);
  const bool is_made_here = !no.number && fusion_.region_of[graph_.op(v).operands[2]] == region_;
  const Tile dst = is_made_here ? target(v, into, v, 2, no.tile) : target(v, into);
  if (no.number)
    fill(dst, free, *no.number);
  else if (into || dst.storage.tensor() != no.tile.storage.tensor())
    copy(dst, no.tile, free);
  if (yes.number) {
    const isa::Operand x =
        is_float(dst.dtype()) ? isa::Operand(*yes.number) : isa::Operand(static_cast<std::int64_t>(*yes.number));
    over(k_, {dst, condition}, free,
         [&](const Views& t) { k_.tensor_copy_predicated({.dst = t[0], .src = x, .predicate = t[1]}); });
    return dst;
  }
  const Free own{yes.tile.packed.count, Strided{0, yes.tile.dims}.shape()};
  const Tile x = in_dtype(yes.tile, own, dst.dtype());
  over(k_, {dst, x, condition}, free,
       [&](const Views& t) { k_.tensor_copy_predicated({.dst = t[0], .src = t[1], .predicate = t[2]}); });
  return dst;
}

// Whether v is an integer as a float32 that arithmetic alone reads, which converts it on the way.
bool RegionEmitter::is_read_as(Value v) const {
  const Op& op = graph_.op(v);
  if (!is_integer(graph_.type(op.operands[0]).dtype) || op.type.dtype != DType::float32) return false;
  if (uses_[v] != static_cast<int>(users_[v].size()) || fusion_.region_of[op.operands[0]] != region_) return false;
  return std::all_of(users_[v].begin(), users_[v].end(), [&](Value u) {
    const Lowering& lowering = info(graph_.op(u).code).lowering;
    return is_elementwise(graph_.op(u).code) && lowering.kind == Lowering::Kind::alu && is_plain(lowering.alu) &&
           graph_.type(u).shape == op.type.shape;
  });
}

// Whether nobody but products reads v, or views of it.
bool RegionEmitter::is_multiplied_alone(Value v) const {
  return uses_[v] == static_cast<int>(users_[v].size()) &&
         std::all_of(users_[v].begin(), users_[v].end(), [&](Value u) {
           return is_product(graph_.op(u).code) || (is_view(graph_.op(u).code) && is_multiplied_alone(u));
         });
}

// Whether v alone reads its operand, which comes from HBM and lies as v does.
bool RegionEmitter::is_loaded_for(Value v) const {
  const auto leaf = layout_.load_of.find({v, 0});
  if (leaf == layout_.load_of.end() || kept(layout_.loads[leaf->second])) return false;
  const auto same = [&](const auto& other) { return other.second == leaf->second; };
  return is_turned(layout_.loads[leaf->second]) &&
         std::count_if(layout_.load_of.begin(), layout_.load_of.end(), same) == 1;
}

// Engines convert what they read and write: a wider float is the same tile, a narrower one is written by the producer.
Tile RegionEmitter::cast(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Value x = op.operands[0];
  const DType from = graph_.type(x).dtype, to = op.type.dtype;
  const Free free = free_of(v);
  if (is_float(from) && is_float(to) && size_bytes(to) > size_bytes(from) && !into) return operand(v, 0);
  // What was copied when it was loaded; others than products write over the copy.
  if (from == to && !into && fusion_.region_of[x] != region_ && is_multiplied_alone(v)) return operand(v, 0);
  if (!into && is_read_as(v)) return operand(v, 0);
  const bool stays = layout_.parts > 1 && fusion_.region_of[x] == region_ && is_column(x);  // in float32, as it is
  if (!into && stays && is_float(from) && is_float(to) && tile_dtype(v) == tile_dtype(x)) return operand(v, 0);
  // What is loaded for nobody else is its own copy.
  if (!into && from == to && fusion_.region_of[x] != region_ && is_loaded_for(v)) return operand(v, 0);
  const bool low_bits = is_integer(from) && is_integer(to) && size_bytes(to) <= size_bytes(from);
  if (low_bits) {
    Tile low = in_sbuf(operand(v, 0), free);
    const std::int64_t ratio = size_bytes(from) / size_bytes(to);
    low.storage = low.storage.view(to);
    low.offset = low.offset * ratio;
    low.packed.stride *= ratio;
    for (isa::Dim& d : low.dims) d.stride *= ratio;
    if (!into && ratio == 1) return low;  // the same bits
    const Tile dst = target(v, into);
    copy(dst, low, free);
    return dst;
  }
  const Tile dst = target(v, into);
  const Lowering& made = info(graph_.op(x).code).lowering;
  const bool narrows = is_float(to) || (from == DType::float32 && made.kind == Lowering::Kind::alu);  // rounded once
  const bool asks = from == DType::bool_ && fusion_.region_of[x] == region_ && uses_[x] == 1 && !find(x) &&
                    graph_.type(x).shape == op.type.shape && compares_in_float(x);
  const bool can_write = asks || (is_float(from) && narrows && is_inlined(x, op.type.shape));
  if (can_write) return value(x, &dst);
  copy(dst, operand(v, 0), free);
  return dst;
}

Tile RegionEmitter::reinterpret(Value v, const Tile* into) {
  const Value x = graph_.op(v).operands[0];
  const Free free = free_of(v);
  Tile t = in_dtype(operand(v, 0), free, graph_.type(x).dtype);
  t.storage = in_sbuf(t, free).storage.view(graph_.type(v).dtype);
  if (into) copy(*into, t, free);
  return into ? *into : t;
}

// Views of free dimensions are other patterns of the same tile; what is no pattern is copied.
Tile RegionEmitter::view(Value v) {
  const Op& op = graph_.op(v);
  Tile t = operand(v, 0);
  const Free to = free_of(v);
  const Value x = op.operands[0];
  const Free from = fusion_.region_of[x] == region_ ? free_of(x) : Free{t.packed.count, Strided{0, t.dims}.shape()};
  if (op.code == OpCode::slice && spread_of(v)) {  // some of the partitions
    const std::int64_t n = spread_of(v)->partitions;
    t.offset += op.ints("starts").back() * t.storage.dim(1);
    t.rows = n;
    return t;
  }
  Strided s{0, spread({0, t.dims}, from.dims).dims};
  std::optional<Strided> out;
  switch (op.code) {
    case OpCode::reshape:
      out = reshaped(s, to.dims);
      break;
    case OpCode::transpose:
      out = permuted(s, op.ints("perm"));
      break;
    case OpCode::broadcast_to:
      out = spread(s, to.dims);
      break;
    default: {
      Ints starts = op.ints("starts"), steps = op.ints("steps");
      out = sliced(s, starts, to.dims, steps);
    }
  }
  if (!out) {
    const Tile dst = new_tile(k_, Memory::sbuf, rows_, from, t.dtype());
    copy(dst, t, from);
    t = dst;
    out = reshaped({0, t.dims}, to.dims);
    KILN_ASSERT(out.has_value());
  }
  t.offset += out->offset;
  t.dims = out->dims;
  return t;
}

// Each part is computed where it belongs in the whole.
Tile RegionEmitter::join(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Tile dst = target(v, into);
  const auto axis = static_cast<std::size_t>(op.integer("axis"));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Value x = op.operands[i];
    Free free = free_of(v);
    free.dims[axis] = graph_.type(x).shape[axis];
    Tile part = dst;
    if (spread_of(v)) {  // parts lie on partitions that follow each other
      part.rows = graph_.type(x).shape[axis];
      part.offset += at * dst.storage.dim(1);
      free.dims[axis] = 1;
      at += part.rows;
    } else {
      part.offset += at * dst.dims[axis].stride;
      part.dims[axis].count = free.dims[axis];
      at += free.dims[axis];
    }
    if (free.count() == 0) continue;
    if (const auto number = splat_of(graph_, x))
      fill(part, free, *number);
    else if (fusion_.region_of[x] == region_ && uses_[x] == 1 && !find(x) && !is_view(graph_.op(x).code))
      value(x, &part);
    else if (!load_into(v, i, part))
      copy(part, operand(v, i), free);
  }
  return dst;
}

void RegionEmitter::copy(const Tile& dst, const Tile& src, const Free& free) {
  using Evacuate = RegionOptions::Evacuate;
  const bool shared = options_.evacuate == Evacuate::shared && src.in_psum() && arch_.features.scalar_tensor_ops;
  over(k_, {dst, src}, free, [&](const Views& t) {
    const int last = t[0].rank() - 1;
    const std::int64_t n = t[0].dim(last), half = n / 2;
    if (shared && n >= kSharedFrom) {
      k_.tensor_copy({.dst = t[0].slice(last, 0, half), .src = t[1].slice(last, 0, half), .engine = Engine::scalar});
      k_.tensor_copy({.dst = t[0].slice(last, half, n - half), .src = t[1].slice(last, half, n - half)});
      return;
    }
    k_.tensor_copy({.dst = t[0], .src = t[1], .engine = src.in_psum() ? evacuator() : Engine::unknown});
  });
}

void RegionEmitter::fill(const Tile& dst, const Free& free, double x) {
  const isa::Operand number = is_float(dst.dtype()) ? isa::Operand(x) : isa::Operand(static_cast<std::int64_t>(x));
  over(k_, {dst}, free, [&](const Views& t) { k_.memset({.dst = t[0], .value = number}); });
}

Tile RegionEmitter::in_sbuf(const Tile& t, const Free& free) {
  if (!t.in_psum()) return t;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, free, t.dtype());
  copy(out, t, free);
  return out;
}

Tile RegionEmitter::in_dtype(const Tile& t, const Free& free, DType dtype) {
  if (t.dtype() == dtype) return t;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, free, dtype);
  copy(out, t, free);
  return out;
}

}  // namespace kiln::tensor
