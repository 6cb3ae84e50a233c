/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/half.h"
#include "ops/op_test.h"

static void set_dims(tn_op *op)
{
    SET_NO_INTS(op, update_window_dims);
    SET_NO_INTS(op, inserted_window_dims);
    SET_NO_INTS(op, input_batching_dims);
    SET_NO_INTS(op, scatter_indices_batching_dims);
    SET_NO_INTS(op, scatter_dims_to_operand_dims);
    SET_INT(op, index_vector_dim, 0);
}

/* The specification's example. */
TEST(scatters_with_batching_dims)
{
    tn_op *op = make_op_with_regions(TN_OP_scatter, "2x3x4x2xi64, 2x2x3x2xi64, 2x2x3x2x2xi64",
                                     "2x3x4x2xi64", 1);
    make_binary_region(op, 0, TN_OP_add, "i64");
    SET_INTS(op, update_window_dims, 3, 4);
    SET_INTS(op, inserted_window_dims, 1);
    SET_INTS(op, input_batching_dims, 0);
    SET_INTS(op, scatter_indices_batching_dims, 1);
    SET_INTS(op, scatter_dims_to_operand_dims, 2, 1);
    SET_INT(op, index_vector_dim, 3);
    int64_t x[48], out[48], update[48];
    for (int i = 0; i < 48; i++) {
        x[i] = i + 1;
        update[i] = 1;
    }
    int64_t at[] = {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0};
    RUN(op, IN(x, at, update), OUT(out));
    EXPECT(int64_t, out, 3, 4, 6, 7, 6, 7, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18, 17, 18, 19, 20, 22,
           23, 24, 25, 25, 26, 28, 29, 30, 31, 31, 32, 35, 36, 38, 39, 38, 39, 39, 40, 41, 42, 44,
           45, 46, 47, 47, 48);
    RUN(op, IN(x, at, update), OUT(x)); /* in place */
    assert_memory_equal(x, out, sizeof x);
    SET_INTS(op, scatter_dims_to_operand_dims, 2);
    EXPECT_INVALID(op, "scatter_dims_to_operand_dims should have 2 values");
    SET_INTS(op, scatter_dims_to_operand_dims, 2, 1);
    SET_INTS(op, update_window_dims, 2, 4);
    EXPECT_INVALID(op, "dimension 3 of the updates should be 3, as in the indices, and is 2");
}

static tn_op *element_op(const char *types, const char *result, tn_op_kind kind, const char *e)
{
    tn_op *op = make_op_with_regions(TN_OP_scatter, types, result, 1);
    if (kind) {
        make_binary_region(op, 0, kind, e);
    } else {
        char two[32];
        snprintf(two, sizeof two, "%s, %s", e, e);
        tn_region *r = make_region(op, 0, two);
        append_return(r, 1, (tn_value *[]){&r->args[1]});
    }
    set_dims(op);
    SET_INTS(op, inserted_window_dims, 0);
    SET_INTS(op, scatter_dims_to_operand_dims, 0);
    SET_INT(op, index_vector_dim, 1);
    return op;
}

TEST(elements_are_applied_in_order)
{
    enum { N = 3000, SIZE = 50 };
    static int32_t x[SIZE], out[SIZE], want[SIZE], update[N], at[N];
    for (int general = 0; general < 3; general++) {
        tn_op *op = element_op("50xi32, 3000x1xi32, 3000xi32", "50xi32",
                               general ? TN_OP_add : TN_OP_INVALID, "i32");
        if (general == 2) { /* 3 a - b: order matters */
            int32_t three = 3;
            tn_region *r = make_region(op, 0, "i32, i32");
            r->first = r->last = NULL;
            tn_value *v = append_constant(r, "i32", &three);
            v = append(r, TN_OP_multiply, "i32", &r->args[0], v, NULL);
            v = append(r, TN_OP_subtract, "i32", v, &r->args[1], NULL);
            append_return(r, 1, &v);
        }
        for (int i = 0; i < SIZE; i++) want[i] = x[i] = i;
        for (int i = 0; i < N; i++) {
            update[i] = (int32_t)random_below(1000);
            at[i] = (int32_t)random_below(SIZE + 10) - 5;
            if (at[i] < 0 || at[i] >= SIZE) continue;
            uint32_t old = (uint32_t)want[at[i]], new = (uint32_t)update[i];
            want[at[i]] = (int32_t)(general == 2 ? 3 * old - new : general ? old + new : new);
        }
        RUN(op, IN(x, at, update), OUT(out));
        assert_memory_equal(out, want, sizeof out);
    }
}

