/* SPDX-License-Identifier: Apache-2.0 */
#include "base/isa_test.h"
#include "ops/op_test.h"

static void set_dims(tn_op *op)
{
    SET_NO_INTS(op, offset_dims);
    SET_NO_INTS(op, collapsed_slice_dims);
    SET_NO_INTS(op, operand_batching_dims);
    SET_NO_INTS(op, start_indices_batching_dims);
    SET_NO_INTS(op, start_index_map);
    SET_INT(op, index_vector_dim, 0);
}

/* The specification's example. */
TEST(gathers_with_batching_dims)
{
    tn_op *op = make_op(TN_OP_gather, "2x3x4x2xi32, 2x2x3x2xi64", "2x2x3x2x2xi32");
    SET_INTS(op, offset_dims, 3, 4);
    SET_INTS(op, collapsed_slice_dims, 1);
    SET_INTS(op, operand_batching_dims, 0);
    SET_INTS(op, start_indices_batching_dims, 1);
    SET_INTS(op, start_index_map, 2, 1);
    SET_INT(op, index_vector_dim, 3);
    SET_INTS(op, slice_sizes, 1, 1, 2, 2);
    int32_t x[48], out[48];
    for (int i = 0; i < 48; i++) x[i] = i + 1;
    int64_t start[] = {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0};
    RUN(op, IN(x, start), OUT(out));
    EXPECT(int32_t, out, 1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 33, 34, 35, 36, 35, 36, 37, 38, 41,
           42, 43, 44, 1, 2, 3, 4, 13, 14, 15, 16, 21, 22, 23, 24, 43, 44, 45, 46, 33, 34, 35, 36,
           27, 28, 29, 30);
    SET_INTS(op, slice_sizes, 1, 2, 2, 2);
    EXPECT_INVALID(op, "slice_sizes[1] should be at most 1 and is 2");
    SET_INTS(op, slice_sizes, 1, 1, 2, 2);
    SET_INTS(op, start_index_map, 2, 0);
    EXPECT_INVALID(op, "start_index_map and operand_batching_dims both name dimension 0");
    SET_INTS(op, start_index_map, 2);
    EXPECT_INVALID(op, "start_index_map should have 2 values");
    SET_INTS(op, start_index_map, 2, 1);
    SET_INTS(op, start_indices_batching_dims, 3);
    EXPECT_INVALID(op, "names index_vector_dim, 3");
    SET_INTS(op, start_indices_batching_dims, 2);
    EXPECT_INVALID(op, "batching dimension 0 of the operand has size 2 and dimension 2 of the "
                       "indices 3");
    SET_INTS(op, start_indices_batching_dims, 1);
    SET_INTS(op, offset_dims, 4, 3);
    EXPECT_INVALID(op, "offset_dims should be in ascending order");
    SET_INTS(op, offset_dims, 3);
    EXPECT_INVALID(op, "should have 4 values together");
}

TEST(scalar_indices_clamp_by_their_signedness)
{
    tn_op *op = make_op(TN_OP_gather, "5xi16, 4xi8", "4xi16");
    set_dims(op);
    SET_INTS(op, collapsed_slice_dims, 0);
    SET_INTS(op, start_index_map, 0);
    SET_INT(op, index_vector_dim, 1);
    SET_INTS(op, slice_sizes, 1);
    int16_t x[] = {10, 11, 12, 13, 14}, out[4];
    uint8_t at[] = {3, 200, 127, 0};
    RUN(op, IN(x, at), OUT(out));
    EXPECT(int16_t, out, 13, 10, 14, 10);
    op->operands[1]->type = type_of("4xui8", 5);
    RUN(op, IN(x, at), OUT(out));
    EXPECT(int16_t, out, 13, 14, 14, 10);
}

TEST(dynamic_gather_reads_sizes)
{
    tn_op *op = make_op(TN_OP_dynamic_gather, "3x4x2xi64, 2x3x2xi64, 3xi32", "2x3x2x2xi64");
    set_dims(op);
    SET_INTS(op, offset_dims, 2, 3);
    SET_INTS(op, collapsed_slice_dims, 0);
    SET_INTS(op, start_index_map, 1, 0);
    SET_INT(op, index_vector_dim, 2);
    int64_t x[24], start[] = {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 2}, out[24];
    for (int i = 0; i < 24; i++) x[i] = i + 1;
    int32_t sizes[] = {1, 2, 2};
    RUN(op, IN(x, start, sizes), OUT(out));
    EXPECT(int64_t, out, 1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 9, 10, 11, 12, 11, 12, 13, 14, 17,
           18, 19, 20);
    sizes[1] = 1;
    tn_status *s = run(op, IN(x, start, sizes), OUT(out));
    assert_non_null(s);
    tn_status_free(s);
}

