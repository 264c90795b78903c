#include "kiln/tensor/passes/recurrence.h"

#include <utility>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

std::optional<Timed> Steps::all(const Lane& lane) {
  if (const auto it = made_.find(lane); it != made_.end()) return it->second;
  made_[lane] = {};  // what needs itself has no such form
  std::optional<Timed> out = leaf(lane);
  const Op& op = op_of(lane);
  if (!out && op.bodies.empty() && !op.kernel && !op.operands.empty() && goes_deeper(lane)) {
    std::vector<Timed> operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const auto x = all(operand(lane, i));
      if (!x) return {};
      operands.push_back(*x);
    }
    out = over_.apply(from_, op, operands);
  }
  return made_[lane] = out;
}

// Whether a value of a step is made of the state that is being looked at.
bool Steps::depends(const Lane& lane) {
  if (lane == state_) return true;
  if (const auto it = depends_.find(lane); it != depends_.end()) return it->second;
  bool out = false;
  const std::size_t operands = lane == next_ || goes_deeper(lane) ? op_of(lane).operands.size() : 0;
  for (std::size_t i = 0; i < operands && !out; ++i) out = depends(operand(lane, i));
  return depends_[lane] = out;
}

Timed Steps::combined(OpCode code, const Timed& x, const Timed& y) {
  return over_.elementwise(code, {over_.as_float32(x), over_.as_float32(y)});
}

Timed Steps::negated(const Timed& x) {
  const Value less = to_.constant({DType::float32, {}}, {-1});
  return combined(OpCode::multiply, x, {less, false});
}

// A value as factor * state + summand. Sums of factors and of summands are made in float32: what is 1 - a in 16 bits
// would be another filter.
std::optional<Steps::Affine> Steps::affine(const Lane& lane) {
  if (lane == state_) return Affine{true};
  if (!depends(lane)) {
    const auto x = all(lane);
    return x ? std::optional(Affine{false, {}, *x}) : std::nullopt;
  }
  const Op& op = op_of(lane);
  if (op.type.shape != from_.type(state_[0]).shape || !is_float(op.type.dtype)) return {};
  switch (op.code) {
    case OpCode::add:
    case OpCode::subtract:
      return affine_sum(lane);
    case OpCode::multiply:
    case OpCode::divide:
      return affine_product(lane);
    case OpCode::cast:
      return is_float(from_.type(op.operands[0]).dtype) ? affine(operand(lane, 0)) : std::nullopt;
    default:
      return {};
  }
}

std::optional<Steps::Affine> Steps::affine_sum(const Lane& lane) {
  const auto x = affine(operand(lane, 0)), y = affine(operand(lane, 1));
  if (!x || !y) return {};
  const bool minus = op_of(lane).code == OpCode::subtract;
  const Timed one{to_.constant({DType::float32, {}}, {1}), false};
  const auto factor_of = [&](const Affine& a) { return a.factor ? *a.factor : one; };
  Affine out{true, {}, {}, x->cancels || y->cancels || (x->depends && y->depends)};
  if (x->depends && y->depends)
    out.factor = combined(op_of(lane).code, factor_of(*x), factor_of(*y));
  else if (x->depends)
    out.factor = x->factor;
  else
    out.factor = minus ? std::optional(negated(factor_of(*y))) : y->factor;
  if (x->summand && y->summand)
    out.summand = combined(op_of(lane).code, *x->summand, *y->summand);
  else if (x->summand)
    out.summand = x->summand;
  else if (y->summand)
    out.summand = minus ? negated(*y->summand) : *y->summand;
  return out;
}

std::optional<Steps::Affine> Steps::affine_product(const Lane& lane) {
  const auto x = affine(operand(lane, 0)), y = affine(operand(lane, 1));
  if (!x || !y || (x->depends && y->depends)) return {};
  const OpCode code = op_of(lane).code;
  if (code == OpCode::divide && y->depends) return {};
  const Affine& of = x->depends ? *x : *y;
  const Timed by = *(x->depends ? y : x)->summand;
  Affine out{true, {}, {}, of.cancels};
  if (of.factor)
    out.factor = combined(code, *of.factor, by);
  else if (code == OpCode::multiply)
    out.factor = by;
  else
    out.factor = combined(code, {to_.constant({DType::float32, {}}, {1}), false}, by);
  if (of.summand) out.summand = combined(code, *of.summand, by);
  return out;
}

// max(state, b) or min(state, b) behind each step.
std::optional<Timed> Steps::extremes(const Lane& after, Value start) {
  const Op& op = op_of(after);
  if (op.code != OpCode::maximum && op.code != OpCode::minimum) return {};
  for (std::size_t i : {0, 1}) {
    if (operand(after, i) != state_ || depends(operand(after, 1 - i))) continue;
    const auto x = all(operand(after, 1 - i));
    if (!x) return {};
    const Expr all_x(to_, over_.spread(*x, op.type.shape));
    const Expr so_far = op.code == OpCode::maximum ? cummax(all_x, -1) : cummin(all_x, -1);
    return over_.elementwise(op.code, {{cast(so_far, op.type.dtype).value(), true}, {start, false}});
  }
  return {};
}

std::optional<Timed> Steps::states(const Lane& before, const Lane& after, Value start) {
  Lane outer = std::exchange(state_, before), outer_next = std::exchange(next_, after);  // another may ask for this one
  std::map<Lane, bool> outer_depends = std::exchange(depends_, {});
  auto out = states_behind(after, start);
  state_ = std::move(outer), next_ = std::move(outer_next);
  depends_ = std::move(outer_depends);
  return out;
}

std::optional<Timed> Steps::states_behind(const Lane& after, Value start) {
  if (!depends(after)) return all(after);
  const Type type = from_.type(after[0]);
  if (!(type == to_.type(start))) return {};
  if (const auto x = extremes(after, start)) return x;
  const auto step = is_float(type.dtype) ? affine(after) : std::nullopt;
  if (!step || (!step->factor && !step->summand)) return {};
  const auto whole = [&](const std::optional<Timed>& x, double otherwise) {
    const Timed t = x ? *x : Timed{to_.constant({DType::float32, {}}, {otherwise}), false};
    return Expr(to_, over_.spread(t, type.shape));
  };
  const Expr a = whole(step->factor, 1), all = whole(step->summand, 0);
  const Expr b = step->cancels && step->summand ? with_infinities(all, start) : all;
  return Timed{linear_scan(a, b, Expr(to_, as_first(start)), -1).value(), true};
}

// s + a * (x - s) of an infinite s is no number, as a * x + (1 - a) * s would be: nor is what follows an infinite
// summand.
Expr Steps::with_infinities(const Expr& summand, Value start) {
  const Expr first = cast(Expr(to_, as_first(start)), summand.dtype());
  if (over_.steps() == 1) return summand + first * 0.0;
  return summand + concat({first, slice(summand, -1, 0, over_.steps() - 1)}, -1) * 0.0;
}

// What stands before the first step, as one element of the steps.
Value Steps::as_first(Value start) {
  Type type = to_.type(start);
  type.shape.push_back(1);
  const auto number = splat_of(to_, start);
  return number ? to_.constant(type, {*number}) : reshape(Expr(to_, start), type.shape).value();
}

Timed Steps::before(const Timed& states, Value start) {
  const Expr all_states(to_, over_.spread(states));
  const Expr first(to_, as_first(start));
  if (over_.steps() == 1) return {first.value(), true};
  return {concat({first, slice(all_states, -1, 0, over_.steps() - 1)}, -1).value(), true};
}

}  // namespace kiln::tensor
