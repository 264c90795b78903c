// Recurrences, as loops and written out: computed for all steps at once they equal the oracle, which goes step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/passes/canonicalize.h"
#include "kiln/tensor/passes/loops_at_once.h"
#include "kiln/tensor/passes/steps_at_once.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};
constexpr DType kFloats[] = {DType::float32, DType::bfloat16};
constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_right(const Graph& graph, const Arrays& inputs) {
  EXPECT_EQ(print(parse(print(graph), "text")), print(graph));
  for (const Target target : kTargets) EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "") << print(graph);
}
// Factors below one, so that no state grows.
void expect_right(const Graph& graph, unsigned seed = 3) {
  expect_right(graph, random_inputs(graph, seed, {-0.9, 0.9}));
}

std::int64_t count(const Graph& graph, OpCode code) {
  return std::count_if(graph.ops().begin(), graph.ops().end(), [&](const Op& op) { return op.code == code; });
}
void expect_at_once(const Graph& graph, std::int64_t scans) {
  const Graph out = with_steps_at_once(with_loops_at_once(canonicalize(graph)));
  EXPECT_EQ(count(out, OpCode::for_loop), 0) << print(out);
  EXPECT_EQ(count(out, OpCode::linear_scan), scans) << print(out);
}

TEST(Recurrence, LinearScan) {
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{
           {{5, 33}, 1}, {{33, 130}, 0}, {{3, 9, 17}, 1}, {{7, 1}, 1}, {{40}, 0}, {{130, 3, 11}, 2}, {{4, 30000}, 1}}) {
    for (const DType t : kFloats) {
      Builder b("linear_scan");
      Shape one = shape;
      one[static_cast<std::size_t>(axis)] = 1;
      const Expr x = b.input("x", {t, shape}), a = b.input("a", {t, shape}), first = b.input("first", {t, one});
      const Expr none = b.constant({t, one}, {0.5}), factor = b.constant({t, shape}, {0.25});
      b.output("y", linear_scan(a, x, first, axis));
      b.output("z", linear_scan(factor, x * 2.0, none, axis));
      expect_right(b.finish());
    }
  }
}

TEST(Recurrence, NumbersThatAreNone) {
  Builder b("none");
  const Expr a = b.input("a", {DType::float32, {6, 50}}), x = b.input("x", {DType::float32, {6, 50}});
  const Exprs out = scan({b.constant({DType::float32, {6}}, {0})}, {transpose(a), transpose(x)}, {},
                         [](const Exprs& s, const Exprs& in, const Exprs&) {
                           const Expr h = s[0] + in[0] * (in[1] - s[0]);
                           return Exprs{h, h};
                         });
  b.output("y", out[1]);
  const Graph graph = b.finish();
  expect_at_once(graph, 1);
  Arrays inputs = random_inputs(graph, 7, {0.1, 0.9});
  inputs["x"].data[0] = kInf;
  inputs["x"].data[50 + 20] = -kInf;
  inputs["x"].data[2 * 50 + 49] = kInf;
  inputs["x"].data[3 * 50 + 10] = std::numeric_limits<double>::quiet_NaN();
  expect_right(graph, inputs);
}

// y = sum(h * c), h = exp(dt a) h + dt x b: one scan for all states.
Graph selective_scan(DType t, std::int64_t steps, std::int64_t channels, std::int64_t states, bool rolled) {
  Builder b("selective_scan");
  const Expr x = b.input("x", {t, {steps, channels}}), dt = b.input("dt", {t, {steps, channels}});
  const Expr a = b.input("a", {t, {channels, states}});
  const Expr in = b.input("in", {t, {steps, states}}), read = b.input("read", {t, {steps, states}});
  const Expr none = b.constant({t, {channels, states}}, {0});
  const auto step = [&](const Expr& h, const Exprs& s, const Expr& by) {
    const Expr dt = reshape(s[1], {channels, 1}), now = exp(-(dt * by)) * h + dt * reshape(s[0], {channels, 1}) * s[2];
    return Exprs{now, sum(now * s[3], {{1}})};
  };
  if (rolled) {
    b.output("y", scan({none}, {x, dt, in, read}, {a}, [&](const Exprs& s, const Exprs& now, const Exprs& reads) {
               return step(s[0], now, reads[0]);
             })[1]);
    return b.finish();
  }
  Expr h = none;
  std::vector<Expr> rows;
  for (std::int64_t i = 0; i < steps; ++i) {
    Exprs now;
    for (const Expr& all : {x, dt, in, read}) now.push_back(reshape(slice(all, 0, i, i + 1), {all.shape()[1]}));
    const Exprs out = step(h, now, a);
    h = out[0];
    rows.push_back(out[1]);
  }
  b.output("y", stack(rows, 0));
  b.output("h", h);
  return b.finish();
}

TEST(Recurrence, SelectiveScan) {
  for (const bool rolled : {true, false}) {
    for (const DType t : kFloats) {
      const Graph graph = selective_scan(t, rolled ? 23 : 11, 130, 7, rolled);
      expect_at_once(graph, 1);
      expect_right(graph, random_inputs(graph, 5, {-0.9, -0.1}));
    }
  }
}

