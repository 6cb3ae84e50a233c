/* SPDX-License-Identifier: Apache-2.0 */
/* native_reduce.c - reductions of a few elements, or of a few strips, within a loop: written out,
 * in the order in which they are folded elsewhere. */
#include "codegen/native_maker.h"
#include "ops/lines.h"
#include "passes/rewrite.h"

enum {
    MOST = 32,   /* what is folded into one element */
    MOST_OF = 15 /* the same where nothing is known of the lines: elsewhere it is cut beyond */
};

typedef struct {
    const tn_op *op, *one; /* `one`: the only op of the body, or NULL */
    uint32_t n;            /* operands */
    const tn_known *from[2];
    bool is_memory, is_tree;
    uint32_t rank; /* dimensions that count elements, or strips */
    int64_t reduced, kept;
} reduction;

static bool is_reduced(const tn_op *op, uint32_t dim)
{
    return tn_op_has_int(op, TN_ATTR_dimensions, dim);
}

/* Sums of floats have the order of kernels that are known. */
static bool find_order(reduction *r)
{
    tn_lines l;
    tn_element_type e = tn_operand_type(r->op, 0)->element;
    if (e != tn_result_type(r->op, 0)->element || !tn_jit_has_type(e)) return false;
    if (tn_element_type_class(e) == TN_CLASS_FLOAT && e != TN_F32 && e != TN_F64) return false;
    if (r->n > 1 || !tn_lines_find(r->op, r->one->kind, &l)) return r->reduced <= MOST_OF;
    r->is_tree = l.inner == 1;
    return r->reduced <= MOST && l.shares == 1;
}

static bool find(tn_maker *m, const tn_op *op, reduction *r)
{
    const tn_type *t = tn_operand_type(op, 0);
    const tn_region *body = &op->regions[0];
    *r = (reduction){.op = op, .n = op->n_operands / 2, .reduced = 1, .kept = 1};
    if (r->n < 1 || r->n > 2 || op->n_results != r->n || body->n_args != 2 * r->n) return false;
    if (r->n == 1) r->one = tn_op_of_body(body);
    if (r->n == 1 ? !r->one : body->last->n_operands != 2) return false;
    bool wide = tn_maker_is_wide(m, tn_maker_source(op->operands[0]));
    if (!tn_maker_is_scalars(m, &op->results[0]) || wide != tn_maker_is_wide(m, &op->results[0]))
        return false;
    r->rank = wide ? (uint32_t)tn_maker_strip_dim(m->strip, t) : t->rank;
    for (uint32_t d = 0; d < t->rank; d++) {
        bool gone = is_reduced(op, d);
        if (gone && d >= r->rank) return false;
        if (d < r->rank) *(gone ? &r->reduced : &r->kept) *= t->dims[d];
    }
    if (!find_order(r)) return false;
    for (uint32_t i = 0; i < r->n; i++) {
        const tn_value *v = tn_maker_source(op->operands[i]);
        r->is_memory = r->n == 1 && !m->strip && !tn_maker_is_scalars(m, v);
        if (wide != tn_maker_is_wide(m, v)) return false;
        r->from[i] = r->is_memory ? tn_maker_array(m, v) : tn_maker_scalars(m, v);
        if (!r->from[i] || m->failed) return false;
    }
    /* The second may have made the first one known anew. */
    if (r->n > 1) r->from[0] = tn_maker_scalars(m, op->operands[0]);
    return r->from[0] != NULL;
}

/* Which element (or strip) is number k of those that become number e. */
static int64_t index_of(const reduction *r, int64_t e, int64_t k)
{
    const tn_type *t = tn_operand_type(r->op, 0);
    int64_t at = 0, stride = 1;
    for (uint32_t d = r->rank; d-- > 0; stride *= t->dims[d]) {
        int64_t *rest = is_reduced(r->op, d) ? &k : &e;
        at += *rest % t->dims[d] * stride;
        *rest /= t->dims[d];
    }
    return at;
}

static tn_jv element(tn_maker *m, const reduction *r, uint32_t i, int64_t at, uint32_t part)
{
    const tn_known *k = r->from[i];
    tn_element_type e = tn_operand_type(r->op, i)->element;
    if (!r->is_memory)
        return tn_maker_get(m, k->first + (uint32_t)(k->is_wide ? at * m->unroll + part : at));
    tn_jv index = tn_jit_const(&m->piece, 4, (uint64_t)at);
    if (k->has_offset)
        index =
            tn_jit_emit(&m->piece, TN_JIT_IADD, 4, 0, 0, 2, tn_maker_get(m, k->first), index, 0);
    m->usage[k->port] |= TN_READS_ONE;
    return tn_jit_emit(&m->piece, TN_JIT_LOAD_AT, tn_element_type_bytes(e) == 8 ? 8 : 4, e, k->port,
                       1, index, 0, 0);
}

