#include "bench/compile_patterns.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "kiln/tensor/ir/expr.h"

namespace kiln::bench {
namespace {

using namespace tensor;  // NOLINT: programs read like the math
constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

Graph swiglu(Shape shape) {
  Builder b("swiglu");
  b.output("out", silu(b.input("gate", {f32, shape})) * b.input("up", {f32, shape}));
  return b.finish();
}

Graph norm(Shape shape, bool layer) {
  Builder b(layer ? "layer_norm" : "rms_norm");
  const Expr x = b.input("x", {f32, shape}), gain = b.input("gain", {f32, {shape.back()}});
  b.output("out", layer ? layer_norm(x, gain, b.input("bias", {f32, {shape.back()}})) : rms_norm(x, gain));
  return b.finish();
}

Graph soft(Shape shape) {
  Builder b("softmax");
  b.output("out", softmax(b.input("x", {f32, shape})));
  return b.finish();
}

Graph product(Shape x, Shape y, DType t = f32) {
  Builder b("matmul");
  b.output("out", matmul(b.input("x", {t, x}), b.input("y", {t, y})));
  return b.finish();
}

Graph ffn(std::int64_t hidden, std::int64_t inner, bool biases) {
  Builder b("ffn");
  const Expr x = b.input("x", {f32, {1, 128, hidden}});
  const Expr both = matmul(x, b.input("w1", {f32, {hidden, 2 * inner}}));
  const Expr h = biases ? both + b.input("b1", {f32, {2 * inner}}) : both;
  const Expr y =
      matmul(silu(slice(h, -1, 0, inner)) * slice(h, -1, inner, 2 * inner), b.input("w2", {f32, {inner, hidden}}));
  b.output("out", biases ? y + b.input("b2", {f32, {hidden}}) : y);
  return b.finish();
}

// x * cos + (-second half, first half) * sin, for (batch, tokens, heads, depth).
Expr rotated(const Expr& x, const Expr& cosine, const Expr& sine) {
  const std::int64_t half = x.shape().back() / 2;
  return x * cosine + concat({-slice(x, -1, half, 2 * half), slice(x, -1, 0, half)}, -1) * sine;
}

Graph rope() {
  Builder b("rope");
  const Expr c = b.input("cos", {f32, {128, 1, 128}}), s = b.input("sin", {f32, {128, 1, 128}});
  b.output("q_out", rotated(b.input("q", {f32, {1, 128, 8, 128}}), c, s));
  b.output("k_out", rotated(b.input("k", {f32, {1, 128, 1, 128}}), c, s));
  return b.finish();
}

Graph attention(std::int64_t heads, std::int64_t n, std::int64_t depth, DType t, bool causal) {
  Builder b("attention");
  const Type type{t, {heads, n, depth}};
  const Expr q = b.input("q", type), k = b.input("k", type), v = b.input("v", type);
  Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(depth)));
  if (causal) {
    const Expr rows = b.iota({DType::int32, {n, n}}, 0), columns = b.iota({DType::int32, {n, n}}, 1);
    scores = where(columns <= rows, scores, -30000.0);
  }
  b.output("out", matmul(softmax(scores), v));
  return b.finish();
}

// Attention whose scores go through a function first; queries may be fewer than keys.
Graph attention_with(Shape q, std::int64_t keys, const std::function<Expr(Builder&, const Expr&)>& function,
                     bool rounds = false) {
  Builder b("attention");
  const Type type{bf16, {q[0], keys, q[2]}};
  const Expr x = b.input("q", {bf16, q}), k = b.input("k", type), v = b.input("v", type);
  const Expr scores = matmul(x, transpose(k)) * (1 / std::sqrt(static_cast<double>(q[2])));
  const Expr weights = softmax(function(b, scores));
  b.output("out", matmul(rounds ? cast(weights, bf16) : weights, v));
  return b.finish();
}

