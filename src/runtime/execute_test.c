/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "runtime/program_test.h"

static void a_run_gives_values_and_readiness(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 2, 3);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *args[2] = {put_value(device_memory(c), 1), put_value(device_memory(c), 2)}, *outs[3];
    tn_event *done;
    assert_ok(try_execute(l, NULL, args, 2, outs, &done));
    assert_event_ok(done);
    for (int r = 0; r < 3; r++) {
        assert_event_ok(ready_event(outs[r]));
        assert_value(outs[r], (float)(4 + r));
        assert_ptr_equal(tn_buffer_memory(outs[r]), device_memory(c));
        tn_buffer_release(outs[r]);
    }
    assert_int_equal(p.runs, 1);
    for (int i = 0; i < 2; i++) {
        assert_false(tn_buffer_is_deleted(args[i]));
        tn_buffer_release(args[i]);
    }
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

static void results_are_arguments_at_once(void **state)
{
    tn_client *c = open_client(state);
    for (int costly = 0; costly < 2; costly++) {
        program p;
        make_program(&p, 1, 1);
        if (costly) p.info.cost_ns = UINT64_MAX;
        tn_loaded_executable *l = load(c, &p);
        tn_buffer *x = put_value(device_memory(c), 0);
        for (int i = 0; i < 200; i++) {
            tn_buffer *y;
            assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
            tn_buffer_release(x);
            x = y;
        }
        tn_loaded_executable_release(l);
        assert_value(x, 200);
        tn_buffer_release(x);
    }
    tn_client_close(c);
}

