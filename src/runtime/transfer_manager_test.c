/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime_test.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static tn_transfer_manager *manage(tn_memory *m, size_t n, const tn_type *const *types)
{
    tn_transfer_manager *t = NULL;
    assert_ok(tn_transfer_manager_create(m, n, types, NULL, &t));
    return t;
}

static void pieces_come_in_any_order(void **state)
{
    tn_named_value options[] = {OPTION("sim_copy_ns", 1000000)};
    tn_client *c = open_with(*state, options, is_sim(state) ? 1 : 0);
    tn_type type = TYPE(F32, 6), other = TYPE(I32, 2);
    tn_transfer_manager *t = manage(device_memory(c), 2, (const tn_type *[]){&type, &other});
    assert_int_equal(tn_transfer_manager_count(t), 2);
    assert_ptr_equal(tn_transfer_manager_device(t), device(c, 0));
    size_t bytes;
    assert_ok(tn_transfer_manager_bytes(t, 0, &bytes));
    assert_int_equal(bytes, 24);
    assert_fails(tn_transfer_manager_bytes(t, 2, &bytes), INVALID_ARGUMENT, "2 buffers");

    tn_buffer *b, *again;
    tn_event *done[3];
    assert_ok(tn_transfer_manager_retrieve(t, 0, &b));
    assert_fails(tn_transfer_manager_retrieve(t, 0, &again), FAILED_PRECONDITION, "before");
    tn_event *ready = ready_event(b);
    assert_ok(tn_transfer_manager_write(t, 0, six + 3, 12, 12, false, &done[0]));
    assert_ok(tn_transfer_manager_write(t, 0, six + 2, 8, 4, false, &done[1]));
    assert_event_ok(done[0]);
    assert_event_ok(done[1]);
    assert_false(tn_event_is_ready(ready));
    assert_fails(tn_transfer_manager_write(t, 0, six, 20, 8, false, &done[2]), INVALID_ARGUMENT,
                 "24 bytes");
    assert_fails(tn_transfer_manager_write(t, -1, six, 0, 8, false, &done[2]), INVALID_ARGUMENT,
                 "buffer -1");
    assert_ok(tn_transfer_manager_write(t, 0, six, 0, 8, true, &done[2]));
    assert_event_ok(ready);
    assert_event_ok(done[2]);
    assert_floats(b, six, 6);
    assert_fails(tn_transfer_manager_write(t, 0, six, 0, 8, true, &done[2]), FAILED_PRECONDITION,
                 "last piece");
    tn_buffer_release(b);
    tn_transfer_manager_destroy(t);
    tn_client_close(c);
}

static void whole_arrays_have_any_layout(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 2, 3), wrong = TYPE(F32, 3, 2);
    tn_transfer_manager *t = manage(device_memory(c), 1, (const tn_type *[]){&type});
    int64_t order[2] = {0, 1};
    tn_layout column = {.kind = TN_LAYOUT_ORDER, .rank = 2, .values = order};
    tn_host_array array = {.data = six, .type = &type, .layout = &column};
    tn_host_array other = {.data = six, .type = &wrong};
    tn_buffer *b;
    tn_event *done;
    assert_ok(tn_transfer_manager_retrieve(t, 0, &b));
    assert_fails(tn_transfer_manager_write_array(t, 0, &other, &done), INVALID_ARGUMENT, "3x2");
    assert_ok(tn_transfer_manager_write_array(t, 0, &array, &done));
    assert_event_ok(done);
    assert_floats(b, (float[]){1, 3, 5, 2, 4, 6}, 6);
    tn_buffer_release(b);
    tn_transfer_manager_destroy(t);
    tn_client_close(c);
}

static void a_buffer_can_get_an_error_instead(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 6);
    tn_transfer_manager *t = manage(device_memory(c), 2, (const tn_type *[]){&type, &type});
    tn_buffer *a, *b;
    assert_ok(tn_transfer_manager_retrieve(t, 0, &a));
    assert_ok(tn_transfer_manager_retrieve(t, 1, &b));
    assert_ok(tn_transfer_manager_set_error(t, 0, TN_ERROR(UNAVAILABLE, "disk")));
    assert_event_fails(ready_event(a), UNAVAILABLE, "disk");
    assert_fails(tn_transfer_manager_set_error(t, 0, TN_ERROR(UNAVAILABLE, "again")),
                 FAILED_PRECONDITION, "last piece");
    tn_named_value note = {
        .name = "file", .name_size = 4, .kind = TN_VALUE_STRING, .string = "x", .size = 1};
    tn_transfer_manager_add_metadata(t, &note, 1);
    tn_transfer_manager_destroy(t);
    assert_event_fails(ready_event(b), CANCELLED, "given up");
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_client_close(c);
}

