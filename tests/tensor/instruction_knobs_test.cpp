// Changes of single instructions: whatever is changed, the program computes what the oracle says, and one that is only
// cut in pieces is clean as before.
#include "kiln/tensor/lower/instruction_knobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "kiln/check/check_program.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"
#include "tests/tensor/random_graph.h"

namespace kiln::tensor {
namespace {

using What = InstructionKnob::What;

std::vector<int> random_changes(const Compiled& made, std::mt19937& random, int one_of) {
  std::vector<int> out;
  for (const InstructionKnob& knob : instruction_knobs(made.program, arch(made.program.target))) {
    if (random() % static_cast<unsigned>(one_of) != 0) continue;
    out.insert(out.end(), {knob.key(), knob.values[random() % knob.values.size()]});
  }
  return out;
}

bool is_clean(const Compiled& made) {
  for (const isa::Program* program : made.launch().programs) {
    if (!check::check_program(*program, arch(program->target)).diagnostics.empty()) return false;
  }
  return true;
}

// How many changed programs were run.
int try_changes(const Graph& graph, unsigned seed, const CompileOptions& options) {
  const Compiled made = compile(graph, options);
  std::mt19937 random(seed);
  int ran = 0;
  for (const int one_of : {1, 2, 4}) {
    const std::vector<int> changes = random_changes(made, random, one_of);
    std::optional<Compiled> other = changed(made, changes);
    EXPECT_TRUE(other.has_value());
    if (!other || changes.empty() || !is_clean(*other)) continue;
    const Outcome out = compare(std::move(*other), graph, random_inputs(graph, seed));
    EXPECT_EQ(out.wrong, "") << fmt::format("seed {} on {}: {}\n", seed, arch(options.target).name,
                                            describe(made.program, changes))
                             << print(graph) << isa::print(out.compiled.program);
    ++ran;
  }
  return ran;
}

TEST(InstructionKnobs, RandomProgramsEqualTheOracle) {
  const auto first = static_cast<unsigned>(test::seed() % 1'000'000'000);
  int ran = 0;
  for (unsigned seed = first; seed < first + 60 && !HasFailure(); ++seed) {
    const Target target = static_cast<Target>(seed % 3);
    ran += try_changes(random_graph(seed), seed, {.target = target, .level = 1});
    ran += try_changes(random_broad_graph(seed), seed, {.target = target, .level = 1});
    if (target != Target::trn1 && seed % 4 == 0)
      ran += try_changes(random_graph(seed), seed, {.target = target, .level = 1, .lnc = 2});
  }
  EXPECT_GT(ran, 120);
}

// A row sum goes on from piece to piece; products keep what they add to.
TEST(InstructionKnobs, PiecesOfSumsAndProducts) {
  Builder b("pieces");
  const Expr x = b.input("x", {DType::float32, {100, 300}});
  const Expr y = rms_norm(x, b.input("gain", {DType::float32, {300}}));
  b.output("y", matmul(y, b.input("w", {DType::float32, {300, 513}})));
  const Graph graph = b.finish();
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    const Compiled made = compile(graph, {.target = target});
    std::vector<int> changes;
    std::set<isa::Opcode> kinds;
    for (const InstructionKnob& knob : instruction_knobs(made.program, arch(target))) {
      if (knob.what != What::pieces) continue;
      changes.insert(changes.end(), {knob.key(), knob.values.back()});
      kinds.insert(made.program.instructions[knob.instruction].opcode);
    }
    EXPECT_TRUE(kinds.contains(isa::Opcode::dma_copy) && kinds.contains(isa::Opcode::nc_matmul));
    EXPECT_TRUE(kinds.contains(isa::Opcode::activation));
    const std::optional<Compiled> other = changed(made, changes);
    ASSERT_TRUE(other.has_value());
    EXPECT_GT(other->program.instructions.size(), made.program.instructions.size());
    EXPECT_EQ(other->regions.back().first_instruction + other->regions.back().instructions,
              static_cast<std::int64_t>(other->program.instructions.size()));
    const Outcome out = compare(*other, graph, random_inputs(graph, 3));
    EXPECT_EQ(out.wrong, "") << isa::print(out.compiled.program);
  }
}

// What a search found in an earlier program, or what somebody made up, is no program, and no crash.
TEST(InstructionKnobs, ChangesThatCannotBeMade) {
  Builder b("small");
  b.output("y", exp(b.input("x", {DType::float32, {64, 3}})));
  const Compiled made = compile(b.finish());
  const int none = static_cast<int>(made.program.instructions.size()) * 2;
  for (const std::vector<int>& wrong : {std::vector{none, 1}, {0, 99}, {1, 99}, {0, 5}, {2, 1}, {0, 0}, {-2, 1}})
    EXPECT_FALSE(changed(made, wrong).has_value()) << wrong[0] << " " << wrong[1];
}

}  // namespace
}  // namespace kiln::tensor
