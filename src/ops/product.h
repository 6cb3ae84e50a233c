/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - what dot_general and convolution have in common: which element types may meet, and in
 * which of the types that the kernels know a product is computed. */
#ifndef TN_OPS_PRODUCT_H
#define TN_OPS_PRODUCT_H

#include "ops/ops.h"

/* Operands 0 and 1 may be multiplied and give the declared element type of result 0: complex
 * numbers give complex ones, others any but complex; the result is a tensor. */
tn_status *tn_check_product_types(const tn_op *op) TN_MUST_USE;
/* A tensor of the declared element type and quantization of result 0. */
const tn_type *tn_product_type(const tn_op *op, tn_arena *a, uint32_t rank, const int64_t *dims);

/* The operands and the result in types that a kernel knows. Types narrower than f16 are computed in
 * f32 and rounded once; integers that give floats are converted first; of quantized tensors the
 * values that they stand for are multiplied in f32 or f64, and the result is quantized. */
typedef struct {
    tn_tensor lhs, rhs, out;
    tn_type types[3]; /* where they differ from the op's own */
} tn_product_tensors;

/* For dot: any types that tn_gemm_supports. For convolution: one type for all three. Memory is from
 * ctx->scratch. */
tn_status *tn_product_begin(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                            const tn_tensor *results, bool one_type,
                            tn_product_tensors *out) TN_MUST_USE;
/* Converts t->out to the result, where it isn't there already. */
tn_status *tn_product_end(const tn_op *op, const tn_eval_context *ctx, const tn_product_tensors *t,
                          tn_tensor *results) TN_MUST_USE;

#endif
