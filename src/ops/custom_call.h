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
    bool may_go; /* where nobody wants its results, even if the call says has_side_effect */
} tn_custom_call_target;

/* The built-in target of that name, or NULL. */
const tn_custom_call_target *tn_custom_call_find(const char *name);

/* Targets with files of their own: ApproxTopK in top_k.c, chlo.* in special.c, lapack_*_ffi in
 * lapack.c, tridiagonal_solve_perturbed_ffi in tridiagonal.c, cpu_csr_sparse_dense_ffi in sparse.c.
 */
tn_status *tn_infer_tridiagonal(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_tridiagonal(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results);
tn_status *tn_infer_csr_product(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_csr_product(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results);
tn_status *tn_infer_special(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_special(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                           tn_tensor *results);
tn_status *tn_infer_approx_top_k(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_approx_top_k(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results);
tn_status *tn_infer_lapack(const tn_op *op, tn_arena *a, const tn_type **out);
tn_status *tn_eval_lapack(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                          tn_tensor *results);

/* The result that may be computed in the memory of operand `i`, or -1. */
int64_t tn_op_takes(const tn_op *op, uint32_t i);
/* The same of a call of LAPACK. */
int64_t tn_lapack_takes(const tn_op *op, uint32_t i);

/* Says to a call of LAPACK which of its results nobody reads, a bit for each: it need not compute
 * vectors then. True: the call has changed, in attributes from `a`. */
bool tn_lapack_set_unwanted(tn_arena *a, tn_op *op, uint32_t unwanted);

/* Handlers from outside. An executable has a tn_custom_call for each of its ops that has one, which
 * the provider makes when the program is compiled; the provider's own data is behind it. */
typedef struct tn_custom_call {
    uint32_t index; /* among those of the executable */
    bool staged;    /* wants prepare before each run */
} tn_custom_call;

/* Functions may be called from any thread. */
typedef struct {
    /* Called when the program is verified. NULL: there is a handler for this op; NOT_FOUND: there
     * is none; other errors if it can't be called. */
    tn_status *(*check)(const tn_op *op);
    /* Gives *out (NULL at first) as soon as there is something to end, also when it fails. Memory
     * may be taken from `a`, which lives longer than the call. */
    tn_status *(*make)(const tn_op *op, tn_arena *a, tn_custom_call **out);
    void (*end)(tn_custom_call *c);
    /* Before a run, for staged calls alone: step 0 of all calls comes before step 1 of any. `*run`
     * is NULL at first, and what is put there is ended by finish once the run is over. */
    tn_status *(*prepare)(tn_custom_call *c, int step, const tn_eval_context *ctx,
                          const tn_tensor *operands, tn_tensor *results, void **run);
    void (*finish)(void *run);
    /* As tn_eval_fn; ctx->call is the call, ctx->call_run what prepare left. */
    tn_eval_fn eval;
    bool may_go; /* where nobody wants its results, even if the call says has_side_effect */
} tn_custom_call_provider;
/* The provider for an op, or NULL: a target that Tenon knows itself, or there is no provider. */
const tn_custom_call_provider *tn_custom_call_provider_of(const tn_op *op);
/* How many handlers from outside the calling thread is in: one that runs a program again. */
int tn_custom_call_depth(void);
/* Sets the provider of this process; it must live for ever. */
void tn_custom_call_set_provider(const tn_custom_call_provider *p);

#endif
