/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "passes/build_test.h"
#include "passes/rewrite.h"

static tn_value *transpose(builder *b, tn_value *x, int64_t first, int64_t second, int64_t third,
                           const char *type)
{
    tn_op *op = add_op(b, TN_OP_transpose, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type);
    tn_op_set_attr(b->module, op, TN_ATTR_permutation,
                   tn_attr_ints(b->arena, (int64_t[]){first, second, third}, 3));
    return &op->results[0];
}

static tn_value *broadcast(builder *b, tn_value *x, const char *type, const int64_t *dims)
{
    tn_op *op = add_op(b, TN_OP_broadcast_in_dim, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type);
    tn_op_set_attr(b->module, op, TN_ATTR_broadcast_dimensions,
                   tn_attr_ints(b->arena, dims, x->type->rank));
    return &op->results[0];
}

static tn_value *i32(builder *b, const char *type, int32_t v)
{
    return splat(b, type, &v);
}

static tn_value *f32(builder *b, const char *type, float v)
{
    return splat(b, type, &v);
}

PASS_TEST(reshapes_of_reshapes_are_one)
{
    begin_function(b, "main", PARAMS("12xf32"));
    tn_value *x = &b->region->args[0];
    tn_value *y = reshape(b, x, "3x4xf32");
    RETURN(b, reshape(b, y, "4x3xf32"), reshape(b, y, "12xf32"));
    assert_true(apply(b, tn_pass_simplify));
    assert_ptr_equal(returned(b, 0)->op->operands[0], x);
    assert_ptr_equal(returned(b, 1), x);
}

PASS_TEST(transposes_are_joined_and_become_reshapes)
{
    begin_function(b, "main", PARAMS("2x3x1xf32"));
    tn_value *x = &b->region->args[0];
    tn_value *y = transpose(b, x, 1, 0, 2, "3x2x1xf32");
    RETURN(b, transpose(b, y, 1, 0, 2, "2x3x1xf32"), transpose(b, x, 2, 0, 1, "1x2x3xf32"),
           transpose(b, y, 2, 1, 0, "1x2x3xf32"), y);
    assert_true(apply(b, tn_pass_simplify));
    assert_ptr_equal(returned(b, 0), x);
    assert_int_equal(returned(b, 1)->op->kind, TN_OP_reshape);
    assert_int_equal(returned(b, 2)->op->kind, TN_OP_reshape);
    assert_ptr_equal(returned(b, 2)->op->operands[0], x);
    assert_int_equal(returned(b, 3)->op->kind, TN_OP_transpose);
}

static tn_value *product(builder *b, tn_value *x, tn_value *y, const char *type)
{
    tn_op *op = add_op(b, TN_OP_dot_general, 2, (tn_value *[]){x, y}, 1, 0);
    op->results[0].type = type_of(b, type);
    static const tn_attr_name names[] = {
        TN_ATTR_lhs_batching_dimensions, TN_ATTR_rhs_batching_dimensions,
        TN_ATTR_lhs_contracting_dimensions, TN_ATTR_rhs_contracting_dimensions};
    for (int i = 0; i < 4; i++)
        tn_op_set_attr(b->module, op, names[i],
                       tn_attr_ints(b->arena, (int64_t[]){i < 2 ? 0 : i - 1}, 1));
    return &op->results[0];
}

/* [m, k] and [k, n]. */
static tn_value *matrix_product(builder *b, tn_value *x, tn_value *y, const char *type)
{
    tn_op *op = add_op(b, TN_OP_dot_general, 2, (tn_value *[]){x, y}, 1, 0);
    op->results[0].type = type_of(b, type);
    tn_op_set_attr(b->module, op, TN_ATTR_lhs_batching_dimensions, tn_attr_ints(b->arena, NULL, 0));
    tn_op_set_attr(b->module, op, TN_ATTR_rhs_batching_dimensions, tn_attr_ints(b->arena, NULL, 0));
    tn_op_set_attr(b->module, op, TN_ATTR_lhs_contracting_dimensions,
                   tn_attr_ints(b->arena, (int64_t[]){1}, 1));
    tn_op_set_attr(b->module, op, TN_ATTR_rhs_contracting_dimensions,
                   tn_attr_ints(b->arena, (int64_t[]){0}, 1));
    return &op->results[0];
}

