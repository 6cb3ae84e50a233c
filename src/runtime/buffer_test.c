/* SPDX-License-Identifier: Apache-2.0 */
#include <stdalign.h>

#include "runtime/runtime_test.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static tn_buffer *put_six(tn_memory *m)
{
    return put(m, &TYPE(F32, 2, 3), six);
}

/* ---- From and to the host ---- */

static void a_round_trip_keeps_the_content(void **state)
{
    tn_client *c = open_client(state);
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        tn_buffer *b = put_six(memory(c, 1, k));
        assert_ptr_equal(tn_buffer_memory(b), memory(c, 1, k));
        assert_ptr_equal(tn_buffer_device(b), device(c, 1));
        assert_int_equal(tn_buffer_is_on_host(b), !is_sim(state) || k > 0);
        assert_int_equal(tn_buffer_type(b)->rank, 2);
        assert_int_equal(tn_buffer_type(b)->dims[1], 3);
        assert_int_equal(tn_buffer_minor_to_major(b)[0], 1);
        assert_int_equal(tn_buffer_minor_to_major(b)[1], 0);
        assert_floats(b, six, 6);
        tn_buffer_release(b);
    }
    tn_client_close(c);
}

static void impossible_types_are_refused(void **state)
{
    tn_client *c = open_client(state);
    tn_memory *m = device_memory(c);
    tn_buffer *b = NULL;
    int64_t huge[4] = {INT64_MAX, 2, 1, 1}, negative[1] = {-1}, large[1] = {INT64_MAX / 8};
    tn_type t = {.kind = TN_TYPE_TENSOR, .element = TN_F32, .rank = 4, .dims = huge};
    assert_fails(tn_buffer_create_uninitialized(m, &t, NULL, &b), INVALID_ARGUMENT, "too many");
    t = (tn_type){.kind = TN_TYPE_TENSOR, .element = TN_F32, .rank = 1, .dims = negative};
    assert_fails(tn_buffer_create_uninitialized(m, &t, NULL, &b), INVALID_ARGUMENT, "-1");
    t.dims = large;
    assert_fails(tn_buffer_create_uninitialized(m, &t, NULL, &b), RESOURCE_EXHAUSTED, "");
    t.element = (tn_element_type)30;
    assert_fails(tn_buffer_create_uninitialized(m, &t, NULL, &b), INVALID_ARGUMENT, "30");
    t.element = (tn_element_type)1000;
    assert_fails(tn_buffer_create_uninitialized(m, &t, NULL, &b), INVALID_ARGUMENT, "1000");
    int64_t gaps[2] = {16, 4};
    tn_layout loose = {.kind = TN_LAYOUT_STRIDES, .rank = 2, .values = gaps};
    assert_fails(tn_buffer_create_uninitialized(m, &TYPE(F32, 2, 3), &loose, &b), UNIMPLEMENTED,
                 "gaps");
    tn_client_close(c);
}

static void dimensions_lie_in_any_order(void **state)
{
    tn_client *c = open_client(state);
    tn_memory *m = device_memory(c);
    float rows[6] = {0, 1, 2, 3, 4, 5}, back[6] = {0};
    int64_t order[2] = {0, 1}, strides[2] = {4, 8};
    tn_layout columns = {.kind = TN_LAYOUT_ORDER, .rank = 2, .values = order},
              same = {.kind = TN_LAYOUT_STRIDES, .rank = 2, .values = strides};
    tn_host_array array = {.data = rows, .type = &TYPE(F32, 2, 3)};
    for (int i = 0; i < 2; i++) {
        tn_buffer *b, *copy;
        tn_event *done;
        assert_ok(tn_buffer_from_host(m, &array, TN_HOST_READ_DURING_CALL, i ? &same : &columns,
                                      &done, &b));
        tn_event_release(done);
        assert_int_equal(tn_buffer_minor_to_major(b)[0], 0);
        assert_ok(tn_buffer_copy_to_memory(b, m, &copy));
        assert_int_equal(tn_buffer_minor_to_major(copy)[0], 0);
        assert_ok(tn_buffer_to_host(copy, NULL, back, sizeof back, &done));
        assert_ok(tn_event_await(done));
        tn_event_release(done);
        assert_memory_equal(back, rows, sizeof rows);
        assert_ok(tn_buffer_copy_raw_to_host(copy, back, 0, sizeof back, &done));
        assert_ok(tn_event_await(done));
        tn_event_release(done);
        assert_true(back[0] == 0 && back[1] == 3 && back[2] == 1 && back[5] == 5);
        tn_buffer_release(copy);
        tn_buffer_release(b);
    }
    tn_client_close(c);
}

