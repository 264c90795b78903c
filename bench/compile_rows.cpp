// Rows and columns: norms and softmax along any axis, losses, sums of columns, searches, what follows a product.
#include <cmath>

#include "bench/compile_patterns.h"
#include "kiln/tensor/ir/more.h"

namespace kiln::bench {
namespace {

using namespace tensor;  // NOLINT: programs read like the math
constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

template <class F>
std::function<Graph()> of(Type type, F f) {
  return [=] {
    Builder b("rows");
    b.output("out", f(b, b.input("x", type)));
    return b.finish();
  };
}

// (x - mean) / deviation along axes, with a gain and a bias of this shape.
std::function<Graph()> normed(const Type& type, const Ints& axes, const Shape& gains = {}) {
  return of(type, [=](Builder& b, const Expr& x) {
    const Expr centred = x - mean(x, {axes, true});
    const Expr y = centred * rsqrt(mean(square(centred), {axes, true}) + 1e-5);
    if (gains.empty()) return y;
    return y * b.input("gain", {type.dtype, gains}) + b.input("bias", {type.dtype, gains});
  });
}

// Channels in groups, each of which has a mean and a deviation.
std::function<Graph()> group_norm(DType t, const Shape& shape, std::int64_t groups) {
  return of({t, shape}, [=](Builder& b, const Expr& x) {
    const Expr split = reshape(x, {shape[0], groups, shape[1] / groups * shape[2] * shape[3]});
    const Expr centred = split - mean(split, {{2}, true});
    const Expr y = reshape(centred * rsqrt(mean(square(centred), {{2}, true}) + 1e-5), shape);
    return y * b.input("gain", {t, {shape[1], 1, 1}}) + b.input("bias", {t, {shape[1], 1, 1}});
  });
}

std::function<Graph()> softmax_along(const Type& type, std::int64_t axis) {
  return of(type, [=](Builder&, const Expr& x) { return softmax(x, axis); });
}

std::function<Graph()> log_softmax(const Type& type) {
  return of(type, [](Builder&, const Expr& x) {
    const Expr d = x - max(x, {{-1}, true});
    return d - log(sum(exp(d), {{-1}, true}));
  });
}

// The mean of -log(softmax) at labels.
std::function<Graph()> cross_entropy(const Type& type) {
  return of(type, [=](Builder& b, const Expr& x) {
    const Expr d = x - max(x, {{-1}, true});
    const Expr logs = d - log(sum(exp(d), {{-1}, true}));
    return -mean(take_along_axis(logs, b.input("labels", {DType::int32, {type.shape[0], 1}}), 1));
  });
}

std::function<Graph()> reduced(const Type& type, Expr (*f)(const Here&, Axes), std::int64_t axis) {
  return of(type, [=](Builder&, const Expr& x) { return f(x, {{axis}}); });
}

std::function<Graph()> found(const Type& type, std::int64_t axis) {
  return of(type, [=](Builder&, const Expr& x) { return argmax(x, axis); });
}

std::function<Graph()> bias_gelu(DType t, std::int64_t m, std::int64_t k, std::int64_t n) {
  return of({t, {m, k}}, [=](Builder& b, const Expr& x) {
    return gelu(matmul(x, b.input("w", {t, {k, n}})) + b.input("bias", {t, {n}}));
  });
}

// The nearest of some centres, for each point.
std::function<Graph()> nearest(std::int64_t points, std::int64_t depth, std::int64_t centres) {
  return of({f32, {points, depth}}, [=](Builder& b, const Expr& x) {
    const Expr c = b.input("c", {f32, {centres, depth}});
    return argmin(sum(square(c), {{1}}) - matmul(x, transpose(c)) * 2.0, 1);
  });
}

std::function<Graph()> five_points(const Type& type) {
  return of(type, [=](Builder&, const Expr& x) {
    const auto at = [&](std::int64_t i, std::int64_t j) {
      const auto upto = [](std::int64_t k) { return k == 2 ? std::nullopt : std::optional(k - 2); };
      return slice(slice(x, 0, i, upto(i)), 1, j, upto(j));
    };
    return (at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2)) * 0.25 - at(1, 1);
  });
}

}  // namespace

std::vector<Pattern> row_patterns() {
  const Shape image{64, 256, 32, 32}, channels{256, 1, 1}, few{16, 256, 32, 32}, middle{37, 130, 511};
  const Ints behind{0, 2, 3};
  return {
      {"layer norm (3333,1920) bf16", normed({bf16, {3333, 1920}}, {-1}, {1920})},
      {"layer norm (8192,1024) bf16", normed({bf16, {8192, 1024}}, {-1}, {1024})},
      {"layer norm (3333,1920)", normed({f32, {3333, 1920}}, {-1}, {1920})},
      {"log-softmax (4001,2500)", log_softmax({f32, {4001, 2500}})},
      {"log-softmax (4001,2500) bf16", log_softmax({bf16, {4001, 2500}})},
      {"cross entropy at labels (700,10007)", cross_entropy({f32, {700, 10007}})},
      {"cross entropy at labels (700,30007) bf16", cross_entropy({bf16, {700, 30007}})},
      {"sum of columns (8192,1024)", reduced({f32, {8192, 1024}}, sum, 0)},
      {"sum of columns (5003,4100) bf16", reduced({bf16, {5003, 4100}}, sum, 0)},
      {"maximum of columns (5003,4100)", reduced({f32, {5003, 4100}}, max, 0)},
      {"mean of the middle (37,130,2044)", reduced({f32, {37, 130, 2044}}, mean, 1)},
      {"norm of columns (2000,1500)", normed({f32, {2000, 1500}}, {0})},
      {"norm of columns (4099,1500) bf16", normed({bf16, {4099, 1500}}, {0})},
      {"softmax of columns (2000,1500)", softmax_along({f32, {2000, 1500}}, 0)},
      {"softmax of columns (4099,1500) bf16", softmax_along({bf16, {4099, 1500}}, 0)},
      {"batch norm (64,256,32,32)", normed({f32, image}, behind, channels)},
      {"batch norm (64,256,32,32) bf16", normed({bf16, image}, behind, channels)},
      {"group norm of 8 (16,256,32,32)", group_norm(f32, few, 8)},
      {"group norm of 32 (16,320,30,34) bf16", group_norm(bf16, {16, 320, 30, 34}, 32)},
      {"norm of the middle (37,130,511)", normed({f32, middle}, {1})},
      {"softmax of the middle (37,130,511)", softmax_along({f32, middle}, 1)},
      {"softmax of the middle (12,513,700) bf16", softmax_along({bf16, {12, 513, 700}}, 1)},
      {"argmax of rows (2048,4096)", found({f32, {2048, 4096}}, 1)},
      {"argmax of columns (2048,4096)", found({f32, {2048, 4096}}, 0)},
      {"matmul, bias, gelu (2048,1024,4096) bf16", bias_gelu(bf16, 2048, 1024, 4096)},
      {"matmul, bias, gelu (1000,1100,3000)", bias_gelu(f32, 1000, 1100, 3000)},
      {"nearest of 256 centres (16384,64)", nearest(16384, 64, 256)},
      {"five points (2048,2048)", five_points({f32, {2048, 2048}})},
  };
}

}  // namespace kiln::bench
