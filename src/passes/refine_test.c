/* SPDX-License-Identifier: Apache-2.0 */
/* refine: what becomes of ops and types, and what is cut off. Values are tested where programs run
 * (executable/sizes_test.c). */
#include "passes/build_test.h"
#include "passes/refine.h"
#include "reader/reader.h"

/* Reads a program and refines it for arguments of these types ("3xf32"). */
static tn_status *refined(builder *b, const char *text, const char *const *params, tn_refinement *r)
{
    MUST(tn_read_text(text, strlen(text), b->arena, &b->module));
    MUST(tn_module_verify(b->module));
    uint32_t n = b->module->main->body.n_args;
    const tn_type **types = TN_NEW_ARRAY(b->arena, const tn_type *, n);
    for (uint32_t i = 0; i < n; i++) types[i] = type_of(b, params[i]);
    r->params = types;
    b->module->refinement = r;
    bool changed = false;
    return tn_pass_refine(b->module, &changed);
}

PASS_TEST(sizes_of_arguments_become_constants_and_types)
{
    tn_refinement r = {0};
    MUST(refined(b,
                 "func.func @main(%x: tensor<?x2xf32>) -> (tensor<?xf32>, tensor<i32>) {\n"
                 "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> "
                 "tensor<i32>\n"
                 "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
                 "  %m = stablehlo.multiply %n, %two : tensor<i32>\n"
                 "  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
                 "  %y = stablehlo.dynamic_reshape %x, %s : (tensor<?x2xf32>, tensor<1xi32>) -> "
                 "tensor<?xf32>\n"
                 "  return %y, %m : tensor<?xf32>, tensor<i32>\n"
                 "}\n",
                 PARAMS("3x2xf32"), &r));
    assert_false(r.is_stage);
    assert_int_equal(count_ops(b, TN_OP_get_dimension_size), 0);
    assert_int_equal(count_ops(b, TN_OP_multiply), 0);
    assert_int_equal(returned(b, 0)->type->dims[0], 6);
    assert_int_equal(returned(b, 1)->op->kind, TN_OP_constant);
    assert_true(tn_module_is_sized(b->module));
    const tn_type *signature = b->module->main->type;
    assert_int_equal(signature->parts[0]->dims[0], 3);
    assert_int_equal(signature->parts[1]->dims[0], 6);
}

/* The stage asks for the argument that sizes are made from, not for the sizes, and takes no other.
 */
static const char by_value[] =
    "func.func @main(%x: tensor<?xf32>, %n: tensor<i64>) -> (tensor<?xf32>, tensor<?x?xf32>) {\n"
    "  %c = stablehlo.convert %n : (tensor<i64>) -> tensor<i32>\n"
    "  %s = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>\n"
    "  %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
    "  %t = stablehlo.concatenate %s, %s, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> "
    "tensor<2xi32>\n"
    "  %z = stablehlo.dynamic_iota %t, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>\n"
    "  return %y, %z : tensor<?xf32>, tensor<?x?xf32>\n"
    "}\n";

PASS_TEST(a_stage_returns_the_values_that_sizes_are_made_from)
{
    tn_refinement r = {0};
    MUST(refined(b, by_value, PARAMS("3xf32", "i64"), &r));
    assert_true(r.is_stage);
    assert_int_equal(r.n_taken, 1);
    assert_int_equal(r.taken[0], 1);
    const tn_function *f = b->module->main;
    assert_int_equal(f->body.n_args, 1);
    assert_ptr_equal(f->body.first, f->body.last);
    assert_int_equal(f->body.last->n_operands, 1);
    assert_ptr_equal(f->body.last->operands[0], &f->body.args[0]);
    MUST(tn_module_verify(b->module));
}

PASS_TEST(what_a_stage_gave_makes_the_program_static)
{
    const int64_t n = 4;
    tn_refinement r = {.values = &n, .size = sizeof n};
    MUST(refined(b, by_value, PARAMS("3xf32", "i64"), &r));
    assert_false(r.is_stage);
    assert_int_equal(returned(b, 0)->type->dims[0], 4);
    assert_int_equal(returned(b, 1)->type->dims[1], 4);
    assert_true(tn_module_is_sized(b->module));
    MUST(tn_module_verify(b->module));
}

PASS_TEST(dynamic_ops_become_static_ones)
{
    tn_refinement r = {0};
    MUST(refined(b,
                 "func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {\n"
                 "  %f = stablehlo.constant dense<0.0> : tensor<f32>\n"
                 "  %one = stablehlo.constant dense<1> : tensor<1xi64>\n"
                 "  %three = stablehlo.constant dense<3> : tensor<1xi64>\n"
                 "  %y = stablehlo.dynamic_pad %x, %f, %one, %one, %one : (tensor<?xf32>, "
                 "tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n"
                 "  %z = stablehlo.real_dynamic_slice %x, %one, %three, %one : (tensor<?xf32>, "
                 "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>\n"
                 "  return %y, %z : tensor<?xf32>, tensor<?xf32>\n"
                 "}\n",
                 PARAMS("3xf32"), &r));
    assert_int_equal(returned(b, 0)->op->kind, TN_OP_pad);
    assert_int_equal(returned(b, 0)->type->dims[0], 7);
    assert_int_equal(returned(b, 1)->op->kind, TN_OP_slice);
    assert_int_equal(returned(b, 1)->type->dims[0], 2);
}

PASS_TEST(known_branches_take_the_place_of_their_op)
{
    tn_refinement r = {0};
    MUST(refined(b,
                 "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                 "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> "
                 "tensor<i32>\n"
                 "  %y = \"stablehlo.case\"(%n) ({\n"
                 "    stablehlo.return %x : tensor<?xf32>\n"
                 "  }, {\n"
                 "    %z = stablehlo.negate %x : tensor<?xf32>\n"
                 "    stablehlo.return %z : tensor<?xf32>\n"
                 "  }) : (tensor<i32>) -> tensor<?xf32>\n"
                 "  return %y : tensor<?xf32>\n"
                 "}\n",
                 PARAMS("1xf32"), &r));
    assert_int_equal(count_ops(b, TN_OP_case), 0);
    assert_int_equal(returned(b, 0)->op->kind, TN_OP_negate);
}

PASS_TEST(a_module_may_be_copied_without_being_changed)
{
    tn_refinement r = {0};
    MUST(tn_read_text(by_value, strlen(by_value), b->arena, &b->module));
    size_t before, after;
    char *text = tn_module_print(b->module, b->arena, &before);
    builder copy = {.arena = b->arena, .module = tn_module_copy(b->module, b->arena)};
    assert_string_equal(tn_module_print(copy.module, b->arena, &after), text);
    r.params = (const tn_type *[]){type_of(b, "3xf32"), type_of(b, "i64")};
    copy.module->refinement = &r;
    bool changed = false;
    MUST(tn_pass_refine(copy.module, &changed));
    assert_string_equal(tn_module_print(b->module, b->arena, &after), text);
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_arguments_become_constants_and_types),
        cmocka_unit_test(a_stage_returns_the_values_that_sizes_are_made_from),
        cmocka_unit_test(what_a_stage_gave_makes_the_program_static),
        cmocka_unit_test(dynamic_ops_become_static_ones),
        cmocka_unit_test(known_branches_take_the_place_of_their_op),
        cmocka_unit_test(a_module_may_be_copied_without_being_changed),
    };
    return cmocka_run_group_tests_name("passes-refine", tests, NULL, NULL);
}