TEST(one_window_lies_anywhere_or_is_left_out)
{
    static const int32_t places[] = {0, 2, 4, 5, -1, INT32_MIN, INT32_MAX};
    for (size_t k = 0; k < 2 * sizeof places / sizeof *places; k++) {
        bool adds = k % 2;
        tn_op *op = element_op("6x3xf32, 1xi32, 2x3xf32", "6x3xf32", adds ? TN_OP_add : 0, "f32");
        SET_INTS(op, update_window_dims, 0, 1);
        SET_NO_INTS(op, inserted_window_dims);
        SET_INT(op, index_vector_dim, 0);
        int32_t at = places[k / 2];
        float x[18], out[18], update[6] = {1, 2, 3, 4, 5, 6};
        for (int i = 0; i < 18; i++) x[i] = (float)(10 * i);
        RUN(op, IN(x, &at, update), OUT(out));
        for (int i = 0; i < 18; i++) {
            int64_t row = (int64_t)i / 3 - at;
            bool inside = at >= 0 && at <= 4 && row >= 0 && row < 2;
            float u = inside ? update[row * 3 + i % 3] : 0;
            assert_true(out[i] == (inside && !adds ? u : x[i] + u));
        }
    }
}

TEST(unsigned_indices_are_large_not_negative)
{
    tn_op *op = element_op("4xi32, 3x1xui8, 3xi32", "4xi32", TN_OP_add, "i32");
    int32_t x[] = {0, 0, 0, 0}, update[] = {1, 2, 3}, out[4];
    uint8_t at[] = {255, 3, 0};
    RUN(op, IN(x, at, update), OUT(out));
    EXPECT(int32_t, out, 3, 0, 0, 2);
}

TEST(narrow_floats_round_at_each_update)
{
    tn_op *op = element_op("1xbf16, 3x1xi32, 3xbf16", "1xbf16", TN_OP_add, "bf16");
    uint16_t x[] = {0x4380}, update[] = {0x3F80, 0x3F80, 0x3F80}, out[1]; /* 256, 1 */
    int32_t at[] = {0, 0, 0};
    RUN(op, IN(x, at, update), OUT(out));
    EXPECT(uint16_t, out, 0x4380); /* 257 isn't a bf16 */
    op = element_op("1xbf16, 3x1xi32, 3xbf16", "1xf32", TN_OP_add, "f32");
    float wide[1];
    RUN(op, IN(x, at, update), OUT(wide));
    EXPECT(float, wide, 259);
}

