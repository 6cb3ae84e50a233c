/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_internal.h - work that begins once a buffer's content is there. */
#ifndef TN_RUNTIME_TRANSFER_INTERNAL_H
#define TN_RUNTIME_TRANSFER_INTERNAL_H

#include "runtime/buffer_internal.h"
#include "runtime/transfer.h"

#define TN_CONTAINER(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* First in whatever is transferred. Exactly one call of `finish` ends it, from any thread. */
typedef struct tn_transfer {
    tn_task task;
    tn_waiter waiter;
    tn_completion completion; /* for use by `start` */
    tn_client *client;
    tn_content src;
    /* The content is ready and whole. Sees to it that finish is called. */
    void (*start)(struct tn_transfer *t);
    /* Takes the error, or NULL. Frees the transfer, after tn_transfer_end. */
    void (*finish)(struct tn_transfer *t, tn_status *s);
} tn_transfer;

/* Begins: start now if the content is ready, on the client's transfer thread once it is, or finish
 * with the error that it has instead. The fields client (borrowed), src, start and finish are set.
 * On an error return nothing has happened. */
tn_status *tn_transfer_begin(tn_transfer *t) TN_MUST_USE;
/* Lets go of what tn_transfer itself holds. */
void tn_transfer_end(tn_transfer *t);

/* Called when a write is over; takes the error, or NULL. */
typedef void tn_write_done(void *arg, tn_status *s);

/* Writes host bytes into a storage, and calls fn(arg, error) when that is done: before the return
 * if the host can address the memory. `src` must stay until then. `staging` (NULL, or a block of
 * staging_size bytes from tn_host_memory_alloc that src is in) is taken. On an error return nothing
 * is written, and fn is not called. */
tn_status *tn_storage_write(tn_storage *s, size_t offset, const void *src, size_t size,
                            void *staging, size_t staging_size, tn_write_done *fn,
                            void *arg) TN_MUST_USE;

/* A copy of a host array with the strides of a buffer's layout, padding normalized; ended by
 * tn_host_memory_free with the array's bytes. */
tn_status *tn_host_array_pack(tn_thread_pool *pool, const tn_host_array *array,
                              const int64_t *strides, const int64_t *dst_strides,
                              void *dst) TN_MUST_USE;

#endif
