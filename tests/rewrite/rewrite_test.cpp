// Programs made from programs: each is what was asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/analysis/writers.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/verify/verify.h"
#include "kiln/rewrite/border.h"
#include "kiln/rewrite/costs_after.h"
#include "kiln/rewrite/fragment.h"
#include "kiln/rewrite/precision.h"
#include "kiln/rewrite/probe.h"
#include "kiln/rewrite/unroll.h"

namespace kiln::rewrite {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32, kBf16 = DType::bfloat16;

// Instructions: 0 loads a; 1 squares it in a device loop; 2 stores it.
class Rewrites : public testing::Test {
 protected:
  Rewrites() {
    const View x = k.inout("x", {128, 8}, kBf16);
    y = k.output("y", {128, 8}, kBf16);
    a = k.sbuf({128, 8}, kBf16);
    k.dma_copy({.dst = a, .src = x});
    k.fori_loop(0, 4, [&](Reg) { k.tensor_tensor({.dst = a, .data1 = a, .data2 = a, .op = AluOp::multiply}); });
    k.dma_copy({.dst = y, .src = a});
  }
  // Statements of the body that are no declarations.
  static std::vector<Node> statements(const Program& p) {
    std::vector<Node> out;
    for (const Node& node : p.body) {
      if (node.kind != Node::Kind::declare) out.push_back(node);
    }
    return out;
  }
  Kernel k{"small"};
  View y, a;
};

constexpr Node kLoad{Node::Kind::instruction, 0}, kLoop{Node::Kind::loop, 0}, kStore{Node::Kind::instruction, 2};

TEST_F(Rewrites, CutAtAnInstruction) {
  const Program whole = fragment(k.program(), {}, "", 1);
  EXPECT_EQ(statements(cut_at(whole, 1, false)), (std::vector{kLoad, kLoop}));
  EXPECT_EQ(statements(cut_at(whole, 1, true)), (std::vector{kLoad}));
  EXPECT_EQ(statements(cut_at(whole, 2, false)), (std::vector{kLoad, kLoop, kStore}));
}

TEST_F(Rewrites, CutAtAMeeting) {
  k.pair();
  k.core_barrier({.data = a, .cores = {0, 1}});
  const Program whole = fragment(k.program(), {}, "", 2);
  EXPECT_EQ(statements(cut_at_meeting(whole, 0)), (std::vector{kLoad, kLoop, kStore}));
  EXPECT_EQ(statements(cut_at_meeting(whole, 1)).size(), 4u);
}

TEST_F(Rewrites, FragmentShowsTheInside) {
  const TensorId outputs[] = {a.tensor()};
  const Program p = fragment(k.program(), outputs, "core 0 ", 1);
  EXPECT_TRUE(p.fragment);
  EXPECT_EQ(p.tensors[a.tensor()].role, Role::inout);
  EXPECT_EQ(p.tensors[a.tensor()].name, "core 0 " + k.program().tensors[a.tensor()].name);
  EXPECT_EQ(p.tensors[y.tensor()].role, Role::internal);
}

TEST_F(Rewrites, FirstPassOfALoopThatIsStillOpen) {
  k.open_fori_loop(0, 100, 1);
  k.memset({.dst = a, .value = 0});
  const Program counted = first_pass(k.program(), 1);
  EXPECT_EQ(counted.loops[1].trip_count(), 1);
  k.close_loop();
  k.open_while_loop(k.new_register());
  k.memset({.dst = a, .value = 0});
  const Program stands_for_itself = first_pass(k.program(), 1);
  EXPECT_EQ(stands_for_itself.body.back(), (Node{Node::Kind::instruction, 4}));
}

TEST_F(Rewrites, ProbesCopyWhatTheyShow) {
  const Probe probes[] = {{kNone, 4, a}, {0, 1, a}};
  const Probed probed = with_probes(fragment(k.program(), {}, "", 1), probes);
  EXPECT_TRUE(verify(probed.program).empty());
  EXPECT_EQ(statements(probed.program).size(), 4u);
  ASSERT_EQ(probed.copies.size(), 2u);
  EXPECT_EQ(probed.program.body[5], (Node{Node::Kind::instruction, probed.copies[0]})) << "after the load";
  EXPECT_EQ(probed.program.loops[0].body.back(), (Node{Node::Kind::instruction, probed.copies[1]}));
  for (const InstructionId id : probed.copies) {
    const InstView copy(probed.program, probed.program.instructions[id]);
    EXPECT_EQ(copy.access(args::dma_copy::src).tensor, a.tensor());
    EXPECT_EQ(copy.tensor(args::dma_copy::dst).shape, (Shape{128, 8}));
  }
}

TEST_F(Rewrites, WidenKeepsWhatIsSeenAsBits) {
  const View b = k.sbuf({128, 8}, kBf16);
  k.memset({.dst = b.view(DType::uint16), .value = 7});
  const Program* programs[] = {&k.program()};
  const Widened widened = widen(programs);
  ASSERT_EQ(widened.programs.size(), 1u);
  const Program& p = widened.programs[0];
  EXPECT_TRUE(verify(p).empty());
  EXPECT_EQ(p.tensors[a.tensor()].dtype, kF32);
  EXPECT_EQ(p.tensors[b.tensor()].dtype, kBf16);
  EXPECT_EQ(widened.tensors.size(), 3u) << "x, y and a";
}

TEST_F(Rewrites, CostsAfterAChange) {
  Kernel wide("wide");
  const View t = wide.sbuf({128, 8}, kF32);
  wide.tensor_copy({.dst = t, .src = t});
  const InstView before(wide.program(), wide.program().instructions[0]);
  EXPECT_TRUE(
      while_narrow(wide.program(), before.inst(), [&] { EXPECT_EQ(before.dtype(args::tensor_copy::src), kBf16); }));
  EXPECT_EQ(before.dtype(args::tensor_copy::src), kF32) << "as it was";
  EXPECT_FALSE(while_narrow(k.program(), k.program().instructions[0], [] { FAIL(); }));
  const InstructionId ids[] = {0};
  const Program p = costs_after(wide.program(), ids, ids, Engine::scalar);
  const InstView copy(p, p.instructions[0]);
  EXPECT_EQ(copy.dtype(args::tensor_copy::dst), kBf16);
  EXPECT_EQ(copy.dtype(args::tensor_copy::src), kBf16);
  EXPECT_EQ(resolve_engine(copy, arch(Target::trn2)), Engine::scalar);
  EXPECT_EQ(resolve_engine({wide.program(), wide.program().instructions[0]}, arch(Target::trn2)), Engine::vector);
}

TEST_F(Rewrites, OtherInstructionsOnTheSameTileKeepTheirCosts) {
  Kernel wide("wide");
  const View t = wide.sbuf({128, 8}, kF32);
  for (int i = 0; i < 3; ++i) wide.tensor_copy({.dst = t, .src = t});
  const InstructionId ids[] = {1};
  const Program p = costs_after(wide.program(), ids, {}, Engine::unknown);
  EXPECT_TRUE(verify(p).empty());
  for (const InstructionId id : {0u, 2u})
    EXPECT_EQ(InstView(p, p.instructions[id]).dtype(args::tensor_copy::dst), kF32);
  EXPECT_EQ(InstView(p, p.instructions[1]).dtype(args::tensor_copy::dst), kBf16);
}

TEST_F(Rewrites, BorderIsWhatGoesInAndOut) {
  Kernel traced("traced");
  const View x = traced.inout("x", {128, 8}, kF32), result = traced.hbm({128, 8}, kF32);
  traced.dma_copy({.dst = result, .src = x});
  const TensorId outputs[] = {result.tensor()};
  const Program p = with_border(traced.program(), outputs);
  EXPECT_EQ(p.tensors[x.tensor()].role, Role::input);
  EXPECT_EQ(p.tensors[result.tensor()].role, Role::output);
}

std::string text_without_places(const Program& p) { return print(p, {.locations = false}); }

TEST(Unroll, WritesEveryPassWithTensorsOfItsOwn) {
  const Program program = parse(R"(kiln 1
program "k" target trn2
tensor x: input hbm float32 [4, 8]
tensor y: output shared_hbm float32 [4, 8]
loop i = 0 .. 4 step 2 {
  tensor t: sbuf float32 [1, 8]
  %0: dma_copy(dst=t, src=x.ap([[8, 1], [1, 8]], offset=8*i))
  dma_copy(dst=y.ap([[8, 1], [1, 8]], offset=8*i + 8), src=t) after(%0)
}
loop never = 0 .. 0 {
  dma_copy(dst=y, src=x)
}
)",
                                "k.kiln");
  EXPECT_EQ(text_without_places(unroll(program)), R"(kiln 1
program "k" target trn2
tensor x: input hbm float32 [4, 8]
tensor y: output shared_hbm float32 [4, 8]
tensor t: sbuf float32 [1, 8]
%0: dma_copy(dst=t, src=x.ap([[8, 1], [1, 8]]))
dma_copy(dst=y.ap([[8, 1], [1, 8]], offset=8), src=t) after(%0)
tensor t_1: sbuf float32 [1, 8]
%2: dma_copy(dst=t_1, src=x.ap([[8, 1], [1, 8]], offset=16))
dma_copy(dst=y.ap([[8, 1], [1, 8]], offset=24), src=t_1) after(%2)
)");
}

TEST(NormalForm, ForgetsNamesAndNothingElse) {
  const auto program = [](const char* tensor, const char* reg, int value) {
    return parse(fmt::format(R"(kiln 1
program "k" target trn2
register {1}
register i frozen
tensor y: output shared_hbm int32 [1]
tensor {0}: hbm int32 [1]
for i = 0 .. {1} {{
  register_move(dst={1}, src={2})
}}
dma_copy(dst=y, src={0})
)",
                             tensor, reg, value),
                 "k.kiln");
  };
  EXPECT_EQ(text_without_places(normal_form(program("t", "n", 3))),
            text_without_places(normal_form(program("other", "m", 3))));
  EXPECT_NE(text_without_places(normal_form(program("t", "n", 3))),
            text_without_places(normal_form(program("t", "n", 4))));
  const std::string text = text_without_places(normal_form(program("t", "n", 3)));
  EXPECT_NE(text.find("register_alloc(dst=r0)"), std::string::npos) << text;
  EXPECT_EQ(text.find("frozen"), std::string::npos) << text;
}

}  // namespace
}  // namespace kiln::rewrite
