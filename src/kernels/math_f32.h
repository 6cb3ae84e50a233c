/* SPDX-License-Identifier: Apache-2.0 */
/* math_f32.h - elementary functions of f32. See math_scalar.h.
 *
 * Those of math_f32_rows.h, sine and cosine are computed in f32, powers partly. The others are
 * computed in f64 to about 2^-33 and rounded once, which is right but for one value in a thousand
 * or so and never more than 0.51 ulp off; overflow and subnormals come out of that rounding too.
 * Nothing branches, so loops over them are vectorised; products that must be exact are written as
 * fma. Polynomials: interpolation in Chebyshev nodes (tools/fit_polynomials.py), or minimax. */
#ifndef TN_KERNELS_MATH_F32_H
#define TN_KERNELS_MATH_F32_H

#include "kernels/math_f64.h"

/* --- exp and what is made of it --- */

#define TN_EXP_TERMS                                                                               \
    0x1.0000000ba0c7ap-1, 0x1.5555555a7fdd4p-3, 0x1.5554e8a4c7530p-5, 0x1.1110e0c6f09a7p-7,        \
        0x1.6d43ab7b37bacp-10, 0x1.a125699d40745p-13
#define TN_EXPM1_TERMS                                                                             \
    0x1.0p-1, 0x1.555555676b751p-3, 0x1.5555555c90cacp-5, 0x1.1110c5ef4b02bp-7,                    \
        0x1.6c168555a0e60p-10, 0x1.a15205debbad7p-13, 0x1.a113900e0687ap-16

/* exp(x) for |x| < 700: x = n ln 2 + r. */
static inline double tn_exp_near(double x)
{
    double t = __builtin_fma(x, TN_LOG2E, TN_ROUNDER), n = t - TN_ROUNDER;
    double r = __builtin_fma(-n, TN_LN2, x);
    double e = 1 + __builtin_fma(r * r, TN_POLY_6(r, TN_EXP_TERMS), r);
    return tn_from_bits_f64(tn_to_bits_f64(e) + (tn_to_bits_f64(t) << 52));
}

/* exp(x) - 1 for |x| < 700. */
static inline double tn_expm1_near(double x)
{
    double t = __builtin_fma(x, TN_LOG2E, TN_ROUNDER), n = t - TN_ROUNDER;
    double r = __builtin_fma(-n, TN_LN2, x);
    double e = __builtin_fma(r * r, TN_POLY_7(r, TN_EXPM1_TERMS), r);
    double scale = tn_from_bits_f64((tn_to_bits_f64(t) << 52) + ((uint64_t)1023 << 52));
    return __builtin_fma(scale, e, scale - 1);
}

static inline float tn_expm1_f32(float a)
{
    return __builtin_copysignf((float)tn_expm1_near(tn_limit_f64(a, -40, 100)), a);
}

/* --- log and powers --- */

#define TN_LOG_TERMS                                                                               \
    -0x1.0000000061fefp-1, 0x1.5555558685d78p-2, -0x1.fffffce751926p-3, 0x1.99994a9651e26p-3,      \
        -0x1.555628452ffd2p-3, 0x1.24a4605850f32p-3, -0x1.ffed885e08173p-4, 0x1.c3b930b4ce5fdp-4,  \
        -0x1.96fbfe69b0695p-4, 0x1.967b6c007aa1cp-4, -0x1.903d12a33abedp-4, 0x1.b9ce201c5fbb0p-5
/* Good to 2^-42, since a power multiplies the error by up to 150. */
#define TN_LOG2_TERMS                                                                              \
    -0x1.0000000000731p-1, 0x1.5555555517c91p-2, -0x1.fffffff8e9cdbp-3, 0x1.99999a259950fp-3,      \
        -0x1.55555a240a34bp-3, 0x1.24921dad6695dp-3, -0x1.fffd791c105c2p-4, 0x1.c7270b834c74ep-4,  \
        -0x1.99eb887c7c330p-4, 0x1.73e0bdd3bb3e2p-4, -0x1.50100cae06220p-4, 0x1.3a723d9a07ea0p-4,  \
        -0x1.4d54ea437c2d0p-4, 0x1.44404fc7bc462p-4, -0x1.48077889d4285p-5
