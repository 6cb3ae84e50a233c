/* SPDX-License-Identifier: Apache-2.0 */
#include "test/accuracy/accuracy.h"

/* ops.def has a row named `complex`, so complex.h is declared around, not included. */
#include <math.h>

#if HAS_QUAD
typedef _Complex _Float128 complex_quad;
#define F(name) name##f128
#else
typedef _Complex long double complex_quad;
#define F(name) name##l
#endif

extern complex_quad F(cexp)(complex_quad), F(clog)(complex_quad), F(csqrt)(complex_quad),
    F(csin)(complex_quad), F(ccos)(complex_quad), F(ctan)(complex_quad), F(ctanh)(complex_quad),
    F(cpow)(complex_quad, complex_quad);
extern quad F(cabs)(complex_quad);

quad scale_quad(quad x, int exponent)
{
    return F(ldexp)(x, exponent);
}

int exponent_of_quad(quad x)
{
    int e;
    F(frexp)(x, &e);
    return e;
}

/* --- real --- */

#define REAL_1(name)                                                                               \
    static quad real_##name(double a, double b)                                                    \
    {                                                                                              \
        return F(name)((quad)a);                                                                   \
    }
// clang-format off
REAL_1(exp) REAL_1(expm1) REAL_1(log) REAL_1(log1p) REAL_1(sqrt) REAL_1(cbrt) REAL_1(sin)
REAL_1(cos) REAL_1(tan) REAL_1(tanh) REAL_1(erf) REAL_1(erfc)
    // clang-format on

    static quad real_rsqrt(double a, double b)
{
    return 1 / F(sqrt)((quad)a);
}
/* A rough root (Winitzki), then Halley's steps on erf or, where that is close to 1, on erfc. */
static quad real_erf_inv(double a, double b)
{
    const quad pi = 3.14159265358979323846264338327950288L, bend = (quad)0.147L;
    quad x = a < 0 ? -(quad)a : (quad)a;
    if (!(x < 1) || x == 0) return x == 1 || x == 0 ? (quad)a / (1 - x) : (quad)NAN;
    quad w = F(log1p)(-x * x), half = 2 / (pi * bend) + w / 2;
    quad z = F(sqrt)(F(sqrt)(half * half - w / bend) - half);
    if (x < 1e-9) z = x * F(sqrt)(pi) / 2;
    for (int i = 0; i < 4; i++) {
        quad error = x < 0.5 ? F(erf)(z) - x : (1 - x) - F(erfc)(z);
        quad u = error / (2 / F(sqrt)(pi) * F(exp)(-z * z));
        z -= u / (1 + z * u);
    }
    return a < 0 ? -z : z;
}
static quad real_logistic(double a, double b)
{
    return 1 / (1 + F(exp)(-(quad)a));
}
static quad real_atan2(double a, double b)
{
    return F(atan2)((quad)a, (quad)b);
}
static quad real_pow(double a, double b)
{
    return F(pow)((quad)a, (quad)b);
}

/* --- complex --- */

