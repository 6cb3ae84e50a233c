/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/behaviours.h"

#define tn_eval_none NULL

const tn_op_behaviour tn_op_behaviours[TN_OP_COUNT] = {
#define TN_OP(name, text, operands, results, regions, attrs, traits, infer, eval)                  \
    [TN_OP_##name] = {tn_infer_##infer, tn_eval_##eval},
#include "ir/ops.def"
#undef TN_OP
};
