/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in VHLO as text. That what MLIR prints reads as its bytecode is shown by
 * test/reader/check_vhlo.py; here stand single forms and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "reader/reader.h"

typedef struct {
    const char *text;
    size_t size;
    tn_arena *arena;
    char *printed;
} job;

static tn_status *read(void *ctx)
{
    job *j = ctx;
    tn_module *m;
    size_t size;
    TN_TRY(tn_read_text(j->text, j->size, j->arena, &m));
    j->printed = tn_module_print(m, j->arena, &size);
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

static void expect(const char *text, const char *expected)
{
    job j;
    tn_status *s = run(&j, text, strlen(text));
    if (s) fail_msg("%s\nin %s", tn_status_message(s), text);
    if (!strstr(j.printed, expected)) fail_msg("no\n%s\nin\n%s", expected, j.printed);
    finish(&j);
}

static void refuse(const char *text, tn_code code, const char *message)
{
    job j;
    tn_status *s = run(&j, text, strlen(text));
    if (!s) fail_msg("read: %s", text);
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), message))
        fail_msg("%s\nfor %s", tn_status_message(s), text);
    tn_status_free(s);
    finish(&j);
}

#define F32(dims) "!vhlo.tensor_v1<" dims "!vhlo.f32_v1>"

static const char own_form[] =
    "module @m {\n"
    "  vhlo.func_v1 @outside() -> (" F32(
        "2x") ") {\n  } {sym_visibility = "
              "#vhlo.string_v1<\"private\">}\n"
              "  vhlo.func_v1 @main(%arg0: " F32("2x") " loc(\"x\")) -> (" F32(
                  "2x") ") {\n"
                        "    %0 = \"vhlo.exponential_v2\"(%arg0) <{result_accuracy = "
                        "#vhlo.result_accuracy_v1<atol = "
                        "0.000000e+00, rtol = 0.000000e+00, ulps = 2, mode = "
                        "#vhlo<result_accuracy_mode_v1 "
                        "TOLERANCE>>}> {a = #vhlo.integer_v1<3 : i32>} : (" F32("2x") ") -> " F32(
                            "2x") " loc(#l)\n"
                                  "    \"vhlo.return_v1\"(%0) : (" F32(
                                      "2x") ") -> ()\n"
                                            "  } {arg_attrs = "
                                            "#vhlo.array_v1<[#vhlo.dict_v1<{#vhlo.string_v1<\"x."
                                            "y\"> = "
                                            "#vhlo.float_v1<1.5 : !vhlo.f32_v1>}>]>, res_attrs = "
                                            "#vhlo.array_v1<[]>, sym_visibility = "
                                            "#vhlo.string_v1<\"\">}\n}\n#l = loc(\"y\")\n";

static void a_function_in_its_own_form(void **state)
{
    expect(own_form, "func.func public @main(%arg0: tensor<2xf32> {x.y = 1.5");
    expect(own_form, "-> (tensor<2xf32>)");
    expect(own_form, "ulps = 2");
}

#define GENERIC(properties, attrs)                                                                 \
    "\"builtin.module\"() ({ \"vhlo.func_v1\"() " properties "({\n^bb0(%a: " F32(                  \
        "2x") "):\n"                                                                               \
              "%0 = \"vhlo.add_v1\"(%a, %a) : (" F32("2x") ", " F32("2x") ") -> " F32(             \
                  "2x") "\n"                                                                       \
                        "\"vhlo.return_v1\"(%0) : (" F32("2x") ") -> ()\n}) " attrs                \
                                                               " : () -> () }) : () -> ()"
#define SIGNATURE                                                                                  \
    "{arg_attrs = #vhlo.array_v1<[]>, function_type = #vhlo.type_v1<!vhlo.func_v1<(" F32(          \
        "2x") ") -> " F32("2x") ">>, res_attrs = #vhlo.array_v1<[]>, sym_name = "                  \
                                "#vhlo.string_v1<\"main\">, "                                      \
                                "sym_visibility = #vhlo.string_v1<\"private\">}"

static void functions_in_generic_form(void **state)
{
    expect(GENERIC("<" SIGNATURE "> ", ""), "func.func private @main");
    expect(GENERIC("", SIGNATURE), "func.func private @main"); /* before there were properties */
    expect(GENERIC("<" SIGNATURE "> ", "{b = #vhlo.bool_v1<true>}"), "attributes {b = true}");
    expect("\"builtin.module\"() ({ \"vhlo.func_v1\"() <{function_type = "
           "#vhlo.type_v1<!vhlo.func_v1<(()) -> ()>>, sym_name = #vhlo.string_v1<\"f\">}> ({\n"
           "\"vhlo.return_v1\"() : () -> ()\n}) : () -> () }) : () -> ()",
           "func.func public @f()");
}

/* One op of a function with the argument %a of `type`. */
static void op_is(const char *type, const char *op, const char *expected)
{
    char text[4096];
    snprintf(text, sizeof text,
             "vhlo.func_v1 @main(%%a: %s) -> () {\n%s\n\"vhlo.return_v1\"() : () -> ()\n}", type,
             op);
    expect(text, expected);
}