#define TN_EXP2_TERMS                                                                              \
    0x1.62e42fefa39efp-1, 0x1.ebfbe045f4d3cp-3, 0x1.c6b08d883dca1p-5, 0x1.3b2a1b7152befp-7,        \
        0x1.5d879ead06a82p-10, 0x1.443fffc90db59p-13, 0x1.00a581594758ep-16

static inline double tn_log_near(double x)
{
    tn_parts p = tn_split_f64(x);
    double l = __builtin_fma(p.f * p.f, TN_POLY_12(p.f, TN_LOG_TERMS), p.f);
    return __builtin_fma(p.k, TN_LN2, l);
}

/* log2 of a >= 0 and NaN */
static inline double tn_log2_near(double a)
{
    tn_parts p = tn_split_f64(a);
    double l = __builtin_fma(p.f * p.f, TN_POLY_15(p.f, TN_LOG2_TERMS), p.f);
    double r = __builtin_fma(l, TN_LOG2E, p.k), special = tn_log_special(a);
    return a > 0 && a < __builtin_inf() ? r : special;
}

static inline double tn_exp2_near(double x)
{
    double limited = tn_limit_f64(x, -200, 200);
    double t = limited + TN_ROUNDER, r = limited - (t - TN_ROUNDER);
    double e = __builtin_fma(r, TN_POLY_7(r, TN_EXP2_TERMS), 1);
    return tn_from_bits_f64(tn_to_bits_f64(e) + (tn_to_bits_f64(t) << 52));
}

static inline float tn_cbrt_f32(float a)
{
    double size = __builtin_fabs((double)a);
    float r = (float)tn_exp2_near(tn_log2_near(size) * (1.0 / 3));
    r = __builtin_copysignf(r, a);
    return size > 0 && size < __builtin_inf() ? r : a;
}

/* --- in f32 --- */

static inline float tn_scale_f32(float e, float t)
{
    int32_t n = (int32_t)(tn_to_bits_f32(t) - 0x4b400000), half = n >> 1;
    float first = tn_from_bits_f32((uint32_t)(half + 127) << 23);
    return e * first * tn_from_bits_f32((uint32_t)(n - half + 127) << 23);
}

/* x 2^n for whole n from -128 to 127, to 0 where 2^n is below the normal numbers. */
static inline float tn_scaled_by_f32(float x, float n)
{
    float power = tn_from_bits_f32(tn_to_bits_f32(n + 0x1.8000fep23f) << 23);
    return x * (power > 0 ? power : 0);
}

/* m 2^-n with m from 3/4 to 3/2 */
typedef struct {
    float m, n;
} tn_parts_f32;
static inline tn_parts_f32 tn_split_f32(float x)
{
    uint32_t u = tn_to_bits_f32(x);
    int32_t k = (int32_t)(u - 0x3f400000) >> 23;
    return (tn_parts_f32){tn_from_bits_f32(u - ((uint32_t)k << 23)), 0.0f - (float)k};
}
static inline tn_parts_f32 tn_split_any_f32(float x)
{
    bool tiny = x < 0x1p-126f;
    tn_parts_f32 p = tn_split_f32(tiny ? x * 0x1p23f : x);
    return (tn_parts_f32){p.m, p.n + (tiny ? 23.0f : 0.0f)};
}

/* l, or what log gives for x that is no positive finite number. */
static inline float tn_log_of_f32(float l, float x)
{
    float special = x == 0 ? -__builtin_inff() : tn_from_bits_f32(0xffc00000);
    l = x > 0 ? l : special;
    return x == __builtin_inff() ? x : l;
}

