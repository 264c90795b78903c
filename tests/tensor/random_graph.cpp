#include "tests/tensor/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kiln/tensor/ir/expr.h"

namespace kiln::tensor {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed), builder_("random") {}

  Graph run() {
    const DType t = pick<DType>({DType::float32, DType::float32, DType::bfloat16, DType::float16});
    const int inputs = 1 + number(3);
    Shape base = shape();
    for (int i = 0; i < inputs; ++i) {
      values_.push_back(builder_.input(fmt::format("in{}", i), {t, i ? related(base) : base}));
    }
    const int ops = 1 + number(10);
    for (int i = 0; i < ops; ++i) values_.push_back(step());
    builder_.output("out", values_.back());
    if (number(2)) builder_.output("more", values_[number(static_cast<int>(values_.size()))]);
    return builder_.finish();
  }

 private:
  int number(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + number(static_cast<int>(of.size())));
  }
  std::int64_t extent() { return pick<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 128, 130, 200}); }

  Shape shape() {
    Shape s(1 + number(4));
    do {
      for (std::int64_t& n : s) n = extent();
    } while (product(s) > 60000);
    return s;
  }

  // A shape that broadcasts with another one.
  Shape related(const Shape& base) {
    Shape s = base;
    for (std::int64_t& n : s) n = number(3) ? n : 1;
    if (number(3) == 0) s.erase(s.begin(), s.begin() + number(static_cast<int>(s.size()) + 1));
    return s;
  }

  Expr any() { return values_[number(static_cast<int>(values_.size()))]; }
  Expr fitting(const Expr& x) {
    for (int i = 0; i < 8; ++i) {
      const Expr y = any();
      const auto both = broadcast(x.shape(), y.shape());
      if (both && product(*both) <= 100000 && promote(x.dtype(), y.dtype())) return y;
    }
    return x;
  }
  // Values stay of a size that rounding does not matter much.
  Expr tamed(const Expr& x) { return is_float(x.dtype()) ? tanh(x) : x; }

  Expr unary(const Expr& x) {
    switch (number(14)) {
      case 0:
        return exp(tamed(x));
      case 1:
        return x * 0.5 + 1.0;
      case 2:
        return silu(x);
      case 3:
        return abs(x);
      case 4:
        return square(tamed(x));
      case 5:
        return -x;
      case 6:
        return 1.0 - x;
      case 7:
        return sqrt(abs(x) + 0.5);
      case 8:
        return relu(x);
      case 9:
        return sigmoid(x - 0.25);
      case 10:
        return maximum(x * 2.0, -1.0);
      case 11:
        return cast(x, pick<DType>({DType::float32, DType::bfloat16}));
      case 12:
        return rsqrt(abs(x) + 1.0);
      default:
        return gelu(x);
    }
  }

  Expr binary(const Expr& x, const Expr& y) {
    switch (number(8)) {
      case 0:
        return x + y;
      case 1:
        return x - y;
      case 2:
        return tamed(x) * tamed(y);
      case 3:
        return x / (abs(y) + 1.0);
      case 4:
        return maximum(x, y);
      case 5:
        return minimum(x, y);
      case 6:
        return where(x > 0.0, x, tamed(y) * x);  // no jump: rounding may decide otherwise
      default:
        return (x - 1.0) * tamed(y);
    }
  }

  Expr reduced(const Expr& x) {
    if (x.rank() == 0) return x;
    Ints axes;
    for (int d = 0; d < x.rank(); ++d) {
      if (number(2) || (axes.empty() && d + 1 == x.rank())) axes.push_back(d);
    }
    const bool keep = number(2);
    switch (number(4)) {
      case 0:
        return mean(abs(x), {axes, keep});
      case 1:
        return max(x, {axes, keep});
      case 2:
        return min(x, {axes, keep});
      default:
        return sum(abs(x) * 0.125, {axes, keep});  // of one sign: what cancels out is not told by its size
    }
  }

  Expr moved(const Expr& x) {
    const int rank = x.rank();
    if (rank == 0) return x;
    const int axis = number(rank);
    const std::int64_t n = x.shape()[axis];
    switch (number(6)) {
      case 0: {
        Ints perm(rank);
        std::iota(perm.begin(), perm.end(), 0);
        std::shuffle(perm.begin(), perm.end(), random_);
        return transpose(x, perm);
      }
      case 1:
        return slice(x, axis, number(static_cast<int>(n)), n, 1 + number(3));
      case 2: {
        Shape s{x.type().size()};
        if (number(2) && s[0] % 2 == 0) s = {2, s[0] / 2};
        if (number(2) && s.back() % 4 == 0) s.insert(s.end() - 1, 4), s.back() /= 4;
        return reshape(x, s);
      }
      case 3:
        return product(x.shape()) * 2 <= 100000 ? concat({x, x * 2.0}, axis) : x;
      case 4:
        return softmax(x, axis);
      default: {
        Shape s = x.shape();
        s.insert(s.begin(), 1 + number(3));
        return product(s) <= 100000 ? broadcast_to(x, s) : x;
      }
    }
  }

  Expr multiplied(const Expr& x) {
    if (x.rank() < 1 || x.rank() > 3) return x;
    const std::int64_t k = x.shape().back(), n = extent();
    if (x.type().size() / k * n > 60000 || k * n > 60000) return x;
    const Expr w = builder_.input(fmt::format("w{}", ++weights_), {x.dtype(), {k, n}});
    return matmul(x, w) * (1.0 / static_cast<double>(k));
  }

  // What a query does not see is filled with a mask, or lies above a diagonal.
  Expr masked(const Expr& x) {
    if (x.rank() < 2) return x;
    const std::int64_t rows = x.shape()[x.rank() - 2], columns = x.shape().back();
    const std::int64_t ahead = number(static_cast<int>(std::min<std::int64_t>(columns, 40)));
    if (number(3) == 0) return number(2) ? tril(x, ahead) : triu(x, ahead - 3);
    const Type ramp{DType::int32, {rows, columns}};
    return where(builder_.iota(ramp, 1) <= builder_.iota(ramp, 0) + static_cast<double>(ahead), x,
                 pick<double>({-3.0, 1.0, 0.0}));
  }

  Expr attended(const Expr& x) {
    if (x.rank() < 2 || x.rank() > 3) return x;
    Shape shape = x.shape();
    const std::int64_t depth = shape.back(), rows = shape[shape.size() - 2];
    const std::int64_t keys = pick<std::int64_t>({rows, rows + 3, 64, 130, 600, 1100, 2100});
    if (depth > 128 || x.type().size() / depth * keys > 200000) return x;
    shape[shape.size() - 2] = keys;
    ++weights_;
    const Expr k = builder_.input(fmt::format("k{}", weights_), {x.dtype(), shape});
    const Expr v = builder_.input(fmt::format("v{}", weights_), {x.dtype(), shape});
    Expr scores = matmul(tamed(x), transpose(k)) * (0.5 / static_cast<double>(depth));
    if (number(2)) {
      const Type ramp{DType::int32, {rows, keys}};
      const auto ahead = static_cast<double>(number(3) ? std::max<std::int64_t>(0, keys - rows) : number(9));
      scores = where(builder_.iota(ramp, 1) <= builder_.iota(ramp, 0) + ahead, scores, -30000.0);
    }
    return matmul(softmax(scores), v);
  }

  // Halves of one product, each on its own way.
  Expr gated(const Expr& x) {
    if (x.rank() < 1 || x.rank() > 3) return x;
    const std::int64_t k = x.shape().back(), n = pick<std::int64_t>({8, 33, 512, 600, 1024});
    if (x.type().size() / k * n > 100000 || k * n > 100000) return x;
    const Expr w = builder_.input(fmt::format("w{}", ++weights_), {x.dtype(), {k, 2 * n}});
    const Expr both = matmul(x, w) * (1.0 / static_cast<double>(k));
    return silu(slice(both, -1, 0, n)) * slice(both, -1, n, 2 * n);
  }

  Expr normed(const Expr& x) {
    if (x.rank() < 1) return x;
    const Expr gain = builder_.input(fmt::format("g{}", ++weights_), {x.dtype(), {x.shape().back()}});
    return number(2) ? rms_norm(x, gain, 0.01) : layer_norm(x, gain, gain, 0.01);
  }

  Expr step() {
    const Expr x = any();
    if (!is_float(x.dtype())) return cast(x, DType::float32);
    switch (number(14)) {
      case 10:
        return masked(x);
      case 11:
        return attended(x);
      case 12:
        return gated(x);
      case 13:
        return normed(x);
      case 0:
      case 1:
      case 2:
        return unary(x);
      case 3:
      case 4:
      case 5:
        return binary(x, fitting(x));
      case 6:
        return reduced(x);
      case 7:
      case 8:
        return moved(x);
      default:
        return multiplied(x);
    }
  }

  std::mt19937 random_;
  Builder builder_;
  std::vector<Expr> values_;
  int weights_ = 0;
};

}  // namespace

Graph random_graph(unsigned seed) { return Generator(seed).run(); }

}  // namespace kiln::tensor
