/* SPDX-License-Identifier: Apache-2.0 */
/* Manual computations over several partitions become the program of one device. */
#include "executable/compile_options.h"
#include "executable/program_test.h"
#include "type/op_sharding_proto.h"

static tn_status *compile_text(const char *body, tn_executable **out)
{
    char text[4096];
    snprintf(text, sizeof text,
             "module @m attributes {mhlo.num_partitions = 4 : i32} {\n"
             "sdy.mesh @mesh = <[\"i\"=2, \"j\"=2]>\n%s\n}",
             body);
    tn_compile_options *options;
    assert_null(tn_compile_options_decode(NULL, 0, &options));
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, out);
    tn_compile_options_free(options);
    return s;
}

static void parameters_and_results_are_those_of_one_device(void **state)
{
    tn_executable *e = NULL;
    tn_status *s = compile_text(
        "func.func @main(%a: tensor<4x6xf32>, %k: tensor<f32>) -> (tensor<4x3xf32>, tensor<f32>) "
        "{\n%r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"i\"}, {\"j\"}]>] "
        "out_shardings=[<@mesh, [{\"i\"}, {}]>] manual_axes={\"i\", \"j\"} (%b: tensor<2x3xf32>) "
        "{\n%c = stablehlo.negate %b : tensor<2x3xf32>\nsdy.return %c : tensor<2x3xf32>\n} : "
        "(tensor<4x6xf32>) -> tensor<4x3xf32>\nreturn %r, %k : tensor<4x3xf32>, tensor<f32>\n}",
        &e);
    if (s) fail_msg("%s", tn_status_message(s));
    const tn_executable_info *info = tn_executable_get_info(e);
    assert_int_equal(info->params[0].type->dims[0], 2);
    assert_int_equal(info->params[0].type->dims[1], 3);
    assert_int_equal(info->results[0].type->dims[0], 2);
    assert_null(info->params[1].tiling);
    assert_null(info->results[1].tiling);
    const tn_op_sharding *p = info->params[0].tiling, *r = info->results[0].tiling;
    assert_int_equal(p->n_dims, 2);
    assert_int_equal(p->dims[0] * 10 + p->dims[1], 22);
    for (int64_t i = 0; i < 4; i++) assert_int_equal(p->devices[i], i);
    assert_int_equal(r->n_dims, 3); /* devices along j have the same */
    assert_int_equal(r->dims[0] * 100 + r->dims[1] * 10 + r->dims[2], 212);
    assert_int_equal(r->n_subgroups, 1);
    tn_executable_release(e);
}

static void computations_follow_each_other(void **state)
{
#define STEP(name, from, sharding)                                                                 \
    name " = sdy.manual_computation(" from ") in_shardings=[<@mesh, [{" sharding                   \
         "}]>] out_shardings=[<@mesh, [{\"j\"}]>] manual_axes={\"i\", \"j\"} (%b: tensor<2xf32>) " \
         "{\n%c = stablehlo.negate %b : tensor<2xf32>\nsdy.return %c : tensor<2xf32>\n} : "        \
         "(tensor<4xf32>) -> tensor<4xf32>\n"
    tn_executable *e = NULL;
    tn_status *s = compile_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" STEP("%r", "%a", "\"j\"")
            STEP("%s", "%r", "\"j\"") "return %s : tensor<4xf32>\n}",
        &e);
    if (s) fail_msg("%s", tn_status_message(s));
    _Alignas(64) float x[16] = {1, 2}, y[16];
    assert_null(run_executable(e, (void *[]){x}, (void *[]){y}));
    assert_true(y[0] == 1 && y[1] == 2);
    tn_executable_release(e);

    s = compile_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" STEP("%r", "%a", "\"j\"")
            STEP("%s", "%r", "\"i\"") "return %s : tensor<4xf32>\n}",
        &e);
    assert_int_equal(tn_status_code(s), TN_UNIMPLEMENTED);
    tn_status_free(s);
}

static void what_needs_a_partitioner_is_refused(void **state)
{
    tn_executable *e = NULL;
    tn_status *s = compile_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" STEP(
            "%r", "%a",
            "\"j\"") "%n = stablehlo.negate %r : tensor<4xf32>\nreturn %n : tensor<4xf32>\n}",
        &e);
    assert_int_equal(tn_status_code(s), TN_UNIMPLEMENTED);
    assert_non_null(strstr(tn_status_message(s), "stablehlo.negate"));
    tn_status_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_results_are_those_of_one_device),
        cmocka_unit_test(computations_follow_each_other),
        cmocka_unit_test(what_needs_a_partitioner_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
