// Factors and summands: what a norm does to its elements last, (x - mean) * scale * gain + bias, as one factor and one
// summand for each row, or for each of a few segments of it: such as the channels of a group, several of which lie on a
// partition.
#include <algorithm>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

namespace {
constexpr std::int64_t kMostSegments = 32, kShortestSegment = 256;

bool is_linear(AluOp op) { return op == AluOp::add || op == AluOp::subtract || op == AluOp::multiply; }
}  // namespace

// How many segments of v an operand from HBM has one value for, each of them a run of elements; 0: it is none such.
std::int64_t RegionEmitter::segments_of(Value v, std::size_t operand) const {
  const Value x = graph_.op(v).operands[operand];
  const auto load = layout_.load_of.find({v, static_cast<int>(operand)});
  if (load == layout_.load_of.end() || layout_.packed != 1 || columns_ || !is_float(graph_.type(x).dtype)) return 0;
  const Dims& own = layout_.loads[load->second].free;
  const Shape whole = free_of(v).dims;
  if (own.size() > whole.size()) return 0;
  std::int64_t run = 1, segments = 1;
  for (std::size_t d = whole.size(); d-- > 0;) {
    const std::size_t skip = whole.size() - own.size();
    const bool varies = d >= skip && own[d - skip].count > 1 && own[d - skip].stride != 0;
    if (segments == 1 && !varies)
      run *= whole[d];
    else
      segments *= whole[d];
    if (segments > 1 && !varies && whole[d] > 1) return 0;
  }
  return segments > 1 && segments <= kMostSegments && run >= kShortestSegment ? segments : 0;
}

// The steps that lead to v, the last one first, as far as they are linear in what they are made of. Of 32-bit floats
// no more than an instruction takes: a mean that is subtracted first loses fewer bits.
std::optional<RegionEmitter::Linear> RegionEmitter::linear_of(Value v) const {
  if (layout_.packed != 1) return std::nullopt;  // several rows follow each other on a partition
  const bool is_short = size_bytes(graph_.type(v).dtype) == 2;
  const std::size_t most = is_short ? 8 : 2;
  Linear out;
  const auto is_taken = [&](Value x) {  // by the one op that reads it
    return fusion_.region_of[x] == region_ && uses_[x] == 1 && !find(x) && !made_by_moments(x);
  };
  std::vector<Value> casts;  // that stand before the next step
  for (Value at = v; out.steps.size() < most;) {
    const Op& op = graph_.op(at);
    if (op.code == OpCode::cast && !out.steps.empty() && is_float(graph_.type(op.operands[0]).dtype) &&
        is_float(op.type.dtype)) {
      casts.push_back(at);
      at = op.operands[0];
      if (!is_taken(at)) break;
      continue;
    }
    if (!is_elementwise(op.code) || !is_float(working_dtype(graph_, op)) || op.operands.size() != 2) break;
    const Lowering& lowering = info(op.code).lowering;
    if (lowering.kind != Lowering::Kind::alu || !is_linear(lowering.alu)) break;
    std::optional<LinearStep> step;
    for (const int i : {1, 0}) {
      const Value data = op.operands[1 - i];
      if (graph_.type(data).shape != op.type.shape || splat_of(graph_, data)) continue;
      const std::int64_t segments = is_column(op.operands[i]) ? 1 : segments_of(at, static_cast<std::size_t>(i));
      if (segments == 0 || (segments > 1 && out.segments > 1 && segments != out.segments)) continue;
      step = LinearStep{at, lowering.alu, i};
      out.segments = std::max(out.segments, segments);
      break;
    }
    if (!step) break;
    out.steps.push_back(*step);
    out.consumed.insert(out.consumed.end(), casts.begin(), casts.end());
    if (at != v) out.consumed.push_back(at);
    casts.clear();
    at = op.operands[1 - step->scalar_at];
    if (!is_taken(at)) break;
  }
  const bool is_worth =
      out.segments > 1 || (is_short && out.steps.size() > 2 && free_of(v).count() >= kShortestSegment);
  return is_worth ? std::optional(out) : std::nullopt;
}

