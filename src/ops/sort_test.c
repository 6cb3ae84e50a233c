/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

#define LT TN_comparison_direction_LT
#define GT TN_comparison_direction_GT
#define EQ TN_comparison_direction_EQ

static tn_op *sort_op(const char *types, const char *args, int dimension)
{
    tn_op *op = make_op_with_regions(TN_OP_sort, types, types, 1);
    SET_INT(op, dimension, dimension);
    SET_BOOL(op, is_stable, true);
    make_region(op, 0, args);
    return op;
}

static tn_op *sort_by_first(const char *types, const char *args, int dimension, int direction,
                            int type)
{
    tn_op *op = sort_op(types, args, dimension);
    tn_region *r = &op->regions[0];
    tn_value *v = append_compare(r, direction, type, &r->args[0], &r->args[1]);
    append_return(r, 1, &v);
    return op;
}

TEST(integers_go_up_and_down)
{
    const int32_t x[] = {3, -1, INT32_MIN, 7, INT32_MAX, -1};
    int32_t out[6];
    RUN(sort_by_first("6xi32", "i32, i32", 0, LT, TN_comparison_type_SIGNED), IN(x), OUT(out));
    EXPECT(int32_t, out, INT32_MIN, -1, -1, 3, 7, INT32_MAX);
    RUN(sort_by_first("6xi32", "i32, i32", -1, GT, TN_comparison_type_SIGNED), IN(x), OUT(out));
    EXPECT(int32_t, out, INT32_MAX, 7, 3, -1, -1, INT32_MIN);
}

TEST(total_order_puts_nans_outside_and_zeros_apart)
{
    const float x[] = {NAN, 1, -0.0f, -NAN, INFINITY, 0, -INFINITY, 1e-45f};
    float out[8];
    RUN(sort_by_first("8xf32", "f32, f32", 0, LT, TN_comparison_type_TOTALORDER), IN(x), OUT(out));
    assert_true(isnan(out[0]) && signbit(out[0]) && isnan(out[7]) && !signbit(out[7]));
    EXPECT(float, out + 1, -INFINITY, -0.0f, 0, 1e-45f, 1, INFINITY);
}

/* Two keys: by the first, then by the second downwards; and a payload that shows stability. */
static tn_op *sort_by_two(const char *types, int dimension)
{
    tn_op *op = sort_op(types, "i8, i8, f32, f32, i32, i32", dimension);
    tn_region *r = &op->regions[0];
    tn_value *less = append_compare(r, LT, TN_comparison_type_SIGNED, &r->args[0], &r->args[1]);
    tn_value *equal = append_compare(r, EQ, TN_comparison_type_SIGNED, &r->args[0], &r->args[1]);
    tn_value *second = append_compare(r, GT, TN_comparison_type_FLOAT, &r->args[2], &r->args[3]);
    tn_value *both = append(r, TN_OP_and, "i1", equal, second, NULL);
    tn_value *v = append(r, TN_OP_or, "i1", less, both, NULL);
    append_return(r, 1, &v);
    return op;
}

TEST(any_comparator_sorts_stably_along_any_dimension)
{
    enum { N = 300, C = 5 };
    static int8_t a[N * C], out_a[N * C];
    static float b[N * C], out_b[N * C];
    static int32_t c[N * C], out_c[N * C];
    for (int i = 0; i < N * C; i++) {
        a[i] = (int8_t)random_below(7);
        b[i] = (float)random_below(3);
        c[i] = i;
    }
    RUN(sort_by_two("300x5xi8, 300x5xf32, 300x5xi32", 0), IN(a, b, c), OUT(out_a, out_b, out_c));
    bool seen[N * C] = {0};
    for (int i = 0; i < N * C; i++) {
        int from = out_c[i];
        assert_true(from >= 0 && from < N * C && !seen[from] && from % C == i % C);
        seen[from] = true;
        assert_true(out_a[i] == a[from] && out_b[i] == b[from]);
        if (i < C) continue;
        int p = i - C;
        bool in_order = out_a[p] < out_a[i] || (out_a[p] == out_a[i] && out_b[p] > out_b[i]) ||
                        (out_a[p] == out_a[i] && out_b[p] == out_b[i] && out_c[p] < out_c[i]);
        assert_true(in_order);
    }
}

TEST(keys_carry_their_payload_stably)
{
    enum { N = 5000 };
    static float x[N], out_x[N];
    static int32_t c[N], out_c[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)random_below(100) - 50;
        c[i] = i;
    }
    RUN(sort_by_first("5000xf32, 5000xi32", "f32, f32, i32, i32", 0, GT,
                      TN_comparison_type_TOTALORDER),
        IN(x, c), OUT(out_x, out_c));
    for (int i = 1; i < N; i++) {
        assert_true(out_x[i] == x[out_c[i]]);
        assert_true(out_x[i - 1] > out_x[i] ||
                    (out_x[i - 1] == out_x[i] && out_c[i - 1] < out_c[i]));
    }
}

TEST(columns_are_sorted_like_rows)
{
    enum { OUTER = 2, N = 137, INNER = 19 };
    static float x[OUTER * N * INNER], out[OUTER * N * INNER];
    for (int strange = 0; strange < 2; strange++) {
        for (int i = 0; i < OUTER * N * INNER; i++) {
            x[i] = (float)random_below(1000) - 500;
            if (x[i] == 0) x[i] = strange ? -0.0f : 1;
        }
        RUN(sort_by_first("2x137x19xf32", "f32, f32", 1, GT, TN_comparison_type_FLOAT), IN(x),
            OUT(out));
        double sum = 0;
        for (int i = 0; i < OUTER * N * INNER; i++) {
            bool is_first = i / INNER % N == 0;
            assert_true(is_first || out[i - INNER] >= out[i]);
            sum += (double)x[i] * x[i] - (double)out[i] * out[i];
        }
        assert_true(sum == 0);
        for (int c = 0; c < INNER; c++) { /* each column keeps what it had */
            double columns = 0;
            for (int r = 0; r < N; r++) columns += x[r * INNER + c] - out[r * INNER + c];
            assert_true(columns == 0);
        }
    }
}

