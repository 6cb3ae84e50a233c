/* SPDX-License-Identifier: Apache-2.0 */
/* behaviours.h - every inference and evaluation function that ops.def names, for those who define
 * one or call one for a part of their own work. Callers go through tn_op_behaviours otherwise. */
#ifndef TN_OPS_BEHAVIOURS_H
#define TN_OPS_BEHAVIOURS_H

#include "ops/ops.h"

/* The table names some functions more than once; repeated declarations are one. */
#define TN_OP(name, text, operands, results, regions, attrs, traits, infer, eval)                  \
    tn_status *tn_infer_##infer(const tn_op *, tn_arena *, const tn_type **);                      \
    tn_status *tn_eval_##eval(const tn_op *, const tn_eval_context *, const tn_tensor *,           \
                              tn_tensor *);
#include "ir/ops.def"
#undef TN_OP

#endif
