/* SPDX-License-Identifier: Apache-2.0 */
/* buffer_internal.h - what a buffer is made of, and how work gets at its content. */
#ifndef TN_RUNTIME_BUFFER_INTERNAL_H
#define TN_RUNTIME_BUFFER_INTERNAL_H

#include "runtime/buffer.h"
#include "runtime/client_internal.h"
#include "runtime/storage.h"

struct tn_buffer {
    tn_ref ref;
    tn_memory *memory;
    tn_type type; /* dims points to numbers */
    size_t bytes;
    pthread_mutex_t lock; /* all that follows but the numbers */
    atomic_bool deleted;  /* written under the lock */
    bool leaving;         /* taken by a call of tn_execute that may yet fail and give it back */
    unsigned external;    /* references; above 0 the storage stays after deletion */
    tn_event *ready;      /* NULL once deleted */
    tn_storage *storage;  /* NULL: gone, or an error from birth */
    int64_t numbers[];    /* dims, then minor_to_major */
};

/* The content of a buffer at some moment, kept alive. storage NULL: `ready` is or will be an error.
 */
typedef struct {
    tn_storage *storage;
    tn_event *ready;
    bool reading; /* counted in storage->reads */
} tn_content;

/* Checks that an array of the type can exist, and counts its bytes. INVALID_ARGUMENT if not. */
tn_status *tn_buffer_check_type(const tn_type *type, size_t *bytes) TN_MUST_USE;

/* A buffer with this content: takes both references, also on failure. `layout` as in buffer.h. */
tn_status *tn_buffer_create(tn_memory *m, const tn_type *type, const tn_layout *layout,
                            tn_storage *storage, tn_event *ready, tn_buffer **out) TN_MUST_USE;

/* As it is in the buffer, with which it lives: in *room, or NULL for row-major. */
const tn_layout *tn_buffer_layout(const tn_buffer *b, tn_layout *room);

/* INVALID_ARGUMENT "Buffer has been deleted or donated". */
tn_status *tn_buffer_deleted_error(void) TN_MUST_USE;

/* The content, for reading outside of the launch queue: no program writes it meanwhile. Fails if
 * the buffer is deleted. */
tn_status *tn_buffer_read(tn_buffer *b, tn_content *out) TN_MUST_USE;
void tn_content_release(tn_content *c);

/* Takes storage and event out of a buffer and marks it as deleted; the caller holds its lock and
 * knows that it has no external reference. */
tn_content tn_buffer_take(tn_buffer *b);

#endif