/* [batch, k, m] and [batch, n, k]. */
PASS_TEST(a_transposed_product_is_one_of_exchanged_operands)
{
    begin_function(b, "main", PARAMS("2x3x4xf32", "2x5x3xf32", "2x3x4xbf16", "2x5x3xbf16"));
    tn_value *p = b->region->args;
    tn_value *xy = product(b, &p[0], &p[1], "2x4x5xf32");
    tn_value *twice = product(b, &p[0], &p[1], "2x4x5xf32");
    tn_value *narrow = product(b, &p[2], &p[3], "2x4x5xbf16");
    RETURN(b, transpose(b, xy, 0, 2, 1, "2x5x4xf32"), transpose(b, twice, 0, 2, 1, "2x5x4xf32"),
           transpose(b, narrow, 0, 2, 1, "2x5x4xbf16"), twice);
    assert_true(apply(b, tn_pass_exchange));
    const tn_op *op = returned(b, 0)->op;
    assert_int_equal(op->kind, TN_OP_dot_general);
    assert_ptr_equal(op->operands[0], &p[1]);
    assert_ptr_equal(op->operands[1], &p[0]);
    uint32_t n;
    assert_int_equal(tn_op_ints(op, TN_ATTR_lhs_contracting_dimensions, &n)[0], 2);
    assert_int_equal(tn_op_ints(op, TN_ATTR_rhs_contracting_dimensions, &n)[0], 1);
    assert_int_equal(returned(b, 1)->op->kind, TN_OP_transpose);
    assert_int_equal(returned(b, 2)->op->kind, TN_OP_transpose);
}

PASS_TEST(a_product_that_sums_nothing_is_elementwise_where_that_is_wanted)
{
    begin_function(b, "main", PARAMS("5x1xf32", "1x7xf32", "5x7xf32", "5x2xf32", "2x7xf32"));
    tn_value *p = b->region->args;
    tn_value *wanted = binary(b, TN_OP_add, &p[2], matrix_product(b, &p[0], &p[1], "5x7xf32"));
    tn_value *sums = binary(b, TN_OP_add, &p[2], matrix_product(b, &p[3], &p[4], "5x7xf32"));
    RETURN(b, wanted, sums, matrix_product(b, &p[0], &p[1], "5x7xf32"));
    assert_true(apply(b, tn_pass_outer));
    const tn_op *sum = tn_value_resolve(returned(b, 0)->op->operands[1])->op;
    assert_int_equal(sum->kind, TN_OP_add);
    assert_int_equal(sum->operands[0]->op->kind, TN_OP_add);
    assert_int_equal(sum->operands[0]->op->operands[0]->op->kind, TN_OP_multiply);
    assert_int_equal(returned(b, 1)->op->operands[1]->op->kind, TN_OP_dot_general);
    assert_int_equal(returned(b, 2)->op->kind, TN_OP_dot_general);
}

/* Of few rows sums may follow from how the other operand lies. */
PASS_TEST(a_product_reads_a_transposed_operand_where_it_is)
{
    begin_function(b, "main", PARAMS("2x40x9xf32", "2x40x5xf32", "2x40x7xf32"));
    tn_value *p = b->region->args;
    tn_value *y = transpose(b, &p[1], 0, 2, 1, "2x5x40xf32");
    RETURN(b, product(b, &p[0], y, "2x9x5xf32"), product(b, &p[2], y, "2x7x5xf32"));
    assert_true(apply(b, tn_pass_transposed));
    const tn_op *op = returned(b, 0)->op;
    assert_ptr_equal(op->operands[1], &p[1]);
    uint32_t n;
    assert_int_equal(tn_op_ints(op, TN_ATTR_rhs_contracting_dimensions, &n)[0], 1);
    assert_ptr_equal(returned(b, 1)->op->operands[1], y);
}

