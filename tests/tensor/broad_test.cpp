// Integers, moves, indexing and order: compiled for every target, they equal the oracle; odd shapes, ties, NaN.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kiln/tensor/ir/expr.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};
constexpr double kInf = std::numeric_limits<double>::infinity();

// One op of inputs x0, x1, ...
Graph one(OpCode code, const std::vector<Type>& types, const Attrs& attrs = {}) {
  Graph g("one");
  std::vector<Value> operands;
  for (std::size_t i = 0; i < types.size(); ++i) operands.push_back(g.input(fmt::format("x{}", i), types[i]));
  g.output("out", g.add(code, operands, attrs));
  return g;
}

void expect_right(const Graph& graph, const Arrays& inputs, const std::string& what,
                  const std::vector<Target>& targets = {kTargets, kTargets + 3}) {
  for (Target target : targets) {
    try {
      EXPECT_EQ(compare(graph, inputs, {.target = target, .level = 1}).wrong, "") << what << " " << arch(target).name;
    } catch (const Error& e) {
      ADD_FAILURE() << what << " " << arch(target).name << ": " << e.what();
    }
  }
}

void expect_right(const Graph& graph, const std::string& what) { expect_right(graph, random_inputs(graph, 11), what); }

// Integers of all sizes, the corners among them.
void fill_corners(Array& a, unsigned seed) {
  std::mt19937_64 random(seed);
  const DType t = a.type.dtype;
  const double corners[] = {lowest(t), highest(t), 0, 1, lowest(t) < 0 ? -1.0 : 2.0, 7, highest(t) - 1};
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const auto bits = static_cast<std::int64_t>(random() >> (random() % 40));
    a.data[i] = i % 3 == 0 ? corners[random() % 7] : wrapped(t, random() % 2 ? bits : -bits);
  }
}

constexpr DType kIntegers[] = {DType::int8, DType::int16, DType::int32, DType::uint8, DType::uint16, DType::uint32};

TEST(Broad, IntegersAreExact) {
  for (OpCode code : {OpCode::floor_divide, OpCode::remainder, OpCode::fmod, OpCode::multiply, OpCode::power,
                      OpCode::add, OpCode::subtract, OpCode::maximum, OpCode::less, OpCode::equal, OpCode::square,
                      OpCode::left_shift, OpCode::right_shift, OpCode::abs, OpCode::sign, OpCode::negative}) {
    for (DType t : kIntegers) {
      const Type type{t, {9, 61}};
      const Graph g = one(code, info(code).operands == 1 ? std::vector{type} : std::vector{type, type});
      Arrays inputs = random_inputs(g, 1);
      unsigned seed = 3;
      for (auto& [name, array] : inputs) fill_corners(array, ++seed);
      if (code == OpCode::left_shift || code == OpCode::right_shift) {
        for (double& y : inputs["x1"].data) y = std::fmod(std::fabs(y), 8 * size_bytes(t));
      }
      expect_right(g, inputs, fmt::format("{} of {}", name(code), name(t)), {Target::trn2});
    }
  }
}

// Where a quotient rounds to an integer, angles are large, and numbers nearly overflow.
TEST(Broad, FloatsAtTheEdge) {
  const Type type{DType::float32, {1, 6}};
  for (OpCode code : {OpCode::floor_divide, OpCode::remainder, OpCode::fmod}) {
    const Graph g = one(code, {type, type});
    Arrays inputs = random_inputs(g, 1);
    inputs["x0"].data = {48749.99609375, 1e6, -1e6, 7.5, stored(DType::float32, 0.3), 12345.678};
    for (double& x : inputs["x0"].data) x = stored(DType::float32, x);
    inputs["x1"].data = {1, 0.1, 0.1, -2.5, 0.1, 0.001};
    for (double& x : inputs["x1"].data) x = stored(DType::float32, x);
    expect_right(g, inputs, std::string(name(code)));
  }
  for (OpCode code : {OpCode::sin, OpCode::cos, OpCode::log1p}) {
    const Graph g = one(code, {type});
    Arrays inputs = random_inputs(g, 1);
    inputs["x0"].data = {20000.5, 1e5, 9e6, 3.14159, 31415.926, code == OpCode::log1p ? 3e38 : 5e6};
    for (double& x : inputs["x0"].data) x = stored(DType::float32, x);
    expect_right(g, inputs, std::string(name(code)));
  }
}

