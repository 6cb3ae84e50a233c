/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts that compile options ask for, beside those that the program asks for. */
#include "base/proto.h"
#include "executable/compile_options.h"
#include "executable/program_test.h"

typedef struct {
    int64_t dims[2], order[2];
    bool tiled;
} shape;

static void put_shape(tn_proto_writer *w, uint32_t field, const shape *s)
{
    size_t at = tn_proto_begin(w, field);
    tn_proto_put_int64(w, 2, 11);
    tn_proto_put_packed(w, 3, s->dims, 2);
    if (s->order[0] || s->order[1]) {
        size_t layout = tn_proto_begin(w, 5);
        tn_proto_put_packed(w, 1, s->order, 2);
        if (s->tiled) tn_proto_put_bytes(w, 6, "", 0);
        tn_proto_end(w, layout);
    }
    tn_proto_end(w, at);
}

/* f(a, b) = (a + a, b), whose parameters and results have the attributes `of_a` and `of_b`. */
static tn_status *compile_with(const shape *args, size_t n_args, const shape *results,
                               size_t n_results, const char *of_a, const char *of_b,
                               tn_executable **out)
{
    tn_proto_writer w = {0};
    for (size_t i = 0; i < n_args; i++) put_shape(&w, 1, &args[i]);
    if (n_results) {
        size_t build = tn_proto_begin(&w, 3), tuple = tn_proto_begin(&w, 2);
        tn_proto_put_int64(&w, 2, 13);
        for (size_t i = 0; i < n_results; i++) put_shape(&w, 4, &results[i]);
        tn_proto_end(&w, tuple);
        tn_proto_end(&w, build);
    }
    void *data;
    size_t size;
    assert_null(tn_proto_finish(&w, &data, &size));
    tn_compile_options *options;
    assert_null(tn_compile_options_decode(data, size, &options));
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<2x3xf32> %s, %%b: tensor<4x5xf32>) -> (tensor<2x3xf32>, "
             "tensor<4x5xf32> %s) {\n%%c = stablehlo.add %%a, %%a : tensor<2x3xf32>\n"
             "return %%c, %%b : tensor<2x3xf32>, tensor<4x5xf32>\n}",
             of_a, of_b);
    tn_status *s = tn_compile(text, strlen(text), "mlir", 4, options, out);
    tn_compile_options_free(options);
    free(data);
    return s;
}

static void assert_order(const tn_executable_value *v, int64_t minor)
{
    if (minor == 1) {
        assert_null(v->order);
        return;
    }
    assert_non_null(v->order);
    assert_int_equal(v->order[0], 0);
    assert_int_equal(v->order[1], 1);
}

static void expect_orders(tn_status *s, tn_executable **made, int64_t a, int64_t b, int64_t c,
                          int64_t d)
{
    if (s) fail_msg("%s", tn_status_message(s));
    tn_executable *e = *made;
    const tn_executable_info *info = tn_executable_get_info(e);
    assert_order(&info->params[0], a);
    assert_order(&info->params[1], b);
    assert_order(&info->results[0], c);
    assert_order(&info->results[1], d);
    assert_int_equal(info->params[0].type->dims[0], 2);
    tn_executable_release(e);
}

static void expect_text(tn_status *s, tn_code code, const char *part)
{
    assert_non_null(s);
    assert_int_equal(tn_status_code(s), code);
    if (!strstr(tn_status_message(s), part)) fail_msg("%s", tn_status_message(s));
    tn_status_free(s);
}

#define COLUMNS "{mhlo.layout_mode = \"{0,1}\"}"
#define ROWS    "{mhlo.layout_mode = \"{1,0}\"}"

static const shape columns[] = {{{2, 3}, {0, 1}, false}, {{4, 5}, {0, 1}, false}};
static const shape mixed[] = {{{2, 3}, {1, 0}, false}, {{4, 5}, {0, 1}, false}};
static const shape open_ones[] = {{{2, 3}, {0, 0}, false}, {{4, 5}, {0, 0}, false}};

static void options_settle_what_the_program_leaves_open(void **state)
{
    tn_executable *e = NULL;
    expect_orders(compile_with(columns, 2, mixed, 2, "", "", &e), &e, 0, 0, 1, 0);
    expect_orders(compile_with(NULL, 0, columns, 2, "", "", &e), &e, 1, 1, 0, 0);
    expect_orders(compile_with(mixed, 2, NULL, 0, "", "", &e), &e, 1, 0, 1, 1);
    expect_orders(compile_with(open_ones, 2, open_ones, 2, "", "", &e), &e, 1, 1, 1, 1);
    expect_orders(compile_with(open_ones, 2, mixed, 2, COLUMNS, COLUMNS, &e), &e, 0, 1, 1, 0);
    expect_orders(compile_with(columns, 2, open_ones, 2, "{mhlo.layout_mode = \"default\"}",
                               "{mhlo.layout_mode = \"auto\"}", &e),
                  &e, 0, 0, 1, 1);
}

static void what_cannot_be_is_named(void **state)
{
    tn_executable *e = NULL;
    static const shape tiled[] = {{{2, 3}, {0, 1}, true}, {{4, 5}, {0, 1}, false}};
    static const shape twice[] = {{{2, 3}, {1, 1}, false}, {{4, 5}, {0, 1}, false}};
    static const shape other[] = {{{2, 3}, {0, 1}, false}, {{5, 4}, {0, 1}, false}};
    expect_text(compile_with(tiled, 2, NULL, 0, "", "", &e), TN_UNIMPLEMENTED,
                "tiled layout of parameter 0");
    expect_text(compile_with(NULL, 0, twice, 2, "", "", &e), TN_INVALID_ARGUMENT,
                "result 0 whose minor_to_major is no order");
    expect_text(compile_with(other, 2, NULL, 0, "", "", &e), TN_INVALID_ARGUMENT,
                "parameter 1, which is tensor<4x5xf32>");
    expect_text(compile_with(columns, 1, NULL, 0, "", "", &e), TN_INVALID_ARGUMENT,
                "layouts for 1 parameters, expected 2");
    expect_text(compile_with(NULL, 0, columns, 1, "", "", &e), TN_INVALID_ARGUMENT,
                "layouts for 1 results, expected 2");
    expect_text(compile_with(columns, 2, NULL, 0, ROWS, "", &e), TN_INVALID_ARGUMENT,
                "parameter 0 has a layout in the program and another in the compile options");
    expect_text(compile_with(NULL, 0, NULL, 0, "{mhlo.layout_mode = \"{0,1:T(8,128)}\"}", "", &e),
                TN_UNIMPLEMENTED, "only the order of dimensions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_settle_what_the_program_leaves_open),
        cmocka_unit_test(what_cannot_be_is_named),
    };
    return cmocka_run_group_tests_name("executable-layouts", tests, NULL, NULL);
}
