/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.h - runs IR by walking it: the slow, obvious way to the value of any program, and so
 * the oracle of the executable. Also folds constants and runs bodies that can't be lifted. */
#ifndef TN_OPS_INTERPRET_H
#define TN_OPS_INTERPRET_H

#include "ops/ops.h"

/* Runs `f` on args[n]; results[i].data must have room for the declared result types. */
tn_status *tn_interpret_function(const tn_function *f, const tn_eval_context *ctx,
                                 const tn_tensor *args, tn_tensor *results) TN_MUST_USE;

/* Gives the memory of a value of an enclosing region. */
typedef struct tn_interpret_outer {
    const void *(*data)(const struct tn_interpret_outer *self, const tn_value *v);
} tn_interpret_outer;

/* Runs one region; values from outside come from `outer`, which may be NULL when there are none. */
tn_status *tn_interpret_region(const tn_region *r, const tn_eval_context *ctx,
                               const tn_interpret_outer *outer, const tn_tensor *args,
                               tn_tensor *results) TN_MUST_USE;

/* Computes one op whose operands are all given (no control flow): compiles its bodies, captures
 * come from `outer`. */
tn_status *tn_interpret_op(const tn_op *op, const tn_eval_context *ctx,
                           const tn_interpret_outer *outer, const tn_tensor *operands,
                           tn_tensor *results) TN_MUST_USE;

#endif
