/* SPDX-License-Identifier: Apache-2.0 */
/* refine_op.c - what constants among the operands of one op say about the sizes of its results. */
#include <string.h>

#include "ops/access.h"
#include "ops/infer.h"
#include "passes/refine.h"
#include "passes/rewrite.h"

#define INTEGERS_AT_MOST 4096 /* of a shape or a list of paddings */

/* --- types that learn --- */

/* INVALID_ARGUMENT or RESOURCE_EXHAUSTED: no array has these sizes. */
static tn_status *check_size(const tn_op *op, uint32_t i, const tn_type *t)
{
    int64_t bytes = tn_element_type_bytes(t->element);
    bool empty = false, fits = true;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] < 0 && t->dims[d] != TN_DYNAMIC)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u of result %u should be at least 0 and is %" PRId64, d,
                               i, t->dims[d]);
        empty = empty || t->dims[d] == 0;
        if (t->dims[d] > 0 && __builtin_mul_overflow(bytes, t->dims[d], &bytes)) fits = false;
    }
    if (empty || fits) return NULL;
    return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "result %u would be %s, which no memory holds", i,
                       TN_TYPE_IN_MESSAGE(t));
}

static tn_status *learn_dim(const tn_op *op, uint32_t i, const tn_type *t, uint32_t d, int64_t size,
                            int64_t *dim)
{
    if (*dim == size || size == TN_DYNAMIC) return NULL;
    if (*dim != TN_DYNAMIC)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "dimension %u of result %u has size %" PRId64 ", but is declared as %s",
                           d, i, size, TN_TYPE_IN_MESSAGE(t));
    int64_t bound = t->bounds ? t->bounds[d] : TN_DYNAMIC;
    if (bound != TN_DYNAMIC && size > bound)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "dimension %u of result %u has size %" PRId64
                           ", more than its bound in %s",
                           d, i, size, TN_TYPE_IN_MESSAGE(t));
    *dim = size;
    return NULL;
}

static tn_status *learn_dims(tn_module *m, tn_op *op, uint32_t i, uint32_t rank, const int64_t *got)
{
    const tn_type *t = op->results[i].type;
    if (t->kind != TN_TYPE_TENSOR || tn_type_is_static(t)) {
        for (uint32_t d = 0; t->kind == TN_TYPE_TENSOR && d < rank && d < t->rank; d++) {
            int64_t dim = t->dims[d];
            TN_TRY(learn_dim(op, i, t, d, got[d], &dim));
        }
        return NULL;
    }
    if (t->rank != rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "result %u has rank %u, but is declared as %s", i,
                           rank, TN_TYPE_IN_MESSAGE(t));
    int64_t *dims = tn_dup(m->arena, t->dims, rank * sizeof *dims);
    bool same = true, all = true;
    for (uint32_t d = 0; d < rank; d++) {
        TN_TRY(learn_dim(op, i, t, d, got[d], &dims[d]));
        same = same && dims[d] == t->dims[d];
        all = all && dims[d] != TN_DYNAMIC;
    }
    if (same) return NULL;
    tn_type *known = tn_dup(m->arena, t, sizeof *t);
    known->dims = dims;
    if (all) {
        known->bounds = NULL;
    } else if (t->bounds) {
        int64_t *bounds = tn_dup(m->arena, t->bounds, rank * sizeof *bounds);
        for (uint32_t d = 0; d < rank; d++)
            if (dims[d] != TN_DYNAMIC) bounds[d] = TN_DYNAMIC;
        known->bounds = bounds;
    }
    op->results[i].type = known;
    return check_size(op, i, known);
}

tn_status *tn_refine_result(tn_module *m, tn_op *op, uint32_t i, const tn_type *t)
{
    if (t->kind == TN_TYPE_TENSOR) return learn_dims(m, op, i, t->rank, t->dims);
    if (!tn_type_is_static(op->results[i].type)) op->results[i].type = t;
    return NULL;
}

