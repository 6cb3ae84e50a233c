/* SPDX-License-Identifier: Apache-2.0 */
/* conv_paths.h - internal: the ways to compute a part of a convolution. All give every output of
 * the part. */
#ifndef TN_KERNELS_CONV_PATHS_H
#define TN_KERNELS_CONV_PATHS_H

#include "kernels/conv_part.h"

/* Costs are those of tiles of so many rows of so many bytes whatever the instruction set, so that
 * all sum in the same way. */
enum { TN_CONV_MODEL_ROWS = 14, TN_CONV_MODEL_BYTES = 128 };

/* Tiles that read the input where it is: for real kinds. `cost`: an estimate in cycles. */
typedef struct {
    int row, term; /* the loops that run inside a tile */
    double cost;
} tn_conv_direct_plan;
tn_conv_direct_plan tn_conv_direct_choose(const tn_conv_part *p);
size_t tn_conv_direct_workspace(const tn_conv_part *p);
void tn_conv_direct_run(const tn_conv_part *p, const tn_conv_direct_plan *plan, const char *in,
                        const char *kernel, char *out, tn_thread_pool *pool, char *workspace);

/* Windows gathered into rows of a matrix (im2col, block by block), then gemm_blocks.h: for all
 * kinds. */
double tn_conv_gather_cost(const tn_conv_part *p);
size_t tn_conv_gather_workspace(const tn_conv_part *p);
void tn_conv_gather_run(const tn_conv_part *p, const char *in, const char *kernel, char *out,
                        tn_thread_pool *pool, char *workspace);

/* Writes 0 to all outputs of the part. */
void tn_conv_zero_rows(const tn_conv_part *p, char *out);

/* The offset in bytes of row i in the result. */
int64_t tn_conv_out_offset(const tn_conv_part *p, int64_t i);

#endif
