/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs with right values: conversions, comparisons, movement of data, reductions,
 * products. */
#include <math.h>
#include <stdio.h>

#include "conformance/check.h"
#include "conformance/number.h"

enum { N = 24 };

static void fill(const number_type *t, uint64_t v[N])
{
    static const double floats[N] = {0.0,  -0.0, 1.0,  -1.0, 0.5,  -1.5, 2.5, 3.75,
                                     -100, 127,  1e-3, 300,  7,    -8,   255, -129,
                                     64,   0.1,  -0.9, 12.5, 1000, 33,   -2,  5};
    for (int i = 0; i < N; i++)
        v[i] = t->kind == KIND_FLOAT ? number_round(t, floats[i])
                                     : (uint64_t)(int64_t)floats[i] & number_mask(t);
}

/* Runs a program of one array per text and compares its output with `want`. */
static void expect_values(context *c, const char *text, const number_type *in_type,
                          const uint64_t *in, const int64_t *dims, size_t n_dims,
                          const number_type *out_type, const uint64_t *want, size_t n_want)
{
    size_t n = 1;
    for (size_t i = 0; i < n_dims; i++) n *= (size_t)dims[i];
    char *data = calloc(n + 1, 8);
    for (size_t i = 0; i < n; i++) number_store(in_type, data, i, in[i]);
    PJRT_LoadedExecutable *e = load_text(c, text);
    PJRT_Buffer *b = array(c, data, in_type->type, dims, n_dims), *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &b, 1, &out, NULL));
    tn_array got = read_buffer(c, out);
    size_t width = out_type->bits < 8 ? 1 : (size_t)out_type->bits / 8;
    CHECK_EQ(got.size, n_want * width);
    for (size_t i = 0; i < n_want; i++) {
        uint64_t have = number_load(out_type, got.data, i);
        if (!number_ulps(out_type, have, want[i], true)) continue;
        if (out_type->kind == KIND_FLOAT)
            fail(__FILE__, __LINE__, "element %zu is %.17Lg, expected %.17Lg", i,
                 number_value(out_type, have), number_value(out_type, want[i]));
        fail(__FILE__, __LINE__, "element %zu is %lld, expected %lld", i,
             (long long)number_signed(out_type, have), (long long)number_signed(out_type, want[i]));
    }
    tn_array_free(&got);
    destroy_buffer(c, b);
    destroy_buffer(c, out);
    unload(c, e);
    free(data);
}

static const char *any_type(const check_row *row, int i)
{
    return i < n_number_types ? number_types[i].name : NULL;
}
static const number_type *float_types(int i)
{
    return i < 4 ? &number_types[n_number_types - 4 + i] : NULL;
}
static const char *float_type(const check_row *row, int i)
{
    const number_type *t = float_types(i);
    return t ? t->name : NULL;
}

/* --- conversions --- */

static uint64_t saturate(const number_type *t, long double v)
{
    if (isnan(v)) return 0;
    long double most = t->kind == KIND_SIGNED ? ldexpl(1, t->bits - 1) - 1 : ldexpl(1, t->bits) - 1;
    long double least = t->kind == KIND_SIGNED ? -ldexpl(1, t->bits - 1) : 0;
    v = truncl(v);
    if (v > most) v = most;
    if (v < least) v = least;
    return (v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v) & number_mask(t);
}

static uint64_t convert(const number_type *from, const number_type *to, uint64_t v)
{
    if (to->kind == KIND_BOOL)
        return from->kind == KIND_FLOAT ? number_value(from, v) != 0 : v != 0;
    if (from->kind == KIND_FLOAT)
        return to->kind == KIND_FLOAT ? number_round(to, number_value(from, v))
                                      : saturate(to, number_value(from, v));
    int64_t s = from->kind == KIND_SIGNED ? number_signed(from, v) : (int64_t)v;
    if (to->kind != KIND_FLOAT) return (uint64_t)s & number_mask(to);
    return number_round(to, from->kind == KIND_SIGNED ? (long double)s : (long double)v);
}

