#include "kiln/tensor/passes/no_numbers.h"

#include <algorithm>
#include <cmath>

namespace kiln::tensor {
namespace {

bool is_no_number(double x) { return !std::isfinite(x); }

// Sorting takes much longer than turning, and says where NaN goes.
bool asks(const Op& op) {
  switch (op.code) {
    case OpCode::sort:
    case OpCode::argsort:
    case OpCode::top_k:
    case OpCode::top_k_indices:
    case OpCode::isnan:
    case OpCode::isinf:
    case OpCode::isfinite:
      return true;
    case OpCode::equal:
    case OpCode::not_equal:
      return op.operands[0] == op.operands[1];
    default:
      return false;
  }
}

bool moves(OpCode code) {
  return code == OpCode::reshape || code == OpCode::transpose || code == OpCode::broadcast_to || code == OpCode::slice;
}

// Masks are infinities below, which these make numbers.
bool bounds(OpCode code) {
  return code == OpCode::exp || code == OpCode::exp2 || code == OpCode::sigmoid || code == OpCode::tanh;
}

}  // namespace

std::set<Value> no_numbers(const Graph& graph) {
  std::set<Value> asked, found;
  for (Value v = graph.size(); v-- > 0;) {
    const Op& op = graph.op(v);
    if (asks(op) || (moves(op.code) && asked.contains(v))) asked.insert(op.operands[0]);
  }
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    if (!is_float(op.type.dtype)) continue;
    const bool made = op.code == OpCode::constant ? std::ranges::any_of(*op.numbers, is_no_number)
                      : op.code == OpCode::pad    ? is_no_number(op.real("value"))
                                                  : false;
    const bool is_given = std::ranges::any_of(op.operands, [&](Value x) { return found.contains(x); });
    if (made || asked.contains(v) || (is_given && !bounds(op.code))) found.insert(v);
  }
  return found;
}

}  // namespace kiln::tensor