static void any_strides_are_taken(void **state)
{
    tn_client *c = open_client(state);
    const float *data = six;
    struct {
        const float *first;
        int64_t strides[2];
        float expected[6];
    } cases[] = {
        {data, {12, 4}, {1, 2, 3, 4, 5, 6}},
        {data, {4, 8}, {1, 3, 5, 2, 4, 6}},        /* transposed */
        {data + 5, {-12, -4}, {6, 5, 4, 3, 2, 1}}, /* backwards */
        {data, {0, 4}, {1, 2, 3, 1, 2, 3}},        /* broadcast rows */
        {data + 4, {0, 0}, {5, 5, 5, 5, 5, 5}},    /* broadcast all */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int semantics = TN_HOST_READ_DURING_CALL; semantics <= TN_HOST_ALIAS; semantics++) {
            tn_type type = TYPE(F32, 2, 3);
            tn_layout layout = {.kind = TN_LAYOUT_STRIDES, .rank = 2, .values = cases[i].strides};
            tn_host_array array = {.data = cases[i].first, .type = &type, .layout = &layout};
            tn_event *done;
            tn_buffer *b;
            assert_ok(tn_buffer_from_host(device_memory(c), &array, (tn_host_semantics)semantics,
                                          NULL, &done, &b));
            assert_floats(b, cases[i].expected, 6);
            tn_buffer_release(b);
            assert_event_ok(done);
        }
    }
    tn_client_close(c);
}

static void narrow_elements_take_a_byte_each(void **state)
{
    tn_client *c = open_client(state);
    uint8_t host[4] = {0x07, 0x18, 0xff, 0xf1}, got[4];
    tn_buffer *b = put(device_memory(c), &TYPE(I4, 4), host);
    assert_int_equal(tn_buffer_bytes(b), 4);
    get(b, got);
    assert_memory_equal(got, ((uint8_t[]){7, 8, 15, 1}), 4); /* the other bits are 0 outside */
    tn_buffer_release(b);
    tn_client_close(c);
}

static void arrays_without_elements_are_fine(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 3, 0);
    int64_t strides[2] = {0, 0};
    tn_layout layout = {.kind = TN_LAYOUT_STRIDES, .rank = 2, .values = strides};
    tn_host_array array = {.data = NULL, .type = &type, .layout = &layout};
    for (int semantics = 0; semantics < 4; semantics++) {
        tn_event *done;
        tn_buffer *b;
        void *pointer = &layout;
        assert_ok(tn_buffer_from_host(device_memory(c), &array, (tn_host_semantics)semantics, NULL,
                                      &done, &b));
        assert_event_ok(done);
        assert_event_ok(ready_event(b));
        assert_int_equal(tn_buffer_bytes(b), 0);
        assert_ok(tn_buffer_pointer(b, &pointer));
        assert_null(pointer);
        assert_ok(tn_buffer_to_host(b, NULL, NULL, 0, &done));
        assert_event_ok(done);
        tn_buffer_release(b);
    }
    tn_type token = {.kind = TN_TYPE_TOKEN, .element = TN_TOKEN};
    array = (tn_host_array){.type = &token};
    tn_event *done;
    tn_buffer *b;
    assert_ok(tn_buffer_from_host(device_memory(c), &array, TN_HOST_ALIAS, NULL, &done, &b));
    assert_event_ok(done);
    assert_event_ok(ready_event(b));
    tn_buffer_release(b);
    tn_client_close(c);
}

static void data_is_not_read_after_the_call(void **state)
{
    tn_named_value options[] = {OPTION("sim_copy_ns", 20000000)};
    tn_client *c = open_with(*state, options, is_sim(state) ? 1 : 0);
    float data[6];
    memcpy(data, six, sizeof data);
    tn_buffer *b = put_six(device_memory(c));
    tn_buffer *mine = put(device_memory(c), &TYPE(F32, 6), data);
    memset(data, 0, sizeof data);
    assert_floats(mine, six, 6);
    tn_buffer_release(b);
    tn_buffer_release(mine);
    tn_client_close(c);
}

