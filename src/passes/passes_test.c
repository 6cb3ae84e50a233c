/* SPDX-License-Identifier: Apache-2.0 */
/* lower, fold, cse, dce, hoist. */
#include "passes/build_test.h"
#include "passes/rewrite.h"

static tn_value *i32(builder *b, const char *type, int32_t v)
{
    return splat(b, type, &v);
}

/* --- lower --- */

static tn_value *with_type(tn_op *op, const tn_type *t)
{
    op->results[0].type = t;
    return &op->results[0];
}

PASS_TEST(shardings_and_casts_on_one_device_say_nothing)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    tn_value *y = unary(b, TN_OP_sdy_sharding_constraint, unary(b, TN_OP_cast, x));
    RETURN(b, unary(b, TN_OP_sdy_propagation_barrier, y));
    assert_true(apply(b, tn_pass_lower));
    assert_ptr_equal(returned(b, 0), x);
}

PASS_TEST(deprecated_ops_become_their_successors)
{
    begin_function(b, "main", PARAMS("2x3xf32", "3x4xf32", "3xf32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1], *z = &b->region->args[2];
    tn_value *dot =
        with_type(add_op(b, TN_OP_dot, 2, (tn_value *[]){x, y}, 1, 0), type_of(b, "2x4xf32"));
    tn_value *wide = with_type(add_op(b, TN_OP_broadcast, 1, &z, 1, 0), type_of(b, "5x3xf32"));
    tn_op_set_attr(b->module, wide->op, TN_ATTR_broadcast_sizes,
                   tn_attr_ints(b->arena, (int64_t[]){5}, 1));
    RETURN(b, dot, wide);
    b->module->main = b->function;
    bool changed = false;
    MUST(tn_pass_lower(b->module, &changed));
    assert_int_equal(returned(b, 0)->op->kind, TN_OP_dot_general);
    uint32_t n;
    assert_int_equal(tn_op_ints(returned(b, 0)->op, TN_ATTR_lhs_contracting_dimensions, &n)[0], 1);
    assert_int_equal(tn_op_ints(returned(b, 0)->op, TN_ATTR_rhs_contracting_dimensions, &n)[0], 0);
    assert_int_equal(returned(b, 1)->op->kind, TN_OP_broadcast_in_dim);
    assert_int_equal(tn_op_ints(returned(b, 1)->op, TN_ATTR_broadcast_dimensions, &n)[0], 1);
}

/* --- the manager --- */

PASS_TEST(passes_look_at_what_earlier_ones_made)
{
    begin_function(b, "main", PARAMS("2x1xf32", "1x4xf32"));
    tn_value *both[] = {&b->region->args[0], &b->region->args[1]};
    tn_value *dot = with_type(add_op(b, TN_OP_dot, 2, both, 1, 0), type_of(b, "2x4xf32"));
    RETURN(b, unary(b, TN_OP_negate, dot));
    b->module->main = b->function;
    assert_false(tn_module_may_have(b->module, TN_OP_dot_general));
    MUST(tn_passes_run(b->module, TN_PASSES_ALL, false));
    assert_true(tn_module_may_have(b->module, TN_OP_dot_general));
    assert_true(tn_module_may_have(tn_module_copy(b->module, b->arena), TN_OP_multiply));
    assert_false(tn_module_may_have(b->module, TN_OP_gather));
    assert_int_not_equal(returned(b, 0)->op->operands[0]->op->kind, TN_OP_dot_general);
}

PASS_TEST(elements_of_tuples_are_what_was_put_in)
{
    begin_function(b, "main", PARAMS("4xi32", "4xf32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1];
    tn_type *t = TN_NEW(b->arena, tn_type);
    *t = (tn_type){
        .kind = TN_TYPE_TUPLE,
        .n_parts = 2,
        .parts = tn_dup(b->arena, (const tn_type *[]){x->type, y->type}, 2 * sizeof(tn_type *))};
    tn_value *pair = with_type(add_op(b, TN_OP_tuple, 2, (tn_value *[]){x, y}, 1, 0), t);
    tn_value *guarded = with_type(add_op(b, TN_OP_optimization_barrier, 1, &pair, 1, 0), t);
    tn_value *first = with_type(add_op(b, TN_OP_get_tuple_element, 1, &pair, 1, 0), x->type);
    tn_value *second = with_type(add_op(b, TN_OP_get_tuple_element, 1, &guarded, 1, 0), y->type);
    tn_op_set_attr(b->module, first->op, TN_ATTR_index, tn_attr_int(b->arena, 0));
    tn_op_set_attr(b->module, second->op, TN_ATTR_index, tn_attr_int(b->arena, 1));
    RETURN(b, first, second);
    b->module->main = b->function;
    bool changed = false;
    MUST(tn_pass_untuple(b->module, &changed));
    MUST(tn_pass_dce(b->module, &changed));
    assert_ptr_equal(returned(b, 0), x);
    assert_int_equal(returned(b, 1)->op->kind, TN_OP_optimization_barrier);
    assert_int_equal(returned(b, 1)->op->n_results, 2);
    assert_int_equal(count_ops(b, TN_OP_tuple), 0);
}

static tn_value *add_sum_over_devices(builder *b, tn_value *x, uint32_t n)
{
    tn_op *op = control(b, TN_OP_all_reduce, 1, &x, 1, (const tn_type *[]){x->type}, 1);
    tn_attr *groups = TN_NEW(b->arena, tn_attr);
    *groups = *tn_attr_ints(b->arena, (int64_t[]){0, 1}, n);
    tn_op_set_attr(b->module, op, TN_ATTR_replica_groups, groups);
    tn_region *outer = b->region;
    tn_region_init(b->module, &op->regions[0], b->function, op, 2);
    b->region = &op->regions[0];
    tn_value *args = op->regions[0].args;
    args[0].type = args[1].type = type_of(b, "i32");
    RETURN(b, binary(b, TN_OP_add, &args[0], &args[1]));
    b->region = outer;
    return &op->results[0];
}

PASS_TEST(collectives_of_one_device_are_their_operand)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, add_sum_over_devices(b, x, 1));
    assert_true(apply(b, tn_pass_lower));
    assert_ptr_equal(returned(b, 0), x);
}

PASS_TEST(collectives_of_several_devices_stay)
{
    begin_function(b, "main", PARAMS("4xi32"));
    b->module->num_replicas = 2;
    RETURN(b, add_sum_over_devices(b, &b->region->args[0], 2));
    b->module->main = b->function;
    bool changed = false;
    MUST(tn_pass_lower(b->module, &changed));
    assert_false(changed);
}

/* --- partition --- */

static const tn_attr *list(builder *b, const char *tag, uint32_t n, const tn_attr *const *items)
{
    tn_attr *a = TN_NEW(b->arena, tn_attr);
    a->kind = TN_ATTR_KIND_LIST;
    a->list.tag = tag;
    a->list.n = n;
    a->list.items = tn_dup(b->arena, items, n * sizeof *items);
    return a;
}

/* A parameter whose dimension is split along an axis, or along none. */
static void sharded_program(builder *b, bool split)
{
    begin_function(b, "main", PARAMS("4xi32"));
    const tn_attr *axis = list(b, "sdy.axis_ref", 0, NULL);
    const tn_attr *dimension = list(b, "sdy.dimension_sharding", split, &axis);
    tn_named_attr *pair = TN_NEW(b->arena, tn_named_attr);
    *pair = (tn_named_attr){"sdy.sharding", list(b, "sdy.sharding", 1, &dimension)};
    tn_attr *dict = TN_NEW(b->arena, tn_attr);
    *dict = (tn_attr){.kind = TN_ATTR_KIND_DICT, .dict = {pair, 1}};
    b->function->arg_attrs[0] = dict;
    RETURN(b, unary(b, TN_OP_negate, &b->region->args[0]));
}

PASS_TEST(sharding_over_one_partition_says_nothing)
{
    sharded_program(b, true);
    assert_false(apply(b, tn_pass_partition));
}

PASS_TEST(sharding_over_several_partitions_is_refused)
{
    sharded_program(b, true);
    b->module->num_partitions = 4;
    expect_refused(b, tn_pass_partition, TN_UNIMPLEMENTED,
                   "parameter 0 is sharded over 4 partitions");
}

PASS_TEST(what_is_whole_on_every_partition_runs)
{
    sharded_program(b, false);
    b->module->num_partitions = 4;
    assert_false(apply(b, tn_pass_partition));
}

/* --- fold --- */

PASS_TEST(constants_are_computed)
{
    begin_function(b, "main", NO_PARAMS);
    tn_value *x = constant(b, "4xi32", (int32_t[]){1, 2, 3, 4});
    tn_value *sum = binary(b, TN_OP_add, x, i32(b, "4xi32", 10));
    RETURN(b, reverse(b, sum));
    assert_true(apply(b, tn_pass_fold));
    assert_memory_equal(returned_constant(b, 0)->data, ((int32_t[]){14, 13, 12, 11}), 16);
    assert_false(returned_constant(b, 0)->splat);
}

PASS_TEST(splats_stay_splats_however_large)
{
    begin_function(b, "main", NO_PARAMS);
    tn_value *two = i32(b, "i32", 2);
    tn_op *wide = add_op(b, TN_OP_broadcast_in_dim, 1, &two, 1, 0);
    wide->results[0].type = type_of(b, "1000x1000xi32");
    tn_op_set_attr(b->module, wide, TN_ATTR_broadcast_dimensions, tn_attr_ints(b->arena, NULL, 0));
    RETURN(b, binary(b, TN_OP_multiply, &wide->results[0], i32(b, "1000x1000xi32", 21)));
    assert_true(apply(b, tn_pass_fold));
    assert_true(returned_constant(b, 0)->splat);
    assert_int_equal(*(const int32_t *)returned_constant(b, 0)->data, 42);
    assert_int_equal(returned_constant(b, 0)->size, 4);
}

PASS_TEST(large_constants_are_not_computed)
{
    begin_function(b, "main", NO_PARAMS);
    int32_t *data = tn_alloc(b->arena, 2000 * sizeof *data);
    RETURN(b, unary(b, TN_OP_negate, constant(b, "2000xi32", data)));
    assert_false(apply(b, tn_pass_fold));
}

PASS_TEST(random_numbers_are_not_computed)
{
    begin_function(b, "main", NO_PARAMS);
    int64_t shape = 4;
    tn_value *operands[] = {i32(b, "i32", 0), i32(b, "i32", 9), constant(b, "1xi64", &shape)};
    tn_op *op = add_op(b, TN_OP_rng, 3, operands, 1, 0);
    tn_op_set_attr(b->module, op, TN_ATTR_rng_distribution,
                   tn_attr_int(b->arena, TN_rng_distribution_UNIFORM));
    RETURN(b, with_type(op, type_of(b, "4xi32")));
    b->module->main = b->function;
    bool changed = false;
    MUST(tn_pass_fold(b->module, &changed));
    assert_false(changed);
}

/* --- cse --- */

PASS_TEST(equal_ops_become_one)
{
    begin_function(b, "main", PARAMS("4xi32", "4xi32"));
    tn_value *x = &b->region->args[0], *y = &b->region->args[1];
    tn_value *sum = binary(b, TN_OP_add, x, y), *same = binary(b, TN_OP_add, y, x);
    RETURN(b, sum, same, reverse(b, sum), reverse(b, same), binary(b, TN_OP_subtract, x, y),
           binary(b, TN_OP_subtract, y, x), i32(b, "4xi32", 7), i32(b, "4xi32", 7),
           i32(b, "4xi32", 8));
    assert_true(apply(b, tn_pass_cse));
    assert_ptr_equal(returned(b, 0), returned(b, 1));
    assert_ptr_equal(returned(b, 2), returned(b, 3));
    assert_ptr_not_equal(returned(b, 4), returned(b, 5));
    assert_ptr_equal(returned(b, 6), returned(b, 7));
    assert_ptr_not_equal(returned(b, 6), returned(b, 8));
}

PASS_TEST(barriers_are_not_joined)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, unary(b, TN_OP_optimization_barrier, x), unary(b, TN_OP_optimization_barrier, x));
    assert_false(apply(b, tn_pass_cse));
}

