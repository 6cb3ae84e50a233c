/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - a block of a memory: what buffers have as their content.
 *
 * Reference counted: buffers and work in flight hold it, so memory lives until its last use is
 * over. It keeps its client alive. */
#ifndef TN_RUNTIME_STORAGE_H
#define TN_RUNTIME_STORAGE_H

#include "base/ref.h"
#include "runtime/event.h"
#include "runtime/memory.h"
#include "runtime/pool.h"
#include "tenon/driver.h"

typedef struct tn_storage {
    tn_ref ref;
    atomic_uint shares; /* buffers whose content it is: with two, it is never written */
    atomic_uint reads; /* transfers under way that read it, and runs without a place in the queue */
    tn_memory *memory;
    size_t size; /* of the block; 0: there is none */
    /* Where it lies. Unplaced ones (see tn_storage_create_unplaced) have neither until they are
     * placed. */
    tn_mem *mem; /* if the device can use it */
    void *host;  /* if the host can */
    unsigned size_class;
    bool pooled;
    bool read_only;          /* somebody else's, not to be written */
    bool unplaced;           /* made without a block */
    struct tn_storage *base; /* unplaced ones: whose block it is */
    void (*on_delete)(void *data, void *arg);
    void *data, *arg;
    tn_event *released; /* set after the end; may be NULL */
    tn_pool_links links;
} tn_storage;

/* `size` bytes, content undefined. Size 0 gives a storage without a block. */
tn_status *tn_storage_create(tn_memory *m, size_t size, tn_storage **out) TN_MUST_USE;

/* Over foreign memory; on_delete (may be NULL) is called once, at the end, but not if this fails.
 * UNIMPLEMENTED: the memory can't hold foreign blocks. */
tn_status *tn_storage_create_foreign(tn_memory *m, void *data, size_t size, bool read_only,
                                     void (*on_delete)(void *data, void *arg), void *arg,
                                     tn_storage **out) TN_MUST_USE;

/* Without a block, until tn_storage_place gives it that of `base` (retained). Who uses it must know
 * from an event that this has happened. */
tn_status *tn_storage_create_unplaced(tn_memory *m, tn_storage **out) TN_MUST_USE;
void tn_storage_place(tn_storage *s, tn_storage *base);

tn_storage *tn_storage_retain(tn_storage *s);
void tn_storage_release(tn_storage *s); /* NULL is fine */

/* Whether a program may write it, given that one buffer gives it up. */
static inline bool tn_storage_is_writable(tn_storage *s)
{
    return !s->read_only && !s->unplaced &&
           atomic_load_explicit(&s->shares, memory_order_acquire) == 1 &&
           atomic_load_explicit(&s->reads, memory_order_acquire) == 0;
}

static inline tn_span tn_storage_span(const tn_storage *s, size_t offset, size_t size)
{
    return (tn_span){.mem = s->mem, .offset = offset, .size = size};
}

/* Gives the driver what the pools of the memory's device keep. False: that was nothing. */
bool tn_storage_trim(tn_memory *m);

#endif
