/* SPDX-License-Identifier: Apache-2.0 */
/* Every elementwise op on every element type it takes, beside values computed here: whole numbers
 * exactly, floats in long double and rounded once. */
#include <math.h>
#include <stdio.h>

#include "conformance/check.h"
#include "conformance/number.h"

enum { B = 1, S = 2, U = 4, F = 8, I = S | U };

typedef long double real(long double, long double);
typedef uint64_t whole(const number_type *t, uint64_t a, uint64_t b);

typedef struct {
    const char *name;
    int arity, kinds;
    real *f;
    whole *n;
    int ulps; /* that a float may be off: of f32 and f64; half types 1 */
} op;

/* --- floats --- */

#define REAL1(name, expression)                                                                    \
    static long double name(long double a, long double b)                                          \
    {                                                                                              \
        return expression;                                                                         \
    }
REAL1(f_add, a + b)
REAL1(f_sub, a - b)
REAL1(f_mul, a *b)
REAL1(f_div, a / b)
REAL1(f_rem, fmodl(a, b))
REAL1(f_max, isnan(a) || isnan(b) ? (long double)NAN : a > b ? a : b)
REAL1(f_min, isnan(a) || isnan(b) ? (long double)NAN : a < b ? a : b)
REAL1(f_pow, powl(a, b))
REAL1(f_atan2, atan2l(a, b))
REAL1(f_abs, fabsl(a))
REAL1(f_neg, -a)
REAL1(f_sign, isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : a)
REAL1(f_floor, floorl(a))
REAL1(f_ceil, ceill(a))
REAL1(f_round, roundl(a))
REAL1(f_even, rintl(a))
REAL1(f_sqrt, sqrtl(a))
REAL1(f_rsqrt, 1 / sqrtl(a))
REAL1(f_cbrt, cbrtl(a))
REAL1(f_exp, expl(a))
REAL1(f_expm1, expm1l(a))
REAL1(f_log, logl(a))
REAL1(f_log1p, log1pl(a))
REAL1(f_sin, sinl(a))
REAL1(f_cos, cosl(a))
REAL1(f_tanh, tanhl(a))
REAL1(f_logistic, 1 / (1 + expl(-a)))

/* --- whole numbers --- */

static bool is_signed(const number_type *t)
{
    return t->kind == KIND_SIGNED;
}

#define WHOLE(name, expression)                                                                    \
    static uint64_t name(const number_type *t, uint64_t a, uint64_t b)                             \
    {                                                                                              \
        return expression;                                                                         \
    }
WHOLE(n_add, t->kind == KIND_BOOL ? a | b : a + b)
WHOLE(n_sub, a - b)
WHOLE(n_mul, t->kind == KIND_BOOL ? a & b : a * b)
WHOLE(n_and, a &b)
WHOLE(n_or, a | b)
WHOLE(n_xor, a ^ b)
WHOLE(n_not, ~a)
WHOLE(n_neg, -a)
WHOLE(n_abs, is_signed(t) && number_signed(t, a) < 0 ? -a : a)
WHOLE(n_popcnt, (uint64_t)__builtin_popcountll(a))
WHOLE(n_clz, a ? (uint64_t)(__builtin_clzll(a) - (64 - t->bits)) : (uint64_t)t->bits)

static uint64_t n_max(const number_type *t, uint64_t a, uint64_t b)
{
    bool less = is_signed(t) ? number_signed(t, a) < number_signed(t, b) : a < b;
    return less ? b : a;
}
static uint64_t n_min(const number_type *t, uint64_t a, uint64_t b)
{
    return n_max(t, a, b) == a ? b : a;
}
static uint64_t n_sign(const number_type *t, uint64_t a, uint64_t b)
{
    int64_t v = number_signed(t, a);
    return (uint64_t)((v > 0) - (v < 0));
}
/* The specification leaves division by 0, and of the least number by -1, open: 1 stands for both.
 */
