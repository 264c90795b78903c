// The first NaN or infinity: once per run, the same for any number of threads, with what it was made of.
// nonfinite.test has what counts as one.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/seed.h"
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

std::vector<std::string> codes(const RunReport& report) {
  std::vector<std::string> out;
  for (const Diagnostic& d : report.warnings) out.push_back(d.code);
  return out;
}

std::string fact(const Diagnostic& d, const std::string& label) {
  for (const Fact& f : d.facts) {
    if (f.label == label) return f.text;
  }
  return {};
}

// y = 1 / x in tiles that threads take in turns, and z = float16(y).
struct Reciprocals {
  static constexpr std::int64_t kTiles = 24, kElements = 128 * 512;
  Kernel k{"reciprocals"};
  explicit Reciprocals() {
    const View x = k.input("x", {kTiles * 128, 512}, DType::float32);
    const View y = k.output("y", {kTiles * 128, 512}, DType::float32);
    const View z = k.output("z", {kTiles * 128, 512}, DType::float16);
    k.loop(kTiles, [&](Index i) {
      const View t = k.sbuf({128, 512}, DType::float32), u = k.sbuf({128, 512}, DType::float32);
      const View v = k.sbuf({128, 512}, DType::float16);
      k.dma_copy({.dst = t, .src = x(ds(i * 128, 128))});
      k.reciprocal({.dst = u, .data = t});
      k.tensor_copy({.dst = v, .src = u});
      k.dma_copy({.dst = y(ds(i * 128, 128)), .src = u});
      k.dma_copy({.dst = z(ds(i * 128, 128)), .src = v});
    });
  }
};

TEST(Nonfinite, TheFirstOfEachKindForAnyNumberOfThreads) {
  Reciprocals kernel;
  KernelRun run(kernel.k);
  Floats in(Reciprocals::kTiles * Reciprocals::kElements, 1.0f);
  for (const int tile : {9, 11, 20}) in[tile * Reciprocals::kElements + 700] = 0;
  for (const int tile : {13, 17}) in[tile * Reciprocals::kElements + 3] = 1e-6f;
  run.set("x", in);
  const std::string i = run.program.loops[0].variable;
  for (const int threads : {1, 2, 4, 7}) {
    for (const bool plain : {false, true}) {
      const RunReport report = run.run({.threads = threads, .plain = plain});
      ASSERT_EQ(codes(report), (std::vector<std::string>{"run.R15", "run.R16"})) << threads;
      EXPECT_TRUE(has(report.warnings[0].found, "element [1, 188] of ")) << report.warnings[0].found;
      EXPECT_EQ(fact(report.warnings[0], "pass"), i + "=9");
      EXPECT_EQ(fact(report.warnings[0], "operands"), "data is 0");
      EXPECT_TRUE(has(report.warnings[1].found, "float16 ends at 65504")) << report.warnings[1].found;
      EXPECT_EQ(fact(report.warnings[1], "pass"), i + "=13");
      EXPECT_EQ(fact(report.warnings[1], "operands"), "src is 1e+06");
    }
  }
}

// Sums of products that threads take in turns. What lay in PSUM before a product is known from the one before it; the
// third one of some sums is too much for float32, and those after it make nothing.
TEST(Nonfinite, ProductsThatAddUpForAnyNumberOfThreads) {
  constexpr std::int64_t kSums = 12, kProducts = 5;
  Kernel k("sums");
  const View a = k.input("a", {128, 128}, DType::float32);
  const View b = k.input("b", {kSums * 128, 512}, DType::float32);
  const View y = k.output("y", {kSums * 128, 512}, DType::float32);
  const View weights = k.sbuf({128, 128}, DType::float32);
  k.dma_copy({.dst = weights, .src = a});
  k.loop(kSums, [&](Index i) {
    const View t = k.sbuf({128, 512}, DType::float32), u = k.sbuf({128, 512}, DType::float32);
    const View sums = k.psum({128, 512}, DType::float32);
    k.dma_copy({.dst = t, .src = b(ds(i * 128, 128))});
    for (std::int64_t p = 0; p < kProducts; ++p) k.nc_matmul({.dst = sums, .stationary = weights, .moving = t});
    k.tensor_copy({.dst = u, .src = sums});
    k.dma_copy({.dst = y(ds(i * 128, 128)), .src = u});
  });
  KernelRun run(k);
  Floats ones(128 * 128, 0.0f), in(kSums * 128 * 512, 1.0f);
  for (int i = 0; i < 128; ++i) ones[i * 128 + i] = 1;
  for (int i = 0; i < 128 * 128; i += 7) ones[i] += 0.25f;  // so that it is not full of zeros
  for (const int sum : {7, 10}) in[(sum * 128 + 5) * 512 + 33] = 1.5e38f;
  run.set("a", ones);
  run.set("b", in);
  const RunReport first = run.run({.threads = 1, .plain = true});
  ASSERT_EQ(codes(first), std::vector<std::string>{"run.R15"});
  EXPECT_EQ(fact(first.warnings[0], "pass"), run.program.loops[0].variable + "=7");
  for (const int threads : {1, 2, 4, 7}) {
    for (const bool plain : {false, true}) {
      const RunReport report = run.run({.threads = threads, .plain = plain});
      ASSERT_EQ(codes(report), codes(first)) << threads;
      EXPECT_EQ(report.warnings[0].found, first.warnings[0].found);
      EXPECT_EQ(fact(report.warnings[0], "pass"), fact(first.warnings[0], "pass"));
      EXPECT_EQ(fact(report.warnings[0], "operands"), fact(first.warnings[0], "operands"));
    }
  }
}

