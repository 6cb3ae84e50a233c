/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/checked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const program =
    "module {\n"
    "func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %i: tensor<i32>) -> "
    "(tensor<4xf32>, tensor<2xf32>) {\n"
    "%0 = stablehlo.log %x : tensor<4xf32>\n"
    "%1 = stablehlo.add %0, %x : tensor<4xf32>\n"
    "%2 = \"stablehlo.dynamic_slice\"(%x, %i) <{slice_sizes = array<i64: 2>}> : (tensor<4xf32>, "
    "tensor<i32>) -> tensor<2xf32>\n"
    "return %1, %2 : tensor<4xf32>, tensor<2xf32>\n}\n}\n";

static _Alignas(64) float x[16], slice[16];
static _Alignas(64) int32_t start[16];

static void run(unsigned checks, tn_status *(*compiled)(const tn_executable *, const tn_run *),
                tn_code code, const char *text)
{
    tn_executable *e;
    tn_status *s = tn_compile(program, strlen(program), "mlir", 4, NULL, &e);
    if (s) fail_msg("%s", tn_status_message(s));
    void *temp = aligned_alloc(64, tn_executable_get_info(e)->temp_bytes + 64);
    tn_run r = {.args = (void *[]){x, start}, .results = (void *[]){x, slice}, .temp = temp};
    s = tn_run_checked(e, &r, checks, compiled);
    const char *message = s ? tn_status_message(s) : "";
    if ((s ? tn_status_code(s) : TN_OK) != code || !strstr(message, text))
        fail_msg("got \"%s\", expected \"%s\"", message, text);
    tn_status_free(s);
    tn_executable_release(e);
    free(temp);
}

static void fill(float first, int32_t i)
{
    for (int k = 0; k < 4; k++) x[k] = first + (float)k;
    start[0] = i;
}

static tn_status *wrong(const tn_executable *e, const tn_run *r)
{
    tn_status *s = tn_executable_run(e, r);
    ((float *)r->results[1])[1] += 1;
    return s;
}

static void right_values_pass(void **state)
{
    fill(1, 1);
    run(TN_CHECK_VALUES | TN_CHECK_NAN | TN_CHECK_BOUNDS, tn_executable_run, TN_OK, "");
    assert_true(x[0] == 1 && slice[0] == 2);
}

static void a_wrong_value_is_told_with_both(void **state)
{
    fill(1, 1);
    run(TN_CHECK_VALUES, wrong, TN_INTERNAL,
        "stablehlo.dynamic_slice (at 5:6): element 1 of result 1 of the program is 4 compiled and "
        "3 "
        "by the evaluator");
}

static void the_first_nan_is_named(void **state)
{
    fill(-1, 1);
    run(TN_CHECK_NAN, tn_executable_run, TN_FAILED_PRECONDITION,
        "stablehlo.log (at 3:6): the first NaN: element 0 of result 0, tensor<4xf32>");
}

static void an_index_outside_is_named(void **state)
{
    fill(1, 3);
    run(TN_CHECK_BOUNDS, tn_executable_run, TN_OUT_OF_RANGE,
        "stablehlo.dynamic_slice (at 5:6): index 3 is outside: dimension 0 has size 4 and the "
        "window 2, so the index should be in [0, 2]; it is clamped");
}

static void differences_are_seen_in_every_type(void **state)
{
    tn_type t = {.kind = TN_TYPE_TENSOR, .element = TN_BF16, .rank = 1, .dims = (int64_t[]){3}};
    uint16_t a[3] = {0x3F80, 0x7FC0, 0x8000}, b[3] = {0x3F80, 0xFFC1, 0x0000};
    char text[64];
    assert_int_equal(tn_first_difference(&t, a, b), 2); /* NaNs are equal, zeros are not */
    assert_string_equal(tn_element_text(&t, a, 0, text, sizeof text), "1");
    t.element = TN_C64;
    float p[6] = {1, 2, 3, 4, 5, 6}, q[6] = {1, 2, 3, 5, 5, 6};
    assert_int_equal(tn_first_difference(&t, p, q), 1);
    assert_string_equal(tn_element_text(&t, p, 1, text, sizeof text), "(3, 4)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_values_pass),
        cmocka_unit_test(a_wrong_value_is_told_with_both),
        cmocka_unit_test(the_first_nan_is_named),
        cmocka_unit_test(an_index_outside_is_named),
        cmocka_unit_test(differences_are_seen_in_every_type),
    };
    return cmocka_run_group_tests_name("executable-checked", tests, NULL, NULL);
}