/* --- constants --- */

const int64_t *tn_refine_integers(tn_module *m, const tn_op *op, uint32_t i, uint32_t *n)
{
    if (i >= op->n_operands) return NULL;
    const tn_literal *l = tn_constant_of(op->operands[i]);
    if (!l || !tn_type_is_static(l->type) || !tn_is_integer(l->type->element) ||
        tn_type_elements(l->type) > INTEGERS_AT_MOST)
        return NULL;
    *n = (uint32_t)tn_type_elements(l->type);
    int64_t *v = TN_NEW_ARRAY(m->arena, int64_t, *n);
    for (uint32_t k = 0; k < *n; k++)
        v[k] = tn_read_index(l->data, l->type->element, l->splat ? 0 : k);
    return v;
}

tn_status *tn_refine_from_operand(tn_module *m, tn_op *op, uint32_t result, uint32_t operand)
{
    uint32_t n;
    const int64_t *dims = tn_refine_integers(m, op, operand, &n);
    return dims ? learn_dims(m, op, result, n, dims) : NULL;
}

/* An op like `op`, with those of its attributes that `kind` has too, before it. */
static tn_op *like(tn_module *m, tn_op *op, tn_op_kind kind, uint32_t n_operands)
{
    tn_op *by = tn_rewrite_op(m, op, kind, op->results[0].type, n_operands, op->operands);
    by->n_extra = op->n_extra;
    by->extra = op->extra;
    const tn_op_info *from = &tn_op_infos[op->kind], *to = &tn_op_infos[kind];
    for (uint32_t i = 0; i < to->n_attrs; i++)
        for (uint32_t j = 0; j < from->n_attrs; j++)
            if (to->attrs[i] == from->attrs[j]) by->attrs[i] = op->attrs[j];
    return by;
}

static void replace(tn_op *op, tn_op *by)
{
    tn_rewrite_by(op, &by->results[0]);
}

/* --- by op --- */

static tn_status *refine_pad(tn_module *m, tn_op *op)
{
    uint32_t n;
    const int64_t *low = tn_refine_integers(m, op, 2, &n), *high = tn_refine_integers(m, op, 3, &n),
                  *interior = tn_refine_integers(m, op, 4, &n);
    if (!low || !high || !interior) return NULL;
    tn_op *by = like(m, op, TN_OP_pad, 2);
    tn_rewrite_ints(m, by, TN_ATTR_edge_padding_low, low, n);
    tn_rewrite_ints(m, by, TN_ATTR_edge_padding_high, high, n);
    tn_rewrite_ints(m, by, TN_ATTR_interior_padding, interior, n);
    replace(op, by);
    return NULL;
}

static tn_status *refine_gather(tn_module *m, tn_op *op)
{
    uint32_t n;
    const int64_t *sizes = tn_refine_integers(m, op, 2, &n);
    if (!sizes) return NULL;
    tn_op *by = like(m, op, TN_OP_gather, 2);
    tn_rewrite_ints(m, by, TN_ATTR_slice_sizes, sizes, n);
    replace(op, by);
    return NULL;
}

static tn_status *refine_conv(tn_module *m, tn_op *op)
{
    uint32_t n;
    const int64_t *padding = tn_refine_integers(m, op, 2, &n);
    if (!padding) return NULL;
    tn_op *by = like(m, op, TN_OP_convolution, 2);
    tn_attr *a = TN_NEW(m->arena, tn_attr);
    *a = (tn_attr){.kind = TN_ATTR_KIND_INTS, .ints = {.data = padding, .n = n, .rows = n / 2}};
    tn_op_set_attr(m, by, TN_ATTR_padding, a);
    replace(op, by);
    return NULL;
}

