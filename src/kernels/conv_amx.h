/* SPDX-License-Identifier: Apache-2.0 */
/* conv_amx.h - internal: convolution of bf16 or bytes in the matrix registers of x86-64, see
 * gemm_amx.h, for inputs with features innermost.
 *
 * The input is copied with zeros around it and, where windows move by more than one, with every
 * s-th position next to each other. Rows of a tile of A are then neighbouring positions, read where
 * they are; the ends of lines are passed over. */
#ifndef TN_KERNELS_CONV_AMX_H
#define TN_KERNELS_CONV_AMX_H

#include "kernels/conv.h"
#include "kernels/gemm_amx.h"

/* TN_AMX_NONE: not possible or not worth it. The `type` of a tn_conv counts for nothing here: `in`
 * and `kernel` say what is multiplied, and the result may be any type that gemm knows for them. */
tn_amx_kind tn_conv_amx_kind(const tn_conv *c, tn_element_type in, tn_element_type kernel,
                             tn_element_type out);
size_t tn_conv_amx_workspace(const tn_conv *c, tn_amx_kind kind, const tn_thread_pool *pool);
/* False: nothing is written, since values of bf16 don't allow it. `workspace` must not be NULL. */
bool tn_conv_amx_run(const tn_conv *c, tn_amx_kind kind, tn_element_type out_type, const void *in,
                     const void *kernel, void *out, tn_thread_pool *pool, void *workspace);

#endif
