// Boxes against a list of all bytes: they may say that two accesses meet when they do not, never the other
// way.
#include "kiln/analysis/box.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "kiln/isa/builder/builder.h"

namespace kiln::analysis {
namespace {
using namespace isa;

std::set<std::pair<std::int64_t, std::int64_t>> bytes_of(const Access& a, bool on_chip) {
  std::set<std::pair<std::int64_t, std::int64_t>> bytes;
  const std::int64_t size = size_bytes(a.dtype);
  std::vector<std::int64_t> at(a.rank);
  while (true) {
    std::int64_t element = a.offset.constant, partition = on_chip ? a.partition.constant + at[0] : 0;
    for (int d = on_chip ? 1 : 0; d < a.rank; ++d) element += at[d] * a.dims[d].stride;
    for (std::int64_t b = 0; b < size; ++b) bytes.insert({partition, element * size + b});
    int d = a.rank - 1;
    while (d >= 0 && ++at[d] == a.dims[d].count) at[d--] = 0;
    if (d < 0) return bytes;
  }
}

class Boxes : public testing::Test {
 protected:
  std::mt19937 random{20261115};
  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  }
  Slice slice(std::int64_t size) {
    const std::int64_t step = pick(1, 3), start = pick(0, size - 1);
    return ds(start, pick(1, (size - start + step - 1) / step), step);
  }
};

TEST_F(Boxes, NeverMissAByteThatTwoAccessesShare) {
  SCOPED_TRACE("seed 20261115");
  int met = 0, apart_and_seen = 0, apart = 0;
  for (int round = 0; round < 2000; ++round) {
    Kernel k("boxes");
    const bool on_chip = round % 2;
    const View t = on_chip ? k.sbuf({pick(1, 6), pick(1, 5), pick(1, 7)}, DType::bfloat16)
                           : k.hbm({pick(1, 6), pick(1, 5), pick(1, 7)}, DType::bfloat16);
    const auto part = [&] {
      const std::int64_t first = pick(0, t.dim(0) - 1);
      const Slice rows = on_chip ? ds(first, pick(1, t.dim(0) - first)) : slice(t.dim(0));
      return t(rows, slice(t.dim(1)), slice(t.dim(2)));
    };
    // Some dimensions run backwards.
    const auto turned = [&](const View& v) {
      std::vector<Dim> pattern;
      std::int64_t offset = v.offset();
      for (int d = 0; d < v.rank(); ++d) {
        pattern.push_back({v.stride(d), v.dim(d)});
        if ((on_chip && d == 0) || pick(0, 2) > 0) continue;
        offset += (v.dim(d) - 1) * v.stride(d);
        pattern.back().stride = -v.stride(d);
      }
      return v.ap(pattern, offset);
    };
    const View x = turned(part()), y = turned(part());
    const auto box = [&](const View& v) {
      const Access& a = v.access();
      return BoxShape(k.program(), a, false).at(a.partition.constant, a.offset.constant * size_bytes(a.dtype));
    };
    const auto a = bytes_of(x.access(), on_chip), b = bytes_of(y.access(), on_chip);
    const bool meet = std::any_of(a.begin(), a.end(), [&](const auto& byte) { return b.count(byte) > 0; });
    if (meet) {
      EXPECT_TRUE(box(x).overlaps(box(y))) << "round " << round;
      EXPECT_TRUE(box(y).overlaps(box(x))) << "round " << round;
      ++met;
    } else {
      ++apart;
      apart_and_seen += !box(x).overlaps(box(y));
    }
  }
  EXPECT_GT(met, 100);
  EXPECT_GT(apart_and_seen, apart * 7 / 10);  // tiles that lie side by side are told apart
}

TEST_F(Boxes, TilesOfAMatrixAreApart) {
  Kernel k("tiles");
  const View m = k.hbm({256, 1024}, DType::float32);
  const auto box = [&](const View& v) {
    return BoxShape(k.program(), v.access(), false).at(0, v.access().offset.constant * 4);
  };
  const View left = m(ds(0, 128), ds(0, 512)), right = m(ds(0, 128), ds(512, 512)), low = m(ds(128, 128), ds(0, 512));
  EXPECT_FALSE(box(left).overlaps(box(right)));
  EXPECT_FALSE(box(left).overlaps(box(low)));
  EXPECT_TRUE(box(left).overlaps(box(m(ds(127, 2), ds(511, 2)))));
}

}  // namespace
}  // namespace kiln::analysis
