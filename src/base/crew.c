/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { IDLE_MS = 500 };

/* Threads that wait, and tasks that were handed to them but not taken yet. A task is handed over
 * only if there is a waiting thread for it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t work, gone;
static tn_crew_task *handed, **handed_end = &handed;
static int idle, n_handed;
static unsigned settled; /* calls of tn_crew_settle */
/* The thread that ended last: who ends next joins it, so that none is left behind. */
static pthread_t ended;
static bool has_ended;

static void init_conditions(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&work, &attr);
    pthread_cond_init(&gone, NULL);
    pthread_condattr_destroy(&attr);
}

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    init_conditions();
    handed = NULL;
    handed_end = &handed;
    idle = n_handed = 0;
    has_ended = false;
}

static void begin(void)
{
    init_conditions();
    pthread_atfork(NULL, NULL, in_child);
}

static tn_crew_task *next_of_lane(tn_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    tn_crew_task *t = lane->running <= lane->limit ? lane->first : NULL;
    if (t) {
        lane->first = t->next;
        if (!lane->first) lane->last = &lane->first;
    } else {
        lane->running--;
    }
    pthread_mutex_unlock(&lane->lock);
    return t;
}

static void run_lane(tn_crew_task *t)
{
    while (t) {
        tn_lane *lane = t->lane;
        t->run(t);
        t = next_of_lane(lane);
    }
}

/* Waits for a task; NULL: the thread should end. The caller holds the lock. */
static tn_crew_task *await_task(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + IDLE_MS * 1000000L) / 1000000000L;
    until.tv_nsec = (until.tv_nsec + IDLE_MS * 1000000L) % 1000000000L;
    unsigned seen = settled;
    idle++;
    int e = 0;
    while (!handed && e != ETIMEDOUT && seen == settled)
        e = pthread_cond_timedwait(&work, &lock, &until);
    idle--;
    tn_crew_task *t = handed;
    if (!t) return NULL;
    handed = t->next;
    if (!handed) handed_end = &handed;
    n_handed--;
    return t;
}

static void *thread_main(void *arg)
{
    tn_crew_task *t = arg;
    while (t) {
        run_lane(t);
        pthread_mutex_lock(&lock);
        t = await_task();
        if (t) pthread_mutex_unlock(&lock);
    }
    bool join = has_ended;
    pthread_t before = ended;
    ended = pthread_self();
    has_ended = true;
    if (idle == n_handed) pthread_cond_broadcast(&gone);
    pthread_mutex_unlock(&lock);
    if (join) pthread_join(before, NULL);
    return NULL;
}

static bool start_thread(tn_crew_task *t)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool started = !pthread_create(&thread, NULL, thread_main, t);
    if (started) pthread_setname_np(thread, "tenon-crew");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void start(tn_crew_task *t)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    if (idle > n_handed) {
        t->next = NULL;
        *handed_end = t;
        handed_end = &t->next;
        n_handed++;
        pthread_cond_signal(&work);
        pthread_mutex_unlock(&lock);
        return;
    }
    pthread_mutex_unlock(&lock);
    if (!start_thread(t)) run_lane(t);
}

void tn_lane_init(tn_lane *lane, int limit)
{
    *lane = (tn_lane){.limit = limit, .last = &lane->first};
    pthread_mutex_init(&lane->lock, NULL);
}

void tn_lane_destroy(tn_lane *lane)
{
    pthread_mutex_destroy(&lane->lock);
}

void tn_lane_push(tn_lane *lane, tn_crew_task *t, bool urgent)
{
    t->next = NULL;
    t->lane = lane;
    pthread_mutex_lock(&lane->lock);
    bool now = urgent || lane->running < lane->limit;
    if (now) {
        lane->running++;
    } else {
        *lane->last = t;
        lane->last = &t->next;
    }
    pthread_mutex_unlock(&lane->lock);
    if (now) start(t);
}

void tn_crew_settle(void)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    settled++;
    pthread_cond_broadcast(&work);
    while (idle > n_handed) pthread_cond_wait(&gone, &lock);
    bool join = has_ended;
    pthread_t last = ended;
    has_ended = false;
    pthread_mutex_unlock(&lock);
    if (join) pthread_join(last, NULL);
}
