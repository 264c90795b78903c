// The fast row kernels against the plain ones, bit for bit, on every vector width that this CPU has.
#include "kiln/num/kernels.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kiln/base/error.h"
#include "tests/num/each_target.h"
#include "tests/num/random_rows.h"

namespace kiln {
namespace {

using test::RandomRows;

constexpr std::ptrdiff_t kStrides[] = {1, -3, 0, 2, 4, 7};

std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all = {127, 511, 513, 1031};
  for (std::size_t n = 0; n <= 70; ++n) all.push_back(n);
  return all;
}

std::vector<DType> single_dtypes() {
  std::vector<DType> all;
  for (int t = 0; t < kDTypeCount; ++t)
    if (!is_packed(static_cast<DType>(t))) all.push_back(static_cast<DType>(t));
  return all;
}

std::vector<AluOp> ops(bool (*wanted)(AluOp)) {
  std::vector<AluOp> all;
  for (int op = 0; op < kAluOpCount; ++op)
    if (wanted(static_cast<AluOp>(op))) all.push_back(static_cast<AluOp>(op));
  return all;
}
bool is_float_op(AluOp op) { return !is_bitvec(op) && op != AluOp::average; }
bool is_bits_op(AluOp op) { return is_bitvec(op) || op == AluOp::bypass; }
bool is_int_op(AluOp op) { return (op >= AluOp::add && op <= AluOp::minimum) || is_comparison(op); }
bool is_fold_op(AluOp op) { return info(op).cls == AluClass::arith && op != AluOp::average; }

// Arithmetic results: any NaN equals any NaN.
::testing::AssertionResult same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = std::bit_cast<std::uint32_t>(a[i]), y = std::bit_cast<std::uint32_t>(b[i]);
    if (x != y && !(std::isnan(a[i]) && std::isnan(b[i])))
      return ::testing::AssertionFailure() << "element " << i << std::hex << ": plain 0x" << x << " fast 0x" << y;
  }
  return ::testing::AssertionSuccess();
}
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// A byte buffer for n elements `stride` apart, with room on both sides; `first` is one byte off every
// alignment.
struct Strided {
  Strided(int size, std::ptrdiff_t stride, std::size_t n)
      : reach(static_cast<std::ptrdiff_t>(n) * std::abs(stride) * size + 64), bytes(2 * reach + 1) {}
  std::uint8_t* first() { return bytes.data() + reach + 1; }
  std::ptrdiff_t reach;
  std::vector<std::uint8_t> bytes;
};

