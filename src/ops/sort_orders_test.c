/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"
#include "ops/sort_order.h"

static tn_op *sort_op(const char *types, const char *args, int64_t dim)
{
    tn_op *op = make_op_with_regions(TN_OP_sort, types, types, 1);
    make_region(op, 0, args);
    SET_INT(op, dimension, dim);
    SET_BOOL(op, is_stable, true);
    return op;
}

static void finish(tn_op *op, tn_value *v)
{
    append_return(&op->regions[0], 1, &v);
}

/* As JAX has it: zeros alike, NaNs alike. */
static tn_value *canonical(tn_region *r, tn_value *x)
{
    float zero = 0, nan = NAN;
    tn_value *z = append_constant(r, "f32", &zero), *n = append_constant(r, "f32", &nan);
    tn_value *is_zero = append_compare(r, TN_comparison_direction_EQ, 1, x, z);
    tn_value *v = append(r, TN_OP_select, "f32", is_zero, z, x);
    tn_value *is_nan = append_compare(r, TN_comparison_direction_NE, 1, x, x);
    return append(r, TN_OP_select, "f32", is_nan, n, v);
}

TEST(sorts_the_example)
{
    tn_op *op = sort_op("2x3xi64, 2x3xi64", "i64, i64, i64, i64", 0);
    tn_region *r = &op->regions[0];
    finish(op, append_compare(r, TN_comparison_direction_GT, 0, &r->args[0], &r->args[1]));
    int64_t x[] = {1, 2, 3, 3, 2, 1}, y[] = {3, 2, 1, 1, 2, 3}, out[6], with[6];
    RUN(op, IN(x, y), OUT(out, with));
    EXPECT(int64_t, out, 3, 2, 3, 1, 2, 1);
    EXPECT(int64_t, with, 1, 2, 1, 3, 2, 3);
    SET_INT(op, dimension, -3);
    EXPECT_INVALID(op, "dimension should be in [-2, 2) and is -3");
}

static const void *captured(const tn_interpret_outer *self, const tn_value *v)
{
    return tn_op_attr(v->op, TN_ATTR_value)->tensor.data;
}

static bool float_before(float x, float y)
{
    if (isnan(x)) return false;
    return isnan(y) || x < y;
}

/* Lines of several lengths along a middle dimension: by keys, and with a comparator that hides
 * them, which merges. */
TEST(both_ways_sort_stably)
{
    static const int64_t sizes[] = {1, 2, 3, 10, 100, 333, 1499, 4000, 70000};
    for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
        int64_t size = sizes[c], outer = size > 1000 ? 1 : 3, inner = size > 5000 ? 1 : 2;
        int64_t n = outer * size * inner;
        float *x = malloc((size_t)n * 4), *out = malloc((size_t)n * 4);
        int32_t *at = malloc((size_t)n * 4), *order = malloc((size_t)n * 4);
        for (int64_t i = 0; i < n; i++) {
            x[i] = (float)random_below(size) - (float)(size / 2);
            if (random_below(20) == 0) x[i] = random_below(2) ? NAN : -0.0f;
            at[i] = (int32_t)i;
        }
        char types[128];
        snprintf(types, sizeof types, "%dx%dx%dxf32, %dx%dx%dxi32", (int)outer, (int)size,
                 (int)inner, (int)outer, (int)size, (int)inner);
        for (int way = 0; way < 2; way++) {
            tn_op *op = sort_op(types, "f32, f32, i32, i32", 1);
            tn_region *r = &op->regions[0];
            tn_value *a = canonical(r, &r->args[0]), *b = canonical(r, &r->args[1]);
            tn_value *v = append_compare(r, TN_comparison_direction_LT, 2, a, b);
            if (way)
                v = append(r, TN_OP_not, "i1", append(r, TN_OP_not, "i1", v, NULL, NULL), NULL,
                           NULL);
            finish(op, v);
            tn_sort_key keys[TN_SORT_KEYS];
            assert_int_equal(tn_sort_find_keys(r, keys), !way);
            for (int threads = 0; threads < 2; threads++) {
                if (threads) assert_null(tn_thread_pool_create(2, &pool));
                RUN(op, IN(x, at), OUT(out, order));
            }
            tn_thread_pool_destroy(pool);
            pool = NULL;
            char *seen = calloc((size_t)n, 1);
            for (int64_t i = 0; i < n; i++) {
                assert_false(seen[order[i]]++);
                assert_memory_equal(&out[i], &x[order[i]], 4);
                if (i / inner % size == 0) continue;
                float before = out[i - inner];
                assert_false(float_before(out[i], before));
                if (!float_before(before, out[i])) assert_true(order[i - inner] < order[i]);
            }
            free(seen);
        }
        free(x);
        free(out);
        free(at);
        free(order);
    }
}

