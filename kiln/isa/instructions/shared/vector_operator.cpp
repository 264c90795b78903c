#include "kiln/isa/instructions/shared/vector_operator.h"

#include <fmt/format.h>

namespace kiln::isa {
namespace {

bool is_vector_arithmetic(const AluInfo& alu) {
  return (alu.cls == AluClass::arith || alu.cls == AluClass::unary) &&
         alu.engines.find("vector") != std::string_view::npos;
}

}  // namespace

void check_vector_operator(Check& c, int op, int operand, int data) {
  const AluInfo& alu = info(c.alu(op));
  const bool arithmetic = is_vector_arithmetic(alu);
  c.require(2, arithmetic, [&] { return fmt::format("{} is {}", c.row().params[op].name, alu.name); });
  c.require(3, !arithmetic || c.arch().generation >= alu.first_generation,
            [&] { return fmt::format("{} needs gen{}", alu.name, alu.first_generation); });
  const bool absent = !c.has(operand) || (!c.is_tile(operand) && c.real(operand) == 0);
  c.require(4, alu.cls != AluClass::unary || absent, [&] {
    return fmt::format("{} with {}", alu.name,
                       c.is_tile(operand) ? c.describe(operand) : fmt::format("{}", c.real(operand)));
  });
  if (c.is_tile(operand)) c.require(5, c.is_column(operand, c.partitions(data)), [&] { return c.describe(operand); });
}

}  // namespace kiln::isa
