#include "kiln/base/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kiln/base/error.h"

namespace kiln {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename Keep>
std::vector<DType> dtypes_where(Keep keep) {
  std::vector<DType> kept;
  for (int i = 0; i < kDTypeCount; ++i)
    if (keep(static_cast<DType>(i))) kept.push_back(static_cast<DType>(i));
  return kept;
}

bool any(DType) { return true; }
bool is_scalar(DType t) { return !is_packed(t) && t != DType::bool_; }
bool has_signalling_nan(DType t) { return is_float(t) && info(t).has_infinity && size_bytes(t) < 4; }

std::string param_name(const testing::TestParamInfo<DType>& p) { return std::string(name(p.param)); }

class EveryDType : public testing::TestWithParam<DType> {};
class ScalarDType : public testing::TestWithParam<DType> {};
class NaNDType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryDType, testing::ValuesIn(dtypes_where(any)), param_name);
INSTANTIATE_TEST_SUITE_P(Table, ScalarDType, testing::ValuesIn(dtypes_where(is_scalar)), param_name);
INSTANTIATE_TEST_SUITE_P(Table, NaNDType, testing::ValuesIn(dtypes_where(has_signalling_nan)), param_name);

TEST_P(EveryDType, NameParsesBack) {
  DType parsed{};
  ASSERT_TRUE(parse_dtype(name(GetParam()), parsed));
  EXPECT_EQ(parsed, GetParam());
  EXPECT_FALSE(parse_dtype(std::string(name(GetParam())) + " ", parsed));
}

// Every pattern up to 16 bits, and of wider dtypes a walk with an odd step that visits all low and high
// halves.
TEST_P(ScalarDType, EveryPatternComesBack) {
  const DType t = GetParam();
  const bool narrow = size_bytes(t) <= 2;
  const std::uint64_t end = std::uint64_t{1} << (8 * size_bytes(t));
  for (std::uint64_t pattern = 0; pattern < end; pattern += narrow ? 1 : 65521) {
    auto bits = static_cast<std::uint32_t>(pattern);
    if (t == DType::tfloat32) bits &= ~0x1fffu;
    if (is_integer(t)) {
      ASSERT_EQ(from_int(t, to_int(t, bits)), bits);
      if (!narrow) continue;  // a float does not hold every 32-bit integer
    }
    const float value = to_float(t, bits);
    const std::uint32_t back = from_float(t, value);
    if (std::isnan(value) && t != DType::float32) {
      ASSERT_TRUE(std::isnan(to_float(t, back))) << std::hex << bits;
      ASSERT_EQ(from_float(t, to_float(t, back)), back) << "a quiet NaN keeps its bits";
    } else {
      ASSERT_EQ(back, bits) << value;
    }
  }
}

TEST_P(EveryDType, BitsAtAnyAddress) {
  const DType t = GetParam();
  const std::uint32_t bits = 0x89abcdefu >> (32 - 8 * size_bytes(t));
  for (int offset = 0; offset < 4; ++offset) {
    std::array<unsigned char, 12> memory;
    memory.fill(0x55);
    store_bits(t, bits, memory.data() + offset);
    EXPECT_EQ(load_bits(t, memory.data() + offset), bits);
    for (int i = 0; i < 12; ++i) {
      const bool inside = i >= offset && i < offset + size_bytes(t);
      EXPECT_EQ(memory[i], inside ? bits >> (8 * (i - offset)) & 0xff : 0x55) << "byte " << i;
    }
  }
}

TEST_P(NaNDType, NaNsAreQuiet) {
  const DType t = GetParam();
  const std::uint32_t signalling = from_float(t, kInfinity) | 1;
  const float value = to_float(t, signalling);
  EXPECT_TRUE(std::isnan(value));
  EXPECT_NE(std::bit_cast<std::uint32_t>(value) & 0x00400000u, 0u);
  const std::uint32_t stored = from_float(t, std::bit_cast<float>(0xff800001u));
  EXPECT_TRUE(std::isnan(to_float(t, stored)));
  EXPECT_TRUE(std::signbit(to_float(t, stored)));
  EXPECT_NE(stored & 1u << (info(t).mantissa_bits - 1), 0u);
}