static void a_costly_run_does_not_hold_up_the_caller(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.gated = true;
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y, *z;
    tn_event *done, *copied;
    float got[PROGRAM_N];
    assert_ok(try_execute(l, NULL, &x, 1, &y, &done));
    assert_ok(try_execute(l, NULL, &y, 1, &z, NULL));
    assert_ok(tn_buffer_to_host(z, NULL, got, sizeof got, &copied));
    tn_event *ready = ready_event(y);
    sleep_ms(10);
    assert_false(tn_event_is_ready(done));
    assert_false(tn_event_is_ready(ready));
    assert_false(tn_event_is_ready(copied));
    tn_buffer_release(x); /* in use */
    tn_buffer_delete(y);
    sem_post(&p.gate);
    assert_event_ok(done);
    assert_event_ok(ready);
    assert_false(tn_event_is_ready(copied));
    sem_post(&p.gate);
    assert_event_ok(copied);
    assert_true(got[0] == 3);
    tn_buffer_release(y);
    tn_buffer_release(z);
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

static void objects_may_go_while_their_run_goes_on(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.gated = true;
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    tn_event *done;
    assert_ok(try_execute(l, NULL, &x, 1, &y, &done));
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_loaded_executable_release(l);
    sem_post(&p.gate);
    tn_client_close(c); /* waits */
    assert_true(tn_event_is_ready(done));
    assert_event_ok(done);
}

static void errors_reach_everything_that_depends_on_them(void **state)
{
    tn_client *c = open_client(state);
    program bad, good;
    make_program(&bad, 1, 2);
    bad.fails = true;
    make_program(&good, 2, 1);
    tn_loaded_executable *lb = load(c, &bad), *lg = load(c, &good);
    tn_buffer *x = put_value(device_memory(c), 1), *ys[2], *z, *copy;
    tn_event *done, *copied;
    float got[PROGRAM_N];
    assert_ok(try_execute(lb, NULL, &x, 1, ys, &done)); /* not returned here */
    assert_ok(try_execute(lg, NULL, (tn_buffer *[]){x, ys[1]}, 2, &z, NULL));
    assert_ok(tn_buffer_copy_to_memory(z, memory(c, 1, TN_MEMORY_DEVICE), &copy));
    assert_ok(tn_buffer_to_host(copy, NULL, got, sizeof got, &copied));
    const char *text = "the program failed";
    assert_event_fails(done, OUT_OF_RANGE, text);
    assert_event_fails(ready_event(ys[0]), OUT_OF_RANGE, text);
    assert_event_fails(ready_event(ys[1]), OUT_OF_RANGE, text);
    assert_event_fails(ready_event(z), OUT_OF_RANGE, text);
    assert_event_fails(ready_event(copy), OUT_OF_RANGE, text);
    assert_event_fails(copied, OUT_OF_RANGE, text);
    assert_event_ok(ready_event(x));
    tn_buffer_release(z);
    /* the device goes on */
    assert_ok(try_execute(lg, NULL, (tn_buffer *[]){x, x}, 2, &z, NULL));
    assert_value(z, 3);
    tn_buffer_release(x);
    tn_buffer_release(ys[0]);
    tn_buffer_release(ys[1]);
    tn_buffer_release(z);
    tn_buffer_release(copy);
    tn_loaded_executable_release(lb);
    tn_loaded_executable_release(lg);
    tn_client_close(c);
}

static void an_error_buffer_as_argument_keeps_its_error(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x, *y;
    assert_ok(tn_buffer_create_error(device_memory(c), program_type(), NULL,
                                     TN_ERROR(DATA_LOSS, "rotten"), &x));
    assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
    assert_event_fails(ready_event(y), DATA_LOSS, "rotten");
    assert_int_equal(p.runs, 0);
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void an_argument_may_come_later(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *alias, *y, *z, *source = put_value(device_memory(c), 5);
    tn_buffer_promise *promise;
    assert_ok(tn_buffer_create_alias(device_memory(c), program_type(), NULL, &alias, &promise));
    assert_ok(try_execute(l, NULL, &alias, 1, &y, NULL));
    assert_ok(try_execute(l, NULL, &y, 1, &z, NULL));
    tn_event *ready = ready_event(z);
    sleep_ms(5);
    assert_false(tn_event_is_ready(ready));
    assert_ok(tn_buffer_promise_fulfill(promise, source, NULL));
    assert_event_ok(ready);
    assert_value(z, 7);
    tn_buffer_release(alias);
    tn_buffer_release(source);
    tn_buffer_release(y);
    tn_buffer_release(z);

    /* or never */
    assert_ok(tn_buffer_create_alias(device_memory(c), program_type(), NULL, &alias, &promise));
    assert_ok(try_execute(l, NULL, &alias, 1, &y, NULL));
    ready = ready_event(y);
    tn_buffer_release(y);
    tn_loaded_executable_release(l);
    tn_client_close(c);
    assert_event_fails(ready, CANCELLED, "closed");
    tn_buffer_release(alias);
    assert_ok(tn_buffer_promise_fulfill(promise, NULL, NULL));
}

/* Who waits holds up nobody, whose end it may be waiting for. */
static void others_pass_a_run_that_waits(void **state)
{
    tn_client *c = open_client(state);
    program one, two;
    make_program(&one, 1, 1);
    make_program(&two, 1, 1);
    two.info.num_partitions = 2;
    tn_loaded_executable *l = load(c, &one), *both = load(c, &two);
    tn_buffer *alias, *y, *z, *outs[2];
    tn_buffer *a = put_value(memory(c, 0, 0), 1), *b = put_value(memory(c, 1, 0), 2);
    tn_buffer_promise *promise;
    tn_execute_options none = {0};
    assert_ok(tn_buffer_create_alias(memory(c, 1, 0), program_type(), NULL, &alias, &promise));
    assert_ok(tn_execute(both, &none, (tn_buffer *const *[]){&a, &alias}, 2, 1,
                         (tn_buffer * *[]){&outs[0], &outs[1]}, NULL));
    for (int i = 0; i < 2; i++) { /* one after the other, both behind it */
        assert_ok(try_execute(l, NULL, &a, 1, &y, NULL));
        assert_ok(try_execute(l, NULL, &y, 1, &z, NULL));
        assert_event_ok(ready_event(z));
        assert_value(z, 3);
        tn_buffer_release(y);
        tn_buffer_release(z);
    }
    tn_event *left = ready_event(outs[0]), *right = ready_event(outs[1]);
    assert_false(tn_event_is_ready(left));
    assert_false(tn_event_is_ready(right));
    assert_ok(tn_buffer_promise_fulfill(promise, b, NULL));
    assert_event_ok(left);
    assert_event_ok(right);
    assert_value(outs[0], 2);
    assert_value(outs[1], 13);
    for (int i = 0; i < 2; i++) tn_buffer_release(outs[i]);
    tn_buffer_release(alias);
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_loaded_executable_release(l);
    tn_loaded_executable_release(both);
    tn_client_close(c);
}

static void wrong_arguments_are_named(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 2, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *good = put_value(device_memory(c), 1), *y = (tn_buffer *)1;
    tn_buffer *far = put_value(memory(c, 1, TN_MEMORY_DEVICE), 1);
    float eight[8] = {0};
    tn_buffer *shape = put(device_memory(c), &TYPE(F32, 8), eight);
    tn_buffer *element = put(device_memory(c), &TYPE(I32, 4), eight);
    tn_buffer *deleted = put_value(device_memory(c), 1);
    tn_buffer_delete(deleted);
    assert_fails(try_execute(l, NULL, &good, 1, &y, NULL), INVALID_ARGUMENT, "1 arguments");
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){good, far}, 2, &y, NULL), INVALID_ARGUMENT,
                 "argument 1 of sum is on device");
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){shape, good}, 2, &y, NULL), INVALID_ARGUMENT,
                 "argument 0 of sum: expected tensor<4xf32>, got tensor<8xf32>");
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){good, element}, 2, &y, NULL),
                 INVALID_ARGUMENT, "got tensor<4xi32>");
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){good, NULL}, 2, &y, NULL), INVALID_ARGUMENT,
                 "argument 1 of sum is NULL");
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){good, deleted}, 2, &y, NULL),
                 INVALID_ARGUMENT, "Buffer has been deleted or donated");
    tn_execute_options none = {0};
    tn_buffer *args[2] = {good, good}, *const * lists[2] = {args, args};
    tn_buffer **outs[2] = {&y, &y};
    assert_fails(tn_execute(l, &none, lists, 2, 2, outs, NULL), INVALID_ARGUMENT,
                 "2 argument lists");
    assert_fails(tn_execute(l, &none, lists, 0, 2, outs, NULL), INVALID_ARGUMENT,
                 "0 argument lists");
    assert_int_equal(p.runs, 0);
    tn_buffer_release(good);
    tn_buffer_release(far);
    tn_buffer_release(shape);
    tn_buffer_release(element);
    tn_buffer_release(deleted);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