Expr biased(Builder& b, const Expr& s) { return s + b.input("bias", {bf16, {s.shape()[1], s.shape()[2]}}); }
Expr biased_f32(Builder& b, const Expr& s) { return s + b.input("bias", {f32, {s.shape()[1], s.shape()[2]}}); }
Expr padded(Builder& b, const Expr& s) { return s + b.input("bias", {bf16, {s.shape()[0], 1, s.shape()[2]}}); }
Expr capped(Builder& /*b*/, const Expr& s) { return tanh(s * 0.02) * 50.0; }
Expr chosen(Builder& b, const Expr& s) {
  return where(b.input("mask", {DType::bool_, {s.shape()[1], s.shape()[2]}}), s, -30000.0);
}
Expr windowed(Builder& b, const Expr& s) {
  const Type ramp{DType::int32, {s.shape()[1], s.shape()[2]}};
  const Expr row = b.iota(ramp, 0), column = b.iota(ramp, 1);
  return where(logical_and(column <= row, column > row - 256.0), s, -30000.0);
}

// -log(softmax) at the label of each row.
Graph cross_entropy(Shape shape) {
  Builder b("cross_entropy");
  const Expr x = b.input("x", {f32, shape}), hot = b.input("hot", {f32, shape});
  const Expr m = max(x, {{-1}, true});
  b.output("out", log(sum(exp(x - m), {{-1}, true})) + m - tensor::sum(x * hot, {{-1}, true}));
  return b.finish();
}

// Heads in groups share keys and values.
Graph grouped(std::int64_t kv, std::int64_t group, std::int64_t n, std::int64_t depth, DType t) {
  Builder b("grouped");
  const Expr q = b.input("q", {t, {kv * group, n, depth}});
  const auto shared = [&](const char* name) {
    return reshape(broadcast_to(b.input(name, {t, {kv, 1, n, depth}}), {kv, group, n, depth}), {kv * group, n, depth});
  };
  const Expr k = shared("k"), v = shared("v");
  const Type ramp{DType::int32, {n, n}};
  const Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(depth)));
  b.output("out", matmul(softmax(where(b.iota(ramp, 1) <= b.iota(ramp, 0), scores, -30000.0)), v));
  return b.finish();
}

// scale, bias, activation, residual.
Graph residual(Shape shape) {
  Builder b("residual");
  const Expr x = b.input("x", {f32, shape}), y = b.input("y", {f32, shape});
  const Expr scale = b.input("scale", {f32, {shape.back()}}), bias = b.input("bias", {f32, {shape.back()}});
  b.output("out", x + gelu(y * scale + bias));
  return b.finish();
}

Graph strided() {
  Builder b("strided_slice");
  const Expr x = b.input("x", {f32, {1, 16, 32, 32}});
  b.output("out", slice(slice(x, 2, 0, 28, 2), 3, 0, 28, 2));
  return b.finish();
}

Graph turned(Shape shape, Ints perm) {
  Builder b("transpose");
  b.output("out", transpose(b.input("x", {f32, std::move(shape)}), std::move(perm)));
  return b.finish();
}

Graph reduce4() {
  Builder b("reduce");
  b.output("out", tensor::sum(b.input("x", {f32, {1, 128, 16, 128}}), {{-1}, true}));
  return b.finish();
}

Graph cache_write() {
  Builder b("cache_write");
  b.output("cache", update_slice(b.input("cache_in", {f32, {1, 4096, 1, 128}}), b.input("x", {f32, {1, 1, 1, 128}}),
                                 b.input("position", {DType::int32, {}}), 1));
  return b.finish();
}

}  // namespace

namespace {

// One layer behind another; the names of its weights begin with `prefix`.
Expr with_layer(Builder& b, const Expr& x, const Expr& c, const Expr& s, const LayerShape& shape,
                const std::string& prefix) {
  const std::int64_t T = shape.tokens, H = shape.hidden, Q = shape.heads, KV = shape.kv_heads, D = shape.depth,
                     I = shape.inner;
  const DType dtype = x.dtype();
  const auto weight = [&](const char* name, Shape extents) {
    return b.input(prefix + name, {dtype, std::move(extents)});
  };
  const Expr h = rms_norm(x, weight("norm1", {H}));
  const auto heads = [&](const char* name, std::int64_t n) {
    return reshape(matmul(h, weight(name, {H, n * D})), {1, T, n, D});
  };
  const auto placed = [&](const Expr& e, const char* gain) {
    return cast(rotated(rms_norm(e, weight(gain, {D})), c, s), dtype);
  };
  const Expr q = transpose(placed(heads("wq", Q), "q_norm"), {0, 2, 1, 3});
  const Expr k = transpose(placed(heads("wk", KV), "k_norm"), {0, 2, 1, 3});
  const Expr v = transpose(heads("wv", KV), {0, 2, 1, 3});
  const auto grouped = [&](const Expr& e) {
    return reshape(broadcast_to(reshape(e, {1, KV, 1, T, D}), {1, KV, Q / KV, T, D}), {1, Q, T, D});
  };
  const Expr rows = b.iota({DType::int32, {T, T}}, 0), columns = b.iota({DType::int32, {T, T}}, 1);
  const Expr scores = matmul(q, transpose(grouped(k))) * (1 / std::sqrt(static_cast<double>(D)));
  const Expr p = softmax(where(columns <= rows, scores, -30000.0));
  const Expr joined = reshape(transpose(matmul(p, grouped(v)), {0, 2, 1, 3}), {1, T, Q * D});
  const Expr y = x + matmul(joined, weight("wo", {Q * D, H}));
  const Expr g = rms_norm(y, weight("norm2", {H}));
  return y + matmul(silu(matmul(g, weight("w_gate", {H, I}))) * matmul(g, weight("w_up", {H, I})),
                    weight("w_down", {I, H}));
}

}  // namespace