/* What one branch computed is not there in the other; what was there before is. */
PASS_TEST(regions_see_only_what_is_around_them)
{
    begin_function(b, "main", PARAMS("4xi32", "i1"));
    tn_value *x = &b->region->args[0];
    tn_value *before = unary(b, TN_OP_negate, x);
    tn_op *op = control(b, TN_OP_if, 1, (tn_value *[]){&b->region->args[1]}, 2,
                        (const tn_type *[]){x->type, x->type}, 2);
    tn_region *outer = b->region;
    for (uint32_t i = 0; i < 2; i++) {
        begin_region(b, op, i);
        RETURN(b, unary(b, TN_OP_negate, x), reverse(b, x));
    }
    b->region = outer;
    RETURN(b, before, &op->results[0], &op->results[1], reverse(b, x));
    assert_true(apply(b, tn_pass_cse));
    for (uint32_t i = 0; i < 2; i++) {
        assert_ptr_equal(op->regions[i].last->operands[0], before);
        assert_int_equal(count_in(&op->regions[i], TN_OP_reverse), 1);
    }
    assert_int_equal(count_ops(b, TN_OP_reverse), 3);
}

static tn_value *reduce(builder *b, tn_value *x, tn_op_kind kind)
{
    tn_op *op = control(b, TN_OP_reduce, 2, (tn_value *[]){x, i32(b, "i32", 0)}, 1,
                        (const tn_type *[]){type_of(b, "i32")}, 1);
    tn_op_set_attr(b->module, op, TN_ATTR_dimensions, tn_attr_ints(b->arena, (int64_t[]){0}, 1));
    tn_region *outer = b->region;
    tn_region_init(b->module, &op->regions[0], b->function, op, 2);
    b->region = &op->regions[0];
    tn_value *args = op->regions[0].args;
    args[0].type = args[1].type = type_of(b, "i32");
    RETURN(b, binary(b, kind, &args[0], &args[1]));
    b->region = outer;
    return &op->results[0];
}