class FastKernels : public test::EachTarget {
 protected:
  const Kernels& plain = plain_kernels();
  const Kernels& fast = fast_kernels();
  RandomRows rng{static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Targets, FastKernels, testing::ValuesIn(test::targets_of_this_cpu()), test::target_name);

TEST_P(FastKernels, Load) {
  for (DType t : single_dtypes())
    for (std::ptrdiff_t stride : kStrides)
      for (std::size_t n : lengths()) {
        Strided src(size_bytes(t), stride, n);
        src.bytes = rng.bytes(src.bytes.size());
        std::vector<float> a(n + 1, 7.0f), b(n + 1, 7.0f);
        plain.load(t, src.first(), stride, n, a.data());
        fast.load(t, src.first(), stride, n, b.data());
        ASSERT_TRUE(same_bits(a, b)) << name(t) << " stride " << stride << " n " << n;
      }
}

TEST_P(FastKernels, LoadEveryShortCode) {
  for (DType t : single_dtypes()) {
    if (size_bytes(t) > 2) continue;
    const std::size_t count = std::size_t{1} << (8 * size_bytes(t));
    std::vector<std::uint8_t> codes(count * size_bytes(t));
    for (std::uint32_t i = 0; i < count; ++i) store_bits(t, i, codes.data() + i * size_bytes(t));
    std::vector<float> a(count), b(count);
    plain.load(t, codes.data(), 1, count, a.data());
    fast.load(t, codes.data(), 1, count, b.data());
    ASSERT_TRUE(same_bits(a, b)) << name(t);
  }
}

TEST_P(FastKernels, Store) {
  for (DType t : single_dtypes())
    for (std::ptrdiff_t stride : kStrides)
      for (std::size_t n : lengths()) {
        const std::vector<float> src = rng.floats(n);
        Strided a(size_bytes(t), stride, n), b(size_bytes(t), stride, n);
        plain.store(t, src.data(), n, a.first(), stride);
        fast.store(t, src.data(), n, b.first(), stride);
        ASSERT_EQ(a.bytes, b.bytes) << name(t) << " stride " << stride << " n " << n;
      }
}

// Every value of every short float, the midpoint to the next one, and the float32 on each side of both.
TEST_P(FastKernels, StoreAroundEveryTie) {
  std::vector<float> src;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t low :
         {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      src.push_back(std::bit_cast<float>(high << 16 | low));
  const std::vector<float> more = rng.floats(200000);
  src.insert(src.end(), more.begin(), more.end());
  for (DType t : single_dtypes()) {
    std::vector<std::uint8_t> a(src.size() * size_bytes(t)), b(a.size());
    plain.store(t, src.data(), src.size(), a.data(), 1);
    fast.store(t, src.data(), src.size(), b.data(), 1);
    for (std::size_t i = 0; i < src.size(); ++i) {
      const auto x = load_bits(t, &a[i * size_bytes(t)]), y = load_bits(t, &b[i * size_bytes(t)]);
      ASSERT_EQ(x, y) << name(t) << " of " << std::hexfloat << src[i];
    }
  }
}

TEST_P(FastKernels, Bits) {
  for (int size : {1, 2, 4})
    for (std::ptrdiff_t stride : kStrides)
      for (std::size_t n : lengths()) {
        Strided src(size, stride, n);
        src.bytes = rng.bytes(src.bytes.size());
        std::vector<std::uint32_t> a(n + 1, 7), b(n + 1, 7);
        plain.load_bits(size, src.first(), stride, n, a.data());
        fast.load_bits(size, src.first(), stride, n, b.data());
        ASSERT_EQ(a, b) << size << " stride " << stride << " n " << n;
        const auto words = rng.words(n);
        Strided to_a(size, stride, n), to_b(size, stride, n);
        plain.store_bits(size, words.data(), n, to_a.first(), stride);
        fast.store_bits(size, words.data(), n, to_b.first(), stride);
        ASSERT_EQ(to_a.bytes, to_b.bytes) << size << " stride " << stride << " n " << n;
      }
}

// Runs that come together, of elements anywhere: few and many runs, long and short steps, backwards, too.
TEST_P(FastKernels, Interleave) {
  constexpr std::size_t kRows = 3;
  for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 24u})
    for (const std::size_t n : {0u, 1u, 7u, 16u, 33u, 100u})
      for (const std::ptrdiff_t step : {1, 2, 4, 5, 16, -2, 0})
        for (const std::ptrdiff_t between : {std::ptrdiff_t{1}, std::ptrdiff_t{-1}, std::ptrdiff_t{300}}) {
          const std::size_t reach = 24 * 300 + 100 * 16;
          const auto words = rng.words(2 * reach + kRows * 11);
          const Interleaved from{words.data() + reach, 11, between, step, kRows, count, n};
          const std::size_t width = count * n;
          std::vector<std::uint32_t> a(kRows * (width + 3), 7u), b = a;
          plain.interleave(from, a.data(), static_cast<std::ptrdiff_t>(width + 3));
          fast.interleave(from, b.data(), static_cast<std::ptrdiff_t>(width + 3));
          ASSERT_EQ(a, b) << count << " runs of " << n << ", steps " << step << " and " << between;
          for (std::size_t i = 0; i < width; ++i)
            ASSERT_EQ(a[2 * (width + 3) + i], words[reach + 22 + i / count * static_cast<std::size_t>(step) +
                                                    i % count * static_cast<std::size_t>(between)]);
        }
}