TEST(Broad, ProductsOfIntegers) {
  for (DType t : {DType::int8, DType::int32, DType::uint16, DType::bool_}) {
    for (const auto& [a, b] :
         std::vector<std::pair<Shape, Shape>>{{{5, 300}, {300, 7}}, {{2, 3, 9}, {2, 9, 4}}, {{8}, {8}}}) {
      const Graph g = one(OpCode::matmul, {{t, a}, {t, b}});
      Arrays inputs = random_inputs(g, 5);
      unsigned seed = 3;
      for (auto& [name, array] : inputs) {
        if (t != DType::bool_) fill_corners(array, ++seed);
      }
      expect_right(g, inputs, fmt::format("matmul of {} {}", name(t), to_string(a)));
    }
  }
}

TEST(Broad, Moves) {
  const Type x{DType::float32, {5, 7, 6}};
  using Case = std::pair<OpCode, Attrs>;
  const std::int64_t single = 1, two = 2, zero = 0, minus = -2;
  for (const auto& [code, attrs] : std::vector<Case>{{OpCode::flip, {Ints{0}}},
                                                     {OpCode::flip, {Ints{2}}},
                                                     {OpCode::flip, {Ints{0, 1, 2}}},
                                                     {OpCode::roll, {Ints{2}, Ints{0}}},
                                                     {OpCode::roll, {Ints{-3, 8}, Ints{2, 1}}},
                                                     {OpCode::tile, {Ints{2, 1, 3}}},
                                                     {OpCode::tile, {Ints{2}}},
                                                     {OpCode::tile, {Ints{3, 1, 1, 1}}},
                                                     {OpCode::repeat, {Ints{3}, two}},
                                                     {OpCode::repeat, {Ints{2}, zero}},
                                                     {OpCode::repeat, {Ints{1, 0, 2, 3, 1}, zero}},
                                                     {OpCode::diagonal, {zero, zero, single}},
                                                     {OpCode::diagonal, {two, single, two}},
                                                     {OpCode::diagonal, {minus, zero, two}},
                                                     {OpCode::trace, {single, single, two}},
                                                     {OpCode::diag_matrix, {zero}},
                                                     {OpCode::diag_matrix, {two}},
                                                     {OpCode::diag_matrix, {minus}}})
    expect_right(one(code, {x}, attrs), fmt::format("{}", name(code)));
}

TEST(Broad, Borders) {
  for (const char* mode : {"edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "linear_ramp"}) {
    for (DType t : {DType::float32, DType::int32}) {
      const Graph g = one(OpCode::pad_with, {{t, {4, 1, 6}}}, {Ints{2, 1, 0}, Ints{9, 0, 3}, std::string(mode)});
      expect_right(g, fmt::format("pad {} of {}", mode, name(t)));
    }
  }
}

TEST(Broad, Take) {
  const std::int64_t zero = 0, single = 1, two = 2;
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{{{9, 40}, zero},
                                                                               {{9, 40}, single},
                                                                               {{3, 11, 70}, single},
                                                                               {{3, 11, 5}, single},
                                                                               {{3, 4, 11}, two},
                                                                               {{17}, zero}}) {
    for (DType t : {DType::float32, DType::int8, DType::bfloat16}) {
      const std::int64_t n = shape[axis];
      const Graph g = one(OpCode::take, {{t, shape}, {DType::int32, {2, 3}}}, {axis, std::string("raise")});
      Arrays inputs = random_inputs(g, 5);
      inputs["x1"].data = {0, -1, 3, static_cast<double>(n - 1), static_cast<double>(-n), 3};
      expect_right(g, inputs, fmt::format("take {} axis {} {}", to_string(shape), axis, name(t)));
    }
  }
  for (const char* mode : {"wrap", "clip"}) {
    const Graph g = one(OpCode::take, {{DType::float32, {7, 12}}, {DType::int32, {4}}}, {single, std::string(mode)});
    Arrays inputs = random_inputs(g, 5);
    inputs["x1"].data = {100, -1000, 12, -1};
    expect_right(g, inputs, mode);
  }
}

void fill_index(Array& a, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  for (double& x : a.data) x = static_cast<double>(static_cast<std::int64_t>(random() % (2 * n)) - n);
}

