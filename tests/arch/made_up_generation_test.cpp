// A made-up generation is checked, run and timed by its own numbers: nothing asks the generation that the program
// names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/sim/machine.h"
#include "kiln/timing/simulate.h"
#include "tests/arch/made_up.h"

namespace kiln {
namespace {

using isa::all;
using isa::ds;
using isa::Kernel;
using isa::Program;
using isa::View;

constexpr Arch kToy = made_up();
constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16, kU8 = DType::uint8;
constexpr Memory kSbuf = Memory::sbuf, kPsum = Memory::psum;

using Make = void (*)(Kernel&);

// The one error that the program has there, or an empty one.
Diagnostic error_on(const Arch& chip, Make make) {
  Kernel k("toy");  // for trn2, by its own words
  k.fragment();
  make(k);
  const check::Report report = check::check_program(k.finish(), chip);
  EXPECT_LE(report.diagnostics.size(), 1u) << to_text(report.diagnostics);
  return report.diagnostics.empty() ? Diagnostic{} : report.diagnostics[0];
}

// Legal on trn2, refused on the made-up generation with its own number.
void expect_refused(Make make, const char* code, const char* allowed) {
  EXPECT_EQ(error_on(arch(Target::trn2), make).code, "");
  const Diagnostic d = error_on(kToy, make);
  EXPECT_EQ(d.code, code) << to_text(d);
  EXPECT_EQ(d.allowed, allowed) << to_text(d);
}

// The same for a rule that has no number, and names the generation.
void expect_refused(Make make, const char* code) {
  expect_refused(make, code, "");
  const std::vector<Fact> facts = error_on(kToy, make).facts;
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].label, "target");
  EXPECT_EQ(facts[0].text, "toy9 (ToyCore-v9)");
}

template <std::int64_t rows, std::int64_t columns, std::int64_t n>
void multiply(Kernel& k) {
  const View s = k.input("s", {rows, columns}, kBf16, kSbuf), m = k.input("m", {rows, n}, kBf16, kSbuf);
  k.nc_matmul({.dst = k.output("out", {columns, n}, kF32, kPsum), .stationary = s, .moving = m});
}

template <std::int64_t partitions, std::int64_t n>
void clear(Kernel& k) {
  k.memset({.dst = k.output("out", {partitions, n}, kU8, kSbuf), .value = 0.0, .engine = Engine::vector});
}

// Tiles of 32 partitions that fill all bytes of them and are alive together.
template <int count>
void fill(Kernel& k) {
  const std::int64_t bytes = kToy.sbuf_partition_bytes - kToy.sbuf_reserved_bytes;
  std::vector<View> tiles;
  for (int i = 0; i < count; ++i) tiles.push_back(k.sbuf({32, bytes}, kU8));
  for (const View& t : tiles)
    for (std::int64_t half : {0, 1, 2, 3, 4, 5, 6, 7})
      k.memset({.dst = t(all, ds(half * bytes / 8, bytes / 8)), .value = 0.0, .engine = Engine::vector});
  const View out = k.output("out", {32, 64 * count}, kU8, Memory::shared_hbm);
  for (int i = 0; i < count; ++i) k.dma_copy({.dst = out(all, ds(i * 64, 64)), .src = tiles[i](all, ds(0, 64))});
}

template <std::int64_t offset>
void place(Kernel& k) {
  const View p = k.psum({64, 16}, kF32, {.address = isa::Address{0, offset}});
  k.memset({.dst = p, .value = 0.0, .engine = Engine::vector});
  k.tensor_copy({.dst = k.output("out", {64, 16}, kF32, kSbuf), .src = p, .engine = Engine::vector});
}

TEST(MadeUpGeneration, CheckEnforcesItsLimits) {
  EXPECT_EQ(error_on(kToy, multiply<64, 64, 200>).code, "");
  expect_refused(multiply<64, 64, 201>, "nc_matmul.R3", "at most 200 on gen9 into float32");
  EXPECT_EQ(error_on(kToy, clear<64, 1500>).code, "");
  expect_refused(clear<64, 1501>, "operand.R19");
  Kernel k("rows");
  k.fragment();
  clear<65, 8>(k);
  const std::vector<Diagnostic> rows = check::check_program(k.finish(), kToy).diagnostics;
  ASSERT_EQ(rows.size(), 2u) << to_text(rows);
  EXPECT_EQ(rows[0].code, "operand.R6");
  EXPECT_EQ(rows[1].code, "memory.R1");
  EXPECT_EQ(rows[1].allowed, "at most 64 (toy9)");
}