TEST_P(FastKernels, FloatOperators) {
  for (AluOp op : ops(is_float_op))
    for (std::size_t n : lengths()) {
      const std::vector<float> x = rng.floats(n + 1), y = rng.floats(n + 1);
      const float s = rng.value();
      std::vector<float> a(n + 2, 7.0f), b(n + 2, 7.0f);
      plain.alu_vv(op, x.data() + 1, y.data() + 1, a.data() + 1, n);
      fast.alu_vv(op, x.data() + 1, y.data() + 1, b.data() + 1, n);
      ASSERT_TRUE(same(a, b)) << name(op) << " n " << n;
      plain.alu_vs(op, x.data() + 1, s, a.data() + 1, n);
      fast.alu_vs(op, x.data() + 1, s, b.data() + 1, n);
      ASSERT_TRUE(same(a, b)) << name(op) << " n " << n << " y " << s;
      plain.alu_sv(op, s, y.data() + 1, a.data() + 1, n);
      fast.alu_sv(op, s, y.data() + 1, b.data() + 1, n);
      ASSERT_TRUE(same(a, b)) << name(op) << " n " << n << " x " << s;
    }
}

// Rows that lie apart, next to each other, or are all the same one; some of one element each.
TEST_P(FastKernels, FloatOperatorsOnRows) {
  constexpr std::size_t kRows = 5;
  for (AluOp op : ops(is_float_op))
    for (std::size_t n : {1u, 7u, 16u, 33u}) {
      const auto width = static_cast<std::ptrdiff_t>(n);
      const std::vector<float> x = rng.floats(kRows * (n + 3)), y = rng.floats(kRows * (n + 3));
      for (std::ptrdiff_t step : {std::ptrdiff_t{0}, width, width + 3})
        for (int ones = 0; ones < 4; ++ones) {
          const FloatRows left{x.data(), step, ones % 2 == 1}, right{y.data(), width + 3 - step, ones / 2 == 1};
          std::vector<float> a(kRows * (n + 2), 7.0f), b = a;
          const std::uint32_t told = plain.alu_rows(op, left, right, a.data(), width + 2, kRows, n);
          ASSERT_EQ(fast.alu_rows(op, left, right, b.data(), width + 2, kRows, n) > 0x7f800000, told > 0x7f800000);
          ASSERT_TRUE(same(a, b)) << name(op) << " n " << n << " step " << step << " ones " << ones;
          for (std::size_t row = 0; row < kRows && ones == 0; ++row) {
            const auto r = static_cast<std::ptrdiff_t>(row);
            std::vector<float> wanted(n);
            plain.alu_vv(op, left.data + r * left.step, right.data + r * right.step, wanted.data(), n);
            const float* got = a.data() + r * (width + 2);
            ASSERT_TRUE(same(wanted, {got, got + n})) << name(op) << " n " << n << " row " << row;
          }
        }
    }
}

