/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime_test.h"

static tn_event *pending(void)
{
    tn_event *e = NULL;
    assert_ok(tn_event_create(&e));
    return e;
}

typedef struct {
    atomic_int calls, errors;
    int order[8];
} log_of_calls;

static void count_call(tn_status *s, void *arg)
{
    log_of_calls *l = arg;
    atomic_fetch_add(&l->calls, 1);
    if (s) atomic_fetch_add(&l->errors, 1);
    tn_status_free(s);
}

static void an_event_is_set_once(void **state)
{
    tn_event *e = pending();
    assert_false(tn_event_is_ready(e));
    assert_fails(tn_event_error(e), FAILED_PRECONDITION, "not ready");
    assert_true(tn_event_set(e, TN_ERROR(ABORTED, "first")));
    assert_false(tn_event_set(e, TN_ERROR(ABORTED, "second")));
    assert_true(tn_event_is_ready(e));
    for (int i = 0; i < 3; i++) assert_fails(tn_event_error(e), ABORTED, "first");
    assert_fails(tn_event_await(e), ABORTED, "first");
    tn_event_release(e);
}

static void callbacks_run_once_each_before_and_after(void **state)
{
    log_of_calls l = {0};
    tn_event *e = pending();
    for (int i = 0; i < 3; i++) assert_ok(tn_event_on_ready(e, count_call, &l));
    assert_int_equal(l.calls, 0);
    tn_event_set(e, TN_ERROR(DATA_LOSS, "gone"));
    assert_int_equal(l.calls, 3);
    assert_ok(tn_event_on_ready(e, count_call, &l));
    assert_int_equal(l.calls, 4);
    assert_int_equal(l.errors, 4);
    tn_event_release(e);
}

typedef struct {
    int *next, mine;
} place;

static void note_order(tn_status *s, void *arg)
{
    place *p = arg;
    assert_int_equal((*p->next)++, p->mine);
    tn_status_free(s);
}

static void callbacks_run_in_the_order_of_registration(void **state)
{
    int next = 0;
    place places[5];
    tn_event *e = pending();
    for (int i = 0; i < 5; i++) {
        places[i] = (place){&next, i};
        assert_ok(tn_event_on_ready(e, note_order, &places[i]));
    }
    tn_event_set(e, NULL);
    assert_int_equal(next, 5);
    tn_event_release(e);
}

static void a_callback_outlives_the_handle(void **state)
{
    log_of_calls l = {0};
    tn_event *e = pending(), *setter = tn_event_retain(e);
    assert_ok(tn_event_on_ready(e, count_call, &l));
    tn_event_release(e);
    tn_event_set(setter, NULL);
    assert_int_equal(l.calls, 1);
    tn_event_release(setter);
}

static void dropping_a_pending_event_cancels_it(void **state)
{
    log_of_calls l = {0};
    tn_event *e = pending();
    assert_ok(tn_event_on_ready(e, count_call, &l));
    tn_event_release(e);
    assert_int_equal(l.calls, 1);
    assert_int_equal(l.errors, 1);
    tn_event_release(NULL);
}

static void set_again(tn_status *s, void *arg)
{
    tn_status_free(s);
    tn_event *e = arg;
    assert_true(tn_event_is_ready(e)); /* a callback may use the event: no lock is held */
    assert_ok(tn_event_error(e));
    assert_ok(tn_event_await(e));
    tn_event_release(e);
}

static void a_callback_may_use_and_release_the_event(void **state)
{
    tn_event *e = pending();
    assert_ok(tn_event_on_ready(e, set_again, e));
    tn_event *mine = tn_event_retain(e);
    tn_event_set(mine, NULL);
    tn_event_release(mine);
}

enum { THREADS = 8, ROUNDS = 2000 };
typedef struct {
    tn_event *events[ROUNDS];
    log_of_calls log;
    atomic_int sets;
} race;

static void *register_and_await(void *arg)
{
    race *r = arg;
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(tn_event_on_ready(r->events[i], count_call, &r->log));
        if (i % 2 == 0) {
            tn_status *s = tn_event_await(r->events[i]);
            if (s) abort();
        }
    }
    return NULL;
}

static void *set_all(void *arg)
{
    race *r = arg;
    for (int i = 0; i < ROUNDS; i++)
        if (tn_event_set(r->events[i], NULL)) atomic_fetch_add(&r->sets, 1);
    return NULL;
}

static void threads_race_on_events(void **state)
{
    race *r = calloc(1, sizeof *r);
    for (int i = 0; i < ROUNDS; i++) r->events[i] = pending();
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, i < 2 ? set_all : register_and_await, r);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    assert_int_equal(r->log.calls, (THREADS - 2) * ROUNDS);
    assert_int_equal(r->sets, ROUNDS);
    for (int i = 0; i < ROUNDS; i++) tn_event_release(r->events[i]);
    free(r);
}

static void a_forked_child_does_not_wait(void **state)
{
    tn_event *e = pending();
    pid_t child = fork();
    if (child == 0) {
        tn_status *s = tn_event_await(e);
        _exit(tn_status_code(s) == TN_FAILED_PRECONDITION ? 7 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    tn_event_set(e, NULL);
    tn_event_release(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_set_once),
        cmocka_unit_test(callbacks_run_once_each_before_and_after),
        cmocka_unit_test(callbacks_run_in_the_order_of_registration),
        cmocka_unit_test(a_callback_outlives_the_handle),
        cmocka_unit_test(dropping_a_pending_event_cancels_it),
        cmocka_unit_test(a_callback_may_use_and_release_the_event),
        cmocka_unit_test(threads_race_on_events),
        cmocka_unit_test(a_forked_child_does_not_wait),
    };
    return cmocka_run_group_tests_name("runtime-event", tests, NULL, NULL);
}