/* ---- Donation ---- */

static void a_donated_argument_becomes_the_result(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 2, 2);
    donate(&p, 1, 0);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *args[2] = {put_value(device_memory(c), 1), put_value(device_memory(c), 2)}, *outs[2];
    void *before, *after;
    assert_event_ok(ready_event(args[1])); /* a copy under way reads... nothing here */
    assert_ok(tn_buffer_pointer(args[1], &before));
    assert_ok(try_execute(l, NULL, args, 2, outs, NULL));
    assert_false(tn_buffer_is_deleted(args[0]));
    assert_true(tn_buffer_is_deleted(args[1]));
    assert_value(outs[0], 4);
    assert_value(outs[1], 5);
    assert_ok(tn_buffer_pointer(outs[0], &after));
    assert_ptr_equal(before, after);
    tn_buffer *again[2];
    assert_fails(try_execute(l, NULL, args, 2, again, NULL), INVALID_ARGUMENT,
                 "Buffer has been deleted or donated");
    for (int i = 0; i < 2; i++) {
        tn_buffer_release(args[i]);
        tn_buffer_release(outs[i]);
    }
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

static void a_chain_of_donations_stays_in_one_place(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    donate(&p, 0, 0);
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 0);
    void *before, *after;
    assert_event_ok(ready_event(x));
    assert_ok(tn_buffer_pointer(x, &before));
    for (int i = 0; i < 300; i++) { /* dispatched ahead of the work */
        tn_buffer *y;
        assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
        assert_true(tn_buffer_is_deleted(x));
        tn_buffer_release(x);
        x = y;
    }
    assert_value(x, 300);
    assert_ok(tn_buffer_pointer(x, &after));
    assert_ptr_equal(before, after);
    tn_buffer_release(x);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void what_may_not_be_written_is_copied(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    donate(&p, 0, 0);
    tn_loaded_executable *l = load(c, &p);
    void *pointer, *other;

    /* an external reference: not even deleted */
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    assert_ok(tn_buffer_add_external_reference(x));
    assert_ok(tn_buffer_pointer(x, &pointer));
    assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
    assert_false(tn_buffer_is_deleted(x));
    assert_value(y, 2);
    assert_value(x, 1);
    assert_ok(tn_buffer_pointer(y, &other));
    assert_ptr_not_equal(pointer, other);
    assert_ok(tn_buffer_drop_external_reference(x));
    tn_buffer_release(y);

    /* named as not donatable */
    int64_t kept[] = {0, 77, -1};
    tn_execute_options options = {.non_donatable = kept, .n_non_donatable = 3};
    assert_ok(try_execute(l, &options, &x, 1, &y, NULL));
    assert_false(tn_buffer_is_deleted(x));
    assert_value(y, 2);
    assert_value(x, 1);
    tn_buffer_release(y);

    /* a content that another buffer shares */
    tn_buffer *cast;
    assert_ok(tn_buffer_bitcast(x, program_type(), NULL, &cast));
    assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
    assert_true(tn_buffer_is_deleted(x));
    assert_value(y, 2);
    assert_value(cast, 1);
    tn_buffer_release(x);
    tn_buffer_release(y);
    /* ... and now owns alone */
    assert_event_ok(ready_event(cast));
    assert_ok(tn_buffer_pointer(cast, &pointer));
    assert_ok(try_execute(l, NULL, &cast, 1, &y, NULL));
    assert_value(y, 2);
    assert_ok(tn_buffer_pointer(y, &other));
    assert_ptr_equal(pointer, other);
    tn_buffer_release(cast);
    tn_buffer_release(y);

    /* an array of the host that is not to be written */
    _Alignas(64) float data[PROGRAM_N] = {1, 1, 1, 1};
    for (int mutable = 0; mutable < 2; mutable ++) {
        tn_host_array array = {.data = data, .type = program_type()};
        tn_event *done;
        assert_ok(tn_buffer_from_host(device_memory(c), &array,
                                      mutable ? TN_HOST_ALIAS_MUTABLE : TN_HOST_ALIAS, NULL, &done,
                                      &x));
        assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
        assert_true(tn_buffer_is_deleted(x));
        assert_value(y, 2);
        assert_true(data[0] == (mutable && tn_buffer_is_on_host(y) ? 2 : 1));
        tn_buffer_release(y);
        assert_event_ok(done); /* the array is free again */
        tn_buffer_release(x);
    }
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

/* Runs that were started before a donation see the memory as it was, whether they still wait for
 * something else, are beside the queue, or the one that writes is. */
static void earlier_readers_see_donated_memory_as_it_was(void **state)
{
    enum { READER_WAITS, READER_IS_BESIDE, WRITER_IS_BESIDE, CASES };
    for (int which = 0; which < CASES; which++) {
        tn_client *c = open_client(state);
        program gated, reader, writer;
        make_program(&gated, 1, 1);
        make_program(&reader, 2, 1);
        make_program(&writer, 1, 1);
        donate(&writer, 0, 0);
        *(which == READER_WAITS ? &gated.gated : &reader.gated) = true;
        gated.info.cost_ns = reader.info.cost_ns = 100000000;
        if (which == READER_IS_BESIDE) reader.info.cost_ns = UINT64_MAX;
        if (which == WRITER_IS_BESIDE) writer.info.cost_ns = UINT64_MAX;
        tn_loaded_executable *make = load(c, &gated), *read = load(c, &reader),
                             *write = load(c, &writer);
        tn_buffer *x = put_value(device_memory(c), 10), *z = put_value(device_memory(c), 100);
        tn_buffer *args[2] = {x, z}, *y = NULL, *sum, *next;
        void *before, *after;
        assert_event_ok(ready_event(x));
        assert_event_ok(ready_event(z));
        assert_ok(tn_buffer_pointer(x, &before));
        if (which == READER_WAITS) {
            assert_ok(try_execute(make, NULL, &z, 1, &y, NULL));
            args[1] = y;
        }
        assert_ok(try_execute(read, NULL, args, 2, &sum, NULL));
        assert_ok(try_execute(write, NULL, &x, 1, &next, NULL));
        assert_true(tn_buffer_is_deleted(x));
        usleep(2000); /* let what can run do so */
        sem_post(which == READER_WAITS ? &gated.gate : &reader.gate);
        assert_value(sum, which == READER_WAITS ? 112 : 111);
        assert_value(next, 11);
        assert_ok(tn_buffer_pointer(next, &after));
        if (which == WRITER_IS_BESIDE) assert_ptr_equal(before, after);
        tn_buffer_release(x);
        if (y) tn_buffer_release(y);
        tn_buffer_release(z);
        tn_buffer_release(sum);
        tn_buffer_release(next);
        tn_loaded_executable_release(make);
        tn_loaded_executable_release(read);
        tn_loaded_executable_release(write);
        assert_int_equal(bytes_in_use(c), 0);
        tn_client_close(c);
    }
}

static void a_donation_without_a_result_deletes(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    donate(&p, 0, -1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    assert_ok(try_execute(l, NULL, &x, 1, &y, NULL));
    assert_true(tn_buffer_is_deleted(x));
    assert_value(y, 2);
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

static void one_buffer_donated_and_used_is_refused(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 3, 3);
    donate(&p, 1, 0);
    donate(&p, 2, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *a = put_value(device_memory(c), 1), *b = put_value(device_memory(c), 2), *outs[3];
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){b, a, a}, 3, outs, NULL), INVALID_ARGUMENT,
                 "f(donate(a), donate(a))");
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){a, a, b}, 3, outs, NULL), INVALID_ARGUMENT,
                 "f(a, donate(a))");
    assert_false(tn_buffer_is_deleted(a));
    assert_false(tn_buffer_is_deleted(b));
    make_program(&p, 3, 3);
    donate(&p, 0, 0);
    tn_loaded_executable_release(l);
    l = load(c, &p);
    assert_fails(try_execute(l, NULL, (tn_buffer *[]){a, b, a}, 3, outs, NULL), INVALID_ARGUMENT,
                 "f(donate(a), a)");
    assert_ok(try_execute(l, NULL, (tn_buffer *[]){a, b, b}, 3, outs, NULL));
    assert_true(tn_buffer_is_deleted(a));
    assert_value(outs[0], 6);
    for (int i = 0; i < 3; i++) tn_buffer_release(outs[i]);
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void a_refused_execution_changes_nothing(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 2, 2);
    donate(&p, 0, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *a = put_value(device_memory(c), 1), *deleted = put_value(device_memory(c), 2);
    tn_buffer_delete(deleted);
    tn_buffer *outs[2];
    tn_event *done = NULL;
    for (int i = 0; i < 3; i++) {
        assert_fails(try_execute(l, NULL, (tn_buffer *[]){a, deleted}, 2, outs, &done),
                     INVALID_ARGUMENT, "argument 1 of sum");
        assert_false(tn_buffer_is_deleted(a));
        assert_null(done);
        assert_value(a, 1);
    }
    /* it still can be donated in place */
    void *before, *after;
    assert_ok(tn_buffer_pointer(a, &before));
    tn_buffer *b = put_value(device_memory(c), 2);
    assert_ok(try_execute(l, NULL, (tn_buffer *[]){a, b}, 2, outs, NULL));
    assert_ok(tn_buffer_pointer(outs[1], &after));
    assert_ptr_equal(before, after);
    assert_value(outs[1], 5);
    tn_buffer_release(outs[0]);
    tn_buffer_release(outs[1]);
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_buffer_release(deleted);
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    tn_client_close(c);
}