static complex_quad make(quad re, quad im)
{
    complex_quad z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

/* Products and quotients without the recovery of infinities. */
static complex_quad multiply(complex_quad a, complex_quad b)
{
    return make(__real__ a * __real__ b - __imag__ a * __imag__ b,
                __real__ a * __imag__ b + __imag__ a * __real__ b);
}
static complex_quad divide(complex_quad a, complex_quad b)
{
    quad d = __real__ b * __real__ b + __imag__ b * __imag__ b;
    complex_quad p = multiply(a, make(__real__ b, -__imag__ b));
    return make(__real__ p / d, __imag__ p / d);
}

static complex_quad expm1_of(complex_quad z)
{
    quad x = __real__ z, y = __imag__ z, half = F(sin)(y / 2);
    return make(F(expm1)(x) * F(cos)(y) - 2 * half * half, F(exp)(x) * F(sin)(y));
}
static complex_quad log1p_of(complex_quad z)
{
    quad x = __real__ z, y = __imag__ z;
    quad size = x < 0.5 && x > -0.5 && y < 0.5 && y > -0.5 ? F(log1p)(x * (2 + x) + y * y) / 2
                                                           : F(log)(F(hypot)(1 + x, y));
    return make(size, F(atan2)(y, 1 + x));
}
static complex_quad logistic_of(complex_quad z)
{
    complex_quad e = F(cexp)(make(-__real__ z, -__imag__ z));
    return divide(make(1, 0), make(1 + __real__ e, __imag__ e));
}
static complex_quad rsqrt_of(complex_quad z)
{
    return divide(make(1, 0), F(csqrt)(z));
}
static complex_quad cbrt_of(complex_quad z)
{
    quad size = F(cbrt)(F(cabs)(z)), angle = F(atan2)(__imag__ z, __real__ z) / 3;
    return make(size * F(cos)(angle), size * F(sin)(angle));
}
static complex_quad sign_of(complex_quad z)
{
    quad size = F(cabs)(z);
    return size == 0 ? z : make(__real__ z / size, __imag__ z / size);
}

#define COMPLEX_1(name, of)                                                                        \
    static void complex_##name(const double *a, const double *b, quad *out)                        \
    {                                                                                              \
        complex_quad z = of(make(a[0], a[1]));                                                     \
        out[0] = __real__ z;                                                                       \
        out[1] = __imag__ z;                                                                       \
    }
// clang-format off
COMPLEX_1(exp, F(cexp)) COMPLEX_1(expm1, expm1_of) COMPLEX_1(log, F(clog))
COMPLEX_1(log1p, log1p_of) COMPLEX_1(sqrt, F(csqrt)) COMPLEX_1(rsqrt, rsqrt_of)
COMPLEX_1(cbrt, cbrt_of) COMPLEX_1(sin, F(csin)) COMPLEX_1(cos, F(ccos)) COMPLEX_1(tan, F(ctan))
COMPLEX_1(tanh, F(ctanh)) COMPLEX_1(logistic, logistic_of) COMPLEX_1(sign, sign_of)
    // clang-format on

    static void complex_pow(const double *a, const double *b, quad *out)
{
    complex_quad z = F(cpow)(make(a[0], a[1]), make(b[0], b[1]));
    out[0] = __real__ z;
    out[1] = __imag__ z;
}
static void complex_div(const double *a, const double *b, quad *out)
{
    complex_quad z = divide(make(a[0], a[1]), make(b[0], b[1]));
    out[0] = __real__ z;
    out[1] = __imag__ z;
}
static quad real_div(double a, double b)
{
    return (quad)a / (quad)b;
}
static quad real_sign(double a, double b)
{
    return a > 0 ? 1 : a < 0 ? -1 : a;
}

const function functions[] = {
    {"exponential", TN_OP_exponential, 1, real_exp, complex_exp, 80},
    {"exponential_minus_one", TN_OP_exponential_minus_one, 1, real_expm1, complex_expm1, 80, true},
    {"log", TN_OP_log, 1, real_log, complex_log, 1e30},
    {"log_plus_one", TN_OP_log_plus_one, 1, real_log1p, complex_log1p, 1e15},
    {"sqrt", TN_OP_sqrt, 1, real_sqrt, complex_sqrt, 1e30},
    {"rsqrt", TN_OP_rsqrt, 1, real_rsqrt, complex_rsqrt, 1e30},
    {"cbrt", TN_OP_cbrt, 1, real_cbrt, complex_cbrt, 1e30},
    {"sine", TN_OP_sine, 1, real_sin, complex_sin, 80},
    {"cosine", TN_OP_cosine, 1, real_cos, complex_cos, 80},
    {"tan", TN_OP_tan, 1, real_tan, complex_tan, 80},
    {"tanh", TN_OP_tanh, 1, real_tanh, complex_tanh, 80},
    {"erf", TN_OP_erf, 1, real_erf, NULL, 0},
    {"erfc", TN_OP_erfc, 1, real_erfc, NULL, 0},
    {"erf_inv", TN_OP_erf_inv, 1, real_erf_inv, NULL, 0},
    {"logistic", TN_OP_logistic, 1, real_logistic, complex_logistic, 80, true},
    {"sign", TN_OP_sign, 1, real_sign, complex_sign, 1e15},
    {"atan2", TN_OP_atan2, 2, real_atan2, NULL, 0},
    {"power", TN_OP_power, 2, real_pow, complex_pow, 20, true},
    {"divide", TN_OP_divide, 2, real_div, complex_div, 1e15, true},
    {0}};