TEST(keys_follow_each_other)
{
    enum { N = 5000 };
    static int32_t a[N], out_a[N];
    static double b[N], out_b[N];
    static uint8_t c[N], out_c[N];
    for (int i = 0; i < N; i++) {
        a[i] = (int32_t)random_below(20) - 10;
        b[i] = (double)random_below(10) / 4 - 1;
        c[i] = (uint8_t)i;
    }
    tn_op *op = sort_op("5000xi32, 5000xf64, 5000xui8", "i32, i32, f64, f64, ui8, ui8", -1);
    tn_region *r = &op->regions[0];
    /* b falling, then a rising */
    tn_value *x = append_compare(r, TN_comparison_direction_GT, 2, &r->args[2], &r->args[3]);
    tn_value *same = append_compare(r, TN_comparison_direction_EQ, 2, &r->args[2], &r->args[3]);
    tn_value *y = append_compare(r, TN_comparison_direction_GT, 3, &r->args[1], &r->args[0]);
    tn_value *v = append(r, TN_OP_and, "i1", y, same, NULL);
    finish(op, append(r, TN_OP_or, "i1", v, x, NULL));
    tn_sort_key keys[TN_SORT_KEYS];
    assert_int_equal(tn_sort_find_keys(r, keys), 2);
    assert_true(keys[0].descending && !keys[1].descending);
    RUN(op, IN(a, b, c), OUT(out_a, out_b, out_c));
    for (int i = 1; i < N; i++) {
        assert_true(out_b[i - 1] >= out_b[i]);
        if (out_b[i - 1] == out_b[i]) assert_true(out_a[i - 1] <= out_a[i]);
    }
}

/* The comparator as it is after its constants were moved out. */
TEST(captured_constants_are_no_obstacle)
{
    tn_op *op = sort_op("4xf32", "f32, f32", 0);
    tn_region *r = &op->regions[0];
    float zero = 0, nan = NAN;
    tn_value *key[2];
    for (int side = 0; side < 2; side++) {
        tn_value *z = append_constant(&function->body, "f32", &zero);
        tn_value *n = append_constant(&function->body, "f32", &nan), *x = &r->args[side];
        tn_value *is_zero = append_compare(r, TN_comparison_direction_EQ, 1, x, z);
        tn_value *v = append(r, TN_OP_select, "f32", is_zero, z, x);
        tn_value *is_nan = append_compare(r, TN_comparison_direction_NE, 1, x, x);
        key[side] = append(r, TN_OP_select, "f32", is_nan, n, v);
    }
    finish(op, append_compare(r, TN_comparison_direction_LT, 2, key[0], key[1]));
    tn_sort_key keys[TN_SORT_KEYS];
    assert_int_equal(tn_sort_find_keys(r, keys), 1);
    float x[] = {NAN, 0.0f, -1, -0.0f}, out[4];
    tn_tensor in = {x, op->operands[0]->type}, result = {out, op->operands[0]->type};
    tn_interpret_outer outer = {captured};
    tn_eval_context ctx = {0};
    assert_null(tn_interpret_op(op, &ctx, &outer, &in, &result));
    EXPECT(float, out, -1, 0.0f, -0.0f);
    assert_true(isnan(out[3]));
}

