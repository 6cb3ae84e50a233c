/* SPDX-License-Identifier: Apache-2.0 */
/* short_rows.h - folds of many short rows that follow each other, each to the bits of the row fold
 * of reduce_rows.h.
 *
 * A register holds elements of several rows. They become lanes, numbers of 4 or 8 bytes, in rows of
 * 2^k lanes that are filled up with what changes nothing; then halves of rows are combined with
 * each other, of as many rows at a time as a register has lanes. Extremes of floats are those of
 * integers in their order, the largest of which is NaN. Threads: immutable. */
#ifndef TN_KERNELS_SHORT_ROWS_H
#define TN_KERNELS_SHORT_ROWS_H

#include "base/cpu_features.h"
#include "ir/ir.h"

typedef struct tn_short_rows tn_short_rows;

/* Between the files of this family. load: `rows` rows of `length` elements to rows of `padded`
 * lanes; reads up to 16 elements, or `padded`, from the beginning of each row, and writes as many
 * lanes. tree: `rows` rows of `padded` = 2^k lanes to one lane each. store: lanes to elements.
 * `rows` is a multiple of TN_SHORT_ROWS for all of them. */
enum { TN_SHORT_ROWS = 16, TN_SHORT_LANES = 16 };
typedef void tn_short_load_fn(const tn_short_rows *f, const void *from, int64_t length,
                              int64_t padded, int64_t rows, void *lanes);
typedef void tn_short_tree_fn(const void *lanes, int64_t padded, int64_t rows, void *to);
typedef void tn_short_store_fn(const tn_short_rows *f, const void *lanes, int64_t rows, void *to);

struct tn_short_rows {
    tn_short_tree_fn *tree;   /* NULL: there is no such fold */
    tn_short_load_fn *load;   /* changes nothing but the places of elements if `is_plain` */
    tn_short_store_fn *store; /* NULL: lanes are results */
    bool is_plain;
    uint8_t from_bytes, lane_bytes, to_bytes;
    int64_t most;      /* elements of a row */
    uint64_t neutral;  /* a lane */
    uint64_t flip;     /* bits that are turned around in lanes */
    uint32_t infinity; /* bits of a float of 2 bytes */
};

/* Of the fold by `op`; sums and products of bf16 and f16 give f32. */
tn_short_rows tn_short_rows_of(tn_isa isa, tn_op_kind op, tn_element_type from);
/* Folds n rows of 2 <= length <= f->most elements into out[n]. */
void tn_short_rows_fold(const tn_short_rows *f, const void *rows, int64_t length, int64_t n,
                        void *out);

/* One build supplies: */
typedef tn_short_rows tn_short_rows_finder(tn_op_kind op, tn_element_type from);
tn_short_rows_finder tn_find_short_rows_baseline, tn_find_short_rows_avx2,
    tn_find_short_rows_avx512;

#endif
