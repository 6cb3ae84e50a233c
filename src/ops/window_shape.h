/* SPDX-License-Identifier: Apache-2.0 */
/* window_shape.h - the windows of reduce_window and select_and_scatter: how many there are along a
 * dimension, and what their attributes must be. */
#ifndef TN_OPS_WINDOW_SHAPE_H
#define TN_OPS_WINDOW_SHAPE_H

#include "ops/infer.h"

/* Along one dimension. */
typedef struct {
    int64_t size, stride, dilation; /* of the window */
    int64_t base_dilation;          /* of the operand: its elements are this far apart */
    int64_t low, high;              /* padding */
} tn_window_dim;

/* The attributes of `op` for an operand of this rank, in out[rank]; absent ones are 1, padding 0.
 */
tn_status *tn_window_dims_of(const tn_op *op, tn_arena *a, uint32_t rank,
                             tn_window_dim **out) TN_MUST_USE;
/* The same after verification, into `out`. */
void tn_window_dims_read(const tn_op *op, uint32_t rank, tn_window_dim *out);

/* How many windows fit on n elements; n TN_DYNAMIC gives TN_DYNAMIC. False if padding makes the
 * size negative or too large. */
bool tn_window_count(const tn_window_dim *w, int64_t n, int64_t *out);

#endif