// Longer than what fits a partition: parts of the passes, one after the other.
TEST(Recurrence, LongSelectiveScan) {
  const Graph graph = selective_scan(DType::float32, 900, 20, 16, true);
  expect_at_once(graph, 3);
  expect_right(graph, random_inputs(graph, 5, {-0.9, -0.1}));
}

// States of all kinds beside each other, read before and behind the step, backwards, by the number of the pass.
TEST(Recurrence, StatesOfLoops) {
  for (const std::int64_t n : {4, 29}) {
    Builder b("states");
    const Type rows{DType::float32, {n, 37}}, row{DType::float32, {37}};
    const Expr x = b.input("x", rows), y = b.input("y", rows), first = b.input("first", row);
    const Exprs out = for_loop(
        n, {first, first, first, first, x, first}, {x, y}, [&](const Expr& pass, const Exprs& s, const Exprs& in) {
          const auto at = [&](const Expr& all, const Expr& i) { return reshape(dynamic_slice(all, i, 0, 1), {37}); };
          const Expr now = at(in[0], pass), back = at(in[1], n - 1 - pass);
          const Expr h = now * s[0] + back, g = 0.5 * s[1] - h * s[2], largest = maximum(s[2], now);
          const Expr number = cast(pass, DType::float32) * 0.01;
          return Exprs{h,
                       g,
                       largest,
                       (s[3] - number) / 1.5,
                       update_slice(s[4], reshape(g + s[0] + largest, {1, 37}), n - 1 - pass, 0),
                       now};
        });
    for (std::size_t i = 0; i < out.size(); ++i) b.output("y" + std::to_string(i), out[i]);
    const Graph graph = b.finish();
    expect_at_once(graph, 3);
    expect_right(graph);
  }
}

TEST(Recurrence, LargestSoFar) {
  Builder b("largest");
  const Expr x = b.input("x", {DType::float32, {130, 45}}), first = b.input("first", {DType::float32, {130}});
  const Exprs out = scan({first, first}, {transpose(x)}, {}, [](const Exprs& s, const Exprs& in, const Exprs&) {
    const Expr largest = maximum(in[0], s[0]), smallest = minimum(s[1], in[0]);
    return Exprs{largest, smallest, largest - smallest};
  });
  for (std::size_t i = 0; i < out.size(); ++i) b.output("y" + std::to_string(i), out[i]);
  const Graph graph = b.finish();
  expect_at_once(graph, 0);
  expect_right(graph);
}

// What is no recurrence element by element stays a loop.
TEST(Recurrence, OtherLoopsStay) {
  Builder b("others");
  const Expr x = b.input("x", {DType::float32, {40}}), w = b.input("w", {DType::float32, {40, 40}});
  const Exprs turned = for_loop(6, {x, x}, {}, [](const Expr&, const Exprs& s, const Exprs&) {
    return Exprs{s[0] * 0.8 - s[1] * 0.6, s[1] * 0.8 + s[0] * 0.6};
  });
  const Exprs bent = for_loop(6, {x}, {}, [](const Expr&, const Exprs& s, const Exprs&) { return Exprs{tanh(s[0])}; });
  const Exprs multiplied = for_loop(6, {reshape(x, {1, 40})}, {w}, [](const Expr&, const Exprs& s, const Exprs& in) {
    return Exprs{matmul(s[0], in[0]) * 0.1};
  });
  b.output("turned", turned[0]);
  b.output("bent", bent[0]);
  b.output("multiplied", multiplied[0]);
  const Graph graph = b.finish();
  EXPECT_EQ(count(with_loops_at_once(canonicalize(graph)), OpCode::for_loop), 3);
  expect_right(graph);
}

// Steps that are written out: two chains of which one reads the other, one that begins later, one of second order that
// stays, sums of many terms that stay, powers with a list of numbers.
TEST(Recurrence, WrittenSteps) {
  for (const DType t : kFloats) {
    Builder b("written");
    const std::int64_t n = 21;
    const Expr x = b.input("x", {t, {n, 30}}), y = b.input("y", {t, {30, n}});
    Expr h = b.constant({t, {30}}, {0}), g = h, before = h, second = h, total = h,
         power = reshape(slice(x, 0, 0, 1), {30});
    std::vector<Expr> rows, columns;
    for (std::int64_t i = 0; i < n; ++i) {
      const Expr now = reshape(slice(x, 0, i, i + 1), {30}), other = reshape(slice(y, 1, n - 1 - i, n - i), {30});
      h = h * other + now;
      if (i > 1) g = g + 0.25 * (h - g);
      const Expr next = second * 0.5 + before * 0.25 + now;
      before = second, second = next;
      total = total + now * other;
      power = power * other * 0.5 + static_cast<double>(i) * 0.125;
      rows.push_back(tanh(g) * h);
      columns.push_back(h - power);
    }
    b.output("rows", stack(rows, 0));
    b.output("columns", stack(columns, 1));
    b.output("second", second);
    b.output("total", total);
    b.output("last", h);
    const Graph graph = b.finish();
    expect_at_once(graph, 3);
    expect_right(graph);
  }
}

