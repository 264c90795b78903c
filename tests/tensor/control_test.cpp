// Loops and branches: compiled they equal the oracle, stay rolled, and keep their state on the chip.
#include <gtest/gtest.h>

#include <limits>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/timing/timed_run.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

void expect_right(const Graph& graph, std::size_t most = 1000, const Arrays* given = nullptr) {
  EXPECT_EQ(print(parse(print(graph), "text")), print(graph));
  const Arrays inputs = given ? *given : random_inputs(graph, 4);
  for (Target target : kTargets) {
    const Outcome out = compare(graph, inputs, {.target = target});
    EXPECT_EQ(out.wrong, "") << arch(target).name << isa::print(out.compiled.program);
    EXPECT_LE(out.compiled.program.instructions.size(), most) << isa::print(out.compiled.program);
  }
}

TEST(Control, For) {
  Builder b("power");
  const Expr x = b.input("x", {DType::float32, {20, 32}}), w = b.input("w", {DType::float32, {32, 32}});
  const Exprs out = for_loop(5, {x, x * 0.0}, {w}, [](const Expr& pass, const Exprs& s, const Exprs& reads) {
    return Exprs{tanh(matmul(s[0], reads[0]) * 0.2), s[1] + s[0] * cast(pass, DType::float32)};
  });
  b.output("y", out[0]);
  b.output("z", out[1] * 2.0);
  expect_right(b.finish(), 40);
}

// Rows of which only the sum is read are added up as they come; others are read themselves, or are summed otherwise.
TEST(Control, SumsOfScannedRows) {
  const auto body = [](const Exprs& s, const Exprs& x, const Exprs& reads) {
    const Expr y = matmul(reshape(x[0], {1, 48}), reads[0]);
    return Exprs{s[0] + 1.0, reshape(y * 0.5, {70}), reshape(tanh(y), {70}), x[0] * 2.0};
  };
  Builder b("sums");
  const Expr x = b.input("x", {DType::float32, {9, 48}}), w = b.input("w", {DType::float32, {48, 70}});
  const Exprs out = scan({b.constant({DType::float32, {1}}, {0})}, {x}, {w}, body);
  b.output("count", out[0]);
  b.output("total", sum(out[1], {{0}, true}));
  b.output("grouped", sum(reshape(out[2], {1, 3, 3, 70}), {{1, 2}, false}));
  b.output("rows", out[3]);
  b.output("also", sum(out[3], {{0}, false}));
  expect_right(b.finish());
}

// Each state by itself or by another, added to and not.
TEST(Control, StatesInPlace) {
  for (const Shape& shape : {Shape{1, 300}, Shape{40, 65}, Shape{128, 7}, Shape{300, 20}}) {
    Builder b("in_place");
    const Expr x = b.input("x", {DType::float32, shape});
    const Expr z = b.input("z", {DType::bfloat16, shape});
    const Exprs out = for_loop(6, {x, x * 0.5, z, x}, {x}, [](const Expr&, const Exprs& s, const Exprs& reads) {
      return Exprs{s[0] + s[1] * 0.25, s[3] - s[1], maximum(s[2], cast(s[1], DType::bfloat16)), reads[0] * s[3]};
    });
    for (std::size_t i = 0; i < out.size(); ++i) b.output("y" + std::to_string(i), out[i]);
    expect_right(b.finish());
  }
}

// Matrices that no pass changes are loaded once, as they are, turned, and with rows that follow each other.
TEST(Control, MatricesOfAllPasses) {
  Builder b("held");
  const Expr x = b.input("x", {DType::float32, {5, 192}});
  const Expr w = b.input("w", {DType::float32, {192, 300}}), u = b.input("u", {DType::float32, {192, 300}});
  const Exprs out = for_loop(4, {x}, {w, u}, [](const Expr&, const Exprs& s, const Exprs& reads) {
    return Exprs{tanh(matmul(tanh(matmul(s[0], reads[0]) * 0.1), transpose(reads[1])) * 0.1)};
  });
  b.output("y", out[0]);
  const Graph graph = b.finish();
  expect_right(graph);
  const Compiled made = compile(graph);
  const double weights = 2.0 * 4 * 192 * 300;
  EXPECT_LT(timing::time_program(made.launch()).timeline.hbm_bytes_read, 1.5 * weights);
}

TEST(Control, NoPass) {
  Builder b("none");
  const Expr x = b.input("x", {DType::float32, {5}});
  b.output("y", for_loop(0, {x}, {}, [](const Expr&, const Exprs& s, const Exprs&) { return Exprs{s[0] + 1.0}; })[0]);
  expect_right(b.finish());
}