TEST(Nonfinite, OffWarnError) {
  Reciprocals kernel;
  KernelRun run(kernel.k);
  Floats in(Reciprocals::kTiles * Reciprocals::kElements, 1.0f);
  in[5 * Reciprocals::kElements] = 0;
  run.set("x", in);
  EXPECT_EQ(run.run({.threads = 2, .nan = NanMode::off}).warnings.size(), 0u);
  EXPECT_EQ(run.run({.threads = 2}).warnings.size(), 1u);
  const Diagnostic d = run.error({.threads = 2, .nan = NanMode::error});
  EXPECT_EQ(d.code, "run.R15");
  EXPECT_EQ(d.severity, Severity::error);
}

TEST(Nonfinite, ModesByName) {
  for (const NanMode mode : {NanMode::off, NanMode::warn, NanMode::error}) {
    NanMode parsed{};
    EXPECT_TRUE(parse_nan_mode(kNanModes[static_cast<int>(mode)], parsed));
    EXPECT_EQ(parsed, mode);
  }
  NanMode parsed{};
  EXPECT_FALSE(parse_nan_mode("maybe", parsed));
}

// What the operands held: the element, the value of the row, the row, columns of what is multiplied, and of what the
// result lies over the largest magnitude.
TEST(Nonfinite, OperandValues) {
  Kernel k("operands");
  const View x = k.input("x", {128, 8}, DType::float32), c = k.input("c", {128, 1}, DType::float32);
  const View y = k.output("y", {128, 1}, DType::float32);
  const View t = k.sbuf({128, 8}, DType::float32), u = k.sbuf({128, 1}, DType::float32);
  k.dma_copy({.dst = t, .src = x});
  k.dma_copy({.dst = u, .src = c});
  const View v = k.sbuf({128, 8}, DType::float32), sum = k.sbuf({128, 1}, DType::float32);
  k.tensor_scalar({.dst = v, .data = t, .op0 = AluOp::multiply, .operand0 = u});
  k.tensor_reduce({.dst = sum, .op = AluOp::add, .data = v, .axis = {1}});
  k.dma_copy({.dst = y, .src = sum});
  KernelRun run(k);
  Floats in(128 * 8, 2.0f), by(128, 1.0f);
  in[3 * 8 + 5] = 2e38f;
  by[3] = 4.0f;
  RunReport report = run.set("x", in).set("c", by).run();
  ASSERT_EQ(codes(report), std::vector<std::string>{"run.R15"});
  EXPECT_EQ(fact(report.warnings[0], "operands"), "data is 2e+38, operand0 is 4");
  by[3] = 1.0f;
  in[3 * 8 + 4] = 3e38f;
  report = run.set("x", in).set("c", by).run();
  ASSERT_EQ(codes(report), std::vector<std::string>{"run.R15"});
  EXPECT_TRUE(has(report.warnings[0].found, "element [3, 0]")) << report.warnings[0].found;
  EXPECT_EQ(fact(report.warnings[0], "operands"), "data is 2 to 3e+38");
}

View loaded(Kernel& k, const View& x) {
  const View t = k.sbuf(x.shape(), x.dtype());
  k.dma_copy({.dst = t, .src = x});
  return t;
}

