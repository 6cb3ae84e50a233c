/* SPDX-License-Identifier: Apache-2.0 */
/* running.h - running totals of a line that is contiguous in memory, in vectors.
 *
 * Within 16 elements totals are combined as a tree, groups of 16 one after the other, and what came
 * before the line joins every element last. So what is combined with what depends on places alone:
 * every instruction set gives the same bits, and a line can be cut into pieces of
 * TN_RUNNING_PIECE elements whose totals are made first. Threads: any. */
#ifndef TN_KERNELS_RUNNING_H
#define TN_KERNELS_RUNNING_H

#include <stdbool.h>

#include "base/cpu_features.h"
#include "ir/ir.h"

enum { TN_RUNNING_PIECE = 4096 };

/* y[i] = before op (x[0] op ... op x[i]) for i < n; n at most TN_RUNNING_PIECE. x may be y.
 * `backwards`: the line begins with x[n - 1], and y[i] holds x[i] op ... op x[n - 1]. */
typedef void tn_running_fn(const void *x, void *y, int64_t n, const void *before, bool backwards);
/* *out = x[0] op ... op x[TN_RUNNING_PIECE - 1], so that before op *out is the last result of the
 * function above. */
typedef void tn_running_total_fn(const void *x, void *out, bool backwards);

typedef struct {
    tn_running_fn *run; /* NULL: there is none for this op or type */
    tn_running_total_fn *total;
} tn_running;

/* By add, multiply, maximum or minimum, of f32, f64 and integers of 32 and 64 bits. */
tn_running tn_running_find(tn_isa isa, tn_op_kind op, tn_element_type e);

/* One build supplies: */
typedef tn_running tn_running_finder(tn_op_kind op, tn_element_type e);
tn_running_finder tn_find_running_baseline, tn_find_running_avx2, tn_find_running_avx512;

#endif