#define V                       float
#define M                       bool
#define FUNCTION(name)          static inline float tn_##name##_f32(float a)
#define K(x)                    (x)
#define BITS(x)                 tn_from_bits_f32(x)
#define ADD(a, b)               ((a) + (b))
#define SUB(a, b)               ((a) - (b))
#define MUL(a, b)               ((a) * (b))
#define DIV(a, b)               ((a) / (b))
#define FMA(a, b, c)            __builtin_fmaf(a, b, c)
#define FNMA(a, b, c)           __builtin_fmaf(-(a), b, c)
#define MORE(a, b)              ((a) > (b) ? (a) : (b))
#define LESS(a, b)              ((a) < (b) ? (a) : (b))
#define ON_BITS(e)              tn_from_bits_f32((uint32_t)(e))
#define ISUB(a, b)              ON_BITS(tn_to_bits_f32(a) - tn_to_bits_f32(b))
#define IAND(a, b)              ON_BITS(tn_to_bits_f32(a) & tn_to_bits_f32(b))
#define IOR(a, b)               ON_BITS(tn_to_bits_f32(a) | tn_to_bits_f32(b))
#define ISHL(a, n)              ON_BITS(tn_to_bits_f32(a) << (n))
#define ISAR(a, n)              ON_BITS((int32_t)tn_to_bits_f32(a) >> (n))
#define LT(a, b)                ((a) < (b))
#define NOT_LT(a, b)            (!((a) < (b)))
#define PICK(m, a, b)           ((m) ? (a) : (b))
#define SCALE(e, n, t)          tn_scale_f32(e, t)
#define SCALE_WHERE(m, e, n, t) ((m) ? tn_scale_f32(e, t) : 0)
#define SPARED(m, a)            ((m) ? (a) : 0)
#define PARTS                   tn_parts_f32
#define PARTS_OF(x)             tn_split_f32(x)
#define PARTS_OF_ANY(x)         tn_split_any_f32(x)
#define SCALED_BY(x, n)         tn_scaled_by_f32(x, n)
#define LOG_OF(l, x)            tn_log_of_f32(l, x)
#define AT(table, i)            table[tn_to_bits_f32(i) & 7]
#define WITH_SIGN(x, a)         IOR(x, IAND(a, BITS(0x80000000)))
#include "kernels/math_f32_rows.h"
#undef ON_BITS

/* --- powers --- */

/* log(1 + f) from -1/4 to 1/2, to 2^-35: even and odd terms, which overlap in time. */
#define TN_POW_LOG_EVEN                                                                            \
    -0x1.00000001ab751p-1, -0x1.fffff78db92a0p-3, -0x1.555863d154adbp-3, -0x1.ff1ad55591353p-4,    \
        -0x1.a736be2612405p-4, -0x1.223ad82ed5d4ep-4
#define TN_POW_LOG_ODD                                                                             \
    0x1.555554dd676fep-2, 0x1.999a09c5b6f10p-3, 0x1.24843a55e1c48p-3, 0x1.c7a5f512c5ad1p-4,        \
        0x1.89b1e3ffd52a8p-4, 0x1.b225796cac817p-6

static inline float tn_rsqrt_f32(float a);

/* b log2 |a| in f64, of which only what is large enough is computed so: the parts of a, the higher
 * terms of e^u and what is asked of a and b are f32, of which a vector holds twice as many. */
static inline float tn_pow_f32(float a, float b)
{
    float size = __builtin_fabsf(a), inf = __builtin_inff();
    tn_parts_f32 parts = tn_split_any_f32(size);
    float k = size < inf ? 0.0f - parts.n : size; /* NaN too */
    k = size == 0 ? -inf : k;
    double f = parts.m - 1.0f;
    double z = f * f, even = TN_POLY_6(z, TN_POW_LOG_EVEN),
           odd_terms = TN_POLY_6(z, TN_POW_LOG_ODD);
    double l = __builtin_fma(z, __builtin_fma(odd_terms, f, even), f);
    double t = tn_limit_f64(b * __builtin_fma(l, TN_LOG2E, (double)k), -200, 200);
    double whole_t = t + TN_ROUNDER, u = (t - (whole_t - TN_ROUNDER)) * TN_LN2;
    float h = (float)u;
    float q = __builtin_fmaf(0x1.6ac15cp-10f, h, 0x1.123da6p-7f);
    q = __builtin_fmaf(q, h, 0x1.555858p-5f);
    q = __builtin_fmaf(q, h, 0x1.55548cp-3f);
    q = __builtin_fmaf(q, h, 0x1.fffffcp-2f);
    double e = (1 + u) + (double)(h * h * q);
    float r = (float)tn_from_bits_f64(tn_to_bits_f64(e) + (tn_to_bits_f64(whole_t) << 52));

    bool whole = __builtin_rintf(b) == b, odd = whole & (__builtin_rintf(b * 0.5f) != b * 0.5f);
    uint32_t sign = odd ? tn_to_bits_f32(a) & 0x80000000u : 0;
    r = tn_from_bits_f32(tn_to_bits_f32(r) ^ sign);
    bool undefined = (a < 0) & (size < inf) & !whole & (b == b);
    /* -1 to the power of inf too */
    bool one = (b == 0) | (a == 1) | ((size == 1) & (__builtin_fabsf(b) == inf));
    r = undefined ? __builtin_nanf("") : r;
    /* What is simplified to roots. */
    float root_of = (a == -inf ? inf : a) + 0.0f;
    r = b == 0.5f ? __builtin_sqrtf(root_of) : b == -0.5f ? tn_rsqrt_f32(root_of) : r;
    return one ? 1 : r;
}

