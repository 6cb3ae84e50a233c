/* SPDX-License-Identifier: Apache-2.0 */
/* math_complex.h - functions of complex<f32> (c64) and complex<f64> (c128). See math_scalar.h.
 * Products are the plain four multiplications, without C's recovery of infinities. Their difference
 * is a sum with the sign flipped by hand: from alternating sums and differences gcc 12 makes fused
 * multiply-adds even where contraction is off. */
#ifndef TN_KERNELS_MATH_COMPLEX_H
#define TN_KERNELS_MATH_COMPLEX_H

#include "kernels/math_f32.h"

/* X(suffix, T, R, real suffix, f) */
#define TN_COMPLEX_TYPES(X)                                                                        \
    X(c64, float _Complex, float, f32, f)                                                          \
    X(c128, double _Complex, double, f64, )

#define FUNCTIONS(s, T, R, r, f)                                                                   \
    static inline R tn_real_##s(T a)                                                               \
    {                                                                                              \
        return __real__ a;                                                                         \
    }                                                                                              \
    static inline R tn_imag_##s(T a)                                                               \
    {                                                                                              \
        return __imag__ a;                                                                         \
    }                                                                                              \
    static inline T tn_mul_##s(T a, T b)                                                           \
    {                                                                                              \
        R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;                      \
        R minus = tn_flip_##r(ai * bi);                                                            \
        return tn_complex_##r(ar * br + minus, ar * bi + ai * br);                                 \
    }                                                                                              \
    /* Lexicographic, whatever the order of the operands: real parts that are equal, or NaN, leave \
     * it to each part by itself. */                                                               \
    static inline T tn_max_##s(T a, T b)                                                           \
    {                                                                                              \
        R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;                      \
        T parts = tn_complex_##r(tn_max_##r(ar, br), tn_max_##r(ai, bi));                          \
        return ar > br ? a : ar < br ? b : parts;                                                  \
    }                                                                                              \
    static inline T tn_min_##s(T a, T b)                                                           \
    {                                                                                              \
        R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;                      \
        T parts = tn_complex_##r(tn_min_##r(ar, br), tn_min_##r(ai, bi));                          \
        return ar < br ? a : ar > br ? b : parts;                                                  \
    }                                                                                              \
    T tn_atan2_##s(T a, T b);                                                                      \
    T tn_cbrt_##s(T a);                                                                            \
    T tn_cos_##s(T a);                                                                             \
    T tn_expm1_##s(T a);                                                                           \
    T tn_log_##s(T a);                                                                             \
    T tn_log1p_##s(T a);                                                                           \
    T tn_logistic_##s(T a);                                                                        \
    T tn_pow_##s(T a, T b);                                                                        \
    T tn_rsqrt_##s(T a);                                                                           \
    T tn_sin_##s(T a);                                                                             \
    T tn_sqrt_##s(T a);                                                                            \
    T tn_tan_##s(T a);                                                                             \
    T tn_tanh_##s(T a);
// clang-format off
TN_COMPLEX_TYPES(FUNCTIONS)
// clang-format on
#undef FUNCTIONS

/* Any quotient. */
double _Complex tn_quotient_c128(double _Complex a, double _Complex b);
double _Complex tn_exp_c128(double _Complex a);
double _Complex tn_sign_c128(double _Complex a);

/* a b + c d with one rounding's error (Kahan). */
static inline double tn_sum_of_products(double a, double b, double c, double d)
{
    double w = c * d, e = __builtin_fma(c, d, -w);
    return __builtin_fma(a, b, w) + e;
}

/* Products of such don't vanish, nor do their last places. */
static inline bool tn_is_moderate(double a)
{
    a = __builtin_fabs(a);
    return a > 0x1p-200 && a < 0x1p200;
}

static inline double _Complex tn_div_c128(double _Complex a, double _Complex b)
{
    double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    if (!(tn_is_moderate(ar) && tn_is_moderate(ai) && tn_is_moderate(br) && tn_is_moderate(bi)))
        return tn_quotient_c128(a, b);
    double d = tn_sum_of_products(br, br, bi, bi);
    return tn_complex_f64(tn_sum_of_products(ar, br, ai, bi) / d,
                          tn_sum_of_products(ai, br, -ar, bi) / d);
}

/* The products of parts are exact in f64 and their sums can't overflow there. */
static inline float _Complex tn_div_c64(float _Complex a, float _Complex b)
{
    double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    double d = 1 / (br * br + bi * bi);
    double re = (ar * br + ai * bi) * d, im = (ai * br - ar * bi) * d;
    if (re != re || im != im) return (float _Complex)tn_div_c128(a, b);
    return tn_complex_f32((float)re, (float)im);
}

static inline float _Complex tn_exp_c64(float _Complex a)
{
    float re = __real__ a, im = __imag__ a;
    if (!(__builtin_fabsf(re) < 200) || !(__builtin_fabsf(im) < TN_CIRCULAR_LIMIT))
        return (float _Complex)tn_exp_c128(a);
    double size = tn_exp_near(re);
    tn_turned t = tn_turn(im);
    double sine = im == 0 ? im : tn_sine_after(t, 0);
    return tn_complex_f32((float)(size * tn_sine_after(t, 1)), (float)(size * sine));
}

/* The root of the sum of squares and a step towards it from what that and the squares were rounded
 * by (Borges 2020); of parts that are scaled where squares would overflow or vanish. */
static inline double tn_abs_c128(double _Complex a)
{
    double x = __builtin_fabs(__real__ a), y = __builtin_fabs(__imag__ a), inf = __builtin_inf();
    double large = x > y ? x : y, small = x > y ? y : x;
    double by = large > 0x1p500 ? 0x1p-600 : large < 0x1p-400 ? 0x1p600 : 1;
    double back = large > 0x1p500 ? 0x1p600 : large < 0x1p-400 ? 0x1p-600 : 1;
    large *= by;
    small *= by;
    double size = __builtin_sqrt(__builtin_fma(large, large, small * small));
    double sum = size * size, square = large * large;
    double excess = __builtin_fma(-small, small, sum - square) + __builtin_fma(size, size, -sum) -
                    __builtin_fma(large, large, -square);
    double better = size - excess / (2 * size);
    better = (size == 0 ? 0 : better) * back;
    return (x == inf || y == inf) ? inf : better;
}
/* Squares of f32 don't overflow in f64. */
static inline float tn_abs_c64(float _Complex a)
{
    double re = __builtin_fabsf(__real__ a), im = __builtin_fabsf(__imag__ a);
    double size = __builtin_sqrt(re * re + im * im);
    bool infinite = (re == __builtin_inf()) | (im == __builtin_inf());
    return infinite ? __builtin_inff() : (float)size;
}
static inline float _Complex tn_sign_c64(float _Complex a)
{
    double re = __real__ a, im = __imag__ a, size = __builtin_sqrt(re * re + im * im);
    bool zero = size == 0;
    return tn_complex_f32(zero ? __real__ a : (float)(re / size),
                          zero ? __imag__ a : (float)(im / size));
}

#endif
