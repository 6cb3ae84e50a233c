/* SPDX-License-Identifier: Apache-2.0 */
/* body_arg.h - recognises the bodies of argmax and argmin. */
#ifndef TN_OPS_BODY_ARG_H
#define TN_OPS_BODY_ARG_H

#include "ops/body.h"

/* TN_BODY_ARG_MAX or TN_BODY_ARG_MIN, if body `b` of region `r` takes (value, index) twice, with
 * the first index below the second one, and gives the pair with the larger (smaller) value, or with
 * NaN, the first one where neither is; OTHER, if of equal values, which may be zeros, it gives the
 * second one, with the first index. TN_BODY_GENERAL otherwise. */
tn_body_shortcut tn_body_arg(const tn_region *r, const tn_body *b);

#endif
