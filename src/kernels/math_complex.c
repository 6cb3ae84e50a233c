/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>

#include "kernels/math_complex.h"

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
    if (x > 0.5 && x < 1.5) return 0.5 * log1p((x - 1) * (x + 1) + y * y);
    return log(hypot(x, y));
}

double _Complex tn_log_c128(double _Complex a)
{
    return tn_complex_f64(log_abs(creal(a), cimag(a)), atan2(cimag(a), creal(a)));
}

/* |1 + a|^2 - 1 = x (2 + x) + y^2, which doesn't cancel near 0. */
double _Complex tn_log1p_c128(double _Complex a)
{
    double x = creal(a), y = cimag(a);
    double re =
        fabs(x) < 0.5 && fabs(y) < 0.5 ? 0.5 * log1p(x * (2 + x) + y * y) : log_abs(1 + x, y);
    return tn_complex_f64(re, atan2(y, 1 + x));
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
    return tn_complex_f64(expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y));
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

/* Smith's division, scaled by the larger part of the divisor. */
double _Complex tn_div_c128(double _Complex a, double _Complex b)
{
    double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b), re, im;
    if (fabs(br) >= fabs(bi)) {
        double ratio = bi / br, d = br + bi * ratio;
        re = (ar + ai * ratio) / d;
        im = (ai - ar * ratio) / d;
    } else {
        double ratio = br / bi, d = br * ratio + bi;
        re = (ar * ratio + ai) / d;
        im = (ai * ratio - ar) / d;
    }
    if (isnan(re) && isnan(im)) return recover_quotient(ar, ai, br, bi);
    return tn_complex_f64(re, im);
}

double _Complex tn_sqrt_c128(double _Complex a)
{
    return csqrt(a);
}

double _Complex tn_rsqrt_c128(double _Complex a)
{
    return tn_div_c128(1, csqrt(a));
}

double _Complex tn_sign_c128(double _Complex a)
{
    double size = tn_abs_c128(a);
    if (size == 0) return a;
    return tn_complex_f64(creal(a) / size, cimag(a) / size);
}

double _Complex tn_pow_c128(double _Complex a, double _Complex b)
{
    if (b == 0) return 1;
    if (a == 0) return creal(b) > 0 ? 0 : cpow(a, b);
    return cpow(a, b);
}

double _Complex tn_cbrt_c128(double _Complex a)
{
    if (a == 0) return a;
    double size = cbrt(tn_abs_c128(a)), angle = carg(a) / 3;
    return tn_complex_f64(size * cos(angle), size * sin(angle));
}

double _Complex tn_logistic_c128(double _Complex a)
{
    if (creal(a) >= 0) return tn_div_c128(1, 1 + cexp(-a));
    double _Complex e = cexp(a);
    return tn_div_c128(e, 1 + e);
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
// clang-format off
THROUGH_C128_1(cbrt) THROUGH_C128_1(cos) THROUGH_C128_1(expm1)
THROUGH_C128_1(log) THROUGH_C128_1(log1p) THROUGH_C128_1(logistic) THROUGH_C128_1(rsqrt)
THROUGH_C128_1(sign) THROUGH_C128_1(sin) THROUGH_C128_1(sqrt) THROUGH_C128_1(tan)
THROUGH_C128_1(tanh)
THROUGH_C128_2(atan2) THROUGH_C128_2(pow)
    // clang-format on