PASS_TEST(reductions_with_equal_bodies_become_one)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, reduce(b, x, TN_OP_add), reduce(b, x, TN_OP_add), reduce(b, x, TN_OP_maximum));
    b->module->main = b->function;
    bool changed = false;
    MUST(tn_pass_cse(b->module, &changed));
    assert_true(changed);
    assert_ptr_equal(returned(b, 0), returned(b, 1));
    assert_ptr_not_equal(returned(b, 0), returned(b, 2));
}

/* --- apart --- */

PASS_TEST(reductions_are_of_dimensions_next_to_each_other)
{
    begin_function(b, "main", PARAMS("4x5x1x6xi32"));
    tn_value *x = &b->region->args[0];
    tn_value *far = reduce(b, x, TN_OP_maximum), *near = reduce(b, x, TN_OP_add);
    tn_op_set_attr(b->module, far->op, TN_ATTR_dimensions,
                   tn_attr_ints(b->arena, (int64_t[]){3, 0}, 2));
    tn_op_set_attr(b->module, near->op, TN_ATTR_dimensions,
                   tn_attr_ints(b->arena, (int64_t[]){1, 3}, 2));
    far->type = type_of(b, "5x1xi32");
    near->type = type_of(b, "4x1xi32");
    RETURN(b, far, near);
    assert_true(apply(b, tn_pass_apart));
    const tn_op *last = returned(b, 0)->op, *first = last->operands[0]->op;
    assert_ptr_equal(returned(b, 1), near);
    assert_int_equal(count_ops(b, TN_OP_reduce), 3);
    assert_ptr_equal(first->operands[0], x);
    assert_true(tn_type_equal(first->results[0].type, type_of(b, "4x5x1xi32")));
    int64_t none;
    assert_true(tn_constant_integer(first->operands[1], &none));
    assert_int_equal(none, INT32_MIN);
    assert_int_equal(last->regions[0].first->kind, TN_OP_maximum);
    assert_false(apply(b, tn_pass_apart));
}

