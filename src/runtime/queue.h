/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - tasks that a thread of their own does one after the other, in the order they came.
 *
 * A task may wait for things to happen first; tasks behind it wait with it. A caller that finds the
 * queue idle can do a task's work itself instead of handing it over.
 * Threads: any. */
#ifndef TN_RUNTIME_QUEUE_H
#define TN_RUNTIME_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "tenon/status.h"

typedef struct tn_queue tn_queue;

/* Part of whatever is to be done. */
typedef struct tn_task {
    struct tn_task *next;
    void (*run)(struct tn_task *t); /* may free the task */
    /* Called as soon as the task has its place in the queue, which is locked; NULL: nothing is. */
    void (*placed)(struct tn_task *t);
    atomic_uint waits; /* things that must happen before it runs */
} tn_task;

/* `name` shows in debuggers; at most 15 bytes. */
tn_status *tn_queue_create(const char *name, tn_queue **out) TN_MUST_USE;
/* Joins the thread. The queue is empty, and the caller is not on its thread. A thread that has put
 * an end to something may still be on its way out of here: where several belong together, stop all
 * before destroying any. NULL is fine. */
void tn_queue_stop(tn_queue *q);
/* Stops it if need be, and frees it. NULL is fine. */
void tn_queue_destroy(tn_queue *q);

/* Starts the thread if that was not done yet, so that a push can't fail. */
tn_status *tn_queue_start(tn_queue *q) TN_MUST_USE;
void tn_queue_push(tn_queue *q, tn_task *t);
/* One of the things has happened that the task waits for. */
void tn_queue_unblock(tn_queue *q, tn_task *t);

/* True: nothing is queued or runs, and until tn_queue_leave the caller is who runs. */
bool tn_queue_try_enter(tn_queue *q);
void tn_queue_leave(tn_queue *q);

/* Blocks until the queue is empty and nothing runs; on the queue's own thread it returns at once.
 */
void tn_queue_drain(tn_queue *q);
/* Whether the caller is on the queue's thread. */
bool tn_queue_is_mine(const tn_queue *q);

#endif