/* --- circular functions --- */

#define TN_SIN_TERMS                                                                               \
    -0x1.555555545a29cp-3, 0x1.11110de5c55b6p-7, -0x1.a0139ae4eef91p-13, 0x1.6db9edc818c5fp-19
#define TN_COS_TERMS                                                                               \
    0x1.555555550183dp-5, -0x1.6c16bf4e9ee94p-10, 0x1.a015bc05bac28p-16, -0x1.252190c15ad69p-22
#define TN_ATAN_TERMS                                                                              \
    -0x1.5555555502188p-2, 0x1.999998259546fp-3, -0x1.2491c08b2c4b0p-3, 0x1.c6f687376a490p-4,      \
        -0x1.71d3c103fccb2p-4, 0x1.24434e709515cp-4, -0x1.4b38919e7acecp-5

typedef struct {
    double sin, cos; /* of the angle less quarter turns */
    uint64_t quarters;
} tn_turned;

/* For |a| below TN_CIRCULAR_LIMIT: pi / 2 in two parts leaves 2^-75 of error, and no f32 comes
 * nearer to a multiple than 2^-32. */
#define TN_CIRCULAR_LIMIT 0x1p30f
static inline tn_turned tn_turn(double a)
{
    double t = __builtin_fma(a, TN_2_PI, TN_ROUNDER), n = t - TN_ROUNDER;
    double r = __builtin_fma(-n, TN_PI_2_LOW, __builtin_fma(-n, TN_PI_2, a)), z = r * r;
    double s = __builtin_fma(r * z, TN_POLY_4(z, TN_SIN_TERMS), r);
    double c = __builtin_fma(z * z, TN_POLY_4(z, TN_COS_TERMS), __builtin_fma(-0.5, z, 1));
    return (tn_turned){s, c, tn_to_bits_f64(t)};
}

static inline double tn_sine_after(tn_turned t, uint64_t quarters)
{
    uint64_t q = t.quarters + quarters;
    double v = q & 1 ? t.cos : t.sin;
    return tn_from_bits_f64(tn_to_bits_f64(v) ^ (q & 2) << 62);
}

/* tn_NAME_near_f32 holds below a limit, tn_NAME_mid_f32 below TN_CIRCULAR_LIMIT; kernels call them
 * on whole blocks that are. Larger ones are rare and take the C library's reduction. */
static inline float tn_sin_mid_f32(float a)
{
    float r = (float)tn_sine_after(tn_turn(a), 0);
    return a == 0 ? a : r;
}
static inline float tn_cos_mid_f32(float a)
{
    return (float)tn_sine_after(tn_turn(a), 1);
}

/* In f32, which takes a third of the time, within 0.75 ulp. The first part of pi / 2 times n leaves
 * `high` exactly; the second has so few bits that r + low is exact too before the third. */