/* left = body(left, right) */
static bool combine(tn_maker *m, const reduction *r, tn_jv *left, const tn_jv *right)
{
    const tn_region *body = &r->op->regions[0];
    if (m->piece.n > TN_JIT_INSTRUCTIONS - 400) return tn_maker_fail(m);
    if (r->one)
        return tn_jit_lower(&m->piece, r->one, (tn_jv[]){left[0], right[0]}, left) ||
               tn_maker_fail(m);
    for (uint32_t i = 0; i < 2 * r->n; i++) {
        uint32_t first = tn_maker_add_elements(m, 1, body->args[i].type->element);
        tn_maker_set(m, first, i < r->n ? left[i] : right[i - r->n]);
        tn_maker_bind(m, &body->args[i],
                      (tn_known){.kind = TN_KNOWN_SCALARS, .n = 1, .first = first});
    }
    uint32_t n_made = m->n_made;
    if (!tn_maker_make_ops(m, body)) return false;
    m->n_made = n_made;
    for (uint32_t i = 0; i < r->n; i++) {
        const tn_known *k = tn_maker_scalars(m, body->last->operands[i]);
        if (!k || k->n != 1) return tn_maker_fail(m);
        left[i] = tn_maker_get(m, k->first);
    }
    return !m->failed;
}

/* As short rows are: lane k with lane k + 2^i for the largest 2^i first; NaN has
 * all its bits, that of a minimum the sign too. */
static bool fold_tree(tn_maker *m, const reduction *r, tn_jv *lanes)
{
    int64_t half = 1;
    while (2 * half < r->reduced) half *= 2;
    for (int64_t n = r->reduced; half && n > 1; half /= 2) {
        for (int64_t k = 0; k + half < n; k++)
            if (!combine(m, r, &lanes[k], &lanes[k + half])) return false;
        n = half;
    }
    tn_element_type e = tn_operand_type(r->op, 0)->element;
    bool extreme = r->one->kind == TN_OP_maximum || r->one->kind == TN_OP_minimum;
    if (!extreme || tn_element_type_class(e) != TN_CLASS_FLOAT) return true;
    unsigned bytes = e == TN_F64 ? 8 : 4;
    uint64_t bits = bytes == 8 ? INT64_MAX : INT32_MAX;
    if (r->one->kind == TN_OP_minimum) bits = 2 * bits + 1;
    tn_jv nan = tn_jit_const(&m->piece, bytes, bits);
    tn_jv bad =
        tn_jit_emit(&m->piece, TN_JIT_FCMP, bytes, TN_JIT_UNORDERED, 0, 2, lanes[0], lanes[0], 0);
    lanes[0] = tn_jit_emit(&m->piece, TN_JIT_SELECT, bytes, 0, 0, 3, bad, nan, lanes[0]);
    return true;
}

static bool fold(tn_maker *m, const reduction *r, int64_t e, uint32_t part, tn_jv *out)
{
    tn_jv lanes[MOST], next[2];
    if (r->is_tree) {
        for (int64_t k = 0; k < r->reduced; k++)
            lanes[k] = element(m, r, 0, index_of(r, e, k), part);
        if (m->failed || !fold_tree(m, r, lanes)) return false;
        *out = lanes[0];
        return true;
    }
    for (int64_t k = 0; k < r->reduced && !m->failed; k++) {
        for (uint32_t i = 0; i < r->n; i++)
            (k ? next : out)[i] = element(m, r, i, index_of(r, e, k), part);
        if (k && !m->failed && !combine(m, r, out, next)) return false;
    }
    return !m->failed;
}

bool tn_maker_make_reduce(tn_maker *m, const tn_op *op)
{
    reduction r;
    if (!find(m, op, &r)) return tn_maker_fail(m);
    tn_known to[2];
    for (uint32_t i = 0; i < r.n; i++) to[i] = *tn_maker_bind_scalars(m, &op->results[i]);
    uint32_t unroll = to[0].is_wide ? m->unroll : 1;
    if (m->failed || to[0].n != r.kept * unroll) return tn_maker_fail(m);
    for (uint32_t e = 0; e < to[0].n; e++) {
        tn_jv folded[2], left[2];
        if (!fold(m, &r, e / unroll, e % unroll, folded)) return false;
        for (uint32_t i = 0; i < r.n; i++) {
            const tn_known *init = tn_maker_scalars(m, op->operands[r.n + i]);
            if (!init || init->n != 1 || init->is_wide) return tn_maker_fail(m);
            left[i] = tn_maker_get(m, init->first);
        }
        if (!combine(m, &r, left, folded)) return false;
        for (uint32_t i = 0; i < r.n; i++) tn_maker_set(m, to[i].first + e, left[i]);
    }
    return true;
}
