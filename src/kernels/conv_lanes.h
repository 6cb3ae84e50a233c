/* SPDX-License-Identifier: Apache-2.0 */
/* conv_lanes.h - internal: depthwise convolution, where each group has one output feature and
 * groups are neighbours in memory: a vector holds one position of several groups. They may share a
 * kernel. */
#ifndef TN_KERNELS_CONV_LANES_H
#define TN_KERNELS_CONV_LANES_H

#include "kernels/conv_part.h"

enum { TN_CONV_LANE_ROWS = 4 };

/* A block of sums, as `tiles` tiles of rows by `groups` tiles of vectors. Strides are in bytes. */
typedef struct {
    int64_t terms;
    const int64_t *a_at, *b_at; /* where each term is */
    int64_t a_row, c_row, tiles, groups;
    bool add;
} tn_conv_span;

/* c[i] (+)= sum over p < terms of a[i * a_row + a_at[p]] * b[b_at[p]], each a row of vectors (b: or
 * one element). */
typedef void tn_conv_lanes(const tn_conv_span *s, const char *a, const char *b, char *c);

typedef struct {
    int vectors; /* of the widest tile */
    /* [vectors * (rows - 1) + its vectors - 1]; NULL for complex kinds. `shared`: one element of b
     * for all lanes */
    tn_conv_lanes *const *kinds[TN_GEMM_KIND_COUNT], *const *shared[TN_GEMM_KIND_COUNT];
} tn_conv_lanes_table;

/* Whether a convolution is of this form. */
bool tn_conv_is_lanes(const tn_conv *c);
/* `p` was made by_group. For each thread of the pool: */
size_t tn_conv_lanes_workspace(const tn_conv_part *p);
void tn_conv_lanes_run(const tn_conv_part *p, const char *in, const char *kernel, char *out,
                       tn_thread_pool *pool, char *workspace);

#endif
