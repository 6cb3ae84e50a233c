/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct tn_queue {
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    tn_task *first, **last;
    bool running; /* a task, on the thread or on a caller */
    bool stop;
    atomic_bool started; /* thread is valid */
    char name[16];
    pthread_t thread;
};

tn_status *tn_queue_create(const char *name, tn_queue **out)
{
    tn_queue *q = calloc(1, sizeof *q);
    if (!q) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a queue");
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->idle, NULL);
    q->last = &q->first;
    strncpy(q->name, name, sizeof q->name - 1);
    *out = q;
    return NULL;
}

void tn_queue_stop(tn_queue *q)
{
    if (!q || !q->started) return;
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    q->started = false;
}

void tn_queue_destroy(tn_queue *q)
{
    if (!q) return;
    tn_queue_stop(q);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->idle);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* The first task, if it can run. The caller holds the lock. */
static tn_task *take(tn_queue *q)
{
    tn_task *t = q->first;
    if (!t || q->running || atomic_load_explicit(&t->waits, memory_order_acquire) > 0) return NULL;
    q->first = t->next;
    if (!q->first) q->last = &q->first;
    q->running = true;
    return t;
}

/* The caller holds the lock. */
static void end_task(tn_queue *q)
{
    q->running = false;
    if (!q->first) pthread_cond_broadcast(&q->idle);
}

static void *work(void *arg)
{
    tn_queue *q = arg;
    pthread_mutex_lock(&q->lock);
    while (!q->stop) {
        tn_task *t = take(q);
        if (!t) {
            pthread_cond_wait(&q->work, &q->lock);
            continue;
        }
        pthread_mutex_unlock(&q->lock);
        t->run(t);
        pthread_mutex_lock(&q->lock);
        end_task(q);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

tn_status *tn_queue_start(tn_queue *q)
{
    if (atomic_load_explicit(&q->started, memory_order_acquire)) return NULL;
    pthread_mutex_lock(&q->lock);
    int failed = q->started ? 0 : pthread_create(&q->thread, NULL, work, q);
    if (!failed && !q->started) pthread_setname_np(q->thread, q->name);
    if (!failed) atomic_store_explicit(&q->started, true, memory_order_release);
    pthread_mutex_unlock(&q->lock);
    return failed ? TN_ERROR(RESOURCE_EXHAUSTED, "no thread for queue %s: %s", q->name,
                             strerror(failed))
                  : NULL;
}

void tn_queue_push(tn_queue *q, tn_task *t)
{
    t->next = NULL;
    pthread_mutex_lock(&q->lock);
    *q->last = t;
    q->last = &t->next;
    bool first = q->first == t;
    if (t->placed) t->placed(t);
    pthread_mutex_unlock(&q->lock);
    if (first) pthread_cond_signal(&q->work); /* who wakes wants the lock */
}

void tn_queue_unblock(tn_queue *q, tn_task *t)
{
    if (atomic_fetch_sub_explicit(&t->waits, 1, memory_order_acq_rel) > 1) return;
    /* The thread may have looked just before: it must not go to sleep between. By now it may also
     * have run and freed the task. */
    pthread_mutex_lock(&q->lock);
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->work);
}

bool tn_queue_try_enter(tn_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool idle = !q->running && !q->first;
    if (idle) q->running = true;
    pthread_mutex_unlock(&q->lock);
    return idle;
}

void tn_queue_leave(tn_queue *q)
{
    pthread_mutex_lock(&q->lock);
    end_task(q);
    if (q->first) pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
}

bool tn_queue_is_mine(const tn_queue *q)
{
    return q->started && pthread_equal(q->thread, pthread_self());
}

void tn_queue_drain(tn_queue *q)
{
    if (tn_queue_is_mine(q)) return;
    pthread_mutex_lock(&q->lock);
    while (q->first || q->running) pthread_cond_wait(&q->idle, &q->lock);
    pthread_mutex_unlock(&q->lock);
}
