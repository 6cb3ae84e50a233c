/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reader/cursor.h"

#define CURSOR(...)                                                                                \
    const uint8_t bytes_[] = {__VA_ARGS__};                                                        \
    tn_cursor c = tn_cursor_make(bytes_, bytes_, sizeof bytes_)

static void numbers_take_one_to_nine_bytes(void **state)
{
    CURSOR(0x01, 0x03, 0xFF,                                      /* 0, 1, 127 */
           0x02, 0x02,                                            /* 128 in two bytes */
           0x04, 0x00, 0x10,                                      /* 2^17 in three */
           0x80, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,        /* 2^56 - 1 in eight */
           0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF); /* 2^64 - 1 in nine */
    assert_int_equal(tn_cursor_varint(&c), 0);
    assert_int_equal(tn_cursor_varint(&c), 1);
    assert_int_equal(tn_cursor_varint(&c), 127);
    assert_int_equal(tn_cursor_varint(&c), 128);
    assert_int_equal(tn_cursor_varint(&c), 1 << 17);
    assert_true(tn_cursor_varint(&c) == (UINT64_C(1) << 56) - 1);
    assert_true(tn_cursor_varint(&c) == UINT64_MAX);
    assert_null(tn_cursor_finish(&c, "the test"));
}

static void signed_numbers_zigzag(void **state)
{
    /* zigzag 0, 1, 2 are 0, -1, 1; nine bytes of ones are the least number, a dynamic dimension */
    CURSOR(0x01, 0x03, 0x05, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF);
    assert_int_equal(tn_cursor_svarint(&c), 0);
    assert_int_equal(tn_cursor_svarint(&c), -1);
    assert_int_equal(tn_cursor_svarint(&c), 1);
    assert_true(tn_cursor_svarint(&c) == INT64_MIN);
}

static void flags_are_the_lowest_bit(void **state)
{
    CURSOR(0x07, 0x09); /* 3 and 4 */
    bool flag;
    assert_int_equal(tn_cursor_flagged(&c, &flag), 1);
    assert_true(flag);
    assert_int_equal(tn_cursor_flagged(&c, &flag), 2);
    assert_false(flag);
}

static void integers_have_a_width(void **state)
{
    CURSOR(0xFD, 0xFD, 0x03, 0x03);
    assert_int_equal(tn_cursor_apint(&c, 4), 0x0D); /* masked */
    assert_int_equal(tn_cursor_apint(&c, 8), 0xFD);
    assert_int_equal(tn_cursor_apint(&c, 16), 0xFFFF); /* -1 */
    assert_true(tn_cursor_apint(&c, 64) == UINT64_MAX);
    assert_null(tn_cursor_check(&c));
}

static void assert_error(tn_status *s, const char *message)
{
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    assert_string_equal(tn_status_message(s), message);
    tn_status_free(s);
}

static void the_first_failure_stays(void **state)
{
    CURSOR(0x01, 0x02);
    assert_int_equal(tn_cursor_varint(&c), 0);
    assert_int_equal(tn_cursor_varint(&c), 0); /* one byte short */
    assert_int_equal(tn_cursor_left(&c), 0);
    assert_int_equal(tn_cursor_byte(&c), 0);
    assert_error(tn_cursor_check(&c), "bytecode, byte 1: expected the rest of a number");
    assert_error(tn_cursor_finish(&c, "it"), "bytecode, byte 1: expected the rest of a number");
    assert_error(tn_cursor_error(&c, "something else"),
                 "bytecode, byte 1: expected the rest of a number");
}

static void counts_are_bounded_by_the_bytes_left(void **state)
{
    CURSOR(0x05, 0xAA, 0xBB, 0x07, 0xCC);
    assert_int_equal(tn_cursor_count(&c), 2);
    c.at += 2;
    assert_int_equal(tn_cursor_count(&c), 0); /* 3 items in one byte */
    assert_error(tn_cursor_check(&c),
                 "bytecode, byte 4: expected no more items than there are bytes");
}

static void bytes_and_texts_do_not_run_over(void **state)
{
    CURSOR('a', 0, 'b', 'c');
    size_t size;
    assert_string_equal(tn_cursor_text(&c, &size), "a");
    assert_int_equal(size, 1);
    assert_ptr_equal(tn_cursor_bytes(&c, 1), bytes_ + 2);
    tn_cursor text = c;
    assert_null(tn_cursor_text(&text, &size));
    assert_error(tn_cursor_check(&text),
                 "bytecode, byte 3: expected a string that ends in a zero byte");
    assert_null(tn_cursor_bytes(&c, UINT64_MAX));
    assert_error(tn_cursor_check(&c),
                 "bytecode, byte 3: expected as many bytes as the size before says");
}

static void left_over_bytes_are_an_error(void **state)
{
    CURSOR(0x01, 0x01, 0x01);
    tn_cursor_varint(&c);
    assert_error(tn_cursor_finish(&c, "a thing"),
                 "bytecode, byte 1: expected the end of a thing, found 2 bytes more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_take_one_to_nine_bytes),
        cmocka_unit_test(signed_numbers_zigzag),
        cmocka_unit_test(flags_are_the_lowest_bit),
        cmocka_unit_test(integers_have_a_width),
        cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(counts_are_bounded_by_the_bytes_left),
        cmocka_unit_test(bytes_and_texts_do_not_run_over),
        cmocka_unit_test(left_over_bytes_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