static void the_done_event_waits_for_the_last_read(void **state)
{
    tn_named_value options[] = {OPTION("sim_copy_ns", 20000000)};
    tn_client *c = open_with(*state, options, is_sim(state) ? 1 : 0);
    float data[6];
    memcpy(data, six, sizeof data);
    tn_type type = TYPE(F32, 6);
    tn_host_array array = {.data = data, .type = &type};
    tn_event *done;
    tn_buffer *b;
    assert_ok(
        tn_buffer_from_host(device_memory(c), &array, TN_HOST_READ_UNTIL_DONE, NULL, &done, &b));
    tn_event *ready = ready_event(b);
    assert_int_equal(tn_event_is_ready(done), !is_sim(state));
    assert_int_equal(tn_event_is_ready(ready), !is_sim(state));
    assert_event_ok(done);
    memset(data, 0, sizeof data);
    assert_event_ok(ready);
    assert_floats(b, six, 6);
    tn_buffer_release(b);
    tn_client_close(c);
}

static void large_arrays_are_copied_behind_the_caller(void **state)
{
    tn_client *c = open_client(state);
    enum { COUNT = 1 << 20 };
    float *block = malloc((COUNT + 1) * sizeof *block), *got = malloc(COUNT * sizeof *got);
    float *data = block + 1; /* never aliased */
    assert_true(block && got);
    tn_type type = TYPE(F32, COUNT);
    tn_host_array array = {.data = data, .type = &type};
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < COUNT; i++) data[i] = (float)(i + round);
        tn_event *done, *read;
        tn_buffer *b, *copy = NULL;
        assert_ok(tn_buffer_from_host(device_memory(c), &array,
                                      round & 1 ? TN_HOST_READ_UNTIL_DONE : TN_HOST_ALIAS, NULL,
                                      &done, &b));
        if (round & 2) { /* the copy is taken before the content is there, and outlives it */
            assert_ok(tn_buffer_copy_to_memory(b, device_memory(c), &copy));
            tn_buffer_release(b);
            b = copy;
        }
        assert_event_ok(done);
        memset(data, 0, COUNT * sizeof *data);
        assert_ok(tn_buffer_to_host(b, NULL, got, COUNT * sizeof *got, &read));
        assert_event_ok(read);
        for (int i = 0; i < COUNT; i++) assert_float_equal(got[i], (float)(i + round), 0);
        tn_buffer_release(b);
    }
    /* Nobody waits for it: the client does. */
    tn_event *done;
    tn_buffer *b;
    assert_ok(
        tn_buffer_from_host(device_memory(c), &array, TN_HOST_READ_UNTIL_DONE, NULL, &done, &b));
    tn_buffer_release(b);
    tn_event_release(done);
    tn_client_close(c);
    free(block);
    free(got);
}

static void aligned_arrays_are_aliased_where_the_host_sees_the_memory(void **state)
{
    tn_client *c = open_client(state);
    alignas(64) float data[20];
    for (int i = 0; i < 20; i++) data[i] = (float)i;
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        for (int skip = 0; skip < 2; skip++) {
            tn_type type = TYPE(F32, 16);
            tn_host_array array = {.data = data + skip, .type = &type};
            tn_event *done;
            tn_buffer *b;
            void *pointer;
            assert_ok(tn_buffer_from_host(memory(c, 0, k), &array, TN_HOST_ALIAS, NULL, &done, &b));
            assert_ok(tn_buffer_pointer(b, &pointer));
            bool alias = !skip && tn_buffer_is_on_host(b);
            assert_int_equal(pointer == array.data, alias);
            assert_floats(b, data + skip, 16);
            assert_int_equal(tn_event_is_ready(done), !alias);
            if (alias) { /* lives with the external reference */
                assert_ok(tn_buffer_add_external_reference(b));
                tn_buffer_delete(b);
                assert_false(tn_event_is_ready(done));
                assert_ok(tn_buffer_drop_external_reference(b));
            }
            tn_buffer_release(b);
            assert_true(tn_event_is_ready(done));
            assert_event_ok(done);
        }
    }
    tn_client_close(c);
}

