/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/shape.h"

#include "pjrt/pjrt_test.h"

static const int64_t dims[] = {2, 3};

static void shapes_borrow_the_callers_arrays(void **state)
{
    tn_pjrt_shape s;
    must(tn_pjrt_take_shape(PJRT_Buffer_Type_BF16, dims, 2, NULL, &s));
    assert_int_equal(s.type.kind, TN_TYPE_TENSOR);
    assert_int_equal(s.type.element, TN_BF16);
    assert_int_equal(s.type.rank, 2);
    assert_ptr_equal(s.type.dims, dims);
    assert_null(s.layout);
    must(tn_pjrt_take_shape(PJRT_Buffer_Type_TOKEN, NULL, 0, NULL, &s));
    assert_int_equal(s.type.kind, TN_TYPE_TOKEN);
}

static void what_is_no_array_is_refused(void **state)
{
    const int64_t negative[] = {2, -1};
    tn_pjrt_shape s;
    expect_status(tn_pjrt_take_shape(99, dims, 2, NULL, &s), TN_INVALID_ARGUMENT, "type 99");
    expect_status(tn_pjrt_take_shape(0, dims, 2, NULL, &s), TN_INVALID_ARGUMENT, "type 0");
    expect_status(tn_pjrt_take_shape(-1, dims, 2, NULL, &s), TN_INVALID_ARGUMENT, "type -1");
    expect_status(tn_pjrt_take_shape(PJRT_Buffer_Type_S1, dims, 2, NULL, &s), TN_UNIMPLEMENTED,
                  "type 30");
    expect_status(tn_pjrt_take_shape(PJRT_Buffer_Type_F32, negative, 2, NULL, &s),
                  TN_INVALID_ARGUMENT, "dimension 1 is -1");
    expect_status(tn_pjrt_take_shape(PJRT_Buffer_Type_F32, NULL, 2, NULL, &s), TN_INVALID_ARGUMENT,
                  "2 dimensions");
    expect_status(tn_pjrt_take_shape(PJRT_Buffer_Type_F32, dims, SIZE_MAX, NULL, &s),
                  TN_INVALID_ARGUMENT, "dimensions");
    expect_status(tn_pjrt_take_shape(PJRT_Buffer_Type_TOKEN, dims, 2, NULL, &s),
                  TN_INVALID_ARGUMENT, "token");
}

static void layouts_come_in_both_kinds(void **state)
{
    const int64_t order[] = {0, 1}, strides[] = {-4, 8};
    PJRT_Buffer_MemoryLayout l = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                  .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
                                  .tiled = {.minor_to_major = order, .minor_to_major_size = 2}};
    tn_layout storage;
    const tn_layout *got;
    must(tn_pjrt_take_layout(&l, 2, &storage, &got));
    assert_ptr_equal(got, &storage);
    assert_int_equal(got->kind, TN_LAYOUT_ORDER);
    assert_int_equal(got->rank, 2);
    assert_ptr_equal(got->values, order);
    assert_int_equal(got->n_tiles, 0);
    l.tiled.num_tiles = 3;
    must(tn_pjrt_take_layout(&l, 2, &storage, &got));
    assert_int_not_equal(got->n_tiles, 0);
    expect_status(tn_pjrt_take_layout(&l, 3, &storage, &got), TN_INVALID_ARGUMENT,
                  "2 dimensions for an array of 3");
    l.tiled.minor_to_major = NULL;
    expect_status(tn_pjrt_take_layout(&l, 2, &storage, &got), TN_INVALID_ARGUMENT, "numbers");

    l.type = PJRT_Buffer_MemoryLayout_Type_Strides;
    l.strides = (PJRT_Buffer_MemoryLayout_Strides){.byte_strides = strides, .num_byte_strides = 2};
    must(tn_pjrt_take_layout(&l, 2, &storage, &got));
    assert_int_equal(got->kind, TN_LAYOUT_STRIDES);
    assert_ptr_equal(got->values, strides);
    l.type = 7;
    expect_status(tn_pjrt_take_layout(&l, 2, &storage, &got), TN_INVALID_ARGUMENT, "type 7");
    l.struct_size = 0; /* as jaxlib leaves it where it copies between clients */
    l.type = PJRT_Buffer_MemoryLayout_Type_Strides;
    must(tn_pjrt_take_layout(&l, 2, &storage, &got));
    must(tn_pjrt_take_layout(NULL, 2, &storage, &got));
    assert_null(got);
}

/* The bytes that XLA's CPU plugin of 0.115 gives. */
static void shape_protos_are_xlas(void **state)
{
    static const struct {
        PJRT_Buffer_Type type;
        size_t rank;
        const char *bytes;
        size_t size;
    } rows[] = {
#define ROW(type, rank, bytes) {PJRT_Buffer_Type_##type, rank, bytes, sizeof bytes - 1}
        ROW(PRED, 0, "\x10\x01\x2a\x03\x80\x01\x01"),
        ROW(BF16, 0, "\x10\x10\x2a\x03\x80\x01\x01"),
        ROW(C64, 0, "\x10\x0f\x2a\x03\x80\x01\x01"),
        ROW(F8E8M0FNU, 0, "\x10\x21\x2a\x03\x80\x01\x01"),
        ROW(F6E2M3FN, 0, "\x10\x24\x2a\x03\x80\x01\x01"),
        ROW(F6E3M2FN, 0, "\x10\x23\x2a\x03\x80\x01\x01"),
        ROW(TOKEN, 0, "\x10\x11"),
        ROW(F64, 2, "\x10\x0c\x1a\x02\x02\x03\x2a\x07\x0a\x02\x01\x00\x80\x01\x01\x32\x02\x00\x00"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_pjrt_shape s;
        must(tn_pjrt_take_shape(rows[i].type, dims, rows[i].rank, NULL, &s));
        void *bytes;
        size_t size;
        must(tn_pjrt_shape_proto(&s.type, &bytes, &size));
        assert_int_equal(size, rows[i].size);
        assert_memory_equal(bytes, rows[i].bytes, size);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_borrow_the_callers_arrays),
        cmocka_unit_test(what_is_no_array_is_refused),
        cmocka_unit_test(layouts_come_in_both_kinds),
        cmocka_unit_test(shape_protos_are_xlas),
    };
    return cmocka_run_group_tests_name("pjrt-shape", tests, NULL, NULL);
}
