/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/proto.h"

static tn_arena *arena;

/* Runs the body of a test where it may allocate in the arena. */
static void in_arena(tn_status *(*body)(void *))
{
    arena = tn_arena_new();
    assert_non_null(arena);
    assert_null(tn_arena_run(arena, body, NULL));
    tn_arena_free(arena);
}

static void expect_error(tn_status *s, const char *part)
{
    assert_non_null(s);
    assert_int_equal(tn_status_code(s), TN_INVALID_ARGUMENT);
    if (!strstr(tn_status_message(s), part))
        fail_msg("\"%s\" is not in \"%s\"", part, tn_status_message(s));
    tn_status_free(s);
}

#define READ(r, text) tn_proto_read(r, "M", text, sizeof text - 1)
/* The reader at the first field of `text`. */
#define FIRST(r, text)                                                                             \
    do {                                                                                           \
        bool more_;                                                                                \
        READ(r, text);                                                                             \
        assert_null(tn_proto_next(r, &more_));                                                     \
        assert_true(more_);                                                                        \
    } while (0)

static tn_status *written(void *unused)
{
    const int64_t list[] = {0, 1, -1, 1 << 20};
    tn_proto_writer w = {0};
    tn_proto_put_int64(&w, 1, -5);
    tn_proto_put_double(&w, 2, 2.5);
    tn_proto_put_bytes(&w, 3, "text", 4);
    tn_proto_put_packed(&w, 4, list, 4);
    size_t outer = tn_proto_begin(&w, 5), inner = tn_proto_begin(&w, 6);
    for (int i = 0; i < 100; i++) tn_proto_put_int64(&w, 7, i);
    tn_proto_end(&w, inner);
    tn_proto_end(&w, outer);
    tn_proto_put_int64(&w, 536870911, 1);
    void *data;
    size_t size;
    assert_null(tn_proto_finish(&w, &data, &size));

    tn_proto_reader r, in;
    tn_proto_list got = {0};
    tn_proto_read(&r, "M", data, size);
    int64_t n = 0, sum = 0, last = 0;
    double d = 0;
    const char *s = NULL;
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&r, &more));
        if (!more) break;
        switch (r.field) {
        case 1: TN_TRY(tn_proto_int64(&r, "n", &n)); break;
        case 2: TN_TRY(tn_proto_double(&r, "d", &d)); break;
        case 3: TN_TRY(tn_proto_string(&r, "s", arena, &s)); break;
        case 4: TN_TRY(tn_proto_append(&r, "list", arena, &got)); break;
        case 5:
            TN_TRY(tn_proto_message(&r, "in", "In", &in));
            TN_TRY(tn_proto_next(&in, &more));
            TN_TRY(tn_proto_message(&in, "in", "In", &in)); /* a reader may read into itself */
            TN_TRY(tn_proto_next(&in, &more));
            for (; more; sum += last) {
                TN_TRY(tn_proto_int64(&in, "x", &last));
                TN_TRY(tn_proto_next(&in, &more));
            }
            break;
        case 536870911: TN_TRY(tn_proto_int64(&r, "last", &last)); break;
        default: fail_msg("field %u", r.field);
        }
    }
    assert_int_equal(n, -5);
    assert_true(d == 2.5);
    assert_string_equal(s, "text");
    assert_int_equal(got.n, 4);
    assert_memory_equal(got.at, list, sizeof list);
    assert_int_equal(sum, 4950);
    assert_int_equal(last, 1);
    free(data);
    return NULL;
}

static void what_is_written_is_read(void **state)
{
    in_arena(written);
}

static void bytes_are_those_of_the_format(void **state)
{
    tn_proto_writer w = {0};
    void *data;
    size_t size;
    assert_null(tn_proto_finish(&w, &data, &size));
    assert_int_equal(size, 0);
    assert_non_null(data);
    free(data);
    tn_proto_put_int64(&w, 1, 300);
    tn_proto_put_packed(&w, 3, (const int64_t[]){3, 270}, 2);
    tn_proto_put_packed(&w, 4, NULL, 0);
    assert_null(tn_proto_finish(&w, &data, &size));
    assert_int_equal(size, 8);
    assert_memory_equal(data, "\x08\xac\x02\x1a\x03\x03\x8e\x02", 8);
    free(data);
}

static tn_status *lists(void *unused)
{
    tn_proto_reader r;
    tn_proto_list list = {0};
    READ(&r, "\x08\x05\x0a\x03\x01\x02\x03\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    for (int i = 0; i < 3; i++) {
        bool more;
        TN_TRY(tn_proto_next(&r, &more));
        TN_TRY(tn_proto_append(&r, "x", arena, &list));
    }
    const int64_t want[] = {5, 1, 2, 3, -1};
    assert_int_equal(list.n, 5);
    assert_memory_equal(list.at, want, sizeof want);
    FIRST(&r, "\x0a\x02\x01\x80");
    expect_error(tn_proto_append(&r, "x", arena, &list), "M.x: number 6 of the list is cut short");
    FIRST(&r, "\x0d\x01\x02\x03\x04");
    expect_error(tn_proto_append(&r, "x", arena, &list), "M.x: expected bytes, got fixed32");
    const char *s;
    FIRST(&r, "\x0a\x02x\0");
    expect_error(tn_proto_string(&r, "x", arena, &s), "M.x: the string holds a NUL");
    return NULL;
}