static void conversions(context *c)
{
    const number_type *from = &number_types[c->variant];
    uint64_t v[N], want[N];
    fill(from, v);
    if (from->kind == KIND_BOOL)
        for (int i = 0; i < N; i++) v[i] = (uint64_t)i & 1;
    for (int k = 0; k < n_number_types; k++) {
        const number_type *to = &number_types[k];
        if (to == from) continue;
        for (int i = 0; i < N; i++) {
            want[i] = convert(from, to, v[i]);
            /* Out of range from float is the specification's to leave open. */
            if (from->kind == KIND_FLOAT && to->kind != KIND_FLOAT && to->kind != KIND_BOOL) {
                long double x = number_value(from, v[i]);
                if (truncl(x) < (to->kind == KIND_SIGNED ? -ldexpl(1, to->bits - 1) : 0) ||
                    x >= ldexpl(1, to->bits - (to->kind == KIND_SIGNED))) {
                    v[i] = number_round(from, 1);
                    want[i] = 1;
                }
            }
        }
        char text[512];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<%dx%s>) -> tensor<%dx%s> {\n"
                 "  %%r = stablehlo.convert %%a : (tensor<%dx%s>) -> tensor<%dx%s>\n"
                 "  return %%r : tensor<%dx%s>\n}\n",
                 N, from->mlir, N, to->mlir, N, from->mlir, N, to->mlir, N, to->mlir);
        expect_values(c, text, from, v, (int64_t[]){N}, 1, to, want, N);
        fill(from, v);
        if (from->kind == KIND_BOOL)
            for (int i = 0; i < N; i++) v[i] = (uint64_t)i & 1;
    }
}

/* Values just above and below the middle between two half-precision ones: f64 must not go by f32.
 */
static void rounds_once(context *c)
{
    static const struct {
        int type; /* of number_types */
        double in[3];
    } rows[] = {{10, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11 - 0x1p-40, 65519.999999999}},
                {9, {1 + 0x1p-8 + 0x1p-30, 1 + 0x1p-8 - 0x1p-30, 3 + 0x1p-7 + 0x1p-34}}};
    const number_type *f64 = &number_types[n_number_types - 1];
    for (int r = 0; r < 2; r++) {
        const number_type *t = &number_types[rows[r].type];
        uint64_t v[3], want[3];
        for (int i = 0; i < 3; i++) {
            v[i] = number_round(f64, rows[r].in[i]);
            want[i] = number_round(t, rows[r].in[i]);
        }
        char text[512];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<3xf64>) -> tensor<3x%s> {\n"
                 "  %%r = stablehlo.convert %%a : (tensor<3xf64>) -> tensor<3x%s>\n"
                 "  return %%r : tensor<3x%s>\n}\n",
                 t->mlir, t->mlir, t->mlir);
        expect_values(c, text, f64, v, (int64_t[]){3}, 1, t, want, 3);
    }
}

/* --- comparisons --- */

static void comparisons(context *c)
{
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const number_type *t = &number_types[c->variant], *pred = &number_types[0];
    uint64_t v[N], want[N];
    fill(t, v);
    if (t->kind == KIND_FLOAT) v[3] = number_round(t, (long double)NAN);
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < N; i++) { /* with the array reversed */
            uint64_t a = v[i], b = v[N - 1 - i];
            long double x = t->kind == KIND_FLOAT    ? number_value(t, a)
                            : t->kind == KIND_SIGNED ? number_signed(t, a)
                                                     : (long double)a;
            long double y = t->kind == KIND_FLOAT    ? number_value(t, b)
                            : t->kind == KIND_SIGNED ? number_signed(t, b)
                                                     : (long double)b;
            const bool is[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
            want[i] = is[k];
        }
        char text[700];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<%dx%s>) -> tensor<%dxi1> {\n"
                 "  %%b = stablehlo.reverse %%a, dims = [0] : tensor<%dx%s>\n"
                 "  %%r = stablehlo.compare %s, %%a, %%b : (tensor<%dx%s>, tensor<%dx%s>) -> "
                 "tensor<%dxi1>\n"
                 "  return %%r : tensor<%dxi1>\n}\n",
                 N, t->mlir, N, N, t->mlir, names[k], N, t->mlir, N, t->mlir, N, N);
        expect_values(c, text, t, v, (int64_t[]){N}, 1, pred, want, N);
    }
}

/* --- movement --- */

