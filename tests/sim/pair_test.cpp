// Two cores that run together: exchange, barriers through shared memory, deadlocks, and the limit of dynamic
// loops.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/sim/machine.h"
#include "tests/error_of.h"

namespace kiln {
namespace {

using isa::Index;
using isa::Kernel;
using isa::Program;
using isa::Reg;
using isa::View;

using Values = std::vector<float>;

sim::Buffer buffer(Values& v) { return {v.data(), v.size() * sizeof(float)}; }

Values ascending(std::size_t n, float first) {
  Values v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

void run_pair(const Program& a, const Program& b, const sim::Buffers& buffers, int threads = 2) {
  for (const Program* p : {&a, &b}) {
    const check::Report report = check::check_program(*p, arch(p->target));
    ASSERT_TRUE(report.ok()) << to_text(report.diagnostics);
  }
  sim::run(isa::Launch({&a, &b}), arch(a.target), buffers, {.threads = threads});
}

// Loads its input, exchanges it `times` times and stores what it holds then.
Program exchanging(int rank, std::int64_t times, std::int64_t pipe = 0, bool in_place = false) {
  Kernel k("exchange", Target::trn2);
  k.pair();
  const std::string suffix = std::to_string(rank);
  View in = k.input("in" + suffix, {128, 64}, DType::float32);
  View out = k.output("out" + suffix, {128, 64}, DType::float32);
  View mine = k.sbuf({128, 64}, DType::float32), other = k.sbuf({128, 64}, DType::float32);
  k.dma_copy({.dst = mine, .src = in});
  k.dma_copy({.dst = other, .src = in});
  k.loop(times, [&](Index) {
    k.sendrecv({.src = mine,
                .dst = in_place ? mine : other,
                .send_to_rank = 1 - rank,
                .recv_from_rank = 1 - rank,
                .pipe_id = pipe});
  });
  k.dma_copy({.dst = out, .src = in_place ? mine : other});
  return k.finish();
}

struct Exchange {
  Values in0 = ascending(128 * 64, 0), in1 = ascending(128 * 64, 1e6f), out0 = Values(128 * 64),
         out1 = Values(128 * 64);
  sim::Buffers buffers() {
    return {{"in0", buffer(in0)}, {"in1", buffer(in1)}, {"out0", buffer(out0)}, {"out1", buffer(out1)}};
  }
};

TEST(Pair, CoresExchangeTiles) {
  for (int threads : {1, 2, 4}) {
    Exchange x;
    run_pair(exchanging(0, 1), exchanging(1, 1), x.buffers(), threads);
    EXPECT_EQ(x.out0, x.in1);
    EXPECT_EQ(x.out1, x.in0);
  }
}

// In place, an odd number of exchanges swaps and an even number gives everybody its own back.
TEST(Pair, ExchangeInPlaceLosesNothing) {
  for (std::int64_t times = 1; times <= 4; ++times) {
    Exchange x;
    run_pair(exchanging(0, times, 0, true), exchanging(1, times, 0, true), x.buffers());
    EXPECT_EQ(x.out0, times % 2 ? x.in1 : x.in0);
    EXPECT_EQ(x.out1, times % 2 ? x.in0 : x.in1);
  }
}

TEST(Pair, DifferentPipesNeverMeet) {
  Exchange x;
  const Diagnostic d = error_of([&] { run_pair(exchanging(0, 1, 0), exchanging(1, 1, 7), x.buffers()); });
  EXPECT_EQ(d.code, "run.R7");
  EXPECT_NE(d.found.find("core 0 waits in sendrecv"), std::string::npos) << d.found;
  EXPECT_NE(d.found.find("pipe_id=7"), std::string::npos) << d.found;
}

TEST(Pair, OneExchangeTooManyIsADeadlock) {
  Exchange x;
  const Diagnostic d = error_of([&] { run_pair(exchanging(0, 2), exchanging(1, 3), x.buffers()); });
  EXPECT_EQ(d.code, "run.R7");
  EXPECT_NE(d.found.find("core 0 has ended; core 1 waits in sendrecv"), std::string::npos) << d.found;
  EXPECT_GT(d.loc.line, 0);
}

TEST(Pair, APairProgramAloneIsADeadlock) {
  Exchange x;
  const Program alone = exchanging(0, 1);
  const Diagnostic d = error_of([&] { sim::run(alone, arch(Target::trn2), x.buffers()); });
  EXPECT_EQ(d.code, "run.R7");
}

// Core 0 produces a block per pass and core 1 consumes it; two barriers a pass keep them in step.
TEST(Pair, BarriersOrderAccessesToSharedMemory) {
  constexpr std::int64_t kBlocks = 5, kRows = 128, kColumns = 32;
  Kernel producer("producer", Target::trn2), consumer("consumer", Target::trn2);
  View in = producer.pair().input("in", {kBlocks * kRows, kColumns}, DType::float32);
  View out = consumer.pair().output("out", {kBlocks * kRows, kColumns}, DType::float32);
  const auto shared = [&](Kernel& k) {
    return k.tensor(Memory::shared_hbm, isa::Role::internal, {kRows, kColumns}, DType::float32, {.name = "shared"});
  };
  View written = shared(producer), read = shared(consumer);
  producer.loop(kBlocks, [&](Index i) {
    producer.dma_copy({.dst = written, .src = in(isa::ds(i * kRows, kRows))});
    producer.core_barrier({.data = written, .cores = {0, 1}});
    producer.core_barrier({.data = written, .cores = {0, 1}});
  });
  consumer.loop(kBlocks, [&](Index i) {
    consumer.core_barrier({.data = read, .cores = {0, 1}});
    consumer.dma_copy({.dst = out(isa::ds(i * kRows, kRows)), .src = read});
    consumer.core_barrier({.data = read, .cores = {0, 1}});
  });
  Values source = ascending(kBlocks * kRows * kColumns, 0), result(source.size());
  const Program a = producer.finish(), b = consumer.finish();
  // Either core may be the first of the pair.
  for (int threads : {1, 4}) {
    run_pair(a, b, {{"in", buffer(source)}, {"out", buffer(result)}}, threads);
    EXPECT_EQ(result, source);
    result.assign(result.size(), -1);
    run_pair(b, a, {{"in", buffer(source)}, {"out", buffer(result)}}, threads);
    EXPECT_EQ(result, source);
  }
}

// More instructions than have a number of their own read a cache; the other core writes a row of it, at a
// place of the run or at a fixed one.
TEST(Pair, WritesToACacheThatTheOtherCoreReadsByManyInstructions) {
  constexpr std::int64_t kRows = 200;
  Kernel reader("reader", Target::trn2);
  View cache = reader.pair().input("cache", {kRows, 8}, DType::float32);
  View out = reader.output("out", {kRows, 8}, DType::float32);
  for (std::int64_t row = 0; row < kRows; ++row) {
    View tile = reader.sbuf({1, 8}, DType::float32);
    reader.dma_copy({.dst = tile, .src = cache(isa::ds(row, 1))});
    reader.dma_copy({.dst = out(isa::ds(row, 1)), .src = tile});
  }
  const auto writing = [&](bool at_run_time) {
    Kernel writer("writer", Target::trn2);
    View updated = writer.pair().inout("cache", {kRows, 8}, DType::float32);
    View where = writer.input("where", {1, 1}, DType::int32);
    View news = writer.input("news", {1, 8}, DType::float32);
    View index = writer.sbuf({1, 1}, DType::int32), tile = writer.sbuf({1, 8}, DType::float32);
    writer.dma_copy({.dst = index, .src = where});
    writer.dma_copy({.dst = tile, .src = news});
    const View fixed = updated(isa::ds(kRows - 1, 1)), chosen = updated(isa::ds(0, 1)).vector_offset(index);
    writer.dma_copy({.dst = at_run_time ? chosen : fixed, .src = tile});
    return writer.finish();
  };
  const Program a = reader.finish(), b = writing(true), c = writing(false);
  Values old = ascending(kRows * 8, 0), result(old.size()), added(8, -1);
  std::int32_t row = kRows - 1;
  const sim::Buffers buffers{
      {"cache", buffer(old)}, {"out", buffer(result)}, {"news", buffer(added)}, {"where", {&row, sizeof row}}};
  run_pair(a, b, buffers);
  EXPECT_EQ(Values(old.end() - 8, old.end()), added);
  added.assign(8, -2);
  EXPECT_EQ(error_of([&] { run_pair(a, c, buffers); }).code, "run.R11");
  EXPECT_EQ(error_of([&] { run_pair(c, a, buffers); }).code, "run.R11");
}

TEST(Pair, SharedTensorOfTwoSizes) {
  const auto core = [](std::int64_t rows) {
    Kernel k("shared", Target::trn2);
    k.pair();
    View s = k.tensor(Memory::shared_hbm, isa::Role::internal, {rows, 4}, DType::float32, {.name = "s"});
    k.core_barrier({.data = s, .cores = {0, 1}});
    return k.finish();
  };
  EXPECT_EQ(error_of([&] { run_pair(core(8), core(9), {}); }).code, "run.R10");
}

// Counts a register down in a loop that goes on while it is not zero.
Program counting_down(std::int64_t from) {
  Kernel k("countdown", Target::trn2);
  View next = k.input("next", {16, 1}, DType::int32);
  Reg r = k.reg(from);
  k.while_loop(r, [&] { k.register_load({.dst = r, .src = next(isa::ds(0, 1)).scalar_offset(r, 1)}); });
  return k.finish();
}

TEST(DynamicLoop, EndsAtTheLimitAndNotBefore) {
  std::vector<std::int32_t> next(16);
  std::iota(next.begin(), next.end(), -1);
  const sim::Buffers buffers{{"next", {next.data(), next.size() * 4}}};
  const Program program = counting_down(10);
  EXPECT_NO_THROW(sim::run(program, arch(Target::trn2), buffers, {.max_passes = 10}));
  const Diagnostic d = error_of([&] { sim::run(program, arch(Target::trn2), buffers, {.max_passes = 9}); });
  EXPECT_EQ(d.code, "run.R5");
  EXPECT_EQ(d.found, "9 iterations and no end");
  EXPECT_GT(d.loc.line, 0);
}

TEST(DynamicLoop, ALoopOverRegistersEndsAtTheLimit) {
  Kernel k("for", Target::trn2);
  View out = k.output("out", {1, 1}, DType::int32);
  k.fori_loop(0, 10, [&](Reg i) { k.register_store({.dst = out, .src = i}); });
  const Program program = k.finish();
  std::int32_t last = -1;
  const sim::Buffers buffers{{"out", {&last, 4}}};
  sim::run(program, arch(Target::trn2), buffers, {.max_passes = 10});
  EXPECT_EQ(last, 9);
  EXPECT_EQ(error_of([&] { sim::run(program, arch(Target::trn2), buffers, {.max_passes = 9}); }).code, "run.R5");
}

}  // namespace
}  // namespace kiln
