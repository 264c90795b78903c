// Mixtures of experts at the shapes of Qwen3-30B-A3B on one of four ranks: weights that are chosen at run time.
#include <cmath>

#include "bench/compile_patterns.h"
#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"

namespace kiln::bench {
namespace {

using namespace tensor;  // NOLINT: programs read like the math

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, i32 = DType::int32;
constexpr std::int64_t kHidden = 2048, kHeads = 8, kDepth = 128, kExperts = 128, kChosen = 8, kInner = 192,
                       kCache = 4096;
constexpr double kExpertBytes = 2.0 * 3 * kHidden * kInner;

// Each row of x by the expert of its own, times a factor.
Expr by_experts(Builder& b, const Expr& x, const Expr& experts, const Expr& factors) {
  const Expr up = b.input("up", {bf16, {kExperts, kHidden, 2 * kInner}});
  const Expr down = b.input("down", {bf16, {kExperts, kInner, kHidden}});
  const Expr state = b.constant({f32, {1}}, {0});
  const Exprs out =
      scan({state}, {x, experts, factors}, {up, down}, [&](const Exprs& s, const Exprs& row, const Exprs& weights) {
        const Expr e = reshape(row[1], {});
        const auto chosen = [&](const Expr& table) {
          return reshape(dynamic_slice(table, e, 0, 1), {table.shape()[1], table.shape()[2]});
        };
        const Expr h = matmul(reshape(row[0], {1, kHidden}), chosen(weights[0]));
        const Expr gated = silu(slice(h, 1, 0, kInner)) * slice(h, 1, kInner, 2 * kInner);
        const Expr y = cast(matmul(gated, chosen(weights[1])), f32) * reshape(row[2], {1, 1});
        return Exprs{s[0], reshape(y, {kHidden})};
      });
  return out[1];
}

// Tokens to their best experts and back.
Expr mixture(Builder& b, const Expr& x, std::int64_t tokens) {
  const Expr scores = softmax(cast(matmul(x, b.input("router", {bf16, {kHidden, kExperts}})), f32));
  const Expr best = top_k(scores, kChosen), experts = top_k_indices(scores, kChosen);
  const Expr factors = best / sum(best, {{-1}, true});
  const std::int64_t rows = tokens * kChosen;
  const Expr each =
      reshape(broadcast_to(reshape(x, {tokens, 1, kHidden}), {tokens, kChosen, kHidden}), {rows, kHidden});
  const Expr y = by_experts(b, each, reshape(experts, {rows}), reshape(factors, {rows}));
  return cast(sum(reshape(y, {tokens, kChosen, kHidden}), {{1}, false}), bf16);
}

Graph expert_ffn() {
  Builder b("experts");
  const Expr x = b.input("x", {bf16, {1, kHidden}});
  const Expr rows = broadcast_to(x, {kChosen, kHidden});
  b.output("out", sum(by_experts(b, rows, b.input("experts", {i32, {kChosen}}), b.input("factors", {f32, {kChosen}})),
                      {{0}, true}));
  return b.finish();
}

struct Projected {
  Expr q, k, v;  // (tokens, heads, depth)
};

Projected projected(Builder& b, const Expr& x, const Expr& c, const Expr& s) {
  const std::int64_t T = x.shape()[0];
  const Expr h = rms_norm(x, b.input("norm1", {bf16, {kHidden}}));
  const auto heads = [&](const char* name, std::int64_t n) {
    return reshape(matmul(h, b.input(name, {bf16, {kHidden, n * kDepth}})), {T, n, kDepth});
  };
  const auto placed = [&](const Expr& e, const char* gain) {
    const Expr n = cast(rms_norm(e, b.input(gain, {bf16, {kDepth}})), f32);
    const std::vector<Expr> half = split(n, 2, -1);
    return cast(n * c + concat({-half[1], half[0]}, -1) * s, bf16);
  };
  return {placed(heads("wq", kHeads), "q_norm"), placed(heads("wk", 1), "k_norm"), heads("wv", 1)};
}

Expr finished(Builder& b, const Expr& x, const Expr& seen) {
  const std::int64_t T = x.shape()[0];
  const Expr y = x + matmul(reshape(seen, {T, kHeads * kDepth}), b.input("wo", {bf16, {kHeads * kDepth, kHidden}}));
  return y + mixture(b, rms_norm(y, b.input("norm2", {bf16, {kHidden}})), T);
}

// One token at a position that is known at run time; its key and value go into the cache.
Graph decode() {
  Builder b("decode");
  const Expr x = b.input("x", {bf16, {1, kHidden}}), at = b.input("position", {i32, {}});
  const auto turned = [&](const char* name) {
    return reshape(dynamic_slice(b.input(name, {f32, {kCache, kDepth}}), at, 0, 1), {1, 1, kDepth});
  };
  const Projected p = projected(b, x, turned("cos"), turned("sin"));
  const auto written = [&](const char* name, const Expr& e) {
    const Expr cache = update_slice(b.input(name, {bf16, {kCache, kDepth}}), reshape(e, {1, kDepth}), at, 0);
    b.output(std::string(name) + "_after", cache);
    return cache;
  };
  const Expr keys = written("keys", p.k), values = written("values", p.v);
  const Expr scores = matmul(reshape(p.q, {kHeads, kDepth}), transpose(keys)) * (1 / std::sqrt(double{kDepth}));
  const Expr seen = where(b.iota({i32, {kHeads, kCache}}, 1) <= at, scores, -30000.0);
  b.output("out", finished(b, x, matmul(softmax(seen), values)));
  return b.finish();
}

Graph prefill(std::int64_t T) {
  Builder b("prefill");
  const Expr x = b.input("x", {bf16, {T, kHidden}});
  const Type turns{f32, {T, 1, kDepth}};
  const Projected p = projected(b, x, b.input("cos", turns), b.input("sin", turns));
  const Expr q = transpose(p.q, {1, 0, 2}), k = reshape(p.k, {T, kDepth}), v = reshape(p.v, {T, kDepth});
  b.output("keys", k);
  b.output("values", v);
  const Type ramp{i32, {T, T}};
  const Expr scores = matmul(q, transpose(k)) * (1 / std::sqrt(double{kDepth}));
  const Expr seen = matmul(softmax(where(b.iota(ramp, 1) <= b.iota(ramp, 0), scores, -30000.0)), v);
  b.output("out", finished(b, x, transpose(seen, {1, 0, 2})));
  return b.finish();
}

}  // namespace

std::vector<Pattern> expert_patterns() {
  constexpr double kAttention = 2.0 * kHidden * kDepth * (2 * kHeads + 2) + 2.0 * kHidden * kExperts;
  return {
      {"expert FFN, 8 of 128 at run time", expert_ffn, 0, {}, kChosen * kExpertBytes},
      {"layer 30B decode, cache 4096",
       decode,
       49876,
       {"keys", "values"},
       kAttention + kChosen * kExpertBytes + 2.0 * 2 * kCache * kDepth},
      {"layer 30B prefill of 8", [] { return prefill(8); }, 65885, {}, kAttention + 8 * kChosen * kExpertBytes},
  };
}

}  // namespace kiln::bench