// Pairs whose numbers stay, change places or count twice; first numbers alone, beside which nothing is written.
TEST_P(FastKernels, FloatOperatorsOnPairs) {
  constexpr std::size_t kRows = 3;
  const auto is_binary = [](AluOp op) { return info(op).cls == AluClass::arith && op != AluOp::average; };
  for (AluOp op : ops(is_binary))
    for (std::size_t n : {0u, 1u, 3u, 4u, 7u, 8u, 16u, 21u}) {
      const auto width = static_cast<std::ptrdiff_t>(2 * n + 2);
      const std::vector<float> x = rng.floats(kRows * (2 * n + 2)), y = rng.floats(kRows * (2 * n + 2));
      for (int kind = 0; kind < 18; ++kind) {
        const int of_a = kind % 3 - 1, of_b = kind / 3 % 3 - 1;
        const bool first_only = kind >= 9;
        const FloatPairs left{x.data() + 1, width, of_a}, right{y.data() + 1, n % 2 ? width : 0, of_b};
        std::vector<float> a(kRows * (2 * n + 2), 7.0f), b = a;
        const std::uint32_t told = plain.alu_pairs(op, left, right, a.data(), width, kRows, n, first_only);
        const std::uint32_t told_too = fast.alu_pairs(op, left, right, b.data(), width, kRows, n, first_only);
        ASSERT_TRUE(same(a, b)) << name(op) << " n " << n << " kind " << kind;
        ASSERT_TRUE(told == told_too || std::min(told, told_too) > 0x7f800000) << name(op) << " n " << n;
        for (std::size_t i = 0; i < kRows * n; ++i) {
          const auto row = static_cast<std::ptrdiff_t>(i / n), pair = static_cast<std::ptrdiff_t>(2 * (i % n));
          const float *first = left.data + row * left.step + pair, *second = right.data + row * right.step + pair;
          float wanted[2] = {0, 7.0f};
          plain.alu_vv(op, first, second, wanted, 1);
          if (!first_only) plain.alu_vv(op, first + of_a, second + of_b, wanted + 1, 1);
          const float* got = a.data() + row * width + pair;
          ASSERT_TRUE(same({wanted, wanted + 2}, {got, got + 2})) << name(op) << " n " << n << " kind " << kind;
        }
      }
    }
}

// Each tells the largest magnitude of what it wrote, however its values became what they are.
TEST_P(FastKernels, FloatOperatorsTellTheLargest) {
  for (AluOp op : ops(is_float_op))
    for (std::size_t n : lengths()) {
      const std::vector<float> x = rng.floats(n), y = rng.floats(n);
      const float s = rng.value();
      for (const Kernels* k : {&plain, &fast}) {
        std::vector<float> out(n);
        const auto is_largest = [&](std::uint32_t told) { return told == plain.largest(4, out.data(), 1, n); };
        ASSERT_TRUE(is_largest(k->alu_vv(op, x.data(), y.data(), out.data(), n))) << name(op) << " n " << n;
        ASSERT_TRUE(is_largest(k->alu_vs(op, x.data(), s, out.data(), n))) << name(op) << " n " << n << " y " << s;
        ASSERT_TRUE(is_largest(k->alu_sv(op, s, y.data(), out.data(), n))) << name(op) << " n " << n << " x " << s;
        const FloatRows left{x.data(), 0, false}, right{y.data(), 1, true};
        ASSERT_TRUE(is_largest(k->alu_rows(op, left, right, out.data(), 0, n > 0, n))) << name(op) << " n " << n;
      }
    }
}

// Rows of bfloat16: all kinds of operands, and results over one of them. NaNs are quiet, and any equals any.
TEST_P(FastKernels, FloatOperatorsOnBfloat16) {
  RandomRows random(21);
  const auto row = [&](std::size_t n) {
    std::vector<std::uint16_t> all(n);
    for (auto& x : all) x = static_cast<std::uint16_t>(random.below(4) ? random.word() : random.word() & 0x80ffu);
    return all;
  };
  const auto is_nan = [](std::uint16_t x) { return (x & 0x7fffu) >= 0x7fc0u; };  // a quiet one
  const auto same = [&](std::uint16_t a, std::uint16_t b) { return a == b || (is_nan(a) && is_nan(b)); };
  for (const AluOp op : ops(is_float_op))
    for (const std::size_t n : lengths()) {
      const auto x = row(n), y = row(n);
      const float number = random.special();
      const Bfloat16Row left[] = {{x.data()}, {x.data()}, {nullptr, number}},
                        right[] = {{y.data()}, {nullptr, number}, {y.data()}};
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<std::uint16_t> wanted(n), got(n), over = kind == 1 ? x : y;
        const Bfloat16Row in_place{over.data()};
        plain.alu_bfloat16(op, left[kind], right[kind], wanted.data(), n);
        const std::uint32_t told = fast.alu_bfloat16(op, left[kind], right[kind], got.data(), n);
        kind == 1 ? fast.alu_bfloat16(op, in_place, right[kind], over.data(), n)
                  : fast.alu_bfloat16(op, left[kind], in_place, over.data(), n);
        ASSERT_EQ(told, plain.largest(2, got.data(), 1, n)) << name(op) << " n " << n;
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_TRUE(same(got[i], wanted[i]) && same(over[i], wanted[i]))
              << name(op) << " n " << n << " kind " << kind << " element " << i;
      }
    }
}

