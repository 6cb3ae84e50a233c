/* SPDX-License-Identifier: Apache-2.0 */
/* xla_close.h - what of XLA's values is compared, and how near they must be: xla_rules.def. */
#ifndef TN_TEST_VALUES_XLA_CLOSE_H
#define TN_TEST_VALUES_XLA_CLOSE_H

#include "ops/ops.h"
#include "tenon/host.h"

/* Is the op left out by a rule, and why? */
bool values_xla_excluded(const tn_op *op, const tn_tensor *operands, const tn_tensor *results,
                         const char **why);
/* Do its values leave nothing to compare: subnormal operands, sums with infinities? */
bool values_xla_wild(const tn_op *op, const tn_tensor *operands, const tn_tensor *results);
/* Where the operand is the initial value of a fold: its neutral element, if that is known. */
typedef enum { VALUES_NOT_INITIAL, VALUES_NEUTRAL, VALUES_NOT_NEUTRAL } values_xla_initial;
values_xla_initial values_xla_neutral(const tn_op *op, uint32_t operand, void *out);
/* The first element of result k that is not near enough, or -1. */
int64_t values_xla_compare(const tn_op *op, uint32_t k, const tn_array *operands,
                           const tn_array *ours, const tn_array *theirs);

#endif
