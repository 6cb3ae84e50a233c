/* SPDX-License-Identifier: Apache-2.0 */
/* ref.h - the reference count that stands first in every shared object.
 *
 * Threads: any. An object begins with one reference, which belongs to whoever made it; the thread
 * whose release returns true destroys it, and sees all that other threads did before theirs. */
#ifndef TN_BASE_REF_H
#define TN_BASE_REF_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct {
    atomic_uint count;
} tn_ref;

static inline void tn_ref_init(tn_ref *r)
{
    atomic_init(&r->count, 1);
}

static inline void tn_ref_retain(tn_ref *r)
{
    unsigned before = atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

/* True: that was the last one. */
static inline bool tn_ref_release(tn_ref *r)
{
    unsigned before = atomic_fetch_sub_explicit(&r->count, 1, memory_order_acq_rel);
    assert(before > 0);
    return before == 1;
}

/* Whether the caller holds the only reference, so that nobody else can add one. */
static inline bool tn_ref_is_only(const tn_ref *r)
{
    return atomic_load_explicit(&r->count, memory_order_acquire) == 1;
}

#endif
