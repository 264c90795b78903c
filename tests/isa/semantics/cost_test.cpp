// Costs against the manual's formulas, worked out by hand for each generation.
#include "kiln/isa/semantics/cost.h"

#include <gtest/gtest.h>

#include <functional>

#include "kiln/isa/builder/builder.h"

namespace kiln::isa {
namespace {

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

View tile(Kernel& k, std::int64_t n, DType dtype = kF32) { return k.sbuf({128, n}, dtype); }
View bank(Kernel& k, std::int64_t n, DType dtype = kF32) { return k.psum({128, n}, dtype); }

void copy(Kernel& k, const View& dst, const View& src) { k.tensor_copy({.dst = dst, .src = src}); }
void combine(Kernel& k, const View& dst, const View& a, const View& b, AluOp op = AluOp::add) {
  k.tensor_tensor({.dst = dst, .data1 = a, .data2 = b, .op = op});
}
void matmul(Kernel& k, std::int64_t m, std::int64_t n, DType dtype, bool onezero = false) {
  k.nc_matmul({.dst = k.psum({m, n}, kF32),
               .stationary = tile(k, m, dtype),
               .moving = tile(k, n, dtype),
               .is_stationary_onezero = onezero});
}

constexpr double kNo = -1;  // not on this generation

struct Case {
  const char* name;
  std::function<void(Kernel&)> make;
  double cycles[3];  // trn1, trn2, trn3
};

const Case kCases[] = {
    // One input: max(64, N), from gen3 on 4 or 2 elements per cycle for 16-bit floats, and 2 for float32
    // inside SBUF.
    {"copy", [](Kernel& k) { copy(k, tile(k, 512), tile(k, 512)); }, {512, 256, 256}},
    {"copy from PSUM", [](Kernel& k) { copy(k, tile(k, 512), bank(k, 512)); }, {512, 512, 512}},
    {"copy few", [](Kernel& k) { copy(k, tile(k, 16), tile(k, 16)); }, {64, 64, 64}},
    {"copy bf16", [](Kernel& k) { copy(k, tile(k, 512, kBf16), tile(k, 512, kBf16)); }, {512, 128, 128}},
    {"copy bf16 to fp16",
     [](Kernel& k) { copy(k, tile(k, 512, DType::float16), tile(k, 512, kBf16)); },
     {512, 128, 128}},
    {"copy bf16 to fp32", [](Kernel& k) { copy(k, tile(k, 512), tile(k, 512, kBf16)); }, {512, 512, 512}},
    {"copy bf16 with gaps",
     [](Kernel& k) { copy(k, tile(k, 512, kBf16), tile(k, 1024, kBf16)(all, ds(0, 512, 2))); },
     {512, 256, 256}},
    {"copy bf16 to PSUM", [](Kernel& k) { copy(k, bank(k, 512, kBf16), tile(k, 512, kBf16)); }, {512, 256, 256}},
    {"copy bf16 inside PSUM", [](Kernel& k) { copy(k, bank(k, 512, kBf16), bank(k, 512, kBf16)); }, {512, 512, 512}},
    {"copy bf16 on scalar",
     [](Kernel& k) {
       k.tensor_copy({.dst = tile(k, 512, kBf16), .src = tile(k, 512, kBf16), .engine = Engine::scalar});
     },
     {kNo, 512, 256}},
    {"copy from an address known late",
     [](Kernel& k) {
       copy(k, tile(k, 100), tile(k, 200)(all, ds(0, 100)).scalar_offset(k.sbuf({1, 1}, DType::int32), 1));
     },
     {600, 600, 600}},
    {"copy much from an address known late",
     [](Kernel& k) {
       copy(k, tile(k, 1800), tile(k, 2000)(all, ds(0, 1800)).scalar_offset(k.sbuf({1, 1}, DType::int32), 1));
     },
     {1800, 900, 900}},
    {"tensor_scalar bf16",
     [](Kernel& k) {
       k.tensor_scalar({.dst = tile(k, 1024, kBf16),
                        .data = tile(k, 1024, kBf16),
                        .op0 = AluOp::multiply,
                        .operand0 = 2,
                        .op1 = AluOp::add,
                        .operand1 = 1});
     },
     {1024, 256, 256}},
    // Two inputs: 2N on gen2, N when one is in PSUM or for bf16 with unit stride and a simple operator.
    {"tensor_tensor", [](Kernel& k) { combine(k, tile(k, 512), tile(k, 512), tile(k, 512)); }, {1024, 512, 512}},
    {"tensor_tensor from PSUM",
     [](Kernel& k) { combine(k, tile(k, 512), bank(k, 512), tile(k, 512)); },
     {512, 512, 512}},
    {"tensor_tensor bf16",
     [](Kernel& k) { combine(k, tile(k, 512, kBf16), tile(k, 512, kBf16), tile(k, 512, kBf16)); },
     {512, 256, 256}},
    {"tensor_tensor bf16 maximum",
     [](Kernel& k) { combine(k, tile(k, 512, kBf16), tile(k, 512, kBf16), tile(k, 512, kBf16), AluOp::maximum); },
     {1024, 256, 256}},
    {"tensor_tensor bf16 with gaps",
     [](Kernel& k) { combine(k, tile(k, 512, kBf16), tile(k, 1024, kBf16)(all, ds(0, 512, 2)), tile(k, 512, kBf16)); },
     {1024, 256, 256}},
    {"tensor_tensor_scan",
     [](Kernel& k) {
       k.tensor_tensor_scan({.dst = tile(k, 512),
                             .data0 = tile(k, 512),
                             .data1 = tile(k, 512),
                             .initial = 0,
                             .op0 = AluOp::multiply,
                             .op1 = AluOp::add});
     },
     {1024, 1024, 1024}},
    {"memset", [](Kernel& k) { k.memset({.dst = tile(k, 512), .value = 0}); }, {512, 512, 512}},
    {"memset bf16 zero", [](Kernel& k) { k.memset({.dst = tile(k, 512, kBf16), .value = 0}); }, {256, 256, 256}},
    {"memset bf16 one", [](Kernel& k) { k.memset({.dst = tile(k, 512, kBf16), .value = 1}); }, {512, 512, 512}},
    {"memset on gpsimd",
     [](Kernel& k) { k.memset({.dst = tile(k, 512), .value = 0, .engine = Engine::gpsimd}); },
     {662, 662, 662}},
    {"iota",
     [](Kernel& k) {
       k.iota({.dst = tile(k, 100, DType::int32), .pattern = {{1, 100}}});
     },
     {250, 250, 250}},
    {"reciprocal", [](Kernel& k) { k.reciprocal({.dst = tile(k, 100), .data = tile(k, 100)}); }, {800, 800, 800}},
    {"exponential", [](Kernel& k) { k.exponential({.dst = tile(k, 1024), .src = tile(k, 1024)}); }, {kNo, kNo, 256}},
    {"activation",
     [](Kernel& k) { k.activation({.dst = tile(k, 512), .op = ActFn::exp, .data = tile(k, 512)}); },
     {512, 512, 512}},
    {"activation with a reduction",
     [](Kernel& k) {
       k.activation_reduce({.dst = tile(k, 512),
                            .op = ActFn::exp,
                            .data = tile(k, 512),
                            .reduce_op = AluOp::add,
                            .reduce_res = tile(k, 1)});
     },
     {576, 576, 576}},
    {"tensor_scalar_reduce",
     [](Kernel& k) {
       k.tensor_scalar_reduce({.dst = tile(k, 32),
                               .data = tile(k, 32),
                               .op0 = AluOp::multiply,
                               .operand0 = 2,
                               .reduce_op = AluOp::add,
                               .reduce_res = tile(k, 1)});
     },
     {128, 128, 128}},
    {"tensor_reduce",
     [](Kernel& k) { k.tensor_reduce({.dst = tile(k, 1), .op = AluOp::add, .data = tile(k, 512), .axis = {1}}); },
     {512, 512, 512}},
    // Measured reductions of 16-bit values take as long as those of float32 (row DOC-RMSQ-red).
    {"tensor_reduce bf16",
     [](Kernel& k) {
       k.tensor_reduce({.dst = tile(k, 1, kBf16), .op = AluOp::maximum, .data = tile(k, 512, kBf16), .axis = {1}});
     },
     {512, 512, 512}},
    {"bn_aggr", [](Kernel& k) { k.bn_aggr({.dst = tile(k, 2), .data = tile(k, 48)}); }, {208, 208, 208}},
    // max(min(64, M), N), four times that for float32.
    {"nc_matmul bf16", [](Kernel& k) { matmul(k, 128, 512, kBf16); }, {512, 512, 512}},
    {"nc_matmul bf16 narrow", [](Kernel& k) { matmul(k, 128, 16, kBf16); }, {64, 64, 64}},
    {"nc_matmul bf16 narrower", [](Kernel& k) { matmul(k, 32, 16, kBf16); }, {32, 32, 32}},
    {"nc_matmul fp32", [](Kernel& k) { matmul(k, 128, 512, kF32); }, {2048, 2048, 2048}},
    {"nc_matmul fp32 onezero", [](Kernel& k) { matmul(k, 128, 512, kF32, true); }, {1024, 1024, 1024}},
    {"nc_transpose",
     [](Kernel& k) {
       k.nc_transpose({.dst = k.psum({128, 16}, kBf16), .data = k.sbuf({16, 128}, kBf16), .engine = Engine::tensor});
     },
     {64, 64, 64}},
    {"nc_transpose on vector",
     [](Kernel& k) {
       k.nc_transpose({.dst = k.sbuf({32, 32}, kF32), .data = k.sbuf({32, 32}, kF32), .engine = Engine::vector});
     },
     {64, 64, 64}},
};

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

Cost cost_of_last(const Kernel& k, Target target) {
  return cost_of(k.program(), k.program().instructions.back(), arch(target));
}

TEST(Cost, CyclesOfTheManual) {
  for (const Case& c : kCases) {
    for (int g = 0; g < 3; ++g) {
      if (c.cycles[g] == kNo) continue;
      Kernel k("cost", kTargets[g]);
      c.make(k);
      EXPECT_EQ(cost_of_last(k, kTargets[g]).cycles, c.cycles[g]) << c.name << ", " << arch(kTargets[g]).name;
    }
  }
}

TEST(Cost, CyclesBecomeNanosecondsWithTheEnginesClock) {
  const auto nanoseconds = [](Engine engine, Target target) { return 840 / arch(target).engine(engine).clock_ghz; };
  EXPECT_DOUBLE_EQ(nanoseconds(Engine::vector, Target::trn1), 750);  // 1.12 GHz
  EXPECT_DOUBLE_EQ(nanoseconds(Engine::vector, Target::trn2), 875);  // 0.96 GHz
  EXPECT_DOUBLE_EQ(nanoseconds(Engine::vector, Target::trn3), 700);  // 1.2 GHz
  EXPECT_DOUBLE_EQ(nanoseconds(Engine::tensor, Target::trn1), 300);  // 2.8 GHz
  EXPECT_DOUBLE_EQ(nanoseconds(Engine::scalar, Target::trn2), 700);  // 1.2 GHz
}

// Bytes over 16 engines of 17, 23 and 33 bytes per nanosecond.
TEST(Cost, DmaTakesItsBytesOverTheBandwidth) {
  const double rates[] = {17, 23, 33};
  for (int g = 0; g < 3; ++g) {
    Kernel k("dma", kTargets[g]);
    k.dma_copy({.dst = tile(k, 512), .src = k.input("x", {128, 512}, kF32)});
    const Cost cost = cost_of_last(k, kTargets[g]);
    EXPECT_EQ(cost.dma_bytes, 128 * 512 * 4);
    EXPECT_EQ(cost.dma_descriptors, 128);  // one row of a partition each
    const DmaSpec& dma = arch(kTargets[g]).dma;
    EXPECT_DOUBLE_EQ(cost.dma_bytes / (dma.engines * dma.bytes_per_ns * cost.dma_rate), 262144 / (16 * rates[g]));
  }
}

TEST(Cost, DmaCountsContiguousRuns) {
  Kernel k("runs");
  const View x = k.input("x", {128, 512}, kF32), y = k.hbm({64, 1024}, kF32);
  k.dma_copy({.dst = y, .src = x});
  EXPECT_EQ(cost_of_last(k, Target::trn2).dma_descriptors, 1);  // all of HBM in one piece
  k.dma_copy({.dst = y(ds(0, 64), ds(0, 256)), .src = x(ds(0, 32))});
  EXPECT_EQ(cost_of_last(k, Target::trn2).dma_descriptors, 64);
  k.dma_copy({.dst = y(ds(0, 32), ds(0, 256)), .src = x(ds(0, 32), ds(0, 256, 2))});
  EXPECT_EQ(cost_of_last(k, Target::trn2).dma_descriptors, 32 * 256);  // element by element
}

TEST(Cost, DmaTransposesAndSumsTakeAShareOfTheCopyRate) {
  const double transpose[] = {0.1, 0.9, 0.9}, sum[] = {0.5, 0.5, 1};
  for (int g = 0; g < 3; ++g) {
    Kernel k("rate", kTargets[g]);
    const View x = k.input("x", {128, 128}, kBf16);
    k.dma_transpose({.dst = tile(k, 128, kBf16), .src = x});
    EXPECT_EQ(cost_of_last(k, kTargets[g]).dma_rate, transpose[g]);
    const View dst = tile(k, 128, kBf16);
    k.dma_compute({.dst = dst, .srcs = {dst, x}, .reduce_op = AluOp::add});
    const Cost cost = cost_of_last(k, kTargets[g]);
    EXPECT_EQ(cost.dma_rate, sum[g]);
    EXPECT_EQ(cost.dma_bytes, 2 * 128 * 128 * 2);  // both sources are read
  }
}

}  // namespace
}  // namespace kiln::isa