/* limit - start: of constants, or where limit = start + a constant. */
static const int64_t *slice_spans(tn_module *m, const tn_op *op, uint32_t rank)
{
    uint32_t n;
    const int64_t *start = tn_refine_integers(m, op, 1, &n),
                  *limit = tn_refine_integers(m, op, 2, &n);
    if (start && limit) {
        int64_t *spans = TN_NEW_ARRAY(m->arena, int64_t, rank);
        for (uint32_t i = 0; i < rank; i++)
            if (__builtin_sub_overflow(limit[i], start[i], &spans[i])) spans[i] = -1;
        return spans;
    }
    const tn_op *sum = op->operands[2]->op;
    if (!sum || sum->kind != TN_OP_add) return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (sum->operands[i] == op->operands[1]) return tn_refine_integers(m, sum, 1 - i, &n);
    return NULL;
}

/* Element i of a tensor of rank 1, as a scalar. */
static tn_value *element_of(tn_module *m, tn_op *where, tn_value *v, int64_t i)
{
    const tn_type *one = tn_type_tensor(m->arena, v->type->element, 1, (int64_t[]){1});
    if (v->op && v->op->kind == TN_OP_concatenate && v->op->n_operands == v->type->dims[0]) {
        v = v->op->operands[i];
    } else {
        tn_op *slice = tn_rewrite_op(m, where, TN_OP_slice, one, 1, &v);
        tn_rewrite_ints(m, slice, TN_ATTR_start_indices, &i, 1);
        tn_rewrite_ints(m, slice, TN_ATTR_limit_indices, (int64_t[]){i + 1}, 1);
        tn_rewrite_ints(m, slice, TN_ATTR_strides, (int64_t[]){1}, 1);
        v = &slice->results[0];
    }
    const tn_type *scalar = tn_type_tensor(m->arena, v->type->element, 0, NULL);
    return &tn_rewrite_op(m, where, TN_OP_reshape, scalar, 1, &v)->results[0];
}

/* The same size wherever it starts, and no steps: dynamic_slice, which also moves starts that are
 * too near to the end. */
static void refine_to_dynamic_slice(tn_module *m, tn_op *op, const int64_t *spans, uint32_t n)
{
    tn_value **operands = TN_NEW_ARRAY(m->arena, tn_value *, n + 1);
    operands[0] = op->operands[0];
    for (uint32_t i = 0; i < n; i++) operands[i + 1] = element_of(m, op, op->operands[1], i);
    tn_op *by = tn_rewrite_op(m, op, TN_OP_dynamic_slice, op->results[0].type, n + 1, operands);
    tn_rewrite_ints(m, by, TN_ATTR_slice_sizes, spans, n);
    replace(op, by);
}

/* Starts past the end are moved as the evaluator moves them. */
static tn_status *refine_real_slice(tn_module *m, tn_op *op)
{
    const tn_type *t = op->operands[0]->type;
    uint32_t n = t->rank;
    const int64_t *stride = tn_refine_integers(m, op, 3, &n), *spans = slice_spans(m, op, t->rank);
    if (!stride || !spans || !tn_type_is_static(t) || n != t->rank) return NULL;
    const int64_t *start = tn_refine_integers(m, op, 1, &n);
    int64_t *dims = TN_NEW_ARRAY(m->arena, int64_t, n), *from = TN_NEW_ARRAY(m->arena, int64_t, n),
            *to = TN_NEW_ARRAY(m->arena, int64_t, n);
    bool steps = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (stride[i] < 1 || spans[i] < 0 || spans[i] > t->dims[i])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %u: a slice over %" PRId64
                               " elements with stride %" PRId64 " is none of %s",
                               i, spans[i], stride[i], TN_TYPE_IN_MESSAGE(t));
        dims[i] = spans[i] / stride[i] + (spans[i] % stride[i] != 0);
        from[i] = start ? tn_clamp_index(start[i], 0, t->dims[i] - spans[i]) : 0;
        to[i] = from[i] + spans[i];
        steps = steps || stride[i] != 1;
    }
    TN_TRY(learn_dims(m, op, 0, t->rank, dims));
    if (!start) {
        if (!steps) refine_to_dynamic_slice(m, op, spans, t->rank);
        return NULL;
    }
    tn_op *by = like(m, op, TN_OP_slice, 1);
    tn_rewrite_ints(m, by, TN_ATTR_start_indices, from, t->rank);
    tn_rewrite_ints(m, by, TN_ATTR_limit_indices, to, t->rank);
    tn_rewrite_ints(m, by, TN_ATTR_strides, stride, t->rank);
    replace(op, by);
    return NULL;
}

