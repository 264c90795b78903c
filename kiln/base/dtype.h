// The dtypes of NKI and the exact meaning of converting between them.
//
// Contract: every value of a dtype of at most 16 bits is exactly a float32. Converting from float32 rounds to
// nearest, ties to even; integers then saturate (NaN gives 0); floats overflow to infinity where the format
// has one and to NaN where it has not (float8_e4m3fn); bool_ is 0 for zero and 1 otherwise; tfloat32 is a
// float32 whose low 13 mantissa bits are zero after a store, and a load uses all 32 bits. Subnormals are
// kept. Every NaN that a conversion makes is quiet and keeps sign and upper payload bits where the format has
// them; float32 to float32 keeps all bits.
//
// Two formats lack what these rules need; both follow ml_dtypes. float8_e8m0fnu holds powers of two only:
// zero, negative values and overflow give NaN (0xFF), a tie goes to the larger power, positive values up to
// 2^-127 give 2^-127, and all between 2^-127 and 1.5 * 2^-126 give 2^-126. The four-bit e2m1 has neither
// infinity nor NaN: it saturates at +-6, and NaN gives the zero of opposite sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kiln {

enum class DType : std::uint8_t {
#define KILN_DTYPE(name, ...) name,
#include "kiln/base/dtype.def"
#undef KILN_DTYPE
};

inline constexpr int kDTypeCount = 0
#define KILN_DTYPE(name, ...) +1
#include "kiln/base/dtype.def"
#undef KILN_DTYPE
    ;

enum class DTypeClass : std::uint8_t { boolean, unsigned_int, signed_int, floating, scale, packed };

struct DTypeInfo {
  std::string_view name;
  std::uint8_t size_bytes;
  std::uint8_t exponent_bits;
  std::uint8_t mantissa_bits;
  std::int16_t bias;
  DTypeClass cls;
  bool has_infinity;
};

inline constexpr DTypeInfo kDTypes[] = {
#define KILN_DTYPE(name, size, e, m, bias, cls, inf) {#name, size, e, m, bias, DTypeClass::cls, inf},
#include "kiln/base/dtype.def"
#undef KILN_DTYPE
};

constexpr const DTypeInfo& info(DType t) { return kDTypes[static_cast<int>(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr int size_bytes(DType t) { return info(t).size_bytes; }
constexpr bool is_integer(DType t) {
  return info(t).cls == DTypeClass::unsigned_int || info(t).cls == DTypeClass::signed_int;
}
constexpr bool is_float(DType t) { return info(t).cls == DTypeClass::floating; }
constexpr bool is_packed(DType t) { return info(t).cls == DTypeClass::packed; }

// Finds a dtype by its NKI name; false when there is none.
bool parse_dtype(std::string_view text, DType& out);

// One element, `bits` zero-extended to 32 bits. Packed dtypes have no value of their own: use `unpack`.
float to_float(DType t, std::uint32_t bits);
std::uint32_t from_float(DType t, float value);

// Exact integer value of an integer or bool_ element, and the element that holds `value` after saturation.
std::int64_t to_int(DType t, std::uint32_t bits);
std::uint32_t from_int(DType t, std::int64_t value);

// Sub-element q (0..3) of a packed element; 0 is the least significant byte or nibble. `pack` converts four
// floats.
float unpack(DType t, std::uint32_t bits, int q);
std::uint32_t pack(DType t, const float values[4]);

// Reads and writes the raw bits of element 0 at an address of any alignment.
std::uint32_t load_bits(DType t, const void* address);
void store_bits(DType t, std::uint32_t bits, void* address);

}  // namespace kiln