static void large_arrays_are_aliased_where_malloc_puts_them(void **state)
{
    enum { BYTES = 4 << 20, N = BYTES / 4 };
    tn_client *c = open_client(state);
    char *block = aligned_alloc(64, BYTES + 64);
    assert_non_null(block);
    memset(block, 0, BYTES + 64);
    struct {
        int offset, n;
        tn_host_semantics semantics;
        bool aliased;
    } cases[] = {
        {16, N, TN_HOST_ALIAS, true},
        {48, N, TN_HOST_ALIAS, true},
        {16, N - 1, TN_HOST_ALIAS, false},
        {8, N, TN_HOST_ALIAS, false},
        {16, N, TN_HOST_ALIAS_MUTABLE, false},
        {0, N, TN_HOST_ALIAS_MUTABLE, true},
        {16, N, TN_HOST_READ_UNTIL_DONE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_type type = TYPE(F32, cases[i].n);
        tn_host_array array = {.data = block + cases[i].offset, .type = &type};
        tn_event *done;
        tn_buffer *b;
        void *pointer;
        assert_ok(
            tn_buffer_from_host(device_memory(c), &array, cases[i].semantics, NULL, &done, &b));
        assert_ok(tn_buffer_pointer(b, &pointer));
        bool takes = tn_buffer_is_on_host(b) && (!cases[i].offset || !is_sim(state));
        assert_int_equal(pointer == array.data, cases[i].aliased && takes);
        tn_buffer_release(b);
        assert_event_ok(done);
    }
    tn_client_close(c);
    free(block);
}

static void host_layouts_permute(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b = put_six(device_memory(c));
    int64_t order[2] = {0, 1};
    tn_layout column = {.kind = TN_LAYOUT_ORDER, .rank = 2, .values = order};
    float got[6];
    tn_event *done;
    size_t bytes = 0;
    assert_ok(tn_buffer_host_bytes(b, &column, &bytes));
    assert_int_equal(bytes, 24);
    assert_ok(tn_buffer_to_host(b, &column, got, sizeof got, &done));
    assert_event_ok(done);
    assert_memory_equal(got, ((float[]){1, 4, 2, 5, 3, 6}), sizeof got);

    assert_fails(tn_buffer_to_host(b, NULL, got, 23, &done), INVALID_ARGUMENT, "24");
    tn_layout strided = {.kind = TN_LAYOUT_STRIDES, .rank = 2, .values = order};
    assert_fails(tn_buffer_to_host(b, &strided, got, 24, &done), INVALID_ARGUMENT, "strides");
    column.n_tiles = 1;
    assert_fails(tn_buffer_to_host(b, &column, got, 24, &done), INVALID_ARGUMENT, "tiles");
    tn_buffer_release(b);
    tn_client_close(c);
}

static void raw_copies_take_any_part(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b = put_six(device_memory(c));
    float got[2] = {0};
    tn_event *done;
    assert_ok(tn_buffer_copy_raw_to_host(b, got, 8, 8, &done));
    assert_event_ok(done);
    assert_true(got[0] == 3 && got[1] == 4);
    assert_ok(tn_buffer_copy_raw_to_host(b, NULL, 24, 0, &done));
    assert_event_ok(done);
    assert_fails(tn_buffer_copy_raw_to_host(b, got, 20, 8, &done), INVALID_ARGUMENT, "24 bytes");
    assert_fails(tn_buffer_copy_raw_to_host(b, got, -1, 1, &done), INVALID_ARGUMENT, "-1");
    assert_fails(tn_buffer_copy_raw_to_host(b, got, INT64_MAX, INT64_MAX, &done), INVALID_ARGUMENT,
                 "24 bytes");

    tn_raw_copy *later;
    assert_ok(tn_buffer_copy_raw_to_host_later(b, 16, 8, &done, &later));
    assert_false(tn_event_is_ready(done));
    tn_raw_copy_start(later, got, NULL);
    assert_event_ok(done);
    assert_true(got[0] == 5 && got[1] == 6);
    assert_ok(tn_buffer_copy_raw_to_host_later(b, 16, 8, &done, &later));
    tn_raw_copy_start(later, NULL, TN_ERROR(ABORTED, "changed my mind"));
    assert_event_fails(done, ABORTED, "changed");
    tn_buffer_release(b);
    tn_client_close(c);
}

/* ---- Deleting ---- */

static void a_deleted_buffer_knows_its_shape_but_not_its_content(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b = put_six(device_memory(c)), *other = NULL;
    assert_false(tn_buffer_is_deleted(b));
    assert_event_ok(ready_event(b));
    tn_buffer_delete(b);
    tn_buffer_delete(b);
    assert_true(tn_buffer_is_deleted(b));
    assert_int_equal(tn_buffer_bytes(b), 24);
    assert_int_equal(tn_buffer_type(b)->dims[0], 2);
    assert_ptr_equal(tn_buffer_memory(b), device_memory(c));
    assert_int_equal(bytes_in_use(c), 0);
    float got[6];
    tn_event *done;
    void *pointer;
    const char *text = "Buffer has been deleted or donated";
    assert_event_fails(ready_event(b), INVALID_ARGUMENT, text);
    assert_ok(tn_buffer_to_host(b, NULL, got, sizeof got, &done));
    assert_event_fails(done, INVALID_ARGUMENT, text);
    assert_ok(tn_buffer_copy_raw_to_host(b, got, 0, 4, &done));
    assert_event_fails(done, INVALID_ARGUMENT, text);
    assert_fails(tn_buffer_add_external_reference(b), INVALID_ARGUMENT, text);
    assert_fails(tn_buffer_copy_to_memory(b, device_memory(c), &other), INVALID_ARGUMENT, text);
    assert_fails(tn_buffer_pointer(b, &pointer), INVALID_ARGUMENT, text);
    assert_fails(tn_buffer_bitcast(b, &TYPE(I32, 6), NULL, &other), INVALID_ARGUMENT, text);
    tn_buffer_release(b);
    tn_client_close(c);
}

static void external_references_keep_the_memory(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b = put_six(device_memory(c));
    void *pointer, *again;
    assert_event_ok(ready_event(b));
    assert_fails(tn_buffer_drop_external_reference(b), INVALID_ARGUMENT, "no external");
    assert_ok(tn_buffer_add_external_reference(b));
    assert_ok(tn_buffer_add_external_reference(b));
    assert_ok(tn_buffer_pointer(b, &pointer));
    assert_non_null(pointer);
    tn_buffer_delete(b);
    assert_true(tn_buffer_is_deleted(b));
    assert_true(bytes_in_use(c) > 0);
    if (tn_buffer_is_on_host(b)) assert_memory_equal(pointer, six, sizeof six);
    assert_ok(tn_buffer_pointer(b, &again));
    assert_ptr_equal(pointer, again);
    assert_ok(tn_buffer_drop_external_reference(b));
    assert_true(bytes_in_use(c) > 0);
    assert_ok(tn_buffer_drop_external_reference(b));
    assert_int_equal(bytes_in_use(c), 0);
    assert_fails(tn_buffer_drop_external_reference(b), INVALID_ARGUMENT, "no external");
    tn_buffer_release(b);

    b = put_six(device_memory(c));
    assert_ok(tn_buffer_add_external_reference(b));
    tn_buffer_release(b); /* with the reference held */
    tn_client_close(c);
}

static void work_in_flight_outlives_the_buffer(void **state)
{
    tn_named_value options[] = {OPTION("sim_copy_ns", 10000000)};
    tn_client *c = open_with(*state, options, is_sim(state) ? 1 : 0);
    tn_buffer *b = put_six(device_memory(c)), *copy;
    tn_event *done;
    float got[6] = {0};
    assert_ok(tn_buffer_to_host(b, NULL, got, sizeof got, &done));
    assert_ok(tn_buffer_copy_to_memory(b, memory(c, 0, TN_MEMORY_PINNED_HOST), &copy));
    tn_buffer_delete(b);
    tn_buffer_release(b);
    assert_event_ok(done);
    assert_memory_equal(got, six, sizeof got);
    assert_floats(copy, six, 6);
    tn_buffer_release(copy);
    tn_client_close(c);
}

static void closing_waits_for_work_in_flight(void **state)
{
    tn_named_value options[] = {OPTION("sim_copy_ns", 10000000)};
    tn_client *c = open_with(*state, options, is_sim(state) ? 1 : 0);
    tn_buffer *b = put_six(device_memory(c)), *copy;
    for (int i = 0; i < 6; i++) {
        int kind = i % 2 ? TN_MEMORY_DEVICE : TN_MEMORY_PINNED_HOST;
        assert_ok(tn_buffer_copy_to_memory(b, memory(c, 0, kind), &copy));
        tn_buffer_release(b);
        b = copy;
    }
    tn_event *ready = ready_event(b);
    tn_buffer_release(b);
    tn_client_close(c);
    assert_true(tn_event_is_ready(ready));
    assert_event_ok(ready);
}

static void close_client(tn_status *s, void *client)
{
    tn_status_free(s);
    tn_client_close(client);
}

/* On a thread of the client, which can't wait for itself. */
static void a_callback_may_close_the_client(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 2, 3);
    tn_buffer *alias, *copy, *source = put_six(device_memory(c));
    tn_buffer_promise *promise;
    assert_ok(tn_buffer_create_alias(device_memory(c), &type, NULL, &alias, &promise));
    assert_ok(tn_buffer_copy_to_memory(alias, memory(c, 1, 0), &copy));
    tn_event *ready = ready_event(copy);
    assert_ok(tn_event_on_ready(ready, close_client, c));
    assert_ok(tn_buffer_promise_fulfill(promise, source, NULL));
    tn_buffer_release(source);
    tn_buffer_release(alias);
    tn_buffer_release(copy);
    assert_event_ok(ready);
    sleep_ms(50); /* the client ends on its own */
}