static void movement(context *c)
{
    const number_type *t = &number_types[c->variant];
    uint64_t v[N], want[64];
    fill(t, v);
    char text[800];
    const char *m = t->mlir;
    for (int i = 0; i < N; i++) want[i] = v[i % 4 * 6 + i / 4];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x6x%s>) -> tensor<6x4x%s> {\n"
             "  %%r = stablehlo.transpose %%a, dims = [1, 0] : (tensor<4x6x%s>) -> tensor<6x4x%s>\n"
             "  return %%r : tensor<6x4x%s>\n}\n",
             m, m, m, m, m);
    expect_values(c, text, t, v, (int64_t[]){4, 6}, 2, t, want, N);
    for (int i = 0; i < 2 * 3; i++) want[i] = v[(1 + i / 3 * 2) * 6 + 1 + i % 3 * 2];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x6x%s>) -> tensor<2x3x%s> {\n"
             "  %%r = stablehlo.slice %%a [1:4:2, 1:6:2] : (tensor<4x6x%s>) -> tensor<2x3x%s>\n"
             "  return %%r : tensor<2x3x%s>\n}\n",
             m, m, m, m, m);
    expect_values(c, text, t, v, (int64_t[]){4, 6}, 2, t, want, 6);
    for (int i = 0; i < 48; i++) want[i] = v[i % 24];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x6x%s>) -> tensor<8x6x%s> {\n"
             "  %%r = stablehlo.concatenate %%a, %%a, dim = 0 : (tensor<4x6x%s>, tensor<4x6x%s>) "
             "-> tensor<8x6x%s>\n"
             "  return %%r : tensor<8x6x%s>\n}\n",
             m, m, m, m, m, m);
    expect_values(c, text, t, v, (int64_t[]){4, 6}, 2, t, want, 48);
    for (int i = 0; i < 48; i++) want[i] = v[i / 2];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<24x%s>) -> tensor<24x2x%s> {\n"
        "  %%r = stablehlo.broadcast_in_dim %%a, dims = [0] : (tensor<24x%s>) -> tensor<24x2x%s>\n"
        "  return %%r : tensor<24x2x%s>\n}\n",
        m, m, m, m, m);
    expect_values(c, text, t, v, (int64_t[]){24}, 1, t, want, 48);
}

/* --- reductions --- */

static void reduce_text(char *text, size_t size, const char *body, const char *init, long n,
                        const char *m)
{
    snprintf(
        text, size,
        "func.func @main(%%a: tensor<%ldx%s>) -> tensor<%s> {\n"
        "  %%z = stablehlo.constant dense<%s> : tensor<%s>\n"
        "  %%r = stablehlo.reduce(%%a init: %%z) applies stablehlo.%s across dimensions = [0] : "
        "(tensor<%ldx%s>, tensor<%s>) -> tensor<%s>\n"
        "  return %%r : tensor<%s>\n}\n",
        n, m, m, init, m, body, n, m, m, m, m);
}

/* One NaN anywhere, in short and long arrays, makes a NaN of the maximum and the minimum. */
static void nan_in_extremes(context *c)
{
    const number_type *t = float_types(c->variant);
    static const long sizes[] = {7, 100, 4096, 10000};
    const char *least = t->bits == 16   ? t->mantissa == 7 ? "0xFF80" : "0xFC00"
                        : t->bits == 32 ? "0xFF800000"
                                        : "0xFFF0000000000000";
    const char *most = t->bits == 16   ? t->mantissa == 7 ? "0x7F80" : "0x7C00"
                       : t->bits == 32 ? "0x7F800000"
                                       : "0x7FF0000000000000";
    for (int k = 0; k < 4; k++)
        for (int what = 0; what < 2; what++) {
            long n = sizes[k];
            uint64_t *v = calloc((size_t)n, sizeof *v);
            const long places[] = {0, 1, n / 2, n - 2, n - 1};
            for (int p = 0; p < 5; p++) {
                for (long i = 0; i < n; i++) v[i] = number_round(t, (long double)(i % 50));
                v[places[p]] = number_round(t, (long double)NAN);
                uint64_t want = number_round(t, (long double)NAN);
                char text[600];
                reduce_text(text, sizeof text, what ? "minimum" : "maximum", what ? most : least, n,
                            t->mlir);
                char *data = calloc((size_t)n, 8);
                for (long i = 0; i < n; i++) number_store(t, data, (size_t)i, v[i]);
                PJRT_LoadedExecutable *e = load_text(c, text);
                PJRT_Buffer *b = array(c, data, t->type, (int64_t[]){n}, 1), *out;
                check_ok(c, __FILE__, __LINE__, execute(c, e, &b, 1, &out, NULL));
                tn_array got = read_buffer(c, out);
                uint64_t have = number_load(t, got.data, 0);
                if (number_ulps(t, have, want, false))
                    fail(__FILE__, __LINE__, "the %s of %ld elements with a NaN at %ld is %Lg",
                         what ? "minimum" : "maximum", n, places[p], number_value(t, have));
                tn_array_free(&got);
                destroy_buffer(c, b);
                destroy_buffer(c, out);
                unload(c, e);
                free(data);
            }
            free(v);
        }
}

