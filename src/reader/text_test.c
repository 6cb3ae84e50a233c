/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "reader/reader.h"
#include "reader/text_parser.h"
#include "type/float_bits.h"

typedef struct {
    const char *text;
    size_t size;
    tn_arena *arena;
    char *printed;
    const char *place; /* of the first op of the first function */
} job;

static tn_status *read(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    size_t size;
    TN_TRY(tn_read_text(j->text, j->size, j->arena, &m));
    j->printed = tn_module_print(m, j->arena, &size);
    if (m->functions) j->place = tn_op_location(m->functions->body.first);
    return NULL;
}

static tn_status *run(job *j, const char *text, size_t size)
{
    /* Without a NUL, so that a sanitizer sees a step beyond the end. */
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    *j = (job){.text = copy, .size = size, .arena = tn_arena_new()};
    return tn_arena_run(j->arena, read, j);
}

static void finish(job *j)
{
    tn_arena_free(j->arena);
    free((void *)(uintptr_t)j->text);
}

/* Reads as a module whose print has `expected` in it. */
static void expect(const char *text, const char *expected)
{
    job j;
    tn_status *s = run(&j, text, strlen(text));
    if (s) fail_msg("%s\nin %s", tn_status_message(s), text);
    if (!strstr(j.printed, expected)) fail_msg("no\n%s\nin\n%s", expected, j.printed);
    finish(&j);
}

/* The op `line` in a function of arguments %a: tensor<2x3xf32>, %b the same, %i: tensor<i32>, %p:
 * tensor<2x3xi1>, %z: tensor<f32> is printed with `expected` in it. */
static void expect_op(const char *line, const char *expected)
{
    char text[4096];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<2x3xf32>, %%b: tensor<2x3xf32>, %%i: tensor<i32>, "
             "%%p: tensor<2x3xi1>, %%z: tensor<f32>) {\n  %s\n  return\n}\n",
             line);
    expect(text, expected);
}

static void refuse(const char *text, tn_code code, const char *message)
{
    job j;
    tn_status *s = run(&j, text, strlen(text));
    if (!s) fail_msg("read without an error: %s", text);
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), message))
        fail_msg("%s: %s\ninstead of %s\nin %s", tn_code_name(tn_status_code(s)),
                 tn_status_message(s), message, text);
    tn_status_free(s);
    finish(&j);
}

static void refuse_op(const char *line, const char *message)
{
    char text[4096];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<2x3xf32>, %%b: tensor<2x3xf32>, %%i: tensor<i32>) {\n"
             "%s\nreturn\n}\n",
             line);
    refuse(text, TN_INVALID_ARGUMENT, message);
}

/* --- whole modules --- */

static void a_module_in_its_own_form(void **state)
{
    expect("#loc = loc(unknown)\n"
           "module @jit_f attributes {mhlo.num_replicas = 1 : i32, jax.x} {\n"
           "  // a comment\n"
           "  func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true} loc(\"x\"), "
           "%arg1: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = \"r\"}) {\n"
           "    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32> loc(#loc3)\n"
           "    %1:2 = call @g(%0, %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
           "(tensor<2x3xf32>, tensor<2x3xf32>)\n"
           "    return %1#1 : tensor<2x3xf32>\n"
           "  }\n"
           "  func.func private @g(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> "
           "(tensor<2x3xf32>, tensor<2x3xf32>) {\n"
           "    return %y, %x : tensor<2x3xf32>, tensor<2x3xf32>\n"
           "  }\n"
           "  func.func private @declared(tensor<f32>) -> tensor<f32>\n"
           "} loc(#loc)\n"
           "#loc3 = loc(\"add\"(#loc))\n",
           "module @jit_f attributes {jax.x, mhlo.num_replicas = 1 : i32} {\n"
           "  func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true}, "
           "%arg1: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = \"r\"}) {\n"
           "    %0 = \"stablehlo.add\"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
           "tensor<2x3xf32>\n"
           "    %1:2 = \"func.call\"(%0, %arg1) <{callee = @g}> : (tensor<2x3xf32>, "
           "tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)\n"
           "    \"func.return\"(%1#1) : (tensor<2x3xf32>) -> ()\n"
           "  }\n"
           "  func.func private @g(%arg2: tensor<2x3xf32>, %arg3: tensor<2x3xf32>) -> "
           "(tensor<2x3xf32>, tensor<2x3xf32>) {\n"
           "    \"func.return\"(%arg3, %arg2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()\n"
           "  }\n"
           "}\n");
}