/* ---- Copies ---- */

static void copies_go_between_any_two_memories(void **state)
{
    tn_client *c = open_client(state);
    size_t n;
    tn_memory *const *all = tn_client_memories(c, &n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            tn_buffer *b = put_six(all[i]), *copy;
            assert_ok(tn_buffer_copy_to_memory(b, all[k], &copy));
            assert_ptr_equal(tn_buffer_memory(copy), all[k]);
            assert_ptr_not_equal(copy, b);
            tn_buffer_release(b);
            assert_floats(copy, six, 6);
            assert_false(tn_buffer_is_deleted(copy));
            tn_buffer_release(copy);
        }
    }
    tn_client *other = open_client(state);
    tn_buffer *b = put_six(all[0]), *copy;
    assert_fails(tn_buffer_copy_to_memory(b, device_memory(other), &copy), INVALID_ARGUMENT,
                 "another client");
    tn_buffer_release(b);
    tn_client_close(other);
    tn_client_close(c);
}

static void a_chain_of_copies_needs_no_waiting(void **state)
{
    tn_named_value options[] = {OPTION("sim_device_count", 2), OPTION("sim_copy_ns", 100000),
                                OPTION("sim_jitter_ns", 200000)};
    tn_client *c = is_sim(state) ? open_with("sim", options, 3) : open_client(state);
    size_t n;
    tn_memory *const *all = tn_client_memories(c, &n);
    tn_buffer *b = put_six(all[0]);
    for (size_t i = 0; i < 60; i++) {
        tn_buffer *next;
        assert_ok(tn_buffer_copy_to_memory(b, all[i * 7 % n], &next));
        tn_buffer_release(b);
        b = next;
    }
    assert_floats(b, six, 6);
    tn_buffer_release(b);
    tn_client_close(c);
}