/* Sums that are exact in every order. */
static void sums(context *c)
{
    const number_type *t = &number_types[c->variant];
    if (t->kind == KIND_BOOL) skip("no sum of pred");
    long n = 1000;
    uint64_t *v = calloc((size_t)n, sizeof *v), want = 0;
    long total = 0;
    for (long i = 0; i < n; i++) {
        long x = i % 3 == 0 ? 1 : 0;
        if (t->kind != KIND_FLOAT) x = i % 7;
        total += x;
        v[i] = t->kind == KIND_FLOAT ? number_round(t, x) : (uint64_t)x;
    }
    /* Half types count no further than they can. */
    if (t->kind == KIND_FLOAT && t->mantissa == 7) {
        total = 0;
        for (long i = 0; i < n; i++) {
            v[i] = number_round(t, i < 200 ? 1 : 0);
            total += i < 200;
        }
    }
    want = t->kind == KIND_FLOAT ? number_round(t, total) : (uint64_t)total & number_mask(t);
    char text[600];
    reduce_text(text, sizeof text, "add", t->kind == KIND_FLOAT ? "0.0" : "0", n, t->mlir);
    expect_values(c, text, t, v, (int64_t[]){n}, 1, t, &want, 1);
    free(v);
}

/* --- products, sorting, subnormals --- */

static void dots(context *c)
{
    const number_type *t = &number_types[c->variant];
    if (t->kind == KIND_BOOL) skip("no product of pred");
    enum { M = 5, K = 8 };
    uint64_t v[M * K], want[M * M];
    for (int i = 0; i < M * K; i++)
        v[i] = t->kind == KIND_FLOAT
                   ? number_round(t, i % 5 - 2)
                   : (uint64_t)(int64_t)(i % 5 - (t->kind == KIND_SIGNED) * 2) & number_mask(t);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < M; k++) {
            int64_t sum = 0;
            for (int x = 0; x < K; x++) {
                int a = (i * K + x) % 5, b = (k * K + x) % 5;
                if (t->kind != KIND_UNSIGNED) a -= 2, b -= 2;
                sum += a * b;
            }
            want[i * M + k] =
                t->kind == KIND_FLOAT ? number_round(t, sum) : (uint64_t)sum & number_mask(t);
        }
    char text[700];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<5x8x%s>) -> tensor<5x5x%s> {\n"
        "  %%r = stablehlo.dot_general %%a, %%a, contracting_dims = [1] x [1] : "
        "(tensor<5x8x%s>, tensor<5x8x%s>) -> tensor<5x5x%s>\n  return %%r : tensor<5x5x%s>\n}\n",
        t->mlir, t->mlir, t->mlir, t->mlir, t->mlir, t->mlir);
    expect_values(c, text, t, v, (int64_t[]){M, K}, 2, t, want, M * M);
}

static int compare_numbers(const number_type *t, uint64_t a, uint64_t b)
{
    if (t->kind == KIND_FLOAT) {
        long double x = number_value(t, a), y = number_value(t, b);
        return (x > y) - (x < y);
    }
    if (t->kind == KIND_SIGNED) {
        int64_t x = number_signed(t, a), y = number_signed(t, b);
        return (x > y) - (x < y);
    }
    return (a > b) - (a < b);
}

