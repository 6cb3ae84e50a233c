/* SPDX-License-Identifier: Apache-2.0 */
/* sim_test.c - what the runtime makes of a device that fails. */
#include <unistd.h>

#include "runtime/program_test.h"

static tn_client *open_sim(const char *fault, int64_t n)
{
    tn_named_value options[] = {OPTION(fault, n), OPTION("sim_device_count", 2),
                                OPTION("sim_fault_device", 0)};
    return open_with("sim", options, 3);
}

static void a_failed_allocation_is_returned(void **state)
{
    tn_client *c = open_sim("sim_fail_alloc", 2);
    tn_buffer *a, *b;
    assert_ok(tn_buffer_create_uninitialized(device_memory(c), program_type(), NULL, &a));
    assert_fails(tn_buffer_create_uninitialized(device_memory(c), program_type(), NULL, &b),
                 RESOURCE_EXHAUSTED, "injected failure of an allocation");
    assert_ok(tn_buffer_create_uninitialized(device_memory(c), program_type(), NULL, &b));
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_client_close(c);

    tn_named_value full[] = {OPTION("sim_memory_bytes", 4096)};
    c = open_with("sim", full, 1);
    program p;
    make_program(&p, 1, 8);
    tn_loaded_executable *l = load(c, &p);
    tn_type large = TYPE(F32, 960);
    tn_buffer *x = put_value(device_memory(c), 1), *outs[8];
    assert_ok(tn_buffer_create_uninitialized(device_memory(c), &large, NULL, &a));
    assert_fails(try_execute(l, NULL, &x, 1, outs, NULL), RESOURCE_EXHAUSTED, "result 3 of sum");
    tn_buffer_release(a);
    assert_ok(try_execute(l, NULL, &x, 1, outs, NULL));
    for (int i = 0; i < 8; i++) {
        assert_value(outs[i], (float)(2 + i));
        tn_buffer_release(outs[i]);
    }
    tn_buffer_release(x);
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

static void a_failed_copy_spoils_its_buffer_only(void **state)
{
    tn_client *c = open_sim("sim_fail_copy", 2);
    tn_buffer *a = put_value(device_memory(c), 1), *b = put_value(device_memory(c), 2);
    tn_buffer *e = put_value(device_memory(c), 3), *sum, *sum_of_good;
    program p;
    make_program(&p, 2, 1);
    tn_loaded_executable *l = load(c, &p);
    assert_ok(try_execute(l, NULL, (tn_buffer *[]){a, b}, 2, &sum, NULL));
    assert_ok(try_execute(l, NULL, (tn_buffer *[]){a, e}, 2, &sum_of_good, NULL));
    assert_event_fails(ready_event(b), INTERNAL, "injected failure of a copy");
    assert_event_fails(ready_event(sum), INTERNAL, "injected failure of a copy");
    assert_value(a, 1);
    assert_value(sum_of_good, 5);
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_buffer_release(e);
    tn_buffer_release(sum);
    tn_buffer_release(sum_of_good);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void a_failed_copy_out_reaches_the_event(void **state)
{
    tn_client *c = open_sim("sim_fail_copy", 2);
    tn_buffer *a = put_value(device_memory(c), 1);
    float got[PROGRAM_N];
    tn_event *done;
    assert_ok(tn_buffer_to_host(a, NULL, got, sizeof got, &done));
    assert_event_fails(done, INTERNAL, "injected failure of a copy");
    assert_value(a, 1);
    tn_buffer_release(a);
    tn_client_close(c);
}

static void a_failed_launch_spoils_its_results(void **state)
{
    for (int refuse = 0; refuse < 2; refuse++) {
        tn_client *c = open_sim(refuse ? "sim_refuse_launch" : "sim_fail_launch", 2);
        const char *text = refuse ? "injected refusal" : "injected failure of a launch";
        program p;
        make_program(&p, 1, 1);
        donate(&p, 0, 0);
        tn_loaded_executable *l = load(c, &p);
        tn_buffer *x = put_value(device_memory(c), 0), *kept[5];
        tn_event *done[5];
        for (int i = 0; i < 5; i++) {
            assert_ok(try_execute(l, NULL, &x, 1, &kept[i], &done[i]));
            tn_buffer_release(x);
            x = tn_buffer_retain(kept[i]);
        }
        assert_event_ok(done[0]);
        for (int i = 1; i < 5; i++) assert_event_fails(done[i], INTERNAL, text);
        assert_event_fails(ready_event(x), INTERNAL, text);
        tn_buffer_release(x);
        for (int i = 0; i < 5; i++) tn_buffer_release(kept[i]);
        x = put_value(device_memory(c), 0);
        assert_ok(try_execute(l, NULL, &x, 1, kept, NULL));
        assert_value(kept[0], 1);
        tn_buffer_release(x);
        tn_buffer_release(kept[0]);
        tn_loaded_executable_release(l);
        assert_int_equal(bytes_in_use(c), 0);
        tn_client_close(c);
    }
}

static void a_lost_device_fails_all_that_follows(void **state)
{
    tn_client *c = open_sim("sim_lose_device", 3);
    program p;
    make_program(&p, 1, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 0), *y, *z; /* 1 */
    tn_event *done;
    float got[PROGRAM_N];
    assert_ok(try_execute(l, NULL, &x, 1, &y, NULL)); /* 2 */
    assert_event_ok(ready_event(y));
    assert_ok(try_execute(l, NULL, &y, 1, &z, &done)); /* 3 */
    assert_event_fails(done, UNAVAILABLE, "device 0 is lost");
    assert_event_fails(ready_event(z), UNAVAILABLE, "lost");
    tn_buffer_release(z);
    assert_ok(try_execute(l, NULL, &y, 1, &z, NULL));
    assert_event_fails(ready_event(z), UNAVAILABLE, "lost");
    assert_ok(tn_buffer_to_host(y, NULL, got, sizeof got, &done));
    assert_event_fails(done, UNAVAILABLE, "lost");
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_buffer_release(z);
    tn_loaded_executable_release(l);
    /* the other device and the host memories go on */
    x = put_value(memory(c, 1, 0), 5);
    assert_ok(tn_buffer_copy_to_memory(x, memory(c, 0, TN_MEMORY_PINNED_HOST), &y));
    assert_value(y, 5);
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_client_close(c);
}

static void a_device_address_is_no_address_of_the_host(void **state)
{
    tn_client *c = open_sim("sim_copy_ns", 0);
    tn_buffer *x = put_value(device_memory(c), 1);
    void *pointer;
    assert_ok(tn_buffer_pointer(x, &pointer));
    assert_non_null(pointer);
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(write(pipe_ends[1], pointer, 1), -1); /* EFAULT */
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    tn_buffer_release(x);
    tn_client_close(c);
}

/* With latencies and jitter on two devices, values and order stay what they are. */
static void slow_and_unsteady_devices_give_the_same_values(void **state)
{
    tn_named_value options[] = {OPTION("sim_device_count", 2), OPTION("sim_launch_ns", 50000),
                                OPTION("sim_copy_ns", 20000), OPTION("sim_jitter_ns", 100000)};
    tn_client *c = open_with("sim", options, 4);
    program p;
    make_program(&p, 2, 1);
    p.info.num_partitions = 2;
    tn_loaded_executable *l = load(c, &p);
    tn_execute_options none = {0};
    tn_buffer *x[2] = {put_value(memory(c, 0, 0), 0), put_value(memory(c, 1, 0), 0)};
    float expected[2] = {0, 0};
    for (int i = 0; i < 12; i++) {
        tn_buffer *crossed[2], *next[2];
        for (int d = 0; d < 2; d++) {
            assert_ok(tn_buffer_copy_to_memory(x[1 - d], memory(c, (size_t)d, 0), &crossed[d]));
        }
        assert_ok(tn_execute(l, &none,
                             (tn_buffer *const *[]){(tn_buffer *[]){x[0], crossed[0]},
                                                    (tn_buffer *[]){x[1], crossed[1]}},
                             2, 2, (tn_buffer * *[]){&next[0], &next[1]}, NULL));
        float sum = expected[0] + expected[1];
        expected[0] = sum + 1;
        expected[1] = sum + 11;
        for (int d = 0; d < 2; d++) {
            tn_buffer_release(crossed[d]);
            tn_buffer_release(x[d]);
            x[d] = next[d];
        }
    }
    for (int d = 0; d < 2; d++) {
        assert_value(x[d], expected[d]);
        tn_buffer_release(x[d]);
    }
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_is_returned),
        cmocka_unit_test(a_failed_copy_spoils_its_buffer_only),
        cmocka_unit_test(a_failed_copy_out_reaches_the_event),
        cmocka_unit_test(a_failed_launch_spoils_its_results),
        cmocka_unit_test(a_lost_device_fails_all_that_follows),
        cmocka_unit_test(a_device_address_is_no_address_of_the_host),
        cmocka_unit_test(slow_and_unsteady_devices_give_the_same_values),
    };
    return cmocka_run_group_tests_name("runtime-sim", tests, NULL, NULL);
}
