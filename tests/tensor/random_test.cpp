// Random tensor programs: the text reads back, and what is compiled at every level for every chip equals the oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/text.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"
#include "tests/tensor/random_graph.h"

namespace kiln::tensor {
namespace {

unsigned first_seed() { return static_cast<unsigned>(test::seed() % 1'000'000'000); }

// How many programs; KILN_PROGRAMS says another number.
unsigned how_many(unsigned usual) {
  const char* text = std::getenv("KILN_PROGRAMS");
  return text ? static_cast<unsigned>(std::atoi(text)) : usual;
}

TEST(Random, CompiledEqualsOracle) {
  const unsigned first = first_seed(), count = how_many(150);
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    const Graph graph = random_graph(seed);
    const std::string text = print(graph);
    ASSERT_EQ(print(parse(text, "text")), text) << "seed " << seed;
    const Target target = static_cast<Target>(seed % 3);
    for (const CompileOptions& options : {CompileOptions{.target = target, .level = 1},
                                          {.target = target, .level = 2},
                                          {.target = target, .level = 2, .lnc = target == Target::trn1 ? 1 : 2},
                                          {.target = target, .level = 1, .fuse = false},
                                          {.target = target, .level = 1, .sbuf_bytes = 40 << 10}}) {
      const std::string what = fmt::format("seed {} level {} lnc {} fuse {} on {}\n", seed, options.level, options.lnc,
                                           options.fuse, arch(target).name);
      try {
        const Outcome out = compare(graph, seed, options);
        ASSERT_EQ(out.wrong, "") << what << text << isa::print(out.compiled.program);
      } catch (const Error& e) {
        FAIL() << what << e.what() << "\n" << text;
      }
    }
  }
}

TEST(Random, BroadOpsEqualOracle) {
  const unsigned first = first_seed(), count = how_many(60);
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    const Graph graph = random_broad_graph(seed);
    const std::string text = print(graph);
    ASSERT_EQ(print(parse(text, "text")), text) << "seed " << seed;
    const Target target = static_cast<Target>(seed % 3);
    for (const CompileOptions& options : {CompileOptions{.target = target, .level = 1},
                                          {.target = target, .level = 1, .lnc = target == Target::trn1 ? 1 : 2},
                                          {.target = target, .level = 1, .fuse = false}}) {
      const std::string what =
          fmt::format("seed {} lnc {} fuse {} on {}\n", seed, options.lnc, options.fuse, arch(target).name);
      try {
        const Outcome out = compare(graph, seed, options);
        ASSERT_EQ(out.wrong, "") << what << text;
      } catch (const Error& e) {
        FAIL() << what << e.what() << "\n" << text;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
