/* SPDX-License-Identifier: Apache-2.0 */
/* sort_order.h - the stable order of n elements under any comparator. */
#ifndef TN_OPS_SORT_ORDER_H
#define TN_OPS_SORT_ORDER_H

#include "ops/body.h"

typedef struct {
    const tn_body *body; /* (a0, b0, a1, b1, ...) -> a < b */
    const tn_eval_context *ctx;
    const void *const *captures;
    uint32_t n_operands;
    const size_t *widths; /* [n_operands] bytes of an element */
} tn_comparator;

/* Bytes of working memory for n elements, for one thread. */
size_t tn_sort_order_scratch(const tn_comparator *c, int64_t n);
/* order[i] becomes the index of the element that belongs at i. lines[k] are the n elements of
 * operand k. A merge sort whose merges rank all elements at once by binary search, so that the
 * comparator runs on whole tiles. A comparator that is no strict weak order gives some permutation.
 */
tn_status *tn_sort_order(const tn_comparator *c, int64_t n, const void *const *lines,
                         uint32_t *order, void *scratch) TN_MUST_USE;

#endif