/* --- dce --- */

PASS_TEST(what_nobody_wants_is_removed)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    reverse(b, unary(b, TN_OP_negate, x));
    tn_op *call = add_op(b, TN_OP_custom_call, 1, &x, 1, 0);
    tn_op_set_attr(b->module, call, TN_ATTR_call_target_name, tn_attr_string(b->arena, "print", 5));
    tn_op_set_attr(b->module, call, TN_ATTR_has_side_effect, tn_attr_bool(b->arena, true));
    call->results[0].type = x->type;
    tn_op *order = add_op(b, TN_OP_custom_call, 2, (tn_value *[]){x, x}, 0, 0);
    tn_op_set_attr(b->module, order, TN_ATTR_call_target_name,
                   tn_attr_string(b->arena, "control_dep", 11));
    tn_op_set_attr(b->module, order, TN_ATTR_has_side_effect, tn_attr_bool(b->arena, true));
    RETURN(b, x);
    b->module->main = b->function;
    bool changed = false;
    MUST(tn_pass_dce(b->module, &changed));
    assert_true(changed);
    assert_int_equal(count_ops(b, TN_OP_negate) + count_ops(b, TN_OP_reverse), 0);
    assert_int_equal(count_ops(b, TN_OP_custom_call), 1);
}

/* Of i, x, y and z only x is returned; y feeds x, and z only itself. */
PASS_TEST(carried_values_that_only_feed_themselves_are_removed)
{
    begin_function(b, "main", PARAMS("i32", "4xi32", "4xi32", "4xi32"));
    tn_value *args = b->region->args;
    tn_op *op = while_op(b, 4, (tn_value *[]){&args[0], &args[1], &args[2], &args[3]});
    tn_region *outer = b->region;
    tn_region *condition = begin_region(b, op, 0);
    RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0], i32(b, "i32", 9)));
    tn_region *body = begin_region(b, op, 1);
    tn_value *a = body->args;
    RETURN(b, binary(b, TN_OP_add, &a[0], i32(b, "i32", 1)), binary(b, TN_OP_add, &a[1], &a[2]),
           reverse(b, &a[2]), unary(b, TN_OP_negate, &a[3]));
    b->region = outer;
    RETURN(b, &op->results[1]);
    assert_true(apply(b, tn_pass_dce));
    const tn_op *left = returned(b, 0)->op;
    assert_int_equal(left->n_operands, 3);
    assert_int_equal(left->regions[1].last->n_operands, 3);
    assert_int_equal(count_ops(b, TN_OP_negate), 0);
    assert_int_equal(count_ops(b, TN_OP_reverse), 1);
}

