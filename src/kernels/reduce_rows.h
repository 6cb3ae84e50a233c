/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_rows.h - folds of rows that are contiguous in memory, with the accumulators in registers.
 *
 * 256 bytes of lanes take every so many-th element each; blocks of lanes are folded into a total,
 * and the lanes by halves at the end. What is combined with what depends on n alone, so every
 * instruction set gives the same bits. Threads: any. */
#ifndef TN_KERNELS_REDUCE_ROWS_H
#define TN_KERNELS_REDUCE_ROWS_H

#include "base/cpu_features.h"
#include "ir/ir.h"

/* Folds n >= 1 elements from `row` into *out, which has the type of the accumulator: that of the
 * elements, f32 for sums of bf16. */
typedef void tn_row_fold_fn(const void *row, int64_t n, void *out);

/* The fold by add, multiply, maximum or minimum; NULL for other ops and for types that have none.
 */
tn_row_fold_fn *tn_row_fold(tn_isa isa, tn_op_kind op, tn_element_type from);

/* One build supplies: */
typedef tn_row_fold_fn *tn_row_fold_finder(tn_op_kind op, tn_element_type from);
tn_row_fold_finder tn_find_row_fold_baseline, tn_find_row_fold_avx2, tn_find_row_fold_avx512;

#endif
