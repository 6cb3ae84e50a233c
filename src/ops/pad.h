/* SPDX-License-Identifier: Apache-2.0 */
/* pad.h - the movement behind `pad`, for the windows that lie on padded tensors. */
#ifndef TN_OPS_PAD_H
#define TN_OPS_PAD_H

#include "ops/ops.h"

/* Writes all of `to`: element i of dimension d of `from` goes to low[d] + i * (interior[d] + 1) if
 * that is inside, everything else is *value. Ranks are equal. */
void tn_pad_tensor(const tn_eval_context *ctx, const tn_tensor *from, const void *value,
                   const int64_t *low, const int64_t *interior, const tn_tensor *to);

#endif
