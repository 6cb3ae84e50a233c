/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/isa_test.h"
#include "kernels/arg_rows.h"
#include "kernels/elementwise.h"
#include "kernels/reduce_rows.h"

enum { ROWS = 70, LENGTH = 64 };

static const tn_element_type types[] = {TN_I1,  TN_I8,  TN_U8,  TN_I16,  TN_U16, TN_I32, TN_U32,
                                        TN_I64, TN_U64, TN_F16, TN_BF16, TN_F32, TN_F64};
static const tn_op_kind ops[] = {TN_OP_add, TN_OP_multiply, TN_OP_maximum, TN_OP_minimum,
                                 TN_OP_and, TN_OP_or,       TN_OP_xor};

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

/* Small numbers, with zeros of both signs and, `special`, NaN and infinities. */
static uint64_t some(tn_element_type e, uint64_t *seed, bool special)
{
    uint64_t r = next(seed);
    static const uint64_t odd[][4] = {
        {0x8000, 0x7e00, 0x7c00, 0xfc00},
        {0x8000, 0x7fc0, 0x7f80, 0xff80},
        {0x80000000, 0xffc00001, 0x7f800000, 0xff800000},
        {1ull << 63, 0x7ff8ull << 48, 0x7ffull << 52, 0xfffull << 52}};
    int kind = e == TN_F16 ? 0 : e == TN_BF16 ? 1 : e == TN_F32 ? 2 : 3;
    if (e == TN_I1) return r & 1;
    if (!tn_is_float(e)) return r * 0x9E3779B97F4A7C15u;
    if (r % 16 == 0) return r & 16 ? odd[kind][0] : 0;
    if (special && r % 61 == 1) return odd[kind][1 + r / 61 % 3];
    float f = 0.5f + (float)(r % 4096) / 4096 * 1.5f;
    if (r & 1 << 20) f = -f;
    if (e == TN_F64) {
        double d = (double)f * 1.000000001;
        uint64_t bits;
        memcpy(&bits, &d, 8);
        return bits;
    }
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (e == TN_F32) return bits;
    if (e == TN_BF16) return bits >> 16;
    return (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - 0x1c000); /* exponent by 112 less */
}

static bool is_nan(tn_element_type e, const char *x)
{
    uint64_t b = 0;
    memcpy(&b, x, tn_element_type_bytes(e));
    switch ((int)e) {
    case TN_F16: return (b & 0x7fff) > 0x7c00;
    case TN_BF16: return (b & 0x7fff) > 0x7f80;
    case TN_F32: return (b & 0x7fffffff) > 0x7f800000;
    case TN_F64: return (b & INT64_MAX) > 0x7ff0000000000000;
    default: return false;
    }
}

/* The order that reduce_rows.h promises. */
static void by_halves(const tn_kernel *k, size_t w, char *lanes, int64_t n)
{
    for (int64_t half = 128; half; half /= 2) {
        for (int64_t i = 0; i + half < n; i++) {
            char *a = lanes + (size_t)i * w;
            tn_kernel_run(k, 1, (const void *[]){a, a + (size_t)half * w}, a);
        }
        if (n > half) n = half;
    }
}

/* A row to lanes: every so many-th element each, in blocks. Returns how many lanes there are. */
static int64_t to_lanes(const tn_kernel *k, size_t w, const char *row, int64_t length, char *lanes)
{
    enum { BLOCK = 128 };
    int64_t most = 256 / (int64_t)w, groups = length / most;
    char total[256];
    if (!groups) {
        memcpy(lanes, row, (size_t)length * w);
        return length;
    }
    for (int64_t g = 0; g < groups; g++, row += 256) {
        if (g && g % BLOCK == 0) {
            if (g == BLOCK) memcpy(total, lanes, 256);
            else tn_kernel_run(k, (size_t)most, (const void *[]){total, lanes}, total);
        }
        if (g % BLOCK == 0) memcpy(lanes, row, 256);
        else tn_kernel_run(k, (size_t)most, (const void *[]){lanes, row}, lanes);
    }
    if (groups > BLOCK) tn_kernel_run(k, (size_t)most, (const void *[]){total, lanes}, lanes);
    if (length % most)
        tn_kernel_run(k, (size_t)(length % most), (const void *[]){lanes, row}, lanes);
    return most;
}

