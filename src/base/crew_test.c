/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crew.h"

typedef struct {
    tn_crew_task as_task;
    int number;
} task;

static atomic_int done, running, most;
static int order[100];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int arrived;

static void await_done(int n)
{
    for (int i = 0; i < 5000 && atomic_load(&done) < n; i++) usleep(1000);
    assert_int_equal(atomic_load(&done), n);
}

static task *new_task(void (*run)(tn_crew_task *), int number)
{
    task *t = calloc(1, sizeof *t);
    t->as_task.run = run;
    t->number = number;
    return t;
}

static void note(tn_crew_task *t)
{
    int now = atomic_fetch_add(&running, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) continue;
    order[((task *)t)->number] = atomic_load(&done);
    usleep(100);
    free(t);
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&done, 1);
}

static void a_lane_of_one_keeps_order(void **state)
{
    tn_lane lane;
    tn_lane_init(&lane, 1);
    done = most = 0;
    for (int i = 0; i < 50; i++) tn_lane_push(&lane, &new_task(note, i)->as_task, false);
    await_done(50);
    for (int i = 0; i < 50; i++) assert_int_equal(order[i], i);
    assert_int_equal(most, 1);
    tn_crew_settle();
    tn_lane_destroy(&lane);
}

static void a_lane_is_bounded(void **state)
{
    tn_lane lane;
    tn_lane_init(&lane, 3);
    done = most = 0;
    for (int i = 0; i < 60; i++) tn_lane_push(&lane, &new_task(note, i)->as_task, false);
    await_done(60);
    assert_in_range(most, 1, 3);
    tn_crew_settle();
    tn_lane_destroy(&lane);
}

/* Ends only when all of them have come. */
static void meet(tn_crew_task *t)
{
    int n = ((task *)t)->number;
    free(t);
    pthread_mutex_lock(&lock);
    arrived++;
    pthread_cond_broadcast(&changed);
    while (arrived < n) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&done, 1);
}

static void urgent_tasks_never_wait(void **state)
{
    tn_lane lane;
    tn_lane_init(&lane, 1);
    done = arrived = 0;
    tn_lane_push(&lane, &new_task(meet, 10)->as_task, false);
    for (int i = 0; i < 9; i++) tn_lane_push(&lane, &new_task(meet, 10)->as_task, true);
    await_done(10);
    tn_crew_settle();
    tn_lane_destroy(&lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_of_one_keeps_order),
        cmocka_unit_test(a_lane_is_bounded),
        cmocka_unit_test(urgent_tasks_never_wait),
    };
    return cmocka_run_group_tests_name("base-crew", tests, NULL, NULL);
}
