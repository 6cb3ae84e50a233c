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
static inline int tn_is_moderate(double a)
{
    a = __builtin_fabs(a);
    return a > 0x1p-200 && a < 0x1p200;
}

/* What quotients, signs and functions of most operands are, without a branch: NAME_near holds where
 * NAME_is_near does. */
static inline bool tn_div_is_near_c128(double _Complex a, double _Complex b)
{
    double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    bool one = (tn_is_moderate(ar) | (ar == 0)) & (tn_is_moderate(ai) | (ai == 0));
    return one & ((ar != 0) | (ai != 0)) & tn_is_moderate(br) & tn_is_moderate(bi);
}
static inline double _Complex tn_div_near_c128(double _Complex a, double _Complex b)
{
    double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    double d = tn_sum_of_products(br, br, bi, bi);
    return tn_complex_f64(tn_sum_of_products(ar, br, ai, bi) / d,
                          tn_sum_of_products(ai, br, -ar, bi) / d);
}
static inline double _Complex tn_div_c128(double _Complex a, double _Complex b)
{
    return tn_div_is_near_c128(a, b) ? tn_div_near_c128(a, b) : tn_quotient_c128(a, b);
}

/* The products of parts are exact in f64 and their sums can't overflow there. */
static inline bool tn_div_is_near_c64(float _Complex a, float _Complex b)
{
    const float inf = __builtin_inff();
    float ar = __builtin_fabsf(__real__ a), ai = __builtin_fabsf(__imag__ a);
    float br = __builtin_fabsf(__real__ b), bi = __builtin_fabsf(__imag__ b);
    return (ar < inf) & (ai < inf) & (br < inf) & (bi < inf) & ((br > 0) | (bi > 0));
}
static inline float _Complex tn_div_near_c64(float _Complex a, float _Complex b)
{
    double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    double d = 1 / (br * br + bi * bi), minus = tn_flip_f64(ar * bi);
    return tn_complex_f32((float)((ar * br + ai * bi) * d), (float)((ai * br + minus) * d));
}
static inline float _Complex tn_div_c64(float _Complex a, float _Complex b)
{
    float _Complex q = tn_div_near_c64(a, b);
    bool undefined = __real__ q != __real__ q || __imag__ q != __imag__ q;
    return undefined ? (float _Complex)tn_div_c128(a, b) : q;
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
static inline double tn_abs_near(double large, double small)
{
    double size = __builtin_sqrt(__builtin_fma(large, large, small * small));
    double sum = size * size, square = large * large;
    double excess = __builtin_fma(-small, small, sum - square) + __builtin_fma(size, size, -sum) -
                    __builtin_fma(large, large, -square);
    return size - excess / (2 * size);
}
static inline double tn_abs_c128(double _Complex a)
{
    double x = __builtin_fabs(__real__ a), y = __builtin_fabs(__imag__ a), inf = __builtin_inf();
    double large = x > y ? x : y, small = x > y ? y : x;
    double by = large > 0x1p500 ? 0x1p-600 : large < 0x1p-400 ? 0x1p600 : 1;
    double back = large > 0x1p500 ? 0x1p600 : large < 0x1p-400 ? 0x1p-600 : 1;
    double better = tn_abs_near(large * by, small * by);
    better = (x == 0 && y == 0 ? 0 : better) * back;
    return (x == inf || y == inf) ? inf : better;
}
static inline bool tn_sign_is_near_c128(double _Complex a)
{
    double x = __builtin_fabs(__real__ a), y = __builtin_fabs(__imag__ a);
    return (x < 0x1p500) & (y < 0x1p500) & ((x > 0x1p-400) | (y > 0x1p-400));
}
static inline double _Complex tn_sign_near_c128(double _Complex a)
{
    double x = __builtin_fabs(__real__ a), y = __builtin_fabs(__imag__ a);
    double size = tn_abs_near(x > y ? x : y, x > y ? y : x), inverse = 1 / size;
    double re = __real__ a * inverse, im = __imag__ a * inverse;
    re = __builtin_fma(__builtin_fma(-re, size, __real__ a), inverse, re);
    im = __builtin_fma(__builtin_fma(-im, size, __imag__ a), inverse, im);
    return tn_complex_f64(re, im);
}
/* Squares of f32 don't overflow in f64; the inverse of their sum's root is found in f32 and a step
 * towards it made in f64. */
static inline bool tn_abs_is_near_c64(float _Complex a)
{
    float x = __builtin_fabsf(__real__ a), y = __builtin_fabsf(__imag__ a);
    return (x < 0x1p60f) & (y < 0x1p60f) & ((x > 0x1p-60f) | (y > 0x1p-60f));
}
static inline double tn_sum_of_squares(float _Complex a)
{
    double re = __real__ a, im = __imag__ a;
    return re * re + im * im;
}
static inline double tn_inverse_root(double sum)
{
    double y = 1 / __builtin_sqrtf((float)sum);
    return y * __builtin_fma(-0.5 * sum * y, y, 1.5);
}
static inline float tn_abs_near_c64(float _Complex a)
{
    double sum = tn_sum_of_squares(a);
    return (float)(sum * tn_inverse_root(sum));
}
static inline float tn_abs_c64(float _Complex a)
{
    if (tn_abs_is_near_c64(a)) return tn_abs_near_c64(a);
    double re = __builtin_fabsf(__real__ a), im = __builtin_fabsf(__imag__ a);
    double size = __builtin_sqrt(re * re + im * im);
    bool infinite = (re == __builtin_inf()) | (im == __builtin_inf());
    return infinite ? __builtin_inff() : (float)size;
}
static inline float _Complex tn_sign_near_c64(float _Complex a)
{
    double inverse = tn_inverse_root(tn_sum_of_squares(a));
    return tn_complex_f32((float)(__real__ a * inverse), (float)(__imag__ a * inverse));
}
static inline float _Complex tn_sign_c64(float _Complex a)
{
    if (tn_abs_is_near_c64(a)) return tn_sign_near_c64(a);
    double re = __real__ a, im = __imag__ a, size = __builtin_sqrt(re * re + im * im);
    bool zero = size == 0;
    return tn_complex_f32(zero ? __real__ a : (float)(re / size),
                          zero ? __imag__ a : (float)(im / size));
}

/* Any but those whose exponentials or angles are beyond what is computed in f64 to 2^-33. */
static inline bool tn_exp_is_near_c64(float _Complex a)
{
    return (__builtin_fabsf(__real__ a) < 200) & (__builtin_fabsf(__imag__ a) < TN_CIRCULAR_LIMIT);
}
/* e^x cos(y) - 1 = (e^x - 1) cos(y) + (cos(y) - 1) */
static inline float _Complex tn_expm1_near_c64(float _Complex a)
{
    double x = __real__ a, y = __imag__ a, e = tn_expm1_near(x);
    tn_turned t = tn_turn(y);
    double c = tn_sine_after(t, 1), s = y == 0 ? y : tn_sine_after(t, 0);
    return tn_complex_f32((float)__builtin_fma(e, c, c - 1), (float)__builtin_fma(e, s, s));
}
static inline bool tn_tanh_is_near_c64(float _Complex a)
{
    float limit = TN_CIRCULAR_LIMIT;
    return (__builtin_fabsf(__real__ a) < limit) & (__builtin_fabsf(__imag__ a) < limit);
}
/* (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y), of which nothing cancels. */
static inline float _Complex tn_tanh_near_c64(float _Complex a)
{
    double size = __builtin_fabs((double)__real__ a), y = __imag__ a;
    double e = tn_expm1_near(size < 60 ? size : 60), inverse = 1 / (e + 1);
    double sinh = 0.5 * __builtin_fma(e, inverse, e), cosh = 0.5 * ((e + 1) + inverse);
    tn_turned t = tn_turn(y);
    double c = tn_sine_after(t, 1), s = y == 0 ? y : tn_sine_after(t, 0);
    double d = 1 / __builtin_fma(sinh, sinh, c * c);
    float re = __builtin_copysignf((float)(sinh * cosh * d), __real__ a);
    return tn_complex_f32(re, (float)(s * c * d));
}
/* tan a = -i tanh(i a) */
static inline float _Complex tn_tan_near_c64(float _Complex a)
{
    float _Complex t = tn_tanh_near_c64(tn_complex_f32(__imag__ a, __real__ a));
    return tn_complex_f32(__imag__ t, __real__ t);
}

static inline bool tn_sin_is_near_c64(float _Complex a)
{
    return (__builtin_fabsf(__imag__ a) < 200) & (__builtin_fabsf(__real__ a) < TN_CIRCULAR_LIMIT);
}
/* sin x cosh y + i cos x sinh y */
static inline float _Complex tn_sin_near_c64(float _Complex a)
{
    double x = __real__ a, y = __imag__ a, e = tn_expm1_near(__builtin_fabs(y)), up = e + 1;
    double cosh = 0.5 * (up + 1 / up), sinh = __builtin_copysign(0.5 * (e + e / up), y);
    tn_turned t = tn_turn(x);
    double s = x == 0 ? x : tn_sine_after(t, 0), c = tn_sine_after(t, 1);
    return tn_complex_f32((float)(s * cosh), (float)(c * sinh));
}
/* cos x cosh y - i sin x sinh y */
static inline float _Complex tn_cos_near_c64(float _Complex a)
{
    double x = __real__ a, y = __imag__ a, e = tn_expm1_near(__builtin_fabs(y)), up = e + 1;
    double cosh = 0.5 * (up + 1 / up), sinh = __builtin_copysign(0.5 * (e + e / up), y);
    tn_turned t = tn_turn(x);
    double s = x == 0 ? x : tn_sine_after(t, 0), c = tn_sine_after(t, 1);
    return tn_complex_f32((float)(c * cosh), -(float)(s * sinh));
}

/* Finite and not 0: squares of f32 neither overflow nor vanish in f64. */
static inline bool tn_log_is_near_c64(float _Complex a)
{
    float x = __builtin_fabsf(__real__ a), y = __builtin_fabsf(__imag__ a), inf = __builtin_inff();
    return (x < inf) & (y < inf) & ((x > 0) | (y > 0));
}
/* The larger part of the root comes from a sum in which nothing cancels, the other from it. */
typedef struct {
    double re, im, size; /* |a| */
} tn_root;
static inline tn_root tn_root_near_c64(float _Complex a)
{
    double x = __real__ a, y = __imag__ a, size = __builtin_sqrt(x * x + y * y);
    double large = __builtin_sqrt(0.5 * (size + __builtin_fabs(x)));
    double small = 0.5 * __builtin_fabs(y) / large;
    double im = x < 0 ? large : small;
    return (tn_root){x < 0 ? small : large, __builtin_copysign(im, y), size};
}
static inline float _Complex tn_sqrt_near_c64(float _Complex a)
{
    tn_root r = tn_root_near_c64(a);
    return tn_complex_f32((float)r.re, (float)r.im);
}
/* The root's conjugate over |a| */
static inline float _Complex tn_rsqrt_near_c64(float _Complex a)
{
    tn_root r = tn_root_near_c64(a);
    return tn_complex_f32((float)(r.re / r.size), (float)(-r.im / r.size));
}

/* log(1 + m) where sum is 1 + m rounded: near 1 from m, which may be as small as that rounding. */
static inline double tn_log_of_sum(double sum, double m)
{
    tn_parts p = tn_split_f64(sum);
    double f = p.k == 0 ? m : p.f;
    return __builtin_fma(p.k, TN_LN2, __builtin_fma(f * f, TN_POLY_12(f, TN_LOG_TERMS), f));
}
/* Near 1 the larger part less and plus 1 are exact, and so are their product and the other's
 * square. */
static inline float _Complex tn_log_near_c64(float _Complex a)
{
    double x = __builtin_fabs((double)__real__ a), y = __builtin_fabs((double)__imag__ a);
    double large = x > y ? x : y, small = x > y ? y : x;
    double l = tn_log_of_sum(x * x + y * y, (large - 1) * (large + 1) + small * small);
    return tn_complex_f32((float)(0.5 * l), (float)tn_angle(__imag__ a, __real__ a));
}
static inline bool tn_log1p_is_near_c64(float _Complex a)
{
    float x = __builtin_fabsf(__real__ a), y = __builtin_fabsf(__imag__ a), inf = __builtin_inff();
    return (x < inf) & (y < inf) & ((__real__ a != -1) | (y > 0));
}
/* |1 + a|^2 - 1 = 2x + y^2 + x^2, three exact numbers whose sums are kept in two parts. */
static inline float _Complex tn_log1p_near_c64(float _Complex a)
{
    double x = __real__ a, y = __imag__ a, twice = 2 * x, yy = y * y, xx = x * x;
    double s = twice + yy, t = s - twice, low = (twice - (s - t)) + (yy - t);
    double u = s + xx, v = u - s, lower = (s - (u - v)) + (xx - v);
    double above = 1 + x, l = tn_log_of_sum(above * above + yy, u + (low + lower));
    return tn_complex_f32((float)(0.5 * l), (float)tn_angle(y, above));
}

#endif