PASS_TEST(results_of_branches_that_nobody_wants_are_removed)
{
    begin_function(b, "main", PARAMS("4xi32", "i1"));
    tn_value *x = &b->region->args[0];
    tn_op *op = control(b, TN_OP_if, 1, (tn_value *[]){&b->region->args[1]}, 2,
                        (const tn_type *[]){x->type, x->type}, 2);
    tn_region *outer = b->region;
    for (uint32_t i = 0; i < 2; i++) {
        begin_region(b, op, i);
        RETURN(b, unary(b, TN_OP_negate, x), reverse(b, x));
    }
    b->region = outer;
    RETURN(b, &op->results[1]);
    assert_true(apply(b, tn_pass_dce));
    assert_int_equal(returned(b, 0)->op->n_results, 1);
    assert_int_equal(count_ops(b, TN_OP_negate), 0);
    assert_int_equal(count_ops(b, TN_OP_reverse), 2);
}

/* --- hoist --- */

static tn_value *repeated(builder *b, tn_value *x, const char *type)
{
    tn_op *op = add_op(b, TN_OP_broadcast_in_dim, 1, &x, 1, 0);
    op->results[0].type = type_of(b, type);
    tn_op_set_attr(b->module, op, TN_ATTR_broadcast_dimensions, tn_attr_ints(b->arena, NULL, 0));
    return &op->results[0];
}

PASS_TEST(large_broadcasts_stay_in_loops)
{
    begin_function(b, "main", PARAMS("i32", "8000xi32", "9000xi32", "i32"));
    tn_value *args = b->region->args;
    tn_op *loop = while_op(b, 3, (tn_value *[]){&args[0], &args[1], &args[2]});
    tn_region *outer = b->region, *condition = begin_region(b, loop, 0);
    RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0], i32(b, "i32", 9)));
    tn_region *body = begin_region(b, loop, 1);
    tn_value *small = repeated(b, &args[3], "8000xi32"), *large = repeated(b, &args[3], "9000xi32");
    RETURN(b, binary(b, TN_OP_add, &body->args[0], &args[3]),
           binary(b, TN_OP_add, &body->args[1], small),
           binary(b, TN_OP_add, &body->args[2], large));
    b->region = outer;
    RETURN(b, &loop->results[1], &loop->results[2]);
    assert_true(apply(b, tn_pass_hoist));
    assert_ptr_equal(small->op->region, &b->function->body);
    assert_ptr_equal(large->op->region, body);
}

PASS_TEST(what_is_the_same_in_every_iteration_leaves_all_loops)
{
    begin_function(b, "main", PARAMS("i32", "4xi32", "4xi32"));
    tn_value *args = b->region->args, *w = &args[2];
    tn_op *loops[2];
    tn_region *outer[2];
    tn_value *carried[2] = {&args[0], &args[1]};
    for (int i = 0; i < 2; i++) {
        loops[i] = while_op(b, 2, carried);
        outer[i] = b->region;
        tn_region *condition = begin_region(b, loops[i], 0);
        RETURN(b, compare(b, TN_comparison_direction_LT, &condition->args[0], i32(b, "i32", 9)));
        tn_region *body = begin_region(b, loops[i], 1);
        carried[0] = &body->args[0];
        carried[1] = &body->args[1];
    }
    tn_value *same = reverse(b, w), *other = reverse(b, carried[1]);
    tn_value *next = binary(b, TN_OP_add, binary(b, TN_OP_add, carried[1], same), other);
    RETURN(b, binary(b, TN_OP_add, carried[0], i32(b, "i32", 1)), next);
    b->region = outer[1];
    RETURN(b, &loops[1]->results[0], &loops[1]->results[1]);
    b->region = outer[0];
    RETURN(b, &loops[0]->results[1]);
    assert_true(apply(b, tn_pass_hoist));
    assert_ptr_equal(same->op->region, &b->function->body);
    assert_ptr_equal(other->op->region, &loops[1]->regions[1]);
}

/* --- schedule --- */

static uint32_t place_of(const tn_op *op)
{
    uint32_t n = 0;
    for (; op->prev; op = op->prev) n++;
    return n;
}

PASS_TEST(tiny_ops_come_early_and_in_order)
{
    begin_function(b, "main", PARAMS("1000xi32", "i32", "i32"));
    tn_value *args = b->region->args;
    tn_value *x = unary(b, TN_OP_negate, &args[0]), *large = unary(b, TN_OP_not, x);
    tn_value *p = binary(b, TN_OP_add, &args[1], &args[2]);
    tn_value *y = unary(b, TN_OP_negate, large);
    tn_value *q = binary(b, TN_OP_subtract, &args[1], &args[2]),
             *r = binary(b, TN_OP_multiply, p, q);
    tn_value *s = unary(b, TN_OP_negate, r);
    RETURN(b, binary(b, TN_OP_add, y, repeated(b, r, "1000xi32")), s);
    assert_true(apply(b, tn_pass_schedule));
    assert_int_equal(place_of(p->op), 0);
    assert_int_equal(place_of(q->op), 1);
    assert_int_equal(place_of(r->op), 2);
    assert_int_equal(place_of(x->op), 3);
    assert_true(place_of(s->op) > place_of(y->op)); /* nobody waits for it */
    assert_false(apply(b, tn_pass_schedule));
}

