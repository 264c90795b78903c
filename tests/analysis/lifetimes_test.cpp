#include "kiln/analysis/lifetimes.h"

#include <gtest/gtest.h>

#include "kiln/analysis/liveness.h"
#include "kiln/analysis/statements.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/uses.h"
#include "tests/programs/random_program.h"

namespace kiln::analysis {
namespace {
using namespace isa;

TEST(Lifetimes, EndsAfterTheLastUseInTheTensorsOwnBlock) {
  Kernel k("last");
  const auto& body = k.program().body;
  const View a = k.sbuf({128, 4}, DType::float32), b = k.sbuf({128, 4}, DType::float32);
  k.memset({.dst = a, .value = 1});
  const std::size_t loop = body.size();
  View inner;
  k.loop(3, [&](Index) {
    inner = k.sbuf({128, 4}, DType::float32);
    k.tensor_copy({.dst = inner, .src = a});
    k.tensor_copy({.dst = b, .src = inner});
    k.memset({.dst = b, .value = 1});
  });
  const std::size_t copy = body.size();
  const View y = k.output("y", {128, 4}, DType::float32);
  k.dma_copy({.dst = y, .src = b});
  const Program p = k.finish();
  const Lifetimes lifetimes(p);
  using Ids = std::vector<TensorId>;
  const auto after = [&](LoopId loop, std::size_t position) {
    const auto ids = lifetimes.after(loop, position);
    return Ids(ids.begin(), ids.end());
  };
  EXPECT_EQ(after(kNone, loop), Ids{a.tensor()});
  EXPECT_EQ(after(0, 2), Ids{inner.tensor()});
  EXPECT_EQ(after(kNone, p.body.size() - 1), (Ids{b.tensor(), y.tensor()}));
  EXPECT_EQ(after(kNone, copy), Ids{});
}

// Does a statement use the tensor, itself or in its body?
bool uses(const Program& p, const Node& node, TensorId tensor) {
  bool found = false;
  for_each_instruction(p, node, [&](InstructionId id) {
    for_each_use(p, p.instructions[id], [&](const Access& a, Use) { found |= a.tensor == tensor; });
  });
  return found;
}

const Block& body_of(const Program& p, LoopId loop) { return loop == kNone ? p.body : p.loops[loop].body; }

// Looks through the block of each declaration.
TEST(Lifetimes, AgreeWithALookAtEveryStatement) {
  for (int seed = 0; seed < 100; ++seed) {
    const Program p = random_program(seed);
    const Lifetimes lifetimes(p);
    std::size_t dead = 0;
    for_each_statement(p, [&](const Statement& s) {
      dead += lifetimes.after(s.loop, s.index).size();
      if (!s.is_declaration()) return;
      const Block& block = body_of(p, s.loop);
      std::size_t last = s.index;
      for (std::size_t i = s.index; i < block.size(); ++i) {
        if (uses(p, block[i], s.node.index)) last = i;
      }
      const auto ids = lifetimes.after(s.loop, last);
      EXPECT_EQ(std::count(ids.begin(), ids.end(), s.node.index), 1) << "seed " << seed << ", tensor " << s.node.index;
      EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    });
    EXPECT_EQ(dead, p.tensors.size()) << "seed " << seed;
  }
}

// A tensor is alive at a statement when it was used before or is used there, and is used there or later, where every
// statement of a loop that it was declared outside of counts as used when one is.
TEST(Liveness, AgreesWithALookAtEveryStatement) {
  for (int seed = 0; seed < 100; ++seed) {
    const Program p = random_program(seed);
    const Liveness live = use_intervals(p);
    std::vector<Statement> statements;
    std::vector<Position> heads(p.loops.size()), ends(p.loops.size());
    for_each_statement(
        p, kNone,
        [&](const Statement& s) {
          if (s.is_loop()) heads[s.node.index] = static_cast<Position>(statements.size());
          statements.push_back(s);
        },
        [&](const Statement& s) { ends[s.node.index] = static_cast<Position>(statements.size() - 1); });
    ASSERT_EQ(live.nodes.size(), statements.size());
    for (Position at = 0; at < statements.size(); ++at) {
      const Statement& declaration = statements[at];
      EXPECT_EQ(live.nodes[at], declaration.node);
      if (!declaration.is_declaration()) continue;
      Interval expected;
      for (Position now = at; now < statements.size(); ++now) {
        const Statement& s = statements[now];
        if (s.loop != declaration.loop || !uses(p, s.node, declaration.node.index)) continue;
        if (expected.empty()) expected.begin = s.is_loop() ? heads[s.node.index] : now;
        expected.end = s.is_loop() ? ends[s.node.index] : now;
      }
      EXPECT_EQ(live.tensors[declaration.node.index], expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kiln::analysis
