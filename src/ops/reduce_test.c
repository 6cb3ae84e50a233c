/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_test.h"

TEST(reduces_the_example)
{
    tn_op *op = make_op_with_regions(TN_OP_reduce, "1x6xi64, i64", "1xi64", 1);
    make_binary_region(op, 0, TN_OP_add, "i64");
    SET_INTS(op, dimensions, 1);
    int64_t x[] = {0, 1, 2, 3, 4, 5}, init = 0, out;
    RUN(op, IN(x, &init), OUT(&out));
    assert_int_equal(out, 15);
    init = 100; /* comes in once */
    RUN(op, IN(x, &init), OUT(&out));
    assert_int_equal(out, 115);
    SET_INTS(op, dimensions, 2);
    EXPECT_INVALID(op, "dimensions[0] should be a dimension in [0, 2) and is 2");
    SET_INTS(op, dimensions, 1, 1);
    EXPECT_INVALID(op, "dimensions names dimension 1 twice");
    SET_INTS(op, dimensions, 1);
    op->operands[1]->type = type_of("i32", 3);
    EXPECT_INVALID(op, "operand 1 should have the element type of operand 0");
    op = make_op_with_regions(TN_OP_reduce, "1x6xi64, i64", "1xi64", 1);
    make_binary_region(op, 0, TN_OP_add, "i32");
    SET_INTS(op, dimensions, 1);
    EXPECT_INVALID(op, "operand 0 is tensor<1x6xi64>, which the body can't take as i32");
}

TEST(nothing_gives_the_initial_value)
{
    tn_op *op = make_op_with_regions(TN_OP_reduce, "3x0xf32, f32", "3xf32", 1);
    make_binary_region(op, 0, TN_OP_maximum, "f32");
    SET_INTS(op, dimensions, 1);
    float init = -1, out[3];
    RUN(op, IN(&init, &init), OUT(out));
    EXPECT(float, out, -1, -1, -1);
}

/* A body that lifts to several kernels: x + y computed as y - (-x), in order. */
static void make_general_add(tn_op *op, const char *e)
{
    char two[64];
    snprintf(two, sizeof two, "%s, %s", e, e);
    tn_region *r = make_region(op, 0, two);
    tn_value *v = append(r, TN_OP_negate, e, &r->args[0], NULL, NULL);
    v = append(r, TN_OP_subtract, e, &r->args[1], v, NULL);
    append_return(r, 1, &v);
}

static int64_t sum_of(const int32_t *x, uint32_t rank, const int64_t *dims, uint32_t mask,
                      int64_t out_index)
{
    int64_t total = 0, n = 1;
    for (uint32_t i = 0; i < rank; i++) n *= dims[i];
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, at = 0, scale = 1;
        for (uint32_t i = rank; i--;) {
            int64_t p = rest % dims[i];
            rest /= dims[i];
            if (mask >> i & 1) continue;
            at += p * scale;
            scale *= dims[i];
        }
        if (at == out_index) total += x[k];
    }
    return total;
}