static void old_versions_of_ops(void **state)
{
    op_is(F32("2x2x"),
          "%0 = \"vhlo.dot_general_v1\"(%a, %a) <{lhs_batching_dimensions = "
          "#vhlo.tensor_v1<dense<> : tensor<0xi64>>, lhs_contracting_dimensions = "
          "#vhlo.tensor_v1<dense<1> : tensor<1xi64>>, precision_config = "
          "#vhlo.array_v1<[#vhlo<precision_v1 HIGHEST>, #vhlo<precision_v1 DEFAULT>]>, "
          "rhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, "
          "rhs_contracting_dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>}> : (" F32(
              "2x2x") ", " F32("2x2x") ") -> " F32("2x2x"),
          "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]");
    op_is(F32("2x"), "%0 = \"vhlo.cosine_v1\"(%a) : (" F32("2x") ") -> " F32("2x"),
          "\"stablehlo.cosine\"(%arg0) : (tensor<2xf32>)");
    refuse("vhlo.func_v1 @main(%a: " F32("") ") -> () {\n%0 = \"vhlo.add_v9\"(%a, %a) : (" F32(
               "") ", " F32("") ") -> " F32("") "\n\"vhlo.return_v1\"() : () -> ()\n}",
           TN_UNIMPLEMENTED, "op vhlo.add_v9 is not supported");
}

static void types(void **state)
{
    static const struct {
        const char *vhlo, *ours;
    } pairs[] = {
        {"!vhlo.tensor_v1<!vhlo.bool_v1>", "tensor<i1>"},
        {"!vhlo.tensor_v1<3x?x!vhlo.ui4_v1, #vhlo.type_extensions_v1<bounds = [?, 7]>>",
         "tensor<3x?xui4, #stablehlo.bounds<?, 7>>"},
        {"!vhlo.tensor_v1<1x!vhlo.complex_v1<!vhlo.f64_v1>>", "tensor<1xcomplex<f64>>"},
        {"!vhlo.tensor_v1<0x!vhlo.f8E4M3B11FNUZ_v1>", "tensor<0xf8E4M3B11FNUZ>"},
        {"!vhlo.unranked_tensor_v1<!vhlo.bf16_v1>", "tensor<*xbf16>"},
        {"!vhlo.tuple_v1<!vhlo.token_v1, !vhlo.tuple_v1<>>", "tuple<!stablehlo.token, tuple<>>"},
        {"!vhlo.tensor_v1<2x!vhlo.quant_v1<!vhlo.i8_v1:!vhlo.f32_v1, 5.000000e-01:-3, -128:127, "
         "1>>",
         "tensor<2x!quant.uniform<i8<-128:127>:f32, 0.5:-3>>"},
        {"!vhlo.tensor_v1<2x!vhlo.quant_per_axis_v1<!vhlo.i8_v1:!vhlo.f32_v1, 0, [5.0e-01, "
         "2.5e-01], [0, 9], 0:255, 0>>",
         "tensor<2x!quant.uniform<u8<0:255>:f32:0, {0.5,0.25:9}>>"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        op_is(pairs[i].vhlo, "", pairs[i].ours);
}

#define GROUPS(mesh)                                                                               \
    "%0 = \"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = "               \
    "#stablehlo.replica_group_mesh_axes<mesh = " mesh                                              \
    ", axes = [#stablehlo.axis_ref<name = \"x\">]>} : (tensor<2xf32>) -> tensor<4xf32>"
#define ONE(op)                                                                                    \
    "func.func @main(%a: tensor<2xf32>) {\n" op "\nreturn\n}\nsdy.mesh @mesh = <[\"x\"=2, "        \
    "\"y\"=2]>"

static void replica_groups_by_axes(void **state)
{
    static const char want[] = "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>";
    expect(ONE(GROUPS("@mesh")), want);
    expect(ONE(GROUPS("#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 2>, "
                      "#stablehlo.mesh_axis<name = \"y\", size = 2>]>")),
           want);
    refuse(ONE(GROUPS("@other")), TN_INVALID_ARGUMENT, "@other, which is not defined");
}

static void what_is_wrong_is_said(void **state)
{
    refuse("module attributes {a = #vhlo.string_v1<3>} {}", TN_INVALID_ARGUMENT,
           "#vhlo.string_v1 of another kind");
    refuse("module attributes {a = #vhlo.dict_v1<{3 = 4}>} {}", TN_INVALID_ARGUMENT,
           "should be a string");
    refuse("vhlo.func_v1 @f(%a: !vhlo.tensor_v1<!vhlo.f33_v1>) -> () {}", TN_UNIMPLEMENTED,
           "type !vhlo.f33_v1 is not supported");
    refuse("vhlo.func_v1 @f(%a: !vhlo.tensor_v1<2x!vhlo.quant_per_axis_v1<!vhlo.i8_v1:"
           "!vhlo.f32_v1, 0, [0.5], [0, 9], 0:255, 0>>) -> () {}",
           TN_INVALID_ARGUMENT, "1 scales and 2 zero points");
    refuse(
        "func.func @f(%a: tensor<4xf32>, %z: tensor<f32>) {\n%0 = \"stablehlo.reduce_window\"(%a, "
        "%z) <{padding = dense<1> : tensor<2xi64>, window_dimensions = array<i64: 2>}>",
        TN_INVALID_ARGUMENT, "attribute padding should have rank 2 and has 1");
}

/* Every beginning of a program is refused or read, and nothing beyond it is looked at. */
static void every_cut_is_handled(void **state)
{
    for (size_t n = 0; n < sizeof own_form; n++) {
        job j;
        tn_status *s = run(&j, own_form, n);
        if (s && tn_status_code(s) != TN_UNIMPLEMENTED)
            assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
        tn_status_free(s);
        finish(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_in_its_own_form), cmocka_unit_test(functions_in_generic_form),
        cmocka_unit_test(old_versions_of_ops),        cmocka_unit_test(types),
        cmocka_unit_test(replica_groups_by_axes),     cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(every_cut_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
