#include "bench/programs.h"

#include <string>

#include "examples/cpp/programs.h"

namespace kiln::bench {
using namespace isa;
namespace {

constexpr Target kTarget = Target::trn2;
constexpr DType f32 = DType::float32;
constexpr std::int64_t kTileColumns = 4096;  // whole rows: memory is read and written in order

// Loads tiles of x (and y), applies body(result, tiles), stores.
template <class Body>
Program elementwise(std::string_view name, int inputs, std::int64_t rows, std::int64_t columns, Body&& body) {
  Kernel k(std::string(name), kTarget);
  std::vector<View> in;
  for (int i = 0; i < inputs; ++i) in.push_back(k.input(i ? "y" : "x", {rows, columns}, f32));
  const View out = k.output("out", {rows, columns}, f32);
  k.tiles(rows, 128, [&](Index r, std::int64_t m) {
    k.tiles(columns, kTileColumns, [&](Index c, std::int64_t n) {
      std::vector<View> tiles;
      for (const View& source : in) {
        tiles.push_back(k.sbuf({m, n}, f32));
        k.dma_copy({.dst = tiles.back(), .src = source(ds(r, m), ds(c, n))});
      }
      const View result = k.sbuf({m, n}, f32);
      body(k, result, tiles);
      k.dma_copy({.dst = out(ds(r, m), ds(c, n)), .src = result});
    });
  });
  return k.finish();
}

Program add(std::int64_t rows, std::int64_t columns) {
  return elementwise("add", 2, rows, columns, [](Kernel& k, const View& result, const std::vector<View>& t) {
    k.tensor_tensor({.dst = result, .data1 = t[0], .data2 = t[1], .op = AluOp::add});
  });
}

template <ActFn fn>
Program activation(std::int64_t rows, std::int64_t columns) {
  return elementwise(name(fn), 1, rows, columns, [](Kernel& k, const View& result, const std::vector<View>& t) {
    k.activation({.dst = result, .op = fn, .data = t[0]});
  });
}

Program row_sum(std::int64_t rows, std::int64_t columns) {
  Kernel k("row_sum", kTarget);
  const View x = k.input("x", {rows, columns}, f32);
  const View out = k.output("out", {rows, 1}, f32);
  k.tiles(rows, 128, [&](Index r, std::int64_t m) {
    const View t = k.sbuf({m, columns}, f32), sum = k.sbuf({m, 1}, f32);
    k.dma_copy({.dst = t, .src = x(ds(r, m))});
    k.tensor_reduce({.dst = sum, .op = AluOp::add, .data = t, .axis = {1}});
    k.dma_copy({.dst = out(ds(r, m)), .src = sum});
  });
  return k.finish();
}

template <DType dtype>
Program gemm(std::int64_t n, std::int64_t) {
  return examples::gemm(n, n, n, dtype, kTarget);
}

Program softmax(std::int64_t rows, std::int64_t columns) { return examples::softmax(rows, columns, kTarget); }

struct Named {
  std::string_view name;
  Program (*build)(std::int64_t rows, std::int64_t columns);
};
constexpr Named kPrograms[] = {
    {"gemm_f32", gemm<DType::float32>},
    {"gemm_bf16", gemm<DType::bfloat16>},
    {"add", add},
    {"exp", activation<ActFn::exp>},
    {"gelu", activation<ActFn::gelu>},
    {"tanh", activation<ActFn::tanh>},
    {"silu", activation<ActFn::silu>},
    {"row_sum", row_sum},
    {"softmax", softmax},
};

}  // namespace

Program program(std::string_view name, std::int64_t rows, std::int64_t columns) {
  for (const Named& p : kPrograms) {
    if (p.name == name) return p.build(rows, columns);
  }
  Diagnostic d;
  d.category = Category::config;
  d.code = "bench.name";
  d.found = "no program `" + std::string(name) + "`";
  throw Error(std::move(d));
}

Program small_instructions(std::int64_t instructions) {
  constexpr int kTiles = 8;
  Kernel k("small_instructions", kTarget);
  const View x = k.input("x", {kTiles, 128, 8}, f32);
  const View out = k.output("out", {kTiles, 128, 8}, f32);
  std::vector<View> tiles;
  for (int i = 0; i < kTiles; ++i) {
    tiles.push_back(k.sbuf({128, 8}, f32));
    k.dma_copy({.dst = tiles.back(), .src = x(i)});
  }
  for (std::int64_t i = 0; i < instructions; ++i) {
    const View& t = tiles[i % kTiles];
    k.tensor_tensor({.dst = t, .data1 = t, .data2 = tiles[(i + 3) % kTiles], .op = AluOp::add});
  }
  for (int i = 0; i < kTiles; ++i) k.dma_copy({.dst = out(i), .src = tiles[i]});
  return k.finish();
}

}  // namespace kiln::bench