static uint64_t divisor(const number_type *t, uint64_t a, uint64_t b)
{
    if (!b) return 1;
    return is_signed(t) && number_signed(t, b) == -1 ? 1 : b;
}
static uint64_t n_div(const number_type *t, uint64_t a, uint64_t b)
{
    b = divisor(t, a, b);
    return is_signed(t) ? (uint64_t)(number_signed(t, a) / number_signed(t, b)) : a / b;
}
static uint64_t n_rem(const number_type *t, uint64_t a, uint64_t b)
{
    b = divisor(t, a, b);
    return is_signed(t) ? (uint64_t)(number_signed(t, a) % number_signed(t, b)) : a % b;
}
static uint64_t n_shl(const number_type *t, uint64_t a, uint64_t b)
{
    return a << b % (uint64_t)t->bits;
}
static uint64_t n_shr(const number_type *t, uint64_t a, uint64_t b)
{
    return a >> b % (uint64_t)t->bits;
}
static uint64_t n_sar(const number_type *t, uint64_t a, uint64_t b)
{
    return (uint64_t)(number_signed(t, a) >> b % (uint64_t)t->bits);
}

/* X(index, name, arity, element types, of floats, of whole numbers, ulp) */
// clang-format off
#define OPS(X) \
    X(0, add, 2, B | I | F, f_add, n_add, 0) \
    X(1, subtract, 2, I | F, f_sub, n_sub, 0) \
    X(2, multiply, 2, B | I | F, f_mul, n_mul, 0) \
    X(3, divide, 2, I | F, f_div, n_div, 0) \
    X(4, remainder, 2, I | F, f_rem, n_rem, 0) \
    X(5, maximum, 2, I | F, f_max, n_max, 0) \
    X(6, minimum, 2, I | F, f_min, n_min, 0) \
    X(7, power, 2, F, f_pow, NULL, 16) \
    X(8, atan2, 2, F, f_atan2, NULL, 8) \
    X(9, and, 2, B | I, NULL, n_and, 0) \
    X(10, or, 2, B | I, NULL, n_or, 0) \
    X(11, xor, 2, B | I, NULL, n_xor, 0) \
    X(12, not, 1, B | I, NULL, n_not, 0) \
    X(13, shift_left, 2, I, NULL, n_shl, 0) \
    X(14, shift_right_logical, 2, I, NULL, n_shr, 0) \
    X(15, shift_right_arithmetic, 2, S, NULL, n_sar, 0) \
    X(16, popcnt, 1, I, NULL, n_popcnt, 0) \
    X(17, count_leading_zeros, 1, I, NULL, n_clz, 0) \
    X(18, abs, 1, S | F, f_abs, n_abs, 0) \
    X(19, negate, 1, I | F, f_neg, n_neg, 0) \
    X(20, sign, 1, S | F, f_sign, n_sign, 0) \
    X(21, floor, 1, F, f_floor, NULL, 0) \
    X(22, ceil, 1, F, f_ceil, NULL, 0) \
    X(23, round_nearest_afz, 1, F, f_round, NULL, 0) \
    X(24, round_nearest_even, 1, F, f_even, NULL, 0) \
    X(25, sqrt, 1, F, f_sqrt, NULL, 0) \
    X(26, rsqrt, 1, F, f_rsqrt, NULL, 4) \
    X(27, cbrt, 1, F, f_cbrt, NULL, 4) \
    X(28, exponential, 1, F, f_exp, NULL, 4) \
    X(29, exponential_minus_one, 1, F, f_expm1, NULL, 8) \
    X(30, log, 1, F, f_log, NULL, 4) \
    X(31, log_plus_one, 1, F, f_log1p, NULL, 8) \
    X(32, sine, 1, F, f_sin, NULL, 4) \
    X(33, cosine, 1, F, f_cos, NULL, 4) \
    X(34, tanh, 1, F, f_tanh, NULL, 8) \
    X(35, logistic, 1, F, f_logistic, NULL, 8)
// clang-format on