TEST(random_shapes_equal_a_walk)
{
    static int32_t x[1 << 16], out[1 << 16], again[1 << 16];
    for (size_t i = 0; i < 1 << 16; i++) x[i] = (int32_t)random_below(2001) - 1000;
    for (int round = 0; round < 120; round++) {
        uint32_t rank = 1 + (uint32_t)random_below(4), mask = (uint32_t)random_below(16);
        int64_t dims[4], kept = 1, reduced[4];
        uint32_t n_reduced = 0;
        char type[128] = "", result[128] = "";
        for (uint32_t i = 0; i < rank; i++) {
            dims[i] = 1 + random_below(rank == 1 ? 60000 : rank == 2 ? 200 : rank == 3 ? 35 : 14);
            snprintf(type + strlen(type), 32, "%dx", (int)dims[i]);
            if (mask >> i & 1) reduced[n_reduced++] = i;
            else {
                snprintf(result + strlen(result), 32, "%dx", (int)dims[i]);
                kept *= dims[i];
            }
        }
        strcat(type, "i32, i32");
        strcat(result, "i32");
        int32_t init = 7;
        for (int general = 0; general < 2; general++) {
            tn_op *op = make_op_with_regions(TN_OP_reduce, type, result, 1);
            if (general) make_general_add(op, "i32");
            else make_binary_region(op, 0, TN_OP_add, "i32");
            tn_op_set_attr(module, op, TN_ATTR_dimensions, tn_attr_ints(arena, reduced, n_reduced));
            RUN(op, IN(x, &init), OUT(out));
            assert_null(tn_thread_pool_create(3, &pool));
            RUN(op, IN(x, &init), OUT(again));
            tn_thread_pool_destroy(pool);
            pool = NULL;
            assert_memory_equal(out, again, (size_t)kept * 4);
            for (int64_t i = 0; i < kept; i += 1 + kept / 7)
                assert_int_equal(out[i], 7 + sum_of(x, rank, dims, mask, i));
        }
    }
}

TEST(few_columns_are_folded_several_steps_at_a_time)
{
    enum { MOST = 2 * 1500 * 15 };
    static float x[MOST], out[30], largest[30];
    static uint16_t narrow[MOST], sums[30]; /* bf16 */
    const int64_t lengths[] = {2, 3, 5, 16, 33, 129, 1500};
    for (size_t i = 0; i < MOST; i++) {
        x[i] = (float)random_below(9) - 4;
        uint32_t bits;
        memcpy(&bits, &x[i], 4);
        narrow[i] = (uint16_t)(bits >> 16);
    }
    for (size_t k = 0; k < 7; k++)
        for (int64_t inner = 2; inner < 16; inner++) {
            int64_t length = lengths[k];
            char from[64], to[64];
            float init = -0.0f;
            uint16_t narrow_init = 0;
            snprintf(from, sizeof from, "2x%dx%dxf32, f32", (int)length, (int)inner);
            snprintf(to, sizeof to, "2x%dxf32", (int)inner);
            tn_op *op = make_op_with_regions(TN_OP_reduce, from, to, 1);
            make_binary_region(op, 0, TN_OP_add, "f32");
            SET_INTS(op, dimensions, 1);
            RUN(op, IN(x, &init), OUT(out));
            op = make_op_with_regions(TN_OP_reduce, from, to, 1);
            make_binary_region(op, 0, TN_OP_maximum, "f32");
            SET_INTS(op, dimensions, 1);
            RUN(op, IN(x, &init), OUT(largest));
            snprintf(from, sizeof from, "2x%dx%dxbf16, bf16", (int)length, (int)inner);
            snprintf(to, sizeof to, "2x%dxbf16", (int)inner);
            op = make_op_with_regions(TN_OP_reduce, from, to, 1);
            make_binary_region(op, 0, TN_OP_add, "bf16");
            SET_INTS(op, dimensions, 1);
            RUN(op, IN(narrow, &narrow_init), OUT(sums));
            for (int64_t i = 0; i < 2 * inner; i++) {
                const float *at = x + i / inner * length * inner + i % inner;
                float sum = 0, most = 0;
                for (int64_t s = 0; s < length; s++) {
                    sum += at[s * inner];
                    if (at[s * inner] > most) most = at[s * inner];
                }
                assert_true(out[i] == sum && largest[i] == most);
                uint32_t bits = (uint32_t)sums[i] << 16;
                float rounded;
                memcpy(&rounded, &bits, 4);
                assert_true(rounded >= sum * 0.99f - 1e-3f || sum < 0);
                assert_true(rounded <= sum * 1.01f + 1e-3f || sum < 0);
                assert_true(sum >= 0 || (rounded <= sum * 0.99f && rounded >= sum * 1.01f));
            }
        }
}

