/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"

/* A behaviour that nobody has written yet is NULL here, and using it gives UNIMPLEMENTED with the
 * op's name. */
#define TN_OP(name, text, operands, results, regions, attrs, traits, infer, eval)                  \
    tn_status *tn_infer_##infer(const tn_op *, tn_arena *, const tn_type **)                       \
        __attribute__((weak));                                                                     \
    tn_status *tn_eval_##eval(const tn_op *, const tn_eval_context *, const tn_tensor *,           \
                              tn_tensor *) __attribute__((weak));
#include "ir/ops.def"
#undef TN_OP

const tn_op_behaviour tn_op_behaviours[TN_OP_COUNT] = {
#define TN_OP(name, text, operands, results, regions, attrs, traits, infer, eval)                  \
    [TN_OP_##name] = {tn_infer_##infer, tn_eval_##eval},
#include "ir/ops.def"
#undef TN_OP
};
