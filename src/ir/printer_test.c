/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ir/ir.h"
#include "ir/print_attr.h"
#include "ir/text.h"

/* Each test is a function that prints into a text, and what it should have printed. */
typedef struct {
    void (*print)(tn_text *t);
    tn_text text;
    const char *got;
} job;

static tn_status *run(void *ctx)
{
    job *j = ctx;
    j->print(&j->text);
    j->got = tn_text_end(&j->text);
    return NULL;
}

static void expect(void (*print)(tn_text *t), const char *expected)
{
    job j = {.print = print, .text = {.arena = tn_arena_new()}};
    tn_status *s = tn_arena_run(j.text.arena, run, &j);
    assert_null(s);
    assert_string_equal(j.got, expected);
    tn_arena_free(j.text.arena);
}

/* --- words --- */

static void print_strings(tn_text *t)
{
    tn_text_string(t, "a\"b\\c\n\xC3\xA9\0d", 10);
    tn_text_word(t, "plain_1.x$");
    tn_text_word(t, "1st");
    tn_text_word(t, "");
}

static void strings_are_escaped(void **state)
{
    expect(print_strings, "\"a\\22b\\\\c\\0A\\C3\\A9\\00d\"plain_1.x$\"1st\"\"\"");
}

static void print_floats(tn_text *t)
{
    static const struct {
        tn_element_type e;
        double v;
    } cases[] = {{TN_F32, 1},         {TN_F32, 0.1f},     {TN_F32, 1e-5f}, {TN_F32, 16777216},
                 {TN_F64, 0.1},       {TN_F64, 1e300},    {TN_F64, -0.0},  {TN_F64, 1.0 / 3},
                 {TN_F32, 0x1p-149f}, {TN_BF16, 1.171875}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i) tn_text_put(t, " ");
        tn_text_float(t, cases[i].e, cases[i].v);
    }
}

static void floats_are_short_and_read_back(void **state)
{
    expect(print_floats, "1.0 0.1 1.0e-05 16777216.0 0.1 1.0e+300 -0.0 0.3333333333333333 1.0e-45 "
                         "1.171875");
}

/* --- constants --- */

static void print_literal(tn_text *t, tn_element_type e, uint32_t rank, const int64_t *dims,
                          const void *data, size_t size, bool splat)
{
    const tn_type *type = tn_type_tensor(t->arena, e, rank, dims);
    tn_print_literal(t, &(tn_literal){type, data, size, splat});
    tn_text_put(t, "\n");
}

static void print_literals(tn_text *t)
{
    static const float nan_and_more[] = {NAN, -INFINITY, 1.5f};
    static const int8_t nibbles[] = {-1, 7, -8};
    static const uint64_t large[] = {UINT64_MAX};
    static const float pairs[] = {1, -2, 0.5f, 0};
    static const int64_t none[] = {2, 0}, two[] = {2}, three[] = {3}, square[] = {2, 2};
    static const int32_t numbers[] = {1, 2, 3, 4};
    print_literal(t, TN_F32, 1, three, nan_and_more, sizeof nan_and_more, false);
    print_literal(t, TN_I4, 1, three, nibbles, sizeof nibbles, false);
    print_literal(t, TN_U64, 0, NULL, large, sizeof large, false);
    print_literal(t, TN_C64, 1, two, pairs, sizeof pairs, false);
    print_literal(t, TN_I32, 2, square, numbers, sizeof numbers, false);
    print_literal(t, TN_I32, 2, square, numbers, 4, true);
    print_literal(t, TN_I32, 2, none, numbers, 0, false);
    print_literal(t, TN_I1, 1, two, "\1\0", 2, false);
}

static void constants_of_every_kind(void **state)
{
    expect(print_literals, "dense<[0x7FC00000, 0xFF800000, 1.5]> : tensor<3xf32>\n"
                           "dense<[-1, 7, -8]> : tensor<3xi4>\n"
                           "dense<18446744073709551615> : tensor<ui64>\n"
                           "dense<[(1.0, -2.0), (0.5, 0.0)]> : tensor<2xcomplex<f32>>\n"
                           "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
                           "dense<1> : tensor<2x2xi32>\n"
                           "dense<> : tensor<2x0xi32>\n"
                           "dense<[true, false]> : tensor<2xi1>\n");
}

static void print_large(tn_text *t)
{
    int8_t data[65];
    static const int64_t dims[] = {65};
    for (int i = 0; i < 65; i++) data[i] = (int8_t)-i;
    print_literal(t, TN_I4, 1, dims, data, sizeof data, false);
}

static void large_constants_are_bytes(void **state)
{
    char expected[256] = "dense<\"0x";
    for (int i = 0; i < 65; i++) sprintf(expected + strlen(expected), "%02X", -i & 15);
    strcat(expected, "\"> : tensor<65xi4>\n");
    expect(print_large, expected);
}

/* --- attributes --- */

static void print_attrs(tn_text *t)
{
    const tn_attr *seven = tn_attr_int(t->arena, 7), *yes = tn_attr_bool(t->arena, true);
    const tn_attr *text = tn_attr_string(t->arena, "s", 1);
    const tn_attr unit = {.kind = TN_ATTR_KIND_UNIT};
    const tn_attr *items[] = {seven, text};
    const tn_attr list = {.kind = TN_ATTR_KIND_LIST, .list = {.items = items, .n = 2}};
    const tn_type f32 = {.kind = TN_TYPE_TENSOR, .element = TN_F32};
    const tn_attr half = {.kind = TN_ATTR_KIND_FLOAT, .type = &f32, .real = 0.5};
    const tn_attr type = {.kind = TN_ATTR_KIND_TYPE, .type = &f32};
    const int64_t numbers[] = {1, 2};
    const tn_named_attr pairs[] = {
        {"a", &list}, {"b c", yes}, {"u", &unit},
        {"h", &half}, {"t", &type}, {"n", tn_attr_ints(t->arena, numbers, 2)},
    };
    tn_print_dict(t, pairs, 6);
    tn_print_enum(t, "fft_type", TN_fft_type_RFFT);
}

