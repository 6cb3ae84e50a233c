/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of quantized ops: floats are quantized, go through some ops, and come back as floats.
 * Quantized values are offered to nobody else, who would take them for integers. */
#include "test/values/generate.h"

/* What quantized values stand for here, rarely another float. */
static tn_element_type some_expressed(values_gen *g)
{
    static const tn_element_type others[] = {TN_F64, TN_BF16, TN_F16};
    return one_in(g, 5) ? others[below(g, 3)] : TN_F32;
}

/* A quantized type of the shape; by an axis where there is one that is short. */
static const tn_type *some_quantized(values_gen *g, const values_shape *s,
                                     tn_element_type expressed, bool per_axis)
{
    static const tn_element_type storages[] = {TN_I8, TN_I8, TN_U8, TN_I4, TN_U4, TN_I16, TN_I32};
    tn_quantization *q = TN_NEW(g->arena, tn_quantization);
    q->storage = storages[below(g, 7)];
    q->expressed = expressed;
    unsigned bits = tn_element_type_bits(q->storage);
    bool has_sign = tn_element_type_class(q->storage) == TN_CLASS_SINT;
    q->max = ((int64_t)1 << (bits - has_sign)) - 1;
    q->min = has_sign ? -q->max - 1 : 0;
    if (one_in(g, 4)) q->min++; /* narrow range */
    q->axis = -1;
    q->n = 1;
    if (per_axis && s->rank) {
        uint32_t axis = below(g, s->rank);
        if (s->dims[axis] > 0 && s->dims[axis] <= 64) {
            q->axis = axis;
            q->n = (uint32_t)s->dims[axis];
        }
    }
    double *scales = TN_NEW_ARRAY(g->arena, double, q->n);
    int64_t *zeros = TN_NEW_ARRAY(g->arena, int64_t, q->n);
    for (uint32_t i = 0; i < q->n; i++) {
        scales[i] = (1 + below(g, 16)) / (double)(1u << below(g, 8));
        uint32_t range = bits > 8 ? 200 : (uint32_t)(q->max - q->min) + 1;
        zeros[i] = one_in(g, 3) && q->min <= 0 ? 0 : q->min + (int64_t)below(g, range);
    }
    q->scales = scales;
    q->zero_points = zeros;
    tn_type *t = tn_dup(g->arena, values_type(g, q->storage, s), sizeof *t);
    t->quantization = q;
    return t;
}

/* The result, which is offered to nobody; NULL: it was refused. */
static tn_value *finish(values_gen *g, tn_op *op, const tn_type *declared)
{
    uint32_t n = g->n;
    values_declare(op, declared);
    bool done = values_finish(g, op);
    g->n = n;
    return done ? &op->results[0] : NULL;
}

static tn_value *quantize(values_gen *g, tn_value *x, const tn_type *to)
{
    return finish(g, values_op(g, TN_OP_uniform_quantize, 1, &x, 1, 0), to);
}

/* A quantized value of the shape that expresses the same type. */
static tn_value *another(values_gen *g, const values_shape *s, tn_element_type expressed,
                         bool per_axis)
{
    tn_value *x = values_without_nan(g, values_like(g, values_type(g, expressed, s)));
    return quantize(g, x, some_quantized(g, s, expressed, per_axis));
}

static tn_value *elementwise(values_gen *g, tn_value *v)
{
    static const tn_op_kind ones[] = {TN_OP_abs,         TN_OP_ceil, TN_OP_floor, TN_OP_negate,
                                      TN_OP_exponential, TN_OP_sqrt, TN_OP_tanh,  TN_OP_logistic};
    static const tn_op_kind twos[] = {TN_OP_add, TN_OP_multiply, TN_OP_subtract, TN_OP_maximum};
    values_shape s = values_shape_of(v->type);
    tn_element_type e = v->type->quantization->expressed;
    bool two = one_in(g, 2), per_axis = v->type->quantization->axis >= 0;
    tn_value *in[2] = {v, two ? another(g, &s, e, per_axis) : NULL};
    if (two && !in[1]) return NULL;
    tn_op_kind kind = two ? twos[below(g, 4)] : ones[below(g, 8)];
    return finish(g, values_op(g, kind, 1 + two, in, 1, 0),
                  per_axis ? v->type : some_quantized(g, &s, e, false));
}

static tn_value *transpose(values_gen *g, tn_value *v)
{
    int64_t order[VALUES_DIMS];
    tn_type *t = tn_dup(g->arena, v->type, sizeof *t);
    int64_t *dims = TN_NEW_ARRAY(g->arena, int64_t, t->rank);
    values_permutation(g, order, t->rank);
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = v->type->dims[order[i]];
    t->dims = dims;
    if (t->quantization->axis >= 0) return NULL;
    tn_op *op = values_op(g, TN_OP_transpose, 1, &v, 1, 0);
    values_set_ints(g, op, TN_ATTR_permutation, order, t->rank);
    return finish(g, op, t);
}

/* v times a matrix of its own. */
static tn_value *product(values_gen *g, tn_value *v)
{
    const tn_type *t = v->type;
    if (t->rank != 2 || t->quantization->axis >= 0) return NULL;
    values_shape s = {.rank = 2, .dims = {t->dims[1], 1 + below(g, 5)}};
    values_shape result = {.rank = 2, .dims = {t->dims[0], s.dims[1]}};
    tn_element_type e = t->quantization->expressed;
    tn_value *in[2] = {v, another(g, &s, e, false)};
    if (!in[1]) return NULL;
    return finish(g, values_op(g, TN_OP_dot, 2, in, 1, 0), some_quantized(g, &result, e, false));
}

void values_quantized(values_gen *g)
{
    if (g->scalars) return;
    values_shape s = *values_some_shape(g);
    tn_value *v = another(g, &s, some_expressed(g), one_in(g, 3));
    for (uint32_t i = below(g, 4); v && i > 0; i--) {
        values_shape now = values_shape_of(v->type);
        tn_element_type e = v->type->quantization->expressed;
        tn_value *next;
        switch (below(g, 5)) {
        case 0: next = transpose(g, v); break;
        case 1: next = product(g, v); break;
        case 2: next = quantize(g, v, some_quantized(g, &now, e, one_in(g, 3))); break;
        default: next = elementwise(g, v); break;
        }
        if (next) v = next;
    }
    if (v) values_finish(g, values_op(g, TN_OP_uniform_dequantize, 1, &v, 1, 0));
}