static void a_module_in_generic_form(void **state)
{
    expect("\"builtin.module\"() <{sym_name = \"m\"}> ({\n"
           "  \"func.func\"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = \"main\", "
           "arg_attrs = [{a.b = 1 : i32}]}> ({\n"
           "  ^bb0(%arg0: tensor<f32>):\n"
           "    %0 = \"stablehlo.negate\"(%arg0) : (tensor<f32>) -> tensor<f32>\n"
           "    \"func.return\"(%0) : (tensor<f32>) -> ()\n"
           "  }) {c = \"d\"} : () -> ()\n"
           "}) {mhlo.num_partitions = 2 : i32} : () -> ()\n",
           "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
           "  func.func public @main(%arg0: tensor<f32> {a.b = 1 : i32}) -> (tensor<f32>) "
           "attributes {c = \"d\"} {\n"
           "    %0 = \"stablehlo.negate\"(%arg0) : (tensor<f32>) -> tensor<f32>\n");
}

static void aliases_stand_for_attributes_and_types(void **state)
{
    expect("!t = tensor<2xf32>\n#s = dense<[1, 0]> : tensor<2xi32>\n"
           "func.func @main(%a: !t) -> !t attributes {x = #s} { return %a : !t }",
           "func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>) attributes {x = "
           "dense<[1, 0]> : tensor<2xi32>} {");
}

static void places_are_lines_and_columns(void **state)
{
    job j;
    const char *text = "func.func @main() {\n  // one\n   %c = stablehlo.constant dense<1> : "
                       "tensor<i32>\n return\n}";
    tn_status *s = run(&j, text, strlen(text));
    assert_null(s);
    assert_string_equal(j.place, "3:9");
    finish(&j);
}

/* --- forms --- */