/* (value, index) pairs: the greater value, of equal ones the lower index, NaN above all. */
/* Lines of few steps and columns, many at a time, are what a few of them are. */
TEST(many_short_lines_of_columns_are_what_few_are)
{
    enum { MANY = 331, FEW = 7, MOST = 64 };
    static const struct {
        const char *type;
        size_t bytes;
        tn_op_kind kind;
    } kinds[] = {{"f32", 4, TN_OP_add},     {"f64", 8, TN_OP_multiply}, {"f32", 4, TN_OP_maximum},
                 {"i16", 2, TN_OP_minimum}, {"i1", 1, TN_OP_or},        {"i64", 8, TN_OP_add}};
    static char x[MANY * 128 * 8], many[MANY * MOST * 8], few[FEW * MOST * 8];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int columns = 2; columns < 16; columns++)
            for (int steps = 2; steps * columns <= 128; steps += 1 + steps / 5) {
                size_t w = kinds[k].bytes, line = (size_t)(steps * columns);
                uint64_t seed = (uint64_t)steps, zero = 0;
                for (size_t i = 0; i < MANY * line; i++) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;
                    double d = 0.5 + (double)(seed >> 40) * 0x1p-24;
                    float f = (float)d;
                    uint64_t v = seed >> 33;
                    if (*kinds[k].type == 'f') memcpy(&v, w == 8 ? (void *)&d : &f, w);
                    if (w == 1) v = v % 16 == 0;
                    memcpy(x + i * w, &v, w);
                }
                tn_op *ops[2];
                for (int few_of = 0; few_of < 2; few_of++) {
                    char in[64], out[64];
                    int n = few_of ? FEW : MANY;
                    const char *t = kinds[k].type;
                    snprintf(in, sizeof in, "%dx%dx%dx%s, %s", n, steps, columns, t, t);
                    snprintf(out, sizeof out, "%dx%dx%s", n, columns, t);
                    ops[few_of] = make_op_with_regions(TN_OP_reduce, in, out, 1);
                    make_binary_region(ops[few_of], 0, kinds[k].kind, t);
                    SET_INTS(ops[few_of], dimensions, 1);
                }
                RUN(ops[0], IN(x, &zero), OUT(many));
                for (size_t at = 0; at + FEW <= MANY; at += 54) {
                    RUN(ops[1], IN(x + at * line * w, &zero), OUT(few));
                    size_t bytes = (size_t)(FEW * columns) * w;
                    assert_memory_equal(few, many + at * (size_t)columns * w, bytes);
                }
            }
}

static tn_op *argmax_op(const char *operands, const char *results, int64_t dim)
{
    tn_op *op = make_op_with_regions(TN_OP_reduce, operands, results, 1);
    tn_region *r = make_region(op, 0, "f32, i32, f32, i32");
    tn_value *a = &r->args[0], *i = &r->args[1], *b = &r->args[2], *j = &r->args[3];
    tn_value *more = append_compare(r, TN_comparison_direction_GT, 0, a, b);
    tn_value *nan = append_compare(r, TN_comparison_direction_NE, 0, a, a);
    tn_value *first = append(r, TN_OP_or, "i1", more, nan, NULL);
    tn_value *same = append_compare(r, TN_comparison_direction_EQ, 0, a, b);
    tn_value *lower = append_compare(r, TN_comparison_direction_LT, 0, i, j);
    tn_value *tie = append(r, TN_OP_and, "i1", same, lower, NULL);
    tn_value *pick = append(r, TN_OP_or, "i1", first, tie, NULL);
    tn_value *results_[] = {append(r, TN_OP_select, "f32", first, a, b),
                            append(r, TN_OP_select, "i32", pick, i, j)};
    append_return(r, 2, results_);
    SET_INTS(op, dimensions, dim);
    return op;
}

