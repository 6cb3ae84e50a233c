/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/pieces.h"

#include <string.h>

/* The type of one of t's pieces along `d`. */
static const tn_type *piece_type(tn_module *m, const tn_type *t, uint32_t d)
{
    int64_t *dims = TN_NEW_ARRAY(m->arena, int64_t, t->rank);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != d) dims[n++] = t->dims[i];
    return tn_type_tensor(m->arena, t->element, n, dims);
}

static tn_value *reshaped(tn_pieces *p, tn_value *v, const tn_type *t)
{
    while (v->op && v->op->kind == TN_OP_reshape) v = tn_value_resolve(v->op->operands[0]);
    if (tn_type_equal(v->type, t)) return v;
    return &tn_rewrite_op(p->m, p->where, TN_OP_reshape, t, 1, &v)->results[0];
}

static bool is_add_of_whole(const tn_op *op)
{
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    return body && body->kind == TN_OP_add && tn_is_whole(tn_operand_type(op, 0)) &&
           tn_operand_type(op, 0)->element != TN_I1;
}

/* Running totals from the first of dimension `d` on. */
static bool is_running(const tn_op *op, uint32_t d)
{
    const tn_type *t = tn_operand_type(op, 0);
    int64_t zero;
    uint32_t n, n_pads;
    if (op->n_operands != 2 || !is_add_of_whole(op) || !tn_type_equal(t, tn_result_type(op, 0)) ||
        !tn_constant_integer(tn_value_resolve(op->operands[1]), &zero) || zero ||
        !tn_ints_are(op, TN_ATTR_window_strides, 1) ||
        !tn_ints_are(op, TN_ATTR_window_dilations, 1) ||
        !tn_ints_are(op, TN_ATTR_base_dilations, 1))
        return false;
    const int64_t *window = tn_op_ints(op, TN_ATTR_window_dimensions, &n);
    const int64_t *pads = tn_op_ints(op, TN_ATTR_padding, &n_pads);
    if (n != t->rank || n_pads != 2 * n) return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t size = i == d ? t->dims[d] : 1;
        if (window[i] != size || pads[2 * i] != size - 1 || pads[2 * i + 1]) return false;
    }
    return true;
}

/* One of `v` along its dimension `at`. */
static tn_value *slice_at(tn_pieces *p, tn_value *v, uint32_t at, int64_t k)
{
    const tn_type *t = v->type;
    int64_t *begin = TN_NEW_ARRAY(p->m->arena, int64_t, 3 * t->rank), *size = begin + t->rank,
            *step = size + t->rank;
    for (uint32_t i = 0; i < t->rank; i++) size[i] = t->dims[i], step[i] = 1;
    size[at] = 1;
    const tn_type *one = tn_type_tensor(p->m->arena, t->element, t->rank, size);
    begin[at] = k;
    size[at] = k + 1;
    tn_op *op = tn_rewrite_op(p->m, p->where, TN_OP_slice, one, 1, &v);
    tn_rewrite_ints(p->m, op, TN_ATTR_start_indices, begin, t->rank);
    tn_rewrite_ints(p->m, op, TN_ATTR_limit_indices, size, t->rank);
    tn_rewrite_ints(p->m, op, TN_ATTR_strides, step, t->rank);
    return reshaped(p, &op->results[0], piece_type(p->m, t, at));
}

static tn_value *element_of(tn_pieces *p, const tn_literal *l, const tn_type *piece, int64_t k)
{
    size_t bytes = tn_element_type_bytes(piece->element);
    tn_literal one = {.type = piece,
                      .splat = true,
                      .size = bytes,
                      .data = (const char *)l->data + (l->splat ? 0 : (size_t)k * bytes)};
    return tn_rewrite_constant(p->m, p->where, one);
}

/* Repeated along the dimension, or what has it along another one. */
static bool of_broadcast(tn_pieces *p, tn_value *v, tn_value **out)
{
    const tn_op *op = v->op;
    const tn_type *t = v->type, *piece = piece_type(p->m, t, p->d);
    tn_value *x = tn_value_resolve(op->operands[0]);
    uint32_t n, kept = 0, at = UINT32_MAX;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    int64_t *to = TN_NEW_ARRAY(p->m->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) {
        if (dims[i] == p->d) at = i;
        else to[kept++] = dims[i] - (dims[i] > p->d);
    }
    const tn_literal *l = tn_constant_of(x);
    bool varies = at != UINT32_MAX && x->type->dims[at] != 1;
    if (varies && l && tn_is_whole(x->type) && tn_type_elements(x->type) == t->dims[p->d]) {
        for (int64_t i = 0; i < t->dims[p->d]; i++) out[i] = element_of(p, l, piece, i);
        return true;
    }
    if (varies && tn_type_elements(x->type) > p->sliced) return false;
    for (int64_t i = 0; i < t->dims[p->d]; i++) {
        if (i && !varies) {
            out[i] = out[0];
            continue;
        }
        out[i] = varies             ? slice_at(p, x, at, i)
                 : at != UINT32_MAX ? reshaped(p, x, piece_type(p->m, x->type, at))
                                    : x;
        if (tn_type_equal(out[i]->type, piece)) continue;
        tn_op *by = tn_rewrite_op(p->m, p->where, TN_OP_broadcast_in_dim, piece, 1, &out[i]);
        tn_rewrite_ints(p->m, by, TN_ATTR_broadcast_dimensions, to, kept);
        out[i] = &by->results[0];
    }
    return true;
}