PASS_TEST(a_product_is_exchanged_where_less_is_left_to_transpose)
{
    begin_function(b, "main", PARAMS("2x3x4xf32", "2x5x3xf32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1];
    tn_value *columns = transpose(b, product(b, x, y, "2x4x5xf32"), 2, 0, 1, "5x2x4xf32");
    tn_value *rows = transpose(b, product(b, x, y, "2x4x5xf32"), 1, 0, 2, "4x2x5xf32");
    RETURN(b, columns, rows);
    assert_true(apply(b, tn_pass_exchange));
    uint32_t n;
    assert_ptr_equal(returned(b, 0)->op->operands[0]->op->operands[0], y);
    const int64_t *p = tn_op_ints(returned(b, 0)->op, TN_ATTR_permutation, &n);
    assert_memory_equal(p, ((int64_t[]){1, 0, 2}), 3 * sizeof *p);
    assert_ptr_equal(returned(b, 1)->op->operands[0]->op->operands[0], x);
}

PASS_TEST(broadcasts_are_joined_and_become_reshapes)
{
    begin_function(b, "main", PARAMS("3xf32"));
    tn_value *x = &b->region->args[0];
    tn_value *y = broadcast(b, x, "1x3xf32", (int64_t[]){1});
    RETURN(
        b, y,
        broadcast(b, broadcast(b, x, "3x4xf32", (int64_t[]){0}), "2x4x3xf32", (int64_t[]){2, 1}));
    assert_true(apply(b, tn_pass_simplify));
    assert_int_equal(returned(b, 0)->op->kind, TN_OP_reshape);
    const tn_op *joined = returned(b, 1)->op;
    assert_ptr_equal(joined->operands[0], x);
    uint32_t n;
    assert_int_equal(tn_op_ints(joined, TN_ATTR_broadcast_dimensions, &n)[0], 2);
    assert_int_equal(n, 1);
}

PASS_TEST(broadcasts_of_joined_dimensions_are_one)
{
    begin_function(b, "main", PARAMS("3x4xf32"));
    tn_value *x = &b->region->args[0];
    tn_value *y = broadcast(b, x, "3x2x4xf32", (int64_t[]){0, 2});
    tn_op *joins = add_op(b, TN_OP_reshape, 1, &y, 1, 0);
    joins->results[0].type = type_of(b, "6x4xf32");
    RETURN(b, broadcast(b, &joins->results[0], "6x4x5xf32", (int64_t[]){0, 1}));
    assert_true(apply(b, tn_pass_simplify));
    const tn_op *last = returned(b, 0)->op, *one = last->operands[0]->op;
    assert_int_equal(last->kind, TN_OP_reshape);
    assert_int_equal(one->kind, TN_OP_broadcast_in_dim);
    assert_ptr_equal(one->operands[0], x);
    assert_int_equal(one->results[0].type->rank, 4);
    uint32_t n;
    const int64_t *dims = tn_op_ints(one, TN_ATTR_broadcast_dimensions, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(dims, ((int64_t[]){0, 2}), 2 * sizeof *dims);
}

PASS_TEST(neutral_integers_are_dropped)
{
    begin_function(b, "main", PARAMS("4xi32", "4xi1"));
    tn_value *x = &b->region->args[0], *p = &b->region->args[1];
    bool yes = true;
    RETURN(b, binary(b, TN_OP_add, x, i32(b, "4xi32", 0)),
           binary(b, TN_OP_add, i32(b, "4xi32", 0), x),
           binary(b, TN_OP_multiply, x, i32(b, "4xi32", 1)),
           binary(b, TN_OP_and, i32(b, "4xi32", -1), x),
           binary(b, TN_OP_shift_left, x, i32(b, "4xi32", 0)),
           binary(b, TN_OP_divide, x, i32(b, "4xi32", 1)), binary(b, TN_OP_maximum, x, x),
           binary(b, TN_OP_and, p, splat(b, "4xi1", &yes)));
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < 7; i++) assert_ptr_equal(returned(b, i), x);
    assert_ptr_equal(returned(b, 7), p);
}

PASS_TEST(a_neutral_operand_on_the_wrong_side_stays)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, binary(b, TN_OP_subtract, i32(b, "4xi32", 0), x),
           binary(b, TN_OP_divide, i32(b, "4xi32", 1), x),
           binary(b, TN_OP_shift_left, i32(b, "4xi32", 0), x));
    assert_false(apply(b, tn_pass_simplify));
}