/* Sums of f16 and bf16, of elements and of windows, with infinities, NaN and subnormal numbers. */
TEST(sums_of_halves_round_at_each_update)
{
    enum { N = 2000, PLACES = 9, W = 37 };
    static uint16_t x[PLACES * W], update[N * W], got[PLACES * W], want[PLACES * W];
    static int32_t at[N];
    for (int wide = 0; wide < 2; wide++)
        for (int b = 0; b < 2; b++) {
            const char *e = b ? "bf16" : "f16";
            int w = wide ? W : 1;
            char operands[80], result[40];
            snprintf(operands, sizeof operands, "%dx%dx%s, %dx1xi32, %dx%dx%s", PLACES, w, e, N, N,
                     w, e);
            snprintf(result, sizeof result, "%dx%dx%s", PLACES, w, e);
            tn_op *op = element_op(operands, result, TN_OP_add, e);
            SET_INTS(op, update_window_dims, 1);
            for (int i = 0; i < PLACES * w; i++) want[i] = x[i] = (uint16_t)random_below(0x5000);
            for (int i = 0; i < N * w; i++) update[i] = (uint16_t)random_below(0x7900);
            update[7] = b ? 0x7f81 : 0x7c01;
            for (int i = 0; i < N; i++) at[i] = (int32_t)random_below(PLACES);
            for (int i = 0; i < N * w; i++) {
                uint16_t *to = &want[at[i / w] * w + i % w];
                *to = b ? tn_bf16_of_f32(tn_f32_of_bf16(*to) + tn_f32_of_bf16(update[i]))
                        : tn_f16_of_f32(tn_f32_of_f16(*to) + tn_f32_of_f16(update[i]));
            }
            RUN(op, IN(x, at, update), OUT(got));
            for (int i = 0; i < PLACES * w; i++) assert_int_equal(got[i], want[i]);
        }
}

/* Many updates of few integers: threads have tables of their own. */
TEST(integers_are_counted_by_several_threads)
{
    enum { N = 40000, PLACES = 300 };
    static int32_t x[PLACES], out[PLACES], want[PLACES], update[N], at[N];
    static const tn_op_kind kinds[] = {TN_OP_add, TN_OP_maximum, TN_OP_minimum, TN_OP_and};
    assert_null(tn_thread_pool_create(3, &pool));
    for (int k = 0; k < 4; k++) {
        tn_op *op = element_op("300xi32, 40000x1xi32, 40000xi32", "300xi32", kinds[k], "i32");
        for (int i = 0; i < PLACES; i++) want[i] = x[i] = (int32_t)random_below(1000) - 500;
        for (int i = 0; i < N; i++) {
            update[i] = (int32_t)random_below(1 << 30) - (1 << 29);
            at[i] = (int32_t)random_below(PLACES + 20) - 10;
            if (at[i] < 0 || at[i] >= PLACES) continue;
            int32_t *to = &want[at[i]], u = update[i];
            *to = k == 0   ? (int32_t)((uint32_t)*to + (uint32_t)u)
                  : k == 1 ? (u > *to ? u : *to)
                  : k == 2 ? (u < *to ? u : *to)
                           : *to & u;
        }
        RUN(op, IN(x, at, update), OUT(out));
        assert_memory_equal(out, want, sizeof out);
    }
    tn_thread_pool_destroy(pool);
    pool = NULL;
}

/* Rows of a table, contiguous and transposed, with and without threads. */
TEST(rows_are_added)
{
    enum { ROWS = 100, WIDTH = 700, N = 60 };
    static float table[ROWS * WIDTH], out[ROWS * WIDTH], want[ROWS * WIDTH], update[N * WIDTH];
    static int64_t ids[N];
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int i = 0; i < ROWS * WIDTH; i++) want[i] = table[i] = (float)(i % 13);
        for (int i = 0; i < N * WIDTH; i++) update[i] = (float)(i % 7);
        for (int i = 0; i < N; i++) ids[i] = random_below(ROWS + 2) - 1;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < WIDTH && ids[i] >= 0 && ids[i] < ROWS; k++)
                want[transposed ? k * ROWS + ids[i] : ids[i] * WIDTH + k] += update[i * WIDTH + k];
        tn_op *op = make_op_with_regions(TN_OP_scatter,
                                         transposed ? "700x100xf32, 60x1xi64, 60x700xf32"
                                                    : "100x700xf32, 60x1xi64, 60x700xf32",
                                         transposed ? "700x100xf32" : "100x700xf32", 1);
        make_binary_region(op, 0, TN_OP_add, "f32");
        set_dims(op);
        SET_INTS(op, update_window_dims, 1);
        SET_INTS(op, inserted_window_dims, transposed);
        SET_INTS(op, scatter_dims_to_operand_dims, transposed);
        SET_INT(op, index_vector_dim, 1);
        for (int threads = 0; threads < 2; threads++) {
            if (threads) assert_null(tn_thread_pool_create(3, &pool));
            RUN(op, IN(table, ids, update), OUT(out));
            assert_memory_equal(out, want, sizeof out);
        }
        tn_thread_pool_destroy(pool);
        pool = NULL;
    }
}

