/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - folds along one dimension in linear time: running totals, and windows of any size for
 * bodies that combine exactly in any grouping. */
#ifndef TN_OPS_SCAN_H
#define TN_OPS_SCAN_H

#include "ops/combiner.h"

typedef enum {
    TN_SCAN_PREFIX,  /* to[i] = (((init, x[0]), x[1]), ... x[i]) */
    TN_SCAN_SUFFIX,  /* to[i] = (x[i], (x[i + 1], ... (x[n - 1], init))) */
    TN_SCAN_WINDOWS, /* to[i] = x[i * stride] to x[i * stride + window - 1], without init */
} tn_scan_kind;

/* Tensors of the shape [outer, n, inner] become [outer, to_n, inner]. */
typedef struct {
    const tn_op *op;
    const tn_combiner *combiner;
    tn_scan_kind kind;
    int64_t outer, n, inner, to_n;
    int64_t window, stride;   /* TN_SCAN_WINDOWS */
    const void *const *from;  /* [combiner->n]; elements of the combiner's `from` types */
    const void *const *inits; /* [combiner->n] scalars of these types */
    void *const *to;          /* [combiner->n], elements of the `to` types */
} tn_scan;

tn_status *tn_scan_run(const tn_scan *s) TN_MUST_USE;

/* Internal: the same in place of blocks that are copied, for bodies of one kernel and running
 * totals of contiguous lines or of rows of lanes. False: not for this scan, nothing is done. */
bool tn_scan_run_lines(const tn_scan *s, tn_status **out) TN_MUST_USE;

#endif