static tn_status *refine_get_size(tn_module *m, tn_op *op)
{
    const tn_type *t = op->operands[0]->type;
    int64_t d = tn_op_int(op, TN_ATTR_dimension, 0);
    if (d < 0 || d >= t->rank || t->dims[d] == TN_DYNAMIC) return NULL;
    if (t->dims[d] > INT32_MAX)
        return TN_OP_ERROR(OUT_OF_RANGE, op,
                           "dimension %" PRId64 " has size %" PRId64 ", past the result's i32", d,
                           t->dims[d]);
    tn_rewrite_by(op, tn_rewrite_splat(m, op, op->results[0].type, t->dims[d]));
    return NULL;
}

/* Arrays have no room beyond their size: a smaller size cuts off, a larger one adds zeros. */
static tn_status *refine_set_size(tn_module *m, tn_op *op)
{
    const tn_type *t = op->operands[0]->type;
    int64_t d = tn_op_int(op, TN_ATTR_dimension, 0);
    uint32_t n;
    const int64_t *size = tn_refine_integers(m, op, 1, &n);
    if (!size || !tn_type_is_static(t) || d < 0 || d >= t->rank) return NULL;
    int64_t *dims = tn_dup(m->arena, t->dims, t->rank * sizeof *dims);
    dims[d] = *size;
    TN_TRY(learn_dims(m, op, 0, t->rank, dims));
    int64_t *zeros = TN_NEW_ARRAY(m->arena, int64_t, t->rank);
    if (*size == t->dims[d]) {
        tn_rewrite_by(op, op->operands[0]);
    } else if (*size < t->dims[d]) {
        int64_t *ones = TN_NEW_ARRAY(m->arena, int64_t, t->rank);
        for (uint32_t i = 0; i < t->rank; i++) ones[i] = 1;
        tn_op *by = like(m, op, TN_OP_slice, 1);
        tn_rewrite_ints(m, by, TN_ATTR_start_indices, zeros, t->rank);
        tn_rewrite_ints(m, by, TN_ATTR_limit_indices, dims, t->rank);
        tn_rewrite_ints(m, by, TN_ATTR_strides, ones, t->rank);
        replace(op, by);
    } else {
        int64_t *high = TN_NEW_ARRAY(m->arena, int64_t, t->rank);
        high[d] = *size - t->dims[d];
        tn_op *by = like(m, op, TN_OP_pad, 1);
        by->operands = TN_NEW_ARRAY(m->arena, tn_value *, 2);
        by->operands[0] = op->operands[0];
        by->operands[1] = tn_rewrite_splat(m, by, tn_type_like(m->arena, t, 0, NULL), 0);
        by->n_operands = 2;
        tn_rewrite_ints(m, by, TN_ATTR_edge_padding_low, zeros, t->rank);
        tn_rewrite_ints(m, by, TN_ATTR_edge_padding_high, high, t->rank);
        tn_rewrite_ints(m, by, TN_ATTR_interior_padding, zeros, t->rank);
        replace(op, by);
    }
    return NULL;
}

