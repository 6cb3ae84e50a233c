/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that only move elements, and their dynamic forms with known operands. */
#include "test/values/generate.h"

static tn_value *any(values_gen *g, uint32_t low)
{
    return values_pick(g, ANY_CLASS, low, VALUES_DIMS);
}

/* A type that x can be broadcast to: its dimensions at places of a larger rank, ones stretched. */
static const tn_type *stretched(values_gen *g, const tn_type *t, int64_t *places)
{
    values_shape s = {.rank = t->rank + below(g, 3)};
    if (s.rank > VALUES_DIMS) s.rank = t->rank;
    for (uint32_t i = 0; i < s.rank; i++) s.dims[i] = one_in(g, 30) ? 0 : 1 + below(g, 5);
    int64_t order[VALUES_DIMS];
    values_permutation(g, order, s.rank);
    if (below(g, 4)) { /* in order, as most are */
        uint32_t left = t->rank, n = 0;
        for (uint32_t i = 0; i < s.rank && n < t->rank; i++)
            if (below(g, s.rank - i) < left) {
                order[n++] = i;
                left--;
            }
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        places[i] = order[i];
        if (t->dims[i] != 1 || one_in(g, 3)) s.dims[order[i]] = t->dims[i];
    }
    return values_type(g, t->element, &s);
}

static void broadcast(values_gen *g)
{
    tn_value *x = any(g, 0);
    int64_t places[VALUES_DIMS];
    const tn_type *t = stretched(g, x->type, places);
    bool dynamic = one_in(g, 6);
    tn_value *operands[2] = {x, dynamic ? values_ints(g, t->dims, t->rank) : NULL};
    tn_op *op = values_op(g, dynamic ? TN_OP_dynamic_broadcast_in_dim : TN_OP_broadcast_in_dim,
                          dynamic ? 2 : 1, operands, 1, 0);
    values_declare(op, t);
    values_set_ints(g, op, TN_ATTR_broadcast_dimensions, places, x->type->rank);
    values_finish(g, op);
}

static void old_broadcast(values_gen *g)
{
    tn_value *x = any(g, 0);
    int64_t sizes[3];
    uint32_t n = below(g, 3);
    for (uint32_t i = 0; i < n; i++) sizes[i] = below(g, 4);
    tn_op *op = values_op(g, TN_OP_broadcast, 1, &x, 1, 0);
    values_set_ints(g, op, TN_ATTR_broadcast_sizes, sizes, n);
    values_finish(g, op);
}

/* Takes factors out of the number of elements. */
static void reshape(values_gen *g)
{
    tn_value *x = any(g, 0);
    int64_t left = tn_type_elements(x->type);
    values_shape s = {0};
    while (s.rank < 6 && (left != 1 || one_in(g, 4))) {
        int64_t d = left;
        if (left == 0) d = below(g, 4), left = d ? left : 1;
        else if (below(g, 3))
            for (d = 1 + below(g, 9); left % d; d--) {}
        s.dims[s.rank++] = d;
        if (left && d) left /= d;
    }
    if (left > 1) s.dims[s.rank++] = left;
    if (tn_type_elements(x->type) != values_elements(&s)) return;
    bool dynamic = one_in(g, 6);
    tn_value *operands[2] = {x, dynamic ? values_ints(g, s.dims, s.rank) : NULL};
    tn_op *op = values_op(g, dynamic ? TN_OP_dynamic_reshape : TN_OP_reshape, dynamic ? 2 : 1,
                          operands, 1, 0);
    values_declare(op, values_type(g, x->type->element, &s));
    values_finish(g, op);
}

static void transpose(values_gen *g)
{
    tn_value *x = any(g, 1);
    int64_t p[VALUES_DIMS];
    values_permutation(g, p, x->type->rank);
    tn_op *op = values_op(g, TN_OP_transpose, 1, &x, 1, 0);
    values_set_ints(g, op, TN_ATTR_permutation, p, x->type->rank);
    values_finish(g, op);
}

static void reverse(values_gen *g)
{
    tn_value *x = any(g, 0);
    int64_t dims[VALUES_DIMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->type->rank; i++)
        if (below(g, 2)) dims[n++] = i;
    tn_op *op = values_op(g, TN_OP_reverse, 1, &x, 1, 0);
    values_set_ints(g, op, TN_ATTR_dimensions, dims, n);
    values_finish(g, op);
}

