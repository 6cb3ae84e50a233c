/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/special.h"

#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/math_scalar.h"

#define PI 3.141592653589793238462643383279502884L

/* --- gamma and its like --- */

static long double lgamma_of(const long double *x)
{
    int sign;
    return lgammal_r(*x, &sign);
}

/* B(2k) / (2k), k = 1, 2, ... */
static const long double digamma_terms[] = {
    1.0L / 12,       -1.0L / 120, 1.0L / 252,      -1.0L / 240,      1.0L / 132,
    -691.0L / 32760, 1.0L / 12,   -3617.0L / 8160, 43867.0L / 14364, -174611.0L / 6600};

static long double digamma(long double x)
{
    if (isnan(x) || x == -INFINITY) return NAN;
    if (x <= 0 && x == floorl(x)) return NAN;
    if (x < 0) { /* psi(x) = psi(1 - x) - pi / tan(pi x), of which the tangent has period 1 */
        long double f = x - floorl(x);
        return digamma(1 - x) - (f == 0.5L ? 0 : PI / tanl(PI * (f > 0.5L ? f - 1 : f)));
    }
    long double sum = 0;
    for (; x < 20; x += 1) sum -= 1 / x;
    if (isinf(x)) return x;
    long double y = 1 / (x * x), p = 0;
    for (size_t k = sizeof digamma_terms / sizeof *digamma_terms; k-- > 0;)
        p = (p + digamma_terms[k]) * y;
    return sum + (logl(x) - 0.5L / x - p);
}

static long double digamma_of(const long double *x)
{
    return digamma(*x);
}

/* (2k)! / B(2k), by which the terms of Euler and Maclaurin are divided. */
static const long double zeta_divisors[] = {12.0L,
                                            -720.0L,
                                            30240.0L,
                                            -1209600.0L,
                                            47900160.0L,
                                            -1307674368000.0L / 691,
                                            74724249600.0L,
                                            -10670622842880000.0L / 3617,
                                            5109094217170944000.0L / 43867,
                                            -802857662698291200000.0L / 174611};

enum { ZETA_STEPS = 100000 };

/* Sum of (q + n)^-x over n >= 0: the first terms one by one, the rest by Euler and Maclaurin. */
static long double zeta(long double x, long double q)
{
    if (isnan(x) || isnan(q) || x < 1) return NAN;
    if (x == 1) return INFINITY;
    if (q <= 0 && q == floorl(q)) return x == floorl(x) && fmodl(x, 2) == 0 ? INFINITY : NAN;
    if (q <= 0 && x != floorl(x)) return NAN;
    if (isinf(x)) return q > 1 ? 0 : q == 1 ? 1 : INFINITY;
    /* The rest wants to begin well behind x. */
    long double sum = 0, a = q, begin = 2 * x + 20;
    for (int i = 0; a < begin && i < ZETA_STEPS; i++, a += 1) {
        long double term = powl(a, -x);
        sum += term;
        if (a > 0 && term < sum * 1e-22L) return sum;
    }
    if (a < begin) return NAN;
    long double p = powl(a, -x), f = x, w = p / a;
    sum += p * a / (x - 1) + 0.5L * p;
    for (size_t k = 0; k < sizeof zeta_divisors / sizeof *zeta_divisors; k++) {
        sum += f * w / zeta_divisors[k];
        f *= (x + 2 * (long double)k + 1) * (x + 2 * (long double)k + 2);
        w /= a * a;
    }
    return sum;
}

static long double zeta_of(const long double *in)
{
    return zeta(in[0], in[1]);
}

static long double polygamma_of(const long double *in)
{
    long double n = in[0], x = in[1];
    if (!(n >= 0) || n != floorl(n)) return NAN;
    if (n == 0) return digamma(x);
    long double sign = fmodl(n, 2) == 0 ? -1 : 1, z = zeta(n + 1, x);
    long double factorial = tgammal(n + 1);
    if (isfinite(factorial)) return sign * factorial * z;
    int ignored;
    return sign * expl(lgammal_r(n + 1, &ignored) + logl(z));
}

