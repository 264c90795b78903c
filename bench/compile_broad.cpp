// Programs beyond transformers' blocks: convolutions, moves, order, indexing, recurrences.
#include <fmt/format.h>

#include "bench/compile_patterns.h"
#include "kiln/tensor/ir/control.h"

namespace kiln::bench {
namespace {

using namespace tensor;

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

Graph one(OpCode code, const std::vector<Type>& types, const Attrs& attrs) {
  Graph g("one");
  std::vector<Value> operands;
  for (std::size_t i = 0; i < types.size(); ++i) operands.push_back(g.input(fmt::format("x{}", i), types[i]));
  g.output("out", g.add(code, operands, attrs));
  return g;
}

Graph conv(Shape x, Shape w, Ints strides, Ints border, DType t = f32) {
  const Ints ones(strides.size(), 1);
  return one(OpCode::conv, {{t, std::move(x)}, {t, std::move(w)}},
             {std::move(strides), border, border, ones, ones, std::int64_t{1}});
}

// Scores of experts for tokens, the best eight of them, their weights.
Graph router() {
  Builder b("router");
  const Expr scores = matmul(b.input("x", {bf16, {128, 2048}}), b.input("w", {bf16, {2048, 128}}));
  Graph& g = b.graph();
  const Attrs attrs{std::int64_t{1}, std::int64_t{8}, true};
  const Expr best(g, g.add(OpCode::top_k, {scores.value()}, attrs));
  b.output("experts", Expr(g, g.add(OpCode::top_k_indices, {scores.value()}, attrs)));
  b.output("weights", softmax(cast(best, f32)));
  return b.finish();
}

// The delta rule: what a state says of a key is replaced by the value, the query reads it.
Graph delta_net(std::int64_t steps, std::int64_t d) {
  Builder b("delta");
  const Type rows{f32, {steps, d}};
  const Expr q = b.input("q", rows), k = b.input("k", rows), v = b.input("v", rows), s0 = b.input("s0", {f32, {d, d}});
  const Exprs out = scan({s0}, {q, k, v}, {}, [&](const Exprs& s, const Exprs& x, const Exprs&) {
    const Expr told = matmul(reshape(x[1], {1, d}), s[0]);
    const Expr next = s[0] * 0.9 + reshape(x[1], {d, 1}) * (reshape(x[2], {1, d}) - told);
    return Exprs{next, reshape(matmul(reshape(x[0], {1, d}), next), {d})};
  });
  b.output("state", out[0]);
  b.output("read", out[1]);
  return b.finish();
}

Graph strided_assignment() {
  Builder b("assign");
  const Expr x = b.input("x", {f32, {4096, 1024}}), y = b.input("y", {f32, {2048, 1024}});
  const Expr pairs = reshape(x, {2048, 2, 1024});
  b.output("out", reshape(concat({expand_dims(y, 1), slice(pairs, 1, 1, 2)}, 1), {4096, 1024}));
  return b.finish();
}

}  // namespace

std::vector<Pattern> broad_patterns() {
  const std::int64_t zero = 0, one_ = 1;
  const Type grid{f32, {4096, 1024}}, line{f32, {1 << 20}};
  return {
      {"conv2d 3 to 64, k7 s2 p3, 224",
       [] {
         return conv({1, 3, 224, 224}, {64, 3, 7, 7}, {2, 2}, {3, 3});
       }},
      {"conv2d 16 to 32, k5 s2, 32",
       [] {
         return conv({1, 16, 32, 32}, {32, 16, 5, 5}, {2, 2}, {2, 2});
       },
       33000},
      {"conv2d 64 to 64, k3 p1, 56 bf16",
       [] {
         return conv({8, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1}, bf16);
       }},
      {"conv2d 256 to 256, k3 p1, 28 bf16",
       [] {
         return conv({8, 256, 28, 28}, {256, 256, 3, 3}, {1, 1}, {1, 1}, bf16);
       }},
      {"conv3d 32 to 64, k3 s2 p1",
       [] {
         return conv({1, 32, 8, 16, 16}, {64, 32, 3, 3, 3}, {2, 2, 2}, {1, 1, 1});
       }},
      {"conv3d 64 to 64, k3 p1, 16x32x32 bf16",
       [] {
         return conv({1, 64, 16, 32, 32}, {64, 64, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, bf16);
       }},
      {"conv3d patches 3 to 1152",
       [] {
         return conv({64, 3, 2, 16, 16}, {1152, 3, 2, 16, 16}, {2, 16, 16}, {0, 0, 0});
       }},
      {"conv1d 512 to 512, k3, 4096 bf16",
       [] {
         return conv({1, 512, 4096}, {512, 512, 3}, {1}, {1}, bf16);
       }},
      {"flip rows (4096,1024)", [=] { return one(OpCode::flip, {grid}, {Ints{0}}); }},
      {"flip columns (4096,1024)", [=] { return one(OpCode::flip, {grid}, {Ints{1}}); }},
      {"roll (4096,1024)",
       [=] {
         return one(OpCode::roll, {grid}, {Ints{100, 300}, Ints{0, 1}});
       }},
      {"pad (4096,1024)",
       [=] {
         return one(OpCode::pad, {grid}, {Ints{3, 5}, Ints{2, 7}, 0.0});
       }},
      {"pad reflect (4096,1024)",
       [=] {
         return one(OpCode::pad_with, {grid}, {Ints{3, 5}, Ints{2, 7}, std::string("reflect")});
       }},
      {"strided assignment (4096,1024)", strided_assignment},
      {"tile (1024,1024) x (2,2)",
       [=] {
         return one(OpCode::tile, {{f32, {1024, 1024}}}, {Ints{2, 2}});
       }},
      {"take rows (50000,1024), 512",
       [=] {
         return one(OpCode::take, {{f32, {50000, 1024}}, {DType::int32, {512}}}, {zero, std::string("raise")});
       }},
      {"cumsum 1M", [=] { return one(OpCode::cumsum, {line}, {zero}); }},
      {"sort (128,1024)",
       [=] {
         return one(OpCode::sort, {{f32, {128, 1024}}}, {one_, false});
       }},
      {"sort (8,32000)",
       [=] {
         return one(OpCode::sort, {{f32, {8, 32000}}}, {one_, false});
       }},
      {"router 128 tokens, 8 of 128 experts", router},
      {"DeltaNet 128 steps, 128", [] { return delta_net(128, 128); }, 23600},
  };
}

}  // namespace kiln::bench
