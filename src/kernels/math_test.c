/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions against the C library's long double ones, and the builds of the kernels
 * against each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/elementwise.h"
#include "kernels/math_scalar.h"
#include "kernels/special.h"

static uint64_t state = 0x9E3779B97F4A7C15u;
static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Distance in units of the last place that the exact value has in the type. */
static double ulps(long double got, long double want, int mantissa, int least)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(got) || isinf(want)) {
        long double huge = ldexpl(1, mantissa == 24 ? 128 : 1024);
        if (isinf(got) && isinf(want)) return got == want ? 0 : INFINITY;
        if (isinf(got)) got = copysignl(huge, got);
        if (fabsl(want) >= huge) return got == copysignl(huge, want) ? 0 : INFINITY;
    }
    int e;
    frexpl(want, &e);
    e = e - mantissa < least ? least : e - mantissa;
    return (double)(fabsl(got - want) / ldexpl(1, e));
}
static double ulps_f32(float got, long double want)
{
    return ulps(got, want, 24, -149);
}
static double ulps_f64(double got, long double want)
{
    return ulps(got, want, 53, -1074);
}

static long double logistic(long double x)
{
    return 1 / (1 + expl(-x));
}
static long double rsqrt(long double x)
{
    return 1 / sqrtl(x);
}
static long double erf_inv(long double x)
{
    return tn_special_find("erf_inv")->real(&x);
}

/* Any float, or one of the size that functions bend at. */
static double sample(int i, bool single)
{
    uint64_t bits = random_bits();
    static const double sizes[] = {1e-3, 0.3, 1, 2, 10, 100, 800, 1e5, 1e12, 1e-30};
    double v = ((double)(int64_t)bits * 0x1p-63) * sizes[i % 10];
    if (i % 4 == 0) {
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        if (single) v = f;
        else memcpy(&v, &bits, sizeof v);
    } else if (i % 4 == 1) {
        v = 1 + v / 1024; /* near 1 */
    }
    if (isnan(v)) v = NAN; /* a quiet one */
    return single ? (float)v : v;
}

#define SAMPLES 100000