PASS_TEST(splats_are_made_right_before_their_first_use)
{
    begin_function(b, "main", PARAMS("1000xi32", "i1"));
    tn_value *args = b->region->args, *zero = i32(b, "1000xi32", 0), *one = i32(b, "1000xi32", 1);
    tn_value *x = reverse(b, &args[0]), *y = reverse(b, x);
    tn_op *op =
        control(b, TN_OP_if, 1, (tn_value *[]){&args[1]}, 1, (const tn_type *[]){x->type}, 2);
    tn_region *outer = b->region;
    begin_region(b, op, 0);
    RETURN(b, zero);
    begin_region(b, op, 1);
    RETURN(b, y);
    b->region = outer;
    RETURN(b, binary(b, TN_OP_add, &op->results[0], one), binary(b, TN_OP_xor, zero, one));
    assert_true(apply(b, tn_pass_schedule));
    assert_ptr_equal(zero->op->next, op);
    assert_int_equal(one->op->next->kind, TN_OP_add);
    assert_ptr_equal(x->op, b->function->body.first);
}

/* --- chains --- */

/* What is done to 30 arrays step by step; `twice` lets somebody else want the first steps. */
static void steps_over_arrays(builder *b, tn_value **out, bool twice)
{
    enum { N = 30 };
    begin_function(b, "main", PARAMS("1000xi32"));
    tn_value *x = &b->region->args[0], *a[N], *c[N], *r[2 * N];
    for (int i = 0; i < N; i++) a[i] = binary(b, TN_OP_add, x, i32(b, "1000xi32", i));
    for (int i = 0; i < N; i++) c[i] = binary(b, TN_OP_multiply, a[i], a[i]);
    for (int i = 0; i < N; i++) r[i] = binary(b, TN_OP_xor, c[i], x);
    for (int i = 0; i < N; i++) r[N + i] = twice ? reverse(b, a[i]) : x;
    end_region(b, 2 * N, r);
    out[0] = a[3];
    out[1] = c[3];
    out[2] = r[3];
}

PASS_TEST(steps_of_one_array_come_together)
{
    tn_value *v[3];
    steps_over_arrays(b, v, false);
    assert_true(apply(b, tn_pass_chains));
    assert_ptr_equal(v[0]->op->next, v[1]->op);
    assert_ptr_equal(v[1]->op->next, v[2]->op);
    assert_false(apply(b, tn_pass_chains));
}

PASS_TEST(steps_for_several_ops_stay)
{
    tn_value *v[3];
    steps_over_arrays(b, v, true);
    int place = place_of(v[0]->op);
    assert_true(apply(b, tn_pass_chains)); /* from a[i] on */
    assert_int_equal(place_of(v[0]->op), place);
    assert_ptr_equal(v[1]->op->next, v[2]->op);
}

/* --- one_window --- */

/* x.at[r:r+2, 1:3].subtract(u), as the body's first argument minus the second, or turned round. */
static void scatter_at(builder *b, int32_t r, bool turned)
{
    begin_function(b, "main", PARAMS("4x5xi32", "2x2xi32"));
    int32_t place[2] = {r, 1};
    tn_value *x = &b->region->args[0], *u = &b->region->args[1];
    tn_value *v[3] = {x, constant(b, "2xi32", place), u};
    tn_op *op = control(b, TN_OP_scatter, 3, v, 1, (const tn_type *[]){x->type}, 1);
    const int64_t both[2] = {0, 1};
    tn_op_set_attr(b->module, op, TN_ATTR_update_window_dims, tn_attr_ints(b->arena, both, 2));
    tn_op_set_attr(b->module, op, TN_ATTR_scatter_dims_to_operand_dims,
                   tn_attr_ints(b->arena, both, 2));
    static const tn_attr_name none[] = {TN_ATTR_input_batching_dims, TN_ATTR_inserted_window_dims,
                                        TN_ATTR_scatter_indices_batching_dims};
    static const tn_attr_name no[] = {TN_ATTR_indices_are_sorted, TN_ATTR_unique_indices};
    for (int i = 0; i < 3; i++)
        tn_op_set_attr(b->module, op, none[i], tn_attr_ints(b->arena, both, 0));
    for (int i = 0; i < 2; i++) tn_op_set_attr(b->module, op, no[i], tn_attr_bool(b->arena, false));
    tn_op_set_attr(b->module, op, TN_ATTR_index_vector_dim, tn_attr_int(b->arena, 0));
    tn_region *outer = b->region;
    tn_region *body = b->region = &op->regions[0];
    tn_region_init(b->module, body, b->function, op, 2);
    for (int i = 0; i < 2; i++) body->args[i].type = type_of(b, "i32");
    RETURN(b, binary(b, TN_OP_subtract, &body->args[turned], &body->args[!turned]));
    b->region = outer;
    RETURN(b, &op->results[0]);
}

