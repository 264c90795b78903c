#include "kiln/isa/instructions/shared/vector_operator.h"

#include <fmt/format.h>

namespace kiln::isa {
namespace {

bool is_vector_arithmetic(const AluInfo& alu) {
  return (alu.cls == AluClass::arith || alu.cls == AluClass::unary) &&
         alu.engines.find("vector") != std::string_view::npos;
}

}  // namespace

void check_vector_operator(Check& c, int op, int operand, int data, const Rule& unary_rule, const Rule& column_rule) {
  const AluInfo& alu = info(c.alu(op));
  const bool arithmetic = is_vector_arithmetic(alu);
  c.require(vector_operator_rules::kArithmetic, arithmetic, op,
            [&] { return fmt::format("{} is {}", c.row().params[op].name, alu.name); });
  c.require(vector_operator_rules::kGeneration, !arithmetic || c.arch().generation >= alu.first_generation, op,
            [&] { return fmt::format("{} needs gen{}", alu.name, alu.first_generation); });
  const bool absent = !c.has(operand) || (!c.is_tile(operand) && c.real(operand) == 0);
  c.require(unary_rule, alu.cls != AluClass::unary || absent, operand, [&] {
    return fmt::format("{} with {}", alu.name,
                       c.is_tile(operand) ? c.describe(operand) : fmt::format("{}", c.real(operand)));
  });
  if (c.is_tile(operand)) c.require(column_rule, c.is_column(operand, c.partitions(data)), operand);
}

}  // namespace kiln::isa