static void check(tn_op_kind op, tn_element_type e, int64_t length, int64_t rows, bool special)
{
    tn_isa isa = tn_cpu_isa();
    tn_line_folds f = tn_line_folds_of(isa, op, e);
    if (!f.short_rows.tree) return;
    bool narrow = (e == TN_BF16 || e == TN_F16) && (op == TN_OP_add || op == TN_OP_multiply);
    tn_element_type acc = narrow ? TN_F32 : e;
    size_t w = tn_element_type_bytes(e), aw = tn_element_type_bytes(acc);
    tn_kernel k, widen;
    assert_true(tn_kernel_elementwise(isa, op, acc, &k));
    if (narrow) assert_true(tn_kernel_convert(isa, e, acc, &widen));
    /* As large as it may be read, so that sanitizers see what is read behind it. */
    char *x = malloc((size_t)(rows * length) * w), *out = malloc((size_t)rows * aw);
    char *wide = malloc((size_t)length * aw);
    uint64_t seed = (uint64_t)(length * 131 + rows) * 7 + e;
    for (int64_t i = 0; i < rows * length; i++) {
        uint64_t v = some(e, &seed, special);
        memcpy(x + (size_t)i * w, &v, w);
    }
    tn_fold_rows(&f, x, length, w, rows, out, aw);
    for (int64_t r = 0; r < rows; r++) {
        const char *row = x + (size_t)(r * length) * w, *got = out + (size_t)r * aw;
        _Alignas(64) char lanes[512], one[8];
        if (narrow) tn_kernel_run(&widen, (size_t)length, (const void *[]){row}, wide);
        by_halves(&k, aw, lanes, to_lanes(&k, aw, narrow ? wide : row, length, lanes));
        f.row(row, length, one);
        if (is_nan(acc, lanes)) {
            assert_true(is_nan(acc, got) && is_nan(acc, one));
            continue;
        }
        if (memcmp(got, lanes, aw))
            fail_msg("op %d of %s, row %d of %d, %d long", op, tn_element_type_text(e), (int)r,
                     (int)rows, (int)length);
        assert_memory_equal(one, lanes, aw);
    }
    free(x);
    free(out);
    free(wide);
}

static void test_all(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 15, 16, 17, 33, ROWS};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int64_t length = 2; length <= LENGTH; length++)
                check(ops[o], types[t], length, rows[length % 7], length % 3 == 0);
}

static void test_long_rows(void **state)
{
    (void)state;
    static const int64_t lengths[] = {65, 79, 100, 128, 255, 300, 1000, 8191, 20000};
    for (size_t o = 0; o < 4; o++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                check(ops[o], types[t], lengths[l], lengths[l] > 1000 ? 2 : 18, l % 3 == 0);
}

/* More lanes than are made at once. */
static void test_many_rows(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int64_t length = 2; length <= LENGTH; length += 5) {
            check(TN_OP_add, types[t], length, 5000, false);
            check(TN_OP_maximum, types[t], length, 5000, true);
        }
}

/* Columns come to what their elements come to one after the other. */
static void test_columns(void **state)
{
    (void)state;
    enum { N = 45, MOST = 21 };
    static _Alignas(64) char x[N * MOST * 8], out[N * 8], want[N * 8];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int o = 2; o < 4; o++)
            for (int64_t rows = 1; rows <= MOST; rows++) {
                tn_element_type e = types[t];
                size_t w = tn_element_type_bytes(e);
                tn_line_folds f = tn_line_folds_of(tn_cpu_isa(), ops[o], e);
                tn_kernel k;
                assert_true(tn_kernel_elementwise(tn_cpu_isa(), ops[o], e, &k));
                uint64_t seed = (uint64_t)rows * 17 + t;
                for (int64_t i = 0; i < N * rows; i++) {
                    uint64_t v = some(e, &seed, rows % 2);
                    memcpy(x + (size_t)i * w, &v, w);
                }
                assert_non_null(f.columns);
                int64_t before = rows / 2; /* in two calls */
                if (before) f.columns(x, N, before, N, out, true);
                f.columns(x + (size_t)(before * N) * w, N, rows - before, N, out, !before);
                memcpy(want, x, N * w);
                for (int64_t r = 1; r < rows; r++)
                    tn_kernel_run(&k, N, (const void *[]){want, x + (size_t)(r * N) * w}, want);
                for (size_t i = 0; i < N; i++)
                    if (is_nan(e, want + i * w)) assert_true(is_nan(e, out + i * w));
                    else assert_memory_equal(want + i * w, out + i * w, w);
            }
}