/* ---- Devices, memories, options ---- */

static void each_device_runs_its_part(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.info.num_partitions = 2;
    tn_loaded_executable *l = load(c, &p);
    size_t n;
    assert_ptr_equal(tn_loaded_executable_devices(l, &n)[1], device(c, 1));
    assert_int_equal(n, 2);
    assert_int_equal(tn_loaded_executable_logical_ids(l, &n)[1].replica, 0);
    assert_int_equal(tn_loaded_executable_logical_ids(l, &n)[1].partition, 1);
    tn_buffer *a = put_value(memory(c, 0, 0), 1), *b = put_value(memory(c, 1, 0), 2), *outs[2];
    tn_event *done[2];
    tn_execute_options none = {0};
    assert_ok(tn_execute(l, &none, (tn_buffer *const *[]){&a, &b}, 2, 1,
                         (tn_buffer * *[]){&outs[0], &outs[1]}, done));
    assert_event_ok(done[0]);
    assert_event_ok(done[1]);
    assert_value(outs[0], 2);
    assert_value(outs[1], 13);
    assert_ptr_equal(tn_buffer_device(outs[1]), device(c, 1));
    tn_buffer_release(outs[0]);
    tn_buffer_release(outs[1]);
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_loaded_executable_release(l);

    p.info.num_replicas = 2;
    assert_fails(try_load(c, &p, &l), INVALID_ARGUMENT, "needs 4 devices");
    p.info.num_partitions = 0;
    assert_fails(try_load(c, &p, &l), INVALID_ARGUMENT, "0 partitions");
    p.info.num_partitions = 1;
    tn_program what = {.info = &p.info, .run = run_program, .release = keep_program, .self = &p};
    assert_fails(tn_loaded_executable_create_from(c, &what, (int[]){1, 1}, 2, false, &l),
                 INVALID_ARGUMENT, "twice");
    assert_fails(tn_loaded_executable_create_from(c, &what, (int[]){1, 5}, 2, false, &l),
                 INVALID_ARGUMENT, "id 5");
    assert_fails(tn_loaded_executable_create_from(c, &what, (int[]){1}, 1, false, &l),
                 INVALID_ARGUMENT, "1 devices");
    tn_client_close(c);
}

