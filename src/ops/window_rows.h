/* SPDX-License-Identifier: Apache-2.0 */
/* window_rows.h - reduce_window by kernels/window_rows.h: windows of a body of one op, on operands
 * that need no padded copy. */
#ifndef TN_OPS_WINDOW_ROWS_H
#define TN_OPS_WINDOW_ROWS_H

#include "ops/combiner.h"
#include "ops/window_shape.h"

typedef struct {
    const tn_op *op;
    const tn_eval_context *ctx;
    const tn_combiner *combiner; /* of one operand */
    const tn_window_dim *dims;   /* [rank] */
    const tn_tensor *operand, *init, *result;
    bool padding_counts; /* else init may be folded any number of times */
} tn_window_fold;

/* False: not for these windows, nothing is done. */
bool tn_window_fold_rows(const tn_window_fold *f) TN_MUST_USE;

#endif