TEST(Broad, LinesByIndex) {
  const std::int64_t zero = 0, single = 1;
  for (const auto& [shape, index, axis] : std::vector<std::tuple<Shape, Shape, std::int64_t>>{
           {{130, 33}, {130, 9}, single}, {{8, 33}, {3, 33}, zero}, {{2, 5, 6}, {2, 9, 6}, single}}) {
    for (DType t : {DType::float32, DType::int32, DType::uint8, DType::bfloat16}) {
      const Graph g = one(OpCode::take_along_axis, {{t, shape}, {DType::int32, index}}, {axis});
      Arrays inputs = random_inputs(g, 5);
      fill_index(inputs["x1"], shape[axis], 2);
      expect_right(g, inputs, fmt::format("take_along {} {}", to_string(shape), name(t)));
      for (const char* mode : {"set", "add", "multiply", "maximum", "minimum"}) {
        if (t == DType::bfloat16 && std::string(mode) == "multiply") continue;  // rounds at every step
        const Graph p =
            one(OpCode::put_along_axis, {{t, shape}, {DType::int32, index}, {t, index}}, {axis, std::string(mode)});
        Arrays given = random_inputs(p, 5);
        fill_index(given["x1"], shape[axis], 2);
        expect_right(p, given, fmt::format("put_along {} {} {}", mode, to_string(shape), name(t)), {Target::trn2});
      }
    }
  }
}

TEST(Broad, Scatter) {
  const std::int64_t zero = 0, single = 1;
  for (DType t : {DType::float32, DType::int32, DType::int8}) {
    for (const char* mode : {"set", "add", "multiply", "maximum"}) {
      for (std::int64_t axis : {zero, single}) {
        const Shape shape{6, 10, 4};
        Shape rows = shape;
        rows[axis] = 7;
        const Graph g = one(OpCode::scatter, {{t, shape}, {DType::int32, {7}}, {t, rows}}, {axis, std::string(mode)});
        Arrays inputs = random_inputs(g, 5);
        inputs["x1"].data = {1, -1, 3, 1, 1, 0, -2};
        expect_right(g, inputs, fmt::format("scatter {} of {} axis {}", mode, name(t), axis));
      }
    }
  }
}

// Rows that no partition holds, of lengths that few numbers of partitions divide, and longer than one instruction
// takes.
TEST(Broad, ScatterLongRows) {
  const std::int64_t zero = 0;
  for (const auto& [t, row, mode] : {std::tuple{DType::float32, 257 * 257, "add"},
                                     {DType::float32, 257 * 257, "set"},
                                     {DType::int8, 70001, "maximum"},
                                     {DType::uint8, 128 * 8193, "add"},
                                     {DType::int16, 128 * 8193 + 77, "multiply"}}) {
    const Graph g =
        one(OpCode::scatter, {{t, {2, row}}, {DType::int32, {3}}, {t, {3, row}}}, {zero, std::string(mode)});
    Arrays inputs = random_inputs(g, 5);
    inputs["x1"].data = {1, 0, -1};
    expect_right(g, inputs, fmt::format("scatter {} of {} rows of {}", mode, name(t), row), {Target::trn1});
  }
}

// Sums of many rows go 128 at a time; a row that is no number spoils its own place alone.
TEST(Broad, ScatterManyRows) {
  const std::int64_t zero = 0, single = 1;
  for (const auto& [t, table, rows] : {std::tuple{DType::float32, Shape{40, 70}, Shape{300, 70}},
                                       {DType::bfloat16, Shape{9, 33}, Shape{40, 33}},
                                       {DType::float16, Shape{300, 5}, Shape{129, 5}},
                                       {DType::float32, Shape{7, 1100}, Shape{17, 1100}}}) {
    for (std::int64_t axis : {zero, single}) {
      const auto turned = [&](Shape s) { return axis == 0 ? s : Shape{s[1], s[0]}; };
      const Graph g = one(OpCode::scatter, {{t, turned(table)}, {DType::int32, {rows[0]}}, {t, turned(rows)}},
                          {axis, std::string("add")});
      Arrays inputs = random_inputs(g, 5);
      fill_index(inputs["x1"], table[0], 3);
      expect_right(g, inputs, fmt::format("scatter of {} axis {}", to_string(rows), axis));
      if (axis != 0) continue;
      inputs["x2"].data[4 * static_cast<std::size_t>(rows[1])] = INFINITY;
      expect_right(g, inputs, fmt::format("scatter of {} with an infinity", to_string(rows)));
    }
  }
}

