// What transformers are made of, compiled for every chip, equals the oracle.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/compile_patterns.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

void expect_right(Graph graph, const char* what) {
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    SCOPED_TRACE(std::string(what) + " on " + std::string(arch(target).name));
    try {
      const Outcome out = compare(graph, 1, {.target = target});
      EXPECT_EQ(out.wrong, "") << print(graph) << isa::print(out.compiled.program);
      if (target == Target::trn2)
        std::printf("%-40s static %zu executed %lld time %.1f us\n", what, out.compiled.program.instructions.size(),
                    static_cast<long long>(out.executed), out.compiled.time_ns / 1000);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << print(graph);
    }
  }
}

TEST(Patterns, Elementwise) {
  for (const Shape& shape : {Shape{128, 512}, {300, 700}, {7, 13, 5}, {1, 700}, {129, 1}, {2, 3, 64, 50}, {}}) {
    Builder b("elementwise");
    const Expr x = b.input("x", {f32, shape}), y = b.input("y", {f32, shape});
    b.output("out", exp(x * 0.5 + 1.0) * y - maximum(x, y) * 2.0);
    expect_right(b.finish(), ("elementwise " + to_string(shape)).c_str());
  }
}

TEST(Patterns, Broadcast) {
  Builder b("broadcast");
  const Expr x = b.input("x", {f32, {4, 50, 64}}), row = b.input("row", {f32, {64}}),
             col = b.input("col", {f32, {50, 1}});
  b.output("out", (row - x) * col + 1.0);
  b.output("left", 1.0 - x);
  expect_right(b.finish(), "broadcast");
}

TEST(Patterns, Softmax) {
  for (const Shape& shape : {Shape{1, 16, 128, 128}, {300, 768}, {3, 50, 128}}) {
    Builder b("softmax");
    b.output("out", softmax(b.input("x", {f32, shape})));
    expect_right(b.finish(), ("softmax " + to_string(shape)).c_str());
  }
}

TEST(Patterns, Norms) {
  for (const Shape& shape : {Shape{1, 128, 1024}, {200, 128}}) {
    Builder b("rms_norm");
    b.output("out", rms_norm(b.input("x", {f32, shape}), b.input("gain", {f32, {shape.back()}})));
    expect_right(b.finish(), ("rms_norm " + to_string(shape)).c_str());
    Builder c("layer_norm");
    c.output("out", layer_norm(c.input("x", {f32, shape}), c.input("gain", {f32, {shape.back()}}),
                               c.input("bias", {f32, {shape.back()}})));
    expect_right(c.finish(), ("layer_norm " + to_string(shape)).c_str());
  }
}

// Slices of one tensor that lie a little apart: what they reach is loaded once.
TEST(Patterns, ShiftedSlices) {
  for (DType t : {f32, bf16}) {
    for (const Shape& shape : {Shape{258, 130}, {131, 70}, {514, 37}, {1026, 12}}) {
      Builder b("stencil");
      const Expr x = b.input("x", {t, shape});
      const std::int64_t n = shape[0] - 2, m = shape[1] - 2;
      const auto at = [&](std::int64_t i, std::int64_t j) { return slice(slice(x, 0, i, i + n), 1, j, j + m); };
      b.output("star", at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2) - at(1, 1) * 4.0);
      b.output("rows", maximum(at(0, 0), exp(at(2, 0) * 0.5)) * at(1, 0));
      b.output("turned", at(1, 1) + slice(slice(x, 0, n, 0, -1), 1, 1, 1 + m));
      b.output("sums", sum(at(0, 0) * at(1, 1), {{-1}, true}) + at(1, 2));
      expect_right(b.finish(), ("shifted slices of " + to_string(shape)).c_str());
    }
  }
  Builder b("volume");
  const Expr x = b.input("x", {f32, {14, 30, 22}});
  Expr total = slice(slice(slice(x, 0, 1, 13), 1, 1, 29), 2, 1, 21) * -6.0;
  for (int axis : {0, 1, 2}) {
    for (std::int64_t s : {0, 2}) {
      Expr e = x;
      for (int d : {0, 1, 2}) {
        const std::int64_t start = d == axis ? s : 1;
        e = slice(e, d, start, start + x.shape()[static_cast<std::size_t>(d)] - 2);
      }
      total = total + e;
    }
  }
  b.output("out", total);
  expect_right(b.finish(), "shifted slices of a volume");
}

// One row meets several matrices: what is made of it element by element comes as columns, sums of it wait for nobody.
TEST(Patterns, OneRow) {
  for (DType t : {bf16, f32}) {
    for (std::int64_t n : {1280, 1000, 130}) {
      Builder b("row");
      const Expr x = b.input("x", {t, {1, n}}), gain = b.input("gain", {t, {n}});
      const Expr h = rms_norm(x, gain);
      b.output("wide", silu(matmul(h, b.input("u", {t, {n, t == bf16 ? 1024 : 520}}))));
      b.output("narrow", matmul(h, b.input("w", {t, {n, 96}})) + 1.0);
      b.output("made", matmul(exp(x * 0.25) * gain, b.input("v", {t, {n, 72}})));
      const Expr y = matmul(x, b.input("o", {t, {n, 1152}}));
      b.output("again", matmul(rms_norm(y, b.input("after", {t, {1152}})), b.input("r", {t, {1152, 40}})));
      expect_right(b.finish(), ("one row of " + std::to_string(n)).c_str());
    }
  }
}