TEST(argmax_through_a_general_body)
{
    enum { N = 1 << 20 };
    float *x = malloc(N * 4), init = -INFINITY, best;
    int32_t *at = malloc(N * 4), none = 0, index;
    for (int32_t i = 0; i < N; i++) {
        x[i] = (float)random_below(1 << 24);
        at[i] = i;
    }
    x[777777] = x[999999] = 1 << 25;
    tn_op *op = argmax_op("1048576xf32, 1048576xi32, f32, i32", "f32, i32", 0);
    double t = seconds();
    RUN(op, IN(x, at, &init, &none), OUT(&best, &index));
    print_message("argmax of 1M: %.1f ms\n", (seconds() - t) * 1e3);
    assert_true(best == 1 << 25);
    assert_int_equal(index, 777777);
    op = argmax_op("1024x1024xf32, 1024x1024xi32, f32, i32", "1024xf32, 1024xi32", 1);
    static float row_best[1024];
    static int32_t row_index[1024];
    t = seconds();
    RUN(op, IN(x, at, &init, &none), OUT(row_best, row_index));
    print_message("argmax of 1024 rows: %.1f ms\n", (seconds() - t) * 1e3);
    for (int row = 0; row < 1024; row++) {
        int32_t want = row * 1024;
        for (int32_t i = want; i < row * 1024 + 1024; i++)
            if (x[i] > x[want]) want = i;
        assert_int_equal(row_index[row], want);
    }
    free(x);
    free(at);
}

/* Places that are an iota aren't read. */
static void check_argmax_along(int A, int B, int C)
{
    enum { MOST = 5000 };
    const int sizes[] = {A, B, C}, N = A * B * C;
    static float x[MOST], best[MOST];
    static int32_t index[MOST];
    char from[64], whole[128], to[64];
    snprintf(from, sizeof from, "%dx%dx%dxi32", A, B, C);
    snprintf(whole, sizeof whole, "%dx%dx%dxf32, %dx%dx%dxi32, f32, i32", A, B, C, A, B, C);
    for (int round = 0; round < 12; round++) {
        /* An initial pair that never wins, then one that does at times. */
        float init = round < 6 ? -INFINITY : 4;
        int32_t none = round < 9 ? 0 : 3;
        for (int i = 0; i < N; i++) {
            x[i] = (float)random_below(30) - 25;
            if (i % B < 9 && round % 2) x[i] = -INFINITY;
            if (x[i] == 0 && random_below(2)) x[i] = -0.0f;
            if (round % 6 > 2 && random_below(500) == 0) x[i] = NAN;
        }
        int d = round % 3, inner = d == 0 ? B * C : d == 1 ? C : 1, n = sizes[d];
        int first = d == 0 ? B : A, second = d == 2 ? B : C;
        snprintf(to, sizeof to, "%dx%dxf32, %dx%dxi32", first, second, first, second);
        tn_op *op = argmax_op(whole, to, d);
        tn_op *iota = make_op(TN_OP_iota, "", from);
        tn_op_set_attr(module, iota, TN_ATTR_iota_dimension, tn_attr_int(arena, d));
        op->operands[1] = &iota->results[0];
        RUN(op, IN(x, NULL, &init, &none), OUT(best, index));
        for (int k = 0; k < N / n; k++) {
            const float *row = x + k / inner * inner * n + k % inner;
            int want = 0;
            for (int i = 1; i < n; i++) {
                float w = row[want * inner], v = row[i * inner];
                if (w == w && (v != v || v > w)) want = i;
            }
            float most = row[want * inner];
            bool init_wins = init > most, tie = init == most && none < want;
            assert_int_equal(index[k], init_wins || tie ? none : want);
            if (init_wins) most = init;
            assert_true(best[k] == most || (best[k] != best[k] && most != most));
        }
    }
}

TEST(argmax_along_each_dimension)
{
    check_argmax_along(5, 70, 9);
    check_argmax_along(80, 5, 7);
    check_argmax_along(20, 3, 30);
    check_argmax_along(70, 2, 2);
}

