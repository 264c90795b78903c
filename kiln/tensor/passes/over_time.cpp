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
  if (stride == 0) return {slice(Expr(to_, x), axis, start, start + 1).value(), false};
  return {moved(x, {axis, start, stride}), true};
}

Value OverTime::moved(Value x, const Places& places) {
  const auto key = std::pair(x, places);
  if (const auto it = moved_.find(key); it != moved_.end()) return it->second;
  if (const auto before = moved_before(x, places)) return moved_[key] = *before;
  const Shape shape = to_.type(x).shape;
  Ints starts(shape.size(), 0), sizes = shape, strides(shape.size(), 1), perm;
  const auto at = static_cast<std::size_t>(places.axis);
  starts[at] = places.start, sizes[at] = steps_, strides[at] = places.stride;
  const Value all = to_.add(OpCode::slice, {x}, {starts, sizes, strides});
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != at) perm.push_back(static_cast<std::int64_t>(d));
  }
  perm.push_back(places.axis);
  Shape out = with_last(shape, steps_);
  out[at] = 1;
  return moved_[key] = reshape(transpose(Expr(to_, all), perm), out).value();
}

// What is made element by element is made of operands that have the steps last: they are turned where they are given,
// which is often less than what is made of them.
std::optional<Value> OverTime::moved_before(Value x, const Places& places) {
  const Op op = to_.op(x);  // a copy: adding ops moves them
  const auto at = static_cast<std::size_t>(places.axis);
  if (op.code == OpCode::reshape) {
    const Shape& from = to_.type(op.operands[0]).shape;
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (from[d] != op.type.shape[at] || tensor::product(from, 0, d) != tensor::product(op.type.shape, 0, at))
        continue;
      Shape out = with_last(op.type.shape, steps_);
      out[at] = 1;
      const Value below = moved(op.operands[0], {static_cast<std::int64_t>(d), places.start, places.stride});
      return reshape(Expr(to_, below), out).value();
    }
    return {};
  }
  if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast) return {};
  std::vector<Value> operands;
  for (Value o : op.operands) {
    const Shape& own = to_.type(o).shape;
    const auto axis = places.axis - (op.type.rank() - to_.type(o).rank());
    const bool varies = axis >= 0 && own[static_cast<std::size_t>(axis)] != 1 && !splat_of(to_, o);
    operands.push_back(varies ? moved(o, {axis, places.start, places.stride}) : beside({o, false}));
  }
  return to_.add(op.code, std::move(operands), op.attrs);
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
  const auto summed = [&](const Timed& a, const Timed& b, std::int64_t axis) {
    const Expr sums = sum(Expr(to_, as_float32(elementwise(OpCode::multiply, {a, b})).value), {.axes = {axis}});
    return Timed{cast(reshape(sums, with_last(op.type.shape, steps_)), op.type.dtype).value(), true};
  };
  // In another shape of one step.
  const auto seen = [&](const Timed& t, const Shape& shape) {
    return Timed{reshape(expr(t), t.varies ? with_last(shape, steps_) : shape).value(), t.varies};
  };
  const Shape &left = from.type(op.operands[0]).shape, &right = from.type(op.operands[1]).shape;
  if (m == 1 && n == 2 && y.varies) return summed(seen(x, {left[0], 1}), y, 0);
  if (n >= 2 && m == n && right.back() == 1) {  // a matrix and a vector
    Shape row = right;
    std::swap(row[row.size() - 1], row[row.size() - 2]);
    return summed(x, seen(y, row), n - 1);
  }
  if (n >= 2 && m == n && left[left.size() - 2] == 1 && y.varies) {  // a vector and a matrix
    Ints perm;
    for (std::int64_t d = 0; d <= n; ++d) perm.push_back(d);
    std::swap(perm[perm.size() - 2], perm[perm.size() - 3]);
    return summed(x, {transpose(expr(y), perm).value(), true}, n - 1);
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
