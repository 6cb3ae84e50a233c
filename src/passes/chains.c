/* SPDX-License-Identifier: Apache-2.0 */
/* chains - elementwise ops stand right before what they are for, where they were far away.
 *
 * Before:  %1 = multiply %a, %x   %2 = multiply %b, %x   ...   %51 = add %1, %y   %52 = add %2, %y
 * After:   %1 = multiply %a, %x   %51 = add %1, %y   %2 = multiply %b, %x   %52 = add %2, %y
 * That is: what a program does to many arrays step by step, as updates of parameters are written,
 * it does array by array, so that the steps of each run together.
 * Not:     ops that would keep more memory alive than they make. */
#include "passes/rewrite.h"

#define TINY_BYTES 512
#define FAR        16 /* ops between; what is nearer runs together anyway (codegen/cluster.c) */

/* Of an op's one result. The anchor of an op is itself, if it stays, or else the op that stays and
 * that it is for: the anchor of all its users. */
typedef struct {
    tn_op *anchor, *wanted_by; /* its own and that of its users, NULL: there are none */
    tn_op *first;              /* of those that are for it */
    bool stays;                /* it would keep too much alive, or has several users' anchors */
    bool inside, returned;     /* is used by regions inside, by the region */
    int64_t elements;          /* where a step makes it, else 0 */
    uint64_t bytes;            /* that are kept alive if it moves */
} fact;

static uint64_t bytes_of(const tn_value *v)
{
    return v->type->kind == TN_TYPE_TENSOR && tn_type_is_static(v->type) ? tn_type_bytes(v->type)
                                                                         : UINT32_MAX;
}

static bool is_step(const tn_op *op)
{
    return op->n_results == 1 && !op->n_regions &&
           (tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) || op->kind == TN_OP_reshape) &&
           !tn_op_has_effect(op) && bytes_of(&op->results[0]) > TINY_BYTES &&
           bytes_of(&op->results[0]) != UINT32_MAX;
}

static void note_inside(fact *facts, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (op->operands[i]->region != r) facts[op->operands[i]->id].inside = true;
        for (uint32_t i = 0; i < op->n_regions; i++) note_inside(facts, &op->regions[i]);
    }
}

static void note_use(fact *f, tn_op *anchor)
{
    if (f->wanted_by && f->wanted_by != anchor) f->stays = true;
    f->wanted_by = anchor;
}

static bool may_move(const fact *facts, const fact *f)
{
    return f->elements && f->wanted_by && !f->stays && !f->inside && f->wanted_by->n_results &&
           f->elements == facts[f->wanted_by->results[0].id].elements;
}

/* Backwards, so that the anchors of users are known. */
static void find_anchors(fact *facts, const tn_region *r)
{
    for (tn_op *op = r->last; op; op = op->prev) {
        tn_op *anchor = op;
        if (op->n_results == 1) {
            fact *f = &facts[op->results[0].id];
            if (may_move(facts, f)) anchor = f->wanted_by;
            f->anchor = anchor;
        }
        bool returns = tn_op_has_trait(op, TN_TRAIT_TERMINATOR);
        for (uint32_t i = 0; i < op->n_operands; i++) {
            fact *f = &facts[op->operands[i]->id];
            if (returns) f->returned = true;
            else if (op->operands[i]->region == r) note_use(f, anchor);
        }
    }
}

/* What `v` takes while somebody still wants it. */
static uint64_t bytes_kept(const fact *facts, const tn_value *v, const tn_region *r)
{
    const fact *f = &facts[v->id];
    if (v->region != r || !v->op || f->returned || v->op->kind == TN_OP_constant) return 0;
    if (v->op->n_results == 1 && f->anchor != v->op && !f->stays) return f->bytes;
    if (v->op->kind == TN_OP_iota) return 0;
    if (v->op->kind == TN_OP_broadcast_in_dim) v = v->op->operands[0]; /* read where it is */
    return bytes_of(v) <= TINY_BYTES ? 0 : bytes_of(v);
}

/* Do some that could move stay? */
static bool weigh(fact *facts, const tn_region *r)
{
    bool any = false;
    for (tn_op *op = r->first; op; op = op->next) {
        fact *f = op->n_results == 1 ? &facts[op->results[0].id] : NULL;
        if (!f || f->anchor == op) continue;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            uint32_t j = 0;
            while (op->operands[j] != op->operands[i]) j++;
            if (i == j) f->bytes += bytes_kept(facts, op->operands[i], r);
        }
        f->stays = f->bytes > bytes_of(&op->results[0]);
        any |= f->stays;
    }
    return any;
}

/* What moves to an anchor keeps its order. */
static bool move(fact *facts, tn_region *r)
{
    bool some = false;
    uint32_t n = 0;
    for (tn_op *op = r->first; op; op = op->next) op->mark = n++;
    for (tn_op *op = r->last, *before; op; op = before) {
        before = op->prev;
        const fact *f = op->n_results == 1 ? &facts[op->results[0].id] : NULL;
        if (!f || f->anchor == op) continue;
        fact *anchor = &facts[f->anchor->results[0].id];
        tn_op *where = anchor->first ? anchor->first : f->anchor;
        anchor->first = op;
        if (where->mark - op->mark <= FAR) continue;
        tn_op_remove(op);
        tn_op_insert_before(where, op);
        op->mark = where->mark;
        some = true;
    }
    return some;
}

static bool draw_near(fact *facts, tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next)
        if (is_step(op)) facts[op->results[0].id].elements = tn_type_elements(op->results[0].type);
    find_anchors(facts, r);
    if (weigh(facts, r)) {
        for (tn_op *op = r->first; op; op = op->next)
            for (uint32_t i = 0; i < op->n_results; i++) facts[op->results[i].id].wanted_by = NULL;
        find_anchors(facts, r); /* where those that stay are anchors */
    }
    bool some = move(facts, r);
    for (tn_op *op = r->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_regions && tn_op_has_trait(op, TN_TRAIT_CONTROL); i++)
            some |= draw_near(facts, &op->regions[i]);
    return some;
}

tn_status *tn_pass_chains(tn_module *m, bool *changed)
{
    tn_module_number(m);
    fact *facts = TN_NEW_ARRAY(m->arena, fact, m->n_values);
    for (tn_function *f = m->functions; f; f = f->next) {
        note_inside(facts, &f->body);
        *changed |= draw_near(facts, &f->body);
    }
    return NULL;
}
