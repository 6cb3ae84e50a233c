/* SPDX-License-Identifier: Apache-2.0 */
/* small_float.h - floats of at most 16 bits to and from f32, without branches.
 *
 * Conversions from f32 round to nearest even once. What happens to values that a format can't hold
 * follows ml_dtypes, and so XLA:
 *   IEEE  overflow and inf give inf
 *   FN    overflow and inf give NaN, which is all ones
 *   FNUZ  overflow and inf give NaN, which stands in the place of -0; -0 gives 0
 *   SAT   no inf and no NaN: overflow and inf give the largest value, NaN gives 0 of the other sign
 *   f8E8M0FNU  ties go up; zero, negative and what is too large give NaN */
#ifndef TN_KERNELS_SMALL_FLOAT_H
#define TN_KERNELS_SMALL_FLOAT_H

#include <stdint.h>

#include "kernels/math_real.h"

/* X(suffix, NAME, storage type, exponent bits, mantissa bits, bias, kind); f8E8M0FNU has rules of
 * its own. */
// clang-format off
#define TN_SMALL_FLOATS(X)                                                                         \
    X(f16,           F16,           uint16_t, 5, 10, 15,  IEEE)                                    \
    X(bf16,          BF16,          uint16_t, 8, 7,  127, IEEE)                                    \
    X(f8e5m2,        F8E5M2,        uint8_t,  5, 2,  15,  IEEE)                                    \
    X(f8e4m3,        F8E4M3,        uint8_t,  4, 3,  7,   IEEE)                                    \
    X(f8e3m4,        F8E3M4,        uint8_t,  3, 4,  3,   IEEE)                                    \
    X(f8e4m3fn,      F8E4M3FN,      uint8_t,  4, 3,  7,   FN)                                      \
    X(f8e4m3b11fnuz, F8E4M3B11FNUZ, uint8_t,  4, 3,  11,  FNUZ)                                    \
    X(f8e5m2fnuz,    F8E5M2FNUZ,    uint8_t,  5, 2,  16,  FNUZ)                                    \
    X(f8e4m3fnuz,    F8E4M3FNUZ,    uint8_t,  4, 3,  8,   FNUZ)                                    \
    X(f4e2m1fn,      F4E2M1FN,      uint8_t,  2, 1,  1,   SAT)                                     \
    X(f6e2m3fn,      F6E2M3FN,      uint8_t,  2, 3,  1,   SAT)                                     \
    X(f6e3m2fn,      F6E3M2FN,      uint8_t,  3, 2,  3,   SAT)
// clang-format on

enum { TN_SMALL_IEEE, TN_SMALL_FN, TN_SMALL_FNUZ, TN_SMALL_SAT };

/* Normal values: exponent and mantissa go to the place where f32 has them and the exponent's bias
 * is corrected. Subnormal ones: the mantissa as a number, scaled. (Scaling all of them would do,
 * but costs f32 subnormals, which are slow.) */
static inline float tn_small_decode(uint32_t bits, int exponent, int mantissa, int bias, int kind)
{
    if (exponent == 8) return tn_from_bits_f32(bits << 16); /* bf16 */
    uint32_t all = (1u << (exponent + mantissa)) - 1, sign = bits >> (exponent + mantissa) & 1;
    uint32_t magnitude = bits & all, inf = all - ((1u << mantissa) - 1);
    uint32_t placed = magnitude << (23 - mantissa);
    float scale = tn_from_bits_f32((uint32_t)(127 + 1 - bias - mantissa) << 23);
    uint32_t subnormal = tn_to_bits_f32((float)(int32_t)magnitude * scale);
    uint32_t value = magnitude >> mantissa ? placed + ((uint32_t)(127 - bias) << 23) : subnormal;
    if (kind == TN_SMALL_IEEE) {
        uint32_t special = 0x7F800000u | placed | (magnitude > inf ? 0x400000u : 0);
        value = magnitude >= inf ? special : value;
    }
    if (kind == TN_SMALL_FN) value = magnitude == all ? 0x7FC00000u : value;
    if (kind == TN_SMALL_FNUZ) value = sign && !magnitude ? 0x7FC00000u : value;
    return tn_from_bits_f32(value | sign << 31);
}

/* Rounds where the format is normal by adding half of its last place; where it is subnormal by
 * adding a number whose last place in f32 is the format's. */
