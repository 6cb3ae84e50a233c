/* SPDX-License-Identifier: Apache-2.0 */
/* thread_pool.h - parallel loops over independent items.
 *
 * A pool of n threads is n - 1 workers; whoever calls tn_parallel_for is the n-th. Workers wait
 * spinning for some tens of microseconds after a loop, then asleep, so that loops that follow each
 * other start in under a microsecond and an idle pool costs nothing.
 *
 * Results never depend on the number of threads or on the split: `fn` must treat every item on its
 * own.
 *
 * Threads: any number of threads may call tn_parallel_for on one pool at once. One of them gets the
 * workers, the others run their loop alone; no call ever waits for another one, hence nested calls
 * are safe too.
 *
 * Fork: in a forked child the workers don't exist; loops run on the caller, and destroy
 * only frees. */
#ifndef TN_BASE_THREAD_POOL_H
#define TN_BASE_THREAD_POOL_H

#include <stdint.h>

#include "tenon/status.h"

typedef struct tn_thread_pool tn_thread_pool;

/* Makes a pool of `n_threads` threads; 0: TN_THREADS, or else the usable CPUs. Where the system
 * refuses threads the pool has fewer. INVALID_ARGUMENT for a negative number, RESOURCE_EXHAUSTED
 * without memory. */
tn_status *tn_thread_pool_create(int n_threads, tn_thread_pool **out) TN_MUST_USE;

/* Joins the workers. No loop may be running on the pool. NULL is fine. */
void tn_thread_pool_destroy(tn_thread_pool *pool);

/* Threads that a loop may use, the caller included; NULL: 1. */
int tn_thread_pool_size(const tn_thread_pool *pool);

/* Does items [begin, end). Called from several threads at once for disjoint ranges. */
typedef void tn_parallel_fn(void *ctx, int64_t begin, int64_t end);

/* Calls `fn` until each of [0, n_items) was done once, then returns. `cost_ns` is what one item
 * takes, about: a loop of less than some 15 us in all runs on the caller, and no piece is made
 * smaller than about 5 us. A NULL pool runs the loop on the caller. */
void tn_parallel_for(tn_thread_pool *pool, int64_t n_items, double cost_ns, tn_parallel_fn *fn,
                     void *ctx);

#endif