PASS_TEST(scatters_of_one_window_become_updates)
{
    scatter_at(b, 2, true);
    assert_true(apply(b, tn_pass_one_window));
    const tn_op *update = returned(b, 0)->op;
    assert_int_equal(update->kind, TN_OP_dynamic_update_slice);
    const tn_op *combined = update->operands[1]->op;
    assert_int_equal(combined->kind, TN_OP_subtract);
    assert_ptr_equal(combined->operands[0], &b->function->body.args[1]);
    assert_int_equal(combined->operands[1]->op->kind, TN_OP_slice);
    int64_t start;
    assert_true(tn_constant_integer(update->operands[2], &start));
    assert_int_equal(start, 2);
}

PASS_TEST(windows_that_do_not_fit_stay_scatters)
{
    scatter_at(b, 3, false);
    assert_false(apply(b, tn_pass_one_window));
}

/* --- taken --- */

/* One element of each row of x - broadcast(m), where m is of rows or of columns; x is 6x40. */
static void gather_of_difference(builder *b, bool of_rows, bool wanted)
{
    begin_function(b, "main", PARAMS("6x40xf32", "6x1xi32", of_rows ? "6x1xf32" : "40xf32"));
    tn_value *x = &b->region->args[0], *i = &b->region->args[1], *m = &b->region->args[2];
    tn_op *wide = add_op(b, TN_OP_broadcast_in_dim, 1, &m, 1, 0);
    wide->results[0].type = x->type;
    const int64_t none = 0, one = 1, both[] = {0, 1}, sizes[] = {1, 1};
    tn_op_set_attr(b->module, wide, TN_ATTR_broadcast_dimensions,
                   tn_attr_ints(b->arena, of_rows ? both : &one, of_rows ? 2 : 1));
    tn_value *d = binary(b, TN_OP_subtract, x, &wide->results[0]);
    tn_op *g = add_op(b, TN_OP_gather, 2, (tn_value *[]){d, i}, 1, 0);
    g->results[0].type = type_of(b, "6xf32");
    tn_op_set_attr(b->module, g, TN_ATTR_offset_dims, tn_attr_ints(b->arena, NULL, 0));
    tn_op_set_attr(b->module, g, TN_ATTR_collapsed_slice_dims, tn_attr_ints(b->arena, &one, 1));
    tn_op_set_attr(b->module, g, TN_ATTR_operand_batching_dims, tn_attr_ints(b->arena, &none, 1));
    tn_op_set_attr(b->module, g, TN_ATTR_start_indices_batching_dims,
                   tn_attr_ints(b->arena, &none, 1));
    tn_op_set_attr(b->module, g, TN_ATTR_start_index_map, tn_attr_ints(b->arena, &one, 1));
    tn_op_set_attr(b->module, g, TN_ATTR_index_vector_dim, tn_attr_int(b->arena, 1));
    tn_op_set_attr(b->module, g, TN_ATTR_slice_sizes, tn_attr_ints(b->arena, sizes, 2));
    tn_op_set_attr(b->module, g, TN_ATTR_indices_are_sorted, tn_attr_bool(b->arena, false));
    if (wanted) RETURN(b, &g->results[0], d);
    else RETURN(b, &g->results[0]);
}

PASS_TEST(a_difference_is_taken_where_it_is_gathered)
{
    gather_of_difference(b, true, false);
    assert_true(apply(b, tn_pass_taken));
    const tn_op *d = returned(b, 0)->op;
    assert_int_equal(d->kind, TN_OP_subtract);
    assert_true(tn_type_equal(d->results[0].type, type_of(b, "6xf32")));
    const tn_op *g = d->operands[0]->op, *m = d->operands[1]->op;
    assert_int_equal(g->kind, TN_OP_gather);
    assert_ptr_equal(g->operands[0], &b->function->body.args[0]);
    assert_ptr_equal(g->operands[1], &b->function->body.args[1]);
    assert_int_equal(m->kind, TN_OP_broadcast_in_dim);
    assert_int_equal(m->operands[0]->op->kind, TN_OP_reshape);
    assert_ptr_equal(m->operands[0]->op->operands[0], &b->function->body.args[2]);
}

PASS_TEST(what_varies_along_the_index_stays_gathered)
{
    gather_of_difference(b, false, false);
    assert_false(apply(b, tn_pass_taken));
}

PASS_TEST(what_is_wanted_as_a_whole_stays_gathered)
{
    gather_of_difference(b, true, true);
    assert_false(apply(b, tn_pass_taken));
}

/* --- unwanted --- */

