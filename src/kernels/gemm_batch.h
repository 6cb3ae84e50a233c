/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_batch.h - internal: many very small products, as many at once as a vector has elements.
 *
 * Their operands are transposed, so that element [i, k] of all of them is one vector, and so are
 * results. What one product takes is then a few nanoseconds, where to begin one alone takes 30.
 * Values are those of the plan's path (DIRECT: no operand is looked at for being tiny). */
#ifndef TN_KERNELS_GEMM_BATCH_H
#define TN_KERNELS_GEMM_BATCH_H

#include "kernels/gemm_plan.h"

/* Whether the products of `g` are such; the same on every instruction set. */
bool tn_gemm_batch_fits(const tn_gemm *g, const tn_gemm_plan *p);
/* All of them; a and b are the operands of the plan, exchanged if it is. */
void tn_gemm_batch_run(const tn_gemm *g, const tn_gemm_plan *p, const char *a, const char *b,
                       char *c, tn_thread_pool *pool);
/* About how long one of them takes, in ns. */
double tn_gemm_batch_ns(const tn_gemm_plan *p);

#endif
