/* SPDX-License-Identifier: Apache-2.0 */
/* dot.h - dot_general and dot as matrix products. */
#ifndef TN_OPS_DOT_H
#define TN_OPS_DOT_H

#include "kernels/gemm.h"
#include "ops/ops.h"

/* The batch of matrix products that a dot is, on its operands as they are in memory. False where
 * the operands would have to be arranged or converted first, are empty, or have dynamic sizes. */
bool tn_dot_gemm(const tn_op *op, tn_arena *a, tn_gemm *out);

#endif