/* ---- Special buffers ---- */

static void count_deletion(void *data, void *arg)
{
    ++*(int *)arg;
}

static void views_end_once_after_the_last_user(void **state)
{
    tn_client *c = open_client(state);
    alignas(64) float data[6];
    memcpy(data, six, sizeof data);
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        int deletions = 0;
        tn_buffer *b, *copy;
        tn_type type = TYPE(F32, 2, 3);
        tn_memory *m = memory(c, 0, k);
        tn_status *s = tn_buffer_create_view(m, &type, NULL, data, count_deletion, &deletions, &b);
        if (!tn_memory_is_host_addressable(m)) {
            assert_fails(s, UNIMPLEMENTED, "foreign");
            assert_int_equal(deletions, 0);
            continue;
        }
        assert_ok(s);
        void *pointer;
        assert_ok(tn_buffer_pointer(b, &pointer));
        assert_ptr_equal(pointer, data);
        assert_floats(b, six, 6);
        assert_ok(tn_buffer_copy_to_memory(b, m, &copy));
        assert_floats(copy, six, 6);
        assert_ok(tn_buffer_add_external_reference(b));
        tn_buffer_delete(b);
        assert_int_equal(deletions, 0);
        assert_ok(tn_buffer_drop_external_reference(b));
        assert_int_equal(deletions, 1);
        tn_buffer_release(b);
        tn_buffer_release(copy);
        assert_int_equal(deletions, 1);
        assert_fails(tn_buffer_create_view(m, &type, NULL, NULL, count_deletion, &deletions, &b),
                     INVALID_ARGUMENT, "NULL");
        assert_int_equal(deletions, 1);
    }
    tn_client_close(c);
}

