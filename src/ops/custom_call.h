/* SPDX-License-Identifier: Apache-2.0 */
/* custom_call.h - who computes a stablehlo.custom_call: the targets that Tenon knows by name, then
 * a provider from outside (handlers registered through the FFI extension). */
#ifndef TN_OPS_CUSTOM_CALL_H
#define TN_OPS_CUSTOM_CALL_H

#include "ops/ops.h"

typedef struct {
    const char *name; /* one that ends in '*' stands for every name that begins so */
    tn_infer_fn infer;
    tn_eval_fn eval;
} tn_custom_call_target;

/* The built-in target of that name, or NULL. */
const tn_custom_call_target *tn_custom_call_find(const char *name);

/* Targets with files of their own: ApproxTopK in top_k.c, lapack_*_ffi in lapack.c. */
tn_status *tn_infer_approx_top_k(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_approx_top_k(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results);
tn_status *tn_infer_lapack(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_lapack(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                          tn_tensor *results);

/* Handlers from outside. Functions may be called from any thread. */
typedef struct {
    /* Called when the program is compiled. NULL: there is a handler for this op; NOT_FOUND: there
     * is none; other errors if it can't be called. */
    tn_status *(*check)(const tn_op *op);
    /* As tn_eval_fn; what belongs to the run is in ctx->custom_calls. */
    tn_eval_fn eval;
} tn_custom_call_provider;
/* Sets the provider of this process; it must live for ever. */
void tn_custom_call_set_provider(const tn_custom_call_provider *p);

#endif
