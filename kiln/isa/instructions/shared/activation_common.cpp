#include "kiln/isa/instructions/shared/activation_common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kiln/isa/semantics/bfloat16_walk.h"
#include "kiln/isa/semantics/box.h"

namespace kiln::isa {
namespace {
using namespace activation_rules;

void check_bias_and_scale(Check& c, const ActivationParams& p) {
  const std::int64_t rows = c.partitions(p.data);
  const bool immediate_bias = c.arch().features.scalar_immediate_bias;
  if (c.is_tile(p.bias)) {
    c.require(kBiasColumn, c.is_column(p.bias, rows), p.bias);
    c.require(kBiasDtype, c.dtype(p.bias) != DType::tfloat32, p.bias);
  } else if (c.has(p.bias)) {
    c.require(kBiasTile, immediate_bias, p.bias, [&] { return fmt::format("bias is {}", c.real(p.bias)); });
  }
  if (c.is_tile(p.scale)) c.require(kScaleColumn, c.is_column(p.scale, rows), p.scale);
  c.require(kReciprocalBias, immediate_bias || c.act(p.op) != ActFn::reciprocal || !c.has(p.bias),
            [&] { return "op is reciprocal and bias is given"; });
  c.advise(kCopyBias, immediate_bias || c.act(p.op) != ActFn::copy || !c.has(p.bias),
           [&] { return "op is copy and bias is given"; });
}

}  // namespace

void check_activation(Check& c, const ActivationParams& p, const Rule& reduce_op_rule) {
  c.require(kSameShape, c.same_shape(p.dst, p.data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(p.dst)), shape_text(c.access(p.data)));
  });
  check_bias_and_scale(c, p);
  c.require(kNotPrelu, c.act(p.op) != ActFn::prelu, p.op, [&] { return "op is prelu"; });
  c.require(reduce_op_rule, !c.has(p.reduce_op) || c.alu(p.reduce_op) == AluOp::add, p.reduce_op,
            [&] { return fmt::format("reduce_op is {}", name(c.alu(p.reduce_op))); });
  if (c.has(p.reduce_res)) c.require(kReduceResColumn, c.is_column(p.reduce_res, c.partitions(p.dst)), p.reduce_res);
  c.require(kScatterIntoSbuf, !(c.is_indirect(p.dst) && c.in_psum(p.dst)), p.dst,
            [&] { return "dst is indirect and in PSUM"; });
}

namespace {

// A copy without a bias into a tile without gaps, as sums with 0 that are made while the elements are transposed. False
// for others, where there is a NaN, or when the run is the definition; then all is still to be done.
bool copy_transposed(const Run& r, const Tile& d, const Tile& x) {
  const bool asked = r.seen && r.seen->data == d.data;
  const std::uint32_t infinity = d.dtype == DType::float32 ? 0x7f800000u : 0x7f80u;
  if (&r.k != &fast_kernels() || &r.k == &plain_kernels() || (asked && r.seen->before.asked)) return false;
  if (d.dtype != x.dtype || (d.dtype != DType::float32 && d.dtype != DType::bfloat16) || !d.is_dense()) return false;
  std::optional<Box> box = box_between(d, x);
  if (!box) return false;
  const std::optional<std::uint32_t> largest =
      box->move_numbers(r.k, static_cast<int>(d.element_bytes()), x.data, d.data);
  if (!largest || *largest > infinity) return false;
  if (asked) {
    r.seen->largest = std::max(r.seen->largest, *largest);
    r.seen->elements += d.count();
  }
  return true;
}

// A copy, and one of bfloat16 with a bias or without one, as a sum.
bool run_copy(const Run& r, const ActivationParams& p, ReduceCmd cmd) {
  const bool is_scaled = r.is_tile(p.scale) || r.column(p.scale, 0, 1.0f) != 1.0f;
  if (r.act(p.op) != ActFn::copy || is_scaled || state_of(r, kActRegisters, cmd, p.reduce_res)) return false;
  if (!r.has(p.bias) && copy_transposed(r, r.tile(p.dst), r.tile(p.data))) return true;
  const Walk walk = r.is_tile(p.bias) ? Walk::by_row : Walk::anyhow;
  return map_bfloat16(r, r.tile(p.dst), {&r.tile(p.data)}, walk, [&](const Bfloat16Chunk& c) {
    return r.k.alu_bfloat16(AluOp::add, {c.in[0]}, {nullptr, r.column(p.bias, c.row, 0.0f)}, c.out, c.n);
  });
}

// Whether the hardware's results are valid for a piece.
bool stays_valid(const Run& r, ActFn fn, const RowChunk& c, float scale, float bias) {
  const ActInfo& row = info(fn);
  return r.k.stays_within(static_cast<float>(row.lo), static_cast<float>(row.hi), row.range == ActRange::magnitude,
                          c.in[0], scale, bias, c.n);
}

// The same of all elements of a tile without gaps, before any is computed: then a row need not be looked at by itself.
bool all_stay_valid(const Run& r, ActFn fn, const Tile& x, float scale, float bias) {
  if (!x.is_dense() || is_wide_integer(x.dtype)) return false;
  alignas(64) float scratch[kChunk];
  for (std::size_t first = 0, all = x.count(); first < all; first += kChunk) {
    RowChunk chunk{0, 0, std::min(kChunk, all - first), {scratch}, nullptr};
    const std::byte* at = x.data + first * x.element_bytes();
    if (x.dtype == DType::float32) {
      chunk.in[0] = reinterpret_cast<const float*>(at);
    } else {
      r.k.load(x.dtype, at, 1, chunk.n, scratch);
    }
    if (!stays_valid(r, fn, chunk, scale, bias)) return false;
  }
  return true;
}

}  // namespace

