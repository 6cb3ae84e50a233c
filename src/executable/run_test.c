/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/program_test.h"

static void build_reverse(builder *b, void *ctx)
{
    begin_function(b, "main", PARAMS("4xi32"));
    tn_value *x = &b->region->args[0];
    RETURN(b, reverse(b, x), reshape(b, x, "2x2xi32"), x);
}

static void results_are_computed_and_copied(void **state)
{
    tn_executable *e;
    MUST(compile_program(build_reverse, NULL, true, 0, &e));
    int32_t in[4] = {1, 2, 3, 4}, a[4], b[4], c[4];
    MUST(run_executable(e, (void *[]){in}, (void *[]){a, b, c}));
    assert_memory_equal(a, ((int32_t[]){4, 3, 2, 1}), sizeof a);
    assert_memory_equal(b, in, sizeof b);
    assert_memory_equal(c, in, sizeof c);
    assert_int_equal(tn_executable_get_info(e)->temp_bytes, 0);
    tn_executable_release(e);
}

static void a_foreign_format_is_refused(void **state)
{
    tn_executable *e;
    tn_status *s = tn_compile("x", 1, "hlo", 3, NULL, &e);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    tn_status_free(s);
}

static void text_is_compiled(void **state)
{
    static const char text[] = "func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {\n"
                               "  %0 = stablehlo.multiply %a, %a : tensor<4xi32>\n"
                               "  return %0 : tensor<4xi32>\n}\n";
    static const char bad[] = "module {\n  func.func @main(%a: tensor<4xi32>) { retur }\n}\n";
    tn_executable *e;
    MUST(tn_compile(text, sizeof text - 1, "mlir", 4, NULL, &e));
    int32_t in[4] = {1, 2, 3, 4}, out[4];
    MUST(run_executable(e, (void *[]){in}, (void *[]){out}));
    assert_memory_equal(out, ((int32_t[]){1, 4, 9, 16}), sizeof out);
    tn_executable_release(e);
    tn_status *s = tn_compile(bad, sizeof bad - 1, "mlir", 4, NULL, &e);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_string_equal(tn_status_message(s), "2:40: expected an op, found 'retur'");
    tn_status_free(s);
    s = tn_compile("module {}", 9, "mlir", 4, NULL, &e);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    tn_status_free(s);
}

/* Two elements that are laid out over two registers: each its own. */
static void scalars_of_one_group_are_told_apart(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<2xui32>, %x: tensor<2xui32>, %y: tensor<2xui32>)"
        " -> (tensor<2xui32>, tensor<2xui32>) {\n"
        "  %1 = stablehlo.slice %a [0:1] : (tensor<2xui32>) -> tensor<1xui32>\n"
        "  %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>\n"
        "  %3 = stablehlo.slice %a [1:2] : (tensor<2xui32>) -> tensor<1xui32>\n"
        "  %4 = stablehlo.reshape %3 : (tensor<1xui32>) -> tensor<ui32>\n"
        "  %5 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<2xui32>\n"
        "  %6 = stablehlo.add %x, %5 : tensor<2xui32>\n"
        "  %7 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<ui32>) -> tensor<2xui32>\n"
        "  %8 = stablehlo.add %y, %7 : tensor<2xui32>\n"
        "  return %6, %8 : tensor<2xui32>, tensor<2xui32>\n}\n";
    tn_executable *e;
    MUST(tn_compile(text, sizeof text - 1, "mlir", 4, NULL, &e));
    uint32_t in[2] = {10, 20}, x[2] = {0, 1}, y[2] = {2, 3}, a[2], b[2];
    MUST(run_executable(e, (void *[]){in, x, y}, (void *[]){a, b}));
    assert_memory_equal(a, ((uint32_t[]){10, 11}), sizeof a);
    assert_memory_equal(b, ((uint32_t[]){22, 23}), sizeof b);
    tn_executable_release(e);
}

static bool after_a_thousand_turns(const void *arg)
{
    int *turns = (int *)arg;
    return ++*turns > 1000;
}

static void a_loop_without_end_can_be_cancelled(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<i32>) -> tensor<i32> {\n"
        "  %0 = stablehlo.while(%i = %a) : tensor<i32>\n"
        "    cond {\n"
        "      %1 = stablehlo.compare GE, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      stablehlo.return %1 : tensor<i1>\n"
        "    } do {\n"
        "      %2 = stablehlo.xor %i, %a : tensor<i32>\n"
        "      stablehlo.return %2 : tensor<i32>\n"
        "    }\n"
        "  return %0 : tensor<i32>\n}\n";
    tn_executable *e;
    MUST(tn_compile(text, sizeof text - 1, "mlir", 4, NULL, &e));
    int32_t in = 3, out;
    int turns = 0;
    void *temp = aligned_alloc(64, tn_executable_get_info(e)->temp_bytes + 64);
    tn_run run = {.args = (void *[]){&in},
                  .results = (void *[]){&out},
                  .temp = temp,
                  .is_cancelled = after_a_thousand_turns,
                  .cancel_arg = &turns};
    tn_status *s = tn_executable_run(e, &run);
    assert_int_equal(tn_status_code(s), TN_CANCELLED);
    assert_non_null(strstr(tn_status_message(s), "stablehlo.while"));
    tn_status_free(s);
    free(temp);
    tn_executable_release(e);
}

static void the_same_program_is_compiled_once_while_it_lives(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<i32>) -> tensor<i32> {\n return %a : tensor<i32>\n}\n";
    static const char other[] =
        "func.func @main(%b: tensor<i32>) -> tensor<i32> {\n return %b : tensor<i32>\n}\n";
    tn_executable *a, *b, *c;
    MUST(tn_compile(text, sizeof text - 1, "mlir", 4, NULL, &a));
    MUST(tn_compile(text, sizeof text - 1, "mlir", 4, NULL, &b));
    MUST(tn_compile(other, sizeof other - 1, "mlir", 4, NULL, &c));
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    tn_executable_release(a);
    int32_t in = 7, out = 0;
    MUST(run_executable(b, (void *[]){&in}, (void *[]){&out}));
    assert_int_equal(out, 7);
    tn_executable_release(b);
    tn_executable_release(c);
    MUST(tn_compile(text, sizeof text - 1, "mlir", 4, NULL, &a));
    MUST(run_executable(a, (void *[]){&in}, (void *[]){&out}));
    tn_executable_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_computed_and_copied),
        cmocka_unit_test(a_foreign_format_is_refused),
        cmocka_unit_test(text_is_compiled),
        cmocka_unit_test(scalars_of_one_group_are_told_apart),
        cmocka_unit_test(a_loop_without_end_can_be_cancelled),
        cmocka_unit_test(the_same_program_is_compiled_once_while_it_lives),
    };
    return cmocka_run_group_tests_name("executable-run", tests, NULL, NULL);
}