TEST(Nonfinite, OperandsThatTheResultLiesOver) {
  Kernel k("in_place");
  const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 8}, DType::float32);
  const View t = k.sbuf({128, 8}, DType::float32);
  k.tensor_copy({.dst = t, .src = loaded(k, x)});
  k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2});
  k.dma_copy({.dst = y, .src = t});
  KernelRun run(k);
  Floats in(128 * 8, 2.0f);
  in[17] = -3e38f;
  const RunReport report = run.set("x", in).run();
  EXPECT_EQ(codes(report), std::vector<std::string>{});  // as far down as masks go
  in[17] = 3e38f;
  const RunReport second = run.set("x", in).run();
  ASSERT_EQ(codes(second), std::vector<std::string>{"run.R15"});
  EXPECT_EQ(fact(second.warnings[0], "operands"), "data is up to 3e+38 in magnitude, and overwritten");
}

// A tile that was loaded and is computed anew in place: its elements are still those of the input.
TEST(Nonfinite, OperandsThatAreStillThere) {
  Kernel k("loaded");
  const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 8}, DType::float32);
  const View t = loaded(k, x);
  k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2});
  k.dma_copy({.dst = y, .src = t});
  KernelRun run(k);
  Floats in(128 * 8, 2.0f);
  in[17] = 3e38f;
  const RunReport report = run.set("x", in).run();
  ASSERT_EQ(codes(report), std::vector<std::string>{"run.R15"});
  EXPECT_EQ(fact(report.warnings[0], "operands"), "data is 3e+38");
}

// A tile that was computed, and then written to by `between`, is doubled in place.
RunReport double_after(const std::function<void(Kernel&, const View& x, const View& t)>& between, const Floats& in) {
  Kernel k("written_between");
  const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 8}, DType::float32);
  const View t = k.sbuf({128, 8}, DType::float32), u = k.sbuf({128, 8}, DType::float32);
  k.memset({.dst = u, .value = 3});
  k.tensor_scalar({.dst = t, .data = u, .op0 = AluOp::multiply, .operand0 = 2});  // 6 all over
  between(k, x, t);
  k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2});
  k.dma_copy({.dst = y, .src = t});
  KernelRun run(k);
  return run.set("x", in).run();
}

TEST(Nonfinite, WhatIsKnownOfATileEndsWithAWrite) {
  const float kInf = std::numeric_limits<float>::infinity();
  const Floats nan(128 * 8, std::nanf("")), inf(128 * 8, kInf);
  const std::function<void(Kernel&, const View&, const View&)> ways[] = {
      [](Kernel& k, const View& x, const View& t) { k.dma_copy({.dst = t, .src = x}); },
      [](Kernel& k, const View& x, const View& t) { k.dma_copy({.dst = t(ds(0, 64)), .src = x(ds(0, 64))}); },
      [&](Kernel& k, const View&, const View& t) { k.memset({.dst = t(all, ds(2, 3)), .value = kInf}); },
      [](Kernel& k, const View& x, const View& t) {
        const View bits = k.sbuf({128, 8}, DType::float32);
        k.dma_copy({.dst = bits, .src = x});
        k.tensor_scalar(
            {.dst = t.view(DType::uint32), .data = bits.view(DType::uint32), .op0 = AluOp::bitwise_or, .operand0 = 0});
      }};
  for (const auto& way : ways) {
    for (const Floats& in : {nan, inf}) EXPECT_EQ(codes(double_after(way, in)), std::vector<std::string>{});
  }
}

TEST(Nonfinite, WhatIsKnownOfATileIsSaid) {
  const auto grow = [](Kernel& k, const View&, const View& t) {
    for (int i = 0; i < 2; ++i) k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 5e18});
  };
  const RunReport report = double_after(grow, Floats(128 * 8));
  ASSERT_EQ(codes(report), std::vector<std::string>{});
  const auto overflow = [](Kernel& k, const View&, const View& t) {
    for (int i = 0; i < 2; ++i) k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 1e20});
  };
  const RunReport second = double_after(overflow, Floats(128 * 8));
  ASSERT_EQ(codes(second), std::vector<std::string>{"run.R15"});
  EXPECT_EQ(fact(second.warnings[0], "operands"), "data is up to 6e+20 in magnitude, and overwritten");
}

// An instruction whose result is `dst`, of `data` and another tile of the same shape. `dst` may be `data`.
using Elementwise = std::function<void(Kernel&, const View& dst, const View& data, const View& other, const View& sum)>;

