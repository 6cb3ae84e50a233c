/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.h - data between host arrays and buffers, and between buffers.
 *
 * All of these return at once if the work can't be done at once. Failures before anything was
 * started are returned; later ones come through the event. A returned event is the caller's
 * reference. Host arrays have one byte per element for types below a byte; the high bits are
 * ignored. */
#ifndef TN_RUNTIME_TRANSFER_H
#define TN_RUNTIME_TRANSFER_H

#include "runtime/buffer.h"

/* What may be done with a host array. The numbers are PJRT's. */
typedef enum {
    TN_HOST_READ_DURING_CALL = 0,
    TN_HOST_READ_UNTIL_DONE = 1, /* until the done event is ready */
    TN_HOST_ALIAS = 2,           /* the buffer may be the array; it is never written */
    TN_HOST_ALIAS_MUTABLE = 3    /* the same, and it may be written */
} tn_host_semantics;

typedef struct {
    const void *data; /* element 0, ..., 0 */
    const tn_type *type;
    const tn_layout *layout; /* NULL: dense row-major */
} tn_host_array;

/* A new buffer with the content of a host array.
 * Aliased if the semantics allow it and the memory is host addressable, the array dense row-major,
 * aligned to 64 bytes (large ones that are never written: to 16, see option alias_bytes) and of a
 * whole-byte type; otherwise copied, during the call or, where the
 * semantics allow it and the array is large, after it.
 * *done: ready when `array->data` may be changed or freed; for an aliased one that is when the last
 * user of the content is gone. */
tn_status *tn_buffer_from_host(tn_memory *m, const tn_host_array *array,
                               tn_host_semantics semantics, const tn_layout *device_layout,
                               tn_event **done, tn_buffer **out) TN_MUST_USE;

/* Bytes that an array of the buffer's type takes in the layout. INVALID_ARGUMENT: strides, tiles,
 * or no permutation. */
tn_status *tn_buffer_host_bytes(const tn_buffer *b, const tn_layout *layout,
                                size_t *out) TN_MUST_USE;

/* Copies the content to `dst`, which has room for `size` bytes, in the layout. Waits for the
 * content without blocking; errors of the content come through *done, which is never NULL on
 * success. INVALID_ARGUMENT: dst is too small, or a layout as above. */
tn_status *tn_buffer_to_host(tn_buffer *b, const tn_layout *layout, void *dst, size_t size,
                             tn_event **done) TN_MUST_USE;

/* Copies bytes as they lie in the memory. INVALID_ARGUMENT: not within the buffer. */
tn_status *tn_buffer_copy_raw_to_host(tn_buffer *b, void *dst, int64_t offset, int64_t size,
                                      tn_event **done) TN_MUST_USE;

/* The same to a place that is named later, by the one call of tn_raw_copy_start. */
typedef struct tn_raw_copy tn_raw_copy;
tn_status *tn_buffer_copy_raw_to_host_later(tn_buffer *b, int64_t offset, int64_t size,
                                            tn_event **done, tn_raw_copy **out) TN_MUST_USE;
/* Ends `c`; takes `error`: with one, nothing is copied and done gets it. */
void tn_raw_copy_start(tn_raw_copy *c, void *dst, tn_status *error);

/* A new buffer in any memory of the same client with a copy of the content. */
tn_status *tn_buffer_copy_to_memory(tn_buffer *b, tn_memory *dst, tn_buffer **out) TN_MUST_USE;

#endif