/* rows[ids] of a table against a loop, with and without threads. */
TEST(embedding_lookups)
{
    enum { ROWS = 1000, WIDTH = 24, N = 4000 };
    static float table[ROWS * WIDTH], out[N * WIDTH];
    static int32_t ids[N];
    for (int i = 0; i < ROWS * WIDTH; i++) table[i] = (float)i;
    for (int i = 0; i < N; i++) ids[i] = (int32_t)random_below(ROWS + 20) - 10;
    tn_op *op = make_op(TN_OP_gather, "1000x24xf32, 4000x1xi32", "4000x24xf32");
    set_dims(op);
    SET_INTS(op, offset_dims, 1);
    SET_INTS(op, collapsed_slice_dims, 0);
    SET_INTS(op, start_index_map, 0);
    SET_INT(op, index_vector_dim, 1);
    SET_INTS(op, slice_sizes, 1, WIDTH);
    for (int threads = 0; threads < 2; threads++) {
        tn_status *s = threads ? tn_thread_pool_create(3, &pool) : NULL;
        assert_null(s);
        memset(out, 0, sizeof out);
        RUN(op, IN(table, ids), OUT(out));
        for (int i = 0; i < N; i++) {
            int row = ids[i] < 0 ? 0 : ids[i] >= ROWS ? ROWS - 1 : ids[i];
            for (int k = 0; k < WIDTH; k++)
                assert_true(out[i * WIDTH + k] == table[row * WIDTH + k]);
        }
    }
    tn_thread_pool_destroy(pool);
}

/* Elements of tables that lie in no cache near, as of small ones. */
TEST(elements_of_far_tables)
{
    enum { SIZE = 600001, N = 1003 };
    static double table[SIZE], out[N];
    static int32_t at[N];
    for (int i = 0; i < N; i++) at[i] = (int32_t)random_below(SIZE + 1000) - 500;
    for (int wide = 0; wide < 2; wide++) {
        for (int i = 0; i < SIZE; i++)
            if (wide) table[i] = i;
            else ((float *)table)[i] = (float)i;
        tn_op *gather = wide ? make_op(TN_OP_gather, "600001xf64, 1003x1xi32", "1003xf64")
                             : make_op(TN_OP_gather, "600001xf32, 1003x1xi32", "1003xf32");
        set_dims(gather);
        SET_INTS(gather, collapsed_slice_dims, 0);
        SET_INTS(gather, start_index_map, 0);
        SET_INT(gather, index_vector_dim, 1);
        SET_INTS(gather, slice_sizes, 1);
        tn_op *take = wide ? make_op(TN_OP_take, "600001xf64, 1003xi32", "1003xf64")
                           : make_op(TN_OP_take, "600001xf32, 1003xi32", "1003xf32");
        for (int takes = 0; takes < 2; takes++) {
            memset(out, 0, sizeof out);
            RUN(takes ? take : gather, IN(table, at), OUT(out));
            for (int i = 0; i < N; i++) {
                int v = at[i] < 0 ? 0 : at[i] >= SIZE ? SIZE - 1 : at[i];
                assert_true((wide ? out[i] : ((float *)out)[i]) == v);
            }
        }
    }
}

TEST(torch_index_select_picks)
{
    tn_op *op = make_op(TN_OP_torch_index_select, "2x3x2xi32, 2x2xi32", "2x2x2xi32");
    SET_INT(op, dim, 1);
    SET_INT(op, batch_dims, 1);
    int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, at[] = {2, 0, 1, 1}, out[8];
    RUN(op, IN(x, at), OUT(out));
    EXPECT(int32_t, out, 5, 6, 1, 2, 9, 10, 9, 10);
    SET_INT(op, batch_dims, 2);
    EXPECT_INVALID(op, "batch_dims should be at least 0 and at most dim");
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_with_batching_dims),
        cmocka_unit_test(scalar_indices_clamp_by_their_signedness),
        cmocka_unit_test(dynamic_gather_reads_sizes),
        cmocka_unit_test(embedding_lookups),
        cmocka_unit_test(elements_of_far_tables),
        cmocka_unit_test(torch_index_select_picks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return run_for_each_isa(run_all);
}
