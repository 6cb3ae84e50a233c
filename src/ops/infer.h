/* SPDX-License-Identifier: Apache-2.0 */
/* infer.h - checks that inference functions share.
 *
 * Every check gives NULL or INVALID_ARGUMENT with a message that names the operand or attribute,
 * the dimension, what was expected and what came. Unknown (dynamic) dimensions agree with any. */
#ifndef TN_OPS_INFER_H
#define TN_OPS_INFER_H

#include <inttypes.h>

#include "ops/ops.h"

/* "tensor<2x3xf32>" for a message; lives to the end of the enclosing block. */
#define TN_TYPE_IN_MESSAGE(type) tn_type_format(type, (char[192]){0}, 192)

const char *tn_attr_text(tn_attr_name name); /* "broadcast_dimensions" */

static inline bool tn_dims_agree(int64_t x, int64_t y)
{
    return x == y || x == TN_DYNAMIC || y == TN_DYNAMIC;
}
/* Same rank, and dims that agree. */
bool tn_shapes_agree(const tn_type *x, const tn_type *y);
/* Same element type with the same quantization, but for what belongs to one axis: its number, the
 * scales and the zero points. */
bool tn_elements_agree(const tn_type *x, const tn_type *y);

/* A tensor type of these dims with the element type and per-tensor quantization of `like`. */
const tn_type *tn_type_like(tn_arena *a, const tn_type *like, uint32_t rank, const int64_t *dims);
/* The same with the dims of `shape`. */
const tn_type *tn_type_reshaped(tn_arena *a, const tn_type *like, const tn_type *shape);

/* Operand or declared result i is a ranked tensor. */
tn_status *tn_check_tensor(const tn_op *op, uint32_t operand) TN_MUST_USE;
tn_status *tn_check_result_tensor(const tn_op *op, uint32_t result) TN_MUST_USE;
tn_status *tn_check_rank(const tn_op *op, uint32_t operand, uint32_t rank) TN_MUST_USE;
tn_status *tn_check_integer(const tn_op *op, uint32_t operand) TN_MUST_USE;
/* A tensor of rank 1 of an integer type with n elements, as the dynamic ops take their shapes. */
tn_status *tn_check_shape_operand(const tn_op *op, uint32_t operand, uint32_t n) TN_MUST_USE;
/* Operands x and y have the same element type (and quantization), or shapes that agree. */
tn_status *tn_check_same_element(const tn_op *op, uint32_t x, uint32_t y) TN_MUST_USE;
tn_status *tn_check_same_shape(const tn_op *op, uint32_t x, uint32_t y) TN_MUST_USE;
tn_status *tn_check_count(const tn_op *op, const char *what, int64_t expected,
                          int64_t got) TN_MUST_USE;

/* The integers of an attribute. */
typedef struct {
    const int64_t *v;
    uint32_t n;
} tn_ints;

static inline bool tn_ints_have(tn_ints list, int64_t value)
{
    for (uint32_t i = 0; i < list.n; i++)
        if (list.v[i] == value) return true;
    return false;
}

/* n values of at least `least`. */
tn_status *tn_check_ints(const tn_op *op, tn_attr_name name, uint32_t n, int64_t least,
                         tn_ints *out) TN_MUST_USE;
/* Distinct dimensions of something of this rank; in ascending order if `sorted`. */
tn_status *tn_check_dims(const tn_op *op, tn_attr_name name, uint32_t rank, bool sorted,
                         tn_ints *out) TN_MUST_USE;
/* One dimension, 0 <= value < rank. */
tn_status *tn_check_dim(const tn_op *op, tn_attr_name name, uint32_t rank,
                        int64_t *out) TN_MUST_USE;

/* A region that takes scalars of the types args[n_args] and returns scalars of results[n_results];
 * TN_INVALID in either stands for any element type. */
tn_status *tn_check_region(const tn_op *op, uint32_t region, uint32_t n_args,
                           const tn_element_type *args, uint32_t n_results,
                           const tn_element_type *results) TN_MUST_USE;
/* May a reduction of x be computed in y? Same class, and y at least as wide. */
bool tn_is_promotable(tn_element_type x, tn_element_type y);

/* Operand i has the element type of operand 0. Quantized values may be stored each in their own
 * way, but not per axis, and express one type. */
tn_status *tn_check_meaning(const tn_op *op, uint32_t i) TN_MUST_USE;
/* The type of result i, which has the shape of `t`; if that is quantized, it is so in a way of its
 * own. */
const tn_type *tn_result_like(const tn_op *op, uint32_t i, const tn_type *t);

#endif