static void an_error_buffer_reports_its_error_everywhere(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b, *copy, *cast;
    tn_event *done;
    float got[6];
    void *pointer;
    tn_type type = TYPE(F32, 2, 3);
    tn_status *error = tn_status_add_payload(TN_ERROR(DATA_LOSS, "rotten"), "why", 3, "old", 3);
    assert_ok(tn_buffer_create_error(device_memory(c), &type, NULL, error, &b));
    assert_int_equal(tn_buffer_bytes(b), 24);
    assert_ptr_equal(tn_buffer_memory(b), device_memory(c));
    assert_false(tn_buffer_is_deleted(b));
    assert_ok(tn_buffer_to_host(b, NULL, got, sizeof got, &done));
    assert_event_fails(done, DATA_LOSS, "rotten");
    assert_ok(tn_buffer_copy_to_memory(b, memory(c, 1, TN_MEMORY_PINNED_HOST), &copy));
    tn_event *ready = ready_event(copy);
    tn_status *s = tn_event_await(ready);
    assert_int_equal(tn_status_code(s), TN_DATA_LOSS);
    assert_int_equal(tn_status_payload_count(s), 1);
    tn_status_free(s);
    tn_event_release(ready);
    assert_ok(tn_buffer_bitcast(b, &TYPE(I32, 6), NULL, &cast));
    assert_event_fails(ready_event(cast), DATA_LOSS, "rotten");
    assert_fails(tn_buffer_pointer(b, &pointer), DATA_LOSS, "rotten");
    tn_buffer_delete(b);
    assert_event_fails(ready_event(b), INVALID_ARGUMENT, "deleted");
    tn_buffer_release(cast);
    tn_buffer_release(copy);
    tn_buffer_release(b);
    assert_fails(tn_buffer_create_error(device_memory(c), &type, NULL, NULL, &b), INVALID_ARGUMENT,
                 "needs an error");

    tn_type empty = TYPE(F32, 0);
    assert_ok(tn_buffer_create_error(device_memory(c), &empty, NULL, TN_ERROR(ABORTED, "x"), &b));
    assert_ok(tn_buffer_to_host(b, NULL, got, 0, &done));
    assert_event_fails(done, ABORTED, "x");
    tn_buffer_release(b);
    tn_client_close(c);
}

static void an_alias_becomes_its_source(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 2, 3);
    tn_buffer *alias, *source, *copy;
    tn_buffer_promise *promise;
    tn_event *done;
    float got[6] = {0};
    void *pointer, *other;
    assert_ok(tn_buffer_create_alias(device_memory(c), &type, NULL, &alias, &promise));
    assert_fails(tn_buffer_pointer(alias, &pointer), FAILED_PRECONDITION, "not known");
    assert_ok(tn_buffer_to_host(alias, NULL, got, sizeof got, &done));
    assert_ok(tn_buffer_copy_to_memory(alias, memory(c, 1, 0), &copy));
    assert_false(tn_event_is_ready(done));
    source = put_six(device_memory(c));
    assert_ok(tn_buffer_promise_fulfill(promise, source, NULL));
    assert_event_ok(done);
    assert_memory_equal(got, six, sizeof got);
    assert_floats(copy, six, 6);
    assert_ok(tn_buffer_pointer(alias, &pointer));
    assert_ok(tn_buffer_pointer(source, &other));
    assert_ptr_equal(pointer, other);
    tn_buffer_release(source);
    assert_floats(alias, six, 6);
    tn_buffer_release(alias);
    tn_buffer_release(copy);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

static void an_alias_can_fail(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 2, 3);
    tn_buffer *alias, *wrong = put(device_memory(c), &TYPE(F32, 6), six);
    tn_buffer_promise *promise;
    assert_ok(tn_buffer_create_alias(device_memory(c), &type, NULL, &alias, &promise));
    assert_ok(tn_buffer_promise_fulfill(promise, NULL, TN_ERROR(ABORTED, "never mind")));
    assert_event_fails(ready_event(alias), ABORTED, "never mind");
    tn_buffer_release(alias);

    assert_ok(tn_buffer_create_alias(device_memory(c), &type, NULL, &alias, &promise));
    assert_fails(tn_buffer_promise_fulfill(promise, wrong, NULL), INVALID_ARGUMENT,
                 "tensor<2x3xf32>");
    assert_event_fails(ready_event(alias), INVALID_ARGUMENT, "tensor<6xf32>");
    tn_buffer_release(alias);

    assert_ok(tn_buffer_create_alias(device_memory(c), &type, NULL, &alias, &promise));
    tn_buffer *error;
    assert_ok(
        tn_buffer_create_error(device_memory(c), &type, NULL, TN_ERROR(ABORTED, "e"), &error));
    assert_ok(tn_buffer_promise_fulfill(promise, error, NULL));
    assert_event_fails(ready_event(alias), ABORTED, "e");
    tn_buffer_release(error);
    tn_buffer_release(alias);
    tn_buffer_release(wrong);

    /* One that nobody fulfils does not keep the client from closing. */
    tn_buffer *copy;
    assert_ok(tn_buffer_create_alias(device_memory(c), &type, NULL, &alias, &promise));
    assert_ok(tn_buffer_copy_to_memory(alias, device_memory(c), &copy));
    tn_client_close(c);
    assert_event_fails(ready_event(copy), CANCELLED, "closed");
    tn_buffer_release(copy);
    assert_ok(tn_buffer_promise_fulfill(promise, NULL, NULL));
    tn_buffer_release(alias);
}