static void lists_may_be_packed_or_not(void **state)
{
    in_arena(lists);
}

static void groups_are_skipped(void **state)
{
    tn_proto_reader r;
    int64_t x;
    /* group 1 { group 2 {} 3: varint, 4: bytes, 5: fixed32, 6: fixed64 } 7: 9 */
    FIRST(&r, "\x0b\x13\x14\x18\x80\x01\x22\x01z\x2d\1\2\3\4\x31\1\2\3\4\5\6\7\x08\x0c\x38\x09");
    assert_int_equal(r.field, 7);
    assert_null(tn_proto_int64(&r, "x", &x));
    assert_int_equal(x, 9);
}

static void damage_is_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
#define CASE(text, message) {text, sizeof text - 1, message}
        CASE("\x80", "M: the number of a field is cut short"),
        CASE("\x00\x01", "M: field number 0 is not in"),
        CASE("\x88\x80\x80\x80\x10\x01", "M: field number 536870913 is not in"),
        CASE("\x0e", "M: field 1 has wire type 6"),
        CASE("\x08", "M: field 1 (varint) goes beyond the end"),
        CASE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "M: field 1 (varint) goes beyond"),
        CASE("\x09\1\2\3\4\5\6\7", "M: field 1 (fixed64) goes beyond"),
        CASE("\x0d\1\2\3", "M: field 1 (fixed32) goes beyond"),
        CASE("\x12\x05only", "M: field 2 (bytes) goes beyond"),
        CASE("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "M: field 2 (bytes) goes beyond"),
        CASE("\x0c", "M: group 1 ends but never began"),
        CASE("\x0b\x14", "M: group 1 ends as group 2"),
        CASE("\x0b\x08\x01", "M: field 1 (start of group) goes beyond"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_proto_reader r;
        bool more = true;
        tn_status *s = NULL;
        tn_proto_read(&r, "M", cases[i].bytes, cases[i].size);
        while (!s && more) s = tn_proto_next(&r, &more);
        expect_error(s, cases[i].message);
    }
}

static void wrong_kinds_and_ranges_are_named(void **state)
{
    tn_proto_reader r, in;
    int64_t n = 7;
    bool b;
    float f;
    double d;
    const void *p;
    size_t size;
    FIRST(&r, "\x08\x0b");
    expect_error(tn_proto_bytes(&r, "x", &p, &size), "M.x: expected bytes, got varint");
    expect_error(tn_proto_message(&r, "x", "In", &in), "M.x: expected bytes, got varint");
    expect_error(tn_proto_float(&r, "x", &f), "M.x: expected fixed32, got varint");
    expect_error(tn_proto_double(&r, "x", &d), "M.x: expected fixed64, got varint");
    expect_error(tn_proto_int64_in(&r, "x", -1, 10, &n), "number from -1 to 10, got 11");
    assert_int_equal(n, 7);
    assert_null(tn_proto_bool(&r, "x", &b));
    assert_true(b);
    FIRST(&r, "\x0d\x00\x00\x20\x40");
    assert_null(tn_proto_float(&r, "x", &f));
    assert_true(f == 2.5f);
    expect_error(tn_proto_int64(&r, "x", &n), "M.x: expected varint, got fixed32");
    expect_error(tn_proto_bool(&r, "x", &b), "M.x: expected varint, got fixed32");
}

static void depth_is_limited(void **state)
{
    char deep[2 * TN_PROTO_MAX_DEPTH];
    memset(deep, 0x0b, sizeof deep); /* group 1 { group 1 { ... */
    tn_proto_reader r;
    bool more;
    tn_proto_read(&r, "M", deep, sizeof deep);
    expect_error(tn_proto_next(&r, &more), "groups nest deeper than 64");

    tn_proto_writer w = {0};
    size_t begun[80];
    void *data;
    size_t size;
    for (int i = 0; i < 80; i++) begun[i] = tn_proto_begin(&w, 1);
    for (int i = 80; i--;) tn_proto_end(&w, begun[i]);
    assert_null(tn_proto_finish(&w, &data, &size));
    tn_proto_read(&r, "M", data, size);
    tn_status *s = NULL;
    int levels = 0;
    for (; !s; levels++) {
        assert_null(tn_proto_next(&r, &more));
        assert_true(more);
        s = tn_proto_message(&r, "x", "M", &r);
    }
    assert_int_equal(levels, TN_PROTO_MAX_DEPTH);
    expect_error(s, "M.x: messages nest deeper than 64");
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(bytes_are_those_of_the_format),
        cmocka_unit_test(lists_may_be_packed_or_not),
        cmocka_unit_test(groups_are_skipped),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(wrong_kinds_and_ranges_are_named),
        cmocka_unit_test(depth_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
