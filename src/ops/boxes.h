/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h - a tensor that is put together from boxes, each a strided view of some memory.
 *
 * A box covers elements [at[d], at[d] + n[d]) along each dimension of the result; its element i
 * comes from src + the sum of i[d] * step[d], in bytes. A step may be zero (a fill, a broadcast) or
 * negative. Boxes cover the result together and don't overlap; none of their memory is that of the
 * result. What is written is gone through in pieces that stay in the L1 cache, all boxes of a piece
 * at a time. Threads: pieces are done on the pool. */
#ifndef TN_OPS_BOXES_H
#define TN_OPS_BOXES_H

#include "base/thread_pool.h"
#include "type/type.h"

enum { TN_BOX_RANK = 8 };

typedef struct {
    const char *src;
    int64_t at[TN_BOX_RANK], n[TN_BOX_RANK], step[TN_BOX_RANK];
} tn_box;

/* `t` is static and of rank TN_BOX_RANK at most. */
void tn_boxes_run(const tn_box *boxes, uint32_t n, const tn_type *t, void *out,
                  tn_thread_pool *pool);

#endif