static void sorting(context *c)
{
    const number_type *t = &number_types[c->variant];
    if (t->kind == KIND_BOOL) skip("nothing to order");
    uint64_t v[N], want[N];
    fill(t, v);
    if (t->kind == KIND_FLOAT)
        v[1] = v[0]; /* the order of zeros is the comparator's to leave open */
    memcpy(want, v, sizeof v);
    for (int i = 1; i < N; i++)
        for (int k = i; k > 0 && compare_numbers(t, want[k - 1], want[k]) > 0; k--) {
            uint64_t x = want[k];
            want[k] = want[k - 1];
            want[k - 1] = x;
        }
    char text[900];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<%dx%s>) -> tensor<%dx%s> {\n"
             "  %%r = \"stablehlo.sort\"(%%a) <{dimension = 0 : i64, is_stable = true}> ({\n"
             "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n"
             "    %%p = stablehlo.compare LT, %%x, %%y : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
             "    stablehlo.return %%p : tensor<i1>\n"
             "  }) : (tensor<%dx%s>) -> tensor<%dx%s>\n  return %%r : tensor<%dx%s>\n}\n",
             N, t->mlir, N, t->mlir, t->mlir, t->mlir, t->mlir, t->mlir, N, t->mlir, N, t->mlir, N,
             t->mlir);
    expect_values(c, text, t, v, (int64_t[]){N}, 1, t, want, N);
}

static void subnormals(context *c)
{
    const number_type *t = float_types(c->variant);
    uint64_t v[4] = {1, 5, 1ull << (t->mantissa - 1), 3}, want[4];
    for (int i = 0; i < 4; i++) want[i] = 2 * v[i];
    char text[400];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x%s>) -> tensor<4x%s> {\n"
             "  %%r = stablehlo.add %%a, %%a : tensor<4x%s>\n  return %%r : tensor<4x%s>\n}\n",
             t->mlir, t->mlir, t->mlir, t->mlir);
    expect_values(c, text, t, v, (int64_t[]){4}, 1, t, want, 4);
}

/* x * x of small whole numbers wraps; its absolute value is not its own. */
static void wraps(context *c)
{
    const number_type *s8 = &number_types[1];
    static const int in[5] = {12, 7, 20, 15, 11}, out[5] = {112, 49, 112, 31, 121};
    uint64_t v[5], want[5];
    for (int i = 0; i < 5; i++) v[i] = (uint64_t)in[i], want[i] = (uint64_t)out[i];
    expect_values(c,
                  "func.func @main(%a: tensor<5xi8>) -> tensor<5xi8> {\n"
                  "  %s = stablehlo.multiply %a, %a : tensor<5xi8>\n"
                  "  %r = stablehlo.abs %s : tensor<5xi8>\n  return %r : tensor<5xi8>\n}\n",
                  s8, v, (int64_t[]){5}, 1, s8, want, 5);
}

/* Infinity on the way is infinity at the end. */
static void keeps_overflow(context *c)
{
    const number_type *f32 = &number_types[11];
    uint64_t v[2] = {number_round(f32, 3e38L), number_round(f32, -3e38L)};
    uint64_t want[2] = {number_round(f32, (long double)INFINITY),
                        number_round(f32, (long double)INFINITY)};
    expect_values(c,
                  "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
                  "  %s = stablehlo.multiply %a, %a : tensor<2xf32>\n"
                  "  %r = stablehlo.sqrt %s : tensor<2xf32>\n  return %r : tensor<2xf32>\n}\n",
                  f32, v, (int64_t[]){2}, 1, f32, want, 2);
}

const check_row program_checks[] = {
    {1100, "convert to every other type", conversions, any_type},
    {1101, "f64 becomes a half type in one rounding", rounds_once},
    {1102, "compare in all six directions", comparisons, any_type},
    {1103, "transpose, slice, concatenate, broadcast_in_dim move elements as they are", movement,
     any_type},
    {1104, "a NaN anywhere is the maximum and the minimum, at any size", nan_in_extremes,
     float_type},
    {1105, "sums that are exact in any order", sums, any_type},
    {1106, "dot_general of small whole numbers is exact", dots, any_type},
    {1107, "sort", sorting, any_type},
    {1108, "subnormal numbers are kept", subnormals, float_type},
    {1109, "abs of a product of s8 that wrapped", wraps},
    {1110, "sqrt of a square that overflowed is infinite", keeps_overflow},
    {0}};
