/* SPDX-License-Identifier: Apache-2.0 */
/* math_complex.h - functions of complex<f32> (c64) and complex<f64> (c128). See math_scalar.h.
 * Products are the plain four multiplications, without C's recovery of infinities. Their difference
 * is a sum with the sign flipped by hand: from alternating sums and differences gcc 12 makes fused
 * multiply-adds even where contraction is off. */
#ifndef TN_KERNELS_MATH_COMPLEX_H
#define TN_KERNELS_MATH_COMPLEX_H

#include "kernels/math_real.h"

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
    /* Lexicographic; NaN parts win. */                                                            \
    static inline T tn_max_##s(T a, T b)                                                           \
    {                                                                                              \
        R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;                      \
        return ar > br || ar != ar || (ar == br && (ai > bi || ai != ai)) ? a : b;                 \
    }                                                                                              \
    static inline T tn_min_##s(T a, T b)                                                           \
    {                                                                                              \
        R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;                      \
        return ar < br || ar != ar || (ar == br && (ai < bi || ai != ai)) ? a : b;                 \
    }                                                                                              \
    R tn_abs_##s(T a);                                                                             \
    T tn_atan2_##s(T a, T b);                                                                      \
    T tn_cbrt_##s(T a);                                                                            \
    T tn_cos_##s(T a);                                                                             \
    T tn_div_##s(T a, T b);                                                                        \
    T tn_exp_##s(T a);                                                                             \
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

#endif