static const op ops[] = {
#define X(index, name, arity, kinds, f, n, ulps) {#name, arity, kinds, f, n, ulps},
    OPS(X)
#undef X
};

static int kind_bit(const number_type *t)
{
    return t->kind == KIND_BOOL ? B : t->kind == KIND_SIGNED ? S : t->kind == KIND_UNSIGNED ? U : F;
}

static const number_type *nth_type(int kinds, int i)
{
    for (int k = 0; k < n_number_types; k++)
        if (kind_bit(&number_types[k]) & kinds && !i--) return &number_types[k];
    return NULL;
}

static const char *op_type(const check_row *row, int i)
{
    const number_type *t = nth_type(((const op *)row->arg)->kinds, i);
    return t ? t->name : NULL;
}

/* --- inputs --- */

enum { VALUES = 24, PAIRS = VALUES * VALUES + 5 }; /* an odd number: tails are tried too */

static void values_of(const number_type *t, bool small, uint64_t out[VALUES])
{
    static const double floats[VALUES] = {0.0,  -0.0, 1.0,   -1.0,  0.5,    -0.5,   1.5,   2.5,
                                          -2.5, 3.0,  0.25,  -0.75, 7.0,    -9.0,   0.1,   -0.3,
                                          20.0, 1e-3, 100.5, 1e4,   -250.0, 0.3337, 1e-20, 1e20};
    for (int i = 0; i < VALUES; i++) {
        if (t->kind == KIND_FLOAT) {
            long double v = floats[i];
            if (i == 14) v = (long double)INFINITY;
            if (i == 15) v = -(long double)INFINITY;
            if (i == 16) v = (long double)NAN;
            if (t->bits == 16 && t->mantissa == 10 && i >= 22) v = i == 22 ? 1e-3L : 6e4L;
            if (small && (isinf(v) || fabsl(v) > 300)) v = (i - 12) * 0.37L;
            out[i] = number_round(t, v);
        } else {
            static const int64_t wholes[VALUES] = {0,  1,   -1,  2,  3,   5,     7,     -3,
                                                   10, -10, 63,  64, 100, 127,   -128,  255,
                                                   15, 16,  -77, 31, 32,  32767, 65535, 12345};
            uint64_t v = (uint64_t)wholes[i];
            if (i == 22) v = 1ull << (t->bits - 1); /* the least signed number */
            if (i == 23) v = number_mask(t) >> 1;
            out[i] = v & number_mask(t);
        }
    }
}

static size_t make_inputs(const op *o, const number_type *t, void *a, void *b)
{
    uint64_t v[VALUES];
    /* Sine of large numbers is the range reduction's matter, not every library's promise. */
    values_of(t, !strcmp(o->name, "sine") || !strcmp(o->name, "cosine"), v);
    for (size_t i = 0; i < PAIRS; i++) {
        number_store(t, a, i, v[i % VALUES]);
        uint64_t y = v[i / VALUES % VALUES];
        if (!strncmp(o->name, "shift", 5)) y = (y & 63) % (uint64_t)t->bits;
        if (!strcmp(o->name, "divide") || !strcmp(o->name, "remainder"))
            if (t->kind != KIND_FLOAT) y = divisor(t, 0, y);
        number_store(t, b, i, y);
    }
    return PAIRS;
}

static bool subnormal(const number_type *t, uint64_t bits)
{
    uint64_t magnitude = bits & (number_mask(t) >> 1);
    return magnitude && magnitude < 1ull << t->mantissa;
}

/* An f64 sum or product is rounded once by the machine, and twice by way of long double. */
static uint64_t expected(const op *o, const number_type *t, uint64_t a, uint64_t b)
{
    if (t->kind != KIND_FLOAT) return o->n(t, a, b) & number_mask(t);
    long double x = number_value(t, a), y = number_value(t, b);
    if (t->bits == 64) {
        double p = (double)x, q = (double)y;
        if (o->f == f_add) return number_round(t, p + q);
        if (o->f == f_sub) return number_round(t, p - q);
        if (o->f == f_mul) return number_round(t, p * q);
        if (o->f == f_div) return number_round(t, p / q);
        if (o->f == f_sqrt) return number_round(t, sqrt(p));
    }
    return number_round(t, o->f(x, y));
}

