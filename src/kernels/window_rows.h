/* SPDX-License-Identifier: Apache-2.0 */
/* window_rows.h - folds of windows whose elements lie at the same distances from each other, many
 * windows side by side, with the accumulators in registers.
 *
 * Window (p, l) folds init and then, in order, the elements x[p * x_step + l * lane_step] at all of
 * `taps`. Every instruction set gives the same bits. Threads: any. */
#ifndef TN_KERNELS_WINDOW_ROWS_H
#define TN_KERNELS_WINDOW_ROWS_H

#include "base/cpu_features.h"
#include "ir/ir.h"

typedef struct {
    const void *x;
    void *y;             /* [positions][lanes] */
    const void *init;    /* one element */
    const int64_t *taps; /* [n_taps]: elements from x */
    int64_t n_taps, positions, lanes;
    int64_t x_step, lane_step; /* elements */
} tn_window_rows;

typedef void tn_window_rows_fn(const tn_window_rows *r);

/* By add, multiply, maximum or minimum, of f32, f64 and 32-bit integers; NULL for others. */
tn_window_rows_fn *tn_window_rows_find(tn_isa isa, tn_op_kind op, tn_element_type e);

/* One build supplies: */
typedef tn_window_rows_fn *tn_window_rows_finder(tn_op_kind op, tn_element_type e);
tn_window_rows_finder tn_find_window_rows_baseline, tn_find_window_rows_avx2,
    tn_find_window_rows_avx512;

#endif
