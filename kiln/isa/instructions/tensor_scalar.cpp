#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/bfloat16_walk.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/grid.h"
#include "kiln/isa/semantics/rows.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/isa/text/text_words.h"

namespace kiln::isa::instruction::tensor_scalar {
namespace {
using namespace args::tensor_scalar;

constexpr Rule kSameShape{1, words::kDataAndDstShape};
constexpr Rule kOneKind{2, "op0 and op1 are both bit operators or both arithmetic",
                        "use two instructions, one for each kind"};
constexpr Rule kOperandGiven{3, "an operator of two operands has its operand, and operand1 comes with op1",
                             "give op0 and operand0, op1 and operand1 together"};
constexpr Rule kUnaryOperand{4, "the operand of a unary operator is None or 0", "pass None"};
constexpr Rule kOperandColumn{5, "an operand is a number, or a tile with one value per partition",
                              "slice the operand to (P, 1)"};
constexpr Rule kOperandDtype{6, "the operand tiles of arithmetic are float32", "convert the operand with tensor_copy"};
constexpr Rule kBitIntegers{7,
                            "bit operators take integers of one width: data, dst, operand tiles, and integer numbers",
                            "view the tiles as integers of the same width, and pass integer numbers: 3, not 3.0"};
constexpr Rule kBitEngine{8, words::kBitEngine};
constexpr Rule kGeneration{9, "the operators exist on the target's generation",
                           "abs_max, abs_min, square and relu need trn3"};
constexpr Rule kFirstOnly{10, "abs_max, abs_min, square and relu are op0, never op1",
                          "make it op0, or use two instructions"};
constexpr Rule kScalarEngine{11,
                             "the scalar engine runs this from gen3 on, as multiply and add, multiply, or add; with "
                             "subtract for add from gen4 on",
                             "leave engine out"};
constexpr Rule kGpsimdOperators{
    12, "rsqrt and power run on gpsimd, alone or with add and multiply, and gpsimd runs nothing without them",
    "leave engine out, and split the instruction when other operators are involved"};
constexpr Rule kExactDirect{13, "exact 32-bit integer arithmetic takes no indirect operands",
                            "copy the gathered data first, or write the numbers as floats", Mark::undocumented};
constexpr Rule kScatterIntoSbuf{14, words::kScalarEngineScatter};
constexpr Rule kKnownOperator{15, "op0 and op1 are operators of this instruction: not bypass, not average",
                              "leave op1 out, or use tensor_partition_reduce for average"};
constexpr Rule kNumberWidth{
    16, "the number of a bit operator or of exact integer arithmetic fits the width of the elements",
    "use a number between -2^(width - 1) and 2^width - 1", Mark::undocumented};

constexpr Rule kRules[] = {kSameShape,     kOneKind,         kOperandGiven,  kUnaryOperand,
                           kOperandColumn, kOperandDtype,    kBitIntegers,   kBitEngine,
                           kGeneration,    kFirstOnly,       kScalarEngine,  kGpsimdOperators,
                           kExactDirect,   kScatterIntoSbuf, kKnownOperator, kNumberWidth};

// One of the two steps: operator, operand, whether the operand stands on the left.
struct Step {
  int op, operand, reverse;
};
constexpr Step kSteps[] = {{op0, operand0, reverse0}, {op1, operand1, reverse1}};
std::span<const Step> steps(const InstView& v) { return std::span(kSteps).first(v.has(op1) ? 2 : 1); }

bool runs_on_gpsimd_only(AluOp op) { return op == AluOp::rsqrt || op == AluOp::power; }
bool needs_gpsimd(const InstView& v) {
  return std::ranges::any_of(steps(v), [&](Step s) { return runs_on_gpsimd_only(v.alu(s.op)); });
}
bool is_int32(DType t) { return is_integer(t) && size_bytes(t) == 4; }

// The address pattern: 32-bit integers with integer numbers are exact.
bool is_exact(const InstView& v) {
  return is_int32(v.dtype(data)) && is_int32(v.dtype(dst)) && std::ranges::all_of(steps(v), [&](Step s) {
           return v.is_integer(s.operand) && v.alu(s.op) >= AluOp::add && v.alu(s.op) <= AluOp::minimum;
         });
}

Engine choose_engine(const InstView& v, const Arch&) { return needs_gpsimd(v) ? Engine::gpsimd : Engine::vector; }

void check_step(Check& c, Step s) {
  const AluInfo& alu = info(c.alu(s.op));
  const std::string_view operand = c.row().params[s.operand].name;
  const auto op_found = [&] { return fmt::format("{} is {}", c.row().params[s.op].name, alu.name); };
  const auto number = [&] { return fmt::format("{} is {}", operand, c.real(s.operand)); };
  c.require(kKnownOperator, alu.cls != AluClass::bypass && c.alu(s.op) != AluOp::average, op_found);
  c.require(kGeneration, c.arch().generation >= alu.first_generation || alu.cls == AluClass::bypass, op_found);
  if (is_unary(c.alu(s.op))) {
    c.require(kUnaryOperand, !c.has(s.operand) || (!c.is_tile(s.operand) && c.real(s.operand) == 0),
              [&] { return c.is_tile(s.operand) ? c.describe(s.operand) : number(); });
    return;
  }
  c.require(kOperandGiven, c.has(s.operand), [&] { return fmt::format("{} without {}", alu.name, operand); });
  if (c.is_tile(s.operand)) {
    c.require(kOperandColumn, c.is_column(s.operand, c.partitions(data)), s.operand);
    c.require(kOperandDtype, is_bitvec(c.alu(s.op)) || c.dtype(s.operand) == DType::float32, s.operand);
  } else if (c.is_integer(s.operand) && (is_bitvec(c.alu(s.op)) || is_exact(c))) {
    const int width = 8 * size_bytes(c.dtype(data));
    c.require(
        kNumberWidth,
        c.integer(s.operand) >= -(std::int64_t{1} << (width - 1)) && c.integer(s.operand) < (std::int64_t{1} << width),
        number);
  }
}

void check_bits(Check& c) {
  const auto is_same = [&](DType t) { return is_integer(t) && size_bytes(t) == size_bytes(c.dtype(data)); };
  c.require(kBitIntegers, is_same(c.dtype(data)) && is_same(c.dtype(dst)),
            [&] { return fmt::format("data is {}, dst is {}", name(c.dtype(data)), name(c.dtype(dst))); });
  for (const Step& s : steps(c)) {
    if (c.is_tile(s.operand)) {
      c.require(kBitIntegers, is_same(c.dtype(s.operand)), s.operand);
    } else if (c.has(s.operand) && !is_unary(c.alu(s.op))) {
      c.require(kBitIntegers, c.is_integer(s.operand),
                [&] { return fmt::format("the operand is {}", real_text(c.real(s.operand))); });
    }
  }
  c.require(kBitEngine, c.engine() == Engine::vector, engine,
            [&] { return fmt::format("engine is {}", name(c.engine())); });
}

bool scalar_engine_has(const Check& c) {
  const auto is_sum = [&](AluOp op) {
    return op == AluOp::add || (op == AluOp::subtract && c.arch().features.scalar_subtract);
  };
  if (c.alu(op0) == AluOp::multiply) return !c.has(op1) || is_sum(c.alu(op1));
  return is_sum(c.alu(op0)) && !c.has(op1);
}

// Of floats: integers stay exact only on the vector engine.
bool is_multiply_add(const InstView& v) {
  if (!is_float(v.dtype(data)) || !is_float(v.dtype(dst))) return false;
  if (v.alu(op0) == AluOp::multiply) return !v.has(op1) || (v.alu(op1) == AluOp::add);
  return !v.has(op1) && (v.alu(op0) == AluOp::add || v.alu(op0) == AluOp::subtract);
}

bool gpsimd_has(const Check& c) {
  return needs_gpsimd(c) && std::ranges::all_of(steps(c), [&](Step s) {
           return info(c.alu(s.op)).engines.find("gpsimd") != std::string_view::npos;
         });
}

void check_engine(Check& c) {
  const auto found = [&] {
    return fmt::format("{}{}{} on the {} engine", name(c.alu(op0)), c.has(op1) ? " and " : "",
                       c.has(op1) ? name(c.alu(op1)) : "", name(c.engine()));
  };
  if (c.engine() == Engine::scalar) {
    c.require(kScalarEngine, c.arch().features.scalar_tensor_ops && scalar_engine_has(c), found);
    c.require(kScatterIntoSbuf, !(c.is_indirect(dst) && c.in_psum(dst)), dst,
              [&] { return "dst is indirect and in PSUM"; });
  }
  c.require(kGpsimdOperators,
            c.engine() == Engine::gpsimd ? gpsimd_has(c) : c.engine() == Engine::scalar || !needs_gpsimd(c), found);
}

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  c.require(kOperandGiven, c.has(op1) || !c.has(operand1), [] { return "operand1 without op1"; });
  for (const Step& s : steps(c)) check_step(c, s);
  const bool bits = is_bitvec(c.alu(op0));
  if (c.has(op1)) {
    c.require(kOneKind, bits == is_bitvec(c.alu(op1)),
              [&] { return fmt::format("{} and {}", name(c.alu(op0)), name(c.alu(op1))); });
    const AluInfo& second = info(c.alu(op1));
    c.require(kFirstOnly, second.first_generation < 4 || second.cls == AluClass::bypass, op1,
              [&] { return fmt::format("op1 is {}", second.name); });
  }
  if (bits) return check_bits(c);
  check_engine(c);
  c.require(kExactDirect, !is_exact(c) || !(c.is_indirect(data) || c.is_indirect(dst)),
            [&] { return fmt::format("{} is indirect", c.is_indirect(data) ? "data" : "dst"); });
}

std::uint32_t operand_bits(Run& r, int operand, std::int64_t row) {
  std::uint32_t bits = static_cast<std::uint32_t>(r.integer(operand));
  if (r.is_tile(operand)) load_row_bits(r, r.tile(operand), row, 0, 1, &bits);
  return bits;
}

// Dense tiles are one long row where numbers are all that comes in besides.
void join_rows(const Run& r, Tile& d, Tile& in) {
  if (d.is_dense() && in.is_dense() && !r.is_tile(operand0) && !r.is_tile(operand1)) flatten(d), flatten(in);
}

// Narrow elements without gaps and operators that keep to their bits: words of 32 bits, where a number stands as often
// as it fits. False for others.
bool run_bit_words(const Run& r, const Tile& d, const Tile& in) {
  const auto keeps_to_bits = [&](const Step& s) {
    return !r.is_tile(s.operand) && r.alu(s.op) >= AluOp::invert && r.alu(s.op) <= AluOp::bitwise_xor;
  };
  const std::int64_t size = in.element_bytes(), words = d.count() * size / 4;
  if (size == 4 || d.count() * size % 4 != 0 || !d.is_dense() || !in.is_dense()) return false;
  if (!std::ranges::all_of(steps(r), keeps_to_bits)) return false;
  alignas(64) std::uint32_t x[kChunk];
  for (std::int64_t first = 0; first < words; first += kChunk) {
    const std::size_t n = std::min<std::size_t>(kChunk, words - first);
    std::memcpy(x, in.data + 4 * first, 4 * n);
    for (const Step& s : steps(r)) {
      const std::uint32_t ones = size == 1 ? 0x01010101u : 0x00010001u, element = 0xffffffffu >> (32 - 8 * size);
      r.k.bits_vs(r.alu(s.op), 32, x, (static_cast<std::uint32_t>(r.integer(s.operand)) & element) * ones, false, x, n);
    }
    std::memcpy(d.data + 4 * first, x, 4 * n);
  }
  return true;
}

// Bit operators work on raw elements.
void run_bits(Run& r) {
  Tile d = r.tile(dst), in = r.tile(data);
  if (run_bit_words(r, d, in)) return;
  join_rows(r, d, in);
  const int width = 8 * size_bytes(in.dtype);
  const std::uint32_t mask = 0xffffffffu >> (32 - width);
  alignas(64) std::uint32_t x[kChunk];
  for (std::int64_t row = 0; row < d.rows; ++row) {
    for (std::int64_t first = 0; first < d.free_size; first += kChunk) {
      const std::size_t n = std::min<std::size_t>(kChunk, d.free_size - first);
      load_row_bits(r, in, row, first, n, x);
      for (const Step& s : steps(r))
        r.k.bits_vs(r.alu(s.op), width, x, operand_bits(r, s.operand, row) & mask, r.boolean(s.reverse), x, n);
      store_row_bits(r, d, row, first, n, x);
    }
  }
}

// Exact 32-bit integers with numbers.
void run_exact(Run& r) {
  Tile d = r.tile(dst), in = r.tile(data);
  join_rows(r, d, in);
  const bool is_signed = in.dtype == DType::int32;
  constexpr auto kMost = static_cast<std::int64_t>(kChunk);
  alignas(64) std::uint32_t x[kChunk], numbers[2][kChunk];
  for (std::size_t i = 0; i < steps(r).size(); ++i)
    std::fill_n(numbers[i], std::min(kMost, d.count()), static_cast<std::uint32_t>(r.integer(kSteps[i].operand)));
  const auto apply = [&](const std::uint32_t* in, std::uint32_t* out, std::size_t n) {
    for (std::size_t i = 0; i < steps(r).size(); ++i) {
      const std::uint32_t *left = i == 0 ? in : out, *right = numbers[i];
      if (r.boolean(kSteps[i].reverse)) std::swap(left, right);
      r.k.int_vv(r.alu(kSteps[i].op), is_signed, left, right, out, n);
    }
  };
  const std::int64_t rows = std::max<std::int64_t>(kMost / d.free_size, 1);  // short ones at a time
  Rows to(r, d), from(r, in);
  for (std::int64_t row = 0; rows > 1 && row < d.rows; row += rows) {
    const std::int64_t count = std::min(rows, d.rows - row);
    std::uint32_t* const in_place = to.bits(row);
    apply(from.load_bits(row, count, x), in_place ? in_place : x, count * d.free_size);
    if (!in_place) to.store_bits(row, count, x);
  }
  for (std::int64_t row = 0; rows == 1 && row < d.rows; ++row) {
    for (std::int64_t first = 0; first < d.free_size; first += kMost) {
      const std::size_t n = std::min(kMost, d.free_size - first);
      load_row_bits(r, in, row, first, n, x);
      apply(x, x, n);
      store_row_bits(r, d, row, first, n, x);
    }
  }
}

// Where the tiles lie.
bool run_grid(const Run& r) {
  GridInputs inputs(r);
  const bool twice = r.has(op1);
  const int x = inputs.add(r.tile(data)), first = inputs.add_operand(operand0);
  const int second = twice ? inputs.add_operand(operand1) : 0;
  const auto apply = [&](const Step& s, const GridPiece& p, FloatRows a, FloatRows b, float* out, std::ptrdiff_t step) {
    if (r.boolean(s.reverse)) std::swap(a, b);
    return r.k.alu_rows(r.alu(s.op), a, b, out, step, p.rows, p.n);
  };
  alignas(64) float between[kChunk];  // stays in the first cache, and dst may be an operand
  return map_grid(r, r.tile(dst), inputs.tiles(), twice ? kChunk : kAnyPiece, [&](const GridPiece& p) {
    const FloatRows a = inputs.of(p, x), b = inputs.of(p, first);
    if (!twice) return apply(kSteps[0], p, a, b, p.out, p.out_step);
    const auto step = static_cast<std::ptrdiff_t>(p.n);
    apply(kSteps[0], p, a, b, between, step);
    return apply(kSteps[1], p, {between, step, false}, inputs.of(p, second), p.out, p.out_step);
  });
}

// One operator on bfloat16.
bool run_bfloat16(const Run& r) {
  if (r.has(op1)) return false;
  const Walk walk = r.is_tile(operand0) ? Walk::by_row : Walk::anyhow;
  return map_bfloat16(r, r.tile(dst), {&r.tile(data)}, walk, [&](const Bfloat16Chunk& c) {
    Bfloat16Row a{c.in[0]}, b{nullptr, r.column(operand0, c.row)};
    if (r.boolean(kSteps[0].reverse)) std::swap(a, b);
    return r.k.alu_bfloat16(r.alu(op0), a, b, c.out, c.n);
  });
}

void run(Run& r) {
  if (is_bitvec(r.alu(op0))) return run_bits(r);
  if (is_exact(r)) return run_exact(r);
  if (run_grid(r) || run_bfloat16(r)) return;
  const Walk walk = r.is_tile(operand0) || r.is_tile(operand1) ? Walk::by_rows : Walk::anyhow;
  const auto apply = [&](const Step& s, const RowChunk& c, const float* x, float* out) {
    return apply_operand(r, r.alu(s.op), r.boolean(s.reverse), c, x, s.operand, out);
  };
  alignas(64) float between[kChunk];  // stays in the first cache, and dst may be an operand
  map_rows(r, r.tile(dst), {&r.tile(data)}, walk, [&](const RowChunk& c) {
    if (!r.has(op1)) return c.tell(apply(kSteps[0], c, c.in[0], c.out));
    apply(kSteps[0], c, c.in[0], between);
    c.tell(apply(kSteps[1], c, between, c.out));
  });
}

constexpr double kGpsimdRate = 0.25;  // rsqrt takes four times as long as on the scalar engine

Cost cost(const CostQuery& q) {
  const double rate = q.engine() == Engine::gpsimd ? kGpsimdRate : q.copy_rate(dst, data);
  return {.cycles = q.stream(static_cast<double>(q.free_size(dst)), rate)};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "t = op0(data[p, f], operand0[p]), operands swapped with reverse0; dst[p, f] = cvt(op1(t, operand1[p])), "
        "swapped with reverse1, or cvt(t) without op1. t stays float32, one rounding per operator. add, subtract, "
        "multiply, maximum and minimum of 32-bit integers with integer numbers are exact and wrap; bit operators work "
        "on raw bits.",
    .engine = choose_engine,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text =
        "max(64, N / rate), one or two operators alike; rate up to 4 for 16-bit floats and 2 for float32 in SBUF from "
        "gen3 on; gpsimd: 150 + 4N",
    .facts = {.in_place = param_bit(data), .walks = true, .multiply_add = is_multiply_add},
};

}  // namespace kiln::isa::instruction::tensor_scalar