PASS_TEST(integers_that_cancel_are_zero)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, binary(b, TN_OP_subtract, x, x), binary(b, TN_OP_xor, x, x),
           binary(b, TN_OP_multiply, x, i32(b, "4xi32", 0)));
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < 3; i++) {
        const tn_literal *l = returned_constant(b, i);
        assert_true(l->splat);
        assert_int_equal(*(const int32_t *)l->data, 0);
    }
}

/* -0 + 0 is 0, NaN - NaN is NaN, inf * 0 is NaN. */
PASS_TEST(floats_keep_their_zeros_and_nans)
{
    begin_function(b, "main", PARAMS("4xf32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, binary(b, TN_OP_add, x, f32(b, "4xf32", 0.0f)), binary(b, TN_OP_subtract, x, x),
           binary(b, TN_OP_multiply, x, f32(b, "4xf32", 0.0f)), binary(b, TN_OP_maximum, x, x),
           binary(b, TN_OP_subtract, x, f32(b, "4xf32", -0.0f)));
    assert_false(apply(b, tn_pass_simplify));
}

PASS_TEST(neutral_floats_are_dropped)
{
    begin_function(b, "main", PARAMS("4xf32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, binary(b, TN_OP_add, x, f32(b, "4xf32", -0.0f)),
           binary(b, TN_OP_subtract, x, f32(b, "4xf32", 0.0f)),
           binary(b, TN_OP_multiply, f32(b, "4xf32", 1.0f), x),
           binary(b, TN_OP_divide, x, f32(b, "4xf32", 1.0f)));
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < 4; i++) assert_ptr_equal(returned(b, i), x);
}

PASS_TEST(joins_are_transposed_by_joining_elsewhere)
{
    begin_function(b, "main", PARAMS("1x4x5xf32", "1x4x5xf32", "2x4x5xf32"));
    static const int64_t orders[][3] = {{1, 2, 0}, {1, 0, 2}, {2, 1, 0}};
    tn_value *args = b->region->args, *all[4];
    for (uint32_t i = 0; i < 4; i++) {
        tn_value *parts[2] = {&args[0], &args[i == 3 ? 2 : 1]};
        tn_op *join = add_op(b, TN_OP_concatenate, 2, parts, 1, 0);
        join->results[0].type = type_of(b, i == 3 ? "3x4x5xf32" : "2x4x5xf32");
        tn_op_set_attr(b->module, join, TN_ATTR_dimension, tn_attr_int(b->arena, 0));
        static const char *const to[] = {"4x5x2xf32", "4x2x5xf32", "5x4x2xf32", "4x5x3xf32"};
        tn_value *x = &join->results[0];
        tn_op *op = add_op(b, TN_OP_transpose, 1, &x, 1, 0);
        op->results[0].type = type_of(b, to[i]);
        tn_op_set_attr(b->module, op, TN_ATTR_permutation,
                       tn_attr_ints(b->arena, orders[i == 3 ? 0 : i], 3));
        all[i] = &op->results[0];
    }
    end_region(b, 4, all);
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < 4; i++) {
        const tn_op *op = returned(b, i)->op;
        assert_int_equal(op->kind, i < 2 ? TN_OP_concatenate : TN_OP_transpose);
        if (i >= 2) continue;
        assert_int_equal(tn_op_int(op, TN_ATTR_dimension, 0), i == 0 ? 2 : 1);
        assert_int_equal(op->operands[1]->op->kind, TN_OP_reshape);
        assert_ptr_equal(op->operands[1]->op->operands[0], &args[1]);
    }
}

