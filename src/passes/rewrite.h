/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.h - what passes share: one walk over a module, new ops, constants. */
#ifndef TN_PASSES_REWRITE_H
#define TN_PASSES_REWRITE_H

#include "passes/passes.h"

/* Called for each op with its operands resolved. It may change the op, replace its results, put new
 * ops before it, and remove it (no other); regions of an op that stays are walked afterwards. */
typedef tn_status *(*tn_rewrite_fn)(tn_module *m, tn_op *op, bool *changed);
/* Walks all functions in order; definitions come before uses, so one walk resolves everything. */
tn_status *tn_rewrite(tn_module *m, tn_rewrite_fn fn, bool *changed) TN_MUST_USE;

/* A new op with one result before `where`, with the location of `where`. Without `operands` the
 * caller fills them in. */
tn_op *tn_rewrite_op(tn_module *m, tn_op *where, tn_op_kind kind, const tn_type *type, uint32_t n,
                     tn_value *const *operands);
/* Lets `v` stand for the one result of `op`, and removes it. */
void tn_rewrite_by(tn_op *op, tn_value *v);
void tn_rewrite_ints(tn_module *m, tn_op *op, tn_attr_name name, const int64_t *v, uint32_t n);

/* Every number of an attribute is `value`, or it has none. */
bool tn_ints_are(const tn_op *op, tn_attr_name name, int64_t value);
/* The constant that `v` is, or NULL. */
const tn_literal *tn_constant_of(const tn_value *v);
/* The op of a body of two arguments that is nothing but it, on both of them in either order; NULL:
 * the body is something else. */
const tn_op *tn_op_of_body(const tn_region *r);
/* Is it an op that folds numbers: add, and, maximum, minimum, multiply, or, xor? */
bool tn_is_combining(tn_op_kind kind);
/* Sets the id of each value of the region, and of those within, to how often it is used. Values
 * from outside keep theirs, plus their uses here. */
void tn_count_uses(tn_region *r);
/* The integer that `v` is when it is a scalar or splat constant of an integer or boolean type. */
bool tn_constant_integer(const tn_value *v, int64_t *out);
/* A new constant before `where`; data and type are taken as they are. */
tn_value *tn_rewrite_constant(tn_module *m, tn_op *where, tn_literal literal);
/* A splat: `value` is the number of an integer or boolean type, the bits of another. */
tn_value *tn_rewrite_splat(tn_module *m, tn_op *where, const tn_type *type, int64_t value);

/* Computes `op` if all its operands are constants and the op and its results are small; then it is
 * gone and *changed is set. */
void tn_fold_op(tn_module *m, tn_op *op, bool *changed);

/* Puts the ops of region `r` of `op` in its place and the terminator's operands in place of its
 * results, and removes `op`. The region's arguments must have been replaced. */
void tn_rewrite_by_region(tn_op *op, tn_region *r);

#endif