// a op b, where each has one value for the row or one for each segment.
Tile RegionEmitter::of_segments(const Tile& a, const Tile& b, AluOp op) {
  const bool first = a.count() >= b.count();
  const Tile &wide = first ? a : b, &other = first ? b : a;
  const std::int64_t n = wide.count();
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, DType::float32);
  const isa::View dst = view_of(out, {{1, n}}), data = view_of(wide, {{1, n}});
  if (other.count() == n)
    k_.tensor_tensor({.dst = dst,
                      .data1 = view_of(a, {{1, n}}),
                      .data2 = view_of(b, {{1, n}}),
                      .op = op,
                      .engine = pair_engine(out, a, b)});
  else
    k_.tensor_scalar({.dst = dst, .data = data, .op0 = op, .operand0 = column_of(other), .reverse0 = !first});
  return out;
}

Tile RegionEmitter::scaled_and_shifted(Value v, const Linear& linear, const Tile* into) {
  const LinearStep& last = linear.steps.back();
  const auto data_at = static_cast<std::size_t>(1 - last.scalar_at);
  const Tile x = operand(last.op, data_at);
  std::optional<Tile> factor, summand;  // of what the steps so far are made of
  const auto tile_of = [&](const LinearStep& s) {
    const Given g = given(s.op, static_cast<std::size_t>(s.scalar_at));
    if (g.number) return number_tile(*g.number);
    Tile t = g.tile;
    const std::int64_t n = is_column(graph_.op(s.op).operands[s.scalar_at]) ? 1 : linear.segments;
    Dims own;  // those that vary
    for (const isa::Dim& d : t.dims) {
      if (d.count > 1 && d.stride != 0) own.push_back(d);
    }
    std::vector<Dims> one{own};
    join_together(one);
    t.dims = one[0].empty() ? Dims{{1, 1}} : one[0];
    return in_dtype(in_sbuf(t, {1, {n}}), {1, {n}}, DType::float32);
  };
  const auto negative = [&](const Tile& t) { return of_segments(t, number_tile(-1), AluOp::multiply); };
  for (const LinearStep& s : linear.steps) {
    const Tile c = tile_of(s);
    const bool reverse = s.alu == AluOp::subtract && s.scalar_at == 0, minus = s.alu == AluOp::subtract && !reverse;
    if (s.alu == AluOp::multiply) {
      factor = factor ? of_segments(*factor, c, AluOp::multiply) : c;
      continue;
    }
    const Tile more = factor ? of_segments(c, *factor, AluOp::multiply) : c;
    if (summand)
      summand = of_segments(*summand, more, minus ? AluOp::subtract : AluOp::add);
    else
      summand = minus ? negative(more) : more;
    if (reverse) factor = factor ? negative(*factor) : number_tile(-1);
  }
  const Tile dst = target(v, into, last.op, data_at, x);
  scopes_.back().consumed.insert(linear.consumed.begin(), linear.consumed.end());
  const Free free = free_of(v);
  const std::int64_t run = free.count() / linear.segments;
  const auto part = [&](const Tile& t, std::int64_t segment) {
    Tile out = t;
    std::int64_t left = linear.segments;
    for (isa::Dim& d : out.dims) {  // the outer ones are those of segments
      if (left == 1) break;
      left /= d.count;
      out.offset += segment / left * d.stride;
      segment %= left;
      d.count = 1;
    }
    return out;
  };
  const auto at = [&](const Tile& t, std::int64_t segment) {
    return t.storage.ap({{t.storage.dim(1), rows_}, {1, 1}},
                        t.offset + (t.count() == 1 ? 0 : segment * t.dims[0].stride));
  };
  for (std::int64_t s = 0; s < linear.segments; ++s) {
    Free of_part{1, {run}};
    of_part.dims = Strided{0, part(dst, s).dims}.shape();
    over(k_, {part(dst, s), part(x, s)}, of_part, [&](const std::vector<isa::View>& t) {
      isa::tensor_scalar_args args{.dst = t[0], .data = t[1]};
      args.op0 = factor ? AluOp::multiply : AluOp::add;
      args.operand0 = at(factor ? *factor : *summand, s);
      if (factor && summand) args.op1 = AluOp::add, args.operand1 = at(*summand, s);
      args.engine = factor_engine(dst, args.op0, false);
      k_.tensor_scalar(args);
    });
  }
  return dst;
}

}  // namespace kiln::tensor
