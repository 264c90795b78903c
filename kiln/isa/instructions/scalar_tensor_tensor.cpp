#include <fmt/format.h>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/grid.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::scalar_tensor_tensor {
namespace {
using namespace args::scalar_tensor_tensor;

constexpr Rule kNotBothPsum{1, "data and operand1 are not both in PSUM",
                            "copy one of them to SBUF with tensor_copy first"};
constexpr Rule kSameShape{2, "data, operand1 and dst have the same number of partitions and of free elements",
                          "slice the operands to one shape; broadcast in the free dimension with a stride-0 view"};
constexpr Rule kOperandColumn{3, "operand0 is a number, or a tile with one value per partition",
                              "slice operand0 to (P, 1)"};
constexpr Rule kNoBitOperators{4, "op0 and op1 are no bit operators", "use tensor_scalar and tensor_tensor for bits"};
constexpr Rule kVectorOperators{5, "op0 and op1 take two operands and run on the vector engine",
                                "use tensor_scalar for unary operators and tensor_tensor for power",
                                Mark::undocumented};
constexpr Rule kGeneration{6, words::kOperatorsGeneration};

constexpr Rule kRules[] = {kNotBothPsum, kSameShape, kOperandColumn, kNoBitOperators, kVectorOperators, kGeneration};

void check_operator(Check& c, int param) {
  const AluInfo& alu = info(c.alu(param));
  const auto found = [&] { return fmt::format("{} is {}", c.row().params[param].name, alu.name); };
  if (is_bitvec(c.alu(param))) return c.require(kNoBitOperators, false, found);
  if (alu.cls != AluClass::arith || alu.engines.find("vector") == std::string_view::npos)
    return c.require(kVectorOperators, false, found);
  c.require(kGeneration, c.arch().generation >= alu.first_generation, found);
}

void check(Check& c) {
  c.require(kNotBothPsum, !(c.in_psum(data) && c.in_psum(operand1)),
            [] { return "data and operand1 are both in PSUM"; });
  c.require(kSameShape, c.same_shape(dst, data) && c.same_shape(dst, operand1), [&] {
    return fmt::format("dst is {}, data is {}, operand1 is {}", shape_text(c.access(dst)), shape_text(c.access(data)),
                       shape_text(c.access(operand1)));
  });
  if (c.is_tile(operand0)) c.require(kOperandColumn, c.is_column(operand0, c.partitions(data)), operand0);
  check_operator(c, op0);
  check_operator(c, op1);
}

// Where the tiles lie.
bool run_grid(const Run& r) {
  GridInputs inputs(r);
  const int x = inputs.add(r.tile(data)), y = inputs.add(r.tile(operand1)), number = inputs.add_operand(operand0);
  alignas(64) float between[kChunk];  // not dst, which operand1 may be
  return map_grid(r, r.tile(dst), inputs.tiles(), kChunk, [&](const GridPiece& p) {
    const FloatRows a = inputs.of(p, x), b = inputs.of(p, number), c = inputs.of(p, y);
    const auto step = static_cast<std::ptrdiff_t>(p.n);
    const FloatRows first{between, step, false};
    const bool swap0 = r.boolean(reverse0), swap1 = r.boolean(reverse1);
    r.k.alu_rows(r.alu(op0), swap0 ? b : a, swap0 ? a : b, between, step, p.rows, p.n);
    return r.k.alu_rows(r.alu(op1), swap1 ? c : first, swap1 ? first : c, p.out, p.out_step, p.rows, p.n);
  });
}

void run(Run& r) {
  if (run_grid(r)) return;
  const AluOp first = r.alu(op0), second = r.alu(op1);
  const bool swap0 = r.boolean(reverse0), swap1 = r.boolean(reverse1);
  const Walk walk = r.is_tile(operand0) ? Walk::by_rows : Walk::anyhow;
  alignas(64) float between[kChunk];  // not dst, which operand1 may be
  map_rows(r, r.tile(dst), {&r.tile(data), &r.tile(operand1)}, walk, [&](const RowChunk& c) {
    apply_operand(r, first, swap0, c, c.in[0], operand0, between);
    c.tell(swap1 ? r.k.alu_vv(second, c.in[1], between, c.out, c.n) : r.k.alu_vv(second, between, c.in[1], c.out, c.n));
  });
}

// One input more than tensor_scalar: half the rate on gen2, except for the centre-and-scale of bfloat16.
Cost cost(const CostQuery& q) {
  const bool fast = q.dtype(data) == DType::bfloat16 && q.dtype(operand1) == DType::bfloat16 &&
                    q.alu(op0) == AluOp::subtract && q.alu(op1) == AluOp::multiply && q.free_size(dst) % 2 == 0;
  const double rate = fast || q.arch().features.vector_fast_modes ? 1.0 : 0.5;
  return {.cycles = q.stream(static_cast<double>(q.free_size(dst)), rate)};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "t = op0(data[p, f], operand0), operands swapped with reverse0; dst[p, f] = cvt(op1(t, operand1[p, f])), "
        "swapped with reverse1. All in float32, one rounding per operator.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text =
        "max(64, 2N) on gen2, max(64, N) from gen3 on; N on gen2 too for op0=subtract, op1=multiply with data and "
        "operand1 bfloat16 and N even",
    .facts = {.in_place = param_bit(data) | param_bit(operand1), .walks = true},
};

}  // namespace kiln::isa::instruction::scalar_tensor_tensor