TEST(narrow_and_odd_types_have_orders)
{
    /* bf16: -inf < -1 < -0 = 0 < 2; i8, falling; complex by its real part. */
    tn_op *op = sort_op("5xbf16", "bf16, bf16", 0);
    tn_region *r = &op->regions[0];
    finish(op, append_compare(r, TN_comparison_direction_LT, 1, &r->args[0], &r->args[1]));
    uint16_t x[] = {0x4000, 0x0000, 0x8000, 0xBF80, 0xFF80}, out[5];
    RUN(op, IN(x), OUT(out));
    EXPECT(uint16_t, out, 0xFF80, 0xBF80, 0x0000, 0x8000, 0x4000);
    op = sort_op("4xi8", "i8, i8", 0);
    r = &op->regions[0];
    finish(op, append_compare(r, TN_comparison_direction_GT, 3, &r->args[0], &r->args[1]));
    int8_t y[] = {-128, 5, 127, -1}, sorted[4];
    RUN(op, IN(y), OUT(sorted));
    EXPECT(int8_t, sorted, 127, 5, -1, -128);
    op = sort_op("3xcomplex<f32>", "complex<f32>, complex<f32>", 0);
    r = &op->regions[0];
    tn_value *a = append(r, TN_OP_real, "f32", &r->args[0], NULL, NULL);
    tn_value *b = append(r, TN_OP_real, "f32", &r->args[1], NULL, NULL);
    finish(op, append_compare(r, TN_comparison_direction_LT, 0, a, b));
    float z[] = {3, 1, 1, 2, 2, 3}, by_real[6];
    RUN(op, IN(z), OUT(by_real));
    EXPECT(float, by_real, 1, 2, 2, 3, 3, 1);
}

TEST(what_is_no_order_gives_a_permutation)
{
    enum { N = 3000 };
    static int32_t x[N], out[N];
    for (int i = 0; i < N; i++) x[i] = i;
    for (int kind = 0; kind < 3; kind++) {
        tn_op *op = sort_op("3000xi32", "i32, i32", 0);
        tn_region *r = &op->regions[0];
        tn_value *v;
        int32_t three = 3;
        bool yes = true;
        if (kind == 0) v = append_constant(r, "i1", &yes);
        else if (kind == 1) {
            tn_value *product = append(r, TN_OP_multiply, "i32", &r->args[0], &r->args[1], NULL);
            tn_value *c = append_constant(r, "i32", &three);
            product = append(r, TN_OP_remainder, "i32", product, c, NULL);
            v = append_compare(r, TN_comparison_direction_EQ, 3, product, c);
        } else v = append_compare(r, TN_comparison_direction_NE, 3, &r->args[0], &r->args[1]);
        finish(op, v);
        RUN(op, IN(x), OUT(out));
        static char seen[N];
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < N; i++) assert_false(seen[out[i]]++);
    }
}

/* Keys of 64 bits, of which many, few or all have the same upper half. */
TEST(wide_keys_sort_stably)
{
    enum { N = 70000 };
    static int64_t x[N], out[N];
    static int32_t at[N], order[N];
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < N; i++) {
            int64_t upper = kind == 0 ? 7 : kind == 1 ? random_below(40000) : random_below(3) - 1;
            int64_t lower = kind == 2 ? random_below(100) : random_below(1 << 30) * 3;
            x[i] = (int64_t)((uint64_t)upper << 32 | (uint32_t)lower);
            at[i] = i;
        }
        for (int threads = 0; threads < 2; threads++) {
            tn_op *op = sort_op("70000xi64, 70000xi32", "i64, i64, i32, i32", 0);
            tn_region *r = &op->regions[0];
            finish(op, append_compare(r, TN_comparison_direction_LT, 3, &r->args[0], &r->args[1]));
            if (threads) assert_null(tn_thread_pool_create(3, &pool));
            RUN(op, IN(x, at), OUT(out, order));
            tn_thread_pool_destroy(pool);
            pool = NULL;
            for (int i = 0; i < N; i++) {
                assert_true(out[i] == x[order[i]]);
                if (!i) continue;
                assert_true(out[i - 1] < out[i] ||
                            (out[i - 1] == out[i] && order[i - 1] < order[i]));
            }
        }
    }
}