tensor::Graph layer(const LayerShape& shape, DType dtype) {
  Builder b("layer");
  const Expr x = b.input("x", {dtype, {1, shape.tokens, shape.hidden}});
  const Type turns{f32, {shape.tokens, 1, shape.depth}};
  const Expr c = b.input("cos", turns), s = b.input("sin", turns);
  b.output("out", with_layer(b, x, c, s, shape, ""));
  return b.finish();
}

tensor::Graph model(const ModelShape& shape, DType dtype) {
  Builder b("model");
  const LayerShape& l = shape.layer;
  const Expr tokens = b.input("tokens", {DType::int32, {l.tokens}});
  const Expr table = b.input("table", {dtype, {shape.vocabulary, l.hidden}});
  const Type turns{f32, {l.tokens, 1, l.depth}};
  const Expr c = b.input("cos", turns), s = b.input("sin", turns);
  Expr x = reshape(gather_rows(table, tokens), {1, l.tokens, l.hidden});
  for (int i = 0; i < shape.layers; ++i) x = with_layer(b, x, c, s, l, fmt::format("layer{}_", i));
  const Expr last = slice(reshape(x, {l.tokens, l.hidden}), 0, l.tokens - 1, l.tokens);
  const Expr normed = rms_norm(last, b.input("norm", {dtype, {l.hidden}}));
  b.output("logits", matmul(normed, b.input("head", {dtype, {l.hidden, shape.vocabulary}})));
  return b.finish();
}