TEST(Control, Nested) {
  Builder b("nested");
  const Expr x = b.input("x", {DType::float32, {130, 7}});
  const Exprs out = for_loop(3, {x}, {}, [](const Expr& i, const Exprs& s, const Exprs&) {
    return for_loop(4, s, {i}, [](const Expr& j, const Exprs& t, const Exprs& outer) {
      return Exprs{t[0] * 0.5 + cast(j + outer[0], DType::float32)};
    });
  });
  b.output("y", out[0]);
  expect_right(b.finish());
}

TEST(Control, While) {
  Builder b("until");
  const Expr x = b.input("x", {DType::float32, {6, 9}});
  const Exprs out = while_loop(
      {x, Expr(b.graph(), b.graph().constant({DType::int32, {}}, {0}))}, {},
      [](const Exprs& s, const Exprs&) { return less(max(abs(s[0])), 100.0); },
      [](const Exprs& s, const Exprs&) {
        return Exprs{s[0] * 1.7, s[1] + 1};
      });
  b.output("y", out[0]);
  b.output("passes", out[1]);
  expect_right(b.finish());
}

TEST(Control, Branch) {
  Builder b("choice");
  const Expr x = b.input("x", {DType::float32, {6, 9}}), c = b.input("c", {DType::float32, {}});
  const Exprs out = branch(
      c > 0.0, {x},
      [](const Exprs& r) {
        return Exprs{exp(r[0]), r[0]};
      },
      [](const Exprs& r) {
        return Exprs{r[0] * 3.0, r[0] - 1.0};
      });
  b.output("y", out[0]);
  b.output("z", out[1]);
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 4);
  for (double sign : {1.0, -1.0}) {
    inputs["c"].data = {sign};
    expect_right(graph, 60, &inputs);
  }
}

TEST(Control, Call) {
  Graph body("body");
  const Expr p(body, body.input("p", {DType::float32, {4, 4}}));
  body.output("first", exp(p).value());
  body.output("second", (p * 2.0).value());
  Builder b("calls");
  const Expr x = b.input("x", {DType::float32, {4, 4}});
  const auto shared = std::make_shared<const Graph>(body);
  const Value once = b.graph().add(OpCode::call, {x.value()}, {}, {shared});
  const Value second = b.graph().add(OpCode::result, {once}, {std::int64_t{1}});
  const Value again = b.graph().add(OpCode::call, {second}, {}, {shared});
  b.output("y", Expr(b.graph(), again) + Expr(b.graph(), once));
  expect_right(b.finish());
}

// The delta rule: S is decayed, what it says of the key is replaced by the value, the query reads it.
Graph delta_net(std::int64_t steps, std::int64_t d) {
  Builder b("delta");
  const Type rows{DType::float32, {steps, d}}, column{DType::float32, {steps, 1}};
  const Expr q = b.input("q", rows), k = b.input("k", rows), v = b.input("v", rows), beta = b.input("beta", column),
             s0 = b.input("s0", {DType::float32, {d, d}});
  const Exprs out = scan({s0}, {q, k, v, beta}, {}, [&](const Exprs& s, const Exprs& x, const Exprs&) {
    const Expr key = reshape(x[1], {1, d}), told = matmul(key, s[0]);
    const Expr change = (reshape(x[2], {1, d}) - told) * x[3];
    const Expr next = s[0] * 0.9 + reshape(x[1], {d, 1}) * change;
    return Exprs{next, reshape(matmul(reshape(x[0], {1, d}), next), {d})};
  });
  b.output("state", out[0]);
  b.output("read", out[1]);
  return b.finish();
}

TEST(Control, DeltaNet) { expect_right(delta_net(12, 64), 60); }

// Weights that are chosen at run time are read where they lie, in a loop and outside of one.
TEST(Control, RangesAreReadWhereTheyLie) {
  Builder b("experts");
  const Expr x = b.input("x", {DType::float32, {5, 40}}), experts = b.input("experts", {DType::int32, {5}});
  const Expr table = b.input("table", {DType::float32, {7, 40, 30}}), bias = b.input("bias", {DType::float32, {9, 30}});
  const Exprs out = scan({b.constant({DType::float32, {1}}, {0})}, {x, experts}, {table},
                         [](const Exprs& s, const Exprs& row, const Exprs& reads) {
                           const Expr w = reshape(dynamic_slice(reads[0], reshape(row[1], {}), 0, 1), {40, 30});
                           return Exprs{s[0], reshape(tanh(matmul(reshape(row[0], {1, 40}), w)), {30})};
                         });
  const Expr last = reshape(slice(experts, 0, 4, 5), {});
  b.output("y", out[1] + dynamic_slice(slice(bias, 0, 2, 9), last, 0, 1));
  b.output("part", exp(dynamic_slice(bias, last, 0, 2)));
  b.output("copied", dynamic_slice(bias, last, 0, 3));
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 5);
  inputs["experts"].data = {6, 0, 3, 3, 5};
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    for (const int level : {1, 2}) {
      const Outcome out_of = compare(graph, inputs, {.target = target, .level = level});
      EXPECT_EQ(out_of.wrong, "") << arch(target).name;
      for (const Spill& s : out_of.compiled.spills) EXPECT_EQ(s.what.find("[1, 40, 30]"), std::string::npos) << s.what;
    }
  }
}

