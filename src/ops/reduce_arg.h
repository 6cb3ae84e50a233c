/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_arg.h - argmax and argmin: a reduce of values and their places that keeps one pair. */
#ifndef TN_OPS_REDUCE_ARG_H
#define TN_OPS_REDUCE_ARG_H

#include "ops/combiner.h"

/* Is a reduce op of two operands along one dimension whose second operand is the place along it?
 * That operand isn't read if the body is one of argmax, see tn_reduce_is_arg. */
bool tn_reduce_has_places(const tn_op *op);
/* The same for the body too: tn_reduce_arg computes it without operand 1. */
bool tn_reduce_is_arg(const tn_op *op, const tn_body *body);
/* Whether the initial pair, operands[2] and [3], never is the result: place 0, and the least value
 * that there is (of argmin the greatest). */
bool tn_reduce_arg_starts_low(const tn_body *body, const tn_tensor *operands);
/* `c`: the body, or NULL where the initial pair need not be joined. */
tn_status *tn_reduce_arg(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                         const tn_combiner *c, tn_tensor *results) TN_MUST_USE;

#endif