TEST(narrow_floats_are_summed_in_f32)
{
    enum { N = 600 };
    uint16_t x[N], init = 0, out;
    for (int i = 0; i < N; i++) x[i] = 0x3F80; /* 1 */
    tn_op *op = make_op_with_regions(TN_OP_reduce, "600xbf16, bf16", "bf16", 1);
    make_binary_region(op, 0, TN_OP_add, "bf16");
    SET_INTS(op, dimensions, 0);
    RUN(op, IN(x, &init), OUT(&out));
    assert_int_equal(out, 0x4416); /* 600 */
    /* Promoted by the body. */
    op = make_op_with_regions(TN_OP_reduce, "600xbf16, bf16", "f32", 1);
    make_binary_region(op, 0, TN_OP_add, "f32");
    SET_INTS(op, dimensions, 0);
    float wide;
    RUN(op, IN(x, &init), OUT(&wide));
    assert_true(wide == 600);
}

static double timed_sum(const char *types, const char *result, int64_t dim, const float *x,
                        float *out)
{
    tn_op *op = make_op_with_regions(TN_OP_reduce, types, result, 1);
    make_binary_region(op, 0, TN_OP_add, "f32");
    SET_INTS(op, dimensions, dim);
    float init = 0;
    double best = 1;
    for (int i = 0; i < 3; i++) {
        double t = seconds();
        RUN(op, IN(x, &init), OUT(out));
        t = seconds() - t;
        best = t < best ? t : best;
    }
    return best * 1e3;
}

TEST(large_sums_are_quick_and_close)
{
    enum { N = 1 << 20 };
    float *x = malloc(N * 4), *out = malloc(N * 4);
    double want = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)random_below(1000) / 999;
        want += x[i];
    }
    double all = timed_sum("1048576xf32, f32", "f32", 0, x, out);
    if (fabs(out[0] - want) > want * 2e-7) fail_msg("sum %.9g, expected %.9g", out[0], want);
    double rows = timed_sum("1024x1024xf32, f32", "1024xf32", 1, x, out);
    double columns = timed_sum("1024x1024xf32, f32", "1024xf32", 0, x, out);
    double thin = timed_sum("262144x4xf32, f32", "4xf32", 0, x, out);
    double pairs = timed_sum("262144x4xf32, f32", "262144xf32", 1, x, out);
    print_message("sums of 1M, in ms: all %.2f, rows %.2f, columns %.2f, 262144 x 4: %.2f and "
                  "%.2f\n",
                  all, rows, columns, thin, pairs);
    free(x);
    free(out);
}

TEST(map_applies_its_body)
{
    enum { N = 3000 };
    tn_op *op = make_op_with_regions(TN_OP_map, "3x1000xi32, 3x1000xi32", "3x1000xi64", 1);
    SET_INTS(op, dimensions, 0, 1);
    tn_region *r = make_region(op, 0, "i32, i32");
    tn_value *v = append(r, TN_OP_multiply, "i32", &r->args[0], &r->args[1], NULL);
    v = append(r, TN_OP_convert, "i64", v, NULL, NULL);
    append_return(r, 1, &v);
    static int32_t x[N], y[N];
    static int64_t out[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i % 5;
    }
    RUN(op, IN(x, y), OUT(out));
    for (int i = 0; i < N; i++) assert_int_equal(out[i], i * (i % 5));
    SET_INTS(op, dimensions, 0);
    EXPECT_INVALID(op, "size of dimensions, which should be all: expected 2, got 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduces_the_example),
        cmocka_unit_test(nothing_gives_the_initial_value),
        cmocka_unit_test(random_shapes_equal_a_walk),
        cmocka_unit_test(few_columns_are_folded_several_steps_at_a_time),
        cmocka_unit_test(many_short_lines_of_columns_are_what_few_are),
        cmocka_unit_test(argmax_through_a_general_body),
        cmocka_unit_test(argmax_along_each_dimension),
        cmocka_unit_test(narrow_floats_are_summed_in_f32),
        cmocka_unit_test(map_applies_its_body),
        cmocka_unit_test(large_sums_are_quick_and_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