PASS_TEST(division_by_a_power_of_two_is_multiplication)
{
    static const struct {
        float by, inverse; /* 0: it stays a division */
    } cases[] = {{8, 0.125f},   {-0.5f, -2}, {0x1p126f, 0x1p-126f}, {0x1p-126f, 0x1p126f},
                 {0x1p127f, 0}, {3, 0},      {0x1p-127f, 0},        {INFINITY, 0},
                 {0x1.8p1f, 0}, {NAN, 0}};
    enum { N = sizeof cases / sizeof *cases };
    begin_function(b, "main", PARAMS("4xf32"));
    tn_value *x = &b->region->args[0], *all[N];
    for (uint32_t i = 0; i < N; i++)
        all[i] = binary(b, TN_OP_divide, x, f32(b, "4xf32", cases[i].by));
    end_region(b, N, all);
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < N; i++) {
        const tn_op *op = returned(b, i)->op;
        assert_int_equal(op->kind, cases[i].inverse ? TN_OP_multiply : TN_OP_divide);
        const float *c = tn_constant_of(op->operands[1])->data;
        float expected = cases[i].inverse ? cases[i].inverse : cases[i].by;
        assert_memory_equal(c, &expected, sizeof expected);
    }
}

PASS_TEST(integers_are_divided_by_powers_of_two_without_division)
{
    static const struct {
        tn_op_kind kind;
        int32_t by;
        tn_op_kind becomes;
    } cases[] = {{TN_OP_divide, 8, TN_OP_shift_right_arithmetic},
                 {TN_OP_remainder, 8, TN_OP_subtract},
                 {TN_OP_divide, 1 << 30, TN_OP_shift_right_arithmetic},
                 {TN_OP_divide, INT32_MIN, TN_OP_divide},
                 {TN_OP_divide, -8, TN_OP_divide},
                 {TN_OP_remainder, 0, TN_OP_remainder},
                 {TN_OP_remainder, 12, TN_OP_remainder}};
    enum { N = sizeof cases / sizeof *cases };
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0], *all[N];
    for (uint32_t i = 0; i < N; i++)
        all[i] = binary(b, cases[i].kind, x, i32(b, "4xi32", cases[i].by));
    end_region(b, N, all);
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(returned(b, i)->op->kind, cases[i].becomes);
}

static tn_value *dynamic_slice(builder *b, tn_value *x, tn_value *start, int64_t size,
                               const char *type)
{
    tn_op *op = add_op(b, TN_OP_dynamic_slice, 2, (tn_value *[]){x, start}, 1, 0);
    op->results[0].type = type_of(b, type);
    tn_op_set_attr(b->module, op, TN_ATTR_slice_sizes, tn_attr_ints(b->arena, &size, 1));
    return &op->results[0];
}