TEST_P(FastKernels, FloatOperatorsOnEveryPairOfSpecials) {
  std::vector<float> x, y;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(rng.special());
    y.push_back(rng.special());
  }
  for (AluOp op : ops(is_float_op)) {
    std::vector<float> a(x.size()), b(x.size());
    plain.alu_vv(op, x.data(), y.data(), a.data(), x.size());
    fast.alu_vv(op, x.data(), y.data(), b.data(), x.size());
    ASSERT_TRUE(same(a, b)) << name(op);
  }
}

TEST_P(FastKernels, OperatorsInPlace) {
  for (AluOp op : ops(is_float_op)) {
    const std::vector<float> x = rng.floats(133), y = rng.floats(133);
    std::vector<float> expected(133), over_x = x, over_y = y;
    plain.alu_vv(op, x.data(), y.data(), expected.data(), 133);
    fast.alu_vv(op, over_x.data(), y.data(), over_x.data(), 133);
    fast.alu_vv(op, x.data(), over_y.data(), over_y.data(), 133);
    ASSERT_TRUE(same(expected, over_x) && same(expected, over_y)) << name(op);
  }
}

TEST_P(FastKernels, UnaryOperatorsDoNotReadTheOtherOperand) {
  const std::vector<float> x = rng.floats(40);
  for (AluOp op : ops([](AluOp op) { return info(op).cls == AluClass::unary; })) {
    std::vector<float> a(40), b(40);
    plain.alu_vv(op, x.data(), nullptr, a.data(), 40);
    fast.alu_vv(op, x.data(), nullptr, b.data(), 40);
    ASSERT_TRUE(same(a, b)) << name(op);
  }
}

TEST_P(FastKernels, BypassKeepsEveryBit) {
  const std::vector<float> x = rng.floats(1000);
  std::vector<float> out(1000);
  fast.alu_vv(AluOp::bypass, x.data(), nullptr, out.data(), 1000);
  EXPECT_TRUE(same_bits(x, out));
}

TEST_P(FastKernels, BitOperators) {
  for (AluOp op : ops(is_bits_op))
    for (int width : {8, 16, 32})
      for (std::size_t n : lengths()) {
        const auto x = rng.words(n, width), y = rng.words(n, width);
        const auto s = rng.words(1, width)[0];
        std::vector<std::uint32_t> a(n + 1, 7), b(n + 1, 7);
        plain.bits_vv(op, width, x.data(), y.data(), a.data(), n);
        fast.bits_vv(op, width, x.data(), y.data(), b.data(), n);
        ASSERT_EQ(a, b) << name(op) << " width " << width << " n " << n;
        for (bool swapped : {false, true}) {
          plain.bits_vs(op, width, x.data(), s, swapped, a.data(), n);
          fast.bits_vs(op, width, x.data(), s, swapped, b.data(), n);
          ASSERT_EQ(a, b) << name(op) << " width " << width << " n " << n << " scalar " << s << " swapped " << swapped;
        }
      }
}

TEST_P(FastKernels, IntegerOperators) {
  for (AluOp op : ops(is_int_op))
    for (bool is_signed : {false, true})
      for (std::size_t n : lengths()) {
        auto x = rng.words(n), y = rng.words(n);
        for (std::size_t i = 0; i < n; i += 5) y[i] = x[i];
        std::vector<std::uint32_t> a(n + 1, 7), b(n + 1, 7);
        plain.int_vv(op, is_signed, x.data(), y.data(), a.data(), n);
        fast.int_vv(op, is_signed, x.data(), y.data(), b.data(), n);
        ASSERT_EQ(a, b) << name(op) << " signed " << is_signed << " n " << n;
      }
}

