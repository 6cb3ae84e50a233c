/* SPDX-License-Identifier: Apache-2.0 */
/* arg_rows.h - where the largest or smallest element of a row or of each column is.
 *
 * Elements are compared by keys, signed integers in the order of the elements of which the largest
 * is wanted: NaN comes before all others, both zeros are one. Of equal ones the first is meant.
 * Threads: any. */
#ifndef TN_KERNELS_ARG_ROWS_H
#define TN_KERNELS_ARG_ROWS_H

#include "base/cpu_features.h"
#include "ir/ir.h"

typedef struct {
    int64_t key, index;
} tn_arg;

/* Of n >= 1 elements from `row`. */
typedef tn_arg tn_arg_row_fn(const void *row, int64_t n);

/* At most so many columns, and rows of one call. */
enum { TN_ARG_COLUMNS = 512, TN_ARG_ROWS = 64 };
/* Of each of n columns in `rows` rows that are `step` elements apart: keys and indices, signed
 * integers of the elements' width. */
typedef void tn_arg_block_fn(const void *x, int64_t step, int64_t rows, int64_t n, void *key,
                             void *index);

typedef struct {
    tn_arg_row_fn *row;
    tn_arg_block_fn *block;
} tn_arg_kernels;

/* row is NULL for types that have none. */
tn_arg_kernels tn_arg_find(tn_isa isa, bool largest, tn_element_type e);

/* The indices alone. */
void tn_arg_few(const tn_arg_kernels *a, size_t width, const void *x, int64_t step, int64_t rows,
                int64_t n, int32_t *index);
/* Of any number of rows. */
void tn_arg_columns(const tn_arg_kernels *a, size_t width, const void *x, int64_t step,
                    int64_t rows, int64_t n, tn_arg *best);

/* One build supplies: */
typedef tn_arg_kernels tn_arg_finder(bool largest, tn_element_type e);
tn_arg_finder tn_find_arg_baseline, tn_find_arg_avx2, tn_find_arg_avx512;

#endif
