/* SPDX-License-Identifier: Apache-2.0 */
/* taken - what elementwise ops give is computed only where it is gathered from.
 *
 * Before:  %1 = subtract %x, broadcast(%m: 256) : 256x1024   gather(%1, %i: 256)
 * After:   subtract gather(%x, %i), %m : 256
 * The loss of a classifier is one element of each row of a log-softmax, of which nothing else is
 * wanted then. Not where there are nearly as many reads as elements, and only where what is
 * broadcast varies along batching dimensions alone. */
#include "ops/windows.h"
#include "passes/rewrite.h"

enum { DEEPEST = 12, MOST = 32, FEWER = 4 /* times fewer elements */ };

typedef struct {
    tn_module *m;
    tn_op *gather;
    tn_window_dims dims;
} taking;

/* `mark` of an op: how often its results are used. */
static void count_uses(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        op->mark = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_op *used = tn_value_resolve(op->operands[i])->op;
            if (used) used->mark++;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) count_uses(&op->regions[i]);
    }
}

/* The dimension of the result that stands for dimension d of the operand, or -1. */
static int64_t batch_dim(const taking *t, int64_t d)
{
    uint32_t rank = tn_result_type(t->gather, 0)->rank;
    for (uint32_t k = 0; k < t->dims.batching_dims.n; k++) {
        if (t->dims.batching_dims.v[k] != d) continue;
        for (uint32_t i = 0; i < rank; i++)
            if (tn_index_dim(&t->dims, i) == (uint32_t)t->dims.index_batching.v[k]) return i;
    }
    return -1;
}

static bool is_step(const tn_value *v)
{
    const tn_op *op = v->op;
    return op && op->n_results == 1 && !op->n_regions && tn_type_is_static(v->type) &&
           !v->type->quantization && tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) &&
           !tn_op_has_effect(op);
}

static bool is_broadcast(const tn_value *v)
{
    return v->op && v->op->kind == TN_OP_broadcast_in_dim && tn_type_is_static(v->type) &&
           tn_type_is_static(tn_operand_type(v->op, 0)) && !v->type->quantization;
}

/* Ops that take the place of what makes `v`; many where it can't be done. */
static uint32_t count(const taking *t, tn_value *v, uint32_t depth)
{
    v = tn_value_resolve(v);
    uint32_t n = 1, rank;
    if (depth == DEEPEST) return MOST + 1;
    if (is_broadcast(v)) {
        const tn_type *from = tn_operand_type(v->op, 0);
        const int64_t *dims = tn_op_ints(v->op, TN_ATTR_broadcast_dimensions, &rank);
        for (uint32_t i = 0; i < rank; i++)
            if (from->dims[i] != 1 && batch_dim(t, dims[i]) < 0) return MOST + 1;
        return 2;
    }
    if (!is_step(v)) return 1;
    for (uint32_t i = 0; i < v->op->n_operands; i++) {
        if (tn_operand_type(v->op, i)->quantization) return MOST + 1;
        if (tn_operand_type(v->op, i)->rank) n += count(t, v->op->operands[i], depth + 1);
        if (n > MOST) return n;
    }
    return n;
}

static const tn_type *taken_type(const taking *t, tn_element_type e)
{
    const tn_type *r = tn_result_type(t->gather, 0);
    return tn_type_tensor(t->m->arena, e, r->rank, r->dims);
}

static tn_value *take_broadcast(const taking *t, tn_value *v)
{
    tn_value *from = tn_value_resolve(v->op->operands[0]);
    const tn_type *f = from->type;
    uint32_t rank, kept = 0;
    const int64_t *dims = tn_op_ints(v->op, TN_ATTR_broadcast_dimensions, &rank);
    int64_t *size = TN_NEW_ARRAY(t->m->arena, int64_t, rank),
            *to = TN_NEW_ARRAY(t->m->arena, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) {
        if (f->dims[i] == 1) continue;
        size[kept] = f->dims[i];
        to[kept++] = batch_dim(t, dims[i]);
    }
    if (kept != rank)
        from = &tn_rewrite_op(t->m, t->gather, TN_OP_reshape,
                              tn_type_tensor(t->m->arena, f->element, kept, size), 1, &from)
                    ->results[0];
    tn_op *b =
        tn_rewrite_op(t->m, t->gather, TN_OP_broadcast_in_dim, taken_type(t, f->element), 1, &from);
    tn_rewrite_ints(t->m, b, TN_ATTR_broadcast_dimensions, to, kept);
    return &b->results[0];
}

static tn_value *take(const taking *t, tn_value *v)
{
    v = tn_value_resolve(v);
    const tn_type *type = taken_type(t, v->type->element);
    const tn_literal *l = tn_constant_of(v);
    if (l && l->splat) {
        tn_literal splat = *l;
        splat.type = type;
        return tn_rewrite_constant(t->m, t->gather, splat);
    }
    if (is_broadcast(v)) return take_broadcast(t, v);
    const tn_op *from = is_step(v) ? v->op : t->gather;
    tn_op *op = tn_op_new(t->m, from->kind, from->n_operands, 1, 0);
    op->location = from->location;
    op->results[0].type = type;
    for (uint32_t i = 0; i < op->n_attrs; i++) op->attrs[i] = from->attrs[i];
    for (uint32_t i = 0; i < op->n_operands; i++) {
        tn_value *x = tn_value_resolve(from->operands[i]);
        if (from == t->gather) op->operands[i] = i ? x : v;
        else op->operands[i] = x->type->rank ? take(t, x) : x;
    }
    tn_op_insert_before(t->gather, op);
    return &op->results[0];
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_gather) return NULL;
    tn_value *from = tn_value_resolve(op->operands[0]);
    const tn_type *type = tn_result_type(op, 0), *t = from->type;
    if (!is_step(from) || from->op->mark != 1 || from->region != op->results[0].region ||
        !tn_type_is_static(type) || !tn_type_is_static(tn_operand_type(op, 1)))
        return NULL;
    taking g = {m, op, tn_gather_dims(op)};
    if (g.dims.window_dims.n || !type->rank || !t->rank || !tn_type_elements(type) ||
        tn_type_elements(t) < FEWER * tn_type_elements(type) || count(&g, from, 0) > MOST)
        return NULL;
    tn_rewrite_by(op, take(&g, from));
    *changed = true;
    return NULL;
}

tn_status *tn_pass_taken(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) count_uses(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
