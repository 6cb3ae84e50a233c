/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/isa_test.h"
#include "kernels/sort_lines.h"
#include "ops/sort_array.h"

enum { MOST = 200000 };

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

/* Numbers of one of several kinds: random, few different ones, all the same, rising, falling, two
 * ramps, and such as end with the largest ones. */
enum { KINDS = 7 };
static uint64_t number(int kind, int64_t i, int64_t n, uint64_t *state)
{
    switch (kind) {
    case 0: return next(state) * 0x9E3779B97F4A7C15u;
    case 1: return next(state) % 5;
    case 2: return 77;
    case 3: return (uint64_t)i;
    case 4: return (uint64_t)(n - i);
    case 5: return (uint64_t)(i < n / 2 ? i : n - i);
    default: return next(state) % 3 ? UINT64_MAX - next(state) % 3 : next(state);
    }
}

#define DEFINE_CHECK(T, wide_)                                                                     \
    static int compare_##T(const void *x, const void *y)                                           \
    {                                                                                              \
        T a = *(const T *)x, b = *(const T *)y;                                                    \
        return (a > b) - (a < b);                                                                  \
    }                                                                                              \
    static void check_##T(tn_thread_pool *pool, int64_t n, int kind)                               \
    {                                                                                              \
        static T x[MOST + 1], y[MOST];                                                             \
        uint64_t state = (uint64_t)n * 31 + (uint64_t)kind;                                        \
        for (int64_t i = 0; i < n; i++) x[i] = y[i] = (T)number(kind, i, n, &state);               \
        x[n] = 12345; /* nothing is written behind the end */                                      \
        qsort(y, (size_t)n, sizeof *y, compare_##T);                                               \
        tn_sort_array(pool, wide_, x, n, NULL, NULL);                                              \
        if (memcmp(x, y, (size_t)n * sizeof *x)) fail_msg("%s, n %d, kind %d", #T, (int)n, kind);  \
        assert_true(x[n] == 12345);                                                                \
    }                                                                                              \
    static void check_division_##T(int64_t n, int kind, bool equal)                                \
    {                                                                                              \
        static T x[MOST + 1], y[MOST];                                                             \
        tn_isa isa = tn_cpu_isa();                                                                 \
        uint64_t state = 5;                                                                        \
        for (int64_t i = 0; i < n; i++) x[i] = y[i] = (T)number(kind, i, n, &state);               \
        x[n] = 12345;                                                                              \
        T pivot = wide_ ? (T)tn_sort_pivot_u64(isa, (void *)x, n)                                  \
                        : (T)tn_sort_pivot_u32(isa, (void *)x, n);                                 \
        int64_t below = wide_ ? tn_sort_divide_u64(isa, (void *)x, n, pivot, equal)                \
                              : tn_sort_divide_u32(isa, (void *)x, n, (uint32_t)pivot, equal);     \
        for (int64_t i = 0; i < n; i++)                                                            \
            assert_true((equal ? x[i] <= pivot : x[i] < pivot) == (i < below));                    \
        assert_true(x[n] == 12345);                                                                \
        qsort(x, (size_t)n, sizeof *x, compare_##T);                                               \
        qsort(y, (size_t)n, sizeof *y, compare_##T);                                               \
        assert_memory_equal(x, y, (size_t)n * sizeof *x);                                          \
    }
DEFINE_CHECK(uint32_t, false)
DEFINE_CHECK(uint64_t, true)

static void every_length_and_kind_is_sorted(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t n = 0; n < 600; n += n < 300 ? 1 : 17) {
            check_uint32_t(NULL, n, kind);
            check_uint64_t(NULL, n, kind);
        }
        check_uint32_t(NULL, 50000, kind);
        check_uint64_t(NULL, 50000, kind);
    }
}

static void divisions_lose_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t n = TN_SORT_DIVIDE_LEAST; n < 700; n += 13) {
            check_division_uint32_t(n, kind, n % 2);
            check_division_uint64_t(n, kind, n % 2);
        }
        check_division_uint32_t(30001, kind, false);
        check_division_uint64_t(30001, kind, true);
    }
}

static void marked(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) ((unsigned char *)ctx)[i]++;
}

static void threads_sort_together(void **state)
{
    (void)state;
    for (int threads = 2; threads < 6; threads++) {
        tn_thread_pool *pool;
        assert_null(tn_thread_pool_create(threads, &pool));
        for (int kind = 0; kind < KINDS; kind++) {
            check_uint32_t(pool, MOST - threads, kind);
            check_uint64_t(pool, MOST - threads, kind);
        }
        static uint32_t x[MOST];
        static unsigned char times[MOST];
        uint64_t random = 1;
        for (int64_t i = 0; i < MOST; i++) x[i] = (uint32_t)next(&random) % 100000;
        memset(times, 0, sizeof times);
        tn_sort_array(pool, false, x, MOST, marked, times);
        for (int64_t i = 0; i < MOST; i++) assert_int_equal(times[i], 1);
        tn_thread_pool_destroy(pool);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_and_kind_is_sorted),
        cmocka_unit_test(divisions_lose_nothing),
        cmocka_unit_test(threads_sort_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run);
}