/* Few, but of many elements. */
TEST(rows_are_shared_out)
{
    enum { ROWS = 100, WIDTH = 24, N = 2000 };
    static float table[ROWS * WIDTH], out[ROWS * WIDTH], want[ROWS * WIDTH], update[N * WIDTH];
    static int32_t ids[N];
    for (int i = 0; i < ROWS * WIDTH; i++) want[i] = table[i] = (float)(i % 13);
    for (int i = 0; i < N; i++) ids[i] = (int32_t)random_below(ROWS + 20) - 10;
    for (int i = 0; i < N * WIDTH; i++) {
        int row = ids[i / WIDTH];
        update[i] = (float)random_below(1 << 20) / 7;
        if (row >= 0 && row < ROWS) want[row * WIDTH + i % WIDTH] += update[i];
    }
    tn_op *op = element_op("100x24xf32, 2000x1xi32, 2000x24xf32", "100x24xf32", TN_OP_add, "f32");
    SET_INTS(op, update_window_dims, 1);
    assert_null(tn_thread_pool_create(3, &pool));
    RUN(op, IN(table, ids, update), OUT(out));
    assert_memory_equal(out, want, sizeof out);
    tn_thread_pool_destroy(pool);
    pool = NULL;
}

/* Also where updates are neither zeros nor NaNs, and what they meet is. */
TEST(extremes_of_zeros_and_nans)
{
    enum { SIZE = 6, N = 600 };
    float x[SIZE] = {NAN, -0.0f, 0.0f, -INFINITY, 5, -5}, out[SIZE], want[SIZE];
    static float update[N];
    static int32_t at[N];
    for (int way = 0; way < 4; way++) {
        bool larger = way & 1, odd = way & 2;
        memcpy(want, x, sizeof x);
        for (int i = 0; i < N; i++) {
            at[i] = (int32_t)random_below(SIZE);
            update[i] = (larger ? -4 : 4) + (float)(i % 7) - 3;
            if (update[i] == 0 || (at[i] == 5 && !larger)) update[i] = 1;
            if (odd && i % 50 == 0) update[i] = i % 100 ? -0.0f : NAN;
            float *w = &want[at[i]], v = update[i];
            if (isnan(*w) || isnan(v)) *w = NAN;
            else if (v == 0 && *w == 0) *w = larger == (bool)signbit(v) ? *w : v;
            else if (larger ? v > *w : v < *w) *w = v;
        }
        tn_op *op = element_op("6xf32, 600x1xi32, 600xf32", "6xf32",
                               larger ? TN_OP_maximum : TN_OP_minimum, "f32");
        RUN(op, IN(x, at, update), OUT(out));
        for (int i = 0; i < SIZE; i++) {
            assert_true(isnan(want[i]) ? isnan(out[i]) : out[i] == want[i]);
            if (!isnan(want[i])) assert_int_equal(!!signbit(out[i]), !!signbit(want[i]));
        }
    }
}

