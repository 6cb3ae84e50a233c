/* SPDX-License-Identifier: Apache-2.0 */
/* strided.h - copies between strided views of memory: the engine of broadcast, transpose, slice,
 * reverse, pad, concatenate and of window copies.
 *
 * A copy is a nest of loops, outermost first, each with a size and the distance in bytes that one
 * step takes in the destination and in the source. A source distance may be zero (broadcast) or
 * negative (reverse). Loops are merged as they are pushed, so that a nest of any rank ends in at
 * most 63 of them, and long contiguous runs become memcpy. Destination and source must not overlap.
 * Threads: pieces are done on the pool; the bytes written don't depend on it. */
#ifndef TN_OPS_STRIDED_H
#define TN_OPS_STRIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread_pool.h"

/* Dimensions of size 1 are dropped and elements of the smaller side fit in int64_t, so a non-empty
 * nest holds no more. */
#define TN_STRIDED_MAX 64

/* So many bytes are written past the caches. */
enum { TN_STREAMED_BYTES = 4 << 20 };

typedef struct {
    uint32_t rank;
    bool empty; /* some loop has no iterations */
    int64_t dims[TN_STRIDED_MAX], dst[TN_STRIDED_MAX], src[TN_STRIDED_MAX];
} tn_strided;

static inline void tn_strided_init(tn_strided *s)
{
    s->rank = 0;
    s->empty = false;
}
/* Adds the next inner loop. */
void tn_strided_push(tn_strided *s, int64_t dim, int64_t dst, int64_t src);
/* Copies elements of `width` bytes (1, 2, 4, 8 or 16). Pointers need no alignment. `pool` may be
 * NULL. */
void tn_strided_run(const tn_strided *s, size_t width, void *dst, const void *src,
                    tn_thread_pool *pool);

/* A nest that is run many times on the caller, as a window copy is. */
typedef struct {
    tn_strided nest;
    size_t width;
    int kind;
    bool stream; /* so much is written that caches don't hold it */
} tn_strided_plan;
void tn_strided_prepare(const tn_strided *s, size_t width, tn_strided_plan *out);
void tn_strided_execute(const tn_strided_plan *p, void *dst, const void *src);

/* While a thread records, tn_strided_run adds to a list what it would copy, and copies nothing:
 * addresses may then be any numbers. */
enum { TN_STRIDED_RECORDED = 8, TN_STRIDED_FEW = 4 };
typedef struct {
    uintptr_t dst, src; /* as they were given; free to be changed to offsets */
    size_t width;
    int kind;
    uint32_t rank; /* at most TN_STRIDED_FEW */
    int64_t dims[TN_STRIDED_FEW], dst_steps[TN_STRIDED_FEW], src_steps[TN_STRIDED_FEW];
} tn_strided_copy;
typedef struct {
    uint32_t n;
    bool fits; /* there were no more copies, and of no more loops, than there is room for */
    tn_strided_copy copies[TN_STRIDED_RECORDED];
} tn_strided_record;
void tn_strided_begin_record(tn_strided_record *r);
void tn_strided_end_record(void);
bool tn_strided_is_recording(void);
void tn_strided_copy_run(const tn_strided_copy *c, void *dst, const void *src);

/* Sets n elements of `width` bytes to *value. */
void tn_fill(tn_thread_pool *pool, void *dst, const void *value, size_t width, int64_t n);
/* memcpy on the pool; does nothing where dst is src. */
void tn_copy_bytes(tn_thread_pool *pool, void *dst, const void *src, size_t size);

#endif
