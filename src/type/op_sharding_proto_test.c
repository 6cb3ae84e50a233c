/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "type/op_sharding_proto.h"

static void expect_bytes(const tn_op_sharding *s, const char *want, size_t want_size)
{
    void *data;
    size_t size;
    assert_null(tn_op_sharding_encode(s, &data, &size));
    assert_int_equal(size, want_size);
    assert_memory_equal(data, want, size);
    free(data);
}
#define EXPECT(s, text) expect_bytes(s, text, sizeof text - 1)
#define INTS(...)       ((const int64_t[]){__VA_ARGS__})

/* The bytes are those that jaxlib 0.10.2 writes for the same OpSharding and reads as the
 * HloSharding in the comment. */
static void bytes_are_those_of_xla(void **state)
{
    tn_op_sharding s = {.kind = TN_SHARDING_REPLICATED};
    EXPECT(&s, ""); /* {replicated} */
    s = (tn_op_sharding){.kind = TN_SHARDING_MAXIMAL, .device = 300};
    EXPECT(&s, "\x08\x01\x1a\x01\x01\x22\x02\xac\x02"); /* {maximal device=300} */
    s = (tn_op_sharding){.kind = TN_SHARDING_MANUAL};
    EXPECT(&s, "\x08\x04"); /* {manual} */

    s = (tn_op_sharding){
        .kind = TN_SHARDING_TILED, .dims = INTS(2, 2), .n_dims = 2, .devices = INTS(0, 2, 1, 3)};
    EXPECT(&s, "\x08\x03\x1a\x02\x02\x02\x22\x04\0\2\1\3"); /* {devices=[2,2]0,2,1,3} */

    const tn_sharding_kind subgroups[] = {TN_SHARDING_REPLICATED, TN_SHARDING_MANUAL};
    s = (tn_op_sharding){.kind = TN_SHARDING_TILED,
                         .dims = INTS(2, 1, 2),
                         .n_dims = 3,
                         .devices = INTS(0, 1, 2, 3),
                         .subgroup = subgroups,
                         .n_subgroups = 1};
    /* {devices=[2,1,2]0,1,2,3 last_tile_dim_replicate} */
    EXPECT(&s, "\x08\x03\x1a\x03\2\1\2\x22\x04\0\1\2\3\x30\1");

    s = (tn_op_sharding){.kind = TN_SHARDING_TILED,
                         .dims = INTS(2, 2, 2),
                         .n_dims = 3,
                         .devices = INTS(0, 1, 2, 3, 4, 5, 6, 7),
                         .subgroup = subgroups,
                         .n_subgroups = 2};
    /* {devices=[2,2,2]0,2,1,3,4,6,5,7 last_tile_dims={manual, replicated}} */
    EXPECT(&s, "\x08\x03\x1a\x03\2\2\2\x22\x08\0\1\2\3\4\5\6\7\x42\x02\0\4");

    s = (tn_op_sharding){
        .kind = TN_SHARDING_TILED, .dims = INTS(1, 1), .n_dims = 2, .devices = INTS(0)};
    EXPECT(&s, ""); /* one tile: replicated */
}

static void expect_error(const tn_op_sharding *s, const char *part)
{
    void *data;
    size_t size;
    tn_status *status = tn_op_sharding_encode(s, &data, &size);
    assert_non_null(status);
    assert_int_equal(tn_status_code(status), TN_INVALID_ARGUMENT);
    assert_non_null(strstr(tn_status_message(status), part));
    tn_status_free(status);
}

static void impossible_tiles_are_refused(void **state)
{
    tn_op_sharding s = {.kind = TN_SHARDING_TILED};
    expect_error(&s, "expected at least 1 dimension");
    s.dims = INTS(2, 0);
    s.n_dims = 2;
    expect_error(&s, "dimension 1 of the grid is 0");
    s.dims = INTS(INT64_MAX, 4);
    expect_error(&s, "dimension 0 of the grid is 9223372036854775807");
    s.dims = INTS(2, 2);
    s.n_subgroups = 3;
    expect_error(&s, "3 of them subgroups; got 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_xla),
        cmocka_unit_test(impossible_tiles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