TEST(MadeUpGeneration, CheckKnowsItsMemories) {
  EXPECT_EQ(error_on(kToy, fill<2>).code, "");  // 64 partitions are two quadrants
  expect_refused(fill<3>, "memory.R8", "7168 bytes per partition (toy9, 1024 reserved)");
  EXPECT_EQ(error_on(kToy, place<1024>).code, "");  // a bank of its own size
  EXPECT_EQ(error_on(arch(Target::trn2), place<1024>).allowed, "a multiple of 2048");
  expect_refused(place<4096>, "memory.R3", "bytes 0 to 4095, 4 banks of 1024 (toy9)");
  const auto much = [](Kernel& k) {
    const View in = k.input("in", {64, 3000}, kF32), out = k.output("out", {64, 3000}, kF32);
    k.dma_copy({.dst = out, .src = in});
  };
  expect_refused(much, "memory.R10", "at most 1048576 (toy9)");
}

TEST(MadeUpGeneration, CheckKnowsWhatItHas) {
  const auto with_float8 = [](Kernel& k) {
    const View x = k.input("x", {64, 8}, DType::float8_e4m3fn, kSbuf);
    k.tensor_copy({.dst = k.output("out", {64, 8}, kF32, kSbuf), .src = x, .engine = Engine::vector});
  };
  EXPECT_NE(error_on(arch(Target::trn2), with_float8).code, "");
  EXPECT_EQ(error_on(kToy, with_float8).code, "");
  const auto on_scalar = [](Kernel& k) {
    const View x = k.input("x", {64, 8}, kF32, kSbuf);
    k.tensor_copy({.dst = k.output("out", {64, 8}, kF32, kSbuf), .src = x, .engine = Engine::scalar});
  };
  expect_refused(on_scalar, "tensor_copy.R3");
  const auto pair = [](Kernel& k) {
    k.pair();
    clear<64, 8>(k);
  };
  EXPECT_EQ(error_on(arch(Target::trn2), pair).code, "");
  const Diagnostic alone = error_on(kToy, pair);
  EXPECT_EQ(alone.code, "program.R24");
  EXPECT_EQ(alone.found, "lnc 2 on toy9");
  Arch paired = kToy;
  paired.features.lnc2 = true;
  EXPECT_EQ(error_on(paired, pair).code, "");
}

// (a b)ᵀ through both on-chip memories, all 64 partitions: loaded, multiplied, transposed, stored.
Program product() {
  Kernel k("product");
  const View a = k.input("a", {64, 64}, kF32), b = k.input("b", {64, 64}, kF32), out = k.output("out", {64, 64}, kF32);
  const View s = k.sbuf({64, 64}, kF32), m = k.sbuf({64, 64}, kF32), c = k.sbuf({64, 64}, kF32);
  const View turned = k.psum({64, 64}, kF32), p = k.psum({64, 64}, kF32);
  k.dma_copy({.dst = s, .src = a});
  k.dma_copy({.dst = m, .src = b});
  k.nc_matmul({.dst = p, .stationary = s, .moving = m});
  k.tensor_copy({.dst = c, .src = p, .engine = Engine::vector});
  k.nc_transpose({.dst = turned, .data = c});
  k.tensor_copy({.dst = m, .src = turned, .engine = Engine::vector});
  k.dma_copy({.dst = out, .src = m});
  return k.finish();
}

std::vector<float> run(const Program& program, const Arch& chip, std::vector<float> a, std::vector<float> b) {
  const check::Report report = check::check_program(program, chip);
  EXPECT_TRUE(report.ok()) << to_text(report.diagnostics);
  std::vector<float> out(64 * 64);
  const auto buffer = [](std::vector<float>& v) { return sim::Buffer{v.data(), v.size() * sizeof(float)}; };
  sim::run(program, chip, {{"a", buffer(a)}, {"b", buffer(b)}, {"out", buffer(out)}});
  return out;
}

TEST(MadeUpGeneration, RunsAProgram) {
  std::vector<float> a(64 * 64), b(64 * 64);
  for (int i = 0; i < 64 * 64; ++i) a[i] = static_cast<float>(i % 7 - 3), b[i] = static_cast<float>(i % 5 - 2);
  const std::vector<float> out = run(product(), kToy, a, b);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 64; ++column) {
      float sum = 0;
      for (int k = 0; k < 64; ++k) sum += a[k * 64 + column] * b[k * 64 + row];
      ASSERT_EQ(out[row * 64 + column], sum) << row << ", " << column;
    }
  }
}

