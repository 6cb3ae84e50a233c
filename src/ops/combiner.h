/* SPDX-License-Identifier: Apache-2.0 */
/* combiner.h - the body of a reduction, (a..., b...) -> c..., as something that folds arrays into
 * arrays.
 *
 * Bodies of one well-known op become one kernel call. Sums and products of floats narrower than f32
 * can be accumulated in f32 and rounded once, at the end (`widen`); every other body works in its
 * own types, to which operands and initial values are converted. Threads: a combiner is immutable;
 * each thread runs it with scratch of its own. */
#ifndef TN_OPS_COMBINER_H
#define TN_OPS_COMBINER_H

#include "kernels/elementwise.h"
#include "ops/body.h"

typedef struct {
    tn_element_type from, acc, to; /* of the operand, of the accumulator, of the result */
    size_t from_width, acc_width, to_width;
    tn_kernel load, store; /* from -> acc, acc -> to, where they differ */
} tn_combiner_part;

typedef struct {
    const tn_eval_context *ctx;
    const tn_body *body;
    const void **captures;
    uint32_t n; /* operands, accumulators and results */
    bool by_kernel;
    tn_op_kind kernel_op; /* what the kernel computes; TN_OP_INVALID without one */
    tn_kernel kernel;
    tn_combiner_part *parts;
} tn_combiner;

/* The op that a body is on its two arguments, if it is a well-known one; else TN_OP_INVALID. */
tn_op_kind tn_reduction_kind(tn_body_shortcut s);

/* For region `region` of `op`, an op on the operands all[], to fold n operands of the types of
 * from[0..n). Accumulators have the body's types unless `widen`. Memory comes from ctx->scratch. */
tn_status *tn_combiner_prepare(const tn_op *op, const tn_eval_context *ctx, uint32_t region,
                               const tn_tensor *all, uint32_t n, const tn_tensor *from, bool widen,
                               tn_combiner *out) TN_MUST_USE;
/* Bytes of scratch for one thread, aligned to 64. */
size_t tn_combiner_scratch(const tn_combiner *c);
/* out[i][k] = body(left..[k], right..[k]) for k < n, any n. Arrays of accumulators; out[i] may be
 * left[i] or right[i]. */
tn_status *tn_combiner_run(const tn_combiner *c, int64_t n, const void *const *left,
                           const void *const *right, void *const *out, void *scratch) TN_MUST_USE;
/* n elements of operand or result i. */
void tn_combiner_load(const tn_combiner *c, uint32_t i, int64_t n, const void *from, void *acc);
void tn_combiner_store(const tn_combiner *c, uint32_t i, int64_t n, const void *acc, void *to);

/* The data of the tensors that the body of a region captures, [n_captures + 1], from ctx->scratch.
 * NULL when out of memory. */
const void **tn_captured_data(const tn_op *op, const tn_eval_context *ctx, uint32_t region,
                              const tn_tensor *operands);

#endif
