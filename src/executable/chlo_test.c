/* SPDX-License-Identifier: Apache-2.0 */
/* CHLO in text: what its expansions compute. Parameters are f32, results too. */
#include <math.h>

#include "executable/compile_options.h"
#include "executable/program_test.h"

enum { ROOM = 64 };

static void run(const char *text, float *const *in, uint32_t n_in, const float *want, uint32_t n)
{
    tn_compile_options *options;
    tn_executable *e = NULL;
    assert_null(tn_compile_options_decode(NULL, 0, &options));
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, &e);
    tn_compile_options_free(options);
    if (s) fail_msg("%s", tn_status_message(s));
    assert_int_equal(tn_executable_get_info(e)->n_params, n_in);
    assert_int_equal(tn_executable_get_info(e)->n_results, 1);
    _Alignas(64) float memory[4][ROOM], out[ROOM];
    void *args[4];
    for (uint32_t i = 0; i < n_in; i++) {
        memcpy(memory[i], in[i], sizeof memory[i] / 4);
        args[i] = memory[i];
    }
    assert_null(run_executable(e, args, (void *[]){out}));
    for (uint32_t i = 0; i < n; i++)
        if (!(out[i] == want[i] || (out[i] != out[i] && want[i] != want[i])))
            fail_msg("[%u] is %.9g, expected %.9g", i, (double)out[i], (double)want[i]);
    tn_executable_release(e);
}
#define RUN(text, n, ...)                                                                          \
    run("func.func @main" text, (float *[]){x, y}, n, (float[]){__VA_ARGS__},                      \
        sizeof((float[]){__VA_ARGS__}) / sizeof(float))

static float x[ROOM] = {1, -2, 0.5f, 0.25f}, y[ROOM] = {10, 20};

static void operands_are_lined_up_at_their_last_dimension(void **state)
{
    RUN("(%a: tensor<4xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {\n"
        "%r = chlo.broadcast_add %a, %b : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>\n"
        "return %r : tensor<2x4xf32>\n}",
        2, 11, 8, 10.5f, 10.25f, 21, 18, 20.5f, 20.25f);
    RUN("(%a: tensor<4xf32>, %b: tensor<2xf32>) -> tensor<2x4xf32> {\n"
        "%c = stablehlo.constant dense<1.0> : tensor<2x4xf32>\n"
        "%r = \"chlo.broadcast_multiply\"(%b, %c) <{broadcast_dimensions = array<i64: 0>}> : "
        "(tensor<2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
        "return %r : tensor<2x4xf32>\n}",
        2, 10, 10, 10, 10, 20, 20, 20, 20);
    RUN("(%a: tensor<4xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {\n"
        "%z = \"chlo.constant_like\"(%a) <{value = 0.3 : f32}> : (tensor<4xf32>) -> "
        "tensor<4xf32>\n"
        "%c = chlo.broadcast_compare %a, %z {comparison_direction = #chlo<comparison_direction "
        "LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
        "%r = chlo.broadcast_select %c, %b, %a : (tensor<4xi1>, tensor<2x1xf32>, tensor<4xf32>) "
        "-> tensor<2x4xf32>\nreturn %r : tensor<2x4xf32>\n}",
        2, 1, 10, 0.5f, 10, 1, 20, 0.5f, 20);
}

static void functions_are_rounded_right(void **state)
{
#define UNARY(name)                                                                                \
    "(%a: tensor<4xf32>) -> tensor<4xf32> {\n%r = chlo." name                                      \
    " %a : tensor<4xf32> -> tensor<4xf32>\nreturn %r : tensor<4xf32>\n}"
    RUN(UNARY("erf_inv"), 1, INFINITY, NAN, 0.476936281f, 0.225312054f);
    RUN(UNARY("asin"), 1, 1.57079637f, NAN, 0.52359879f, 0.252680242f);
    RUN(UNARY("square"), 1, 1, 4, 0.25f, 0.0625f);
    RUN(UNARY("digamma"), 1, -0.577215672f, NAN, -1.96351004f, -4.22745371f);
    RUN("(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
        "%r = chlo.next_after %z, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>\n"
        "return %r : tensor<4xf32>\n}",
        1, 1e-45f, -1e-45f, 1e-45f, 1e-45f);
}

static void scans_carry_along_a_dimension(void **state)
{
#define SCAN(attributes)                                                                           \
    "(%a: tensor<4xf32>) -> tensor<5xf32> {\n%i = stablehlo.constant dense<100.0> : tensor<f32>\n" \
    "%r:2 = chlo.scan(%a) inits(%i) dimension=0 " attributes                                       \
    " {\n^bb0(%x: tensor<f32>, %c: tensor<f32>):\n%s = stablehlo.add %x, %c : tensor<f32>\n"       \
    "stablehlo.return %s, %s : tensor<f32>, tensor<f32>\n} : (tensor<4xf32>, tensor<f32>) -> "     \
    "(tensor<4xf32>, tensor<f32>)\n%l = stablehlo.reshape %r#1 : (tensor<f32>) -> "                \
    "tensor<1xf32>\n%t = stablehlo.concatenate %r#0, %l, dim = 0 : (tensor<4xf32>, "               \
    "tensor<1xf32>) -> tensor<5xf32>\nreturn %t : tensor<5xf32>\n}"
    RUN(SCAN(""), 1, 101, 99, 99.5f, 99.75f, 99.75f);
    RUN(SCAN("attributes {is_reverse = true}"), 1, 99.75f, 98.75f, 100.75f, 100.25f, 99.75f);
}

/* Rows 0 and 1 by 1, row 2 by 10; row 3 belongs to no group. */
static void ragged_rows_have_their_own_matrix(void **state)
{
    RUN("(%a: tensor<4xf32>) -> tensor<4x1xf32> {\n"
        "%l = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<4x1xf32>\n"
        "%w = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>\n"
        "%g = stablehlo.constant dense<[2, 1]> : tensor<2xi32>\n"
        "%r = \"chlo.ragged_dot\"(%l, %w, %g) <{ragged_dot_dimension_numbers = "
        "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
        "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x1xf32>, "
        "tensor<2x1x1xf32>, tensor<2xi32>) -> tensor<4x1xf32>\n"
        "return %r : tensor<4x1xf32>\n}",
        1, 1, -2, 5, 0);
    RUN("(%a: tensor<4xf32>) -> tensor<2xf32> {\n"
        "%l = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>\n"
        "%w = stablehlo.constant dense<[[1.0], [2.0], [4.0], [0x7F800000]]> : tensor<4x1xf32>\n"
        "%g = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
        "%r = \"chlo.ragged_dot\"(%l, %w, %g) <{ragged_dot_dimension_numbers = "
        "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], "
        "lhs_ragged_dimensions = [1], rhs_group_dimensions = []>}> : (tensor<1x4xf32>, "
        "tensor<4x1xf32>, tensor<2xi32>) -> tensor<2x1x1xf32>\n"
        "%s = stablehlo.reshape %r : (tensor<2x1x1xf32>) -> tensor<2xf32>\n"
        "return %s : tensor<2xf32>\n}",
        1, 1, -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_lined_up_at_their_last_dimension),
        cmocka_unit_test(functions_are_rounded_right),
        cmocka_unit_test(scans_carry_along_a_dimension),
        cmocka_unit_test(ragged_rows_have_their_own_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
