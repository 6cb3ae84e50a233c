/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h - types and layouts of arrays as they come in. Threads: plain data. */
#ifndef TN_PJRT_SHAPE_H
#define TN_PJRT_SHAPE_H

#include "pjrt/entry.h"
#include "runtime/buffer.h"

/* Both borrow the caller's arrays, so they hold only during the call. */
typedef struct {
    tn_type type;
    tn_layout storage;
    const tn_layout *layout; /* &storage, or NULL: none was given */
} tn_pjrt_shape;

/* Fills *out, which must stay where it is. `layout` may be NULL. INVALID_ARGUMENT: no such element
 * type, a negative dimension, a layout of another rank. */
tn_status *tn_pjrt_take_shape(PJRT_Buffer_Type element, const int64_t *dims, size_t n_dims,
                              const PJRT_Buffer_MemoryLayout *layout,
                              tn_pjrt_shape *out) TN_MUST_USE;

/* The layout alone, of an array of this rank. *out is NULL, or `storage`. */
tn_status *tn_pjrt_take_layout(const PJRT_Buffer_MemoryLayout *layout, size_t rank,
                               tn_layout *storage, const tn_layout **out) TN_MUST_USE;

/* A dense row-major array of the type, in the bytes of xla's ShapeProto; ends with free(). */
tn_status *tn_pjrt_shape_proto(const tn_type *type, void **data, size_t *size) TN_MUST_USE;

#endif
