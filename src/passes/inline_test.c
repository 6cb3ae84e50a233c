/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/build_test.h"

static tn_value *call(builder *b, const char *name, tn_value *x)
{
    tn_op *op = add_op(b, TN_OP_call, 1, &x, 1, 0);
    op->results[0].type = x->type;
    tn_op_set_attr(b->module, op, TN_ATTR_callee, tn_attr_string(b->arena, name, strlen(name)));
    return &op->results[0];
}

/* name(x) = -callee(x), or -x without one. */
static void negating(builder *b, const char *name, const char *callee)
{
    begin_function(b, name, PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, unary(b, TN_OP_negate, callee ? call(b, callee, x) : x));
}

PASS_TEST(calls_are_replaced_by_bodies)
{
    negating(b, "f", NULL);
    negating(b, "g", "f");
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, call(b, "g", x), call(b, "f", x));
    assert_true(apply(b, tn_pass_inline));
    assert_int_equal(count_ops(b, TN_OP_call), 0);
    assert_int_equal(count_ops(b, TN_OP_negate), 3);
    assert_ptr_equal(b->module->functions, b->module->main);
    assert_null(b->module->functions->next);
    /* g(x) = -(-x) */
    assert_ptr_equal(returned(b, 0)->op->operands[0]->op->operands[0], x);
    assert_ptr_equal(returned(b, 1)->op->operands[0], x);
    assert_ptr_not_equal(returned(b, 1)->op, returned(b, 0)->op->operands[0]->op);
}

PASS_TEST(a_function_that_returns_its_argument_leaves_nothing)
{
    begin_function(b, "f", PARAMS("4xi32"));
    RETURN(b, &b->region->args[0]);
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, call(b, "f", call(b, "f", x)));
    apply(b, tn_pass_inline);
    assert_ptr_equal(returned(b, 0), x);
    assert_ptr_equal(b->module->main->body.first, b->module->main->body.last);
}

PASS_TEST(calls_in_regions_are_replaced_too)
{
    negating(b, "f", NULL);
    begin_function(b, "main", PARAMS("4xi32", "i1"));
    tn_value *x = &b->region->args[0];
    tn_op *op = control(b, TN_OP_if, 1, (tn_value *[]){&b->region->args[1]}, 1,
                        (const tn_type *[]){x->type}, 2);
    tn_region *outer = b->region;
    begin_region(b, op, 0);
    RETURN(b, call(b, "f", x));
    begin_region(b, op, 1);
    RETURN(b, x);
    b->region = outer;
    RETURN(b, &op->results[0]);
    apply(b, tn_pass_inline);
    assert_int_equal(count_in(&op->regions[0], TN_OP_negate), 1);
    assert_ptr_equal(op->regions[0].first->region, &op->regions[0]);
}

PASS_TEST(a_composite_is_its_decomposition)
{
    negating(b, "f", NULL);
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    tn_op *op = add_op(b, TN_OP_composite, 1, &x, 1, 0);
    op->results[0].type = x->type;
    tn_op_set_attr(b->module, op, TN_ATTR_decomposition, tn_attr_string(b->arena, "f", 1));
    tn_op_set_attr(b->module, op, TN_ATTR_name, tn_attr_string(b->arena, "my.negate", 9));
    RETURN(b, &op->results[0]);
    apply(b, tn_pass_inline);
    assert_int_equal(returned(b, 0)->op->kind, TN_OP_negate);
}

PASS_TEST(recursion_is_refused)
{
    negating(b, "f", "g");
    negating(b, "g", "f");
    begin_function(b, "main", PARAMS("4xi32"));
    RETURN(b, call(b, "f", &b->region->args[0]));
    expect_refused(b, tn_pass_inline, TN_INVALID_ARGUMENT, "calls itself");
}

PASS_TEST(a_missing_function_is_named)
{
    begin_function(b, "main", PARAMS("4xi32"));
    RETURN(b, call(b, "nowhere", &b->region->args[0]));
    expect_refused(b, tn_pass_inline, TN_INVALID_ARGUMENT, "@nowhere");
}

/* 2^40 ops by 40 functions that call the next one twice. */
PASS_TEST(explosive_programs_are_refused)
{
    char name[16], callee[16];
    negating(b, "f40", NULL);
    for (int i = 39; i >= 0; i--) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(callee, sizeof callee, "f%d", i + 1);
        begin_function(b, tn_strdup(b->arena, name), PARAMS("4xi32"));
        RETURN(b, call(b, tn_strdup(b->arena, callee),
                       call(b, tn_strdup(b->arena, callee), &b->region->args[0])));
    }
    begin_function(b, "main", PARAMS("4xi32"));
    RETURN(b, call(b, "f0", &b->region->args[0]));
    expect_refused(b, tn_pass_inline, TN_RESOURCE_EXHAUSTED, "expand the program");
}

/* Every function is called once, so each body is moved and none copied. */
PASS_TEST(long_chains_of_calls_are_moved)
{
    enum { N = 20000 };
    char name[16], callee[16];
    negating(b, "f20000", NULL);
    for (int i = N - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(callee, sizeof callee, "f%d", i + 1);
        negating(b, tn_strdup(b->arena, name), tn_strdup(b->arena, callee));
    }
    begin_function(b, "main", PARAMS("4xi32"));
    RETURN(b, call(b, "f0", &b->region->args[0]));
    size_t before = tn_arena_bytes(b->arena);
    bool changed = false;
    b->module->main = b->function;
    MUST(tn_pass_inline(b->module, &changed));
    assert_true(tn_arena_bytes(b->arena) - before < N * 400);
    assert_int_equal(count_ops(b, TN_OP_negate), N + 1);
}

PASS_TEST(named_computations_are_opened)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    tn_op *op = control(b, TN_OP_sdy_named_computation, 1, &x, 1, (const tn_type *[]){x->type}, 1);
    tn_op_set_attr(b->module, op, TN_ATTR_name, tn_attr_string(b->arena, "block", 5));
    tn_region *outer = b->region;
    tn_region_init(b->module, &op->regions[0], b->function, op, 1);
    op->regions[0].args[0].type = x->type;
    b->region = &op->regions[0];
    RETURN(b, unary(b, TN_OP_negate, &op->regions[0].args[0]));
    b->region = outer;
    RETURN(b, &op->results[0]);
    apply(b, tn_pass_inline);
    assert_int_equal(count_ops(b, TN_OP_sdy_named_computation), 0);
    assert_ptr_equal(returned(b, 0)->op->operands[0], x);
    assert_ptr_equal(returned(b, 0)->op->region, &b->module->main->body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_replaced_by_bodies),
        cmocka_unit_test(a_function_that_returns_its_argument_leaves_nothing),
        cmocka_unit_test(calls_in_regions_are_replaced_too),
        cmocka_unit_test(a_composite_is_its_decomposition),
        cmocka_unit_test(recursion_is_refused),
        cmocka_unit_test(a_missing_function_is_named),
        cmocka_unit_test(explosive_programs_are_refused),
        cmocka_unit_test(long_chains_of_calls_are_moved),
        cmocka_unit_test(named_computations_are_opened),
    };
    return cmocka_run_group_tests_name("passes-inline", tests, NULL, NULL);
}