const Elementwise kElementwise[] = {
    [](Kernel& k, const View& dst, const View& data, const View&, const View&) {
      k.tensor_scalar({.dst = dst, .data = data, .op0 = AluOp::multiply, .operand0 = 1e8});
    },
    [](Kernel& k, const View& dst, const View& data, const View& other, const View&) {
      k.tensor_tensor({.dst = dst, .data1 = data, .data2 = other, .op = AluOp::multiply});
    },
    [](Kernel& k, const View& dst, const View& data, const View& other, const View&) {
      k.scalar_tensor_tensor(
          {.dst = dst, .data = data, .op0 = AluOp::multiply, .operand0 = 1e8, .op1 = AluOp::add, .operand1 = other});
    },
    [](Kernel& k, const View& dst, const View& data, const View&, const View&) {
      k.reciprocal({.dst = dst, .data = data});
    },
    [](Kernel& k, const View& dst, const View& data, const View&, const View& sum) {
      k.activation({.dst = dst,
                    .op = ActFn::exp,
                    .data = data,
                    .reduce_op = AluOp::add,
                    .reduce_res = sum,
                    .reduce_cmd = isa::ReduceCmd::reset_reduce});
    },
    [](Kernel& k, const View& dst, const View& data, const View&, const View& sum) {
      k.tensor_scalar_reduce({.dst = dst,
                              .data = data,
                              .op0 = AluOp::multiply,
                              .operand0 = 1e8,
                              .reduce_op = AluOp::add,
                              .reduce_res = sum});
    }};

// The element that is told first, with its value; empty when none is.
std::string told(const Elementwise& op, DType dtype, std::int64_t columns, bool in_place, const Floats& in,
                 const RunOptions& options) {
  Kernel k("elementwise");
  const View x = k.input("x", {128, columns}, DType::float32), z = k.input("z", {128, columns}, DType::float32);
  const View y = k.output("y", {128, columns}, dtype);
  const View data = k.sbuf({128, columns}, dtype), other = k.sbuf({128, columns}, dtype);
  const View sum = k.sbuf({128, 1}, DType::float32);
  k.tensor_copy({.dst = data, .src = loaded(k, x)});
  k.tensor_copy({.dst = other, .src = loaded(k, z)});
  const View result = in_place ? data : k.sbuf({128, columns}, dtype);
  op(k, result, data, other, sum);
  k.dma_copy({.dst = y, .src = result});
  KernelRun run(k);
  Floats others(in.size(), 3.0f);
  others[in.size() / 2] = 3e38f;
  const RunReport report = run.set("x", in).set("z", others).run(options);
  if (report.warnings.empty()) return "";
  const std::string& found = report.warnings[0].found;
  return found.substr(0, found.find(" of ")) + found.substr(found.find(" is "));
}

// Whatever an operand that is overwritten held, the same is told as when it stays: with every walk over tiles, for
// any number of threads, with plain and with fast kernels.
TEST(Nonfinite, InPlaceIsToldAsElsewhere) {
  std::mt19937_64 random(test::seed());
  const float kInf = std::numeric_limits<float>::infinity();
  const float kinds[] = {kInf, -kInf, std::nanf(""), -2e38f, 3e38f, 0.0f, 1e31f, 200.0f};
  int told_of = 0;
  for (const Elementwise& op : kElementwise) {
    for (const std::int64_t columns : {1, 8, 300, 2500}) {
      for (const DType dtype : {DType::float32, DType::bfloat16}) {
        Floats in(128 * columns);
        for (float& v : in) v = static_cast<float>(random() % 1000 + 1) * 0.01f;
        for (std::uint64_t i = random() % 4; i > 0; --i) in[random() % in.size()] = kinds[random() % 8];
        in[in.size() / 2] = 10;
        const std::string expected = told(op, dtype, columns, false, in, {.threads = 1, .plain = true});
        told_of += !expected.empty();
        for (const int threads : {1, 3}) {
          for (const bool plain : {false, true}) {
            EXPECT_EQ(told(op, dtype, columns, true, in, {.threads = threads, .plain = plain}), expected)
                << columns << " columns of " << name(dtype) << ", operation " << &op - kElementwise;
          }
        }
      }
    }
  }
  EXPECT_GE(told_of, 8);  // 10 * 3e38, at least
}

}  // namespace
}  // namespace kiln::sim
