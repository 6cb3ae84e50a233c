/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with tuples in their signature, in control flow and in tuples. */
#include "executable/compile_options.h"
#include "executable/program_test.h"

static tn_executable *compile_text(const char *text)
{
    tn_compile_options *options;
    tn_executable *e = NULL;
    assert_null(tn_compile_options_decode(NULL, 0, &options));
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, &e);
    tn_compile_options_free(options);
    if (s) fail_msg("%s", tn_status_message(s));
    return e;
}

/* Parameters are f32 scalars 1, 2, ..., of which there are n; results are f32 scalars. */
static void run(const char *text, uint32_t n, uint32_t n_results, const float *want)
{
    tn_executable *e = compile_text(text);
    const tn_executable_info *info = tn_executable_get_info(e);
    assert_int_equal(info->n_params, n);
    assert_int_equal(info->n_results, n_results);
    _Alignas(64) float in[8][16], out[8][16];
    void *args[8], *results[8];
    for (uint32_t i = 0; i < n; i++) args[i] = in[i], in[i][0] = (float)i + 1;
    for (uint32_t i = 0; i < n_results; i++) results[i] = out[i];
    assert_null(run_executable(e, args, results));
    for (uint32_t i = 0; i < n_results; i++)
        if (out[i][0] != want[i])
            fail_msg("result %u is %g, expected %g", i, (double)out[i][0], (double)want[i]);
    tn_executable_release(e);
}

#define PAIR "tuple<tensor<f32>, tensor<f32>>"

static void parameters_and_results_are_leaves(void **state)
{
    run("func.func @main(%t: tuple<tensor<f32>, " PAIR ">, %x: tensor<f32>) -> (" PAIR
        ", tensor<f32>) {\n"
        "%a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, " PAIR ">) -> tensor<f32>\n"
        "%p = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, " PAIR ">) -> " PAIR "\n"
        "%b = stablehlo.get_tuple_element %p[1] : (" PAIR ") -> tensor<f32>\n"
        "%s = stablehlo.subtract %x, %a : tensor<f32>\n"
        "%r = stablehlo.tuple %b, %s : " PAIR "\n"
        "return %r, %a : " PAIR ", tensor<f32>\n}",
        4, 3, (float[]){3, 3, 1});
}

static void loops_carry_leaves(void **state)
{
    run("func.func @main(%t: " PAIR ") -> " PAIR " {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%o = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "%n = stablehlo.constant dense<3.0> : tensor<f32>\n"
        "%r:2 = stablehlo.while(%i = %z, %v = %t) : tensor<f32>, " PAIR " cond {\n"
        "%c = stablehlo.compare LT, %i, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n} do {\n"
        "%k = stablehlo.add %i, %o : tensor<f32>\n"
        "%a = stablehlo.get_tuple_element %v[0] : (" PAIR ") -> tensor<f32>\n"
        "%b = stablehlo.get_tuple_element %v[1] : (" PAIR ") -> tensor<f32>\n"
        "%s = stablehlo.add %a, %b : tensor<f32>\n"
        "%w = stablehlo.tuple %b, %s : " PAIR "\n"
        "stablehlo.return %k, %w : tensor<f32>, " PAIR "\n}\n"
        "return %r#1 : " PAIR "\n}",
        2, 2, (float[]){5, 8});
}

static void branches_calls_and_barriers_give_leaves(void **state)
{
    run("func.func private @swap(%t: " PAIR ") -> " PAIR " {\n"
        "%a = stablehlo.get_tuple_element %t[0] : (" PAIR ") -> tensor<f32>\n"
        "%b = stablehlo.get_tuple_element %t[1] : (" PAIR ") -> tensor<f32>\n"
        "%r = stablehlo.tuple %b, %a : " PAIR "\nreturn %r : " PAIR "\n}\n"
        "func.func @main(%t: " PAIR ", %x: tensor<f32>) -> " PAIR " {\n"
        "%c = stablehlo.compare GT, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "%s = call @swap(%t) : (" PAIR ") -> " PAIR "\n"
        "%u = stablehlo.optimization_barrier %s : " PAIR "\n"
        "%r = \"stablehlo.if\"(%c) ({\nstablehlo.return %t : " PAIR "\n}, {\n"
        "stablehlo.return %u : " PAIR "\n}) : (tensor<i1>) -> " PAIR "\n"
        "%i = stablehlo.constant dense<7> : tensor<i32>\n"
        "%q = \"stablehlo.case\"(%i) ({\nstablehlo.return %t : " PAIR "\n}, {\n"
        "stablehlo.return %r : " PAIR "\n}) : (tensor<i32>) -> " PAIR "\n"
        "return %q : " PAIR "\n}",
        3, 2, (float[]){2, 1});
}

static void custom_calls_give_leaves(void **state)
{
    run("func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {\n"
        "%t = \"stablehlo.custom_call\"(%x, %y) <{call_target_name = \"Sharding\"}> : "
        "(tensor<f32>, tensor<f32>) -> " PAIR "\n"
        "%b = stablehlo.get_tuple_element %t[1] : (" PAIR ") -> tensor<f32>\n"
        "return %b : tensor<f32>\n}",
        2, 1, (float[]){2});
}

static void an_empty_tuple_is_nothing(void **state)
{
    run("func.func @main(%x: tensor<f32>, %e: tuple<>) -> (tuple<>, tensor<f32>, "
        "tuple<tensor<f32>>) {\n"
        "%t = \"stablehlo.tuple\"(%x) : (tensor<f32>) -> tuple<tensor<f32>>\n"
        "return %e, %x, %t : tuple<>, tensor<f32>, tuple<tensor<f32>>\n}",
        1, 2, (float[]){1, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_results_are_leaves),
        cmocka_unit_test(loops_carry_leaves),
        cmocka_unit_test(branches_calls_and_barriers_give_leaves),
        cmocka_unit_test(custom_calls_give_leaves),
        cmocka_unit_test(an_empty_tuple_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
