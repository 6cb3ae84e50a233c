/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_fold.h - folds tensors along some of their dimensions.
 *
 * How operands are split and combined depends on shapes alone, so results are the same with any
 * number of threads. Bodies of one well-known op, which commute, may combine elements in any order;
 * others combine neighbours in the order of the elements, as a tree. Initial values come in once,
 * from the left, at the end. */
#ifndef TN_OPS_REDUCE_FOLD_H
#define TN_OPS_REDUCE_FOLD_H

#include "ops/combiner.h"
#include "ops/nest.h"

typedef struct {
    const tn_op *op;
    const tn_eval_context *ctx;
    tn_combiner combiner;
    const tn_tensor *sources, *inits; /* [combiner.n] each */
    tn_tensor *results;               /* dense over `kept` */
    tn_nest kept, reduced;            /* in elements of the sources */
} tn_reduction;

tn_status *tn_reduction_run(tn_reduction *r) TN_MUST_USE;

/* Checks region 0, on n inputs (operands 0 to n) and n initial values (the next n): the types of
 * each pair, and that the body is (E..., E...) -> E... with inputs that can be promoted to E. */
tn_status *tn_check_reduction_body(const tn_op *op, tn_arena *a, uint32_t n) TN_MUST_USE;

#endif
