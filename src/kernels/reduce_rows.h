/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_rows.h - folds of lines in memory: of rows, whose elements follow each other, with the
 * accumulators in registers, and of columns, many of them side by side.
 *
 * Rows: 256 bytes of lanes take every so many-th element each; blocks of lanes are folded into a
 * total, and the lanes by halves at the end: lane k with lane k + 2^i for the largest 2^i first.
 * Fewer elements than lanes are so many lanes. Columns: elements one after the other. What is
 * combined with what depends on n alone, so every instruction set gives the same bits. Accumulators
 * have the type of the elements, or f32 for sums of bf16 and f16. Threads: any. */
#ifndef TN_KERNELS_REDUCE_ROWS_H
#define TN_KERNELS_REDUCE_ROWS_H

#include "kernels/short_rows.h"

/* Folds n >= 1 elements from `row` into *out. */
typedef void tn_row_fold_fn(const void *row, int64_t n, void *out);

/* A row that comes in pieces: a state of zeros, appended to; all pieces have a multiple of
 * TN_ROW_PIECE elements but for the last one, with which it is finished. */
enum { TN_ROW_PIECE = 64 };
typedef struct {
    _Alignas(64) char lanes[256], total[256];
    int64_t n;
} tn_row_state;
typedef void tn_row_append_fn(const void *row, int64_t n, tn_row_state *s);
typedef void tn_row_finish_fn(const void *row, int64_t n, tn_row_state *s, void *out);

/* A row of at least as many elements as there are lanes, to lanes whose halves are to be combined.
 */
typedef void tn_row_lanes_fn(const void *row, int64_t n, void *lanes);

/* Folds `rows` >= 1 elements, `step` elements apart, of each of n columns into acc[n], which holds
 * something unless `first`. */
typedef void tn_column_fold_fn(const void *x, int64_t step, int64_t rows, int64_t n, void *acc,
                               bool first);

/* Of the fold by one op. append and finish are NULL where grouping doesn't matter: pieces are
 * folded and combined. */
typedef struct {
    tn_row_fold_fn *row;
    tn_row_append_fn *append;
    tn_row_finish_fn *finish;
    tn_column_fold_fn *columns;
    tn_row_lanes_fn *lanes;   /* NULL where grouping doesn't matter */
    tn_short_rows short_rows; /* give what `row` gives; their rows may be as long as lanes are */
} tn_line_folds;

/* By add, multiply, maximum, minimum, and, or, xor; row and columns may be NULL, each. */
tn_line_folds tn_line_folds_of(tn_isa isa, tn_op_kind op, tn_element_type from);

/* Is it worth anything to fold rows of so many elements? */
static inline bool tn_has_row_fold(const tn_line_folds *f, int64_t length)
{
    return f->row && length >= (f->short_rows.tree ? 2 : 32);
}
/* Folds n rows of `length` elements, one behind the other, of `from_bytes` each, into out[n] of
 * acc_bytes each. */
void tn_fold_rows(const tn_line_folds *f, const void *rows, int64_t length, size_t from_bytes,
                  int64_t n, void *out, size_t acc_bytes);

/* One build supplies: */
typedef tn_line_folds tn_line_folds_finder(tn_op_kind op, tn_element_type from);
tn_line_folds_finder tn_find_line_folds_baseline, tn_find_line_folds_avx2,
    tn_find_line_folds_avx512;

#endif