/* Parts of a launch that meet: neither may run on the thread that starts them both. */
static pthread_barrier_t meeting;
static tn_status *run_meeting(const void *self, const tn_host_run *run, tn_thread_pool *pool)
{
    pthread_barrier_wait(&meeting);
    return run_program(self, run, pool);
}

static void devices_may_meet_within_a_launch(void **state)
{
    for (int wait = 0; wait < 2; wait++) {
        tn_named_value options[] = {
            OPTION("cpu_device_count", 2),
            {.name = "asynchronous", .name_size = 12, .kind = TN_VALUE_BOOL, .boolean = !wait}};
        tn_client *c = open_with(*state, options, 2);
        program p;
        make_program(&p, 1, 1);
        p.info.num_replicas = 2;
        tn_program what = {
            .info = &p.info, .run = run_meeting, .release = keep_program, .self = &p};
        tn_loaded_executable *l;
        assert_ok(tn_loaded_executable_create_from(c, &what, NULL, 0, false, &l));
        pthread_barrier_init(&meeting, NULL, 2);
        tn_buffer *x[2] = {put_value(memory(c, 0, 0), 1), put_value(memory(c, 1, 0), 2)};
        tn_execute_options none = {0};
        for (int i = 0; i < 50; i++) {
            tn_buffer *y[2];
            assert_ok(tn_execute(l, &none, (tn_buffer *const *[]){&x[0], &x[1]}, 2, 1,
                                 (tn_buffer * *[]){&y[0], &y[1]}, NULL));
            for (int d = 0; d < 2; d++) {
                tn_buffer_release(x[d]);
                x[d] = y[d];
            }
        }
        assert_value(x[0], 51);
        assert_value(x[1], 2 + 50 * 101);
        tn_buffer_release(x[0]);
        tn_buffer_release(x[1]);
        tn_loaded_executable_release(l);
        tn_client_close(c);
        pthread_barrier_destroy(&meeting);
    }
}

