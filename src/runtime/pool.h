/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - blocks of one memory, kept for reuse after they were released.
 *
 * Sizes are rounded up to classes, at most 1/16 apart, and a block goes back to its class; the
 * block last released is the first reused. What is kept is bounded: the block released longest ago
 * goes first. Threads: any. */
#ifndef TN_RUNTIME_POOL_H
#define TN_RUNTIME_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

struct tn_storage;

enum { TN_POOL_CLASSES = 16 + 16 * 54 };

typedef struct {
    pthread_mutex_t lock;
    size_t limit; /* of kept */
    size_t in_use, peak_in_use, kept, peak_total, largest, n_allocs;
    struct tn_storage *newest, *oldest; /* of all that are kept */
    struct tn_storage *classes[TN_POOL_CLASSES];
} tn_pool;

/* The part of a block that belongs to the pool while it is kept. */
typedef struct {
    struct tn_storage *newer, *older; /* in the pool */
    struct tn_storage *class_next, *class_prev;
} tn_pool_links;

void tn_pool_init(tn_pool *p, size_t limit);
/* Gives back all that is kept; all blocks have been released. */
void tn_pool_destroy(tn_pool *p);

/* The class that a size belongs to, and the size of its blocks; size > 0. */
unsigned tn_pool_class(size_t size, size_t *rounded);

/* A kept block of the class, or NULL. Counts a block of `rounded` bytes as in use either way. */
struct tn_storage *tn_pool_take(tn_pool *p, unsigned size_class, size_t rounded);
/* Keeps a block; those that have to go are chained through links.class_next and returned. */
struct tn_storage *tn_pool_keep(tn_pool *p, struct tn_storage *s) TN_MUST_USE;
/* A block that was counted as in use does not exist after all. */
void tn_pool_forget(tn_pool *p, size_t rounded);
/* All that is kept, chained as before. */
struct tn_storage *tn_pool_trim(tn_pool *p) TN_MUST_USE;

void tn_pool_clear_peaks(tn_pool *p);

#endif