static void slice(values_gen *g)
{
    tn_value *x = any(g, 0);
    uint32_t rank = x->type->rank;
    int64_t start[VALUES_DIMS], limit[VALUES_DIMS], stride[VALUES_DIMS];
    values_shape s = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        int64_t d = x->type->dims[i];
        bool whole = below(g, 2);
        start[i] = whole ? 0 : below(g, (uint32_t)d + 1);
        limit[i] = whole ? d : start[i] + below(g, (uint32_t)(d - start[i]) + 1);
        stride[i] = below(g, 3) ? 1 : 1 + below(g, 3);
        s.dims[i] = (limit[i] - start[i] + stride[i] - 1) / stride[i];
    }
    bool dynamic = one_in(g, 8);
    tn_value *operands[4] = {x};
    if (dynamic) {
        operands[1] = values_ints(g, start, rank);
        operands[2] = values_ints(g, limit, rank);
        operands[3] = values_ints(g, stride, rank);
    }
    tn_op *op = values_op(g, dynamic ? TN_OP_real_dynamic_slice : TN_OP_slice, dynamic ? 4 : 1,
                          operands, 1, 0);
    values_declare(op, values_type(g, x->type->element, &s));
    if (!dynamic) {
        values_set_ints(g, op, TN_ATTR_start_indices, start, rank);
        values_set_ints(g, op, TN_ATTR_limit_indices, limit, rank);
        values_set_ints(g, op, TN_ATTR_strides, stride, rank);
    }
    values_finish(g, op);
}

static void pad(values_gen *g)
{
    tn_value *x = any(g, 0);
    tn_value *with = values_like(g, tn_type_tensor(g->arena, x->type->element, 0, NULL));
    uint32_t rank = x->type->rank;
    int64_t low[VALUES_DIMS], high[VALUES_DIMS], inner[VALUES_DIMS];
    values_shape s = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        bool none = below(g, 2);
        int64_t d = x->type->dims[i];
        low[i] = none ? 0 : (int64_t)below(g, 6) - 2;
        high[i] = none ? 0 : (int64_t)below(g, 6) - 2;
        inner[i] = below(g, 3) ? 0 : below(g, 3);
        s.dims[i] = d + (d ? (d - 1) * inner[i] : 0) + low[i] + high[i];
        if (s.dims[i] < 0) return;
    }
    bool dynamic = one_in(g, 8);
    tn_value *operands[5] = {x, with};
    if (dynamic) {
        operands[2] = values_ints(g, low, rank);
        operands[3] = values_ints(g, high, rank);
        operands[4] = values_ints(g, inner, rank);
    }
    tn_op *op =
        values_op(g, dynamic ? TN_OP_dynamic_pad : TN_OP_pad, dynamic ? 5 : 2, operands, 1, 0);
    values_declare(op, values_type(g, x->type->element, &s));
    if (!dynamic) {
        values_set_ints(g, op, TN_ATTR_edge_padding_low, low, rank);
        values_set_ints(g, op, TN_ATTR_edge_padding_high, high, rank);
        values_set_ints(g, op, TN_ATTR_interior_padding, inner, rank);
    }
    values_finish(g, op);
}

static void concatenate(values_gen *g)
{
    tn_value *x[4] = {any(g, 1)};
    uint32_t n = 1 + below(g, 4), dim = below(g, x[0]->type->rank);
    for (uint32_t i = 1; i < n; i++) {
        values_shape s = values_shape_of(x[0]->type);
        if (one_in(g, 3)) s.dims[dim] = below(g, 4);
        x[i] = values_like(g, values_type(g, x[0]->type->element, &s));
    }
    tn_op *op = values_op(g, TN_OP_concatenate, n, x, 1, 0);
    values_set_int(g, op, TN_ATTR_dimension, dim);
    values_finish(g, op);
}

static void iota(values_gen *g)
{
    values_shape s = *values_some_shape(g);
    if (!s.rank) return;
    const tn_type *t = values_type(g, values_some_type(g, NUMBER_CLASS), &s);
    bool dynamic = one_in(g, 6);
    tn_value *shape = dynamic ? values_ints(g, s.dims, s.rank) : NULL;
    tn_op *op = values_op(g, dynamic ? TN_OP_dynamic_iota : TN_OP_iota, dynamic, &shape, 1, 0);
    values_declare(op, t);
    values_set_int(g, op, TN_ATTR_iota_dimension, below(g, s.rank));
    values_finish(g, op);
}

static void dimension_size(values_gen *g)
{
    tn_value *x = any(g, 1);
    tn_op *op = values_op(g, TN_OP_get_dimension_size, 1, &x, 1, 0);
    values_set_int(g, op, TN_ATTR_dimension, below(g, x->type->rank));
    values_finish(g, op);
}

void values_movement(values_gen *g)
{
    switch (below(g, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: broadcast(g); break;
    case 5:
    case 6:
    case 7: reshape(g); break;
    case 8:
    case 9: transpose(g); break;
    case 10: reverse(g); break;
    case 11:
    case 12: slice(g); break;
    case 13:
    case 14: pad(g); break;
    case 15:
    case 16: concatenate(g); break;
    case 17: iota(g); break;
    case 18: old_broadcast(g); break;
    default: dimension_size(g); break;
    }
}
