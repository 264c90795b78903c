#include "kiln/tensor/passes/over_time.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {

namespace {

Shape with_last(Shape shape, std::int64_t n) {
  shape.push_back(n);
  return shape;
}

bool is_reduction(OpCode code) { return code >= OpCode::sum && code <= OpCode::variance; }

}  // namespace

// An operand as elementwise ops of values with the dimension of the steps take it.
Value OverTime::beside(const Timed& x) {
  if (x.varies || to_.type(x.value).rank() == 0) return x.value;
  if (const auto number = splat_of(to_, x.value)) return to_.constant({to_.type(x.value).dtype, {}}, {*number});
  return reshape(expr(x), with_last(to_.type(x.value).shape, 1)).value();
}

Timed OverTime::elementwise(OpCode code, const std::vector<Timed>& operands) {
  const bool varies = std::any_of(operands.begin(), operands.end(), [](const Timed& x) { return x.varies; });
  std::vector<Value> in;
  for (const Timed& x : operands) in.push_back(varies ? beside(x) : x.value);
  return {to_.add(code, std::move(in)), varies};
}

Value OverTime::spread(const Timed& x) {
  if (x.varies) return x.value;
  const Type type = to_.type(x.value);
  const Shape all = with_last(type.shape, steps_);
  if (const auto number = splat_of(to_, x.value)) return to_.constant({type.dtype, all}, {*number});
  return broadcast_to(reshape(expr(x), with_last(type.shape, 1)), all).value();
}

Value OverTime::spread(const Timed& x, const Shape& shape) {
  if (const auto number = splat_of(to_, x.value))
    return to_.constant({to_.type(x.value).dtype, with_last(shape, steps_)}, {*number});
  return broadcast_to(Expr(to_, x.varies ? x.value : spread(x)), with_last(shape, steps_)).value();
}

Timed OverTime::as_float32(const Timed& x) {
  return to_.type(x.value).dtype == DType::float32 ? x : Timed{cast(expr(x), DType::float32).value(), x.varies};
}

Timed OverTime::taken(Value x, std::int64_t axis, std::int64_t start, std::int64_t stride) {
  const Shape shape = to_.type(x).shape;
  if (stride == 0) return {slice(Expr(to_, x), axis, start, start + 1).value(), false};
  Ints starts(shape.size(), 0), sizes = shape, strides(shape.size(), 1), perm;
  const auto at = static_cast<std::size_t>(axis);
  starts[at] = start, sizes[at] = steps_, strides[at] = stride;
  const Value all = to_.add(OpCode::slice, {x}, {starts, sizes, strides});
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != at) perm.push_back(static_cast<std::int64_t>(d));
  }
  perm.push_back(axis);
  Shape out = with_last(shape, steps_);
  out[at] = 1;
  return {reshape(transpose(Expr(to_, all), perm), out).value(), true};
}

Value OverTime::with_steps_at(const Timed& x, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(to_.type(spread(x)).rank());
  Ints perm;
  for (std::int64_t d = 0; d + 1 < rank; ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, rank - 1);
  return transpose(Expr(to_, spread(x)), perm).value();
}

// Vectors are multiplied and added up element by element; matrices are many products.
std::optional<Timed> OverTime::product(const Graph& from, const Op& op, const std::vector<Timed>& operands) {
  const int m = from.type(op.operands[0]).rank(), n = from.type(op.operands[1]).rank();
  const Timed &x = operands[0], &y = operands[1];
  if (n == 1 && m >= 1) {
    const Timed parts = elementwise(OpCode::multiply, {x, y});
    const Value wide = as_float32(parts).value;
    return Timed{cast(sum(Expr(to_, wide), {.axes = {m - 1}}), op.type.dtype).value(), true};
  }
  if (m != 2 || n != 2 || op.code != OpCode::matmul) return {};
  const auto in_front = [&](const Timed& t) { return t.varies ? Expr(to_, with_steps_at(t, 0)) : expr(t); };
  return Timed{transpose(matmul(in_front(x), in_front(y)), {1, 2, 0}).value(), true};
}

std::optional<Timed> OverTime::apply(const Graph& from, const Op& op, const std::vector<Timed>& operands) {
  std::vector<Value> in;
  bool varies = false;
  for (const Timed& x : operands) in.push_back(x.value), varies = varies || x.varies;
  if (!varies) return Timed{to_.copy(from, op, std::move(in)), false};
  if (is_elementwise(op.code) || op.code == OpCode::where) return elementwise(op.code, operands);
  if (op.code == OpCode::cast || op.code == OpCode::bitcast || is_reduction(op.code))
    return Timed{to_.add(op.code, std::move(in), op.attrs), true};
  if (is_product(op.code)) return product(from, op, operands);
  const auto rank = static_cast<std::int64_t>(operands.empty() ? 0 : to_.type(in[0]).rank());
  Attrs attrs = op.attrs;
  switch (op.code) {
    case OpCode::reshape:
    case OpCode::broadcast_to:
      attrs[0] = with_last(op.type.shape, steps_);
      break;
    case OpCode::transpose:
      std::get<Ints>(attrs[0]).push_back(rank - 1);
      break;
    case OpCode::slice:
      std::get<Ints>(attrs[0]).push_back(0);
      std::get<Ints>(attrs[1]).push_back(steps_);
      std::get<Ints>(attrs[2]).push_back(1);
      break;
    case OpCode::concat:
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = spread(operands[i]);
      break;
    default:
      return {};
  }
  return Timed{to_.add(op.code, std::move(in), std::move(attrs)), true};
}

}  // namespace kiln::tensor
