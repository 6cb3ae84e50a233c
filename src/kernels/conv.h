/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - convolution over any number of spatial dimensions, with any order of dimensions in
 * memory.
 *
 * For each group g, image n, output feature f and output position o:
 *
 *   out[g, n, o, f] = sum over taps k and features c of in[g, n, x, c] * kernel[g, k, c, f],
 *   x * in_dilation = o * stride + k * kernel_dilation - pad_low      (in each spatial dimension)
 *
 * where terms whose x is no whole number or outside of the input are left out (or multiplied by 0,
 * which differs where the kernel is infinite or NaN); with `reversed` tap
 * k uses the kernel's element kernel_size - 1 - k. StableHLO's two kinds of groups are both this:
 * for feature groups a group strides over input features, for batch groups over images.
 *
 * Values: integers wrap. Floats are summed in blocks as gemm.h says; which products make a block
 * follows from the problem's sizes and strides alone, so results have the same bits at any number
 * of threads.
 *
 * Threads: any; a call uses the pool for itself. `out` must not overlap the others. */
#ifndef TN_KERNELS_CONV_H
#define TN_KERNELS_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread_pool.h"
#include "type/type.h"

enum { TN_CONV_MAX_SPATIAL = 16 };

/* All strides are in elements and may be negative or 0. */
typedef struct {
    int64_t in_size, kernel_size, out_size;
    int64_t stride, pad_low, in_dilation, kernel_dilation; /* stride and dilations at least 1 */
    bool reversed;
    int64_t in_stride, kernel_stride, out_stride;
} tn_conv_axis;

typedef struct {
    tn_element_type type; /* of all three: f32 f64 i32 ui32 i64 ui64 complex<f32> complex<f64> */
    int64_t groups;
    int64_t batch, in_features, out_features; /* of one group */
    int64_t in_group, in_batch, in_feature;   /* strides */
    int64_t kernel_group, kernel_in_feature, kernel_out_feature;
    int64_t out_group, out_batch, out_feature;
    int rank;
    tn_conv_axis axes[TN_CONV_MAX_SPATIAL];
} tn_conv;

bool tn_conv_supports(tn_element_type type);

/* Whether sizes, padding and dilations are small enough for positions not to overflow. */
bool tn_conv_fits(const tn_conv *c);

/* Bytes of working memory that tn_conv_run can use on `pool`; may be 0. */
size_t tn_conv_workspace(const tn_conv *c, const tn_thread_pool *pool);

/* Computes all of `out`. `workspace`: tn_conv_workspace bytes, aligned to 64, or NULL: then it is
 * slow, never wrong. The type must be supported and the sizes must fit. */
void tn_conv_run(const tn_conv *c, const void *in, const void *kernel, void *out,
                 tn_thread_pool *pool, void *workspace);

#endif
