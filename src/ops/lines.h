/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - reductions of one operand by one well-known op along dimensions that are next to each
 * other, so that what is reduced are lines of memory: rows, or columns side by side.
 *
 * A line is cut into shares by its size and the number of lines alone; shares are combined in
 * order, then the initial value from the left. Whoever produces the operand piece by piece folds
 * shares with the kernels here and gives what they came to: the same bits. Threads: immutable. */
#ifndef TN_OPS_LINES_H
#define TN_OPS_LINES_H

#include "kernels/elementwise.h"
#include "kernels/reduce_rows.h"
#include "ops/ops.h"

/* Columns that are folded side by side, and steps of them that are summed before they join a total.
 */
enum { TN_LINES_COLUMNS = 2048, TN_LINES_BLOCK = 128 };

typedef struct {
    tn_op_kind op;
    tn_element_type from, acc, to; /* of the operand, of accumulators, of the result */
    uint32_t from_bytes, acc_bytes, to_bytes;
    tn_line_folds folds;
    tn_kernel load, combine, store; /* load, store: run is NULL where types are the same */
    int64_t outer, length, inner;   /* elements before, along and after the dimensions */
    int64_t share, shares;          /* steps of a line in one piece; pieces of a line */
    int64_t wide; /* 0, or 2^k: so many steps of few columns at a time are columns side by side,
                     which are folded in halves at the end */
} tn_lines;

/* What is needed of a reduction by `kind`, TN_OP_INVALID for none; false if it is none of lines, or
 * better left alone. */
bool tn_lines_find(const tn_op *op, tn_op_kind kind, tn_lines *out);
/* The same of a reduction by the body of `op`, an array of type `t` along n dimensions with an
 * initial value of its elements' type. */
bool tn_lines_find_along(const tn_op *op, tn_op_kind kind, const tn_type *t, const int64_t *dims,
                         uint32_t n, tn_lines *out);
/* Dimensions that are not next to each other are reduced one group after the other, the innermost
 * first: gives d > 0 where those from d on are to be reduced, with `neutral` (a number, or the bits
 * of a float) in place of the initial value, to elements of the body's type, before those in front
 * of d. 0: all in one. */
uint32_t tn_lines_first(const tn_op *op, tn_op_kind kind, const tn_type *t, const int64_t *dims,
                        uint32_t n, uint64_t *neutral);
/* Whole rows: each is one piece. */
static inline bool tn_lines_are_whole_rows(const tn_lines *l)
{
    return l->inner == 1 && l->shares == 1;
}

tn_status *tn_lines_run(const tn_lines *l, const tn_eval_context *ctx, const void *x,
                        const void *init, void *result) TN_MUST_USE;

/* Folds columns: `rows` steps from number `step` of a share on, of n columns that are `apart`
 * elements wide, into acc; total has what earlier blocks came to. A call may not go beyond a block.
 */
void tn_lines_fold_columns(const tn_lines *l, const void *x, int64_t apart, int64_t step,
                           int64_t rows, int64_t n, void *acc, void *total);
/* Puts what `steps` steps came to into out[n]. */
void tn_lines_end_columns(const tn_lines *l, int64_t steps, int64_t n, void *acc, const void *total,
                          void *out);
/* The results of partial[shares][outer][inner] accumulators, which are written over. */
void tn_lines_finish(const tn_lines *l, const tn_eval_context *ctx, char *partial, const void *init,
                     void *result);

#endif