// One number in the place of a tensor.
TEST(Broad, UniformOperands) {
  Builder b("uniform");
  Graph& g = b.graph();
  const Expr x = b.input("x", {DType::float32, {5, 6}}), at = b.input("at", {DType::int32, {3}});
  const Expr ones = b.constant({DType::float32, {6, 3}}, {1}), rows = b.constant({DType::float32, {3, 6}}, {2});
  b.output("right", matmul(x, ones));
  b.output("left", matmul(b.constant({DType::float32, {4, 5}}, {0.5}), x));
  b.output("counted", Expr(g, g.add(OpCode::scatter, {x.value(), at.value(), rows.value()},
                                    {std::int64_t{0}, std::string("add")})));
  b.output("set", scatter_rows(x, at, rows));
  b.output("put", update_slice(x, b.constant({DType::float32, {2, 6}}, {7}), b.constant({DType::int32, {}}, {2}), 0));
  b.output("cut", dynamic_slice(x, b.constant({DType::int32, {}}, {1}), 1, 3));
  b.output("rows", gather_rows(b.constant({DType::float32, {9, 2}}, {3}), at));
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 5);
  inputs["at"].data = {4, 0, 2};
  expect_right(graph, inputs, "uniform");
}

TEST(Broad, Tuples) {
  const Graph g = one(OpCode::gather_nd, {{DType::float32, {6, 5, 8}}, {DType::int32, {4, 1}}, {DType::int32, {3}}});
  Arrays inputs = random_inputs(g, 5);
  inputs["x1"].data = {0, 5, -1, 3};
  inputs["x2"].data = {4, -5, 2};
  expect_right(g, inputs, "gather_nd");
  const Graph s = one(OpCode::scatter_nd,
                      {{DType::float32, {6, 5, 8}}, {DType::float32, {3, 8}}, {DType::int32, {3}}, {DType::int32, {3}}},
                      {std::string("add")});
  inputs = random_inputs(s, 5);
  inputs["x2"].data = {0, 5, 0};
  inputs["x3"].data = {4, -5, 4};
  expect_right(s, inputs, "scatter_nd");
}

TEST(Broad, Counting) {
  const std::int64_t zero = 0, five = 5;
  const Graph hot = one(OpCode::one_hot, {{DType::int32, {3, 4}}}, {std::int64_t{6}, DType::bfloat16});
  Arrays inputs = random_inputs(hot, 5);
  inputs["x0"].data = {0, 1, 2, 3, 4, 5, 6, -1, 0, 5, 3, 3};
  expect_right(hot, inputs, "one_hot");
  for (bool right : {false, true}) {
    for (DType t : {DType::float32, DType::int32}) {
      const Graph g = one(OpCode::searchsorted, {{t, {7}}, {t, {2, 5}}}, {right});
      inputs = random_inputs(g, 5);
      inputs["x0"].data = {-3, -1, 0, 0, 2, 5, 5};
      inputs["x1"].data = {-4, -3, 0, 1, 2, 5, 6, -2, 100, -100};
      expect_right(g, inputs, "searchsorted");
    }
  }
  const Graph bins = one(OpCode::bincount, {{DType::int32, {300}}}, {std::int64_t{9}});
  inputs = random_inputs(bins, 5);
  fill_index(inputs["x0"], 9, 4);
  for (double& x : inputs["x0"].data) x = std::fabs(x);
  expect_right(bins, inputs, "bincount");
  const Graph weighed = one(OpCode::bincount, {{DType::int32, {300}}, {DType::float32, {300}}}, {std::int64_t{9}});
  Arrays given = random_inputs(weighed, 5);
  given["x0"] = inputs["x0"];
  expect_right(weighed, given, "bincount with weights");
  const Graph places = one(OpCode::nonzero, {{DType::float32, {4, 9}}}, {std::int64_t{7}});
  inputs = random_inputs(places, 5);
  for (std::size_t i = 0; i < 36; ++i) inputs["x0"].data[i] = i % 5 == 2 ? 1.5 : 0;
  expect_right(places, inputs, "nonzero");
  const Graph some = one(OpCode::compress, {{DType::float32, {9, 20}}, {DType::bool_, {9}}}, {zero, five});
  inputs = random_inputs(some, 5);
  inputs["x1"].data = {0, 1, 1, 0, 1, 0, 1, 1, 1};
  expect_right(some, inputs, "compress");
}

