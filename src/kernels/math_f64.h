/* SPDX-License-Identifier: Apache-2.0 */
/* math_f64.h - elementary functions of f64. See math_scalar.h.
 *
 * As in math_f32.h nothing branches, with a second part for what f64 can't hold: of the reduced
 * argument, of ln 2, of 1 + x. pow, atan2, tan and the reduction of large angles are the C
 * library's. Polynomials come from tools/fit_polynomials.py. */
#ifndef TN_KERNELS_MATH_F64_H
#define TN_KERNELS_MATH_F64_H

#include "kernels/math_poly.h"

static inline double tn_limit_f64(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x; /* NaN stays */
}

/* --- exp and what is made of it --- */

/* (exp(r) - 1 - r) / r^2 to 2^-60 of exp(r) - 1 */
#define TN_EXP_F64_TERMS                                                                           \
    0x1.0p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.11111111100bep-7,                    \
        0x1.6c16c16c162c3p-10, 0x1.a01a01abf7ed6p-13, 0x1.a01a01a6e1a43p-16,                       \
        0x1.71de01ff19a6bp-19, 0x1.27e4db47938d1p-22, 0x1.af4e5274a366cp-26, 0x1.1f733f411b727p-29

/* 2^n for a sum of n and TN_ROUNDER with |n| <= 1022 */
static inline double tn_power_of_two(double rounded)
{
    return tn_from_bits_f64((tn_to_bits_f64(rounded) << 52) + ((uint64_t)1023 << 52));
}

/* exp(a) is the sum of both times the scales: 2^n in two factors, for results that are subnormal or
 * barely finite. */
typedef struct {
    double high, low, scale, other_scale;
} tn_exp_parts;
static inline tn_exp_parts tn_exp_in_parts(double a)
{
    double x = tn_limit_f64(a, -746, 710);
    double n = __builtin_fma(x, TN_LOG2E, TN_ROUNDER) - TN_ROUNDER;
    double r = __builtin_fma(-n, TN_LN2_LOW, __builtin_fma(-n, TN_LN2, x));
    double p = __builtin_fma(r * r, TN_POLY_11(r, TN_EXP_F64_TERMS), r), e = 1 + p;
    double half = __builtin_fma(n, 0.5, TN_ROUNDER);
    double rest = n - (half - TN_ROUNDER) + TN_ROUNDER;
    return (tn_exp_parts){e, (1 - e) + p, tn_power_of_two(half), tn_power_of_two(rest)};
}

static inline double tn_exp_f64(double a)
{
    tn_exp_parts p = tn_exp_in_parts(a);
    return p.high * p.scale * p.other_scale;
}

static inline double tn_expm1_f64(double a)
{
    double x = tn_limit_f64(a, -60, 710);
    double n = __builtin_fma(x, TN_LOG2E, TN_ROUNDER) - TN_ROUNDER;
    double high = __builtin_fma(-n, TN_LN2, x), low = n * TN_LN2_LOW;
    double r = high - low, lost = (high - r) - low;
    double e = r + __builtin_fma(r * r, TN_POLY_11(r, TN_EXP_F64_TERMS), lost);
    double half = tn_power_of_two(n - 1 + TN_ROUNDER);
    double y = 2 * __builtin_fma(half, e, half - 0.5);
    return __builtin_fabs(a) < 0x1p-54 ? a : y;
}

/* 1 / (1 + e) or e / (1 + e) for e = exp(-|a|), with a step that knows the low parts of both. */
static inline double tn_logistic_f64(double a)
{
    tn_exp_parts p = tn_exp_in_parts(-__builtin_fabs(a));
    double e = p.high * p.scale * p.other_scale, e_low = p.low * p.scale * p.other_scale;
    double over = a < 0 ? e : 1, over_low = a < 0 ? e_low : 0;
    double under = 1 + e, under_low = (1 - under) + e + e_low, inverse = 1 / under;
    double y = over * inverse;
    double rest = __builtin_fma(-y, under, over) + __builtin_fma(-y, under_low, over_low);
    return __builtin_fma(rest, inverse, y);
}