static void forms_of_ops(void **state)
{
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"%0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
         "tensor<2x3xi1>",
         "<{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = "
         "#stablehlo<comparison_direction LT>}>"},
        {"%0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>",
         "\"stablehlo.select\"(%arg3, %arg0, %arg1) : (tensor<2x3xi1>, tensor<2x3xf32>, "
         "tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.complex %a, %b : tensor<2x3xcomplex<f32>>",
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>"},
        {"%0 = stablehlo.slice %a [0:1, 1:3:2] : (tensor<2x3xf32>) -> tensor<1x1xf32>",
         "<{limit_indices = array<i64: 1, 3>, start_indices = array<i64: 0, 1>, strides = "
         "array<i64: 1, 2>}>"},
        {"%0 = stablehlo.pad %a, %z, low = [0, -1], high = [1, 0], interior = [0, 0] : "
         "(tensor<2x3xf32>, tensor<f32>) -> tensor<3x2xf32>",
         "edge_padding_low = array<i64: 0, -1>"},
        {"%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>", "<{iota_dimension = 1 : i64}>"},
        {"%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
         "tensor<4x3xf32>",
         "\"stablehlo.concatenate\"(%arg0, %arg1) <{dimension = 0 : i64}>"},
        {"%0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>",
         "<{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}>"},
        {"%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], precision = [HIGHEST, "
         "DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, "
         "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
         "num_primitive_operations = 3, allow_imprecise_accumulation = false> : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>",
         "<{precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>], "
         "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
         "rhs_contracting_dimensions = [1]>, algorithm = #stablehlo.dot_algorithm<"
         "lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "
         "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, "
         "allow_imprecise_accumulation = false>}>"},
        {"%0 = stablehlo.custom_call @foo(%a) {api_version = 4 : i32, backend_config = {k = 1 : "
         "i32}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = "
         "[dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
         "backend_config = {k = 1 : i32}, call_target_name = \"foo\", called_computations = [], "
         "has_side_effect = false, operand_layouts = [dense<[1, 0]> : tensor<2xindex>]"},
        {"%0 = stablehlo.custom_call @\"a b\"(%a) {mhlo.x = \"y\"} : (tensor<2x3xf32>) -> "
         "tensor<2x3xf32>",
         "call_target_name = \"a b\", called_computations = [], has_side_effect = "
         "false}> {mhlo.x = \"y\"}"},
        {"%0 = stablehlo.composite \"my.op\" %a {composite_attributes = {k = 2 : i64}, "
         "decomposition = @main, version = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
         "<{composite_attributes = {k = 2 : i64}, decomposition = @main, name = \"my.op\", version "
         "= 1 : i32}>"},
        {"%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 10, "
         "mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>",
         "ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>"},
        {"%0:2 = stablehlo.optimization_barrier %a, %z : tensor<2x3xf32>, tensor<f32>",
         "(tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>)"},
        {"%s, %o = stablehlo.rng_bit_generator %a, algorithm = PHILOX : (tensor<2x3xf32>) -> "
         "(tensor<2x3xf32>, tensor<f32>)\n %1 = stablehlo.negate %o : tensor<f32>",
         "%1 = \"stablehlo.negate\"(%0#1)"},
        {"%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[o, i]->[b, f], window = {} "
         "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, "
         "tensor<2x3xf32>) -> tensor<2x2xf32>",
         "dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[b, f]>"},
        {"%0 = stablehlo.create_token : !stablehlo.token\n"
         "%1 = stablehlo.after_all %0, %0 : !stablehlo.token",
         "\"stablehlo.after_all\"(%0, %0) : (!stablehlo.token, !stablehlo.token) -> "
         "!stablehlo.token"},
        {"%0 = stablehlo.tuple %a, %z : tuple<tensor<2x3xf32>, tensor<f32>>\n"
         "%1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2x3xf32>, tensor<f32>>) -> "
         "tensor<f32>",
         "<{index = 1 : i32}>"},
        {"%0 = builtin.unrealized_conversion_cast %a : tensor<2x3xf32> to tensor<?x3xf32>",
         "(tensor<2x3xf32>) -> tensor<?x3xf32>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_op(cases[i].line, cases[i].expected);
}

static void regions_of_reduce_and_while(void **state)
{
    expect_op("%0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = "
              "[1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>",
              "\"stablehlo.reduce\"(%arg0, %arg4) <{dimensions = array<i64: 1>}> ({\n"
              "    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):\n"
              "      %1 = \"stablehlo.maximum\"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> "
              "tensor<f32>\n"
              "      \"stablehlo.return\"(%1) : (tensor<f32>) -> ()\n    })");
    expect_op("%0:2 = stablehlo.reduce(%a init: %z), (%b init: %z) across dimensions = [0, 1] : "
              "(tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, "
              "tensor<f32>)\n reducer(%x: tensor<f32>, %y: tensor<f32>) (%v: tensor<f32>, %w: "
              "tensor<f32>) { stablehlo.return %y, %v : tensor<f32>, tensor<f32> }",
              "\"stablehlo.return\"(%arg7, %arg6) : (tensor<f32>, tensor<f32>) -> ()");
    expect_op("%0 = stablehlo.while(%it = %a) : tensor<2x3xf32> cond {\n"
              "  %t = stablehlo.constant dense<true> : tensor<i1>\n"
              "  stablehlo.return %t : tensor<i1>\n"
              "} do {\n  stablehlo.return %it : tensor<2x3xf32>\n}",
              "\"stablehlo.while\"(%arg0) ({\n    ^bb0(%arg5: tensor<2x3xf32>):\n"
              "      %1 = \"stablehlo.constant\"() <{value = dense<true> : tensor<i1>}> : () -> "
              "tensor<i1>\n");
}

static void shardings(void **state)
{
    expect("module {\n"
           "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]>\n"
           "  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\", "
           "?}p1]>}) {\n"
           "    %0 = sdy.sharding_constraint %a <@mesh, [{\"x\":(1)2}], replicated={\"y\"}> : "
           "tensor<4xf32>\n"
           "    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{\"x\"}]>] "
           "out_shardings=[<@mesh, [{}]>] manual_axes={\"x\"} (%b: tensor<2xf32>) {\n"
           "      sdy.return %b : tensor<2xf32>\n"
           "    } : (tensor<4xf32>) -> tensor<2xf32>\n"
           "    return\n  }\n}",
           "  \"sdy.mesh\"() <{mesh = #sdy.mesh<[\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]>, "
           "sym_name = \"mesh\"}> : () -> ()\n"
           "  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
           "[{\"x\", ?}p1]>}) {\n"
           "    %0 = \"sdy.sharding_constraint\"(%arg0) <{sharding = #sdy.sharding<@mesh, "
           "[{\"x\":(1)2}], replicated={\"y\"}>}> : (tensor<4xf32>) -> tensor<4xf32>\n"
           "    %1 = \"sdy.manual_computation\"(%0) <{in_shardings = #sdy.sharding_per_value<["
           "<@mesh, [{\"x\"}]>]>, manual_axes = #sdy<manual_axes{\"x\"}>, out_shardings = "
           "#sdy.sharding_per_value<[<@mesh, [{}]>]>}> ({\n");
}

/* --- constants and types --- */

static void constants(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"dense<[1, -2, 0x7F]> : tensor<3xi8>", "dense<[1, -2, 127]> : tensor<3xi8>"},
        {"dense<[[true, false]]> : tensor<1x2xi1>", "dense<[[true, false]]> : tensor<1x2xi1>"},
        {"dense<1.500000e+00> : tensor<2xbf16>", "dense<1.5> : tensor<2xbf16>"},
        {"dense<[0xFF800000, 1.0, 0x7FC00000]> : tensor<3xf32>",
         "dense<[0xFF800000, 1.0, 0x7FC00000]> : tensor<3xf32>"},
        {"dense<(1.0,-2.5)> : tensor<complex<f32>>", "dense<(1.0, -2.5)> : tensor<complex<f32>>"},
        {"dense<[(1.0, 0.0), (0.0, 1.0)]> : tensor<2xcomplex<f64>>",
         "dense<[(1.0, 0.0), (0.0, 1.0)]> : tensor<2xcomplex<f64>>"},
        {"dense<\"0x01000000FFFFFFFF\"> : tensor<2xi32>", "dense<[1, -1]> : tensor<2xi32>"},
        {"dense<\"0x0F01\"> : tensor<2xi4>", "dense<[-1, 1]> : tensor<2xi4>"},
        {"dense<18446744073709551615> : tensor<ui64>",
         "dense<18446744073709551615> : tensor<ui64>"},
        {"dense<-9223372036854775808> : tensor<i64>", "dense<-9223372036854775808> : tensor<i64>"},
        {"dense<[3, 3]> : tensor<2xi32>", "dense<3> : tensor<2xi32>"}, /* as MLIR does */
        {"dense<> : tensor<0xf32>", "dense<> : tensor<0xf32>"},
        {"dense<[]> : tensor<0xf32>", "dense<> : tensor<0xf32>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        snprintf(line, sizeof line, "%%0 = stablehlo.constant %s", cases[i].text);
        expect_op(line, cases[i].expected);
    }
}