static void a_portable_executable_runs_anywhere(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    tn_program what = {.info = &p.info, .run = run_program, .release = keep_program, .self = &p};
    tn_loaded_executable *l;
    assert_ok(tn_loaded_executable_create_from(c, &what, NULL, 0, true, &l));
    tn_buffer *x = put_value(memory(c, 1, 0), 1), *y;
    assert_fails(try_execute(l, NULL, &x, 1, &y, NULL), INVALID_ARGUMENT, "no devices");
    tn_execute_options options = {.device = device(c, 1)};
    assert_ok(try_execute(l, &options, &x, 1, &y, NULL));
    assert_value(y, 2);
    tn_buffer_release(y);
    options.device = device(c, 0);
    assert_fails(try_execute(l, &options, &x, 1, &y, NULL), INVALID_ARGUMENT, "argument 0");
    tn_buffer_release(x);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void host_memories_work_as_arguments_and_results(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 2, 2);
    p.params[0].memory_kind = p.results[1].memory_kind = "pinned_host";
    donate(&p, 0, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_memory *host = memory(c, 0, TN_MEMORY_PINNED_HOST);
    tn_buffer *args[2] = {put_value(host, 1), put_value(memory(c, 0, 2), 2)}, *outs[2];
    assert_ok(try_execute(l, NULL, args, 2, outs, NULL));
    assert_true(tn_buffer_is_deleted(args[0]));
    assert_value(outs[0], 4);
    assert_value(outs[1], 5);
    assert_ptr_equal(tn_buffer_memory(outs[0]), device_memory(c));
    assert_ptr_equal(tn_buffer_memory(outs[1]), host);
    for (int i = 0; i < 2; i++) {
        tn_buffer_release(args[i]);
        tn_buffer_release(outs[i]);
    }
    tn_loaded_executable_release(l);
    assert_int_equal(bytes_in_use(c), 0);
    p.results[0].memory_kind = "nowhere";
    assert_fails(try_load(c, &p, &l), INVALID_ARGUMENT, "nowhere");
    tn_client_close(c);
}

static void a_deleted_executable_does_not_run(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    assert_false(tn_loaded_executable_is_deleted(l));
    tn_loaded_executable_delete(l);
    tn_loaded_executable_delete(l);
    assert_true(tn_loaded_executable_is_deleted(l));
    assert_fails(try_execute(l, NULL, &x, 1, &y, NULL), FAILED_PRECONDITION, "deleted");
    tn_buffer_release(x);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void a_launch_in_flight_can_be_poisoned(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.gated = true;
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y, *z;
    tn_execute_options first = {.launch_id = 17}, second = {.launch_id = 18};
    bool poisoned;
    assert_ok(try_execute(l, &first, &x, 1, &y, NULL));
    assert_ok(try_execute(l, &second, &x, 1, &z, NULL));
    tn_device_poison(device(c, 0), 99, TN_ERROR(ABORTED, "poison"), &poisoned);
    assert_false(poisoned);
    tn_device_poison(device(c, 0), 18, TN_ERROR(ABORTED, "poison"), &poisoned);
    assert_true(poisoned);
    sem_post(&p.gate);
    sem_post(&p.gate);
    assert_value(y, 2);
    assert_event_fails(ready_event(z), ABORTED, "poison");
    tn_device_poison(device(c, 0), 17, TN_ERROR(ABORTED, "poison"), &poisoned);
    assert_false(poisoned);
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_buffer_release(z);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void count_release(const struct tn_custom_call_context *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void the_context_lives_until_the_last_run_is_over(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.gated = true;
    p.info.cost_ns = UINT64_MAX;
    p.info.num_replicas = 2;
    p.info.calls_out = true;
    tn_loaded_executable *l = load(c, &p);
    atomic_int released = 0;
    tn_execute_options options = {.custom_calls = (const void *)&released,
                                  .release_custom_calls = count_release};
    tn_buffer *a = put_value(memory(c, 0, 0), 1), *b = put_value(memory(c, 1, 0), 2), *outs[2];
    tn_event *done[2];
    assert_ok(tn_execute(l, &options, (tn_buffer *const *[]){&a, &b}, 2, 1,
                         (tn_buffer * *[]){&outs[0], &outs[1]}, done));
    assert_int_equal(released, 0);
    sem_post(&p.gate);
    sem_post(&p.gate);
    assert_event_ok(done[0]);
    assert_event_ok(done[1]);
    assert_int_equal(released, 1);
    assert_ptr_equal(p.custom_calls, &released);
    tn_buffer_release(outs[0]);
    tn_buffer_release(outs[1]);
    assert_fails(try_execute(l, &options, &a, 1, outs, NULL), INVALID_ARGUMENT, "lists");
    assert_int_equal(released, 2);
    tn_buffer_release(a);
    tn_buffer_release(b);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void a_program_without_calls_has_no_use_for_the_context(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.gated = true;
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    atomic_int released = 0;
    tn_execute_options options = {.custom_calls = (const void *)&released,
                                  .release_custom_calls = count_release};
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    assert_ok(try_execute(l, &options, &x, 1, &y, NULL));
    assert_int_equal(released, 1);
    sem_post(&p.gate);
    assert_value(y, 2);
    assert_null(p.custom_calls);
    assert_int_equal(released, 1);
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

static void synchronous_clients_return_when_done(void **state)
{
    tn_named_value options[] = {
        {.name = "asynchronous", .name_size = 12, .kind = TN_VALUE_BOOL, .boolean = false}};
    tn_client *c = open_with(*state, options, 1);
    program p;
    make_program(&p, 1, 1);
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    for (int i = 0; i < 20; i++) {
        tn_event *done;
        assert_ok(try_execute(l, NULL, &x, 1, &y, &done));
        assert_true(tn_event_is_ready(done));
        assert_event_ok(done);
        tn_buffer_release(y);
    }
    tn_buffer_release(x);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

/* A callback may launch again and even wait, when it runs on the thread of the caller. */
typedef struct {
    tn_loaded_executable *loaded;
    tn_buffer *arg, *out;
    tn_status *status;
} nested;

static void launch_again(tn_status *s, void *arg)
{
    nested *n = arg;
    tn_status_free(s);
    n->status = try_execute(n->loaded, NULL, &n->arg, 1, &n->out, NULL);
}

static void a_callback_may_launch(void **state)
{
    tn_client *c = open_client(state);
    program p;
    make_program(&p, 1, 1);
    p.gated = true;
    p.info.cost_ns = UINT64_MAX;
    tn_loaded_executable *l = load(c, &p);
    tn_buffer *x = put_value(device_memory(c), 1), *y;
    tn_event *done;
    nested n = {.loaded = l, .arg = x};
    assert_ok(try_execute(l, NULL, &x, 1, &y, &done));
    assert_ok(tn_event_on_ready(done, launch_again, &n));
    sem_post(&p.gate);
    sem_post(&p.gate);
    assert_event_ok(done);
    while (!tn_buffer_is_deleted(y)) { /* until the callback has run */
        sleep_ms(1);
        if (atomic_load(&p.runs) == 2) tn_buffer_delete(y);
    }
    assert_ok(n.status);
    assert_value(n.out, 2);
    tn_buffer_release(n.out);
    tn_buffer_release(x);
    tn_buffer_release(y);
    tn_loaded_executable_release(l);
    tn_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH(a_run_gives_values_and_readiness),
        ON_EACH(results_are_arguments_at_once),
        ON_EACH(a_costly_run_does_not_hold_up_the_caller),
        ON_EACH(objects_may_go_while_their_run_goes_on),
        ON_EACH(errors_reach_everything_that_depends_on_them),
        ON_EACH(an_error_buffer_as_argument_keeps_its_error),
        ON_EACH(an_argument_may_come_later),
        ON("cpu", others_pass_a_run_that_waits),
        ON_EACH(wrong_arguments_are_named),
        ON_EACH(a_donated_argument_becomes_the_result),
        ON_EACH(a_chain_of_donations_stays_in_one_place),
        ON_EACH(what_may_not_be_written_is_copied),
        ON_EACH(earlier_readers_see_donated_memory_as_it_was),
        ON_EACH(a_donation_without_a_result_deletes),
        ON_EACH(one_buffer_donated_and_used_is_refused),
        ON_EACH(a_refused_execution_changes_nothing),
        ON_EACH(each_device_runs_its_part),
        ON_EACH(devices_may_meet_within_a_launch),
        ON_EACH(a_portable_executable_runs_anywhere),
        ON_EACH(host_memories_work_as_arguments_and_results),
        ON_EACH(a_deleted_executable_does_not_run),
        ON_EACH(a_launch_in_flight_can_be_poisoned),
        ON_EACH(the_context_lives_until_the_last_run_is_over),
        ON_EACH(a_program_without_calls_has_no_use_for_the_context),
        ON_EACH(synchronous_clients_return_when_done),
        ON_EACH(a_callback_may_launch),
    };
    return cmocka_run_group_tests_name("runtime-execute", tests, NULL, NULL);
}