TEST(DType, UnknownNames) {
  DType t = DType::int16;
  for (const char* text : {"", "bool", "float64", "BFLOAT16", "float8"}) EXPECT_FALSE(parse_dtype(text, t)) << text;
  EXPECT_EQ(t, DType::int16);
}

// The worked vector of the instruction notes.
TEST(DType, FloatToNarrowInteger) {
  const float in[] = {0.5f, 1.5f, 2.5f, -1.5f, 300.7f, 127.5f};
  const int as_int8[] = {0, 2, 2, -2, 127, 127};
  const int as_uint8[] = {0, 2, 2, 0, 255, 128};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(to_int(DType::int8, from_float(DType::int8, in[i])), as_int8[i]) << in[i];
    EXPECT_EQ(to_int(DType::uint8, from_float(DType::uint8, in[i])), as_uint8[i]) << in[i];
  }
}

TEST(DType, IntegerLimits) {
  EXPECT_EQ(from_float(DType::int32, 0x1p31f), 0x7fffffffu);
  EXPECT_EQ(from_float(DType::int32, -kInfinity), 0x80000000u);
  EXPECT_EQ(from_float(DType::uint32, kInfinity), 0xffffffffu);
  EXPECT_EQ(from_float(DType::uint32, kNaN), 0u);
  EXPECT_EQ(from_int(DType::int8, -129), 0x80u);
  EXPECT_EQ(from_int(DType::uint16, std::numeric_limits<std::int64_t>::max()), 0xffffu);
  EXPECT_EQ(to_float(DType::uint32, 0x01000001u), 0x1p24f);
  EXPECT_EQ(to_float(DType::int32, 0xfefffffdu), -0x1.000004p24f) << "-(2^24 + 3), a tie, goes to the even neighbour";
}

TEST(DType, BoolIsNonzero) {
  for (float x : {1.0f, -0.25f, 0x1p-149f, kInfinity, kNaN}) EXPECT_EQ(from_float(DType::bool_, x), 1u) << x;
  for (float x : {0.0f, -0.0f}) EXPECT_EQ(from_float(DType::bool_, x), 0u);
  EXPECT_EQ(from_int(DType::bool_, std::int64_t{1} << 40), 1u);
  EXPECT_EQ(to_float(DType::bool_, 2), 1.0f);
  EXPECT_EQ(to_int(DType::bool_, 0), 0);
}

// Limits of the table in the instruction notes: largest finite value, and what lies beyond.
TEST(DType, FloatLimits) {
  struct Limit {
    DType t;
    float max, min_subnormal;
  };
  const Limit limits[] = {{DType::float8_e4m3, 240, 0x1p-9f},        {DType::float8_e4m3fn, 448, 0x1p-9f},
                          {DType::float8_e5m2, 57344, 0x1p-16f},     {DType::float8_e3m4, 15.5f, 0x1p-6f},
                          {DType::float16, 65504, 0x1p-24f},         {DType::bfloat16, 0x1.fep127f, 0x1p-133f},
                          {DType::tfloat32, 0x1.ffcp127f, 0x1p-136f}};
  for (const auto& [t, max, min_subnormal] : limits) {
    const auto store_load = [t = t](float x) { return to_float(t, from_float(t, x)); };
    EXPECT_EQ(store_load(max), max) << name(t);
    EXPECT_EQ(store_load(-min_subnormal), -min_subnormal) << name(t);
    EXPECT_EQ(store_load(min_subnormal / 2), 0.0f) << name(t);
    EXPECT_EQ(std::signbit(store_load(-min_subnormal / 4)), true) << name(t);
    const float beyond = store_load(-std::numeric_limits<float>::max());
    EXPECT_TRUE(info(t).has_infinity ? beyond == -kInfinity : std::isnan(beyond)) << name(t);
  }
}