static void a_donation_waits_for_its_condition(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b = put_six(device_memory(c)), *moved;
    tn_event *condition;
    void *before, *after;
    assert_ok(tn_buffer_pointer(b, &before));
    assert_ok(tn_buffer_donate_after(b, &condition, &moved));
    assert_true(tn_buffer_is_deleted(b));
    tn_event *ready = ready_event(moved);
    assert_false(tn_event_is_ready(ready));
    tn_event_set(condition, NULL);
    tn_event_release(condition);
    assert_event_ok(ready);
    assert_ok(tn_buffer_pointer(moved, &after));
    assert_ptr_equal(before, after);
    assert_floats(moved, six, 6);
    assert_fails(tn_buffer_donate_after(b, &condition, &moved), INVALID_ARGUMENT, "deleted");
    tn_buffer_release(b);

    assert_ok(tn_buffer_add_external_reference(moved));
    assert_fails(tn_buffer_donate_after(moved, &condition, &b), FAILED_PRECONDITION, "external");
    assert_ok(tn_buffer_drop_external_reference(moved));
    assert_ok(tn_buffer_donate_after(moved, &condition, &b));
    tn_event_set(condition, TN_ERROR(ABORTED, "no"));
    tn_event_release(condition);
    assert_event_fails(ready_event(b), ABORTED, "no");
    tn_buffer_release(b);
    tn_buffer_release(moved);
    tn_client_close(c);
}

static void a_bitcast_shares_the_bytes(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b = put_six(device_memory(c)), *cast, *none;
    assert_ok(tn_buffer_bitcast(b, &TYPE(U8, 24), NULL, &cast));
    assert_fails(tn_buffer_bitcast(b, &TYPE(U8, 23), NULL, &none), INVALID_ARGUMENT, "23");
    tn_buffer_release(b);
    uint8_t got[24];
    get(cast, got);
    assert_memory_equal(got, six, 24);
    tn_buffer_release(cast);
    tn_client_close(c);
}

static void uninitialized_buffers_are_ready(void **state)
{
    tn_client *c = open_client(state);
    tn_buffer *b;
    assert_ok(tn_buffer_create_uninitialized(device_memory(c), &TYPE(F32, 100), NULL, &b));
    assert_event_ok(ready_event(b));
    assert_int_equal(tn_buffer_bytes(b), 400);
    tn_buffer_release(b);
    tn_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH(a_round_trip_keeps_the_content),
        ON_EACH(impossible_types_are_refused),
        ON_EACH(dimensions_lie_in_any_order),
        ON_EACH(any_strides_are_taken),
        ON_EACH(narrow_elements_take_a_byte_each),
        ON_EACH(arrays_without_elements_are_fine),
        ON_EACH(data_is_not_read_after_the_call),
        ON_EACH(the_done_event_waits_for_the_last_read),
        ON_EACH(large_arrays_are_copied_behind_the_caller),
        ON_EACH(aligned_arrays_are_aliased_where_the_host_sees_the_memory),
        ON_EACH(large_arrays_are_aliased_where_malloc_puts_them),
        ON_EACH(host_layouts_permute),
        ON_EACH(raw_copies_take_any_part),
        ON_EACH(a_deleted_buffer_knows_its_shape_but_not_its_content),
        ON_EACH(external_references_keep_the_memory),
        ON_EACH(work_in_flight_outlives_the_buffer),
        ON_EACH(closing_waits_for_work_in_flight),
        ON_EACH(a_callback_may_close_the_client),
        ON_EACH(copies_go_between_any_two_memories),
        ON_EACH(a_chain_of_copies_needs_no_waiting),
        ON_EACH(views_end_once_after_the_last_user),
        ON_EACH(an_error_buffer_reports_its_error_everywhere),
        ON_EACH(an_alias_becomes_its_source),
        ON_EACH(an_alias_can_fail),
        ON_EACH(a_donation_waits_for_its_condition),
        ON_EACH(a_bitcast_shares_the_bytes),
        ON_EACH(uninitialized_buffers_are_ready),
    };
    return cmocka_run_group_tests_name("runtime-buffer", tests, NULL, NULL);
}
