/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/named_value.h"

#include "pjrt/pjrt_test.h"

#define NAMED(text)                                                                                \
    .struct_size = PJRT_NamedValue_STRUCT_SIZE, .name = text, .name_size = sizeof text - 1

static void all_kinds_go_both_ways(void **state)
{
    const int64_t list[] = {5, 6, 7};
    const PJRT_NamedValue in[] = {
        {NAMED("text"), .type = PJRT_NamedValue_kString, .string_value = "abc", .value_size = 2},
        {NAMED("empty"), .type = PJRT_NamedValue_kString, .string_value = NULL, .value_size = 0},
        {NAMED("int"), .type = PJRT_NamedValue_kInt64, .int64_value = -9, .value_size = 1},
        {NAMED("list"), .type = PJRT_NamedValue_kInt64List, .int64_array_value = list,
         .value_size = 3},
        {NAMED("float"), .type = PJRT_NamedValue_kFloat, .float_value = 1.5f, .value_size = 1},
        {NAMED("bool"), .type = PJRT_NamedValue_kBool, .bool_value = true, .value_size = 1}};
    enum { N = sizeof in / sizeof *in };
    tn_named_value *ours;
    must(tn_pjrt_take_values(in, N, &ours));
    assert_int_equal(ours[0].size, 2);
    assert_memory_equal(ours[0].string, "ab", 2);
    assert_string_equal(ours[1].string, "");
    assert_int_equal(ours[2].integer, -9);
    assert_ptr_equal(ours[3].integers, list);
    assert_int_equal(ours[3].size, 3);
    assert_true(ours[4].real == 1.5f);
    assert_true(ours[5].boolean);

    PJRT_NamedValue *out;
    must(tn_pjrt_give_values(ours, N, &out));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(out[i].struct_size, PJRT_NamedValue_STRUCT_SIZE);
        assert_ptr_equal(out[i].name, in[i].name);
        assert_int_equal(out[i].name_size, in[i].name_size);
        assert_int_equal(out[i].type, in[i].type);
        assert_int_equal(out[i].value_size, in[i].value_size);
    }
    assert_int_equal(out[2].int64_value, -9);
    assert_true(out[4].float_value == 1.5f);
    assert_true(out[5].bool_value);
    free(out);
    free(ours);
    must(tn_pjrt_take_values(NULL, 0, &ours));
    assert_null(ours);
}

static void bad_ones_are_named(void **state)
{
    tn_named_value *ours;
    PJRT_NamedValue v = {NAMED("odd"), .type = 9, .value_size = 1};
    expect_status(tn_pjrt_take_values(&v, 1, &ours), TN_INVALID_ARGUMENT, "\"odd\"");
    v = (PJRT_NamedValue){NAMED("text"), .type = PJRT_NamedValue_kString, .value_size = 4};
    expect_status(tn_pjrt_take_values(&v, 1, &ours), TN_INVALID_ARGUMENT, "\"text\" is NULL");
    v = (PJRT_NamedValue){NAMED("list"), .type = PJRT_NamedValue_kInt64List, .value_size = 4};
    expect_status(tn_pjrt_take_values(&v, 1, &ours), TN_INVALID_ARGUMENT, "\"list\" is NULL");
    v = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE};
    expect_status(tn_pjrt_take_values(&v, 1, &ours), TN_INVALID_ARGUMENT, "no name");
    v.struct_size = 8;
    expect_status(tn_pjrt_take_values(&v, 1, &ours), TN_INVALID_ARGUMENT, "struct_size");
    expect_status(tn_pjrt_take_values(NULL, 1, &ours), TN_INVALID_ARGUMENT, "NULL");
}

static void payloads_are_strings(void **state)
{
    PJRT_NamedValue v = {NAMED("why"), .type = PJRT_NamedValue_kString, .string_value = "a\0b",
                         .value_size = 3};
    tn_status *s = TN_ERROR(ABORTED, "x");
    must(tn_pjrt_take_payload(&v, 1, &s));
    assert_int_equal(tn_status_payload_count(s), 1);
    const char *key, *value;
    size_t key_size, value_size;
    tn_status_payload(s, 0, &key, &key_size, &value, &value_size);
    assert_int_equal(key_size, 3);
    assert_int_equal(value_size, 3);
    assert_memory_equal(value, "a\0b", 3);

    v.type = PJRT_NamedValue_kInt64;
    expect_status(tn_pjrt_take_payload(&v, 1, &s), TN_INVALID_ARGUMENT,
                  "\"why\": expected string, got int64");
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_go_both_ways),
        cmocka_unit_test(bad_ones_are_named),
        cmocka_unit_test(payloads_are_strings),
    };
    return cmocka_run_group_tests_name("pjrt-named_value", tests, NULL, NULL);
}
