#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/bfloat16_walk.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/grid.h"
#include "kiln/isa/semantics/rows.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::tensor_tensor {
namespace {
using namespace args::tensor_tensor;

constexpr Rule kNotBothPsum{1, "data1 and data2 are not both in PSUM",
                            "copy one of them to SBUF with tensor_copy first"};
constexpr Rule kSameShape{
    2, "data1, data2 and dst have the same number of partitions and of free elements",
    "slice or reshape the operands to one shape; a tile with one value per partition is operand0 of tensor_scalar, or "
    "here t.broadcast(1, n), a view of stride 0"};
constexpr Rule kTwoOperands{3, "op takes two operands", "apply unary operators with tensor_scalar or activation"};
constexpr Rule kBitIntegers{4, "a bit operator takes integers of one width on all three tiles",
                            "view the tiles as integers of the same width"};
constexpr Rule kBitEngine{5, words::kBitEngine};
constexpr Rule kPowerEngine{6, "power runs on gpsimd, with every tile in SBUF",
                            "copy PSUM tiles to SBUF, and leave engine out"};
constexpr Rule kGeneration{7, "the operator exists on the target's generation", "abs_max and abs_min need trn3"};

constexpr Rule kRules[] = {kNotBothPsum, kSameShape, kTwoOperands, kBitIntegers, kBitEngine, kPowerEngine, kGeneration};

bool is_int32(const InstView& v, int param) {
  return v.dtype(param) == DType::int32 || v.dtype(param) == DType::uint32;
}

// The operators that have an integer form; the others see float32.
bool has_integer_form(AluOp o) { return (o >= AluOp::add && o <= AluOp::minimum) || is_comparison(o); }

// All three tiles 32-bit integers: exact integer arithmetic, which gpsimd alone has.
bool all_int32(const InstView& v) { return is_int32(v, dst) && is_int32(v, data1) && is_int32(v, data2); }

Engine choose_engine(const InstView& v, const Arch&) {
  if (v.alu(op) == AluOp::power) return Engine::gpsimd;
  const bool psum = v.in_psum(dst) || v.in_psum(data1) || v.in_psum(data2);
  return all_int32(v) && !psum && !is_bitvec(v.alu(op)) ? Engine::gpsimd : Engine::vector;
}

void check(Check& c) {
  const AluInfo& alu = info(c.alu(op));
  c.require(kNotBothPsum, !(c.in_psum(data1) && c.in_psum(data2)), [&] { return "data1 and data2 are both in PSUM"; });
  c.require(kSameShape, c.same_shape(dst, data1) && c.same_shape(dst, data2), [&] {
    return fmt::format("dst is {}, data1 is {}, data2 is {}", shape_text(c.access(dst)), shape_text(c.access(data1)),
                       shape_text(c.access(data2)));
  });
  c.require(kTwoOperands, (alu.cls == AluClass::arith && c.alu(op) != AluOp::average) || alu.cls == AluClass::bitvec,
            op, [&] { return fmt::format("op is {}", alu.name); });
  if (is_bitvec(c.alu(op))) {
    const bool widths = size_bytes(c.dtype(data1)) == size_bytes(c.dtype(dst)) &&
                        size_bytes(c.dtype(data2)) == size_bytes(c.dtype(dst));
    c.require(kBitIntegers,
              is_integer(c.dtype(dst)) && is_integer(c.dtype(data1)) && is_integer(c.dtype(data2)) && widths, [&] {
                return fmt::format("{} on {} and {} into {}", alu.name, name(c.dtype(data1)), name(c.dtype(data2)),
                                   name(c.dtype(dst)));
              });
    c.require(kBitEngine, c.engine() == Engine::vector, engine,
              [&] { return fmt::format("engine is {}", name(c.engine())); });
  }
  if (c.alu(op) == AluOp::power)
    c.require(kPowerEngine, c.engine() == Engine::gpsimd && !c.in_psum(dst) && !c.in_psum(data1) && !c.in_psum(data2),
              [&] { return fmt::format("engine is {}, {}", name(c.engine()), c.describe(data1)); });
  c.require(kGeneration, c.arch().generation >= alu.first_generation,
            [&] { return fmt::format("{} needs gen{}", alu.name, alu.first_generation); });
}

// and, or, xor know nothing of elements: dense tiles are words of 32 bits.
bool run_words(const Run& r, const Tile& d, const Tile& a, const Tile& b) {
  const AluOp f = r.alu(op);
  const std::int64_t bytes = d.count() * d.element_bytes();
  const bool plain = f == AluOp::bitwise_and || f == AluOp::bitwise_or || f == AluOp::bitwise_xor;
  if (!plain || !d.is_dense() || !a.is_dense() || !b.is_dense() || bytes % 4 != 0) return false;
  const auto words = [](const Tile& t) { return reinterpret_cast<std::uint32_t*>(t.data); };
  r.k.bits_vv(f, 32, words(a), words(b), words(d), bytes / 4);
  return true;
}

// Bit operators and exact integers work on raw elements.
void run_bits(Run& r) {
  Tile d = r.tile(dst), a = r.tile(data1), b = r.tile(data2);
  if (run_words(r, d, a, b)) return;
  follow_memory(d, a, b);
  if (d.is_dense() && a.is_dense() && b.is_dense()) flatten(d), flatten(a), flatten(b);
  const int width = 8 * size_bytes(d.dtype);
  alignas(64) std::uint32_t x[kChunk], y[kChunk], z[kChunk];
  const auto apply = [&](const std::uint32_t* left, const std::uint32_t* right, std::uint32_t* out, std::size_t n) {
    is_bitvec(r.alu(op)) ? r.k.bits_vv(r.alu(op), width, left, right, out, n)
                         : r.k.int_vv(r.alu(op), a.dtype == DType::int32, left, right, out, n);
  };
  constexpr auto kMost = static_cast<std::int64_t>(kChunk);
  const std::int64_t rows = std::max<std::int64_t>(kMost / d.free_size, 1);  // short ones at a time
  Rows to(r, d), from_a(r, a), from_b(r, b);
  for (std::int64_t row = 0; rows > 1 && row < d.rows; row += rows) {
    const std::int64_t count = std::min(rows, d.rows - row);
    std::uint32_t* const in_place = to.bits(row);
    apply(from_a.load_bits(row, count, x), from_b.load_bits(row, count, y), in_place ? in_place : z,
          count * d.free_size);
    if (!in_place) to.store_bits(row, count, z);
  }
  for (std::int64_t row = 0; rows == 1 && row < d.rows; ++row) {
    for (std::int64_t first = 0; first < d.free_size; first += kMost) {
      const std::size_t n = std::min(kMost, d.free_size - first);
      load_row_bits(r, a, row, first, n, x);
      load_row_bits(r, b, row, first, n, y);
      apply(x, y, z, n);
      store_row_bits(r, d, row, first, n, z);
    }
  }
}

// Tiles of one dtype of 8 or 16 bits without gaps, as they are; false for others. Nobody asks of what magnitude
// integers are, and of floating-point numbers only when they are written, unless something is written over.
bool run_narrow(const Run& r, const Tile& d, const Tile& a, const Tile& b) {
  const AluOp f = r.alu(op);
  const bool is_choice =
      (f == AluOp::maximum || f == AluOp::minimum) && is_float(d.dtype) && !(r.seen && r.seen->before.asked);
  const bool fits = d.element_bytes() <= 2 && d.dtype != DType::bfloat16 && (is_choice || is_integer(d.dtype));
  if (!fits || a.dtype != d.dtype || b.dtype != d.dtype || !d.is_dense() || !a.is_dense() || !b.is_dense())
    return false;
  r.k.alu_narrow(f, d.dtype, a.data, b.data, d.data, d.count());
  return true;
}

void run(Run& r) {
  const bool exact_integers = r.engine() == Engine::gpsimd && all_int32(r) && has_integer_form(r.alu(op));
  if (is_bitvec(r.alu(op)) || exact_integers) return run_bits(r);
  Tile d = r.tile(dst), a = r.tile(data1), b = r.tile(data2);
  if (run_narrow(r, d, a, b)) return;
  follow_memory(d, a, b);
  if (map_pairs(r, d, a, b, [&](const PairPiece& p) {
        return r.k.alu_pairs(r.alu(op), p.in[0], p.in[1], p.out, p.out_step, p.rows, p.n, p.first_only);
      }))
    return;
  const GridInput inputs[] = {{&a}, {&b}};
  if (map_grid(r, d, inputs, kAnyPiece, [&](const GridPiece& p) {
        return r.k.alu_rows(r.alu(op), p.in[0], p.in[1], p.out, p.out_step, p.rows, p.n);
      }))
    return;
  if (map_bfloat16(r, d, {&a, &b}, Walk::anyhow, [&](const Bfloat16Chunk& c) {
        return r.k.alu_bfloat16(r.alu(op), {c.in[0]}, {c.in[1]}, c.out, c.n);
      }))
    return;
  map_rows(r, d, {&a, &b}, Walk::anyhow,
           [&](const RowChunk& c) { c.tell(r.k.alu_vv(r.alu(op), c.in[0], c.in[1], c.out, c.n)); });
}

// On every generation bfloat16 tiles without gaps take one cycle per element at most, for these operators.
bool is_simple_bfloat16(const CostQuery& q) {
  const auto plain = [&](int p) { return q.dtype(p) == DType::bfloat16 && q.has_unit_stride(p); };
  const AluOp f = q.alu(op);
  return plain(dst) && plain(data1) && plain(data2) &&
         (f == AluOp::add || f == AluOp::multiply || f == AluOp::subtract);
}

Cost cost(const CostQuery& q) {
  const double n = static_cast<double>(q.free_size(dst));
  if (q.engine() == Engine::gpsimd) return {.cycles = q.stream(n)};
  const double rate = q.two_input_rate(dst, data1, data2);
  return {.cycles = q.stream(n, is_simple_bfloat16(q) ? std::max(rate, 1.0) : rate)};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p, f] = cvt(op(data1[p, f], data2[p, f])) in float32; 32-bit integers are exact on gpsimd; bit operators "
        "work on raw bits.",
    .engine = choose_engine,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text =
        "vector: max(64, 2N), N with one input in PSUM and for bfloat16 without gaps; fast modes up to 2 elements per "
        "cycle from gen3 on; gpsimd: 150 + N",
    .facts = {.in_place = param_bit(data1) | param_bit(data2), .walks = true},
};

}  // namespace kiln::isa::instruction::tensor_tensor