static bool of_concatenate(tn_pieces *p, tn_value *v, tn_value **out)
{
    const tn_op *op = v->op;
    if (tn_op_int(op, TN_ATTR_dimension, -1) != p->d) return false;
    int64_t n = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        tn_value *x = tn_value_resolve(op->operands[i]);
        if (x->type->dims[p->d] == 1 && !tn_constant_of(x))
            out[n] = reshaped(p, x, piece_type(p->m, x->type, p->d));
        else if (x->type->dims[p->d] && !tn_pieces_of(p, x, out + n)) return false;
        n += x->type->dims[p->d];
    }
    return true;
}

static bool of_elementwise(tn_pieces *p, tn_value *v, tn_value **out)
{
    const tn_op *op = v->op;
    const tn_type *piece = piece_type(p->m, v->type, p->d);
    tn_value *parts[3][TN_PIECES];
    if (op->n_operands > 3 || op->n_results != 1) return false;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        tn_value *x = tn_value_resolve(op->operands[i]);
        if (i && x == tn_value_resolve(op->operands[0]))
            memcpy(parts[i], parts[0], sizeof parts[0]);
        else if (x->type->rank != v->type->rank || !tn_pieces_of(p, x, parts[i])) return false;
    }
    for (int64_t k = 0; k < v->type->dims[p->d]; k++) {
        tn_op *one = tn_rewrite_op(p->m, p->where, op->kind, piece, op->n_operands, NULL);
        for (uint32_t i = 0; i < op->n_operands; i++) one->operands[i] = parts[i][k];
        for (uint32_t i = 0; i < op->n_attrs; i++) one->attrs[i] = op->attrs[i];
        out[k] = &one->results[0];
    }
    return true;
}

/* What of a small constant is at place `i` of dimension `d`. */
static bool element_rows(tn_module *m, const tn_literal *l, uint32_t d, int64_t i, tn_literal *out)
{
    enum { SMALL = 4096 };
    size_t inner = tn_element_type_bytes(l->type->element), size = (size_t)l->type->dims[d];
    if (l->size > SMALL || tn_element_type_bits(l->type->element) < 8) return false;
    for (uint32_t k = d + 1; k < l->type->rank; k++) inner *= (size_t)l->type->dims[k];
    size_t outer = inner && size ? l->size / (inner * size) : 0;
    char *data = tn_alloc_array(m->arena, outer, inner);
    for (size_t k = 0; k < outer; k++)
        memcpy(data + k * inner, (const char *)l->data + (k * size + (size_t)i) * inner, inner);
    out->data = data;
    out->size = outer * inner;
    return true;
}

bool tn_pieces_of(tn_pieces *p, tn_value *v, tn_value **out)
{
    const tn_type *t = v->type;
    const tn_op *op = v->op;
    if (!op || --p->looks < 0 || !tn_type_is_static(t) || t->quantization || t->rank <= p->d ||
        t->dims[p->d] < 1 || t->dims[p->d] > TN_PIECES)
        return false;
    const tn_literal *l = tn_constant_of(v);
    if (l) {
        for (int64_t i = 0; i < t->dims[p->d]; i++) {
            tn_literal one = *l;
            one.type = piece_type(p->m, t, p->d);
            if (!l->splat && !element_rows(p->m, l, p->d, i, &one)) return false;
            out[i] = tn_rewrite_constant(p->m, p->where, one);
        }
        return true;
    }
    switch ((int)op->kind) {
    case TN_OP_concatenate: return of_concatenate(p, v, out);
    case TN_OP_broadcast_in_dim: return of_broadcast(p, v, out);
    case TN_OP_reduce_window:
        if (!is_running(op, p->d)) return false;
        if (!tn_pieces_of(p, tn_value_resolve(op->operands[0]), out)) return false;
        for (int64_t i = 1; i < t->dims[p->d]; i++)
            out[i] = &tn_rewrite_op(p->m, p->where, TN_OP_add, out[0]->type, 2,
                                    (tn_value *[]){out[i - 1], out[i]})
                          ->results[0];
        return true;
    default: return tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) && of_elementwise(p, v, out);
    }
}
