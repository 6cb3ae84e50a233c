/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops: those of one type from the table, and the ones of several types. */
#include "test/values/generate.h"

/* Rows of the table that take n operands of one type and no attributes. */
static tn_op_kind some_kind(values_gen *g, int16_t n)
{
    for (;;) {
        tn_op_kind k = 1 + below(g, TN_OP_COUNT - 1);
        const tn_op_info *info = &tn_op_infos[k];
        if (info->operands != n || !(info->traits & TN_TRAIT_ELEMENTWISE)) continue;
        switch (k) {
        case TN_OP_convert:
        case TN_OP_reduce_precision:
        case TN_OP_uniform_quantize:
        case TN_OP_uniform_dequantize:
        case TN_OP_compare: continue;
        default: return k;
        }
    }
}

static void unary(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    for (uint32_t i = 0; i < 6; i++)
        if (values_finish(g, values_op(g, some_kind(g, 1), 1, &x, 1, 0))) return;
}

static void binary(values_gen *g)
{
    static const tn_op_kind common[] = {TN_OP_add, TN_OP_multiply, TN_OP_subtract, TN_OP_maximum};
    tn_value *x = values_pick(g, ANY_CLASS, 0, VALUES_DIMS), *y = values_like(g, x->type);
    if (one_in(g, 2)) {
        tn_value *swap = x;
        x = y;
        y = swap;
    }
    for (uint32_t i = 0; i < 6; i++) {
        tn_op_kind k = below(g, 2) ? common[below(g, 4)] : some_kind(g, 2);
        if (values_finish(g, values_op(g, k, 2, (tn_value *[]){x, y}, 1, 0))) return;
    }
}

static tn_value *compare(values_gen *g, tn_value *x, tn_value *y)
{
    bool total = tn_is_float(x->type->element) && one_in(g, 4);
    if (total) {
        x = values_without_nan(g, x);
        y = values_without_nan(g, y);
    }
    tn_op *op = values_op(g, TN_OP_compare, 2, (tn_value *[]){x, y}, 1, 0);
    uint32_t directions = tn_is_complex(x->type->element) ? 2 : 6; /* EQ and NE come first */
    values_set_int(g, op, TN_ATTR_comparison_direction, below(g, directions));
    if (total) values_set_int(g, op, TN_ATTR_compare_type, TN_comparison_type_TOTALORDER);
    return values_finish(g, op) ? &op->results[0] : NULL;
}

static void comparison(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    compare(g, x, values_like(g, x->type));
}

/* The type itself, or that of a scalar. */
static const tn_type *or_scalar(values_gen *g, const tn_type *t)
{
    return below(g, 3) ? t : tn_type_tensor(g->arena, t->element, 0, NULL);
}

static void selection(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, VALUES_DIMS), *y = values_like(g, x->type);
    tn_value *choice = one_in(g, 2) ? compare(g, x, y) : NULL;
    values_shape s = values_shape_of(x->type);
    if (!choice) choice = values_like(g, or_scalar(g, values_type(g, TN_I1, &s)));
    values_finish(g, values_op(g, TN_OP_select, 3, (tn_value *[]){choice, x, y}, 1, 0));
}

static void clamp(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    tn_value *low = values_like(g, or_scalar(g, x->type));
    tn_value *high = values_like(g, or_scalar(g, x->type));
    values_finish(g, values_op(g, TN_OP_clamp, 3, (tn_value *[]){low, x, high}, 1, 0));
}

static void convert(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    values_shape s = values_shape_of(x->type);
    tn_op *op = values_op(g, TN_OP_convert, 1, &x, 1, 0);
    values_declare(op, values_type(g, values_some_type(g, ANY_CLASS), &s));
    values_finish(g, op);
}

static void reduce_precision(values_gen *g)
{
    tn_value *x = values_pick(g, FLOAT_CLASS, 0, VALUES_DIMS);
    tn_op *op = values_op(g, TN_OP_reduce_precision, 1, &x, 1, 0);
    values_set_int(g, op, TN_ATTR_exponent_bits, 1 + below(g, one_in(g, 2) ? 11 : 8));
    values_set_int(g, op, TN_ATTR_mantissa_bits, below(g, one_in(g, 2) ? 53 : 12));
    values_finish(g, op);
}

/* x of a rank that is no scalar's: to elements as wide, or with a dimension more or less. */
static void bitcast(values_gen *g)
{
    tn_value *x = values_pick(g, ANY_CLASS & ~COMPLEX_CLASS, 0, VALUES_DIMS - 1);
    if (tn_is_float(x->type->element)) x = values_without_nan(g, x);
    tn_element_type to = values_some_type(g, INTEGER_CLASS | FLOAT_CLASS);
    unsigned from_bits = tn_element_type_bits(x->type->element), bits = tn_element_type_bits(to);
    values_shape s = values_shape_of(x->type);
    if (from_bits > bits) s.dims[s.rank++] = from_bits / bits;
    if (from_bits < bits && s.rank) s.rank--;
    tn_op *op = values_op(g, TN_OP_bitcast_convert, 1, &x, 1, 0);
    values_declare(op, values_type(g, to, &s));
    values_finish(g, op);
}

static void barrier(values_gen *g)
{
    tn_value *v[3];
    uint32_t n = 1 + below(g, 3);
    for (uint32_t i = 0; i < n; i++) v[i] = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    values_finish(g, values_op(g, TN_OP_optimization_barrier, n, v, n, 0));
}

void values_elementwise(values_gen *g)
{
    switch (below(g, g->scalars ? 16 : 18)) {
    case 0:
    case 1:
    case 2:
    case 3: unary(g); break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: binary(g); break;
    case 9: comparison(g); break;
    case 10:
    case 11: selection(g); break;
    case 12: clamp(g); break;
    case 13:
    case 14: convert(g); break;
    case 15: reduce_precision(g); break;
    case 16: bitcast(g); break;
    default: barrier(g); break;
    }
}
