#include "kiln/analysis/lifetimes.h"

#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"

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
  EXPECT_EQ(after(kNone, p.body.size() - 1), Ids{b.tensor()});
  EXPECT_EQ(after(kNone, copy), Ids{});
}

}  // namespace
}  // namespace kiln::analysis
