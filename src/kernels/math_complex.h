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
    T tn_sign_##s(T a);                                                                            \
    T tn_sin_##s(T a);                                                                             \
    T tn_sqrt_##s(T a);                                                                            \
    T tn_tan_##s(T a);                                                                             \
    T tn_tanh_##s(T a);
// clang-format off
TN_COMPLEX_TYPES(FUNCTIONS)
// clang-format on
#undef FUNCTIONS

double _Complex tn_div_c128(double _Complex a, double _Complex b);
double _Complex tn_exp_c128(double _Complex a);

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

static inline double tn_abs_c128(double _Complex a)
{
    return __builtin_hypot(__real__ a, __imag__ a);
}
/* Squares of f32 don't overflow in f64. */
static inline float tn_abs_c64(float _Complex a)
{
    double re = __builtin_fabsf(__real__ a), im = __builtin_fabsf(__imag__ a);
    double size = __builtin_sqrt(re * re + im * im);
    bool infinite = (re == __builtin_inf()) | (im == __builtin_inf());
    return infinite ? __builtin_inff() : (float)size;
}

#endif