#define TN_SINE_LIMIT 400.0f
typedef struct {
    float sin, cos;
    uint32_t quarters;
} tn_turned_f32;
static inline tn_turned_f32 tn_turn_f32(float a)
{
    const float second = -0x1.777cp-25f, third = 0x1.a308d4p-41f;
    float t = __builtin_fmaf(a, 0x1.45f306p-1f, 0x1.8p23f), n = t - 0x1.8p23f;
    float high = __builtin_fmaf(-n, 0x1.921fb6p+0f, a), r = __builtin_fmaf(-n, second, high);
    float low = __builtin_fmaf(-n, third, __builtin_fmaf(-n, second, high - r));
    float z = r * r, half = 0.5f * r;
    float c = __builtin_fmaf(-half, r, 1), rest = __builtin_fmaf(-half, r, 1 - c);
    float s = __builtin_fmaf(-0x1.991c28p-13f, z, 0x1.1106c6p-7f);
    s = __builtin_fmaf(s, z, -0x1.555544p-3f);
    float q = __builtin_fmaf(0x1.99e33p-16f, z, -0x1.6c0c1ep-10f);
    q = __builtin_fmaf(q, z, 0x1.55554ap-5f);
    q = __builtin_fmaf(-r, low, __builtin_fmaf(z * z, q, rest));
    return (tn_turned_f32){r + __builtin_fmaf(r * z, s, low * c), c + q, tn_to_bits_f32(t)};
}
static inline float tn_sine_after_f32(tn_turned_f32 t, uint32_t quarters)
{
    uint32_t q = t.quarters + quarters;
    float v = q & 1 ? t.cos : t.sin;
    return tn_from_bits_f32(tn_to_bits_f32(v) ^ (q & 2) << 30);
}
static inline float tn_sin_near_f32(float a)
{
    float r = tn_sine_after_f32(tn_turn_f32(a), 0);
    return a == 0 ? a : r;
}
static inline float tn_cos_near_f32(float a)
{
    return tn_sine_after_f32(tn_turn_f32(a), 1);
}
#define TN_SINE(name)                                                                              \
    static inline float tn_##name##_below_f32(float a)                                             \
    {                                                                                              \
        float near = tn_##name##_near_f32(a), mid = tn_##name##_mid_f32(a);                        \
        return __builtin_fabsf(a) < TN_SINE_LIMIT ? near : mid;                                    \
    }                                                                                              \
    static inline float tn_##name##_f32(float a)                                                   \
    {                                                                                              \
        float size = __builtin_fabsf(a);                                                           \
        if (size < TN_SINE_LIMIT) return tn_##name##_near_f32(a);                                  \
        if (size < TN_CIRCULAR_LIMIT) return tn_##name##_mid_f32(a);                               \
        return (float)__builtin_##name((double)a);                                                 \
    }
// clang-format off
TN_SINE(sin)
TN_SINE(cos)
// clang-format on
#undef TN_SINE

static inline float tn_tan_near_f32(float a)
{
    tn_turned t = tn_turn(a);
    bool odd = t.quarters & 1;
    double over = odd ? -t.cos : t.sin, under = odd ? t.sin : t.cos;
    float r = (float)(over / under);
    return a == 0 ? a : r;
}
static inline float tn_tan_f32(float a)
{
    if (__builtin_fabsf(a) < TN_CIRCULAR_LIMIT) return tn_tan_near_f32(a);
    return (float)__builtin_tan((double)a);
}

/* The angle of the point (b, a): the tangent of at most pi / 4, above pi / 8 as pi / 4 plus that of
 * the difference, then put into its octant. */
static inline double tn_angle(double a, double b)
{
    double y = __builtin_fabs(a), x = __builtin_fabs(b);
    double low = y < x ? y : x, high = y < x ? x : y;
    bool infinite = low == __builtin_inf(), unscaled = infinite | (high == 0);
    low = infinite ? 1 : low;
    high = unscaled ? 1 : high;
    bool large = low > high * 0x1.a827999fcef32p-2;
    double over = large ? low - high : low, under = large ? low + high : high;
    double v = over / under, z = v * v;
    double r = __builtin_fma(v * z, TN_POLY_7(z, TN_ATAN_TERMS), v);
    r = large ? r + TN_PI_2 / 2 : r;
    r = y > x ? TN_PI_2 - r : r;
    r = tn_to_bits_f64(b) >> 63 ? 2 * TN_PI_2 - r : r;
    r = __builtin_copysign(r, a);
    return a == a && b == b ? r : a + b;
}
static inline float tn_atan2_f32(float a, float b)
{
    return (float)tn_angle(a, b);
}

/* --- remainder --- */

/* Where it holds the quotient has 29 bits at most, and so its product with b is exact. */
static inline bool tn_rem_is_near_f32(float a, float b)
{
    double size = __builtin_fabs((double)b);
    return (size < __builtin_inf()) & (__builtin_fabs((double)a) < size * 0x1p29);
}
/* The rounded quotient may be one too large. */
static inline float tn_rem_near_f32(float a, float b)
{
    double x = __builtin_fabs((double)a), y = __builtin_fabs((double)b);
    double r = __builtin_fma(-__builtin_trunc(x / y), y, x);
    r = r < 0 ? r + y : r;
    return __builtin_copysignf((float)r, a);
}
static inline float tn_rem_f32(float a, float b)
{
    return tn_rem_is_near_f32(a, b) ? tn_rem_near_f32(a, b) : __builtin_fmodf(a, b);
}

#endif