static void types(void **state)
{
    static const struct {
        const char *text, *printed; /* NULL: as it stands */
    } cases[] = {
        {"tensor<?x3xf32>", NULL},
        {"tensor<?x?xf32, #stablehlo.bounds<4, ?>>", NULL},
        {"tensor<0x2xi1>", NULL},
        {"tensor<*xf32>", NULL},
        {"tuple<tensor<f32>, tuple<>>", NULL},
        {"!stablehlo.token", NULL},
        {"tensor<2xindex>", "tensor<2xi64>"},
        {"tensor<2x!quant.uniform<i8:f32, 0.5:-128>>",
         "tensor<2x!quant.uniform<i8<-128:127>:f32, 0.5:-128>>"},
        {"tensor<2x!quant.uniform<u8<1:200>:f32:0, {0.5:3,0.25}>>", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], expected[256];
        snprintf(text, sizeof text, "func.func @main(%%a: %s) { return }", cases[i].text);
        snprintf(expected, sizeof expected, "@main(%%arg0: %s)",
                 cases[i].printed ? cases[i].printed : cases[i].text);
        expect(text, expected);
    }
}

static void floats_are_rounded_to_nearest(void **state)
{
    static const struct {
        tn_element_type e;
        double v;
        uint64_t bits;
    } cases[] = {{TN_F32, 1, 0x3F800000},       {TN_BF16, 1.00390625, 0x3F80},
                 {TN_BF16, 1.01171875, 0x3F82}, {TN_F16, -2, 0xC000},
                 {TN_F16, 65504, 0x7BFF},       {TN_F16, 65519, 0x7BFF},
                 {TN_F16, 65520, 0x7C00},       {TN_F16, 1e9, 0x7C00},
                 {TN_F16, 0x1p-24, 1},          {TN_F16, 0x1p-25, 0},
                 {TN_F16, -0.0, 0x8000},        {TN_F8E4M3FN, 448, 0x7E},
                 {TN_F8E4M3FNUZ, -0.0, 0},      {TN_F4E2M1FN, -6, 0xF},
                 {TN_F8E8M0FNU, 2, 0x80},       {TN_F64, 0.1, 0x3FB999999999999A}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(tn_parse_float_bits(cases[i].e, cases[i].v), cases[i].bits);
    /* Every finite value is its own nearest. */
    for (uint64_t b = 0; b < 256; b++) {
        double v = tn_float_from_bits(TN_F8E5M2, b);
        if (v - v == 0) assert_int_equal(tn_parse_float_bits(TN_F8E5M2, v), b);
    }
}

/* --- errors --- */

static void errors_say_where_and_what(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"%0 = stablehlo.add %a, %c : tensor<2x3xf32>", "2:24: value %c is not defined"},
        {"%0 = stablehlo.add %a, %i : tensor<2x3xf32>",
         "2:24: operand 1 of stablehlo.add is tensor<i32> and its type says tensor<2x3xf32>"},
        {"%0 = stablehlo.add %a %b : tensor<2x3xf32>", "2:23: expected ',', found '%b'"},
        {"%0 = stablehlo.adds %a, %b : tensor<2x3xf32>",
         "2:6: stablehlo.adds is no op of StableHLO"},
        {"%0:2 = stablehlo.add %a, %b : tensor<2x3xf32>",
         "2:8: stablehlo.add has 1 results and names for 2"},
        {"%a = stablehlo.add %a, %b : tensor<2x3xf32>", "2:1: value %a is defined twice"},
        {"%0 = stablehlo.negate %a#1 : tensor<2x3xf32>", "2:23: value %a#1 of 1"},
        {"%0 = \"stablehlo.add\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
         "2:6: stablehlo.add should have 2 operands and has 1"},
        {"%0 = \"stablehlo.iota\"() : () -> tensor<2xi32>",
         "2:6: stablehlo.iota lacks the attribute iota_dimension"},
        {"%0 = \"stablehlo.iota\"() <{iota_dimension = \"x\"}> : () -> tensor<2xi32>",
         "stablehlo.iota: 2:26: attribute iota_dimension should be an integer and is a string"},
        {"%0 = \"stablehlo.iota\"() <{dim = 1}> : () -> tensor<2xi32>",
         "2:26: stablehlo.iota has no attribute dim"},
        {"%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>",
         "2:31: expected 3 elements in dimension 0 of a constant, found 2"},
        {"%0 = stablehlo.constant dense<300> : tensor<i8>", "2:31: 300 does not fit i8"},
        {"%0 = stablehlo.constant dense<1.5> : tensor<i8>", "2:31: expected an element of type i8"},
        {"%0 = stablehlo.constant dense<\"0x0102\"> : tensor<i8>",
         "2:31: expected 1 bytes of a constant, found 2"},
        {"%0 = stablehlo.constant dense<1> : tensor<?xi8>",
         "2:36: a constant of type tensor<?xi8>"},
        {"%0 = stablehlo.iota dim = 0 : tensor<99999999x99999999xf32>",
         "a tensor type takes more than 2^47 bytes"},
        {"%0 = stablehlo.iota dim = 0 : tensor<2yf32>",
         "2:39: expected 'x' of a shape, found 'yf32'"},
        {"%0 = stablehlo.compare XX, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
         "2:24: expected a comparison_direction, found 'XX'"},
        {"%0 = \"stablehlo.sort\"(%a) ({ ^bb0(%x: tensor<f32>): }) : (tensor<2x3xf32>) -> "
         "tensor<2x3xf32>",
         "a region of stablehlo.sort does not end with a terminator"},
        {"return\nreturn", "3:1: an op behind stablehlo.return, which ends a block"},
        {"%0 = \"stablehlo.negate\"(%a", "expected ')', found 'return'"},
        {"%0 = stablehlo.custom_call @x(%a) {backend_config = \"\\zz\"} : () -> ()",
         "2:54: an unknown escape in a string"},
        {"%0 = stablehlo.sort %a : tensor<2x3xf32>", "stablehlo.sort has no form of its own"},
        {"\xff", "2:1: expected an op, found '?'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_op(cases[i].line, cases[i].message);
    refuse("", TN_INVALID_ARGUMENT, "1:1: expected a module, found the end");
    refuse("module {", TN_INVALID_ARGUMENT, "1:9: expected '}', found the end");
    refuse("module {} module {}", TN_INVALID_ARGUMENT, "1:11: expected the end behind the module");
    refuse("func.func @f() { return } func.func @f() { return }", TN_INVALID_ARGUMENT,
           "symbol f is defined twice");
}

static void chlo_that_is_expanded(void **state)
{
    expect_op("%0 = chlo.tan %a : tensor<2x3xf32> -> tensor<2x3xf32>",
              "%0 = \"stablehlo.tan\"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>");
    static const char *const forms[] = {
        "%v, %i = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)",
        "%v, %i = \"chlo.top_k\"(%a) <{k = 2 : i64}> : (tensor<2x3xf32>) -> (tensor<2x2xf32>, "
        "tensor<2x2xi32>)"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text, "func.func @main(%%a: tensor<2x3xf32>) { %s return }",
                 forms[i]);
        expect(text,
               "%0:2 = \"stablehlo.composite\"(%arg0) <{composite_attributes = {k = 2 : i64}, "
               "decomposition = @chlo.top_k.impl, name = \"chlo.top_k\", version = 1 : i32}>");
        expect(text, "compare_type = #stablehlo<comparison_type TOTALORDER>");
    }
    refuse_op(
        "%v, %j = chlo.top_k(%a, k = 4) : tensor<2x3xf32> -> (tensor<2x4xf32>, tensor<2x4xi32>)",
        "2:10: chlo.top_k: expected k in 0..3, got 4");
    refuse_op(
        "%v, %j = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi64>)",
        "chlo.top_k: result 1 should be tensor<2x2xi32> and is tensor<2x2xi64>");
}

