/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - threads for work that may block: handlers of custom calls, and what they schedule.
 *
 * The thread pool is for loops, and its threads never wait for anything. Here every task that is
 * started gets a thread to itself, one that is idle or else a new one. Threads end after a while
 * without work.
 *
 * A lane bounds how many of its tasks run at once; others wait in it, in order.
 * Threads: any. Fork: the child begins without threads, and tasks that waited are lost to it. */
#ifndef TN_BASE_CREW_H
#define TN_BASE_CREW_H

#include <pthread.h>
#include <stdbool.h>

/* Part of whatever is to be done. */
typedef struct tn_crew_task {
    struct tn_crew_task *next;
    struct tn_lane *lane;
    void (*run)(struct tn_crew_task *t); /* may free the task */
} tn_crew_task;

typedef struct tn_lane {
    pthread_mutex_t lock;
    int limit, running;
    tn_crew_task *first, **last;
} tn_lane;

#define TN_LANE_INIT(lane, most)                                                                   \
    {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = (most), .last = &(lane).first}
void tn_lane_init(tn_lane *lane, int limit);
void tn_lane_destroy(tn_lane *lane); /* nothing is in it */

/* Starts `t`, or lets it wait; `urgent` starts it whatever the limit. Where the system refuses
 * threads, the caller runs it. */
void tn_lane_push(tn_lane *lane, tn_crew_task *t, bool urgent);

/* Ends threads that are idle, and returns when they are gone. */
void tn_crew_settle(void);

#endif