/* Where NaNs come after all else but are not equal by the comparison that leads to the second key,
 * the second key doesn't order them. */
TEST(equality_of_another_kind_is_no_second_key)
{
    for (int type = 1; type < 3; type++) {
        tn_op *op = sort_op("4xf32, 4xi32", "f32, f32, i32, i32", 0);
        tn_region *r = &op->regions[0];
        tn_value *a = canonical(r, &r->args[0]), *b = canonical(r, &r->args[1]);
        tn_value *less = append_compare(r, TN_comparison_direction_LT, 2, a, b);
        tn_value *same = append_compare(r, TN_comparison_direction_EQ, type,
                                        type == 2 ? a : &r->args[0], type == 2 ? b : &r->args[1]);
        tn_value *next = append_compare(r, TN_comparison_direction_LT, 3, &r->args[2], &r->args[3]);
        tn_value *both = append(r, TN_OP_and, "i1", same, next, NULL);
        finish(op, append(r, TN_OP_or, "i1", less, both, NULL));
        tn_sort_key keys[TN_SORT_KEYS];
        assert_int_equal(tn_sort_find_keys(r, keys), type == 2 ? 2 : 0);
        if (type == 2) assert_true(keys[0].unique && !keys[0].total && keys[0].left == r->args);
        float x[] = {NAN, 1, -NAN, 1}, out[4];
        int32_t y[] = {2, 9, 1, 8}, with[4];
        RUN(op, IN(x, y), OUT(out, with));
        if (type == 2) EXPECT(int32_t, with, 8, 9, 1, 2);
        else EXPECT(int32_t, with, 8, 9, 2, 1);
    }
}

TEST(a_million_is_sorted_quickly)
{
    enum { N = 1 << 20 };
    float *x = malloc(N * 4), *out = malloc(N * 4);
    for (int i = 0; i < N; i++) x[i] = (float)random_below(1 << 30) / 3;
    for (int way = 0; way < 2; way++) {
        tn_op *op = sort_op("1048576xf32", "f32, f32", 0);
        tn_region *r = &op->regions[0];
        tn_value *a = canonical(r, &r->args[0]), *b = canonical(r, &r->args[1]);
        tn_value *v = append_compare(r, TN_comparison_direction_LT, 2, a, b);
        if (way)
            v = append(r, TN_OP_not, "i1", append(r, TN_OP_not, "i1", v, NULL, NULL), NULL, NULL);
        finish(op, v);
        double t = seconds();
        RUN(op, IN(x), OUT(out));
        print_message("1M f32 %s: %.1f ms\n", way ? "by merging" : "by keys",
                      (seconds() - t) * 1e3);
        for (int i = 1; i < N; i++) assert_true(out[i - 1] <= out[i]);
    }
    free(x);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_the_example),
        cmocka_unit_test(both_ways_sort_stably),
        cmocka_unit_test(keys_follow_each_other),
        cmocka_unit_test(captured_constants_are_no_obstacle),
        cmocka_unit_test(narrow_and_odd_types_have_orders),
        cmocka_unit_test(what_is_no_order_gives_a_permutation),
        cmocka_unit_test(wide_keys_sort_stably),
        cmocka_unit_test(equality_of_another_kind_is_no_second_key),
        cmocka_unit_test(a_million_is_sorted_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