static void run_op(context *c)
{
    const op *o = ((const check_row *)c->row)->arg;
    const number_type *t = nth_type(o->kinds, c->variant);
    static char a[PAIRS * 8], b[PAIRS * 8];
    size_t n = make_inputs(o, t, a, b);
    char text[1024];
    if (o->arity == 2)
        snprintf(
            text, sizeof text,
            "func.func @main(%%a: tensor<%zux%s>, %%b: tensor<%zux%s>) -> tensor<%zux%s> {\n"
            "  %%r = stablehlo.%s %%a, %%b : tensor<%zux%s>\n  return %%r : tensor<%zux%s>\n}\n",
            n, t->mlir, n, t->mlir, n, t->mlir, o->name, n, t->mlir, n, t->mlir);
    else
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<%zux%s>) -> tensor<%zux%s> {\n"
                 "  %%r = stablehlo.%s %%a : tensor<%zux%s>\n  return %%r : tensor<%zux%s>\n}\n",
                 n, t->mlir, n, t->mlir, o->name, n, t->mlir, n, t->mlir);
    PJRT_LoadedExecutable *e;
    tn_status *s = try_text(c, text, &e);
    if (s && tn_status_code(s) == TN_UNIMPLEMENTED) {
        char why[300];
        snprintf(why, sizeof why, "%s", tn_status_message(s));
        tn_status_free(s);
        fail(__FILE__, __LINE__, "not implemented: %s", why);
    }
    check_ok(c, __FILE__, __LINE__, s);
    int64_t dims[] = {(int64_t)n};
    PJRT_Buffer *in[] = {array(c, a, t->type, dims, 1),
                         o->arity == 2 ? array(c, b, t->type, dims, 1) : NULL},
                *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, (size_t)o->arity, &out, NULL));
    tn_array got = read_buffer(c, out);
    uint64_t most = 0,
             allowed = t->kind == KIND_FLOAT && o->ulps ? t->bits == 16 ? 1 : (uint64_t)o->ulps : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = number_load(t, a, i), y = number_load(t, b, i);
        uint64_t want = expected(o, t, x, y), have = number_load(t, got.data, i);
        /* Subnormal results have a check of their own; so has the sign of zero of max and min. */
        if (t->kind == KIND_FLOAT && (subnormal(t, want) || subnormal(t, have))) continue;
        bool loose = o->f == f_max || o->f == f_min || o->ulps || o->f == f_rem;
        uint64_t off = number_ulps(t, have, want, !loose);
        if (off > most) most = off;
        if (off <= allowed) continue;
        if (t->kind == KIND_FLOAT)
            fail(__FILE__, __LINE__,
                 "%s(%.9Lg%s%.9Lg) is %.17Lg, expected %.17Lg (%llu ulp, %llu allowed)", o->name,
                 number_value(t, x), o->arity == 2 ? ", " : "; ",
                 o->arity == 2 ? number_value(t, y) : 0.0L, number_value(t, have),
                 number_value(t, want), (unsigned long long)off, (unsigned long long)allowed);
        fail(__FILE__, __LINE__, "%s(%lld, %lld) is %lld, expected %lld", o->name,
             (long long)number_signed(t, x), (long long)number_signed(t, y),
             (long long)number_signed(t, have), (long long)number_signed(t, want));
    }
    if (allowed && most) measured("off by %llu ulp at most", (unsigned long long)most);
    tn_array_free(&got);
    for (int i = 0; i < o->arity; i++) destroy_buffer(c, in[i]);
    destroy_buffer(c, out);
    unload(c, e);
}

const check_row numeric_checks[] = {
#define X(index, name, arity, kinds, f, n, ulps)                                                   \
    {1000 + index, #name, run_op, op_type, &ops[index]},
    OPS(X)
#undef X
        {0}};