static void what_is_not_supported_is_named(void **state)
{
    refuse(
        "func.func @main(%a: tensor<f32>) { %0 = chlo.foo %a : tensor<f32> -> tensor<f32> return }",
        TN_UNIMPLEMENTED, "1:41: op chlo.foo is not supported");
    refuse("func.func @main(%a: tensor<?xf32>) { %0 = chlo.broadcast_add %a, %a : (tensor<?xf32>, "
           "tensor<?xf32>) -> tensor<?xf32> return }",
           TN_UNIMPLEMENTED, "1:43: chlo.broadcast_add of tensor<?xf32> is not supported");
    refuse("func.func @main(%a: tensor<2xf32>, %b: tensor<f32>) { %0:2 = chlo.scan(%a) inits(%b) "
           "dimension=0 {\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\nstablehlo.return %b, %b : "
           "tensor<f32>, tensor<f32>\n} : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, "
           "tensor<f32>) return }",
           TN_INVALID_ARGUMENT, "3:18: value %b is not defined");
    refuse("func.func @main(%a: vector<2xf32>) { return }", TN_INVALID_ARGUMENT,
           "1:21: expected a type, found 'vector'");
    refuse("func.func @main() { return ^bb1: return }", TN_UNIMPLEMENTED, "several blocks");
}

