/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.h - ops that are run again and again: what their evaluators find out each time, from
 * types and attributes, is found once. Values are those of the evaluators. */
#ifndef TN_OPS_PREPARED_H
#define TN_OPS_PREPARED_H

#include "ops/ops.h"

typedef struct {
    tn_eval_fn eval; /* to be called in place of the op's own, with ctx->prepared = data */
    const void *data;
} tn_prepared;

/* Small products, small copies, sums and the like; bodies: of its regions, as for its evaluator, or
 * NULL. False: there is nothing better than the op's evaluator. What is
 * found is in the arena. */
bool tn_prepare_op(const tn_op *op, const tn_body *const *bodies, tn_arena *a, tn_prepared *out);

/* The same for one kind: dynamic slices and updates; a scatter of one window. */
bool tn_prepare_slice(const tn_op *op, tn_arena *a, tn_prepared *out);
enum { TN_MAX_PREPARED_RANK = 16 };
bool tn_prepare_window(const tn_op *op, const tn_body *const *bodies, tn_arena *a,
                       tn_prepared *out);

#endif
