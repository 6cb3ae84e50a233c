/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - an array in one memory, with its readiness.
 *
 * An array is dense, its dimensions in any order; element types below a byte take a byte each.
 * Threads: any function from any thread, also on one buffer.
 * Lifetime: reference counted; the owner's handle is one reference. A buffer may be deleted or
 * released while work that uses it runs: its memory is freed after the last use.
 * Deleted: by tn_buffer_delete or by donation. Type, memory and size stay known; what needs the
 * content fails with INVALID_ARGUMENT "Buffer has been deleted or donated", through the event where
 * there is one. */
#ifndef TN_RUNTIME_BUFFER_H
#define TN_RUNTIME_BUFFER_H

#include "runtime/event.h"
#include "runtime/memory.h"
#include "type/type.h"

typedef struct tn_buffer tn_buffer;

typedef enum { TN_LAYOUT_ORDER, TN_LAYOUT_STRIDES } tn_layout_kind;

/* How the elements of an array lie in memory. Where one is asked for, NULL means row-major. */
typedef struct {
    tn_layout_kind kind;
    uint32_t rank;
    /* ORDER: dense; the dimension that varies fastest comes first: a permutation of [0, rank).
     * STRIDES: bytes from one element to the next in each dimension, may be 0 or negative. */
    const int64_t *values;
    uint32_t n_tiles; /* tiled layouts are refused: INVALID_ARGUMENT unless 0 */
} tn_layout;

tn_buffer *tn_buffer_retain(tn_buffer *b);
void tn_buffer_release(tn_buffer *b); /* NULL is fine */

/* ---- Making (see transfer.h for those that bring data) ----
 * `type` is a static tensor type, or the token type; it is copied. `layout` of the device memory:
 * any order of the dimensions; strides that leave gaps are UNIMPLEMENTED. Errors of all:
 * INVALID_ARGUMENT for a type that no array can have, RESOURCE_EXHAUSTED without memory. */

/* The content is undefined and ready. */
tn_status *tn_buffer_create_uninitialized(tn_memory *m, const tn_type *type,
                                          const tn_layout *layout, tn_buffer **out) TN_MUST_USE;

/* Over memory of somebody else, which must be host memory aligned to 64 bytes (INVALID_ARGUMENT),
 * or what the driver takes for its own. May be written when donated. on_delete (may be NULL) is
 * called once, with (data, arg), after the last use; also if this call fails it is not called.
 * UNIMPLEMENTED where the driver can't. */
tn_status *tn_buffer_create_view(tn_memory *m, const tn_type *type, const tn_layout *layout,
                                 void *data, void (*on_delete)(void *data, void *arg), void *arg,
                                 tn_buffer **out) TN_MUST_USE;

/* Every use reports `error` (taken, not NULL). */
tn_status *tn_buffer_create_error(tn_memory *m, const tn_type *type, const tn_layout *layout,
                                  tn_status *error, tn_buffer **out) TN_MUST_USE;

/* Becomes another buffer later, by the one call of tn_buffer_promise_fulfill. */
typedef struct tn_buffer_promise tn_buffer_promise;
tn_status *tn_buffer_create_alias(tn_memory *m, const tn_type *type, const tn_layout *layout,
                                  tn_buffer **out, tn_buffer_promise **promise) TN_MUST_USE;
/* Ends the promise: the alias is `source` (same memory and type; it shares its content, so neither
 * is ever written while the other lives), or with source NULL the error (taken).
 * INVALID_ARGUMENT: source does not fit, and the alias has that error. */
tn_status *tn_buffer_promise_fulfill(tn_buffer_promise *promise, tn_buffer *source,
                                     tn_status *error) TN_MUST_USE;

/* Takes the content of `b`, which is deleted, into a new buffer that is ready once both the content
 * is and somebody has set *dependency (the caller's reference). */
tn_status *tn_buffer_donate_after(tn_buffer *b, tn_event **dependency, tn_buffer **out) TN_MUST_USE;

/* The same bytes seen as another type of the same size. The content is shared. */
tn_status *tn_buffer_bitcast(tn_buffer *b, const tn_type *type, const tn_layout *layout,
                             tn_buffer **out) TN_MUST_USE;

/* ---- What is known of it; lives with the buffer, also when deleted ---- */

const tn_type *tn_buffer_type(const tn_buffer *b);
const int64_t *tn_buffer_minor_to_major(const tn_buffer *b); /* [rank] */
size_t tn_buffer_bytes(const tn_buffer *b);                  /* on the device */
tn_memory *tn_buffer_memory(const tn_buffer *b);
struct tn_device *tn_buffer_device(const tn_buffer *b);
/* Whether tn_buffer_pointer is an address that the host can read. */
bool tn_buffer_is_on_host(const tn_buffer *b);

/* ---- Readiness and end ---- */

/* A new reference each time: ready when the content is there, or with the error that it is instead.
 * Of a deleted buffer: ready, with the error. */
tn_status *tn_buffer_ready_event(tn_buffer *b, tn_event **out) TN_MUST_USE;

void tn_buffer_delete(tn_buffer *b); /* again is fine */
bool tn_buffer_is_deleted(const tn_buffer *b);

/* ---- The memory itself ---- */

/* While references are held the memory stays, even if the buffer is deleted, and is not written: a
 * program to which it is donated works on a copy, and the buffer is not deleted. */
tn_status *tn_buffer_add_external_reference(tn_buffer *b) TN_MUST_USE;
/* INVALID_ARGUMENT: there is none. */
tn_status *tn_buffer_drop_external_reference(tn_buffer *b) TN_MUST_USE;

/* The device address; NULL for arrays without elements, UNIMPLEMENTED where the driver has none,
 * FAILED_PRECONDITION for an alias that is not fulfilled. Stays good while the buffer lives or an
 * external reference is held; the content is there only when the buffer is ready. */
tn_status *tn_buffer_pointer(tn_buffer *b, void **out) TN_MUST_USE;

#endif
