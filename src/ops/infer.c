/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/infer.h"

const char *tn_attr_text(tn_attr_name name)
{
    static const char *const texts[TN_ATTR_COUNT] = {
#define X(name, kind) [TN_ATTR_##name] = #name,
#include "ir/attrs.def"
#undef X
    };
    return texts[name];
}

bool tn_shapes_agree(const tn_type *x, const tn_type *y)
{
    if (x->rank != y->rank) return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!tn_dims_agree(x->dims[i], y->dims[i])) return false;
    return true;
}

bool tn_elements_agree(const tn_type *x, const tn_type *y)
{
    const tn_quantization *p = x->quantization, *q = y->quantization;
    if (x->element != y->element || !p != !q) return false;
    if (!p) return true;
    if (p->storage != q->storage || p->expressed != q->expressed || p->min != q->min ||
        p->max != q->max || (p->axis < 0) != (q->axis < 0))
        return false;
    return p->axis >= 0 || (p->scales[0] == q->scales[0] && p->zero_points[0] == q->zero_points[0]);
}

const tn_type *tn_type_like(tn_arena *a, const tn_type *like, uint32_t rank, const int64_t *dims)
{
    const tn_type *t = tn_type_tensor(a, like->element, rank, dims);
    if (!like->quantization || like->quantization->axis >= 0) return t;
    tn_type *quantized = tn_dup(a, t, sizeof *t);
    quantized->quantization = like->quantization;
    return quantized;
}

const tn_type *tn_type_reshaped(tn_arena *a, const tn_type *like, const tn_type *shape)
{
    return tn_type_like(a, like, shape->rank, shape->dims);
}

tn_status *tn_check_tensor(const tn_op *op, uint32_t operand)
{
    const tn_type *t = tn_operand_type(op, operand);
    if (t->kind == TN_TYPE_TENSOR) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be a tensor and is %s", operand,
                       TN_TYPE_IN_MESSAGE(t));
}

tn_status *tn_check_result_tensor(const tn_op *op, uint32_t result)
{
    const tn_type *t = tn_result_type(op, result);
    if (t->kind == TN_TYPE_TENSOR) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "result %u should be a tensor and is %s", result,
                       TN_TYPE_IN_MESSAGE(t));
}

tn_status *tn_check_rank(const tn_op *op, uint32_t operand, uint32_t rank)
{
    TN_TRY(tn_check_tensor(op, operand));
    const tn_type *t = tn_operand_type(op, operand);
    if (t->rank == rank) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should have rank %u and is %s", operand,
                       rank, TN_TYPE_IN_MESSAGE(t));
}

tn_status *tn_check_integer(const tn_op *op, uint32_t operand)
{
    TN_TRY(tn_check_tensor(op, operand));
    const tn_type *t = tn_operand_type(op, operand);
    if (tn_is_integer(t->element) && !t->quantization) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should be of integers and is %s", operand,
                       TN_TYPE_IN_MESSAGE(t));
}

tn_status *tn_check_shape_operand(const tn_op *op, uint32_t operand, uint32_t n)
{
    TN_TRY(tn_check_integer(op, operand));
    TN_TRY(tn_check_rank(op, operand, 1));
    const tn_type *t = tn_operand_type(op, operand);
    if (tn_dims_agree(t->dims[0], n)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should have %u elements and is %s",
                       operand, n, TN_TYPE_IN_MESSAGE(t));
}

tn_status *tn_check_same_element(const tn_op *op, uint32_t x, uint32_t y)
{
    const tn_type *t = tn_operand_type(op, x), *u = tn_operand_type(op, y);
    if (tn_elements_agree(t, u)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "operand %u should have the element type of operand %u, %s, and is %s", y, x,
                       TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(u));
}

tn_status *tn_check_same_shape(const tn_op *op, uint32_t x, uint32_t y)
{
    const tn_type *t = tn_operand_type(op, x), *u = tn_operand_type(op, y);
    if (tn_shapes_agree(t, u)) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op,
                       "operand %u should have the shape of operand %u, %s, and is %s", y, x,
                       TN_TYPE_IN_MESSAGE(t), TN_TYPE_IN_MESSAGE(u));
}

tn_status *tn_check_count(const tn_op *op, const char *what, int64_t expected, int64_t got)
{
    if (expected == got) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s: expected %" PRId64 ", got %" PRId64, what,
                       expected, got);
}