TEST_P(FastKernels, Folds) {
  for (AluOp op : ops(is_fold_op))
    for (std::size_t rows : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33})
      for (std::size_t n : lengths())
        for (std::ptrdiff_t gap : {0, 5}) {
          const std::size_t stride = n + gap;
          const bool tame = rng.below(4) != 0;
          const auto x = tame ? rng.tame_floats(rows * stride + 1) : rng.floats(rows * stride + 1);
          std::vector<float> a = tame ? rng.tame_floats(rows + 1) : rng.floats(rows + 1), b = a;
          plain.fold_rows(op, x.data() + 1, stride, rows, n, a.data());
          fast.fold_rows(op, x.data() + 1, stride, rows, n, b.data());
          ASSERT_TRUE(same(a, b)) << name(op) << " rows " << rows << " n " << n << " stride " << stride;
        }
}

TEST_P(FastKernels, FoldsOfOddRows) {
  const auto x = rng.tame_floats(40 * 1000);
  for (AluOp op : ops(is_fold_op))
    for (std::ptrdiff_t stride : {-1000, 0, 1, 3}) {
      std::vector<float> a = rng.tame_floats(37), b = a;
      plain.fold_rows(op, x.data() + 38 * 1000, stride, 37, 777, a.data());
      fast.fold_rows(op, x.data() + 38 * 1000, stride, 37, 777, b.data());
      ASSERT_TRUE(same(a, b)) << name(op) << " stride " << stride;
    }
}

// Into rows of their own, over x and over y; x repeats one row where its stride is 0.
TEST_P(FastKernels, LinearScans) {
  for (std::size_t rows : {0, 1, 7, 8, 13, 32, 37, 128})
    for (std::size_t n : {0, 1, 7, 8, 9, 64, 131})
      for (int where : {0, 1, 2}) {
        const auto stride = static_cast<std::ptrdiff_t>(n + rng.below(5));
        const std::ptrdiff_t x_stride = where != 1 && rng.below(3) == 0 ? 0 : stride;
        const auto run = [&](const Kernels& k, std::vector<float> x, std::vector<float> y, std::vector<float> state) {
          std::vector<float> apart(y.size());
          std::vector<float>& out = where == 0 ? apart : where == 1 ? x : y;
          k.linear_scan(x.data() + 1, x_stride, y.data() + 1, stride, out.data() + 1, stride, rows, n, state.data());
          out.insert(out.end(), state.begin(), state.end());
          return out;
        };
        const std::size_t size = rows * stride + n + 1;
        const bool wild = rng.below(2);
        const auto x = wild ? rng.floats(size) : rng.tame_floats(size),
                   y = wild ? rng.floats(size) : rng.tame_floats(size);
        const auto state = rng.tame_floats(rows);
        ASSERT_TRUE(same(run(plain, x, y, state), run(fast, x, y, state)))
            << rows << " x " << n << ", strides " << x_stride << " and " << stride << ", out " << where;
      }
}

TEST_P(FastKernels, Transposes) {
  const std::size_t sides[] = {0, 1, 3, 4, 8, 15, 16, 17, 31, 32, 64, 65, 130};
  for (int size : {1, 2, 4})
    for (std::size_t rows : sides)
      for (std::size_t cols : sides) {
        const std::size_t src_stride = cols + rng.below(4), dst_stride = rows + rng.below(4);
        const auto src = rng.bytes(rows * src_stride * size + 1);
        std::vector<std::uint8_t> a(cols * dst_stride * size + 1), b(a.size());
        plain.transpose(size, src.data() + 1, src_stride, a.data() + 1, dst_stride, rows, cols);
        fast.transpose(size, src.data() + 1, src_stride, b.data() + 1, dst_stride, rows, cols);
        ASSERT_EQ(a, b) << size << " bytes, " << rows << " x " << cols;
      }
}

