/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/layout.h"
#include "runtime/runtime_test.h"

static uint64_t seed = 12345;
static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

enum { MOST_RANK = 6 };
static const tn_element_type elements[] = {TN_I8, TN_F16, TN_F32, TN_F64, TN_C128};

/* A random array in memory of its own, with the address of its first element. */
typedef struct {
    char *block, *first;
    int64_t strides[MOST_RANK];
} placed;

/* Lays out dims in a random order with gaps; some dimensions run backwards, and with `broadcast`
 * some don't move at all. */
static placed place(const tn_type *type, bool broadcast)
{
    placed p = {0};
    uint32_t order[MOST_RANK];
    for (uint32_t i = 0; i < type->rank; i++) {
        uint32_t k = (uint32_t)random_below(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    int64_t stride = tn_element_type_bytes(type->element), back = 0;
    for (uint32_t i = 0; i < type->rank; i++) {
        uint32_t d = order[i];
        if (broadcast && random_below(4) == 0) continue;
        stride += (int64_t)random_below(3) * tn_element_type_bytes(type->element);
        p.strides[d] = stride;
        stride *= type->dims[d] ? type->dims[d] : 1;
        if (random_below(3) == 0) {
            back += p.strides[d] * (type->dims[d] - 1);
            p.strides[d] = -p.strides[d];
        }
    }
    size_t size = (size_t)stride + 64;
    p.block = malloc(size);
    for (size_t i = 0; i < size; i++) p.block[i] = (char)random_below(256);
    p.first = p.block + back;
    return p;
}

static int64_t offset(const tn_type *type, const int64_t *strides, int64_t index)
{
    int64_t at = 0;
    for (uint32_t d = type->rank; d-- > 0;) {
        at += index % type->dims[d] * strides[d];
        index /= type->dims[d];
    }
    return at;
}

static void random_layouts_agree_with_the_definition(void **state)
{
    tn_thread_pool *pool;
    assert_ok(tn_thread_pool_create(2, &pool));
    for (int round = 0; round < 3000; round++) {
        int64_t dims[MOST_RANK];
        tn_type type = {.kind = TN_TYPE_TENSOR,
                        .element = elements[random_below(5)],
                        .rank = (uint32_t)random_below(MOST_RANK + 1),
                        .dims = dims};
        int64_t most = type.rank <= 2 ? 70 : 7, n = 1;
        for (uint32_t d = 0; d < type.rank; d++) n *= dims[d] = 1 + (int64_t)random_below(most);
        placed src = place(&type, true), dst = place(&type, false);
        assert_ok(tn_strided_copy(pool, &type, dst.first, dst.strides, src.first, src.strides));
        size_t bytes = tn_element_type_bytes(type.element);
        for (int64_t i = 0; i < n; i++)
            assert_memory_equal(dst.first + offset(&type, dst.strides, i),
                                src.first + offset(&type, src.strides, i), bytes);
        free(src.block);
        free(dst.block);
    }
    tn_thread_pool_destroy(pool);
}

static void a_large_transpose_on_several_threads(void **state)
{
    tn_thread_pool *pool;
    assert_ok(tn_thread_pool_create(2, &pool));
    enum { N = 700, M = 1100 };
    tn_type type = TYPE(F32, N, M);
    float *src = malloc(sizeof *src * N * M), *dst = malloc(sizeof *dst * N * M);
    for (int i = 0; i < N * M; i++) src[i] = (float)i;
    int64_t dense[2] = {M * 4, 4}, transposed[2] = {4, N * 4};
    assert_ok(tn_strided_copy(pool, &type, dst, dense, src, transposed));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) assert_true(dst[i * M + k] == src[k * N + i]);
    free(src);
    free(dst);
    tn_thread_pool_destroy(pool);
}

static void arrays_without_elements_touch_nothing(void **state)
{
    tn_type type = TYPE(F32, 3, 0, 5);
    int64_t absurd[3] = {INT64_MAX, INT64_MIN, INT64_MAX};
    assert_ok(tn_strided_copy(NULL, &type, NULL, absurd, NULL, absurd));
}

static void absurd_strides_of_single_elements_are_not_followed(void **state)
{
    tn_type type = TYPE(F32, 1, 2, 1);
    int64_t src_strides[3] = {INT64_MAX, -4, INT64_MIN}, dst_strides[3] = {8, 4, 4};
    float src[2] = {1, 2}, dst[2] = {0};
    assert_ok(tn_strided_copy(NULL, &type, dst, dst_strides, src + 1, src_strides));
    assert_true(dst[0] == 2 && dst[1] == 1);
}

static void layouts_are_checked(void **state)
{
    tn_type type = TYPE(F32, 2, 3);
    int64_t strides[2], twice[] = {0, 0}, beyond[] = {0, 2}, order[] = {0, 1};
    tn_layout l = {.kind = TN_LAYOUT_ORDER, .rank = 2, .values = order};
    assert_ok(tn_layout_strides(&l, &type, strides));
    assert_int_equal(strides[0], 4);
    assert_int_equal(strides[1], 8);
    assert_ok(tn_layout_check_device(&l, &type));
    int64_t found[2], columns[] = {4, 8}, gaps[] = {4, 12};
    l = (tn_layout){.kind = TN_LAYOUT_STRIDES, .rank = 2, .values = columns};
    assert_ok(tn_layout_order(&l, &type, found));
    assert_true(found[0] == 0 && found[1] == 1);
    l.values = gaps;
    assert_fails(tn_layout_order(&l, &type, found), UNIMPLEMENTED, "gaps");
    l.kind = TN_LAYOUT_ORDER;
    l.values = twice;
    assert_fails(tn_layout_strides(&l, &type, strides), INVALID_ARGUMENT, "minor_to_major[1] = 0");
    l.values = beyond;
    assert_fails(tn_layout_strides(&l, &type, strides), INVALID_ARGUMENT, "minor_to_major[1] = 2");
    l.rank = 1;
    assert_fails(tn_layout_strides(&l, &type, strides), INVALID_ARGUMENT, "1 dimensions");
    l = (tn_layout){.kind = TN_LAYOUT_ORDER, .rank = 2, .values = order, .n_tiles = 1};
    assert_fails(tn_layout_strides(&l, &type, strides), INVALID_ARGUMENT, "tiles");
}

static void padding_is_normalized(void **state)
{
    uint8_t signed4[] = {0xf7, 0x08, 0x0f, 0x70}, unsigned2[] = {0xff, 0x06, 0x01};
    tn_normalize_padding(TN_I4, signed4, 4);
    assert_memory_equal(signed4, ((uint8_t[]){7, 0xf8, 0xff, 0}), 4);
    tn_normalize_padding(TN_U2, unsigned2, 3);
    assert_memory_equal(unsigned2, ((uint8_t[]){3, 2, 1}), 3);
    assert_true(tn_element_is_padded(TN_F4E2M1FN));
    assert_false(tn_element_is_padded(TN_I1));
    assert_false(tn_element_is_padded(TN_F8E5M2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_layouts_agree_with_the_definition),
        cmocka_unit_test(a_large_transpose_on_several_threads),
        cmocka_unit_test(arrays_without_elements_touch_nothing),
        cmocka_unit_test(absurd_strides_of_single_elements_are_not_followed),
        cmocka_unit_test(layouts_are_checked),
        cmocka_unit_test(padding_is_normalized),
    };
    return cmocka_run_group_tests_name("runtime-strided_copy", tests, NULL, NULL);
}
