/* SPDX-License-Identifier: Apache-2.0 */
/* dce - removes what nobody wants: ops, carried values of loops, results of branches.
 *
 * Before:  %1 = add %0, %0   %r:2 = while(%a = %x, %b = %y) { body: return f(%a), g(%b) }   return
 * %r#0 After:   %r = while(%a = %x) { body: return f(%a) }   return %r Kept:    what has a side
 * effect, what it needs, and what decides whether it comes to it.
 *
 * A value is wanted because of what wants it, from the results and the effects down; a carried
 * value that only makes its own successor is wanted by nobody. */
#include "passes/rewrite.h"

typedef struct {
    tn_value **work; /* values found wanted whose reasons are not followed yet */
    uint32_t n_work;
    bool changed;
} marker;

static void want(marker *k, tn_value *v)
{
    if (v->id) return;
    v->id = 1;
    k->work[k->n_work++] = v;
}

/* Results one by one: those of control flow are wanted one without the other. */
static bool is_by_result(const tn_op *op)
{
    return op->kind == TN_OP_while || op->kind == TN_OP_if || op->kind == TN_OP_case;
}

static void want_all(marker *k, tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++) want(k, op->operands[i]);
}

/* `mark` says that an op stays. What its regions return is wanted with it or result by result. */
static void keep(marker *k, tn_op *op)
{
    if (op->mark) return;
    op->mark = 1;
    if (op->kind == TN_OP_while) want_all(k, op->regions[0].last);
    else want_all(k, op);
    for (uint32_t i = 0; i < op->n_regions; i++) {
        op->regions[i].last->mark = 1;
        if (!is_by_result(op)) want_all(k, op->regions[i].last);
    }
}

static void want_carried(marker *k, tn_op *loop, uint32_t i)
{
    want(k, &loop->results[i]);
    want(k, &loop->regions[0].args[i]);
    want(k, &loop->regions[1].args[i]);
    want(k, loop->operands[i]);
    want(k, loop->regions[1].last->operands[i]);
}

static void follow(marker *k, tn_value *v)
{
    tn_op *op = v->op ? v->op : v->region->parent;
    if (!op) return;
    if (v->op) keep(k, op);
    if (op->kind == TN_OP_while) want_carried(k, op, v->index);
    else if (v->op && is_by_result(op))
        for (uint32_t i = 0; i < op->n_regions; i++)
            want(k, op->regions[i].last->operands[v->index]);
}

/* Gives the number of values. */
static uint32_t forget_marks(tn_region *r)
{
    uint32_t n = r->n_args;
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = 0;
    for (tn_op *op = r->first; op; op = op->next) {
        op->mark = 0;
        n += op->n_results;
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = 0;
        for (uint32_t i = 0; i < op->n_regions; i++) n += forget_marks(&op->regions[i]);
    }
    return n;
}

/* Keeps effects and what they stand in. */
static bool keep_effects(marker *k, tn_region *r)
{
    bool any = false;
    for (tn_op *op = r->first; op; op = op->next) {
        bool effect = tn_op_has_effect(op) || tn_op_has_trait(op, TN_TRAIT_SYMBOL);
        for (uint32_t i = 0; i < op->n_regions; i++) effect |= keep_effects(k, &op->regions[i]);
        if (effect) keep(k, op);
        any |= effect;
    }
    return any;
}

/* --- what is left of control flow --- */

static void take_region(tn_module *m, tn_op *to, uint32_t which, tn_region *from)
{
    tn_region *r = &to->regions[which];
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->n_args; i++) n += from->args[i].id != 0;
    tn_region_init(m, r, from->function, to, n);
    for (uint32_t i = 0, at = 0; i < from->n_args; i++) {
        if (!from->args[i].id) continue;
        r->args[at].type = from->args[i].type;
        r->args[at].id = 1;
        tn_value_replace(&from->args[i], &r->args[at++]);
    }
    for (tn_op *op = from->first, *next; op; op = next) {
        next = op->next;
        tn_op_remove(op);
        tn_op_append(r, op);
    }
}

static void keep_operands(tn_op *op, const tn_value *wanted)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (wanted[i].id) op->operands[kept++] = op->operands[i];
    op->n_operands = kept;
}

static tn_op *shrink(tn_module *m, tn_op *op)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < op->n_results; i++) kept += op->results[i].id != 0;
    if (kept == op->n_results) return op;
    bool loop = op->kind == TN_OP_while;
    tn_op *by = tn_op_new(m, op->kind, 0, kept, op->n_regions);
    by->location = op->location;
    by->mark = 1;
    by->n_operands = op->n_operands;
    by->operands = op->operands;
    if (loop) keep_operands(by, op->results);
    for (uint32_t i = 0; i < op->n_regions; i++)
        if (!loop || i == 1) keep_operands(op->regions[i].last, op->results);
    for (uint32_t i = 0, at = 0; i < op->n_results; i++) {
        if (!op->results[i].id) continue;
        by->results[at].type = op->results[i].type;
        by->results[at].id = 1;
        tn_value_replace(&op->results[i], &by->results[at++]);
    }
    tn_op_insert_before(op, by);
    for (uint32_t i = 0; i < op->n_regions; i++) take_region(m, by, i, &op->regions[i]);
    tn_op_remove(op);
    return by;
}

static void sweep(tn_module *m, tn_region *r, bool *changed)
{
    for (tn_op *op = r->first, *next; op; op = next) {
        next = op->next;
        if (!op->mark) {
            tn_op_remove(op);
            *changed = true;
            continue;
        }
        if (is_by_result(op)) {
            tn_op *by = shrink(m, op);
            *changed = *changed || by != op;
            op = by;
        }
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        for (uint32_t i = 0; i < op->n_regions; i++) sweep(m, &op->regions[i], changed);
    }
}

tn_status *tn_pass_dce(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) {
        uint32_t n = forget_marks(&f->body);
        marker k = {.work = tn_alloc_room(m->arena, n * sizeof *k.work)};
        f->body.last->mark = 1;
        want_all(&k, f->body.last);
        keep_effects(&k, &f->body);
        while (k.n_work) follow(&k, k.work[--k.n_work]);
        sweep(m, &f->body, changed);
    }
    return NULL;
}