static inline uint32_t tn_small_encode(float a, int exponent, int mantissa, int bias, int kind)
{
    uint32_t all = (1u << (exponent + mantissa)) - 1, inf = all - ((1u << mantissa) - 1);
    uint32_t bits = tn_to_bits_f32(a), sign = bits >> 31, u = bits & 0x7FFFFFFF;
    int drop = 23 - mantissa, nan = u > 0x7F800000u;
    /* A NaN keeps the high bits of its payload, made quiet: what conversion instructions do. */
    uint32_t quiet = inf | 1u << (mantissa - 1) | (u >> drop & ((1u << mantissa) - 1));
    uint32_t rounded = (u + ((1u << (drop - 1)) - 1) + (u >> drop & 1)) >> drop;
    if (exponent == 8) return (nan ? quiet : rounded) | sign << 15; /* bf16 */
    rounded -= (uint32_t)(127 - bias) << mantissa;
    uint32_t magic = (uint32_t)(127 + 23 + 1 - bias - mantissa) << 23;
    float sum = tn_from_bits_f32(u) + tn_from_bits_f32(magic);
    uint32_t subnormal = tn_to_bits_f32(sum) - magic;
    rounded = u < (uint32_t)(128 - bias) << 23 ? subnormal : rounded;
    int too_big = u >= (uint32_t)(127 + (1 << exponent) - bias) << 23;
    uint32_t out;
    if (kind == TN_SMALL_IEEE) {
        out = too_big || rounded > inf ? inf : rounded;
        out = nan ? quiet : out;
    } else if (kind == TN_SMALL_FN) {
        out = too_big || nan || rounded > all ? all : rounded;
    } else if (kind == TN_SMALL_FNUZ) {
        int lost = too_big || nan || rounded > all;
        out = lost ? 0 : rounded;
        sign = lost ? 1 : out ? sign : 0;
    } else {
        out = too_big || rounded > all ? all : rounded;
        out = nan ? 0 : out;
        sign ^= (uint32_t)nan;
    }
    return out | sign << (exponent + mantissa);
}

#define FUNCTIONS(s, NAME, T, exponent, mantissa, bias, kind)                                      \
    static inline float tn_decode_##s(T bits)                                                      \
    {                                                                                              \
        return tn_small_decode(bits, exponent, mantissa, bias, TN_SMALL_##kind);                   \
    }                                                                                              \
    static inline T tn_encode_##s(float a)                                                         \
    {                                                                                              \
        return (T)tn_small_encode(a, exponent, mantissa, bias, TN_SMALL_##kind);                   \
    }
// clang-format off
TN_SMALL_FLOATS(FUNCTIONS)
// clang-format on
#undef FUNCTIONS

/* Powers of two: 2^(bits - 127); 255 is NaN. */
static inline float tn_decode_f8e8m0fnu(uint8_t bits)
{
    uint32_t u = bits == 0 ? 0x400000u : bits == 255 ? 0x7FC00000u : (uint32_t)bits << 23;
    return tn_from_bits_f32(u);
}
static inline uint8_t tn_encode_f8e8m0fnu(float a)
{
    uint32_t u = tn_to_bits_f32(a);
    uint32_t rounded = u < 0x600000u ? 0 : (u + 0x400000u) >> 23;
    return (uint8_t)(u - 1 >= 0x7F800000u || rounded > 255 ? 255 : rounded);
}

/* f64 to f32 rounded to odd: an inexact value takes the neighbour whose last bit is 1, so that a
 * later rounding to fewer bits sees on which side of a tie it was. */
static inline float tn_odd_f32(double a)
{
    float f = (float)a;
    double back = f;
    uint32_t u = tn_to_bits_f32(f);
    uint32_t toward_zero = u - (__builtin_fabs(back) > __builtin_fabs(a));
    return back == a || a != a ? f : tn_from_bits_f32(toward_zero | 1);
}

/* The same from 64-bit integers: first to 53 bits at most, rounded to odd. */
static inline float tn_odd_f32_u64(uint64_t a)
{
    uint64_t low = a & 0x7FF, odd = (a & ~(uint64_t)0x7FF) | (low ? 0x800 : 0);
    return tn_odd_f32((double)(a >> 53 ? odd : a));
}
static inline float tn_odd_f32_i64(int64_t a)
{
    float f = tn_odd_f32_u64(a < 0 ? 0 - (uint64_t)a : (uint64_t)a);
    return a < 0 ? -f : f;
}

#endif
