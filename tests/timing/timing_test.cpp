// What a program has to wait for: an instruction starts at t, and nothing allows t - 1.
#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32;

Event event_of(const Timeline& t, InstructionId inst, Kind kind = Kind::execute) {
  for (const Event& e : t.events) {
    if (e.inst == inst && e.kind == kind) return e;
  }
  throw std::runtime_error("no such event");
}
Time ns(double value) { return static_cast<Time>(value * kPicoseconds + 0.5); }

class Waits : public testing::TestWithParam<Target> {
 protected:
  const Arch& a = arch(GetParam());
  Kernel k{"waits", GetParam()};
  Timeline time() { return simulate(k.program(), a, {.reorder = false}); }
};

TEST_P(Waits, ReaderWaitsForItsWriterAndNoLonger) {
  k.fragment();
  const View x = k.input("x", {128, 512}, kF32, Memory::sbuf);
  const View y = k.sbuf({128, 512}, kF32), z = k.output("z", {128, 512}, kF32, Memory::sbuf);
  const auto writer = k.activation({.dst = y, .op = ActFn::exp, .data = x});
  const auto reader = k.tensor_copy({.dst = z, .src = y});
  const Timeline t = time();
  const Event w = event_of(t, writer.id()), r = event_of(t, reader.id());
  EXPECT_EQ(r.start, w.end + ns(a.vector.semaphore_ns));
  EXPECT_EQ(r.wait, Wait::read);
  EXPECT_EQ(t.events[r.because].inst, w.inst);
}

TEST_P(Waits, PartsThatDoNotTouchDoNotWait) {
  k.fragment();
  const View x = k.input("x", {128, 512}, kF32, Memory::sbuf);
  const View y = k.inout("y", {128, 512}, kF32, Memory::sbuf), z = k.output("z", {128, 256}, kF32, Memory::sbuf);
  k.activation({.dst = y(all, ds(0, 257)), .op = ActFn::exp, .data = x(all, ds(0, 257))});
  const auto apart = k.tensor_copy({.dst = z(all, ds(0, 255)), .src = y(all, ds(257, 255))});
  const auto touching = k.tensor_copy({.dst = z, .src = y(all, ds(256, 256))});
  const Timeline t = time();
  EXPECT_EQ(event_of(t, apart.id()).start, 0);
  EXPECT_EQ(event_of(t, touching.id()).wait, Wait::read);
}

TEST_P(Waits, WriterWaitsForReadersOfAnotherEngine) {
  k.fragment();
  const View x = k.input("x", {128, 512}, kF32, Memory::sbuf);
  const View y = k.inout("y", {128, 512}, kF32, Memory::sbuf), z = k.output("z", {128, 512}, kF32, Memory::sbuf);
  const auto reader = k.activation({.dst = z, .op = ActFn::exp, .data = y});
  const auto writer = k.tensor_copy({.dst = y, .src = x});
  const Timeline t = time();
  const Event r = event_of(t, reader.id()), w = event_of(t, writer.id());
  EXPECT_EQ(w.start, r.end + ns(a.vector.semaphore_ns));
  EXPECT_EQ(w.wait, Wait::overwrite);
}

TEST_P(Waits, IndependentInstructionsOfAnEngineFollowAtItsInterval) {
  k.fragment();
  const View x = k.input("x", {128, 1024}, kF32, Memory::sbuf), y = k.output("y", {128, 1024}, kF32, Memory::sbuf);
  const auto first = k.tensor_copy({.dst = y(all, ds(0, 512)), .src = x(all, ds(0, 512))});
  const auto second = k.tensor_copy({.dst = y(all, ds(512, 512)), .src = x(all, ds(512, 512))});
  const Timeline t = time();
  const Event e = event_of(t, first.id()), f = event_of(t, second.id());
  EXPECT_EQ(f.start, e.start + e.occupied);
  EXPECT_EQ(f.wait, Wait::engine);
  EXPECT_LT(f.start, e.end);
}

TEST_P(Waits, ExplicitDependency) {
  k.fragment();
  const View x = k.input("x", {128, 512}, kF32, Memory::sbuf);
  const View y = k.output("y", {128, 512}, kF32, Memory::sbuf), z = k.output("z", {128, 512}, kF32, Memory::sbuf);
  auto first = k.activation({.dst = y, .op = ActFn::exp, .data = x});
  auto second = k.tensor_copy({.dst = z, .src = x});
  const Timeline alone = time();
  EXPECT_EQ(event_of(alone, second.id()).start, 0);
  second.depends_on({first});
  const Timeline t = time();
  EXPECT_EQ(event_of(t, second.id()).start, event_of(t, first.id()).end + ns(a.vector.semaphore_ns));
  EXPECT_EQ(event_of(t, second.id()).wait, Wait::dependency);
}

INSTANTIATE_TEST_SUITE_P(Generations, Waits, testing::Values(Target::trn1, Target::trn2, Target::trn3),
                         [](const auto& p) { return std::string(arch(p.param).name); });

}  // namespace
}  // namespace kiln::timing
