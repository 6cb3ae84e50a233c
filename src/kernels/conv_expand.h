/* SPDX-License-Identifier: Apache-2.0 */
/* conv_expand.h - internal: convolution in many small groups as conv_lanes.h does it. Each output
 * feature becomes a group of its own; the input features of its group are copied for it, some
 * images at a time, and so is the kernel. */
#ifndef TN_KERNELS_CONV_EXPAND_H
#define TN_KERNELS_CONV_EXPAND_H

#include "kernels/conv.h"

/* Whether a convolution is of this form. */
bool tn_conv_is_expanded(const tn_conv *c);
size_t tn_conv_expand_workspace(const tn_conv *c, int threads);
void tn_conv_expand_run(const tn_conv *c, const char *in, const char *kernel, char *out,
                        tn_thread_pool *pool, char *workspace);

#endif