// Factors and summands of all steps that are made before the loop, batches, states read by products of all shapes.
TEST(Recurrence, MadeBeforeTheLoop) {
  for (const DType t : kFloats) {
    for (const bool rolled : {true, false}) {
      Builder b("made_before");
      const std::int64_t n = rolled ? 17 : 9;
      const Expr u = b.input("u", {t, {2, n, 40}}), dt = b.input("dt", {t, {2, n, 40}}), a = b.input("a", {t, {40, 5}});
      const Expr in = b.input("in", {t, {2, n, 5}}), read = b.input("read", {t, {2, n, 5}});
      const Expr factors = exp(-(expand_dims(dt, -1) * a)), sums = expand_dims(dt * u, -1) * expand_dims(in, 2);
      const auto at = [&](const Expr& x, const Expr* pass, std::int64_t i) {
        Shape shape = x.shape();
        shape.erase(shape.begin() + 1);
        return reshape(pass ? dynamic_slice(x, *pass, 1, 1) : slice(x, 1, i, i + 1), shape);
      };
      const auto step = [&](const Expr& h, const Exprs& x, const Expr* pass, std::int64_t i) {
        const Expr now = at(x[0], pass, i) * h + at(x[1], pass, i), by = at(x[2], pass, i);  // (2, 40, 5) and (2, 5)
        const Expr column = reshape(matmul(now, expand_dims(by, -1)), {2, 40});
        const Expr row = reshape(matmul(expand_dims(by, 1), transpose(now)), {2, 40});
        const Expr one = reshape(slice(now, 0, 0, 1), {40, 5});
        const Expr vector = matmul(one, reshape(slice(by, 0, 1, 2), {5}));
        const Expr other = matmul(reshape(slice(by, 0, 0, 1), {5}), transpose(one));
        return Exprs{now, expand_dims(column * 0.5 + row, 1) + reshape(vector - other * 0.25, {1, 1, 40})};
      };
      const Expr none = b.constant({t, {2, 40, 5}}, {0}), rows = b.constant({t, {2, n, 40}}, {0});
      if (rolled) {
        b.output("y", for_loop(n, {none, rows}, {factors, sums, read},
                               [&](const Expr& pass, const Exprs& s, const Exprs& x) {
                                 const Exprs out = step(s[0], x, &pass, 0);
                                 return Exprs{out[0], update_slice(s[1], out[1], pass, 1)};
                               })[1]);
      } else {
        Expr h = none, all = rows;
        for (std::int64_t i = 0; i < n; ++i) {  // each row is put where it belongs, from the last one on
          const std::int64_t place = n - 1 - i;
          const Exprs out = step(h, {factors, sums, read}, nullptr, i);
          h = out[0];
          std::vector<Expr> parts{slice(all, 1, 0, place), out[1], slice(all, 1, place + 1, n)};
          std::erase_if(parts, [](const Expr& part) { return part.type().size() == 0; });
          all = concat(parts, 1);
        }
        b.output("y", all);
      }
      const Graph graph = b.finish();
      expect_at_once(graph, 1);
      expect_right(graph, random_inputs(graph, 9, {0.1, 0.9}));
    }
  }
}

// A random loop: states of random shapes, each a sum or a product of what the ones before it are.
TEST(Recurrence, RandomLoops) {
  std::mt19937 random(11);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 6; ++round) {
    Builder b("random");
    const DType t = kFloats[pick(2)];
    const std::int64_t n = 4 + pick(40), wide = 1 + pick(150), deep = 1 + pick(5);
    const Expr x = b.input("x", {t, {n, wide}}), y = b.input("y", {t, {n, deep, 1}});
    const std::vector<int> how{pick(4), pick(4), pick(4)};
    const Exprs out = scan({b.constant({t, {wide}}, {0.5}), b.constant({t, {deep, wide}}, {0})}, {x, y}, {},
                           [&](const Exprs& s, const Exprs& in, const Exprs&) {
                             const Expr h = how[0] == 0   ? s[0] * in[0] + 0.25
                                            : how[0] == 1 ? (s[0] - in[0]) * 0.5
                                            : how[0] == 2 ? minimum(s[0], in[0])
                                                          : s[0] * 0.75 + s[0] * 0.125 + in[0];
                             const Expr g = how[1] == 0   ? s[1] * in[1] + h
                                            : how[1] == 1 ? in[1] * (h + s[1] * 0.5)
                                            : how[1] == 2 ? h * 0.5 - s[1] / 2.0
                                                          : s[1] * h * in[1];
                             const Expr row = how[2] == 0   ? max(g, {{0}})
                                              : how[2] == 1 ? sum(g * h, {{0}})
                                              : how[2] == 2 ? exp(s[0])
                                                            : reshape(slice(g, 0, 0, 1), {wide});
                             return Exprs{h, g, row};
                           });
    for (std::size_t i = 0; i < out.size(); ++i) b.output("y" + std::to_string(i), out[i]);
    const Graph graph = b.finish();
    expect_right(graph, static_cast<unsigned>(20 + round));
  }
}

}  // namespace
}  // namespace kiln::tensor
