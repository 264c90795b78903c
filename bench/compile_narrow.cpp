// Products that are no square blocks: of vectors, of many short rows, of rows in windows and as columns; and searches.
#include "bench/compile_patterns.h"
#include "kiln/tensor/ir/more.h"

namespace kiln::bench {
namespace {

using namespace tensor;

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

Graph product(Type x, Type y, const std::function<Expr(const Expr&, const Expr&)>& of) {
  Builder b("product");
  const Expr a = b.input("x", std::move(x)), c = b.input("y", std::move(y));
  b.output("out", of(a, c));
  return b.finish();
}

// Windows of 7 x 7 of an image, each row of which meets a matrix.
Expr windows(const Expr& x, const Expr& w) {
  const Expr cut = transpose(reshape(x, {8, 7, 8, 7, 96}), {0, 2, 1, 3, 4});
  return matmul(reshape(cut, {64, 49, 96}), w);
}

Expr patches(const Expr& x, const Expr& w) {
  const Expr cut = transpose(reshape(x, {3, 14, 16, 14, 16}), {1, 3, 0, 2, 4});
  return matmul(reshape(cut, {196, 768}), w);
}

}  // namespace

std::vector<Pattern> narrow_patterns() {
  const auto plain = [](const Expr& x, const Expr& y) { return matmul(x, y); };
  const auto turned = [](const Expr& x, const Expr& y) { return matmul(transpose(x), y); };
  const auto vectors = [](const Expr& x, const Expr& y) { return einsum("bij,bj->bi", x, y); };
  return {
      {"matmul (8192,4096).T @ vector bf16",
       [=] {
         return product({bf16, {8192, 4096}}, {bf16, {8192}}, turned);
       }},
      {"matmul (8192,4096).T @ vector",
       [=] {
         return product({f32, {8192, 4096}}, {f32, {8192}}, turned);
       }},
      {"512 x (64,256) @ vector bf16",
       [=] {
         return product({bf16, {512, 64, 256}}, {bf16, {512, 256}}, vectors);
       }},
      {"512 x (64,256) @ vector",
       [=] {
         return product({f32, {512, 64, 256}}, {f32, {512, 256}}, vectors);
       }},
      {"matmul (50000,32)@(32,32) bf16",
       [=] {
         return product({bf16, {50000, 32}}, {bf16, {32, 32}}, plain);
       }},
      {"matmul (32768,196)@(196,384) bf16",
       [=] {
         return product({bf16, {32768, 196}}, {bf16, {196, 384}}, plain);
       }},
      {"matmul 64 x (196,512).T @ (196,384) bf16",
       [=] {
         return product({bf16, {64, 196, 512}}, {bf16, {196, 384}}, turned);
       }},
      {"windows 64 x (49,96)@(96,288) bf16",
       [] {
         return product({bf16, {56, 56, 96}}, {bf16, {96, 288}}, windows);
       }},
      {"patches of 16 x 16 x 3 @ (768,768)",
       [] {
         return product({f32, {3, 224, 224}}, {f32, {768, 768}}, patches);
       }},
      {"first 50 of a sort (64,32000)",
       [] {
         Builder b("first");
         b.output("out", slice(argsort(b.input("x", {f32, {64, 32000}})), 1, 0, 50));
         return b.finish();
       }},
  };
}

}  // namespace kiln::bench
