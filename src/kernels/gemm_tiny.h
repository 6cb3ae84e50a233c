/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiny.h - internal: small products of f32 with an operand that is below 2^-100 throughout, or
 * of two that are below 2^-50.
 *
 * A multiply-add with a subnormal number costs some 150 cycles, and in a loop whose values shrink
 * to nothing each of them does. Where all of an operand is so small that sums are near the
 * subnormal numbers, it is multiplied by a power of two, and the product by the inverse. What stays
 * normal has the same bits; what doesn't is rounded once, not at every step. */
#ifndef TN_KERNELS_GEMM_TINY_H
#define TN_KERNELS_GEMM_TINY_H

#include "kernels/gemm_plan.h"

enum { TN_GEMM_TINY_SIZE = 4096 }; /* elements of such an operand, at most */

/* An operand as it is to be read in place of the one given. */
typedef struct {
    tn_gemm_plan plan;
    const char *a, *b;
    int scale; /* C is to be multiplied by 2^-scale; 0: nothing was done */
    float copies[2][TN_GEMM_TINY_SIZE];
} tn_gemm_tiny;

/* Whether an operand may be such a one, which takes a look at a few elements. DIRECT path only. */
bool tn_gemm_may_be_tiny(const tn_gemm_plan *p, const char *a, const char *b);
void tn_gemm_tiny_begin(tn_gemm_tiny *t, const tn_gemm_plan *p, const char *a, const char *b);
void tn_gemm_tiny_end(const tn_gemm_tiny *t, char *c);

#endif