static void the_manager_may_go_before_the_data_has_arrived(void **state)
{
    tn_named_value options[] = {OPTION("sim_copy_ns", 10000000)};
    tn_client *c = open_with(*state, options, is_sim(state) ? 1 : 0);
    tn_type type = TYPE(F32, 6);
    tn_transfer_manager *t = manage(device_memory(c), 1, (const tn_type *[]){&type});
    tn_buffer *b;
    tn_event *done;
    assert_ok(tn_transfer_manager_retrieve(t, 0, &b));
    assert_ok(tn_transfer_manager_write(t, 0, six, 0, 24, true, &done));
    tn_transfer_manager_destroy(t);
    assert_floats(b, six, 6);
    assert_event_ok(done);
    tn_buffer_release(b);
    tn_client_close(c);
}

static void unfinished_transfers_end_with_the_client(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 6);
    tn_transfer_manager *t = manage(device_memory(c), 1, (const tn_type *[]){&type});
    tn_buffer *b, *copy;
    assert_ok(tn_transfer_manager_retrieve(t, 0, &b));
    assert_ok(tn_buffer_copy_to_memory(b, device_memory(c), &copy));
    tn_client_close(c);
    assert_event_fails(ready_event(copy), CANCELLED, "closed");
    tn_transfer_manager_destroy(t);
    tn_buffer_release(b);
    tn_buffer_release(copy);
}

static void impossible_buffers_are_named(void **state)
{
    tn_client *c = open_client(state);
    tn_type good = TYPE(F32, 6), bad = TYPE(F32, -6);
    tn_transfer_manager *t = NULL;
    assert_fails(
        tn_transfer_manager_create(device_memory(c), 2, (const tn_type *[]){&good, &bad}, NULL, &t),
        INVALID_ARGUMENT, "buffer 1");
    assert_int_equal(bytes_in_use(c), 0);
    t = manage(device_memory(c), 0, NULL);
    tn_transfer_manager_destroy(t);
    tn_transfer_manager_destroy(NULL);
    tn_client_close(c);
}

static void count_deletion(void *data, void *arg)
{
    ++*(int *)arg;
}

static void chunks_fill_a_stream(void **state)
{
    tn_client *c = open_client(state);
    tn_type type = TYPE(F32, 6);
    tn_copy_stream *s;
    tn_buffer *b;
    tn_event *done;
    int deletions = 0;
    assert_ok(tn_copy_stream_create(device_memory(c), &type, 8, &b, &s));
    assert_int_equal(tn_copy_stream_total(s), 24);
    assert_int_equal(tn_copy_stream_granule(s), 8);
    assert_int_equal(tn_copy_stream_current(s), 0);
    assert_ok(tn_copy_stream_add(s, (void *)six, 16, count_deletion, &deletions, &done));
    assert_event_ok(done);
    assert_int_equal(tn_copy_stream_current(s), 16);
    assert_ok(tn_copy_stream_add(s, (void *)six, 4, count_deletion, &deletions, &done));
    assert_event_fails(done, INVALID_ARGUMENT, "multiple");
    assert_ok(tn_copy_stream_add(s, (void *)six, 16, count_deletion, &deletions, &done));
    assert_event_fails(done, INVALID_ARGUMENT, "expected");
    assert_ok(tn_copy_stream_add(s, (void *)(six + 4), 8, count_deletion, &deletions, &done));
    assert_floats(b, six, 6);
    assert_event_ok(done);
    tn_copy_stream_destroy(s);
    tn_buffer_release(b);
    tn_client_close(c);
    assert_int_equal(deletions, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH(pieces_come_in_any_order),
        ON_EACH(whole_arrays_have_any_layout),
        ON_EACH(a_buffer_can_get_an_error_instead),
        ON_EACH(the_manager_may_go_before_the_data_has_arrived),
        ON_EACH(unfinished_transfers_end_with_the_client),
        ON_EACH(impossible_buffers_are_named),
        ON_EACH(chunks_fill_a_stream),
    };
    return cmocka_run_group_tests_name("runtime-transfer_manager", tests, NULL, NULL);
}