std::vector<Pattern> patterns() {
  return {
      {"swiglu (1,128,3072)",
       [] {
         return swiglu({1, 128, 3072});
       },
       115},
      {"rms-norm (1,128,1024)",
       [] {
         return norm({1, 128, 1024}, false);
       },
       168},
      {"layer-norm (1,128,1024)",
       [] {
         return norm({1, 128, 1024}, true);
       },
       303},
      {"softmax (1,16,128,128)",
       [] {
         return soft({1, 16, 128, 128});
       },
       1180},
      {"matmul (128,1024)@(1024,6144)",
       [] {
         return product({1, 128, 1024}, {1024, 6144});
       },
       523},
      {"SwiGLU FFN 1024, 3072, biases", [] { return ffn(1024, 3072, true); }, 1159},
      {"rms-norm (1,128,2048)",
       [] {
         return norm({1, 128, 2048}, false);
       },
       236},
      {"FFN 2048, 192", [] { return ffn(2048, 192, false); }, 302},
      {"matmul (128,2048)@(2048,1280)",
       [] {
         return product({1, 128, 2048}, {2048, 1280});
       },
       316},
      {"softmax (1,8,128,128)",
       [] {
         return soft({1, 8, 128, 128});
       },
       604},
      {"RoPE q 8 heads, k 1 head", [] { return rope(); }, 852},
      {"matmul (1,2048)@(2048,384)",
       [] {
         return product({1, 2048}, {2048, 384});
       },
       125},
      {"strided slice (16,32,32)", [] { return strided(); }, 48},
      {"transpose (1024,1024)",
       [] {
         return turned({1024, 1024}, {1, 0});
       },
       0},
      {"sum (1,128,16,128) of rows", [] { return reduce4(); }, 179},
      {"cache write (1,4096,1,128)", [] { return cache_write(); }, 16797, {"cache_in"}},
      {"softmax (4096,2048)",
       [] {
         return soft({4096, 2048});
       },
       0},
      {"rms-norm (4096,4096)",
       [] {
         return norm({4096, 4096}, false);
       },
       0},
      {"matmul (2048,2048)@(2048,2048) bf16",
       [] {
         return product({2048, 2048}, {2048, 2048}, bf16);
       },
       0},
      {"matmul (4096,4096)@(4096,4096) bf16",
       [] {
         return product({4096, 4096}, {4096, 4096}, bf16);
       },
       0},
      {"attention 16 x 128 x 128 f32", [] { return attention(16, 128, 128, f32, false); }, 0},
      {"attention 8 x 2048 x 128 bf16", [] { return attention(8, 2048, 128, bf16, false); }, 0},
      {"attention 8 x 2048 x 128 bf16 causal", [] { return attention(8, 2048, 128, bf16, true); }, 0},
      {"attention 8 x 4096 x 128 bf16", [] { return attention(8, 4096, 128, bf16, false); }, 0},
      {"attention 1 x 16384 x 128 bf16", [] { return attention(1, 16384, 128, bf16, false); }, 0},
      {"LM head (1,2048)@(2048,128256) bf16",
       [] {
         return product({1, 2048}, {2048, 128256}, bf16);
       },
       17919},
      {"layer 0.6B bf16", [] { return layer(); }, 13707},
      {"softmax (3001,1999)",
       [] {
         return soft({3001, 1999});
       },
       0},
      {"layer-norm (3000,5120)",
       [] {
         return norm({3000, 5120}, true);
       },
       0},
      {"cross-entropy (1000,32000)",
       [] {
         return cross_entropy({1000, 32000});
       },
       0},
      {"residual (2000,3000)",
       [] {
         return residual({2000, 3000});
       },
       0},
      {"transpose (1000,3001)",
       [] {
         return turned({1000, 3001}, {1, 0});
       },
       0},
      {"transpose (16,1024,4,128) 0213",
       [] {
         return turned({16, 1024, 4, 128}, {0, 2, 1, 3});
       },
       0},
      {"matmul (1000,3000)@(3000,5000)",
       [] {
         return product({1000, 3000}, {3000, 5000});
       },
       0},
      {"matmul (3000,1100)@(1100,700) bf16",
       [] {
         return product({3000, 1100}, {1100, 700}, bf16);
       },
       0},
      {"matmul 12 x (900,64)@(64,900) bf16",
       [] {
         return product({12, 900, 64}, {12, 64, 900}, bf16);
       },
       0},
      {"attention 5 x 1500 x 96 bf16", [] { return attention(5, 1500, 96, bf16, false); }, 0},
      {"attention 3 x 1900 x 64 f32 causal", [] { return attention(3, 1900, 64, f32, true); }, 0},
      {"grouped heads 4 x 3 x 1024 x 128 bf16", [] { return grouped(4, 3, 1024, 128, bf16); }, 0},
      {"attention 8 x 2048 x 128, a bias",
       [] {
         return attention_with({8, 2048, 128}, 2048, biased);
       },
       0},
      {"attention 8 x 2048 x 128, f32 bias",
       [] {
         return attention_with({8, 2048, 128}, 2048, biased_f32);
       },
       0},
      {"attention 8 x 2048 x 128, f32, cast",
       [] {
         return attention_with({8, 2048, 128}, 2048, biased_f32, true);
       },
       0},
      {"attention 8 x 2048 x 128, per key",
       [] {
         return attention_with({8, 2048, 128}, 2048, padded);
       },
       0},
      {"attention 8 x 2048 x 128, a mask",
       [] {
         return attention_with({8, 2048, 128}, 2048, chosen);
       },
       0},
      {"attention 8 x 2048 x 128, a cap",
       [] {
         return attention_with({8, 2048, 128}, 2048, capped);
       },
       0},
      {"attention 8 x 2048 x 128, a window",
       [] {
         return attention_with({8, 2048, 128}, 2048, windowed);
       },
       0},
      {"attention 8 x 1 x 4096 x 128",
       [] {
         return attention_with({8, 1, 128}, 4096, padded);
       },
       0},
  };
}

}  // namespace kiln::bench
