// Random programs of ops that move, index, order and loop: values are exact, so that every bit is compared.
#include <fmt/format.h>

#include <random>

#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"
#include "tests/tensor/random_graph.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kMost = 4000;  // elements of a value

class Broad {
 public:
  explicit Broad(unsigned seed) : random_(seed), builder_("broad") {}

  Graph run() {
    const int inputs = 1 + number(2);
    for (int i = 0; i < inputs; ++i)
      values_.push_back(
          builder_.input(fmt::format("in{}", i), {number(2) ? DType::int32 : DType::float32, shape(1 + number(3))}));
    const int ops = 1 + number(5);
    for (int i = 0; i < ops; ++i) values_.push_back(step());
    builder_.output("out", number(4) ? values_.back() : windowed());
    if (number(2)) builder_.output("more", values_[number(static_cast<int>(values_.size()))]);
    return builder_.finish();
  }

 private:
  int number(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + number(static_cast<int>(of.size())));
  }
  Shape shape(int rank) {
    Shape s(rank);
    do {
      for (std::int64_t& n : s) n = pick<std::int64_t>({1, 2, 3, 5, 8, 16, 33, 130});
    } while (product(s) > kMost);
    return s;
  }
  Expr any() { return values_[number(static_cast<int>(values_.size()))]; }
  int axis_of(const Expr& x) { return number(x.rank()); }
  // Indices below n, of a shape.
  Expr indices(Shape s, std::int64_t n) {
    const Expr i = builder_.input(fmt::format("i{}", ++indices_), {DType::int32, std::move(s)});
    return remainder(i, builder_.constant({DType::int32, {}}, {static_cast<double>(n)}));
  }
  Expr like(const Expr& x, Shape s) {
    return builder_.input(fmt::format("u{}", ++indices_), {x.dtype(), std::move(s)});
  }
  static Expr fit(const Expr& made, const Expr& otherwise) { return made.type().size() <= kMost ? made : otherwise; }

  Expr integers(const Expr& x) {
    const Expr y = like(x, x.shape());
    switch (number(9)) {
      case 0:
        return x * y + 7;
      case 1:
        return floor_divide(x, maximum(abs(y), 1));
      case 2:
        return remainder(x, maximum(abs(y), 1));
      case 3:
        return bitwise_xor(x, bitwise_and(y, left_shift(x, bitwise_and(y, 7))));
      case 4:
        return right_shift(x, bitwise_and(y, 15));
      case 5:
        return where(x > y, x - y, bitwise_or(x, y));
      case 6:
        return x.rank() ? sum(x, {{axis_of(x)}, true}) : x;
      case 7:
        return x.rank() ? cumsum(x, axis_of(x)) : x;
      default:
        return minimum(x * 3, y);
    }
  }

  Expr moved(const Expr& x) {
    if (x.rank() == 0) return x;
    const int axis = axis_of(x);
    const std::int64_t n = x.shape()[axis];
    Ints low(x.rank(), 0), high(x.rank(), 0);
    low[axis] = number(static_cast<int>(std::min<std::int64_t>(n, 4)));
    high[axis] = number(static_cast<int>(std::min<std::int64_t>(n, 4)));
    switch (number(7)) {
      case 0:
        return fit(pad(x, low, high, 3), x);
      case 1:
        return fit(pad_with(x, low, high, pick<const char*>({"edge", "reflect", "symmetric", "wrap"})), x);
      case 2:
        return flip(x, {axis});
      case 3:
        return roll(x, {number(9) - 4}, {axis});
      case 4:
        return fit(repeat(x, {1 + number(3)}, axis), x);
      case 5: {
        Ints counts(x.rank(), 1);
        counts[axis] = 1 + number(2);
        return fit(tile(x, counts), x);
      }
      default:
        return x.rank() == 2 ? diagonal(x) : x;
    }
  }

  Expr indexed(const Expr& x) {
    if (x.rank() == 0) return x;
    const int axis = axis_of(x);
    Shape lines = x.shape();
    const std::int64_t n = lines[axis], m = 1 + number(6);
    lines[axis] = m;
    switch (number(5)) {
      case 0:
        return fit(take(x, indices({m}, n), axis), x);
      case 1:
        return fit(take_along_axis(x, indices(lines, n), axis), x);
      case 2:
        return product(lines) <= 300 ? put_along_axis(x, indices(lines, n), like(x, lines), axis, mode()) : x;
      case 3:
        return product(lines) <= 300 ? scatter(x, indices({m}, n), like(x, lines), axis, mode()) : x;
      default:
        return x.rank() == 1 && x.type().size() <= 200 ? one_hot(indices(x.shape(), m), m, x.dtype()) : x;
    }
  }
  std::string mode() { return pick<const char*>({"set", "add", "maximum", "minimum"}); }

  Expr ordered(const Expr& x) {
    if (x.rank() == 0) return x;
    const int axis = axis_of(x);
    const std::int64_t n = x.shape()[axis];
    switch (number(6)) {
      case 0:
        return sort(x, axis, number(2));
      case 1:
        return argsort(x, axis, number(2));
      case 2:
        return top_k(x, 1 + number(static_cast<int>(std::min<std::int64_t>(n, 12))), axis, number(2));
      case 3:
        return top_k_indices(x, 1 + number(static_cast<int>(std::min<std::int64_t>(n, 12))), axis, true);
      case 4:
        return cummax(x, axis);
      default:
        return max(x, {{axis}, true});
    }
  }

  Expr looped(const Expr& x) {
    if (number(2)) {
      return for_loop(2 + number(3), {x}, {}, [&](const Expr& pass, const Exprs& state, const Exprs&) -> Exprs {
        return {where(state[0] > cast(pass, x.dtype()), state[0] - 1, maximum(state[0], -40))};
      })[0];
    }
    const Expr condition = reshape(max(x) > 3, {});
    return branch(
        condition, {x}, [](const Exprs& reads) -> Exprs { return {reads[0] + 1}; },
        [](const Exprs& reads) -> Exprs { return {-reads[0]}; })[0];
  }

  // A convolution or a pool of an input: sums are rounded, so nothing comes behind.
  Expr windowed() {
    const std::int64_t channels = 1 + number(4), n = 8 + number(9), taps = 1 + number(3);
    const bool two = number(2);
    Shape s{1 + number(2), channels, n}, w{1 + number(5), channels, taps};
    if (two) s.push_back(7), w.push_back(2);
    const Expr x = builder_.input("image", {DType::float32, s});
    const std::size_t dims = two ? 2 : 1;
    const Windows windows{Ints(dims, 1 + number(2)), Ints(dims, number(2)), Ints(dims, number(2)), Ints(dims, 1)};
    if (number(2)) return conv(x, builder_.input("taps", {DType::float32, w}), windows);
    Windows plain = windows;
    plain.low = plain.high = Ints(dims, 0);
    return pool(x, Ints(dims, 2), pick<const char*>({"max", "min", "sum", "mean"}), plain);
  }

  Expr step() {
    const Expr x = any();
    switch (number(6)) {
      case 0:
      case 1:
        return x.dtype() == DType::int32 ? integers(x) : moved(x);
      case 2:
        return moved(x);
      case 3:
        return indexed(x);
      case 4:
        return ordered(x);
      default:
        return x.type().size() ? looped(x) : x;
    }
  }

  std::mt19937 random_;
  Builder builder_;
  std::vector<Expr> values_;
  int indices_ = 0;
};

}  // namespace

Graph random_broad_graph(unsigned seed) { return Broad(seed).run(); }

}  // namespace kiln::tensor