TEST(Broad, RunningValues) {
  for (OpCode code : {OpCode::cumsum, OpCode::cumprod, OpCode::cummax, OpCode::cummin}) {
    for (DType t : {DType::float32, DType::int32, DType::int8, DType::uint16}) {
      for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{
               {{5, 33}, 1}, {{33, 5}, 0}, {{2, 9, 7}, 1}, {{3, 1}, 1}, {{1, 2500}, 1}}) {
        const Graph g = one(code, {{t, shape}}, {axis});
        Arrays inputs = random_inputs(g, 5, {0.7, 1.4});
        if (!is_float(t)) fill_corners(inputs["x0"], 9);
        const bool small = shape.back() < 100;
        expect_right(g, inputs, fmt::format("{} of {} {}", name(code), name(t), to_string(shape)),
                     small ? std::vector{Target::trn1, Target::trn3} : std::vector{Target::trn2});
      }
    }
  }
}

TEST(Broad, Order) {
  const std::int64_t zero = 0, single = 1, three = 3;
  for (DType t : {DType::float32, DType::int32, DType::uint32, DType::int8, DType::bfloat16}) {
    for (bool descending : {false, true}) {
      for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{
               {{5, 33}, single}, {{10, 3}, zero}, {{4, 1}, single}, {{130, 8}, single}}) {
        for (OpCode code : {OpCode::argsort, OpCode::sort}) {
          const Graph g = one(code, {{t, shape}}, {axis, descending});
          Arrays inputs = random_inputs(g, 5);
          for (double& x : inputs["x0"].data) x = is_float(t) ? stored(t, std::round(x * 2)) : x;
          if (is_integer(t)) fill_corners(inputs["x0"], 3);
          if (is_float(t)) {
            inputs["x0"].data[1] = std::nan("");
            inputs["x0"].data[2] = kInf;
            inputs["x0"].data[3] = -kInf;
          }
          expect_right(g, inputs, fmt::format("{} of {} {}", name(code), name(t), to_string(shape)),
                       {shape[0] == 5    ? Target::trn1
                        : shape[0] == 10 ? Target::trn3
                                         : Target::trn2});
        }
      }
    }
  }
  for (OpCode code : {OpCode::top_k, OpCode::top_k_indices}) {
    for (bool largest : {false, true})
      expect_right(one(code, {{DType::float32, {6, 50}}}, {single, three, largest}), std::string(name(code)));
  }
}

TEST(Broad, LongOrder) {
  const Graph g = one(OpCode::argsort, {{DType::float32, {2, 9000}}}, {std::int64_t{1}, false});
  Arrays inputs = random_inputs(g, 5);
  for (double& x : inputs["x0"].data) x = std::round(x * 1000);
  inputs["x0"].data[77] = std::nan("");
  inputs["x0"].data[7777] = kInf;
  expect_right(g, inputs, "argsort", {Target::trn2});
}

// Words that the authors of the generator publish for these keys, for counters (0, 0) and (1, 0) of ours.
TEST(Broad, RandomBits) {
  Graph known("known");
  known.output("out", known.add(OpCode::random_bits, {known.input("key", {DType::uint32, {2}})}, {Ints{2}}));
  const Array zero{{DType::uint32, {2}}, {0, 0}};
  const Array words = evaluate(known, {{"key", zero}}).at("out");
  EXPECT_EQ(words.data, (std::vector<double>{0x6b200159, 0x99ba4efe}));
  for (const Shape& shape : {Shape{1}, {2}, {7}, {3, 50}, {2500}, {4, 3, 130}, {0, 4}}) {
    for (OpCode code : {OpCode::random_bits, OpCode::random_uniform}) {
      Graph g("random");
      g.output("out", g.add(code, {g.input("key", {DType::uint32, {2}})}, {shape}));
      for (const Array& key : {zero, Array{{DType::uint32, {2}}, {0xdeadbeef, 0xffffffff}}})
        expect_right(g, {{"key", key}}, std::string(name(code)) + to_string(shape));
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
