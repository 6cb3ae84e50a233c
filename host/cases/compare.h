/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - does an output have the right value by the data set's rules? */
#ifndef TN_HOST_CASES_COMPARE_H
#define TN_HOST_CASES_COMPARE_H

#include "tenon/host.h"

typedef enum { TN_RULE_EXACT, TN_RULE_ABS, TN_RULE_ULP } tn_rule_kind;
typedef struct {
    tn_rule_kind kind;
    double tolerance; /* absolute difference, or units in the last place */
} tn_rule;

/* NULL when `got` is `want`; else what differs first and how many elements do.
 *   EXACT  values equal; +0 equals -0 and NaN equals NaN
 *   ABS    |got - want| <= tolerance; NaN matches NaN, infinities must be equal; complex by
 * component ULP    distance of bit patterns <= tolerance, counted across zero; NaN matches NaN;
 * complex by component */
tn_status *tn_compare(const tn_array *got, const tn_array *want, tn_rule rule) TN_MUST_USE;

#endif
