// Minimax polynomials behind the activation functions, constant term first. Each comment names the function,
// the interval and the largest relative error after the coefficients were rounded to double.
#pragma once

#include <cstdint>

namespace kiln {

// (e^r - 1) / r, |r| <= ln 2 / 16, 2^-44.5; e^r itself, 1 + r times this, 2^-49.0
inline constexpr double kExpm1[] = {
    0x1.00000000000b9p+0, 0x1.ffffffffffaf0p-2, 0x1.55555547ccc68p-3,
    0x1.555555651f7d8p-5, 0x1.1115c1c3628f6p-7, 0x1.6c16c16cb254cp-10,
};

// (e^2r - 1) / r: the same, each coefficient times its power of 2
inline constexpr double kExpm1OfTwice[] = {
    2 * kExpm1[0], 4 * kExpm1[1], 8 * kExpm1[2], 16 * kExpm1[3], 32 * kExpm1[4], 64 * kExpm1[5],
};

// The bits of 2^(j/8) less j << 49: adding a multiple of 1/8, as an integer shifted by 49, gives its power of
// two.
inline constexpr std::uint64_t kEighthPowers[8] = {
    0x3ff0000000000000, 0x3fef72b83c7d517b, 0x3fef06fe0a31b715, 0x3feebfdad5362a27,
    0x3feea09e667f3bcd, 0x3feeace5422aa0db, 0x3feee89f995ad3ad, 0x3fef5818dcfba487,
};

// ln((1 + s) / (1 - s)) / s in z = s^2, |s| <= 3 - 2 sqrt 2, 2^-52.0
inline constexpr double kLog[] = {
    0x1.0000000000001p+1, 0x1.5555555552d0bp-1, 0x1.999999a44282bp-2, 0x1.249240b0b3d4cp-2,
    0x1.c722d0f2adcecp-3, 0x1.7322a5d9bebb1p-3, 0x1.58db55211c952p-3,
};

// The same function, 0 <= s <= 1/3, 2^-49.0
inline constexpr double kLog1p[] = {
    0x1.0000000000008p+1, 0x1.555555554a64cp-1, 0x1.999999adeefeap-2, 0x1.249241e1a5145p-2, 0x1.c71f08e02cb13p-3,
    0x1.741afb02dd34bp-3, 0x1.3eea5acd368a1p-3, 0x1.e0c5494ae4f2bp-4, 0x1.8081a06331036p-3,
};

// sin(t) / t in z = t^2, |t| <= pi / 2, 2^-51.9
inline constexpr double kSin[] = {
    0x1.fffffffffffffp-1,  -0x1.5555555555458p-3,  0x1.1111111108fb5p-7,  -0x1.a01a0199bf9f1p-13,
    0x1.71de37de0ec13p-19, -0x1.ae634b0353ec5p-26, 0x1.60e5523b54ac2p-33, -0x1.9eee0c3b5c8dfp-41,
};

// arctan(s) / s in z = s^2, |s| <= tan(pi / 8), 2^-49.9
inline constexpr double kArctan[] = {
    0x1.ffffffffffff8p-1,  -0x1.555555555091bp-2, 0x1.999999925d00bp-3,  -0x1.249247019a1f7p-3, 0x1.c71bcd3424641p-4,
    -0x1.744ecb6fd8efep-4, 0x1.3a5075ae9d416p-4,  -0x1.0a8551918a55fp-4, 0x1.9bd8f17c96411p-5,  -0x1.9f582bb8c725bp-6,
};

// erf(a) / a in z = a^2, |a| <= 1/2, 2^-50.4
inline constexpr double kErf[] = {
    0x1.20dd750429b6ap+0, -0x1.812746b036057p-2,  0x1.ce2f219e2c371p-4,  -0x1.b82ce207d919fp-6,
    0x1.565b8b94e384cp-8, -0x1.c01c32a1199c9p-11, 0x1.f70864afb9a88p-14, -0x1.c0a07f848723ap-17,
};

// (a + 5) e^(a^2/2) erfc(a / sqrt 2) / 2 in v = 1/(a + 5) - 1/8, 0 <= a <= 15, 2^-50.0;
// the first coefficient is moved by 2^-51 so that the value at a = 0 is exactly 1/2 and gelu of a tiny x
// exactly x/2
inline constexpr double kNormalTail[] = {
    0x1.f1b89c231e9c5p-1,   0x1.3ac1941d37b8dp+3,   0x1.41c3b1b496569p+6,  0x1.084d79af9b004p+9,
    0x1.5454728316df9p+11,  0x1.42b45774437ebp+13,  0x1.756bfe24fe096p+14, 0x1.51d80cea6acf3p+10,
    -0x1.8de1e9d6831fbp+17, -0x1.d5836ac305818p+18, 0x1.2380b4ecad341p+20, 0x1.9f4ff144c31c0p+22,
    -0x1.ac6dcb732f6b8p+22, -0x1.447d5bd0daf88p+26, 0x1.d639f3ea06a26p+25, 0x1.fa501a982c02cp+29,
    -0x1.5b00b9a2a0cf7p+29, -0x1.3c923d1369779p+33,
};

}  // namespace kiln
