/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/elementwise.h"
#include "kernels/running.h"

enum { PIECE = TN_RUNNING_PIECE };

static const tn_element_type types[] = {TN_F32, TN_F64, TN_I32, TN_U32, TN_I64, TN_U64};
static const tn_op_kind ops[] = {TN_OP_add, TN_OP_multiply, TN_OP_maximum, TN_OP_minimum};

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(tn_element_type e, void *x, int64_t n, bool nans, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = next(&seed);
        double v = (double)(r % 2001) - 1000;
        if (r % 64 == 0) v = -0.0;
        if (nans && r % 257 == 0) v = __builtin_nan("");
        if (e == TN_F32) ((float *)x)[i] = (float)(v / 900);
        else if (e == TN_F64) ((double *)x)[i] = v / 900;
        else if (tn_element_type_bytes(e) == 4) ((uint32_t *)x)[i] = r * 2654435761u;
        else ((uint64_t *)x)[i] = r * 0x9E3779B97F4A7C15u;
    }
}

/* The order that running.h promises, one element at a time. */
static void by_groups(const tn_kernel *k, size_t w, const char *x, char *y, int64_t n,
                      const void *before, bool backwards)
{
#define AT(p, i) ((p) + (size_t)(backwards ? n - 1 - (i) : (i)) * w)
    char group[16 * 8], line[8];
    for (int64_t at = 0; at < n; at += 16) {
        int64_t size = n - at < 16 ? n - at : 16;
        for (int64_t i = 0; i < size; i++) memcpy(group + (size_t)i * w, AT(x, at + i), w);
        for (int64_t s = 1; s < 16; s *= 2)
            for (int64_t i = 0; i < size; i++)
                if (i & s)
                    tn_kernel_run(
                        k, 1,
                        (const void *[]){group + (size_t)((i & -s) - 1) * w, group + (size_t)i * w},
                        group + (size_t)i * w);
        for (int64_t i = 0; i < size; i++) {
            char *g = group + (size_t)i * w;
            if (at) tn_kernel_run(k, 1, (const void *[]){line, g}, g);
            tn_kernel_run(k, 1, (const void *[]){before, g}, AT(y, at + i));
        }
        memcpy(line, group + (size_t)(size - 1) * w, w);
    }
}

static bool same(tn_element_type e, const void *a, const void *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (e == TN_F32) {
            float x = ((const float *)a)[i], y = ((const float *)b)[i];
            if (memcmp(&x, &y, 4) && !(x != x && y != y)) return false;
        } else if (e == TN_F64) {
            double x = ((const double *)a)[i], y = ((const double *)b)[i];
            if (memcmp(&x, &y, 8) && !(x != x && y != y)) return false;
        } else {
            size_t w = tn_element_type_bytes(e);
            if (memcmp((const char *)a + (size_t)i * w, (const char *)b + (size_t)i * w, w))
                return false;
        }
    }
    return true;
}

static void check(tn_isa isa, tn_op_kind op, tn_element_type e, bool backwards, bool nans)
{
    static _Alignas(64) char x[8 * PIECE], y[8 * PIECE], want[8 * PIECE];
    static const int64_t sizes[] = {1, 2, 15, 16, 17, 31, 64, 75, 1000, PIECE - 1, PIECE};
    size_t w = tn_element_type_bytes(e);
    tn_running r = tn_running_find(isa, op, e);
    tn_kernel k;
    assert_non_null(r.run);
    assert_true(tn_kernel_elementwise(TN_ISA_BASELINE, op, e, &k));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        char before[8], total[8];
        fill(e, x, n, nans, (uint32_t)i);
        fill(e, before, 1, nans, 77);
        by_groups(&k, w, x, want, n, before, backwards);
        r.run(x, y, n, before, backwards);
        assert_true(same(e, y, want, n));
        if (n < PIECE) continue;
        r.total(x, total, backwards);
        tn_kernel_run(&k, 1, (const void *[]){before, total}, total);
        assert_true(same(e, total, y + (backwards ? 0 : (size_t)(n - 1) * w), 1));
    }
}

static void test_order(void **state)
{
    (void)state;
    for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
        if (!tn_cpu_has((tn_isa)isa)) continue;
        for (size_t e = 0; e < sizeof types / sizeof *types; e++)
            for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
                for (int k = 0; k < 4; k++) check((tn_isa)isa, ops[o], types[e], k & 1, k >> 1);
    }
}

static void test_zero(void **state)
{
    (void)state;
    float x[32], y[32], before = -0.0F;
    for (int i = 0; i < 32; i++) x[i] = -0.0F;
    for (int isa = 0; isa < TN_ISA_COUNT; isa++) {
        if (!tn_cpu_has((tn_isa)isa)) continue;
        tn_running_find((tn_isa)isa, TN_OP_add, TN_F32).run(x, y, 32, &before, false);
        for (int i = 0; i < 32; i++) assert_true(signbit(y[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