static void attributes_of_every_kind(void **state)
{
    expect(print_attrs, "{a = [7 : i64, \"s\"], \"b c\" = true, u, h = 0.5 : f32, t = f32, "
                        "n = array<i64: 1, 2>}#stablehlo<fft_type RFFT>");
}

/* --- a module --- */

static tn_op *append(tn_module *m, tn_region *r, tn_op_kind kind, const tn_type *result,
                     uint32_t n_operands, tn_value **operands, uint32_t n_regions)
{
    tn_op *op = tn_op_new(m, kind, n_operands, result ? 1 : 0, n_regions);
    if (n_operands) memcpy(op->operands, operands, n_operands * sizeof *operands);
    if (result) op->results[0].type = result;
    tn_op_append(r, op);
    return op;
}

static void print_module(tn_text *t)
{
    static const int64_t dims[] = {2, TN_DYNAMIC}, zero[] = {0}, one[] = {1};
    tn_arena *a = t->arena;
    tn_module *m = tn_module_new(a);
    m->name = "a module";
    const tn_type *x = tn_type_tensor(a, TN_F32, 2, dims), *s = tn_type_tensor(a, TN_F32, 0, NULL);
    const tn_type *parts[] = {x, s, s};
    tn_type *type = TN_NEW(a, tn_type);
    *type = (tn_type){.kind = TN_TYPE_FUNCTION, .n_parts = 3, .n_inputs = 2, .parts = parts};
    tn_function *f = tn_module_add_function(m, "f", type);
    tn_region_init(m, &f->body, f, NULL, 2);
    for (uint32_t i = 0; i < 2; i++) f->body.args[i].type = parts[i];
    tn_value *args[] = {&f->body.args[0], &f->body.args[1]};

    tn_op *dot = append(m, &f->body, TN_OP_dot_general, x, 2, (tn_value *[]){args[0], args[0]}, 0);
    tn_op_set_attr(m, dot, TN_ATTR_lhs_contracting_dimensions, tn_attr_ints(a, one, 1));
    tn_op_set_attr(m, dot, TN_ATTR_rhs_contracting_dimensions, tn_attr_ints(a, zero, 1));
    tn_op_set_attr(m, dot, TN_ATTR_lhs_batching_dimensions, tn_attr_ints(a, NULL, 0));

    tn_op *reduce =
        append(m, &f->body, TN_OP_reduce, s, 2, (tn_value *[]){&dot->results[0], args[1]}, 1);
    tn_op_set_attr(m, reduce, TN_ATTR_dimensions, tn_attr_ints(a, zero, 1));
    tn_region *body = &reduce->regions[0];
    tn_region_init(m, body, f, reduce, 2);
    for (uint32_t i = 0; i < 2; i++) body->args[i].type = s;
    tn_op *add =
        append(m, body, TN_OP_add, s, 2, (tn_value *[]){&body->args[0], &body->args[1]}, 0);
    append(m, body, TN_OP_return, NULL, 1, (tn_value *[]){&add->results[0]}, 0);

    tn_op *two = tn_op_new(m, TN_OP_optimization_barrier, 2, 2, 0);
    two->operands[0] = &reduce->results[0];
    two->operands[1] = args[1];
    two->results[0].type = two->results[1].type = s;
    tn_op_append(&f->body, two);
    append(m, &f->body, TN_OP_return, NULL, 1, (tn_value *[]){&two->results[1]}, 0);
    size_t size;
    const char *text = tn_module_print(m, a, &size);
    tn_text_add(t, text, size);
}

static void a_module_prints_as_mlir_reads_it(void **state)
{
    expect(
        print_module,
        "module @\"a module\" {\n"
        "  func.func private @f(%arg0: tensor<2x?xf32>, %arg1: tensor<f32>) -> (tensor<f32>) {\n"
        "    %0 = \"stablehlo.dot_general\"(%arg0, %arg0) <{dot_dimension_numbers = "
        "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : "
        "(tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>\n"
        "    %1 = \"stablehlo.reduce\"(%0, %arg1) <{dimensions = array<i64: 0>}> ({\n"
        "    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):\n"
        "      %2 = \"stablehlo.add\"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
        "      \"stablehlo.return\"(%2) : (tensor<f32>) -> ()\n"
        "    }) : (tensor<2x?xf32>, tensor<f32>) -> tensor<f32>\n"
        "    %3:2 = \"stablehlo.optimization_barrier\"(%1, %arg1) : (tensor<f32>, tensor<f32>) -> "
        "(tensor<f32>, tensor<f32>)\n"
        "    \"func.return\"(%3#1) : (tensor<f32>) -> ()\n"
        "  }\n"
        "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(floats_are_short_and_read_back),
        cmocka_unit_test(constants_of_every_kind),
        cmocka_unit_test(large_constants_are_bytes),
        cmocka_unit_test(attributes_of_every_kind),
        cmocka_unit_test(a_module_prints_as_mlir_reads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
