#include "kernels/blas/double_float.h"

#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr double kHalves = 4097;  // 2^12 + 1: Dekker's factor, which cuts 24 bits into two times 12
constexpr std::size_t kScratch = 8;
}  // namespace

DoubleFloat::DoubleFloat(Kernel& k, std::int64_t rows, std::int64_t columns) : k_(k) {
  for (std::size_t i = 0; i < kScratch; ++i) scratch_.push_back(k.sbuf({rows, columns}, f32));
}

View DoubleFloat::scratch(std::size_t i, const View& like) const {
  return scratch_[i](ds(0, like.dim(0)), ds(0, like.dim(1)));
}

DoubleView DoubleFloat::fresh(const View& like) {
  const View high = k_.sbuf(like.shape(), f32);
  return {high, k_.sbuf(like.shape(), f32)};
}

void DoubleFloat::apply(const View& to, const View& x, const View& y, AluOp op) {
  k_.tensor_tensor({.dst = to, .data1 = x, .data2 = y, .op = op, .engine = Engine::vector});
}

void DoubleFloat::times(const View& to, const View& x, double factor) {
  k_.tensor_scalar({.dst = to, .data = x, .op0 = AluOp::multiply, .operand0 = factor, .engine = Engine::vector});
}

// to.high = x + y, to.low = what that lost, exactly.
void DoubleFloat::two_sum(const DoubleView& to, const View& x, const View& y) {
  const View part = scratch(6, x), rest = scratch(7, x);
  apply(to.high, x, y, AluOp::add);
  apply(part, to.high, x, AluOp::subtract);
  apply(rest, to.high, part, AluOp::subtract);
  apply(rest, x, rest, AluOp::subtract);
  apply(part, y, part, AluOp::subtract);
  apply(to.low, rest, part, AluOp::add);
}

// The same where |high| is not less than |low|. `to` may not be the operands.
void DoubleFloat::normalise(const DoubleView& to, const View& high, const View& low) {
  apply(to.high, high, low, AluOp::add);
  apply(to.low, to.high, high, AluOp::subtract);
  apply(to.low, low, to.low, AluOp::subtract);
}

void DoubleFloat::halve(const View& upper, const View& lower, const View& x) {
  times(upper, x, kHalves);
  apply(lower, upper, x, AluOp::subtract);
  apply(upper, upper, lower, AluOp::subtract);
  apply(lower, x, upper, AluOp::subtract);
}

DoubleView DoubleFloat::sum(const DoubleView& x, const DoubleView& y) {
  const DoubleView first{scratch(0, x.high), scratch(1, x.high)}, out = fresh(x.high);
  two_sum(first, x.high, y.high);
  apply(first.low, first.low, x.low, AluOp::add);
  apply(first.low, first.low, y.low, AluOp::add);
  normalise(out, first.high, first.low);
  return out;
}

DoubleView DoubleFloat::difference(const DoubleView& x, const DoubleView& y) { return sum(x, scaled(y, -1.0)); }

DoubleView DoubleFloat::product(const DoubleView& x, const DoubleView& y) {
  const View high = scratch(0, x.high), low = scratch(1, x.high), part = scratch(6, x.high);
  const DoubleView a{scratch(2, x.high), scratch(3, x.high)}, b{scratch(4, x.high), scratch(5, x.high)};
  apply(high, x.high, y.high, AluOp::multiply);
  halve(a.high, a.low, x.high);
  halve(b.high, b.low, y.high);
  apply(low, a.high, b.high, AluOp::multiply);
  apply(low, low, high, AluOp::subtract);
  const auto add = [&](const View& u, const View& v) {
    apply(part, u, v, AluOp::multiply);
    apply(low, low, part, AluOp::add);
  };
  add(a.high, b.low);
  add(a.low, b.high);
  add(a.low, b.low);  // up to here exact
  add(x.high, y.low);
  add(x.low, y.high);
  const DoubleView out = fresh(x.high);
  normalise(out, high, low);
  return out;
}

