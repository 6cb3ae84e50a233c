/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue.h"
#include "runtime/runtime_test.h"

typedef struct {
    tn_task task; /* first */
    atomic_int *next;
    int mine, got;
} numbered;

static void take_number(tn_task *t)
{
    numbered *n = (numbered *)t;
    n->got = atomic_fetch_add(n->next, 1);
}

enum { TASKS = 100 };

static void tasks_run_in_order_behind_a_blocked_one(void **state)
{
    tn_queue *q;
    assert_ok(tn_queue_create("test", &q));
    assert_ok(tn_queue_start(q));
    atomic_int next = 0;
    numbered tasks[TASKS];
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (numbered){.task.run = take_number, .next = &next, .mine = i};
        atomic_init(&tasks[i].task.waits, i == 50 ? 2 : 0);
        tn_queue_push(q, &tasks[i].task);
    }
    tn_queue_unblock(q, &tasks[50].task);
    while (atomic_load(&next) < 50) sleep_ms(1);
    sleep_ms(5);
    assert_int_equal(next, 50);
    assert_false(tn_queue_try_enter(q));
    tn_queue_unblock(q, &tasks[50].task);
    tn_queue_drain(q);
    assert_int_equal(next, TASKS);
    for (int i = 0; i < TASKS; i++) assert_int_equal(tasks[i].got, i);
    tn_queue_destroy(q);
}

static void who_enters_has_the_queue_alone(void **state)
{
    tn_queue *q;
    assert_ok(tn_queue_create("test", &q));
    assert_true(tn_queue_try_enter(q));
    assert_false(tn_queue_try_enter(q));
    assert_ok(tn_queue_start(q));
    atomic_int next = 0;
    numbered task = {.task.run = take_number, .next = &next};
    tn_queue_push(q, &task.task);
    sleep_ms(5);
    assert_int_equal(next, 0);
    tn_queue_leave(q);
    tn_queue_drain(q);
    assert_int_equal(next, 1);
    assert_false(tn_queue_is_mine(q));
    tn_queue_destroy(q);
    tn_queue_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_in_order_behind_a_blocked_one),
        cmocka_unit_test(who_enters_has_the_queue_alone),
    };
    return cmocka_run_group_tests_name("runtime-queue", tests, NULL, NULL);
}
