/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - from an elementwise op of the IR to the kernel that computes it. */
#ifndef TN_OPS_ELEMENTWISE_H
#define TN_OPS_ELEMENTWISE_H

#include "kernels/elementwise.h"

/* Fills `out` with the kernel of `op`, elementwise or `take`, for this machine, for the types of
 * its operands and result. It can then be called on any piece of the arrays; operands whose in_step
 * is 0 are scalars. Gives UNIMPLEMENTED for an op that isn't ELEMENTWISE, or not on these types.
 * Costs about 100 ns. */
tn_status *tn_elementwise_kernel(const tn_op *op, tn_kernel *out) TN_MUST_USE;

/* About how many nanoseconds one element takes on one thread, for tn_parallel_for. */
double tn_elementwise_cost(const tn_op *op);

#endif