/* --- error functions --- */

static long double erf_of(const long double *x)
{
    return erfl(*x);
}
static long double erfc_of(const long double *x)
{
    return erfcl(*x);
}

/* A rough root (Winitzki), then Halley's steps on erf or, where that is close to 1, on erfc. */
static long double erf_inv_of(const long double *in)
{
    long double x = fabsl(*in);
    if (!(x < 1)) return x == 1 ? copysignl(INFINITY, *in) : (long double)NAN;
    if (x < 1e-12L) return *in * (sqrtl(PI) / 2);
    const long double a = 0.147L;
    long double w = log1pl(-x * x), b = 2 / (PI * a) + w / 2;
    long double z = sqrtl(sqrtl(b * b - w / a) - b);
    for (int i = 0; i < 4; i++) {
        long double error = x < 0.5L ? erfl(z) - x : (1 - x) - erfcl(z);
        long double u = error / (2 / sqrtl(PI) * expl(-z * z));
        z -= u / (1 + z * u);
    }
    return copysignl(z, *in);
}

double tn_erf_inv_f64(double a)
{
    const long double wide = a;
    return (double)erf_inv_of(&wide);
}

/* --- Bessel --- */

/* exp(-|x|) I1(x): all terms of the series are positive; from 40 on the asymptotic one is exact. */
static long double bessel_i1e_of(const long double *in)
{
    long double x = fabsl(*in);
    if (isnan(x)) return x;
    if (isinf(x)) return copysignl(0, *in);
    long double sum = 1, term = 1;
    if (x < 40) {
        for (int k = 1; k < 400 && term > sum * 1e-22L; k++) {
            term *= x * x / 4 / ((long double)k * (k + 1));
            sum += term;
        }
        return *in / 2 * sum * expl(-x);
    }
    for (int k = 1; k < 60; k++) {
        long double next = term * ((2 * k - 1) * (2 * k - 1) - 4) / ((long double)k * 8 * x);
        if (fabsl(next) >= fabsl(term)) break;
        term = next;
        sum += term;
        if (fabsl(term) < 1e-22L) break;
    }
    return copysignl(sum / sqrtl(2 * PI * x), *in);
}

/* --- elementary ones --- */

#define ELEMENTARY(name)                                                                           \
    static long double name##_of(const long double *x)                                             \
    {                                                                                              \
        return name##l(*x);                                                                        \
    }                                                                                              \
    static void complex_##name(const long double *in, long double *out)                            \
    {                                                                                              \
        long double _Complex z, w; /* laid out as an array of two (C17, 6.2.5) */                  \
        memcpy(&z, in, sizeof z);                                                                  \
        w = c##name##l(z);                                                                         \
        memcpy(out, &w, sizeof w);                                                                 \
    }
ELEMENTARY(acos)
ELEMENTARY(acosh)
ELEMENTARY(asin)
ELEMENTARY(asinh)
ELEMENTARY(atan)
ELEMENTARY(atanh)
ELEMENTARY(cosh)
ELEMENTARY(sinh)
#undef ELEMENTARY

#define BOTH(name) {#name, 1, name##_of, complex_##name}
static const tn_special_function functions[] = {
    BOTH(acos),
    BOTH(acosh),
    BOTH(asin),
    BOTH(asinh),
    BOTH(atan),
    BOTH(atanh),
    BOTH(cosh),
    BOTH(sinh),
    {"bessel_i1e", 1, bessel_i1e_of, NULL},
    {"digamma", 1, digamma_of, NULL},
    {"erf", 1, erf_of, NULL},
    {"erf_inv", 1, erf_inv_of, NULL},
    {"erfc", 1, erfc_of, NULL},
    {"lgamma", 1, lgamma_of, NULL},
    {"polygamma", 2, polygamma_of, NULL},
    {"zeta", 2, zeta_of, NULL},
};

const tn_special_function *tn_special_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return &functions[i];
    return NULL;
}