TEST(DType, TFloat32LoadsAllBits) {
  EXPECT_EQ(to_float(DType::tfloat32, 0x3f800001u), 0x1.000002p0f);
  EXPECT_EQ(from_float(DType::tfloat32, 0x1.002p0f), 0x3f800000u) << "a tie goes to even";
  EXPECT_EQ(from_float(DType::tfloat32, 0x1.006p0f), 0x3f804000u) << "a tie goes to even";
}

// 2^54 + 2^30 + 1 is just above a tie of float32; a detour through double would lose the 1.
TEST(DType, IntegerRoundsOnce) {
  const std::int64_t above_tie = (std::int64_t{1} << 54) + (std::int64_t{1} << 30) + 1;
  EXPECT_EQ(to_float(DType::float32, from_int(DType::float32, above_tie)), 0x1.000002p54f);
  EXPECT_EQ(to_float(DType::float32, from_int(DType::float32, -(above_tie - 1))), -0x1p54f);
  const std::int64_t above_tie16 = (1 << 30) + (1 << 22) + 1;
  EXPECT_EQ(to_float(DType::bfloat16, from_int(DType::bfloat16, above_tie16)), 0x1.02p30f);
  EXPECT_EQ(from_int(DType::float16, std::numeric_limits<std::int64_t>::min()), 0xfc00u);
}

TEST(DType, ScaleIsPowerOfTwo) {
  EXPECT_EQ(to_float(DType::float8_e8m0fnu, 127), 1.0f);
  EXPECT_EQ(to_float(DType::float8_e8m0fnu, 0), 0x1p-127f);
  EXPECT_EQ(from_float(DType::float8_e8m0fnu, 3.0f), 129u);
  for (float x : {0.0f, -1.0f, kInfinity, -kInfinity, kNaN, 0x1.8p127f})
    EXPECT_EQ(from_float(DType::float8_e8m0fnu, x), 0xffu) << x;
}

TEST(DType, PackPutsElementZeroLowest) {
  const float values[4] = {1.0f, -2.0f, 0.5f, 6.0f};
  EXPECT_EQ(pack(DType::float8_e4m3fn_x4, values), 0x4c30c038u);
  EXPECT_EQ(pack(DType::float8_e5m2_x4, values), 0x4638c03cu);
  EXPECT_EQ(pack(DType::float4_e2m1fn_x4, values), 0x71c2u);
  for (DType t : dtypes_where(is_packed))
    for (int q = 0; q < 4; ++q) EXPECT_EQ(unpack(t, pack(t, values), q), values[q]) << name(t);
}

TEST(DType, FourBitCodes) {
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::uint32_t code = 0; code < 16; ++code) {
    const float value = unpack(DType::float4_e2m1fn_x4, code << 8, 2);
    EXPECT_EQ(value, code < 8 ? values[code] : -values[code - 8]);
    EXPECT_EQ(std::signbit(value), code >= 8);
  }
  const float beyond[4] = {7.0f, -kInfinity, 1e30f, kNaN};
  EXPECT_EQ(pack(DType::float4_e2m1fn_x4, beyond), 0x87f7u);
}

TEST(DType, WrongUseIsInternalError) {
  const float values[4] = {};
  EXPECT_THROW(to_float(DType::float8_e5m2_x4, 0), Error);
  EXPECT_THROW(from_float(DType::float8_e5m2_x4, 0), Error);
  EXPECT_THROW(to_int(DType::float16, 0), Error);
  EXPECT_THROW(pack(DType::float16, values), Error);
  EXPECT_THROW(unpack(DType::float4_e2m1fn_x4, 0, 4), Error);
}

}  // namespace
}  // namespace kiln
