// How far apart independent instructions of one kind start, by generation and dtype, against the cost
// formulas of the documents. Cycles and clocks are typed from there, not read from arch/.
#include <gtest/gtest.h>

#include <functional>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16, kF8 = DType::float8_e4m3;
constexpr std::int64_t kN = 512;

struct Tiles {
  View dst, a, b;
};
using Emit = std::function<void(Kernel&, const Tiles&)>;

// Distance of the last two of four instructions, in nanoseconds.
double interval(Target target, DType dtype, Memory a, const Emit& emit, std::int64_t n = kN) {
  Kernel k("interval", target);
  k.fragment();
  const Tiles t{k.output("dst", {128, n}, dtype, Memory::sbuf), k.input("a", {128, n}, dtype, a),
                k.input("b", {128, n}, dtype, Memory::sbuf)};
  for (int i = 0; i < 4; ++i) emit(k, t);
  const Timeline time = simulate(k.program(), arch(target));
  return to_ns(time.events[3].start - time.events[2].start);
}

void copy(Kernel& k, const Tiles& t) { k.tensor_copy({.dst = t.dst, .src = t.a, .engine = Engine::vector}); }
void copy_on_scalar(Kernel& k, const Tiles& t) { k.tensor_copy({.dst = t.dst, .src = t.a, .engine = Engine::scalar}); }
void copy_on_gpsimd(Kernel& k, const Tiles& t) { k.tensor_copy({.dst = t.dst, .src = t.a, .engine = Engine::gpsimd}); }
void add(Kernel& k, const Tiles& t) {
  k.tensor_tensor({.dst = t.dst, .data1 = t.a, .data2 = t.b, .op = AluOp::add, .engine = Engine::vector});
}
void larger(Kernel& k, const Tiles& t) {
  k.tensor_tensor({.dst = t.dst, .data1 = t.a, .data2 = t.b, .op = AluOp::maximum, .engine = Engine::vector});
}
void scan(Kernel& k, const Tiles& t) {
  k.tensor_tensor_scan(
      {.dst = t.dst, .data0 = t.a, .data1 = t.b, .initial = 0.0, .op0 = AluOp::multiply, .op1 = AluOp::add});
}
void reciprocal(Kernel& k, const Tiles& t) { k.reciprocal({.dst = t.dst, .data = t.a}); }
void zero(Kernel& k, const Tiles& t) { k.memset({.dst = t.dst, .value = 0.0, .engine = Engine::vector}); }
void sum(Kernel& k, const Tiles& t) {
  k.tensor_reduce({.dst = t.dst(all, ds(0, 1)), .op = AluOp::add, .data = t.a, .axis = {1}});
}
void exp(Kernel& k, const Tiles& t) { k.activation({.dst = t.dst, .op = ActFn::exp, .data = t.a}); }
void exponential(Kernel& k, const Tiles& t) { k.exponential({.dst = t.dst, .src = t.a}); }

// Gen2: cycles of the engine and nothing else, 1.12 GHz for vector, 1.4 for scalar and gpsimd.
TEST(Generations, FirstFormulas) {
  const auto cycles = [](const Emit& emit, DType dtype = kF32, Memory a = Memory::sbuf, std::int64_t n = kN) {
    return interval(Target::trn1, dtype, a, emit, n) * 1.12;
  };
  EXPECT_NEAR(cycles(copy), kN, 1);
  EXPECT_NEAR(cycles(copy, kBf16), kN, 1);                  // no fast modes
  EXPECT_NEAR(cycles(copy, kF32, Memory::sbuf, 8), 64, 1);  // the shortest interval
  EXPECT_NEAR(cycles(add), 2 * kN, 1);
  EXPECT_NEAR(cycles(add, kF32, Memory::psum), kN, 1);
  EXPECT_NEAR(cycles(add, kBf16), kN, 1);
  EXPECT_NEAR(cycles(larger, kBf16), 2 * kN, 1);  // only add, subtract and multiply are fast
  EXPECT_NEAR(cycles(scan), 2 * kN, 1);
  EXPECT_NEAR(cycles(reciprocal), 8 * kN, 1);
  EXPECT_NEAR(cycles(zero), kN, 1);
  EXPECT_NEAR(cycles(zero, kBf16), kN / 2, 1);
  EXPECT_NEAR(cycles(sum), kN, 1);
  EXPECT_NEAR(cycles(sum, kBf16), kN, 1);  // no 16-bit mode (DOC-RMSQ-red)
  EXPECT_NEAR(interval(Target::trn1, kF32, Memory::sbuf, exp) * 1.4, kN, 1);
  EXPECT_NEAR(interval(Target::trn1, kF32, Memory::sbuf, exp, 8) * 1.4, 64, 1);
  EXPECT_NEAR(interval(Target::trn1, kF32, Memory::sbuf, copy_on_gpsimd) * 1.4, 150 + kN, 1);
}

