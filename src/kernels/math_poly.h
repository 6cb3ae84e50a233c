/* SPDX-License-Identifier: Apache-2.0 */
/* math_poly.h - what elementary functions are put together from: polynomials, constants, and the
 * parts of a number. */
#ifndef TN_KERNELS_MATH_POLY_H
#define TN_KERNELS_MATH_POLY_H

#include <stdbool.h>

#include "kernels/math_real.h"

/* Polynomial in x with n coefficients, lowest first. x is named more than once. */
// clang-format off
#define TN_POLY_1(x, c)       (c)
#define TN_POLY_2(x, c, ...)  __builtin_fma(TN_POLY_1(x, __VA_ARGS__), x, c)
#define TN_POLY_3(x, c, ...)  __builtin_fma(TN_POLY_2(x, __VA_ARGS__), x, c)
#define TN_POLY_4_(x, c, ...) __builtin_fma(TN_POLY_3(x, __VA_ARGS__), x, c)
#define TN_POLY_5_(x, c, ...) __builtin_fma(TN_POLY_4_(x, __VA_ARGS__), x, c)
#define TN_POLY_6_(x, c, ...) __builtin_fma(TN_POLY_5_(x, __VA_ARGS__), x, c)
#define TN_POLY_7_(x, c, ...) __builtin_fma(TN_POLY_6_(x, __VA_ARGS__), x, c)
#define TN_POLY_8_(x, c, ...) __builtin_fma(TN_POLY_7_(x, __VA_ARGS__), x, c)
#define TN_POLY_9_(x, c, ...) __builtin_fma(TN_POLY_8_(x, __VA_ARGS__), x, c)
#define TN_POLY_10_(x, c, ...) __builtin_fma(TN_POLY_9_(x, __VA_ARGS__), x, c)
#define TN_POLY_11_(x, c, ...) __builtin_fma(TN_POLY_10_(x, __VA_ARGS__), x, c)
#define TN_POLY_12_(x, c, ...) __builtin_fma(TN_POLY_11_(x, __VA_ARGS__), x, c)
#define TN_POLY_13_(x, c, ...) __builtin_fma(TN_POLY_12_(x, __VA_ARGS__), x, c)
#define TN_POLY_14_(x, c, ...) __builtin_fma(TN_POLY_13_(x, __VA_ARGS__), x, c)
#define TN_POLY_15_(x, c, ...) __builtin_fma(TN_POLY_14_(x, __VA_ARGS__), x, c)
/* Their arguments may be a macro that holds the coefficients. */
#define TN_POLY_4(...)  TN_POLY_4_(__VA_ARGS__)
#define TN_POLY_5(...)  TN_POLY_5_(__VA_ARGS__)
#define TN_POLY_6(...)  TN_POLY_6_(__VA_ARGS__)
#define TN_POLY_7(...)  TN_POLY_7_(__VA_ARGS__)
#define TN_POLY_11(...) TN_POLY_11_(__VA_ARGS__)
#define TN_POLY_12(...) TN_POLY_12_(__VA_ARGS__)
#define TN_POLY_13(...) TN_POLY_13_(__VA_ARGS__)
#define TN_POLY_15(...) TN_POLY_15_(__VA_ARGS__)
// clang-format on

#define TN_LOG2E 0x1.71547652b82fep+0
/* ln 2 in two parts; and in two of which the first times a whole number to 2^12 is exact. */
#define TN_LN2           0x1.62e42fefa39efp-1
#define TN_LN2_LOW       0x1.abc9e3b39803fp-56
#define TN_LN2_SHORT     0x1.62e42fefa2000p-1
#define TN_LN2_SHORT_LOW 0x1.9ef35793c7673p-41
/* pi / 2 in three parts */
#define TN_2_PI        0x1.45f306dc9c883p-1
#define TN_PI_2        0x1.921fb54442d18p+0
#define TN_PI_2_LOW    0x1.1a62633145c07p-54
#define TN_PI_2_LOWEST -0x1.f1976b7ed8fbcp-110

/* x + TN_ROUNDER - TN_ROUNDER is x rounded to an integer for |x| < 2^51, which then also stands in
 * the low bits of the sum. */
#define TN_ROUNDER 0x1.8p52

/* x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2); for positive normal x. */
typedef struct {
    double k, f;
} tn_parts;
static inline tn_parts tn_split_f64(double x)
{
    const uint64_t bias = (uint64_t)1023 << 52;
    uint64_t u = tn_to_bits_f64(x), k = (u - 0x3FE6A09E667F3BCD + bias) >> 52;
    double m = tn_from_bits_f64(u - (k << 52) + bias);
    double number = tn_from_bits_f64(k | 0x4330000000000000); /* 2^52 + k */
    return (tn_parts){number - (0x1p52 + 1023), m - 1};
}

#endif
