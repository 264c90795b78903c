// Convolutions and pools: compiled for every target they equal the oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/more.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr Target kTargets[] = {Target::trn1, Target::trn2, Target::trn3};

struct Case {
  Shape x, w;
  Ints strides, low, high, dilation, spread;
  std::int64_t groups = 1;
  DType dtype = DType::float32;
};

void expect_right(const Graph& g, const std::string& what) {
  for (Target target : kTargets) {
    try {
      const Outcome out = compare(g, 3, {.target = target, .level = 1});
      EXPECT_EQ(out.wrong, "") << what << " " << arch(target).name;
    } catch (const Error& e) {
      ADD_FAILURE() << what << " " << arch(target).name << ": " << e.what();
    }
  }
}

TEST(Window, Convolutions) {
  const std::vector<Case> cases{
      {{2, 3, 11, 9}, {5, 3, 3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
      {{1, 3, 17, 16}, {64, 3, 7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}, {1, 1}},
      {{1, 40, 8, 9}, {140, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 140, 6, 7}, {33, 140, 3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 2}, {1, 1}},
      {{2, 8, 6, 6}, {12, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
      {{2, 6, 7, 8}, {12, 1, 3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 6},
      {{1, 5, 4, 4}, {7, 5, 3, 3}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, {2, 3}},
      {{2, 64, 8, 8}, {32, 64, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
      {{2, 3, 8, 12}, {10, 3, 4, 4}, {4, 4}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
      {{2, 4, 50}, {6, 4, 5}, {3}, {2}, {1}, {2}, {1}},
      {{1, 16, 700}, {16, 16, 3}, {1}, {1}, {1}, {1}, {1}},
      {{1, 3, 4, 6, 6}, {8, 3, 2, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{1, 33, 4, 6, 6}, {8, 33, 2, 3, 3}, {2, 1, 2}, {1, 1, 1}, {0, 1, 1}, {1, 2, 1}, {1, 1, 1}},
      {{1, 4, 160, 150}, {6, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 40, 5, 70, 60}, {6, 40, 3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{1, 40, 9, 9}, {20, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, DType::bfloat16},
      {{2, 64, 10, 9}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, DType::bfloat16},
      {{1, 64, 9, 12}, {30, 64, 5, 2}, {2, 1}, {2, 0}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 32, 12, 8}, {16, 32, 7, 3}, {1, 1}, {3, 1}, {3, 1}, {2, 1}, {1, 1}},
      {{1, 64, 190, 150}, {4, 64, 5, 1}, {2, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
      {{1, 64, 3, 8, 7}, {9, 64, 2, 3, 2}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{1, 64, 2, 6}, {5, 64, 3, 3}, {1, 1}, {2, 1}, {2, 1}, {1, 1}, {1, 1}},
      // A row of taps is left over, whose columns lie beside each other.
      {{1, 40, 9, 11}, {20, 40, 4, 3}, {1, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 1}},
      {{2, 64, 13, 30}, {70, 64, 5, 5}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, {1, 1}},
      {{2, 64, 12, 9}, {8, 64, 3, 4}, {2, 2}, {0, 3}, {1, 0}, {1, 3}, {1, 1}, 1, DType::bfloat16},
      {{1, 32, 40, 33}, {16, 32, 5, 5}, {1, 3}, {1, 0}, {0, 4}, {2, 1}, {1, 1}},
      {{1, 64, 6, 140}, {6, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 1}},
      {{2, 128, 7, 5}, {24, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
      {{1, 64, 5, 12, 10}, {9, 64, 3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}},
      {{1, 64, 3, 2}, {5, 64, 3, 5}, {1, 1}, {1, 4}, {1, 4}, {1, 1}, {1, 1}},
  };
  for (const Case& c : cases) {
    Graph g("conv");
    const Value x = g.input("x", {c.dtype, c.x}), w = g.input("w", {c.dtype, c.w});
    g.output("y", g.add(OpCode::conv, {x, w}, {c.strides, c.low, c.high, c.dilation, c.spread, c.groups}));
    expect_right(g, fmt::format("{} with {}", to_string(c.x), to_string(c.w)));
  }
}

// What is done to the result with numbers and one value per channel happens while it leaves PSUM.
TEST(Window, Tails) {
  for (const DType t : {DType::float32, DType::bfloat16}) {
    for (const std::int64_t out : {20, 140}) {
      Builder b("tail");
      const Expr x = b.input("x", {t, {1, 40, 6, 7}}), w = b.input("w", {t, {out, 40, 3, 2}});
      const Expr bias = b.input("bias", {t, {out}}), wide = b.input("wide", {t, {2 * out}});
      const Expr per_channel = reshape(bias, {out, 1, 1}), scale = reshape(slice(wide, 0, 0, 2 * out, 2), {out, 1, 1});
      const Windows same{.low = {1, 0}, .high = {1, 1}};
      const auto made = [&] { return conv(x, w * 0.1, same); };
      b.output("rectified", maximum(conv(x, w, same) + per_channel, 0.0));
      b.output("scaled", gelu(made() * scale + per_channel));
      b.output("bounded", minimum(maximum(made() * 3.0, -1.0), scale) * 0.5);
      const Expr kept = made() + 1.0;  // read twice: not in a tail
      b.output("kept", tanh(kept) + kept);
      b.output("sums", sum(relu(made() + per_channel), {{2, 3}, false}));
      expect_right(b.finish(), fmt::format("{} channels", out));
    }
  }
}

TEST(Window, TailsDoNotGoThroughHbm) {
  Builder b("tail");
  const Expr x = b.input("x", {DType::bfloat16, {2, 64, 28, 28}}), w = b.input("w", {DType::bfloat16, {64, 64, 3, 3}});
  const Expr bias = reshape(b.input("bias", {DType::bfloat16, {64}}), {64, 1, 1});
  b.output("out", relu(conv(x, w, {.low = {1, 1}, .high = {1, 1}}) + bias));
  EXPECT_TRUE(compile(b.finish()).spills.empty());
}

TEST(Window, Pools) {
  for (const char* mode : {"max", "min", "sum", "mean", "mean_inside"}) {
    for (DType t : {DType::float32, DType::int8}) {
      if (t == DType::int8 && std::string(mode) != "max" && std::string(mode) != "min") continue;
      Graph g("pool");
      const Value x = g.input("x", {t, {2, 5, 9, 12}});
      g.output("y", g.add(OpCode::pool, {x},
                          {Ints{3, 2}, Ints{2, 2}, Ints{1, 0}, Ints{1, 0}, Ints{1, 2}, std::string(mode)}));
      g.output("line", g.add(OpCode::pool, {x}, {Ints{4}, Ints{1}, Ints{1}, Ints{2}, Ints{1}, std::string(mode)}));
      expect_right(g, mode);
    }
  }
}

}  // namespace
}  // namespace kiln::tensor