/* (tanh(x) - x) / x^3 in x^2, to 0.7 */
#define TN_TANH_F64_TERMS                                                                          \
    -0x1.5555555555555p-2, 0x1.11111111110dbp-3, -0x1.ba1ba1ba15861p-5, 0x1.664f48809992fp-6,      \
        -0x1.226e34f916b95p-7, 0x1.d6d3baa4f206ap-9, -0x1.7da1d1b0939d9p-10,                       \
        0x1.3544f163cd1e5p-11, -0x1.f439b0c865fe5p-13, 0x1.8f1028dcb4e22p-14,                      \
        -0x1.2b412c35ca2c6p-15, 0x1.6f0c66e997b72p-17, -0x1.03bf3634a7169p-19

static inline double tn_tanh_f64(double a)
{
    double x = tn_limit_f64(__builtin_fabs(a), 0, 22), z = x * x;
    double small = __builtin_fma(x * z, TN_POLY_13(z, TN_TANH_F64_TERMS), x);
    double large = 1 - 2 / (tn_exp_f64(2 * x) + 1);
    return __builtin_copysign(x < 0.7 ? small : large, a);
}

/* --- log --- */

/* (log(1 + f) - 2 s) / s^3 in s^2 for s = f / (2 + f) */
#define TN_LOG_F64_TERMS                                                                           \
    0x1.5555555555558p-1, 0x1.99999999952bfp-2, 0x1.2492492df5266p-2, 0x1.c71c62e0922bcp-3,        \
        0x1.7462b61242bb4p-3, 0x1.39fe31c77715cp-3, 0x1.2b5a8aca255fdp-3

/* k ln 2 + log(1 + f) + low, where 2 s = f - f s and so log(1 + f) = f - s (f - s^2 P). */
static inline double tn_log_of_parts(double k, double f, double low)
{
    double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double p = z * TN_POLY_7(z, TN_LOG_F64_TERMS);
    double tail = __builtin_fma(s, half + p, __builtin_fma(k, TN_LN2_SHORT_LOW, low));
    return k * TN_LN2_SHORT - ((half - tail) - f);
}

/* log 0 = -inf; of negative numbers NaN; inf and NaN are their own. */
static inline double tn_log_special(double x)
{
    double below = x < 0 ? __builtin_nan("") : x;
    return x == 0 ? -__builtin_inf() : below;
}

static inline double tn_log_f64(double a)
{
    bool tiny = a < 0x1p-1022;
    tn_parts p = tn_split_f64(tiny ? a * 0x1p54 : a);
    double l = tn_log_of_parts(tiny ? p.k - 54 : p.k, p.f, 0), special = tn_log_special(a);
    bool usual = (a > 0) & (a < __builtin_inf());
    return usual ? l : special;
}

/* Near 0 from a itself; elsewhere from 1 + a and what that lost. */
static inline double tn_log1p_f64(double a)
{
    double u = 1 + a, lost = (a < 1 ? a - (u - 1) : 1 - (u - a)) / u;
    tn_parts p = tn_split_f64(u);
    bool near = (a > -0.29) & (a < 0.41);
    double l = tn_log_of_parts(near ? 0 : p.k, near ? a : p.f, near ? 0 : lost);
    double special = tn_log_special(u);
    bool usual = (u > 0) & (u < __builtin_inf());
    return __builtin_copysign(usual ? l : special, a);
}

/* --- circular functions --- */

#define TN_SIN_F64_TERMS                                                                           \
    0x1.1111111110b97p-7, -0x1.a01a019e7d4abp-13, 0x1.71de378e499f1p-19, -0x1.ae60026dad0d3p-26,   \
        0x1.5e0804134a385p-33
#define TN_COS_F64_TERMS                                                                           \
    0x1.5555555555555p-5, -0x1.6c16c16c16959p-10, 0x1.a01a019f4b7f3p-16, -0x1.27e4fa13b8d56p-22,   \
        0x1.1eeb649dae43ap-29, -0x1.907a8cc290bf9p-37