// Two steps of Newton's from the engine's own reciprocal, right to 2^-20 or better.
DoubleView DoubleFloat::reciprocal(const DoubleView& x) {
  DoubleView found = fresh(x.high);
  k_.tensor_scalar({.dst = found.high, .data = x.high, .op0 = AluOp::reciprocal});
  k_.memset({.dst = found.low, .value = 0.0});
  for (int step = 0; step < 2; ++step) {
    const DoubleView one = product(x, found), next = fresh(x.high);
    const View error = scratch(0, x.high);
    k_.tensor_scalar({.dst = error,
                      .data = one.high,
                      .op0 = AluOp::multiply,
                      .operand0 = -1.0,
                      .op1 = AluOp::add,
                      .operand1 = 1.0,
                      .engine = Engine::vector});
    apply(error, error, one.low, AluOp::subtract);
    apply(error, error, found.high, AluOp::multiply);
    apply(error, error, found.low, AluOp::add);
    normalise(next, found.high, error);
    found = next;
  }
  return found;
}

// Two steps of Newton's from the engine's own square root: s + (x - s²) / 2 s.
DoubleView DoubleFloat::square_root(const DoubleView& x) {
  DoubleView found = fresh(x.high);
  k_.activation({.dst = found.high, .op = ActFn::sqrt, .data = x.high});
  k_.memset({.dst = found.low, .value = 0.0});
  const View half = k_.sbuf(x.high.shape(), f32);  // 1 / 2 s
  times(half, found.high, 2.0);
  k_.tensor_scalar({.dst = half, .data = half, .op0 = AluOp::reciprocal});
  for (int step = 0; step < 2; ++step) {
    const DoubleView rest = difference(x, product(found, found)), next = fresh(x.high);
    const View more = scratch(0, x.high);
    apply(more, rest.high, half, AluOp::multiply);
    apply(more, more, found.low, AluOp::add);
    normalise(next, found.high, more);
    found = next;
  }
  return found;
}

DoubleView DoubleFloat::larger(const DoubleView& x, const DoubleView& y) {
  const DoubleView above = difference(x, y);
  const View first = k_.sbuf(x.high.shape(), f32), second = k_.sbuf(x.high.shape(), f32);  // 1 or 0
  k_.tensor_scalar(
      {.dst = first, .data = above.high, .op0 = AluOp::greater_equal, .operand0 = 0.0, .engine = Engine::vector});
  k_.tensor_scalar({.dst = second, .data = above.high, .op0 = AluOp::less, .operand0 = 0.0, .engine = Engine::vector});
  const DoubleView one = times_each(x, first), other = times_each(y, second), out = fresh(x.high);
  apply(out.high, one.high, other.high, AluOp::add);
  apply(out.low, one.low, other.low, AluOp::add);
  return out;
}

DoubleView DoubleFloat::not_negative(const DoubleView& x) {
  const View keeps = k_.sbuf(x.high.shape(), f32);
  k_.tensor_scalar({.dst = keeps, .data = x.high, .op0 = AluOp::greater, .operand0 = 0.0, .engine = Engine::vector});
  return times_each(x, keeps);
}

DoubleView DoubleFloat::times_each(const DoubleView& x, const View& powers) {
  const DoubleView out = fresh(x.high);
  apply(out.high, x.high, powers, AluOp::multiply);
  apply(out.low, x.low, powers, AluOp::multiply);
  return out;
}

DoubleView DoubleFloat::scaled(const DoubleView& x, double power) {
  const DoubleView out = fresh(x.high);
  times(out.high, x.high, power);
  times(out.low, x.low, power);
  return out;
}

DoubleView DoubleFloat::spread(const DoubleView& column, std::int64_t columns) {
  const View like = k_.sbuf({column.high.dim(0), columns}, f32);
  const DoubleView out{like, k_.sbuf(like.shape(), f32)};
  const auto fill = [&](const View& to, const View& from) {
    k_.memset({.dst = to, .value = 0.0});
    k_.tensor_scalar({.dst = to, .data = to, .op0 = AluOp::add, .operand0 = from, .engine = Engine::vector});
  };
  fill(out.high, column.high);
  fill(out.low, column.low);
  return out;
}

}  // namespace kiln::kernels
