#include "kiln/analysis/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/isa/text/parse.h"

namespace kiln::analysis {

std::ostream& operator<<(std::ostream& out, const Interval& i) { return out << '[' << i.begin << ", " << i.end << ']'; }

namespace {

// The intervals of a program in its text form, by name.
struct Lives {
  explicit Lives(const std::string& statements)
      : program(isa::parse("kiln 1 program \"lives\" target trn2 fragment " + statements, "lives.kiln")),
        live(live_intervals(program)) {}

  Interval tensor(std::string_view name) const { return live.tensors.at(index(program.tensors, name)); }
  bool read_first(std::string_view name) const { return live.read_first.at(index(program.tensors, name)); }
  Interval reg(std::string_view name) const { return live.registers.at(index(program.registers, name)); }

  template <class All>
  static std::size_t index(const All& all, std::string_view name) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    return static_cast<std::size_t>(it - all.begin());
  }

  const isa::Program program;
  const Liveness live;
};

TEST(Liveness, FromFirstToLastUse) {
  const Lives lives(R"(
    tensor out: hbm uint8 [128, 4]      # 0
    tensor a: sbuf uint8 [128, 4]       # 1
    tensor b: sbuf uint8 [128, 4]       # 2
    tensor unused: sbuf uint8 [128, 4]  # 3
    memset(dst=a, value=0)              # 4
    tensor_copy(dst=b, src=a)           # 5
    dma_copy(dst=out, src=b)            # 6
  )");
  EXPECT_EQ(lives.live.nodes.size(), 7u);
  EXPECT_EQ(lives.tensor("a"), (Interval{4, 5}));
  EXPECT_EQ(lives.tensor("b"), (Interval{5, 6}));
  EXPECT_TRUE(lives.tensor("unused").empty());
}

TEST(Liveness, HbmTensorsHaveNone) {
  const Lives lives(R"(
    tensor x: hbm float32 [128, 4]
    tensor out: hbm float32 [128, 4]
    dma_copy(dst=out, src=x)
  )");
  EXPECT_TRUE(lives.tensor("x").empty());
}

TEST(Liveness, DeclaredOutsideLivesThroughTheLoop) {
  const Lives lives(R"(
    tensor out: hbm uint8 [128, 4]        # 0
    tensor before: sbuf uint8 [128, 4]    # 1
    tensor inside: sbuf uint8 [128, 4]    # 2
    tensor after: sbuf uint8 [128, 4]     # 3
    memset(dst=before, value=0)           # 4
    loop i = 0 .. 4 {                     # 5
      tensor local: sbuf uint8 [128, 4]   # 6
      tensor_copy(dst=local, src=before)  # 7
      memset(dst=inside, value=0)         # 8
      tensor_copy(dst=inside, src=local)  # 9
      memset(dst=after, value=0)          # 10
      tensor unused: sbuf uint8 [128, 4]  # 11
    }
    dma_copy(dst=out, src=after)          # 12
  )");
  EXPECT_EQ(lives.tensor("before"), (Interval{4, 11}));
  EXPECT_EQ(lives.tensor("inside"), (Interval{5, 11}));
  EXPECT_EQ(lives.tensor("after"), (Interval{5, 12}));
  EXPECT_EQ(lives.tensor("local"), (Interval{7, 9}));
}

TEST(Liveness, NestedLoopsHoldToTheLoopBelowTheDeclaration) {
  const Lives lives(R"(
    tensor outer: sbuf uint8 [128, 4]         # 0
    loop i = 0 .. 2 {                         # 1
      tensor middle: sbuf uint8 [128, 4]      # 2
      loop j = 0 .. 2 {                       # 3
        memset(dst=middle, value=0)           # 4
        loop k = 0 .. 2 {                     # 5
          tensor_copy(dst=outer, src=middle)  # 6
        }
      }
      tensor unused: sbuf uint8 [128, 4]      # 7
    }
  )");
  EXPECT_EQ(lives.tensor("outer"), (Interval{1, 7}));
  EXPECT_EQ(lives.tensor("middle"), (Interval{3, 6}));
}

TEST(Liveness, IndexTilesAreUsed) {
  const Lives lives(R"(
    tensor data: sbuf uint8 [128, 4]                                    # 0
    tensor index: sbuf uint8 [128, 4]                                   # 1
    tensor out: sbuf uint8 [128, 4]                                     # 2
    memset(dst=index, value=0)                                          # 3
    memset(dst=data, value=0)                                           # 4
    tensor_copy(dst=out, src=data.ap(0:128, [[1, 4]], indirect=index))  # 5
    tensor_copy(dst=out.ap(0:128, [[1, 4]], indirect=index), src=data)  # 6
  )");
  EXPECT_EQ(lives.tensor("index"), (Interval{3, 6}));
  EXPECT_EQ(lives.tensor("data"), (Interval{4, 6}));
}

TEST(Liveness, FragmentsHoldTheirInterface) {
  const Lives lives(R"(
    tensor in: input sbuf uint8 [128, 4]    # 0
    tensor out: output sbuf uint8 [128, 4]  # 1
    tensor_copy(dst=out, src=in)            # 2
    tensor unused: sbuf uint8 [128, 4]      # 3
  )");
  EXPECT_EQ(lives.tensor("in"), (Interval{0, 2}));
  EXPECT_EQ(lives.tensor("out"), (Interval{2, 3}));
}

TEST(Liveness, InPlaceUseOfNewTensorReadsFirst) {
  const Lives lives(R"(
    tensor out: hbm uint8 [128, 4]
    tensor a: sbuf uint8 [128, 4]
    tensor b: sbuf uint8 [128, 4]
    tensor_copy(dst=a, src=a)
    memset(dst=b, value=0)
    dma_copy(dst=out, src=b)
  )");
  EXPECT_TRUE(lives.read_first("a"));
  EXPECT_FALSE(lives.read_first("b"));
}

TEST(Liveness, Registers) {
  const Lives lives(R"(
    register bound
    register local
    register counter frozen
    register_alloc(dst=bound)              # 0
    for counter = 0 .. 2 {                 # 1
      register_alloc(dst=local)            # 2
      register_move(dst=local, src=bound)  # 3
      register_move(dst=local, src=local)  # 4
      tensor unused: sbuf uint8 [128, 4]   # 5
    }
  )");
  EXPECT_EQ(lives.reg("bound"), (Interval{0, 5}));
  EXPECT_EQ(lives.reg("local"), (Interval{2, 4}));
  EXPECT_EQ(lives.reg("counter"), (Interval{1, 5}));
}

}  // namespace
}  // namespace kiln::analysis