/* Windows of many sizes at places that repeat, as those of segments do, in order. */
TEST(segments_are_summed_in_order)
{
    enum { ROWS = 40, MOST = 37, N = 700 };
    static float table[ROWS * MOST], out[ROWS * MOST], want[ROWS * MOST], update[N * MOST];
    static int32_t ids[N];
    for (int width = 1; width <= MOST; width += width < 10 ? 1 : 9) {
        char types[64], result[16];
        snprintf(types, sizeof types, "40x%dxf32, 700x1xi32, 700x%dxf32", width, width);
        snprintf(result, sizeof result, "40x%dxf32", width);
        tn_op *op = element_op(types, result, TN_OP_add, "f32");
        SET_INTS(op, update_window_dims, 1);
        for (int outside = 0; outside < 2; outside++) {
            for (int i = 0; i < ROWS * width; i++) want[i] = table[i] = 0.1f * (float)i;
            for (int i = 0; i < N * width; i++) update[i] = (float)random_below(1 << 20) / 7;
            for (int i = 0; i < N; i++) ids[i] = i * (ROWS + 4 * outside) / N - 2 * outside;
            for (int i = 0; i < N; i++)
                for (int k = 0; k < width && ids[i] >= 0 && ids[i] < ROWS; k++)
                    want[ids[i] * width + k] += update[i * width + k];
            RUN(op, IN(table, ids, update), OUT(out));
            assert_memory_equal(out, want, (size_t)(ROWS * width) * sizeof *out);
        }
    }
}

TEST(several_operands_scatter_together)
{
    tn_op *op = make_op_with_regions(TN_OP_scatter, "4xi32, 4xf64, 2x1xi32, 2xi32, 2xf64",
                                     "4xi32, 4xf64", 1);
    tn_region *r = make_region(op, 0, "i32, f64, i32, f64");
    tn_value *values[] = {
        append(r, TN_OP_maximum, "i32", &r->args[0], &r->args[2], NULL),
        append(r, TN_OP_add, "f64", &r->args[1], &r->args[3], NULL),
    };
    append_return(r, 2, values);
    set_dims(op);
    SET_INTS(op, inserted_window_dims, 0);
    SET_INTS(op, scatter_dims_to_operand_dims, 0);
    SET_INT(op, index_vector_dim, 1);
    int32_t x[] = {1, 5, 3, 4}, at[] = {1, 3}, u[] = {2, 9}, out[4];
    double y[] = {0, 0.5, 0, 0}, v[] = {1, 2}, sum[4];
    RUN(op, IN(x, y, at, u, v), OUT(out, sum));
    EXPECT(int32_t, out, 1, 5, 3, 9);
    EXPECT(double, sum, 0, 1.5, 0, 2);
}

TEST(a_million_updates_are_quick)
{
    enum { N = 1 << 20 };
    float *x = calloc(N, 4), *out = malloc(N * 4), *update = malloc(N * 4);
    int32_t *at = malloc(N * 4);
    for (int i = 0; i < N; i++) {
        update[i] = 1;
        at[i] = (int32_t)random_below(N);
    }
    tn_op *op =
        element_op("1048576xf32, 1048576x1xi32, 1048576xf32", "1048576xf32", TN_OP_add, "f32");
    double t = seconds();
    RUN(op, IN(x, at, update), OUT(out));
    print_message("scatter of 1M elements: %.1f ms\n", (seconds() - t) * 1e3);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += out[i];
    assert_true(sum == N);
    free(x);
    free(out);
    free(update);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scatters_with_batching_dims),
        cmocka_unit_test(elements_are_applied_in_order),
        cmocka_unit_test(one_window_lies_anywhere_or_is_left_out),
        cmocka_unit_test(unsigned_indices_are_large_not_negative),
        cmocka_unit_test(narrow_floats_round_at_each_update),
        cmocka_unit_test(sums_of_halves_round_at_each_update),
        cmocka_unit_test(integers_are_counted_by_several_threads),
        cmocka_unit_test(rows_are_added),
        cmocka_unit_test(rows_are_shared_out),
        cmocka_unit_test(extremes_of_zeros_and_nans),
        cmocka_unit_test(segments_are_summed_in_order),
        cmocka_unit_test(several_operands_scatter_together),
        cmocka_unit_test(a_million_updates_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
