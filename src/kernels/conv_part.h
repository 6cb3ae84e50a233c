/* SPDX-License-Identifier: Apache-2.0 */
/* conv_part.h - internal: a convolution as loops.
 *
 * With an input dilation L the outputs fall into phases that use different taps, each a convolution
 * without input dilation on every L-th output. A part is one phase of one group: outer loops "rows"
 * (images and output positions) and sums over "terms" (taps and features). Along an axis whose
 * window can leave the input, row q may use term j only where 0 <= q * step + j * term_step + shift
 * < size. Strides are in bytes. */
#ifndef TN_KERNELS_CONV_PART_H
#define TN_KERNELS_CONV_PART_H

#include "kernels/conv.h"
#include "kernels/gemm_kernels.h"

enum { TN_CONV_MAX_LOOPS = TN_CONV_MAX_SPATIAL + 1 };

/* The condition on one axis. */
typedef struct {
    int64_t step, term_step, shift, size;
} tn_conv_edge;

typedef struct {
    int64_t size, in, out;
    int edge; /* index into edges, -1: none */
} tn_conv_rows;

/* Neighbouring terms may be merged with a whole loop inside: then `unit` elements share one j of
 * the edge. */
typedef struct {
    int64_t size, in, kernel;
    int64_t unit;
    int edge;
} tn_conv_terms;

typedef struct {
    const tn_conv *c;
    tn_gemm_kind kind;
    const tn_gemm_table *table;
    int64_t e;                                  /* bytes of an element */
    int64_t in_start, kernel_start, out_start;  /* bytes; in_start may lie before the input */
    int64_t columns, kernel_column, out_column; /* output features, or groups for by_group */
    int64_t in_column; /* by_group: the input moves with the column; else 0 */
    int n_rows, n_terms, n_edges;
    tn_conv_rows rows[TN_CONV_MAX_LOOPS];
    tn_conv_terms terms[TN_CONV_MAX_LOOPS];
    tn_conv_edge edges[TN_CONV_MAX_SPATIAL];
} tn_conv_part;

/* Phases of an input dilation; 0 if the result is empty. */
int64_t tn_conv_phases(const tn_conv *c);
/* Phase `phase` of group 0; by_group: of all groups, which are the columns (there is one output
 * feature then). False: no term at all, the outputs of the part are 0. Rows are in the order of the
 * result's memory. */
bool tn_conv_part_make(const tn_conv *c, int64_t phase, bool by_group, tn_conv_part *out);

int64_t tn_conv_row_count(const tn_conv_part *p);
int64_t tn_conv_term_count(const tn_conv_part *p);

/* Packs `rows` terms of a kernel, `src_row` bytes apart, by `cols` columns: dst[k * pitch + column
 * * e]. */
void tn_conv_pack_terms(const tn_conv_part *p, char *dst, int64_t pitch, const char *src,
                        int64_t src_row, int64_t rows, int64_t cols);

/* The terms [*begin, *end) of a loop that row q of its edge may use. */
void tn_conv_term_range(const tn_conv_edge *e, const tn_conv_terms *t, int64_t q, int64_t *begin,
                        int64_t *end);

/* Rows [*low, *high) of a loop with an edge of which terms `t` of the same edge are all inside. */
void tn_conv_inner_rows(const tn_conv_part *p, const tn_conv_rows *r, const tn_conv_terms *t,
                        int64_t *low, int64_t *high);

#endif