/* Below it the first product leaves an exact difference. */
#define TN_CIRCULAR_LIMIT_F64 0x1p20
static inline double tn_sine_near(double a, uint64_t quarters)
{
    double t = __builtin_fma(a, TN_2_PI, TN_ROUNDER), n = t - TN_ROUNDER;
    double high = __builtin_fma(-n, TN_PI_2, a);
    double mid = n * TN_PI_2_LOW, mid_low = __builtin_fma(n, TN_PI_2_LOW, -mid);
    double r = high - mid, b = r - high;
    double lost = (high - (r - b)) - (mid + b);
    double low = lost - mid_low - n * TN_PI_2_LOWEST;

    double z = r * r, v = z * r;
    double p = TN_POLY_5(z, TN_SIN_F64_TERMS);
    double s = r - ((z * (0.5 * low - v * p) - low) - v * -0x1.5555555555555p-3);
    double half = 0.5 * z, w = 1 - half;
    double q = TN_POLY_6(z, TN_COS_F64_TERMS);
    double c = w + (((1 - w) - half) + (z * z * q - r * low));

    uint64_t turn = tn_to_bits_f64(t) + quarters;
    double y = turn & 1 ? c : s;
    return tn_from_bits_f64(tn_to_bits_f64(y) ^ (turn & 2) << 62);
}
static inline double tn_sin_near_f64(double a)
{
    double y = tn_sine_near(a, 0);
    return a == 0 ? a : y;
}
static inline double tn_cos_near_f64(double a)
{
    return tn_sine_near(a, 1);
}
static inline double tn_sin_f64(double a)
{
    return __builtin_fabs(a) < TN_CIRCULAR_LIMIT_F64 ? tn_sin_near_f64(a) : __builtin_sin(a);
}
static inline double tn_cos_f64(double a)
{
    return __builtin_fabs(a) < TN_CIRCULAR_LIMIT_F64 ? tn_cos_near_f64(a) : __builtin_cos(a);
}

/* --- remainder --- */

/* Where it holds, the quotient is right to less than 1 and the remainder, which f64 holds exactly,
 * comes out of one fma. */
static inline bool tn_rem_is_near_f64(double a, double b)
{
    double size = __builtin_fabs(b);
    return (size < __builtin_inf()) & (__builtin_fabs(a) < size * 0x1p50);
}
/* The rounded quotient may be one too large. */
static inline double tn_rem_near_f64(double a, double b)
{
    double x = __builtin_fabs(a), y = __builtin_fabs(b);
    double r = __builtin_fma(-__builtin_trunc(x / y), y, x);
    r = r < 0 ? r + y : r;
    return __builtin_copysign(r, a);
}
static inline double tn_rem_f64(double a, double b)
{
    return tn_rem_is_near_f64(a, b) ? tn_rem_near_f64(a, b) : __builtin_fmod(a, b);
}

/* --- the C library's --- */

static inline double tn_tan_f64(double a)
{
    return __builtin_tan(a);
}
static inline double tn_atan2_f64(double a, double b)
{
    return __builtin_atan2(a, b);
}
/* That of f64 is 3 ulp off. */
static inline double tn_erf_f64(double a)
{
    return (double)__builtin_erfl((long double)a);
}
static inline double tn_erfc_f64(double a)
{
    return (double)__builtin_erfcl((long double)a);
}
double tn_erf_inv_f64(double a); /* special.c */
static inline double tn_rsqrt_f64(double a);
static inline double tn_pow_f64(double a, double b)
{
    double root_of = (a == -__builtin_inf() ? __builtin_inf() : a) + 0.0;
    if (b == 0.5) return __builtin_sqrt(root_of);
    if (b == -0.5) return tn_rsqrt_f64(root_of);
    return __builtin_pow(a, b);
}

/* One Newton step on the library's root, which is up to 4 ulp off; tiny values are scaled first,
 * for the step's products would vanish. */
static inline double tn_cbrt_f64(double a)
{
    bool tiny = __builtin_fabs(a) < 0x1p-900;
    a *= tiny ? 0x1p300 : 1;
    double y = __builtin_cbrt(a), square = y * y;
    double low = __builtin_fma(y, y, -square);
    double excess = __builtin_fma(low, y, __builtin_fma(square, y, -a));
    double z = y - excess / (3 * square);
    return (z - z == 0 ? z : y) * (tiny ? 0x1p-100 : 1);
}

#endif
