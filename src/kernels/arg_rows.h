/* SPDX-License-Identifier: Apache-2.0 */
/* arg_rows.h - where the largest or smallest element of a row or of each column is.
 *
 * Elements are compared by keys, signed integers in the order of the elements of which the largest
 * is wanted: NaN comes before all others, both zeros are one. Of equal ones the first is meant.
 * Threads: any. */
#ifndef TN_KERNELS_ARG_ROWS_H
#define TN_KERNELS_ARG_ROWS_H

#include "kernels/short_rows.h"

typedef struct {
    int64_t key, index;
} tn_arg;

/* Of n >= 1 elements from `row`. */
typedef tn_arg tn_arg_row_fn(const void *row, int64_t n);

/* At most so many columns, and rows that are worth one call. */
enum { TN_ARG_COLUMNS = 512, TN_ARG_ROWS = 64 };
/* Of each of n columns in `rows` rows that are `step` elements apart, with indices from `first` on,
 * joined with best[n] unless first is 0. Any number of rows. */
typedef void tn_arg_columns_fn(const void *x, int64_t step, int64_t rows, int64_t n, int64_t first,
                               tn_arg *best);

typedef struct {
    tn_arg_row_fn *row;
    tn_arg_columns_fn *columns;
    tn_short_rows short_rows; /* gives a tn_arg for each */
} tn_arg_kernels;

/* row is NULL for types that have none. */
tn_arg_kernels tn_arg_find(tn_isa isa, bool largest, tn_element_type e);

/* One build supplies: */
typedef tn_arg_kernels tn_arg_finder(bool largest, tn_element_type e);
tn_arg_finder tn_find_arg_baseline, tn_find_arg_avx2, tn_find_arg_avx512;

#endif