PASS_TEST(slices_at_a_known_place_are_clamped_and_static)
{
    begin_function(b, "main", PARAMS("8xf32", "i32"));
    tn_value *x = &b->region->args[0], *i = &b->region->args[1];
    uint64_t huge = UINT64_MAX;
    RETURN(b, dynamic_slice(b, x, i, 8, "8xf32"), dynamic_slice(b, x, i32(b, "i32", 7), 3, "3xf32"),
           dynamic_slice(b, x, i32(b, "i32", -4), 3, "3xf32"),
           dynamic_slice(b, x, constant(b, "ui64", &huge), 3, "3xf32"),
           dynamic_slice(b, x, i, 3, "3xf32"));
    assert_true(apply(b, tn_pass_simplify));
    assert_ptr_equal(returned(b, 0), x);
    static const int64_t starts[] = {5, 0, 5};
    for (uint32_t r = 1; r < 4; r++) {
        uint32_t n;
        assert_int_equal(returned(b, r)->op->kind, TN_OP_slice);
        assert_int_equal(tn_op_ints(returned(b, r)->op, TN_ATTR_start_indices, &n)[0],
                         starts[r - 1]);
        assert_int_equal(tn_op_ints(returned(b, r)->op, TN_ATTR_limit_indices, &n)[0],
                         starts[r - 1] + 3);
    }
    assert_int_equal(returned(b, 4)->op->kind, TN_OP_dynamic_slice);
}

/* Branches give x and y. */
static tn_op *branches(builder *b, tn_op_kind kind, tn_value *choice, tn_value *x, tn_value *y)
{
    tn_op *op = control(b, kind, 1, &choice, 1, (const tn_type *[]){x->type}, 2);
    tn_region *outer = b->region;
    begin_region(b, op, 0);
    RETURN(b, unary(b, TN_OP_negate, x));
    begin_region(b, op, 1);
    RETURN(b, y);
    b->region = outer;
    return op;
}

PASS_TEST(branches_whose_choice_is_known_are_opened)
{
    begin_function(b, "main", PARAMS("4xi32", "4xi32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1];
    bool yes = true, no = false;
    RETURN(b, &branches(b, TN_OP_if, constant(b, "i1", &yes), x, y)->results[0],
           &branches(b, TN_OP_if, constant(b, "i1", &no), x, y)->results[0],
           &branches(b, TN_OP_case, i32(b, "i32", 0), x, y)->results[0],
           &branches(b, TN_OP_case, i32(b, "i32", -1), x, y)->results[0],
           &branches(b, TN_OP_case, i32(b, "i32", 2), x, y)->results[0]);
    assert_true(apply(b, tn_pass_simplify));
    assert_int_equal(count_ops(b, TN_OP_if) + count_ops(b, TN_OP_case), 0);
    assert_int_equal(returned(b, 0)->op->kind, TN_OP_negate);
    assert_ptr_equal(returned(b, 1), y);
    assert_int_equal(returned(b, 2)->op->kind, TN_OP_negate);
    assert_ptr_equal(returned(b, 3), y);
    assert_ptr_equal(returned(b, 4), y);
}

PASS_TEST(what_a_loop_never_changes_is_taken_from_outside)
{
    begin_function(b, "main", PARAMS("i32", "4xi32"));
    tn_value *x = &b->region->args[1];
    tn_op *op = while_op(b, 2, (tn_value *[]){&b->region->args[0], x});
    tn_region *outer = b->region;
    tn_region *condition = begin_region(b, op, 0);
    RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0], i32(b, "i32", 9)));
    tn_region *body = begin_region(b, op, 1);
    tn_value *i = binary(b, TN_OP_add, &body->args[0], i32(b, "i32", 1));
    tn_value *used = binary(b, TN_OP_add, &body->args[1], &body->args[1]);
    RETURN(b, i, &body->args[1]);
    b->region = outer;
    RETURN(b, &op->results[0], &op->results[1]);
    assert_true(apply(b, tn_pass_simplify));
    assert_ptr_equal(returned(b, 1), x);
    assert_ptr_equal(used->op->operands[0], x);
    apply(b, tn_pass_dce);
    assert_int_equal(returned(b, 0)->op->n_operands, 1);
}