// A kernel that gives 2 x and adds x to its second argument, in a program and in a loop.
isa::Program doubling(Target target) {
  isa::Kernel k("doubling", target);
  const isa::View x = k.input("x", {64, 48}, DType::float32), sum = k.inout("sum", {64, 48}, DType::float32),
                  y = k.output("y", {64, 48}, DType::float32);
  k.loop(2, [&](const isa::Index& i) {
    const isa::View t = k.sbuf({32, 48}, DType::float32), s = k.sbuf({32, 48}, DType::float32);
    k.dma_copy({.dst = t, .src = x(isa::ds(i * 32, 32))});
    k.dma_copy({.dst = s, .src = sum(isa::ds(i * 32, 32))});
    k.tensor_tensor({.dst = s, .data1 = s, .data2 = t, .op = AluOp::add});
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2.0});
    k.dma_copy({.dst = y(isa::ds(i * 32, 32)), .src = t});
    k.dma_copy({.dst = sum(isa::ds(i * 32, 32)), .src = s});
  });
  return k.finish();
}

// What takes the place of the kernel for the oracle.
Exprs called(const Expr& x, const Expr& sum, const std::shared_ptr<const isa::Program>& kernel) {
  if (!kernel) return {x * 2.0, sum + x};
  Graph& g = x.graph();
  const Value v = g.kernel(kernel, {x.value(), sum.value()});
  return {{g, v}, {g, g.add(OpCode::result, {v}, {std::int64_t{1}})}};
}

Graph with_kernel(const std::shared_ptr<const isa::Program>& kernel) {
  Builder b("calls");
  const Type t{DType::float32, {64, 48}};
  const Expr x = b.input("x", t), z = b.input("z", t);
  const Exprs once = called(exp(x), z, kernel);
  const Exprs often = for_loop(3, {once[0], once[1]}, {}, [&](const Expr&, const Exprs& s, const Exprs&) {
    const Exprs out = called(s[0] * 0.3, s[1], kernel);
    return Exprs{out[0], out[1]};
  });
  b.output("y", often[0]);
  b.output("sum", often[1] + once[1]);
  return b.finish();
}

TEST(Control, Kernel) {
  const Graph plain = with_kernel(nullptr);
  const Arrays inputs = random_inputs(plain, 4);
  for (Target target : kTargets) {
    const Graph graph = with_kernel(std::make_shared<const isa::Program>(doubling(target)));
    EXPECT_EQ(print(parse(print(graph), "text")), print(graph));
    EXPECT_EQ(compare(graph, inputs, {.target = target}, &plain).wrong, "") << arch(target).name;
  }
  const Graph other = with_kernel(std::make_shared<const isa::Program>(doubling(Target::trn1)));
  EXPECT_THROW(compile(other, {.target = Target::trn2}), Error);
}

TEST(Control, Refused) {
  Builder b("wrong");
  const Expr x = b.input("x", {DType::float32, {5}});
  EXPECT_THROW(for_loop(3, {x}, {}, [](const Expr&, const Exprs& s, const Exprs&) { return Exprs{sum(s[0])}; }), Error);
}

// A step of a recurrence: the row that one product leaves meets every row of the state. It does not go through HBM.
TEST(Control, ARowMeetsAllRowsOfTheState) {
  for (const DType t : {DType::float32, DType::bfloat16}) {
    for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
      Builder b("step");
      const Expr k = b.input("k", {t, {1, 100}}), v = b.input("v", {t, {1, 600}}), s = b.input("s", {t, {100, 600}});
      const Expr d = v - matmul(k, s);
      b.output("next", s * 0.9 + reshape(k, {100, 1}) * d);
      const Graph graph = b.finish();
      const Outcome out = compare(graph, 3, {.target = target});
      EXPECT_EQ(out.wrong, "");
      EXPECT_TRUE(out.compiled.spills.empty());
      Arrays inputs = random_inputs(graph, 5);
      inputs["v"].data[7] = std::numeric_limits<double>::infinity();
      inputs["v"].data[599] = std::numeric_limits<double>::quiet_NaN();
      EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "");
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