// Without a transpose mode a transpose is a product with ones and zeros, and zero times infinity is no number.
TEST(MadeUpGeneration, RunsWithItsOwnFeatures) {
  std::vector<float> a(64 * 64), b(64 * 64);
  for (int i = 0; i < 64; ++i) a[i * 65] = b[i * 65] = 1;
  b[3 * 64 + 5] = std::numeric_limits<float>::infinity();
  const auto broken = [](const std::vector<float>& v) {
    return std::count_if(v.begin(), v.end(), [](float x) { return std::isnan(x); });
  };
  Arch exact = kToy;
  exact.features.tensor_transpose_mode = true;
  EXPECT_GT(broken(run(product(), kToy, a, b)), broken(run(product(), exact, a, b)));
}

double length_ns(const timing::Event& e) { return timing::to_ns(e.end - e.start); }

TEST(MadeUpGeneration, ComputesAtItsClock) {
  const auto copies = [](double clock_ghz) {
    Kernel k("copy");
    k.fragment();
    const View x = k.input("x", {64, 1000}, kF32, kSbuf), y = k.output("y", {64, 1000}, kF32, kSbuf);
    k.tensor_copy({.dst = y, .src = x, .engine = Engine::vector});
    Arch chip = kToy;
    chip.vector.clock_ghz = clock_ghz;
    return length_ns(timing::simulate(k.program(), chip).events[0]);
  };
  EXPECT_EQ(copies(0.25), 1000 / 0.25 + 70);
  EXPECT_EQ(copies(0.5), 1000 / 0.5 + 70);
}

struct Moves {
  timing::Timeline timeline;
  std::vector<timing::Event> triggers, transfers;
};

// Rows of 1 KiB into SBUF and out again.
Moves move_rows(std::int64_t rows) {
  Kernel k("move");
  const View in = k.input("in", {rows, 256}, kF32), out = k.output("out", {rows, 256}, kF32);
  const View x = k.sbuf({rows, 256}, kF32);
  k.dma_copy({.dst = x, .src = in});
  k.dma_copy({.dst = out, .src = x});
  Moves m{timing::simulate(k.program(), kToy), {}, {}};
  for (const timing::Event& e : m.timeline.events) {
    if (e.kind == timing::Kind::trigger) m.triggers.push_back(e);
    if (e.kind == timing::Kind::transfer) m.transfers.push_back(e);
  }
  return m;
}

TEST(MadeUpGeneration, MovesBytesAtItsRates) {
  const Moves half = move_rows(32), whole = move_rows(64);
  ASSERT_EQ(whole.transfers.size(), 2u);
  EXPECT_EQ(length_ns(half.transfers[0]), 32 * (50 + 1024 / 2));  // one engine of two: 2 bytes/ns
  EXPECT_EQ(length_ns(whole.transfers[0]), 32 * (50 + 1024));     // both at work: 1 byte/ns each
  EXPECT_EQ(length_ns(whole.triggers[0]), 10);
  EXPECT_EQ(timing::to_ns(whole.transfers[0].start), 400);
  EXPECT_EQ(timing::to_ns(whole.triggers[1].start - whole.transfers[0].end), 3000);
  const timing::Timeline& t = whole.timeline;
  EXPECT_EQ(timing::to_ns(t.profiler_total - t.total), 1);
  EXPECT_EQ(timing::to_ns(t.benchmark_latency - t.total), 2);
}

// No measured kernel is of this generation, so its band rests on all of them, and says so.
TEST(MadeUpGeneration, TimesAWholeProgram) {
  const timing::Timeline t = timing::simulate(product(), kToy);
  EXPECT_EQ(t.target, kToy.target);
  EXPECT_EQ(t.tensor_peak_macs_per_ns, 64 * 64 * 0.5);
  EXPECT_EQ(t.hbm_bytes_per_ns, 2);  // two DMA engines of 1 byte/ns
  EXPECT_EQ(t.band.basis, "measured kernels of every generation");
  Arch twice = kToy;
  twice.tensor.latency_ns += 500;
  EXPECT_EQ(timing::to_ns(timing::simulate(product(), twice).total - t.total), 2 * 500);
}

}  // namespace
}  // namespace kiln