tn_status *tn_check_ints(const tn_op *op, tn_attr_name name, uint32_t n, int64_t least,
                         tn_ints *out)
{
    out->v = tn_op_ints(op, name, &out->n);
    if (out->n != n)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s should have %u values and has %u",
                           tn_attr_text(name), n, out->n);
    for (uint32_t i = 0; i < n; i++)
        if (out->v[i] < least)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "%s[%u] should be at least %" PRId64 " and is %" PRId64,
                               tn_attr_text(name), i, least, out->v[i]);
    return NULL;
}

tn_status *tn_check_dims(const tn_op *op, tn_attr_name name, uint32_t rank, bool sorted,
                         tn_ints *out)
{
    out->v = tn_op_ints(op, name, &out->n);
    for (uint32_t i = 0; i < out->n; i++) {
        int64_t v = out->v[i];
        if (v < 0 || v >= rank)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "%s[%u] should be a dimension in [0, %u) and is %" PRId64,
                               tn_attr_text(name), i, rank, v);
        if (tn_ints_have((tn_ints){out->v, i}, v))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s names dimension %" PRId64 " twice",
                               tn_attr_text(name), v);
        if (sorted && i > 0 && v < out->v[i - 1])
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "%s should be in ascending order, but %" PRId64 " follows %" PRId64,
                               tn_attr_text(name), v, out->v[i - 1]);
    }
    return NULL;
}

tn_status *tn_check_dim(const tn_op *op, tn_attr_name name, uint32_t rank, int64_t *out)
{
    *out = tn_op_int(op, name, 0);
    if (*out >= 0 && *out < rank) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s should be a dimension in [0, %u) and is %" PRId64,
                       tn_attr_text(name), rank, *out);
}

static tn_status *check_scalar(const tn_op *op, uint32_t region, const char *what, uint32_t i,
                               const tn_type *t, tn_element_type expected)
{
    if (t->kind == TN_TYPE_TENSOR && t->rank == 0 &&
        (expected == TN_INVALID || t->element == expected))
        return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "%s %u of region %u should be tensor<%s> and is %s",
                       what, i, region, expected ? tn_element_type_text(expected) : "?",
                       TN_TYPE_IN_MESSAGE(t));
}

tn_status *tn_check_region(const tn_op *op, uint32_t region, uint32_t n_args,
                           const tn_element_type *args, uint32_t n_results,
                           const tn_element_type *results)
{
    const tn_region *r = &op->regions[region];
    if (r->n_args != n_args)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "region %u should take %u arguments and takes %u",
                           region, n_args, r->n_args);
    for (uint32_t i = 0; i < n_args; i++)
        TN_TRY(check_scalar(op, region, "argument", i, r->args[i].type, args[i]));
    const tn_op *ret = r->last;
    uint32_t n = ret ? ret->n_operands : 0;
    if (n != n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "region %u should return %u values and returns %u",
                           region, n_results, n);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(check_scalar(op, region, "result", i, tn_operand_type(ret, i), results[i]));
    return NULL;
}

bool tn_is_promotable(tn_element_type x, tn_element_type y)
{
    tn_element_class c = tn_element_type_class(x), d = tn_element_type_class(y);
    bool same = c == d || (tn_is_integer(x) && tn_is_integer(y));
    return same && tn_element_type_bits(x) <= tn_element_type_bits(y);
}

tn_status *tn_check_meaning(const tn_op *op, uint32_t i)
{
    const tn_type *t = tn_operand_type(op, 0), *x = tn_operand_type(op, i);
    if (!t->quantization || !x->quantization) return tn_check_same_element(op, 0, i);
    if (x->quantization->axis < 0 && x->quantization->expressed == t->quantization->expressed)
        return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u should express %s and is %s", i,
                       tn_element_type_text(t->quantization->expressed), TN_TYPE_IN_MESSAGE(x));
}

const tn_type *tn_result_like(const tn_op *op, uint32_t i, const tn_type *t)
{
    const tn_type *r = tn_result_type(op, i);
    bool fits = t->quantization && r->kind == TN_TYPE_TENSOR && r->quantization &&
                r->quantization->axis < 0 &&
                r->quantization->expressed == t->quantization->expressed && tn_shapes_agree(r, t);
    return fits ? r : t;
}
