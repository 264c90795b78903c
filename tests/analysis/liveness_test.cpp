#include "kiln/analysis/liveness.h"

#include <gtest/gtest.h>

#include "tests/check/program_maker.h"

namespace kiln::analysis {

std::ostream& operator<<(std::ostream& out, const Interval& i) { return out << '[' << i.begin << ", " << i.end << ']'; }

namespace {
using check::ProgramMaker;

TEST(Liveness, FromFirstToLastUse) {
  ProgramMaker m;
  const auto a = m.sbuf("a", 128, 4), b = m.sbuf("b", 128, 4), unused = m.sbuf("unused", 128, 4);  // 0, 1, 2
  m.write(a);                                                                                      // 3
  m.copy(b, a);                                                                                    // 4
  m.read(b);                                                                                       // 5
  const Liveness live = live_intervals(m.finish());
  EXPECT_EQ(live.nodes.size(), 6u);
  EXPECT_EQ(live.tensors[a], (Interval{3, 4}));
  EXPECT_EQ(live.tensors[b], (Interval{4, 5}));
  EXPECT_TRUE(live.tensors[unused].empty());
}

TEST(Liveness, HbmTensorsHaveNone) {
  ProgramMaker m;
  const auto x = m.tensor("x", Memory::hbm, {128, 4});
  m.read(x);
  EXPECT_TRUE(live_intervals(m.finish()).tensors[x].empty());
}

TEST(Liveness, DeclaredOutsideLivesThroughTheLoop) {
  ProgramMaker m;
  const auto before = m.sbuf("before", 128, 4), inside = m.sbuf("inside", 128, 4);  // 0, 1
  const auto after = m.sbuf("after", 128, 4);                                       // 2
  m.write(before);                                                                  // 3
  isa::TensorId local = 0;
  m.loop(4, [&](isa::LoopId) {        // 4
    local = m.sbuf("local", 128, 4);  // 5
    m.copy(local, before);            // 6
    m.write(inside);                  // 7
    m.copy(inside, local);            // 8
    m.write(after);                   // 9
    m.sbuf("unused", 128, 4);         // 10
  });
  m.read(after);  // 11
  const Liveness live = live_intervals(m.finish());
  EXPECT_EQ(live.tensors[before], (Interval{3, 10}));
  EXPECT_EQ(live.tensors[inside], (Interval{4, 10}));
  EXPECT_EQ(live.tensors[after], (Interval{4, 11}));
  EXPECT_EQ(live.tensors[local], (Interval{6, 8}));
}

TEST(Liveness, NestedLoopsHoldToTheLoopBelowTheDeclaration) {
  ProgramMaker m;
  isa::TensorId middle = 0;
  const auto outer = m.sbuf("outer", 128, 4);  // 0
  m.loop(2, [&](isa::LoopId) {                 // 1
    middle = m.sbuf("middle", 128, 4);         // 2
    m.loop(2, [&](isa::LoopId) {               // 3
      m.write(middle);                         // 4
      m.loop(2, [&](isa::LoopId) {             // 5
        m.copy(outer, middle);                 // 6
      });
    });
    m.sbuf("unused", 128, 4);  // 7
  });
  const Liveness live = live_intervals(m.finish());
  EXPECT_EQ(live.tensors[outer], (Interval{1, 7}));
  EXPECT_EQ(live.tensors[middle], (Interval{3, 6}));
}

TEST(Liveness, IndexTilesAreUsed) {
  ProgramMaker m;
  const auto data = m.sbuf("data", 128, 4), index = m.sbuf("index", 128, 4), out = m.sbuf("out", 128, 4);  // 0, 1, 2
  m.write(index);                                                                                          // 3
  m.write(data);                                                                                           // 4
  m.copy(whole(m.program, out), m.gathered(data, index));                                                  // 5
  m.copy(m.gathered(out, index), whole(m.program, data));                                                  // 6
  const Liveness live = live_intervals(m.finish());
  EXPECT_EQ(live.tensors[index], (Interval{3, 6}));
  EXPECT_EQ(live.tensors[data], (Interval{4, 6}));
}

TEST(Liveness, FragmentsHoldTheirInterface) {
  ProgramMaker m;
  const auto in = m.sbuf("in", 128, 4), out = m.sbuf("out", 128, 4);  // 0, 1
  m.copy(out, in);                                                    // 2
  m.sbuf("unused", 128, 4);                                           // 3
  m.program.tensors[in].role = isa::Role::input;
  m.program.tensors[out].role = isa::Role::output;
  const Liveness live = live_intervals(m.finish());
  EXPECT_EQ(live.tensors[in], (Interval{0, 2}));
  EXPECT_EQ(live.tensors[out], (Interval{2, 3}));
}

TEST(Liveness, InPlaceUseOfNewTensorReadsFirst) {
  ProgramMaker m;
  const auto a = m.sbuf("a", 128, 4), b = m.sbuf("b", 128, 4);
  m.copy(a, a);
  m.write(b);
  m.read(b);
  const Liveness live = live_intervals(m.finish());
  EXPECT_TRUE(live.read_first[a]);
  EXPECT_FALSE(live.read_first[b]);
}

TEST(Liveness, Registers) {
  ProgramMaker m;
  const auto bound = m.reg();  // 0
  isa::RegisterId local = 0, counter = 0;
  const auto loop = m.loop(2, [&](isa::LoopId) {  // 1
    local = m.reg();                              // 2
    m.move(local, bound);                         // 3
    m.move(local, local);                         // 4
    m.sbuf("unused", 128, 4);                     // 5
  });
  m.program.registers.push_back({"counter", true});
  counter = static_cast<isa::RegisterId>(m.program.registers.size() - 1);
  m.program.loops[loop].kind = isa::Loop::Kind::dynamic_for;
  m.program.loops[loop].reg = counter;
  const Liveness live = live_intervals(m.finish());
  EXPECT_EQ(live.registers[bound], (Interval{0, 5}));
  EXPECT_EQ(live.registers[local], (Interval{2, 4}));
  EXPECT_EQ(live.registers[counter], (Interval{1, 5}));
}

}  // namespace
}  // namespace kiln::analysis