/* One unknown size follows from the number of elements. */
static tn_status *refine_reshape(tn_module *m, tn_op *op)
{
    const tn_type *from = op->operands[0]->type, *to = op->results[0].type;
    if (!tn_type_is_static(from) || tn_type_is_static(to)) return NULL;
    int64_t known = 1, *dims = tn_dup(m->arena, to->dims, to->rank * sizeof *dims);
    uint32_t unknown = 0, at = 0;
    for (uint32_t i = 0; i < to->rank; i++) {
        if (dims[i] == TN_DYNAMIC) {
            unknown++;
            at = i;
        } else if (__builtin_mul_overflow(known, dims[i], &known)) {
            return NULL;
        }
    }
    int64_t n = tn_type_elements(from);
    if (unknown != 1 || !known) return NULL;
    if (n % known)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s can't become %s", TN_TYPE_IN_MESSAGE(from),
                           TN_TYPE_IN_MESSAGE(to));
    dims[at] = n / known;
    return learn_dims(m, op, 0, to->rank, dims);
}

static tn_status *refine_broadcast(tn_module *m, tn_op *op)
{
    const tn_type *from = op->operands[0]->type, *to = op->results[0].type;
    uint32_t n;
    const int64_t *map = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    if (tn_type_is_static(to) || n != from->rank) return NULL;
    int64_t *dims = tn_dup(m->arena, to->dims, to->rank * sizeof *dims);
    for (uint32_t i = 0; i < n; i++)
        if (from->dims[i] != 1 && dims[map[i]] == TN_DYNAMIC) dims[map[i]] = from->dims[i];
    return learn_dims(m, op, 0, to->rank, dims);
}

static tn_status *refine_bitcast(tn_module *m, tn_op *op)
{
    const tn_type *from = op->operands[0]->type, *to = op->results[0].type;
    if (tn_type_is_static(to)) return NULL;
    int64_t *dims = tn_dup(m->arena, to->dims, to->rank * sizeof *dims);
    for (uint32_t i = 0; i < from->rank && i < to->rank; i++)
        if (dims[i] == TN_DYNAMIC) dims[i] = from->dims[i];
    if (to->rank > from->rank && dims[to->rank - 1] == TN_DYNAMIC)
        dims[to->rank - 1] =
            tn_element_type_bits(from->element) / tn_element_type_bits(to->element);
    return learn_dims(m, op, 0, to->rank, dims);
}

tn_status *tn_refine_op(tn_module *m, tn_op *op)
{
    switch (op->kind) {
    case TN_OP_dynamic_iota: return tn_refine_from_operand(m, op, 0, 0);
    case TN_OP_dynamic_broadcast_in_dim:
    case TN_OP_dynamic_reshape: return tn_refine_from_operand(m, op, 0, 1);
    case TN_OP_rng: return tn_refine_from_operand(m, op, 0, 2);
    case TN_OP_dynamic_pad: return refine_pad(m, op);
    case TN_OP_dynamic_gather: return refine_gather(m, op);
    case TN_OP_dynamic_conv: return refine_conv(m, op);
    case TN_OP_real_dynamic_slice: return refine_real_slice(m, op);
    case TN_OP_get_dimension_size: return refine_get_size(m, op);
    case TN_OP_set_dimension_size: return refine_set_size(m, op);
    case TN_OP_reshape: return refine_reshape(m, op);
    case TN_OP_broadcast_in_dim: return refine_broadcast(m, op);
    case TN_OP_bitcast_convert: return refine_bitcast(m, op);
    case TN_OP_custom_call: return tn_refine_custom_call(m, op);
    default: return NULL;
    }
}

bool tn_refine_needs_value(const tn_op *op, uint32_t i)
{
    switch (op->kind) {
    case TN_OP_dynamic_iota: return true;
    case TN_OP_dynamic_broadcast_in_dim:
    case TN_OP_dynamic_reshape:
    case TN_OP_set_dimension_size: return i == 1;
    case TN_OP_rng:
    case TN_OP_dynamic_gather:
    case TN_OP_dynamic_conv: return i == 2;
    case TN_OP_dynamic_pad: return i >= 2;
    case TN_OP_real_dynamic_slice: return i >= 1;
    case TN_OP_custom_call: return tn_refine_call_needs_value(op, i);
    default: return false;
    }
}
