/* SPDX-License-Identifier: Apache-2.0 */
/* piece_memory.h - working memory for the pieces of a parallel loop: one block of the execution's
 * scratch, which is enough where the loop runs on its caller alone, and more from the heap. */
#ifndef TN_OPS_PIECE_MEMORY_H
#define TN_OPS_PIECE_MEMORY_H

#include <stdatomic.h>
#include <stdlib.h>

#include "ops/ops.h"

typedef struct {
    size_t size;
    void *own;
    _Atomic(void *) spare; /* `own` while nobody uses it */
} tn_piece_memory;

/* Before the loop: blocks of `size` bytes, aligned to 64. */
static inline void tn_piece_memory_begin(tn_piece_memory *m, tn_scratch *scratch, size_t size)
{
    m->size = (size + 63) & ~(size_t)63;
    m->own = tn_scratch_alloc(scratch, m->size);
    atomic_store(&m->spare, m->own);
}

/* In a piece. NULL when out of memory. */
static inline void *tn_piece_memory_take(tn_piece_memory *m)
{
    void *p = atomic_exchange(&m->spare, NULL);
    return p ? p : aligned_alloc(64, m->size);
}
static inline void tn_piece_memory_give(tn_piece_memory *m, void *p)
{
    if (p == m->own) atomic_store(&m->spare, p);
    else free(p);
}

/* The first failure of several pieces stays; others end here. */
static inline void tn_keep_first(_Atomic(tn_status *) *failure, tn_status *s)
{
    tn_status *none = NULL;
    if (s && !atomic_compare_exchange_strong(failure, &none, s)) tn_status_free(s);
}

#endif