PASS_TEST(selects_and_twice_negated_values_are_dropped)
{
    begin_function(b, "main", PARAMS("4xf32", "4xf32", "4xi1"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1], *p = &b->region->args[2];
    bool no = false;
    tn_op *known = add_op(b, TN_OP_select, 3, (tn_value *[]){constant(b, "i1", &no), x, y}, 1, 0);
    tn_op *equal = add_op(b, TN_OP_select, 3, (tn_value *[]){p, x, x}, 1, 0);
    known->results[0].type = equal->results[0].type = x->type;
    RETURN(b, &known->results[0], &equal->results[0],
           unary(b, TN_OP_negate, unary(b, TN_OP_negate, x)),
           unary(b, TN_OP_not, unary(b, TN_OP_not, p)));
    assert_true(apply(b, tn_pass_simplify));
    assert_ptr_equal(returned(b, 0), y);
    assert_ptr_equal(returned(b, 1), x);
    assert_ptr_equal(returned(b, 2), x);
    assert_ptr_equal(returned(b, 3), p);
}

PASS_TEST(nothing_without_a_sign_is_below_0)
{
    begin_function(b, "main", PARAMS("4xui8", "4xi8"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1];
    uint8_t zero = 0;
    tn_value *none = splat(b, "4xui8", &zero), *some = splat(b, "4xi8", &zero);
    RETURN(b, compare(b, TN_comparison_direction_LT, x, none),
           compare(b, TN_comparison_direction_LT, y, some),
           compare(b, TN_comparison_direction_LE, x, none),
           compare(b, TN_comparison_direction_LT, none, x));
    assert_true(apply(b, tn_pass_simplify));
    int64_t v;
    assert_true(tn_constant_integer(returned(b, 0), &v) && !v);
    for (uint32_t i = 1; i < 4; i++) assert_int_equal(returned(b, i)->op->kind, TN_OP_compare);
}

/* How a body adds its arguments. */
typedef enum { PLAIN, CROSSED, SELECTED } addition;

static tn_value *reduce(builder *b, tn_value *x, tn_value *init, addition how)
{
    const tn_type *t = tn_type_tensor(b->arena, x->type->element, 1, (int64_t[]){4});
    tn_op *op = control(b, TN_OP_reduce, 2, (tn_value *[]){x, init}, 1, &t, 1);
    tn_op_set_attr(b->module, op, TN_ATTR_dimensions, tn_attr_ints(b->arena, (int64_t[]){1}, 1));
    tn_region *outer = b->region;
    tn_region_init(b->module, &op->regions[0], b->function, op, 2);
    b->region = &op->regions[0];
    tn_value *args = op->regions[0].args;
    args[0].type = args[1].type = init->type;
    tn_value *first = &args[how == CROSSED];
    if (how == SELECTED) {
        tn_value *no = constant(b, "i1", &(bool){false});
        tn_op *select = add_op(b, TN_OP_select, 3, (tn_value *[]){no, &args[1], first}, 1, 0);
        select->results[0].type = init->type;
        first = &select->results[0];
    }
    RETURN(b, binary(b, TN_OP_add, first, &args[how != CROSSED]));
    b->region = outer;
    return &op->results[0];
}

PASS_TEST(reductions_of_one_element_become_the_op)
{
    begin_function(b, "main", PARAMS("4x1xf32", "4x2xf32", "f32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1], *init = &b->region->args[2];
    RETURN(b, reduce(b, x, init, PLAIN), reduce(b, x, init, CROSSED), reduce(b, y, init, PLAIN));
    assert_true(apply(b, tn_pass_simplify));
    for (uint32_t i = 0; i < 2; i++) {
        const tn_op *op = returned(b, i)->op;
        assert_int_equal(op->kind, TN_OP_add);
        assert_int_equal(op->operands[0]->op->kind, TN_OP_broadcast_in_dim);
        assert_ptr_equal(op->operands[0]->op->operands[0], init);
        assert_int_equal(op->operands[1]->op->kind, TN_OP_reshape);
        assert_ptr_equal(op->operands[1]->op->operands[0], x);
    }
    assert_int_equal(returned(b, 2)->op->kind, TN_OP_reduce);
}

PASS_TEST(sums_read_narrow_floats_where_they_are)
{
    begin_function(b, "main", PARAMS("4x2xbf16", "4x2xf32"));
    tn_value *x = &b->region->args[0], *wide = unary(b, TN_OP_convert, x);
    wide->type = type_of(b, "4x2xf32");
    RETURN(b, reduce(b, wide, f32(b, "f32", 0.0f), PLAIN),
           reduce(b, wide, f32(b, "f32", 1.0f), PLAIN),
           reduce(b, wide, f32(b, "f32", -0.0f), PLAIN));
    assert_true(apply(b, tn_pass_simplify));
    const tn_op *op = returned(b, 0)->op;
    assert_int_equal(op->kind, TN_OP_reduce);
    assert_ptr_equal(op->operands[0], x);
    assert_int_equal(op->operands[1]->type->element, TN_BF16);
    assert_int_equal(op->results[0].type->element, TN_F32);
    for (uint32_t i = 1; i < 3; i++) assert_ptr_equal(returned(b, i)->op->operands[0], wide);
}

static const tn_op *first_of_sum(builder *b, uint32_t i)
{
    return tn_value_resolve(returned(b, i)->op->regions[0].last->operands[0])->op->operands[0]->op;
}

PASS_TEST(only_combiners_whose_order_does_not_matter_become_sums)
{
    begin_function(b, "main",
                   PARAMS("4x2xf32", "f32", "4x2xcomplex<f32>", "complex<f32>", "4x2xi32", "i32"));
    tn_value *x = b->region->args;
    RETURN(b, reduce(b, &x[0], &x[1], SELECTED), reduce(b, &x[2], &x[3], SELECTED),
           reduce(b, &x[4], &x[5], SELECTED));
    assert_true(apply(b, tn_pass_simplify));
    assert_int_equal(first_of_sum(b, 0)->kind, TN_OP_select);
    assert_int_equal(first_of_sum(b, 1)->kind, TN_OP_select);
    assert_null(first_of_sum(b, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_a_sign_is_below_0),
        cmocka_unit_test(sums_read_narrow_floats_where_they_are),
        cmocka_unit_test(only_combiners_whose_order_does_not_matter_become_sums),
        cmocka_unit_test(reshapes_of_reshapes_are_one),
        cmocka_unit_test(transposes_are_joined_and_become_reshapes),
        cmocka_unit_test(a_transposed_product_is_one_of_exchanged_operands),
        cmocka_unit_test(a_product_is_exchanged_where_less_is_left_to_transpose),
        cmocka_unit_test(a_product_reads_a_transposed_operand_where_it_is),
        cmocka_unit_test(a_product_that_sums_nothing_is_elementwise_where_that_is_wanted),
        cmocka_unit_test(broadcasts_are_joined_and_become_reshapes),
        cmocka_unit_test(broadcasts_of_joined_dimensions_are_one),
        cmocka_unit_test(neutral_integers_are_dropped),
        cmocka_unit_test(a_neutral_operand_on_the_wrong_side_stays),
        cmocka_unit_test(integers_that_cancel_are_zero),
        cmocka_unit_test(floats_keep_their_zeros_and_nans),
        cmocka_unit_test(neutral_floats_are_dropped),
        cmocka_unit_test(joins_are_transposed_by_joining_elsewhere),
        cmocka_unit_test(division_by_a_power_of_two_is_multiplication),
        cmocka_unit_test(integers_are_divided_by_powers_of_two_without_division),
        cmocka_unit_test(slices_at_a_known_place_are_clamped_and_static),
        cmocka_unit_test(branches_whose_choice_is_known_are_opened),
        cmocka_unit_test(what_a_loop_never_changes_is_taken_from_outside),
        cmocka_unit_test(reductions_of_one_element_become_the_op),
        cmocka_unit_test(selects_and_twice_negated_values_are_dropped),
    };
    return cmocka_run_group_tests_name("passes-simplify", tests, NULL, NULL);
}
