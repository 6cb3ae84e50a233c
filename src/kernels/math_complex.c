/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "kernels/math_complex.h"

/* --- sums in two parts --- */

typedef struct {
    double high, low;
} pair;

static pair add(double a, double b)
{
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

static pair square(double a)
{
    double p = a * a;
    return (pair){p, fma(a, a, -p)};
}

/* log |x + one + iy| where that is near 1: squares in two parts, since what is left of the sum less
 * 1 may be as small as their rounding. False: it is too small for that. */
static bool log_near_one(double x, double one, double y, double *out)
{
    pair xx = square(x), yy = square(y);
    /* (x + 1)^2 - 1 = x^2 + 2x */
    pair s = one ? add(2 * x, xx.high) : add(xx.high, -1);
    pair t = fabs(yy.high) > fabs(s.high) ? add(yy.high, s.high) : add(s.high, yy.high);
    pair low = add(xx.low, yy.low), u = add(t.high, low.high);
    *out = 0.5 * log1p(u.high + (u.low + (t.low + (s.low + low.low))));
    return t.high > -0.75;
}

/* log |a|: from the parts where |a| is near 1, since hypot would have rounded the difference from 1
 * away. */
static double log_abs(double re, double im)
{
    double x = fabs(re), y = fabs(im);
    if (x < y) {
        double t = x;
        x = y;
        y = t;
    }
    double near;
    if (x > 0.5 && x < 1.5 && log_near_one(x, 0, y, &near)) return near;
    return log(hypot(x, y));
}

double _Complex tn_log_c128(double _Complex a)
{
    return tn_complex_f64(log_abs(creal(a), cimag(a)), atan2(cimag(a), creal(a)));
}

double _Complex tn_log1p_c128(double _Complex a)
{
    double x = creal(a), y = cimag(a), size;
    bool near = x > -2.5 && x < 0.5 && fabs(y) < 1.5 && log_near_one(x, 1, y, &size);
    return tn_complex_f64(near ? size : log_abs(1 + x, y), atan2(y, 1 + x));
}

double _Complex tn_exp_c128(double _Complex a)
{
    return cexp(a);
}

/* exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 */
double _Complex tn_expm1_c128(double _Complex a)
{
    double x = creal(a), y = cimag(a);
    if (y == 0) return tn_complex_f64(expm1(x), y);
    double half = sin(y / 2);
    if (!(fabs(x) < 700)) return cexp(a) - 1;
    return tn_complex_f64(tn_sum_of_products(expm1(x), cos(y), -2 * half, half), exp(x) * sin(y));
}

/* What C's annex G makes of a quotient that came out as NaN in both parts: finite / inf is 0,
 * inf / finite and nonzero / 0 are inf. */
static double _Complex recover_quotient(double ar, double ai, double br, double bi)
{
    if (br == 0 && bi == 0 && !(isnan(ar) && isnan(ai))) {
        double inf = copysign(INFINITY, br);
        return tn_complex_f64(inf * ar, inf * ai);
    }
    if ((isinf(ar) || isinf(ai)) && isfinite(br) && isfinite(bi)) {
        ar = copysign(isinf(ar) ? 1 : 0, ar);
        ai = copysign(isinf(ai) ? 1 : 0, ai);
        return tn_complex_f64(INFINITY * (ar * br + ai * bi), INFINITY * (ai * br - ar * bi));
    }
    if ((isinf(br) || isinf(bi)) && isfinite(ar) && isfinite(ai)) {
        br = copysign(isinf(br) ? 1 : 0, br);
        bi = copysign(isinf(bi) ? 1 : 0, bi);
        return tn_complex_f64(0 * (ar * br + ai * bi), 0 * (ai * br - ar * bi));
    }
    return tn_complex_f64(NAN, NAN);
}

/* (a conj b) / |b|^2 with both scaled to sizes whose products neither overflow nor vanish. */
double _Complex tn_quotient_c128(double _Complex a, double _Complex b)
{
    double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
    double size = fmax(fabs(br), fabs(bi)), top = fmax(fabs(ar), fabs(ai));
    if (!(size > 0 && size <= DBL_MAX && top > 0 && top <= DBL_MAX)) {
        double d = br * br + bi * bi, re = (ar * br + ai * bi) / d, im = (ai * br - ar * bi) / d;
        return isnan(re) && isnan(im) ? recover_quotient(ar, ai, br, bi) : tn_complex_f64(re, im);
    }
    int n = -ilogb(size), m = -ilogb(top);
    br = scalbn(br, n);
    bi = scalbn(bi, n);
    ar = scalbn(ar, m);
    ai = scalbn(ai, m);
    double d = tn_sum_of_products(br, br, bi, bi);
    double re = tn_sum_of_products(ar, br, ai, bi) / d,
           im = tn_sum_of_products(ai, br, -ar, bi) / d;
    return tn_complex_f64(scalbn(re, n - m), scalbn(im, n - m));
}

double _Complex tn_sqrt_c128(double _Complex a)
{
    return csqrt(a);
}

/* Is a part so small that a function of it may be subnormal half way, where a * 2^600 is not? */
static bool is_tiny(double _Complex a)
{
    double x = fabs(creal(a)), y = fabs(cimag(a));
    return fmin(x, y) < 0x1p-600 && fmax(x, y) < 0x1p300 && (x > 0 || y > 0);
}

static double _Complex scaled(double _Complex a, double by)
{
    return tn_complex_f64(creal(a) * by, cimag(a) * by);
}

double _Complex tn_rsqrt_c128(double _Complex a)
{
    return tn_div_c128(1, csqrt(a));
}

double _Complex tn_sign_c128(double _Complex a)
{
    if (tn_sign_is_near_c128(a)) return tn_sign_near_c128(a);
    if (is_tiny(a)) a = scaled(a, 0x1p600);
    double size = tn_abs_c128(a);
    if (size == 0) return a;
    return tn_complex_f64(creal(a) / size, cimag(a) / size);
}

/* The power's logarithm times the exponent may be thousands, whose last places are many of the
 * result: f64 is computed in long double. */
double _Complex tn_pow_c128(double _Complex a, double _Complex b)
{
    if (b == 0) return 1;
    if (a == 0 && creal(b) > 0) return 0;
    return (double _Complex)cpowl(a, b);
}
float _Complex tn_pow_c64(float _Complex a, float _Complex b)
{
    if (b == 0) return 1;
    if (a == 0 && crealf(b) > 0) return 0;
    return (float _Complex)cpow(a, b);
}

double _Complex tn_cbrt_c128(double _Complex a)
{
    if (a == 0) return a;
    if (is_tiny(a)) return scaled(tn_cbrt_c128(scaled(a, 0x1p600)), 0x1p-200);
    double size = cbrt(tn_abs_c128(a)), angle = carg(a) / 3;
    double im = size * sin(angle);
    /* An angle too small for its own last places. */
    if (fabs(angle) < 0x1p-1000 && size < INFINITY) im = cimag(a) / size / size / 3;
    return tn_complex_f64(size * cos(angle), im);
}

/* 1 + e^-a, for x >= 0, is (1 - e^-x) + 2 e^-x cos(y/2)^2 - i e^-x sin(y): nothing of it cancels
 * near the poles. For x < 0 all is multiplied by e^a. */
double _Complex tn_logistic_c128(double _Complex a)
{
    double x = creal(a), y = cimag(a);
    if (y == 0) return tn_complex_f64(1 / (1 + exp(-x)), y);
    double e = exp(-fabs(x)), half = cos(y / 2), sine = sin(y);
    double re = tn_sum_of_products(2 * e * half, half, -expm1(-fabs(x)), 1);
    if (x >= 0) return tn_div_c128(1, tn_complex_f64(re, -e * sine));
    return tn_div_c128(tn_complex_f64(e * cos(y), e * sine), tn_complex_f64(re, e * sine));
}

/* -i log((b + i a) / sqrt(a^2 + b^2)) */
double _Complex tn_atan2_c128(double _Complex a, double _Complex b)
{
    double _Complex i = tn_complex_f64(0, 1);
    double _Complex r = csqrt(tn_mul_c128(a, a) + tn_mul_c128(b, b));
    double _Complex l = tn_log_c128(tn_div_c128(b + tn_mul_c128(i, a), r));
    return tn_complex_f64(cimag(l), -creal(l));
}

double _Complex tn_sin_c128(double _Complex a)
{
    return csin(a);
}
double _Complex tn_cos_c128(double _Complex a)
{
    return ccos(a);
}
double _Complex tn_tan_c128(double _Complex a)
{
    return ctan(a);
}
double _Complex tn_tanh_c128(double _Complex a)
{
    return ctanh(a);
}

/* complex<f32> is computed in f64, where nothing of it overflows half way, and rounded once. */
#define THROUGH_C128_1(name)                                                                       \
    float _Complex tn_##name##_c64(float _Complex a)                                               \
    {                                                                                              \
        return (float _Complex)tn_##name##_c128(a);                                                \
    }
#define THROUGH_C128_2(name)                                                                       \
    float _Complex tn_##name##_c64(float _Complex a, float _Complex b)                             \
    {                                                                                              \
        return (float _Complex)tn_##name##_c128(a, b);                                             \
    }
/* So is what has a short way. */
#define NEAR_OR_C128(name, test)                                                                   \
    float _Complex tn_##name##_c64(float _Complex a)                                               \
    {                                                                                              \
        return tn_##test##_is_near_c64(a) ? tn_##name##_near_c64(a)                                \
                                          : (float _Complex)tn_##name##_c128(a);                   \
    }
// clang-format off
THROUGH_C128_1(cbrt) THROUGH_C128_1(logistic)
THROUGH_C128_2(atan2)
NEAR_OR_C128(cos, sin) NEAR_OR_C128(expm1, exp) NEAR_OR_C128(log, log) NEAR_OR_C128(log1p, log1p)
NEAR_OR_C128(rsqrt, log) NEAR_OR_C128(sin, sin) NEAR_OR_C128(sqrt, log) NEAR_OR_C128(tan, tanh)
NEAR_OR_C128(tanh, tanh)
    // clang-format on
