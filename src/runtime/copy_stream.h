/* SPDX-License-Identifier: Apache-2.0 */
/* copy_stream.h - host data that reaches a device in chunks: what a receive callback fills.
 * Threads: any; chunks are taken in the order of the calls. */
#ifndef TN_RUNTIME_COPY_STREAM_H
#define TN_RUNTIME_COPY_STREAM_H

#include "runtime/buffer.h"

typedef struct tn_copy_stream tn_copy_stream;

/* A stream that fills a new buffer, *target (the caller's reference), which is ready when the last
 * byte has arrived. Each chunk must be a multiple of `granule` bytes. */
tn_status *tn_copy_stream_create(tn_memory *m, const tn_type *type, int64_t granule,
                                 tn_buffer **target, tn_copy_stream **out) TN_MUST_USE;
void tn_copy_stream_destroy(tn_copy_stream *s); /* unfinished: the target gets CANCELLED */

int64_t tn_copy_stream_total(const tn_copy_stream *s);
int64_t tn_copy_stream_granule(const tn_copy_stream *s);
int64_t tn_copy_stream_current(const tn_copy_stream *s); /* bytes taken so far */

/* Takes a chunk: `deleter` (may be NULL) is called once, also after an error. *done is never NULL:
 * INVALID_ARGUMENT, for a size that is no multiple or past the end, comes through it too. */
tn_status *tn_copy_stream_add(tn_copy_stream *s, void *data, size_t size,
                              void (*deleter)(void *data, void *arg), void *arg,
                              tn_event **done) TN_MUST_USE;

#endif
