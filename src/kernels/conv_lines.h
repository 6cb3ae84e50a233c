/* SPDX-License-Identifier: Apache-2.0 */
/* conv_lines.h - internal: convolution of few features where positions are neighbours in memory, as
 * in images of one channel or with features before positions: a vector holds neighbouring positions
 * of one line.
 *
 * To conv_lanes.h positions of the line are groups that share a kernel. Windows that leave the line
 * read a copy of its ends with zeros around, which gives the same sums as long as the kernel is
 * finite. */
#ifndef TN_KERNELS_CONV_LINES_H
#define TN_KERNELS_CONV_LINES_H

#include "kernels/conv.h"

/* Whether a convolution is of this form. */
bool tn_conv_is_lines(const tn_conv *c);
/* Whether all elements of the kernel are finite, where that matters. */
bool tn_conv_lines_allow(const tn_conv *c, const char *kernel);

/* One group. */
size_t tn_conv_lines_workspace(const tn_conv *c, int threads);
void tn_conv_lines_run(const tn_conv *c, const char *in, const char *kernel, char *out,
                       tn_thread_pool *pool, char *workspace);

#endif