TEST(Patterns, Matmul) {
  struct Case {
    Shape x, y;
  };
  for (const Case& c : {Case{{128, 256}, {256, 512}},
                        {{200, 300}, {300, 400}},
                        {{1, 100}, {100, 64}},
                        {{3, 50, 40}, {3, 40, 30}},
                        {{2, 3, 16, 32}, {32, 48}},
                        {{64}, {64, 10}}}) {
    Builder b("matmul");
    b.output("out", matmul(b.input("x", {f32, c.x}), b.input("y", {f32, c.y})));
    expect_right(b.finish(), ("matmul " + to_string(c.x) + to_string(c.y)).c_str());
  }
}

TEST(Patterns, Attention) {
  for (DType t : {f32, bf16}) {
    Builder b("attention");
    const Expr q = b.input("q", {t, {2, 160, 64}}), k = b.input("k", {t, {2, 160, 64}}),
               v = b.input("v", {t, {2, 160, 64}});
    b.output("out", matmul(softmax(matmul(q, transpose(k)) * (1 / std::sqrt(64.0))), v));
    expect_right(b.finish(), "attention");
  }
}

TEST(Patterns, Mlp) {
  Builder b("mlp");
  const Expr x = b.input("x", {f32, {1, 130, 96}});
  const Expr h = rms_norm(x, b.input("gain", {f32, {96}}));
  const Expr gate = matmul(h, b.input("w1", {f32, {96, 200}})), up = matmul(h, b.input("w2", {f32, {96, 200}}));
  b.output("out", x + matmul(silu(gate) * up, b.input("w3", {f32, {200, 96}})));
  expect_right(b.finish(), "mlp");
}

TEST(Patterns, Rope) {
  Builder b("rope");
  const Expr x = b.input("x", {f32, {1, 130, 8, 64}}), c = b.input("cos", {f32, {130, 1, 64}}),
             s = b.input("sin", {f32, {130, 1, 64}});
  const Expr first = slice(x, -1, 0, 32), second = slice(x, -1, 32, 64);
  b.output("out", x * c + concat({-second, first}, -1) * s);
  expect_right(b.finish(), "rope");
}

TEST(Patterns, Heads) {
  Builder b("heads");
  const Expr x = b.input("x", {f32, {1, 64, 128}}), w = b.input("w", {f32, {128, 128}});
  b.output("out", transpose(reshape(matmul(x, w), {1, 64, 4, 32}), {0, 2, 1, 3}));
  expect_right(b.finish(), "heads");
}

TEST(Patterns, Layer) {
  expect_right(bench::layer({.tokens = 48, .hidden = 64, .heads = 4, .kv_heads = 2, .depth = 16, .inner = 96}, f32),
               "layer");
  expect_right(bench::layer({.tokens = 130, .hidden = 96, .heads = 4, .kv_heads = 4, .depth = 32, .inner = 64}, bf16),
               "layer");
}

TEST(Patterns, Reductions) {
  Builder b("reductions");
  const Expr x = b.input("x", {f32, {6, 40, 50}});
  b.output("rows", sum(x, {{-1}}));
  b.output("columns", max(x, {{0}}));
  b.output("all", mean(x));
  b.output("middle", min(x, {{1}, true}));
  b.output("var", variance(x, {{-1}}, 1));
  b.output("argmax", argmax(x, -1));
  b.output("cumsum", cumsum(x, -1));
  expect_right(b.finish(), "reductions");
}

TEST(Patterns, Moves) {
  Builder b("moves");
  const Expr x = b.input("x", {f32, {30, 40}}), y = b.input("y", {f32, {20, 40}});
  b.output("turned", transpose(x));
  b.output("joined", concat({x, y}, 0));
  b.output("padded", pad(x, {1, 2}, {3, 4}, 5.0));
  b.output("strided", slice(x, 0, 1, 29, 3));
  b.output("reshaped", reshape(transpose(x), {8, 150}));
  b.output("tril", tril(x, 2));
  expect_right(b.finish(), "moves");
}

// Transposes go in blocks of one size where there are such, with several small matrices together; every second, third
// or fourth element of rows is taken by an engine.
TEST(Patterns, Transposes) {
  struct Case {
    Shape shape;
    Ints perm;
  };
  for (DType t : {f32, DType::bfloat16}) {
    for (const Case& c : {Case{{2, 96, 20, 30}, {0, 2, 3, 1}},
                          {{30, 13, 77}, {2, 1, 0}},
                          {{5, 500, 300}, {0, 2, 1}},
                          {{3, 60, 260}, {0, 2, 1}},
                          {{131, 254}, {1, 0}},
                          {{6, 7, 200, 8}, {3, 0, 1, 2}},
                          {{640, 1000}, {1, 0}}}) {
      Builder b("transposes");
      b.output("out", transpose(b.input("x", {t, c.shape}), c.perm));
      expect_right(b.finish(), "transposes");
    }
  }
}

TEST(Patterns, EverySecondElement) {
  Builder b("strided");
  const Expr x = b.input("x", {f32, {200, 150}}), n = b.input("n", {DType::int32, {3, 130, 90}});
  const Expr line = b.input("line", {DType::bfloat16, {5000}});
  b.output("third", slice(x, 1, 1, 149, 3));
  b.output("made", exp(slice(x, 1, 0, 150, 2)) + 1.0);
  b.output("both", concat({slice(x, 1, 0, 150, 4), slice(x, 1, 0, 100, 2)}, 1));
  b.output("whole", slice(n, 2, 0, 90, 2));
  b.output("half", slice(line, 0, 1, 5000, 2));
  expect_right(b.finish(), "strided");
}

}  // namespace
}  // namespace kiln::tensor