static tn_op *singular_values(builder *b, bool with_vectors)
{
    begin_function(b, "main", PARAMS("4x4xf32"));
    tn_value *x = &b->region->args[0];
    tn_op *op = add_op(b, TN_OP_custom_call, 1, &x, 5, 0);
    for (uint32_t i = 0; i < 4; i++) op->results[i].type = type_of(b, i == 1 ? "4xf32" : "4x4xf32");
    op->results[4].type = type_of(b, "i32");
    tn_op_set_attr(b->module, op, TN_ATTR_call_target_name,
                   tn_attr_string(b->arena, "lapack_sgesdd_ffi", 17));
    tn_named_attr *mode = TN_NEW(b->arena, tn_named_attr), *extra = TN_NEW(b->arena, tn_named_attr);
    *mode = (tn_named_attr){"mode", tn_attr_int(b->arena, 'A')};
    tn_attr *config = TN_NEW(b->arena, tn_attr);
    *config = (tn_attr){.kind = TN_ATTR_KIND_DICT, .dict = {mode, 1}};
    *extra = (tn_named_attr){"mhlo.backend_config", config};
    op->extra = extra;
    op->n_extra = 1;
    if (with_vectors) RETURN(b, &op->results[1], &op->results[3]);
    else RETURN(b, &op->results[1]);
    return op;
}

static int64_t config_of(const tn_op *op, const char *key)
{
    const tn_attr *v = tn_attr_get(tn_op_extra(op, "mhlo.backend_config"), key);
    return v ? v->integer : -1;
}

/* Not through apply, as the verifier looks for LAPACK. */
static bool without_unwanted(builder *b)
{
    bool changed = false;
    MUST(tn_pass_unwanted(b->module, &changed));
    return changed;
}

PASS_TEST(vectors_that_nobody_reads_are_not_asked_for)
{
    tn_op *op = singular_values(b, false);
    assert_true(without_unwanted(b));
    assert_int_equal(config_of(op, "mode"), 'N');
    assert_int_equal(config_of(op, "tenon.unwanted"), 1 << 0 | 1 << 2 | 1 << 3 | 1 << 4);
    assert_false(without_unwanted(b));
}

PASS_TEST(vectors_of_one_side_are_asked_for_with_the_other)
{
    tn_op *op = singular_values(b, true);
    assert_true(without_unwanted(b));
    assert_int_equal(config_of(op, "mode"), 'A');
    assert_int_equal(config_of(op, "tenon.unwanted"), 1 << 0 | 1 << 2 | 1 << 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shardings_and_casts_on_one_device_say_nothing),
        cmocka_unit_test(deprecated_ops_become_their_successors),
        cmocka_unit_test(passes_look_at_what_earlier_ones_made),
        cmocka_unit_test(elements_of_tuples_are_what_was_put_in),
        cmocka_unit_test(collectives_of_one_device_are_their_operand),
        cmocka_unit_test(collectives_of_several_devices_stay),
        cmocka_unit_test(sharding_over_one_partition_says_nothing),
        cmocka_unit_test(sharding_over_several_partitions_is_refused),
        cmocka_unit_test(what_is_whole_on_every_partition_runs),
        cmocka_unit_test(constants_are_computed),
        cmocka_unit_test(splats_stay_splats_however_large),
        cmocka_unit_test(large_constants_are_not_computed),
        cmocka_unit_test(random_numbers_are_not_computed),
        cmocka_unit_test(equal_ops_become_one),
        cmocka_unit_test(barriers_are_not_joined),
        cmocka_unit_test(regions_see_only_what_is_around_them),
        cmocka_unit_test(reductions_with_equal_bodies_become_one),
        cmocka_unit_test(reductions_are_of_dimensions_next_to_each_other),
        cmocka_unit_test(what_nobody_wants_is_removed),
        cmocka_unit_test(carried_values_that_only_feed_themselves_are_removed),
        cmocka_unit_test(results_of_branches_that_nobody_wants_are_removed),
        cmocka_unit_test(tiny_ops_come_early_and_in_order),
        cmocka_unit_test(splats_are_made_right_before_their_first_use),
        cmocka_unit_test(steps_of_one_array_come_together),
        cmocka_unit_test(steps_for_several_ops_stay),
        cmocka_unit_test(scatters_of_one_window_become_updates),
        cmocka_unit_test(windows_that_do_not_fit_stay_scatters),
        cmocka_unit_test(a_difference_is_taken_where_it_is_gathered),
        cmocka_unit_test(what_varies_along_the_index_stays_gathered),
        cmocka_unit_test(what_is_wanted_as_a_whole_stays_gathered),
        cmocka_unit_test(vectors_that_nobody_reads_are_not_asked_for),
        cmocka_unit_test(vectors_of_one_side_are_asked_for_with_the_other),
        cmocka_unit_test(what_is_the_same_in_every_iteration_leaves_all_loops),
        cmocka_unit_test(large_broadcasts_stay_in_loops),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