void run_activation(Run& r, const ActivationParams& p, ReduceCmd cmd) {
  const ActFn fn = r.act(p.op);
  const bool anywhere = info(fn).range == ActRange::all, differs = r.is_tile(p.scale) || r.is_tile(p.bias);
  alignas(64) float between[kChunk];       // not dst, which bias may be
  bool is_told = anywhere || !r.warnings;  // that an input is outside the range, which is told once
  if (run_copy(r, p, cmd)) return;
  if (!is_told && !differs)
    is_told = all_stay_valid(r, fn, r.tile(p.data), r.column(p.scale, 0, 1.0f), r.column(p.bias, 0, 0.0f));
  const auto body = [&](const RowChunk& c) {
    if (!(c.width && differs)) {
      const float s = r.column(p.scale, c.row, 1.0f), b = r.column(p.bias, c.row, 0.0f);
      if (is_told || stays_valid(r, fn, c, s, b))
        return c.tell(r.k.scaled_activation(fn, c.in[0], s, b, 0.0f, c.out, c.n));
      is_told = true;
    }
    apply_operand(r, AluOp::multiply, false, c, c.in[0], p.scale, between, 1.0f);
    apply_operand(r, AluOp::add, false, c, between, p.bias, c.out, 0.0f);
    apply_activation(r, activation_rules::kInputRange, fn, 0.0f, c);
  };
  const Walk walk = is_told && !differs ? Walk::anyhow : Walk::by_rows;
  map_and_reduce(r, p.reduction(cmd), {&r.tile(p.data)}, body, walk);
}

Cost cost_activation(const CostQuery& q, const ActivationParams& p) {
  const double read_out = q.has(p.reduce_res) ? q.spec().min_interval_cycles : 0;
  return {.cycles = q.stream(static_cast<double>(q.free_size(p.data))) + read_out};
}

namespace {

std::string bound(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5 ? fmt::format("2^{}", exponent - 1) : fmt::format("{:.6g}", value);
}

// Where the hardware's result is valid, for the user.
std::string range_text(const ActInfo& fn) {
  return fmt::format("valid {}from {} to {}", fn.range == ActRange::magnitude ? "for magnitudes " : "", bound(fn.lo),
                     bound(fn.hi));
}

}  // namespace

void apply_activation(const Run& r, const Rule& rule, ActFn fn, float param, const RowChunk& c) {
  float* x = c.out;
  const ActInfo& row = info(fn);
  if (row.range != ActRange::all && r.warnings) {
    const bool magnitude = row.range == ActRange::magnitude;
    const auto low = static_cast<float>(row.lo), high = static_cast<float>(row.hi);
    int outside = 0;  // counted without a branch: this runs on every element
    for (std::size_t i = 0; i < c.n; ++i) {
      const float v = magnitude ? std::fabs(x[i]) : x[i];
      outside += !((v >= low) & (v <= high));
    }
    for (std::size_t i = 0; outside && i < c.n; ++i) {
      if (in_range(fn, x[i])) continue;
      r.warn(rule, fmt::format("{}({}) in row {}; {}", name(fn), x[i],
                               c.row + (c.width ? static_cast<std::int64_t>(i) / c.width : 0), range_text(row)));
      break;
    }
  }
  c.tell(r.k.activation(fn, x, param, x, c.n));
}

int table_of(ActFn fn) {
  switch (fn) {
    case ActFn::copy:
    case ActFn::square:
    case ActFn::relu:
    case ActFn::prelu:
    case ActFn::abs:
    case ActFn::sign:
      return -1;
    default:
      return static_cast<int>(fn);
  }
}

}  // namespace kiln::isa