// Among them many zeros of both signs, and some NaN.
TEST_P(FastKernels, TransposesNumbers) {
  const std::size_t sides[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33, 65};
  for (int size : {2, 4})
    for (std::size_t rows : sides)
      for (std::size_t cols : sides) {
        const std::size_t src_stride = cols + rng.below(2), dst_stride = rows + rng.below(2);
        auto src = rng.bytes(rows * src_stride * size + 1);
        for (std::size_t i = 1; i + size <= src.size(); i += size) {
          if (rng.below(3)) continue;
          std::fill_n(src.begin() + static_cast<std::ptrdiff_t>(i), size, std::uint8_t{0});
          src[i + size - 1] = rng.below(2) ? 0x80 : 0;
        }
        std::vector<std::uint8_t> a(cols * dst_stride * size + 1), b(a.size());
        const auto turned = [&](const Kernels& k, std::vector<std::uint8_t>& to) {
          return k.transpose_numbers(size, src.data() + 1, src_stride, to.data() + 1, dst_stride, rows, cols);
        };
        ASSERT_EQ(turned(plain, a), turned(fast, b)) << size << " bytes, " << rows << " x " << cols;
        ASSERT_EQ(a, b) << size << " bytes, " << rows << " x " << cols;
      }
}

TEST_P(FastKernels, Largest) {
  for (int size : {1, 2, 4})
    for (std::size_t n : {0, 1, 7, 31, 32, 33, 255, 256, 1000, 4099})
      for (std::ptrdiff_t stride : {1, 1, 2, 5}) {
        auto bytes = rng.bytes((n * stride + 1) * size);
        for (auto& b : bytes) b &= 0x5f;  // the largest stands out
        if (n) bytes[rng.below(static_cast<std::uint32_t>(n)) * stride * size + size - 1] = 0xfe;
        std::uint32_t wanted = 0;
        for (std::size_t i = 0; i < n; ++i) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, bytes.data() + i * stride * size, size);
          wanted = std::max(wanted, bits & ~(1u << (8 * size - 1)));
        }
        ASSERT_EQ(plain.largest(size, bytes.data(), stride, n), wanted) << size << " bytes, " << n;
        ASSERT_EQ(fast.largest(size, bytes.data(), stride, n), wanted) << size << " bytes, " << n;
      }
}

// The middle between two floats, both exactly and by a little, and what has no logarithm.
TEST_P(FastKernels, Powers) {
  std::vector<float> x = rng.floats(4000), y = rng.tame_floats(4000);
  for (std::size_t i = 0; i < 4000; i += 2) {
    const float tame = rng.tame_floats(1)[0];
    const float bases[] = {4097.0f, 1.0f + 0x1p-12f, -3.0f, 0.0f, -0.0f, 1.0f, 0x1p-149f, 0x1p-127f, INFINITY, NAN};
    const float exponents[] = {2.0f, 3.0f, 0.5f, -1.0f, 0.0f, -0.0f, 7.0f, 0x1p30f, INFINITY, -INFINITY, NAN, 1.5f};
    x[i] = rng.below(3) ? tame : bases[rng.below(10)];
    y[i] = rng.below(3) ? y[i] : exponents[rng.below(12)];
  }
  for (std::size_t n : {std::size_t{4000}, std::size_t{4}, std::size_t{15}, std::size_t{17}}) {
    std::vector<float> a(n), b(n);
    plain.alu_vv(AluOp::power, x.data(), y.data(), a.data(), n);
    fast.alu_vv(AluOp::power, x.data(), y.data(), b.data(), n);
    ASSERT_TRUE(same(a, b)) << n;
    for (const float number : {2.0f, 3.0f, -0.5f, 0.0f}) {
      plain.alu_vs(AluOp::power, x.data(), number, a.data(), n);
      fast.alu_vs(AluOp::power, x.data(), number, b.data(), n);
      ASSERT_TRUE(same(a, b)) << "to the power " << number;
      plain.alu_sv(AluOp::power, number, y.data(), a.data(), n);
      fast.alu_sv(AluOp::power, number, y.data(), b.data(), n);
      ASSERT_TRUE(same(a, b)) << number << " to the power";
    }
  }
}

