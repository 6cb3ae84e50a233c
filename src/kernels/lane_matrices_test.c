/* SPDX-License-Identifier: Apache-2.0 */
/* Many small matrices at once against one after the other in plain loops, bit for bit; once for
 * each instruction set of the machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/isa_test.h"
#include "kernels/lane_matrices.h"

enum { MOST = 16, RIGHT = 20 };

static uint64_t seed = 1;
static double random_value(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 33) / (double)(1u << 30) - 1;
}

#define DEFINE(T, which, ROOT)                                                                     \
    static T many_##T[MOST * MOST * 16] __attribute__((aligned(64)));                              \
    static T right_##T[MOST * RIGHT * 16] __attribute__((aligned(64)));                            \
    static int lanes_##T(void)                                                                     \
    {                                                                                              \
        return tn_lane_matrices_get()->bytes / (int)sizeof(T);                                     \
    }                                                                                              \
    static void take_##T(const T *from, int lane, int count, T *to)                                \
    {                                                                                              \
        for (int i = 0; i < count; i++) to[i] = from[i * lanes_##T() + lane];                      \
    }                                                                                              \
    static void fill_##T(T *to, int count)                                                         \
    {                                                                                              \
        for (int i = 0; i < count * lanes_##T(); i++) to[i] = (T)random_value();                   \
    }                                                                                              \
    static void check_potrf_##T(int n, bool lower)                                                 \
    {                                                                                              \
        static T before[16][MOST * MOST], got[MOST * MOST];                                        \
        int32_t info[16];                                                                          \
        fill_##T(many_##T, n *n);                                                                  \
        for (int i = 0; i < n; i++)                                                                \
            for (int l = 0; l < lanes_##T(); l++)                                                  \
                many_##T[(i * n + i) * lanes_##T() + l] += l == 1 ? 0 : (T)n;                      \
        for (int l = 0; l < lanes_##T(); l++) take_##T(many_##T, l, n *n, before[l]);              \
        tn_lane_matrices_get()->of[which].potrf(n, lower, many_##T, info);                         \
        for (int l = 0; l < lanes_##T(); l++) {                                                    \
            T *a = before[l];                                                                      \
            int along = lower ? 1 : n, across = lower ? n : 1, failed = 0;                         \
            for (int i = 0; i < n && !failed; i++)                                                 \
                for (int j = 0; j <= i; j++) {                                                     \
                    T s = a[i * across + j * along];                                               \
                    for (int k = 0; k < j; k++)                                                    \
                        s -= a[i * across + k * along] * a[j * across + k * along];                \
                    if (i == j && !(s > 0)) failed = i + 1;                                        \
                    a[i * across + j * along] = i == j ? ROOT(s) : s / a[j * across + j * along];  \
                }                                                                                  \
            assert_int_equal(info[l], failed);                                                     \
            take_##T(many_##T, l, n *n, got);                                                      \
            if (!failed) assert_memory_equal(got, a, (size_t)(n * n) * sizeof(T));                 \
        }                                                                                          \
    }                                                                                              \
    static void check_getrf_##T(int m, int n)                                                      \
    {                                                                                              \
        static T before[16][MOST * MOST], got[MOST * MOST];                                        \
        int32_t info[16], pivots[MOST * 16];                                                       \
        fill_##T(many_##T, m *n);                                                                  \
        for (int i = 0; i < m; i++) many_##T[i * n * lanes_##T() + 1] = 0; /* a column of zeros */ \
        for (int l = 0; l < lanes_##T(); l++) take_##T(many_##T, l, m *n, before[l]);              \
        tn_lane_matrices_get()->of[which].getrf(m, n, many_##T, pivots, info);                     \
        for (int l = 0; l < lanes_##T(); l++) {                                                    \
            T *a = before[l];                                                                      \
            int zero = 0;                                                                          \
            for (int j = 0; j < m && j < n; j++) {                                                 \
                int p = j;                                                                         \
                for (int i = j + 1; i < m; i++)                                                    \
                    if (fabs((double)a[i * n + j]) > fabs((double)a[p * n + j])) p = i;            \
                assert_int_equal(pivots[j * lanes_##T() + l], p + 1);                              \
                if (a[p * n + j] == 0) {                                                           \
                    if (!zero) zero = j + 1;                                                       \
                    continue;                                                                      \
                }                                                                                  \
                for (int c = 0; c < n; c++) {                                                      \
                    T x = a[j * n + c];                                                            \
                    a[j * n + c] = a[p * n + c], a[p * n + c] = x;                                 \
                }                                                                                  \
                for (int i = j + 1; i < m; i++) {                                                  \
                    a[i * n + j] /= a[j * n + j];                                                  \
                    for (int c = j + 1; c < n; c++) a[i * n + c] -= a[i * n + j] * a[j * n + c];   \
                }                                                                                  \
            }                                                                                      \
            assert_int_equal(info[l], zero);                                                       \
            assert_int_equal(l == 1, zero == 1);                                                   \
            take_##T(many_##T, l, m *n, got);                                                      \
            assert_memory_equal(got, a, (size_t)(m * n) * sizeof(T));                              \
        }                                                                                          \
    }                                                                                              \
    /* What is solved for, multiplied again. */                                                    \
    static void check_trsm_##T(int n, int others, int form)                                        \
    {                                                                                              \
        static T a[MOST * MOST], b[16][MOST * RIGHT], x[MOST * RIGHT];                             \
        tn_lane_solve s = {n, others, form & 1, form & 2, form & 4, form & 8};                     \
        fill_##T(many_##T, n *n);                                                                  \
        for (int i = 0; i < n * lanes_##T(); i++)                                                  \
            many_##T[(i / lanes_##T() * (n + 1)) * lanes_##T() + i % lanes_##T()] += 3;            \
        fill_##T(right_##T, n *others);                                                            \
        for (int l = 0; l < lanes_##T(); l++) take_##T(right_##T, l, n *others, b[l]);             \
        tn_lane_matrices_get()->of[which].trsm(&s, many_##T, right_##T);                           \
        for (int l = 0; l < lanes_##T(); l++) {                                                    \
            take_##T(many_##T, l, n *n, a);                                                        \
            take_##T(right_##T, l, n *others, x);                                                  \
            for (int i = 0; i < n; i++)                                                            \
                for (int c = 0; c < others; c++) {                                                 \
                    double sum = 0, size = 0;                                                      \
                    for (int k = 0; k < n; k++) {                                                  \
                        int r = s.left ? i : k, q = s.left ? k : i;                                \
                        double y = s.left ? x[k * others + c] : x[c * n + k];                      \
                        double e = s.transposed ? a[q * n + r] : a[r * n + q];                     \
                        if (s.lower ? q > r : q < r) e = 0;                                        \
                        if (s.unit && q == r) e = 1;                                               \
                        sum += e * y, size += fabs(e * y);                                         \
                    }                                                                              \
                    double want = s.left ? b[l][i * others + c] : b[l][c * n + i];                 \
                    assert_true(fabs(sum - want) <= 1e-5 * (size + 1));                            \
                }                                                                                  \
        }                                                                                          \
    }
/* Q R is the matrix, and the columns of Q are orthonormal. */
#define DEFINE_QR(T, which, eps)                                                                   \
    static void check_qr_##T(int m, int n, int columns)                                            \
    {                                                                                              \
        static T before[16][MOST * MOST], r[16][MOST * MOST], q[MOST * MOST];                      \
        static T tau[MOST * 16] __attribute__((aligned(64)));                                      \
        int k = m < n ? m : n, lanes = lanes_##T();                                                \
        fill_##T(many_##T, m *n);                                                                  \
        for (int i = 1; i < m; i++) many_##T[i * n * lanes + 1] = 0; /* nothing to do */           \
        for (int i = 0; i < m * n; i++)                                                            \
            many_##T[i * lanes] *= (T)1e30; /* squares are too large */                            \
        for (int l = 0; l < lanes; l++) take_##T(many_##T, l, m *n, before[l]);                    \
        tn_lane_matrices_get()->of[which].geqrf(m, n, many_##T, tau);                              \
        for (int l = 0; l < lanes; l++) take_##T(many_##T, l, m *n, r[l]);                         \
        assert_true(tau[1] == 0);                                                                  \
        int reflectors = k < columns ? k : columns;                                                \
        static T square[MOST * MOST * 16] __attribute__((aligned(64)));                            \
        for (int i = 0; i < m; i++)                                                                \
            for (int c = 0; c < columns; c++)                                                      \
                for (int l = 0; l < lanes; l++)                                                    \
                    square[(i * columns + c) * lanes + l] =                                        \
                        c < n ? many_##T[(i * n + c) * lanes + l] : 9;                             \
        tn_lane_matrices_get()->of[which].orgqr(m, columns, reflectors, square, tau);              \
        for (int l = 0; l < lanes; l++) {                                                          \
            take_##T(square, l, m *columns, q);                                                    \
            for (int x = 0; x < columns; x++)                                                      \
                for (int y = 0; y < columns; y++) {                                                \
                    double sum = 0;                                                                \
                    for (int i = 0; i < m; i++)                                                    \
                        sum += (double)q[i * columns + x] * (double)q[i * columns + y];            \
                    assert_true(fabs(sum - (x == y)) < 40 * eps);                                  \
                }                                                                                  \
            for (int i = 0; i < m && columns >= k; i++)                                            \
                for (int c = 0; c < n; c++) {                                                      \
                    double sum = 0;                                                                \
                    for (int x = 0; x < k && x <= c; x++)                                          \
                        sum += (double)q[i * columns + x] * (double)r[l][x * n + c];               \
                    assert_true(fabs(sum - (double)before[l][i * n + c]) <                         \
                                60 * eps * (l ? 1 : 1e30));                                        \
                }                                                                                  \
        }                                                                                          \
    }
DEFINE(float, 0, sqrtf)
DEFINE(double, 1, sqrt)
DEFINE_QR(float, 0, 0x1p-22)
DEFINE_QR(double, 1, 0x1p-51)

static void reflectors_make_an_orthogonal_factor(void **state)
{
    for (int m = 1; m <= MOST; m++)
        for (int n = 1; n <= MOST; n += 2) {
            check_qr_float(m, n, m);
            check_qr_double(m, n, m < n ? m : n);
        }
}

static void factors_are_those_of_each_alone(void **state)
{
    for (int n = 1; n <= MOST; n++) {
        for (int lower = 0; lower < 2; lower++) check_potrf_float(n, lower);
        for (int lower = 0; lower < 2; lower++) check_potrf_double(n, lower);
        for (int m = 1; m <= MOST; m += 3) check_getrf_float(m, n);
        for (int m = 1; m <= MOST; m += 3) check_getrf_double(m, n);
    }
}

static void every_form_of_a_system_is_solved(void **state)
{
    for (int form = 0; form < 16; form++)
        for (int n = 1; n <= MOST; n += 4) {
            check_trsm_float(n, 1 + form, form);
            check_trsm_double(n, 20 - form, form);
        }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_those_of_each_alone),
        cmocka_unit_test(every_form_of_a_system_is_solved),
        cmocka_unit_test(reflectors_make_an_orthogonal_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run);
}