static void test_places(void **state)
{
    (void)state;
    enum { N = 37, MOST = 32 };
    tn_arg out[N];
    int32_t index[N];
    for (size_t t = 1; t < sizeof types / sizeof *types; t++)
        for (int64_t length = 2; length <= MOST; length++)
            for (int largest = 0; largest < 2; largest++) {
                tn_arg_kernels k = tn_arg_find(tn_cpu_isa(), largest, types[t]);
                size_t w = tn_element_type_bytes(types[t]);
                assert_non_null(k.row);
                char *x = malloc((size_t)(N * length) * w), *y = malloc((size_t)(N * length) * w);
                uint64_t seed = (uint64_t)length * 17 + t;
                for (int64_t i = 0; i < N * length; i++) {
                    uint64_t v = some(types[t], &seed, length % 3 == 0);
                    /* Equal ones: the first is meant. */
                    if (next(&seed) % 4 == 0 && i % length) memcpy(&v, x + (size_t)(i - 1) * w, w);
                    memcpy(x + (size_t)i * w, &v, w);
                }
                for (int64_t i = 0; i < N * length; i++)
                    memcpy(y + (size_t)(i % length * N + i / length) * w, x + (size_t)i * w, w);
                tn_arg_columns(&k, w, y, N, length, N, out);
                tn_arg_few(&k, w, y, N, length, N, index);
                for (int r = 0; r < N; r++) {
                    tn_arg want = k.row(x + (size_t)(r * length) * w, length);
                    assert_int_equal(out[r].index, want.index);
                    assert_int_equal(index[r], want.index);
                    assert_true(out[r].key == want.key);
                }
                free(x);
                free(y);
            }
}

/* Rows that end within a group or a chunk, against columns; of numbers, of zeros among what is
 * worse, of a few values that repeat, and with NaN and infinities. */
static void test_places_of_long_rows(void **state)
{
    (void)state;
    enum { N = 16 };
    static const int64_t lengths[] = {64, 65, 100, 127, 300, 2048, 2049, 2111, 5000};
    for (size_t t = 1; t < sizeof types / sizeof *types; t++)
        for (size_t l = 0; l < 4 * sizeof lengths / sizeof *lengths; l++) {
            int64_t length = lengths[l / 4];
            size_t w = tn_element_type_bytes(types[t]);
            char *x = malloc((size_t)(N * length) * w), *y = malloc((size_t)(N * length) * w);
            uint64_t seed = (uint64_t)length * 17 + t;
            for (int64_t i = 0; i < N * length; i++) {
                uint64_t v = some(types[t], &seed, l % 4 == 3);
                uint64_t sign = UINT64_C(1) << (8 * w - 1);
                if (l % 4 == 1) v = (v & ~sign) | (v << 1 && next(&seed) % 500 ? sign : 0);
                if (l % 4 == 2) v &= ~(sign - 1) | sign >> 9;
                memcpy(x + (size_t)i * w, &v, w);
                memcpy(y + (size_t)(i % length * N + i / length) * w, &v, w);
            }
            for (int how = 0; how < 2; how++) {
                tn_arg_kernels k = tn_arg_find(tn_cpu_isa(), how, types[t]);
                tn_arg out[N];
                tn_arg_columns(&k, w, y, N, length, N, out);
                for (int64_t r = 0; r < N; r++) {
                    tn_arg got = k.row(x + (size_t)(r * length) * w, length);
                    assert_int_equal(got.index, out[r].index);
                    assert_true(got.key == out[r].key);
                }
            }
            free(x);
            free(y);
        }
}

static void test_kinds(void **state)
{
    (void)state;
    tn_isa isa = tn_cpu_isa();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int o = 0; o < 4; o++)
            assert_non_null(tn_line_folds_of(isa, ops[o], types[t]).short_rows.tree);
    assert_null(tn_line_folds_of(isa, TN_OP_divide, TN_F32).short_rows.tree);
    assert_null(tn_line_folds_of(isa, TN_OP_add, TN_I4).short_rows.tree);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),       cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_many_rows), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_places),    cmocka_unit_test(test_places_of_long_rows),
        cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run);
}