// Where one element differs from what is asked of all of them.
TEST_P(FastKernels, StaysWithin) {
  for (std::size_t n : lengths())
    for (bool magnitude : {false, true})
      for (const float wrong : {1.0f, 0.24f, 4.1f, -1.0f, NAN, INFINITY}) {
        std::vector<float> x(n, 1.0f);
        if (n) x[rng.below(static_cast<std::uint32_t>(n))] = wrong;
        const auto ask = [&](const Kernels& k) {
          return k.stays_within(1.5f, 4.5f, magnitude, x.data(), 2.0f, 0.5f, n);
        };
        const float scaled = wrong * 2.0f + 0.5f, value = magnitude ? std::abs(scaled) : scaled;
        const bool wanted = n == 0 || (value >= 1.5f && value <= 4.5f);
        ASSERT_EQ(ask(plain), wanted) << n << " with " << wrong;
        ASSERT_EQ(ask(fast), wanted) << n << " with " << wrong;
      }
}

TEST_P(FastKernels, Convert) {
  for (DType from : single_dtypes())
    for (DType to : single_dtypes())
      for (std::size_t n : {0, 1, 15, 16, 33, 1031}) {
        const auto src = rng.bytes(n * size_bytes(from) + 1);
        std::vector<std::uint8_t> a(n * size_bytes(to) + 1), b(a.size());
        plain.convert(from, src.data() + 1, to, n, a.data() + 1);
        fast.convert(from, src.data() + 1, to, n, b.data() + 1);
        ASSERT_EQ(a, b) << name(from) << " to " << name(to) << ", " << n;
      }
}

TEST_P(FastKernels, NarrowArithmetic) {
  for (DType t : {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::float16, DType::float8_e4m3,
                  DType::float8_e4m3fn, DType::float8_e5m2})
    for (AluOp op : ops(is_float_op))
      for (std::size_t n : {0, 1, 2, 5, 15, 33, 64, 1031}) {  // few: without a NaN
        const auto x = rng.bytes(n * size_bytes(t) + 1), y = rng.bytes(x.size());
        std::vector<std::uint8_t> a(x.size()), b = y;  // the fast one writes over an operand
        plain.alu_narrow(op, t, x.data() + 1, y.data() + 1, a.data() + 1, n);
        fast.alu_narrow(op, t, x.data() + 1, b.data() + 1, b.data() + 1, n);
        std::vector<float> wanted(n), got(n);
        plain.load(t, a.data() + 1, 1, n, wanted.data());
        plain.load(t, b.data() + 1, 1, n, got.data());
        ASSERT_TRUE(same(wanted, got)) << name(op) << " of " << name(t) << ", " << n;
      }
}

TEST_P(FastKernels, RefuseOperatorsOfAnotherKind) {
  float f[4] = {};
  std::uint32_t w[4] = {};
  for (const Kernels* table : {&plain, &fast}) {
    EXPECT_THROW(table->alu_vv(AluOp::average, f, f, f, 4), Error);
    EXPECT_THROW(table->alu_vs(AluOp::bitwise_and, f, 0, f, 4), Error);
    EXPECT_THROW(table->bits_vv(AluOp::add, 32, w, w, w, 4), Error);
    EXPECT_THROW(table->int_vv(AluOp::power, true, w, w, w, 4), Error);
    EXPECT_THROW(table->fold_rows(AluOp::left_shift, f, 2, 2, 2, f), Error);
  }
}

}  // namespace
}  // namespace kiln