TEST(a_comparator_that_is_no_order_gives_a_permutation)
{
    enum { N = 2000 };
    static float x[N], out[N];
    for (int i = 0; i < N; i++) x[i] = i % 3 ? (float)random_below(50) : NAN;
    tn_op *ops[] = {sort_op("2000xf32", "f32, f32", 0),
                    sort_by_first("2000xf32", "f32, f32", 0, LT, TN_comparison_type_FLOAT),
                    sort_by_first("2000xf32", "f32, f32", 0, TN_comparison_direction_NE,
                                  TN_comparison_type_FLOAT)};
    const bool yes = true;
    tn_value *always = append_constant(&ops[0]->regions[0], "i1", &yes);
    append_return(&ops[0]->regions[0], 1, &always);
    for (int k = 0; k < 3; k++) {
        RUN(ops[k], IN(x), OUT(out));
        int counts[51] = {0};
        for (int i = 0; i < N; i++) {
            counts[isnan(x[i]) ? 50 : (int)x[i]]++;
            counts[isnan(out[i]) ? 50 : (int)out[i]]--;
        }
        for (int i = 0; i < 51; i++) assert_int_equal(counts[i], 0);
    }
}

/* Results in the memory of inputs are what they are elsewhere. */
static void check_in_place(tn_op *op, const void *const *inputs, const size_t *bytes)
{
    enum { MOST = 3 };
    void *apart[MOST], *in_place[MOST];
    uint32_t n = op->n_operands;
    for (uint32_t i = 0; i < n; i++) {
        apart[i] = malloc(bytes[i]);
        in_place[i] = memcpy(malloc(bytes[i]), inputs[i], bytes[i]);
    }
    RUN(op, inputs, apart);
    RUN(op, (const void *const *)in_place, in_place);
    for (uint32_t i = 0; i < n; i++) {
        assert_memory_equal(in_place[i], apart[i], bytes[i]);
        free(apart[i]);
        free(in_place[i]);
    }
}

TEST(sorts_in_place)
{
    enum { N = 6000 };
    static float x[N];
    static int8_t a[N];
    static int32_t c[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)random_below(300) - 150;
        a[i] = (int8_t)random_below(5);
        c[i] = i;
    }
    const void *one[] = {x}, *three[] = {a, x, c};
    size_t one_size[] = {sizeof x}, sizes[] = {sizeof a, sizeof x, sizeof c};
    for (int zeros = 0; zeros < 3; zeros++) {
        for (int t = 0; t < 2; t++) {
            int type = t ? TN_comparison_type_TOTALORDER : TN_comparison_type_FLOAT;
            check_in_place(sort_by_first("6000xf32", "f32, f32", 0, LT, type), one, one_size);
            check_in_place(sort_by_first("20x300xf32", "f32, f32", 1, GT, type), one, one_size);
            check_in_place(sort_by_first("20x300xf32", "f32, f32", 0, LT, type), one, one_size);
        }
        check_in_place(sort_by_two("6000xi8, 6000xf32, 6000xi32", 0), three, sizes);
        check_in_place(sort_by_two("40x150xi8, 40x150xf32, 40x150xi32", 0), three, sizes);
        for (int i = 0; i < N; i += 100) x[i] = zeros ? NAN : -0.0f; /* as others, by FLOAT */
        for (int i = 50; i < N; i += 100) x[i] = zeros ? -NAN : 0.0f;
    }
    /* No keys: |x - y| > 200 or x < y. */
    tn_op *op = sort_op("6000xf32", "f32, f32", 0);
    tn_region *r = &op->regions[0];
    tn_value *difference = append(r, TN_OP_subtract, "f32", &r->args[0], &r->args[1], NULL);
    tn_value *v = append_compare(r, LT, TN_comparison_type_FLOAT, difference, &r->args[1]);
    append_return(r, 1, &v);
    check_in_place(op, one, one_size);
}

TEST(empty_and_single_lines_work)
{
    float x[] = {4, 2}, out[2] = {0};
    RUN(sort_by_first("0x3xf32", "f32, f32", 0, LT, TN_comparison_type_TOTALORDER), IN(x),
        OUT(out));
    RUN(sort_by_first("2x1xf32", "f32, f32", 1, LT, TN_comparison_type_TOTALORDER), IN(x),
        OUT(out));
    EXPECT(float, out, 4, 2);
}

TEST(forms_are_checked)
{
    EXPECT_INVALID(sort_by_first("4xf32", "f32, f32", 1, LT, TN_comparison_type_FLOAT),
                   "dimension should be in [-1, 1)");
    EXPECT_INVALID(sort_by_first("4xf32", "i32, i32", 0, LT, TN_comparison_type_SIGNED),
                   "region 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_go_up_and_down),
        cmocka_unit_test(total_order_puts_nans_outside_and_zeros_apart),
        cmocka_unit_test(any_comparator_sorts_stably_along_any_dimension),
        cmocka_unit_test(keys_carry_their_payload_stably),
        cmocka_unit_test(columns_are_sorted_like_rows),
        cmocka_unit_test(a_comparator_that_is_no_order_gives_a_permutation),
        cmocka_unit_test(sorts_in_place),
        cmocka_unit_test(empty_and_single_lines_work),
        cmocka_unit_test(forms_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