static void nesting_is_bounded(void **state)
{
    enum { DEEP = 100000 };
    static const char *const pieces[] = {"tuple<", "[", "{a=", "(", "complex<"};
    char *text = malloc(DEEP * 8 + 64);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t n = (size_t)sprintf(text, "module attributes {x = ");
        for (int k = 0; k < DEEP; k++) n += (size_t)sprintf(text + n, "%s", pieces[i]);
        refuse(text, TN_INVALID_ARGUMENT, "nested more than 128 deep");
    }
    free(text);
}

/* Every beginning of a program is refused or read, and nothing beyond it is looked at. */
static void every_cut_is_handled(void **state)
{
    static const char text[] =
        "module @m attributes {a = [1 : i32, \"s\", @f::@g, array<i64: 1>, 1.5 : f32, unit]} {\n"
        "  sdy.mesh @mesh = <[\"x\"=2]>\n"
        "  func.func @main(%a: tensor<2x3xf32>, %z: tensor<f32>) -> tensor<2xf32> {\n"
        "    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
        "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
        "    %c = stablehlo.constant dense<\"0x0000803F00000040\"> : tensor<2xf32>\n"
        "    %1 = \"stablehlo.add\"(%0, %c) {b} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> "
        "loc(\"x\")\n"
        "    return %1 : tensor<2xf32>\n  }\n}";
    for (size_t n = 0; n < sizeof text; n++) {
        job j;
        tn_status *s = run(&j, text, n);
        if (n < sizeof text - 1) {
            assert_non_null(s);
            /* The beginning of an op's name may be that of one that is not supported. */
            if (tn_status_code(s) != TN_UNIMPLEMENTED)
                assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
        } else if (s) {
            fail_msg("%s", tn_status_message(s));
        }
        tn_status_free(s);
        finish(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_in_its_own_form),
        cmocka_unit_test(a_module_in_generic_form),
        cmocka_unit_test(aliases_stand_for_attributes_and_types),
        cmocka_unit_test(places_are_lines_and_columns),
        cmocka_unit_test(forms_of_ops),
        cmocka_unit_test(regions_of_reduce_and_while),
        cmocka_unit_test(shardings),
        cmocka_unit_test(constants),
        cmocka_unit_test(types),
        cmocka_unit_test(floats_are_rounded_to_nearest),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(chlo_that_is_expanded),
        cmocka_unit_test(what_is_not_supported_is_named),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(every_cut_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