#define CHECK_1(T, s, name, exact, limit)                                                          \
    do {                                                                                           \
        double worst = 0, at = 0;                                                                  \
        for (int i = 0; i < SAMPLES; i++) {                                                        \
            T x = (T)sample(i, sizeof(T) == 4);                                                    \
            double u = ulps_##s(tn_##name##_##s(x), exact((long double)x));                        \
            if (u > worst) worst = u, at = (double)x;                                              \
        }                                                                                          \
        print_message(#name " " #s ": %.3f ulp at %.17g\n", worst, at);                            \
        if (worst > limit) fail_msg(#name " " #s ": %.3f ulp at %.17g", worst, at);                \
    } while (0)
#define CHECK_2(T, s, name, exact, limit)                                                          \
    do {                                                                                           \
        double worst = 0, at = 0, beside = 0;                                                      \
        for (int i = 0; i < SAMPLES; i++) {                                                        \
            T x = (T)sample(i, sizeof(T) == 4), y = (T)sample(i / 7, sizeof(T) == 4);              \
            double u = ulps_##s(tn_##name##_##s(x, y), exact((long double)x, (long double)y));     \
            if (u > worst) worst = u, at = (double)x, beside = (double)y;                          \
        }                                                                                          \
        print_message(#name " " #s ": %.3f ulp at %.17g, %.17g\n", worst, at, beside);             \
        if (worst > limit) fail_msg(#name " " #s ": %.3f ulp at %.17g, %.17g", worst, at, beside); \
    } while (0)

static void f32_functions_are_accurate(void **unused)
{
    CHECK_1(float, f32, exp, expl, 1);
    CHECK_1(float, f32, expm1, expm1l, 0.52);
    CHECK_1(float, f32, log, logl, 1);
    CHECK_1(float, f32, log1p, log1pl, 1);
    CHECK_1(float, f32, tanh, tanhl, 1);
    CHECK_1(float, f32, erf, erfl, 1);
    CHECK_1(float, f32, erfc, erfcl, 2.5);
    CHECK_1(float, f32, erf_inv, erf_inv, 1.95);
    CHECK_1(float, f32, logistic, logistic, 1);
    CHECK_1(float, f32, sin, sinl, 0.76);
    CHECK_1(float, f32, cos, cosl, 0.76);
    CHECK_1(float, f32, tan, tanl, 0.52);
    CHECK_1(float, f32, cbrt, cbrtl, 0.52);
    CHECK_1(float, f32, rsqrt, rsqrt, 0.6);
    CHECK_1(float, f32, sqrt, sqrtl, 0.5);
    CHECK_2(float, f32, atan2, atan2l, 0.52);
    CHECK_2(float, f32, pow, powl, 0.66);
    CHECK_2(float, f32, rem, fmodl, 0);
}

static void f64_functions_are_accurate(void **unused)
{
    CHECK_1(double, f64, exp, expl, 1);
    CHECK_1(double, f64, expm1, expm1l, 1.6);
    CHECK_1(double, f64, log, logl, 1);
    CHECK_1(double, f64, log1p, log1pl, 1);
    CHECK_1(double, f64, tanh, tanhl, 1.2);
    CHECK_1(double, f64, logistic, logistic, 1.1);
    CHECK_1(double, f64, sin, sinl, 1);
    CHECK_1(double, f64, cos, cosl, 1);
    CHECK_1(double, f64, tan, tanl, 1);
    CHECK_1(double, f64, cbrt, cbrtl, 2);
    CHECK_1(double, f64, rsqrt, rsqrt, 0.6);
    CHECK_1(double, f64, sqrt, sqrtl, 0.5);
    CHECK_2(double, f64, atan2, atan2l, 1);
    CHECK_2(double, f64, pow, powl, 1);
    CHECK_2(double, f64, rem, fmodl, 0);
}

/* Just beside multiples, where a rounded quotient is off by one. */
static void remainders_are_exact(void **unused)
{
    for (int i = 0; i < 300000; i++) {
        double b = sample(i, true), q = (double)(random_bits() >> (14 + i % 50));
        double a = q * b;
        float f = (float)(b * (double)(random_bits() >> (35 + i % 29))), g = (float)b;
        for (int side = 0; side < 3; side++) {
            assert_true(ulps_f64(tn_rem_f64(a, b), fmod(a, b)) == 0);
            assert_true(ulps_f32(tn_rem_f32(f, g), fmodf(f, g)) == 0);
            a = nextafter(a, side ? INFINITY : -INFINITY);
            f = nextafterf(f, side ? INFINITY : -INFINITY);
            if (side == 1) a = nextafter(a, INFINITY), f = nextafterf(f, INFINITY);
        }
    }
}

static const double specials[] = {
    0,       -0.0,     1,       -1,     0.5,     -0.5,  2,        -2,        3,     -3,    1e-45,
    -1e-45,  1e-310,   -1e-310, 3.4e38, -3.4e38, 1e308, -1e308,   88.7,      88.73, -87.4, -103.9,
    -104.1,  709.7,    710,     -745,   -746,    127,   128,      -126,      1e30,  -1e30, 0x1p30,
    -0x1p30, 16777217, 0x1p53,  1.5,    2.5,     -2.5,  INFINITY, -INFINITY, NAN};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* The same number, zero's sign and infinity included. */
#define SAME(T, s, got, want, limit, ...)                                                          \
    do {                                                                                           \
        T g = got;                                                                                 \
        long double w = want;                                                                      \
        if (ulps_##s(g, w) > limit || (g == 0 && w == 0 && !signbit(g) != !signbit(w)))            \
            fail_msg(__VA_ARGS__);                                                                 \
    } while (0)
#define SPECIAL_1(T, s, name, exact)                                                               \
    for (int i = 0; i < SPECIALS; i++) {                                                           \
        T x = (T)specials[i];                                                                      \
        SAME(T, s, tn_##name##_##s(x), exact((long double)x), 2, #name " " #s " of %g is %g",      \
             (double)x, (double)tn_##name##_##s(x));                                               \
    }
#define SPECIAL_2(T, s, name, exact)                                                               \
    for (int i = 0; i < SPECIALS * SPECIALS; i++) {                                                \
        T x = (T)specials[i / SPECIALS], y = (T)specials[i % SPECIALS];                            \
        SAME(T, s, tn_##name##_##s(x, y), exact((long double)x, (long double)y), 2,                \
             #name " " #s " of %g and %g is %g", (double)x, (double)y,                             \
             (double)tn_##name##_##s(x, y));                                                       \
    }

static void special_values_are_those_of_c(void **unused)
{
#define BOTH_1(name, exact) SPECIAL_1(float, f32, name, exact) SPECIAL_1(double, f64, name, exact)
#define BOTH_2(name, exact) SPECIAL_2(float, f32, name, exact) SPECIAL_2(double, f64, name, exact)
    BOTH_1(exp, expl)
    BOTH_1(expm1, expm1l)
    BOTH_1(log, logl)
    BOTH_1(log1p, log1pl)
    BOTH_1(tanh, tanhl)
    BOTH_1(erf, erfl)
    BOTH_1(erfc, erfcl)
    BOTH_1(erf_inv, erf_inv)
    BOTH_1(logistic, logistic)
    BOTH_1(sin, sinl)
    BOTH_1(cos, cosl)
    BOTH_1(tan, tanl)
    BOTH_1(cbrt, cbrtl)
    BOTH_1(rsqrt, rsqrt)
    BOTH_1(sqrt, sqrtl)
    BOTH_1(ceil, ceill)
    BOTH_1(floor, floorl)
    BOTH_1(rint, rintl)
    BOTH_1(round, roundl)
    BOTH_2(atan2, atan2l)
    BOTH_2(pow, powl)
    BOTH_2(rem, fmodl)
    /* What ends at a limit reaches it, between the last part of tanh and infinity. */
    for (float x = 9.02f; x < 1e38f; x *= 1.5f) {
        assert_true(tn_tanh_f32(x) == 1 && tn_tanh_f32(-x) == -1);
        assert_true(tn_logistic_f32(x + 9) == 1 && tn_exp_f32(-x - 96) == 0);
    }
    assert_true(tn_tanh_f32(INFINITY) == 1 && tn_tanh_f32(-INFINITY) == -1);
    assert_true(tn_pow_f32(-1, INFINITY) == 1 && tn_pow_f32(1, NAN) == 1);
}

/* NaN, of which the sign and the payload are nobody's promise. Complex numbers: any part. */
static bool is_nan(tn_element_type e, const void *p)
{
    tn_kernel k;
    double v[2] = {0, 0};
    bool is_complex = tn_is_complex(e);
    assert_true(tn_kernel_convert(TN_ISA_BASELINE, e, is_complex ? TN_C128 : TN_F64, &k));
    tn_kernel_run(&k, 1, &p, v);
    return isnan(v[0]) || isnan(v[1]);
}
static bool same_element(const tn_kernel *k, tn_element_type e, const char *x, const char *y)
{
    if (!memcmp(x, y, k->out_step)) return true;
    if (k->out_step != k->in_step[0]) e = tn_real_type(e);
    return k->out_step == tn_element_type_bytes(e) && is_nan(e, x) && is_nan(e, y);
}

/* Just beside whole quotients, of which those of all elements of a block are made in f64. */
static void quotients_of_64_bits_are_exact(void **unused)
{
    enum { N = 4096 };
    static int64_t a[N], b[N], q[N], r[N];
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < N; i++) {
            int bits = 1 + (int)(random_bits() % 50);
            b[i] = (int64_t)(random_bits() >> (63 - bits)) | 1;
            if (b[i] >= (int64_t)1 << 51) b[i] >>= 1;
            int64_t most = ((((int64_t)1 << 51) - 1) / b[i]);
            a[i] = (int64_t)(random_bits() >> 14) % most * b[i] +
                   (int64_t)(random_bits() >> 8) % 3 - 1;
            if (i % 7 == 0) a[i] = most * b[i] - 1;
            if (a[i] < 0) a[i] = 0;
            if (round & 1 && i & 1) a[i] = -a[i];
            if (round & 1 && i & 2) b[i] = -b[i];
        }
        if (round > 30) a[600] = -5, a[1000] = 77, b[1000] = -3;
        if (round > 36) a[700] = INT64_MIN, b[700] = -1, b[900] = 0;
        const void *in[] = {a, b};
        for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
            if (!tn_cpu_has((tn_isa)isa)) continue;
            tn_kernel div, rem;
            tn_element_type e = round & 1 ? TN_I64 : TN_U64;
            assert_true(tn_kernel_elementwise((tn_isa)isa, TN_OP_divide, e, &div));
            assert_true(tn_kernel_elementwise((tn_isa)isa, TN_OP_remainder, e, &rem));
            tn_kernel_run(&div, N, in, q);
            tn_kernel_run(&rem, N, in, r);
            for (int i = 0; i < N; i++) {
                int64_t want = b[i] == 0    ? -1
                               : b[i] == -1 ? (int64_t)(0 - (uint64_t)a[i])
                                            : a[i] / b[i];
                if (e == TN_U64) want = b[i] == 0 ? -1 : (int64_t)((uint64_t)a[i] / (uint64_t)b[i]);
                assert_int_equal(q[i], want);
                assert_int_equal(r[i], (int64_t)((uint64_t)a[i] - (uint64_t)want * (uint64_t)b[i]));
            }
        }
    }
}

/* Every op on every type: the builds agree in every bit, at every length, in place or not. */
static void builds_agree(void **unused)
{
    enum { N = 1111 };
    static _Alignas(64) char a[N * 16], b[N * 16], want[N * 16], got[N * 16];
    int compared = 0;
    for (int op = 1; op < TN_OP_COUNT; op++) {
        for (int t = 1; t < TN_ELEMENT_TYPE_COUNT; t++) {
            tn_element_type e = (tn_element_type)t;
            tn_kernel base, k;
            if (!(tn_op_infos[op].traits & TN_TRAIT_ELEMENTWISE)) continue;
            if (!tn_kernel_elementwise(TN_ISA_BASELINE, (tn_op_kind)op, e, &base)) continue;
            for (int i = 0; i < N * 2; i++) {
                double v = sample(i, true), w = i % 3 ? sample(i + 1, true) : (double)(i % 40);
                float x = (float)v, y = (float)w;
                memcpy(a + 8 * i, &v, 8);
                memcpy(b + 8 * i, &w, 8);
                if (e == TN_F64 || e == TN_C128) continue;
                memcpy(a + 8 * i, &x, 4);
                memcpy(a + 8 * i + 4, &y, 4);
                memcpy(b + 8 * i, &y, 4);
                memcpy(b + 8 * i + 4, &x, 4);
            }
            unsigned bits = tn_element_type_bits(e);
            for (int i = 0; i < N && bits < 8; i++) {
                bool is_signed = tn_element_type_class(e) == TN_CLASS_SINT;
                a[i] = (char)(is_signed ? (char)(i << (8 - bits)) >> (8 - bits)
                                        : i & ((1 << bits) - 1));
                b[i] = (char)(is_signed ? (char)(i * 7 << (8 - bits)) >> (8 - bits)
                                        : i * 7 & ((1 << bits) - 1));
            }
            const void *in[] = {a, b};
            tn_kernel_run(&base, N, in, want);
            for (int isa = 1; isa < TN_ISA_COUNT; isa++) {
                if (!tn_cpu_has((tn_isa)isa)) continue;
                assert_true(tn_kernel_elementwise((tn_isa)isa, (tn_op_kind)op, e, &k));
                memset(got, 0x55, sizeof got);
                for (size_t at = 0, size = 1; at < N; at += size, size = size * 3 + 1) {
                    if (size > N - at) size = N - at;
                    const void *part[] = {a + at * k.in_step[0], b + at * k.in_step[1]};
                    tn_kernel_run(&k, size, part, got + at * k.out_step);
                }
                for (size_t i = 0; i < N; i++)
                    if (!same_element(&k, e, got + i * k.out_step, want + i * k.out_step))
                        fail_msg("%s on %s, element %zu differs with %s", tn_op_infos[op].text,
                                 tn_element_type_text(e), i, tn_isa_name((tn_isa)isa));
                compared++;
                if (k.out_step != k.in_step[0]) continue;
                memcpy(got, a, sizeof got);
                const void *self[] = {got, b};
                tn_kernel_run(&k, N, self, got);
                for (size_t i = 0; i < N; i++)
                    if (!same_element(&k, e, got + i * k.out_step, want + i * k.out_step))
                        fail_msg("%s on %s in place, element %zu differs", tn_op_infos[op].text,
                                 tn_element_type_text(e), i);
            }
        }
    }
    print_message("%d builds of ops compared\n", compared);
}

/* Bytes of ordinary and special values alike. */
static void fill(char *to, tn_element_type e, size_t n)
{
    unsigned bytes = tn_element_type_bytes(e), bits = tn_element_type_bits(e);
    for (size_t i = 0; i < n; i++) {
        uint64_t v[2] = {random_bits(), random_bits()};
        double d = sample((int)i, true);
        float f = (float)d;
        if (e == TN_F32 || e == TN_C64) memcpy(v, &f, 4);
        if (e == TN_F64 || e == TN_C128) memcpy(v, &d, 8);
        if (bits < 8) v[0] &= (1u << bits) - 1;
        if (bits < 8 && tn_element_type_class(e) == TN_CLASS_SINT)
            v[0] = (uint64_t)((int64_t)(v[0] << (64 - bits)) >> (64 - bits));
        memcpy(to + i * bytes, v, bytes);
    }
}

typedef bool find_kernel(tn_isa isa, int variant, tn_element_type e, tn_kernel *out);
static bool find_compare(tn_isa isa, int variant, tn_element_type e, tn_kernel *out)
{
    return variant < 12 && tn_kernel_compare(isa, variant % 6, variant >= 6, e, out);
}
static bool find_clamp(tn_isa isa, int variant, tn_element_type e, tn_kernel *out)
{
    return variant < 4 && tn_kernel_clamp(isa, variant & 1, variant & 2, e, out);
}
static bool find_select(tn_isa isa, int variant, tn_element_type e, tn_kernel *out)
{
    return variant < 2 && tn_kernel_select(isa, variant, e, out);
}
static bool find_convert(tn_isa isa, int variant, tn_element_type e, tn_kernel *out)
{
    return variant && variant < TN_ELEMENT_TYPE_COUNT && variant != TN_TOKEN &&
           tn_kernel_convert(isa, e, (tn_element_type)variant, out);
}
static bool find_reduce_precision(tn_isa isa, int variant, tn_element_type e, tn_kernel *out)
{
    return tn_kernel_reduce_precision(isa, 1 + variant % 9, variant % 5 * 6, e, out);
}

static void other_builds_agree(void **unused)
{
    enum { N = 333 };
    static find_kernel *const finders[] = {find_compare, find_clamp, find_select, find_convert,
                                           find_reduce_precision};
    static _Alignas(64) char in[3][N * 16], pred[N], want[N * 16], got[N * 16];
    for (int i = 0; i < N; i++) pred[i] = (char)(random_bits() & 1);
    int compared = 0;
    for (int t = 1; t < TN_ELEMENT_TYPE_COUNT; t++) {
        tn_element_type e = (tn_element_type)t;
        if (e == TN_TOKEN || !tn_element_type_bytes(e)) continue;
        for (int i = 0; i < 3; i++) fill(in[i], e, N);
        for (size_t f = 0; f < sizeof finders / sizeof finders[0]; f++) {
            for (int variant = 0; variant < 45; variant++) {
                tn_kernel base, k;
                const void *args[] = {f == 2 ? pred : in[0], in[1], in[2]};
                if (!finders[f](TN_ISA_BASELINE, variant, e, &base)) continue;
                tn_kernel_run(&base, N, args, want);
                tn_element_type to = f == 3 ? (tn_element_type)variant : e;
                for (int isa = 1; isa < TN_ISA_COUNT; isa++) {
                    if (!tn_cpu_has((tn_isa)isa)) continue;
                    assert_true(finders[f]((tn_isa)isa, variant, e, &k));
                    tn_kernel_run(&k, N, args, got);
                    for (size_t i = 0; i < N; i++) {
                        size_t at = i * k.out_step;
                        bool same = !memcmp(got + at, want + at, k.out_step);
                        if (!same && tn_element_type_bytes(to) == k.out_step)
                            same = is_nan(to, got + at) && is_nan(to, want + at);
                        if (!same)
                            fail_msg("kernel %zu.%d on %s, element %zu differs with %s", f, variant,
                                     tn_element_type_text(e), i, tn_isa_name((tn_isa)isa));
                    }
                    compared++;
                }
            }
        }
    }
    assert_true(compared > 0 || !tn_cpu_has(TN_ISA_AVX2));
    print_message("%d other builds compared\n", compared);
}

/* Sizes of complex numbers whose parts are of any size, the smallest and the largest too. */
static void sizes_of_complex_numbers_are_accurate(void **unused)
{
    static const double some[] = {0, -0.0, 1, 0x1p-1074, -0x1p-1022, 0x1.8p1023, INFINITY, NAN};
    enum { SOME = sizeof some / sizeof *some };
    for (int i = 0; i < 200000; i++) {
        double part[2];
        for (int k = 0; k < 2; k++) {
            int most = i % 4 == 0 ? 1060 : i % 4 == 1 ? 30 : 2;
            int e = (int)(random_bits() >> 20) % most;
            part[k] = ldexp((double)(int64_t)random_bits() * 0x1p-63, e);
        }
        if (i < SOME * SOME) part[0] = some[i / SOME], part[1] = some[i % SOME];
        double got = tn_abs_c128(tn_complex_f64(part[0], part[1]));
        long double want = hypotl(part[0], part[1]);
        /* Scaled back to a subnormal number it is rounded again. */
        if (ulps_f64(got, want) > (want < 0x1p-1022L ? 0.76 : 0.51))
            fail_msg("|%a + %ai| is %a", part[0], part[1], got);
        float x = (float)part[0], y = (float)part[1];
        float _Complex sign = tn_sign_c64(tn_complex_f32(x, y));
        long double size = hypotl(x, y), re = size == 0 ? x : x / size;
        if (ulps_f32(__real__ sign, re) > 0.51) fail_msg("sign of %a + %ai", (double)x, (double)y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_complex_numbers_are_accurate),
        cmocka_unit_test(f32_functions_are_accurate),
        cmocka_unit_test(f64_functions_are_accurate),
        cmocka_unit_test(remainders_are_exact),
        cmocka_unit_test(quotients_of_64_bits_are_exact),
        cmocka_unit_test(special_values_are_those_of_c),
        cmocka_unit_test(builds_agree),
        cmocka_unit_test(other_builds_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