// Gen3: 0.96 and 1.2 GHz, and the fixed parts of the traces: 69 ns, 53 ns, 143 or 185 ns for functions.
TEST(Generations, SecondFormulas) {
  const auto vector = [](const Emit& emit, DType dtype, Memory a = Memory::sbuf) {
    return (interval(Target::trn2, dtype, a, emit) - 69) * 0.96;
  };
  EXPECT_NEAR(vector(add, kF32), kN, 2);
  EXPECT_NEAR(vector(add, kBf16), kN / 2, 2);
  EXPECT_NEAR(vector(add, kBf16, Memory::psum), kN, 2);
  EXPECT_NEAR(vector(sum, kF32), kN, 2);
  EXPECT_NEAR(vector(reciprocal, kF32), 8 * kN, 2);
  EXPECT_NEAR(vector(copy, kF8), kN, 2);  // fast modes are for 16 bits
  EXPECT_NEAR(interval(Target::trn2, kF32, Memory::psum, copy_on_scalar), kN / 1.2 + 53, 2);
  EXPECT_NEAR(interval(Target::trn2, kF32, Memory::psum, exp), kN / 1.2 + 143, 3);
  EXPECT_NEAR(interval(Target::trn2, kF32, Memory::sbuf, exp), kN / 1.2 + 185, 3);
}

// Gen4: fast modes for 8-bit floats, two elements per cycle on the scalar engine, e^x four per cycle on
// vector.
TEST(Generations, ThirdFormulas) {
  const auto faster = [](const Emit& emit, DType dtype, double cycles) {
    EXPECT_NEAR((interval(Target::trn3, dtype, Memory::sbuf, emit) - 69) * 1.2, cycles, 2);
  };
  faster(copy, kF8, kN / 4.0);
  faster(copy, kBf16, kN / 4.0);
  faster(exponential, kF32, kN / 4.0);
  EXPECT_NEAR((interval(Target::trn3, kBf16, Memory::sbuf, copy_on_scalar) - 53) * 1.2, kN / 2.0, 2);
  EXPECT_NEAR((interval(Target::trn3, kF32, Memory::sbuf, copy_on_scalar) - 53) * 1.2, kN, 2);
}

double product_interval(Target target, DType dtype, std::int64_t n) {
  Kernel k("product", target);
  k.fragment();
  const View s = k.input("s", {128, 128}, dtype, Memory::sbuf), m = k.input("m", {128, n}, dtype, Memory::sbuf);
  const View out = k.output("out", {128, n}, kF32, Memory::psum);
  k.loop(200, [&](Index) { k.nc_matmul({.dst = out, .stationary = s, .moving = m}); });
  const Timeline t = simulate(k.program(), arch(target));
  return to_ns(t.events[150].start - t.events[149].start);
}

TEST(Generations, Float32ProductsTakeFourTimesAsLong) {
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    const double ratio = product_interval(target, kF32, kN) / product_interval(target, kBf16, kN);
    EXPECT_NEAR(ratio, 4, 0.1) << arch(target).name;
  }
}

TEST(Generations, SmallStoresToHbmAreSlowerOnGen3) {
  const auto stored = [](Target target, std::int64_t bytes) {
    Kernel k("store", target);
    const View in = k.input("in", {1, bytes}, DType::uint8), out = k.output("out", {1, bytes}, DType::uint8);
    const View tile = k.sbuf({1, bytes}, DType::uint8);
    k.dma_copy({.dst = tile, .src = in});
    k.dma_copy({.dst = out, .src = tile});
    std::vector<double> moved;
    for (const Event& e : simulate(k.program(), arch(target)).events) {
      if (e.kind == Kind::transfer) moved.push_back(to_ns(e.end - e.start));
    }
    return moved.at(1) - moved.at(0);
  };
  EXPECT_NEAR(stored(Target::trn2, 256), 41 - 17, 1);
  EXPECT_EQ(stored(Target::trn2, 512), 0);
  EXPECT_EQ(stored(Target::trn1, 256), 0);
}

}  // namespace
}  // namespace kiln::timing
