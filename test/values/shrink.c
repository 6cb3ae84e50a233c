/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinking: edits of the program, one at a time, each kept when what is left still fails.
 *
 * An edit replaces results of an op, by an operand, an earlier value or a constant; or takes a
 * result or an attribute of the signature away. Ops that nobody uses are dropped with each edit. */
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"
#include "test/values/check.h"

typedef struct {
    values_source source; /* the text so far */
    tn_arena *arena;
    uint32_t edit;  /* which one */
    uint32_t n_ops; /* that could be edited: the end of the edits */
    bool applied;
    char *text;
    size_t size;
} attempt;

/* --- walking --- */

typedef void op_fn(tn_op *op, void *ctx);

static void each_op(tn_region *r, op_fn *fn, void *ctx)
{
    for (tn_op *op = r->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->n_regions; i++) each_op(&op->regions[i], fn, ctx);
        fn(op, ctx);
    }
}

static void each(tn_module *m, op_fn *fn, void *ctx)
{
    for (tn_function *f = m->functions; f; f = f->next) each_op(&f->body, fn, ctx);
}

/* --- dead ops --- */

static void count_uses(tn_op *op, void *ctx)
{
    uint32_t *uses = ctx;
    for (uint32_t i = 0; i < op->n_operands; i++) uses[op->operands[i]->id]++;
}

typedef struct {
    const uint32_t *uses;
    bool dropped;
} dropping;

static void drop(tn_op *op, void *ctx)
{
    dropping *d = ctx;
    if (tn_op_has_trait(op, TN_TRAIT_TERMINATOR)) return;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (d->uses[op->results[i].id]) return;
    tn_op_remove(op);
    d->dropped = true;
}

static void drop_functions(tn_module *m)
{
    tn_function *kept = NULL;
    for (tn_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        bool wanted = f == m->main;
        for (tn_function *g = m->functions; g && !wanted; g = g->next) {
            for (tn_op *op = g->body.first; op && !wanted; op = op->next)
                wanted = op->n_regions > 0;
            for (tn_op *op = g->body.first; op && !wanted; op = op->next)
                wanted = (op->kind == TN_OP_call &&
                          !strcmp(tn_op_string(op, TN_ATTR_callee), f->name)) ||
                         op->kind == TN_OP_composite;
        }
        if (!wanted) continue;
        if (kept) kept->next = f;
        else m->functions = f;
        kept = f;
    }
    kept->next = NULL;
    m->last_function = kept;
}

static void drop_dead(tn_module *m)
{
    tn_module_resolve(m);
    for (bool again = true; again;) {
        tn_module_number(m);
        uint32_t *uses = TN_NEW_ARRAY(m->arena, uint32_t, m->n_values);
        each(m, count_uses, uses);
        dropping d = {uses, false};
        each(m, drop, &d);
        again = d.dropped;
    }
    drop_functions(m);
}

/* --- edits --- */

static tn_value *zeros(tn_module *m, tn_op *before, const tn_type *t, uint8_t byte)
{
    tn_op *op = tn_op_new(m, TN_OP_constant, 0, 1, 0);
    tn_literal l = {.type = t, .splat = tn_type_elements(t) > 0};
    l.size = l.splat ? tn_element_type_bytes(t->element) : 0;
    uint8_t *data = tn_alloc(m->arena, l.size);
    if (l.size) data[0] = byte;
    l.data = data;
    tn_op_set_attr(m, op, TN_ATTR_value, tn_attr_tensor(m->arena, &l));
    op->results[0].type = t;
    tn_op_insert_before(before, op);
    return &op->results[0];
}

/* The n-th value of this type that is defined before `op` in its region or the ones around it. */
static tn_value *earlier(const tn_op *op, const tn_type *t, uint32_t n)
{
    for (tn_region *r = op->region; r; op = r->parent, r = op ? op->region : NULL) {
        for (uint32_t i = 0; i < r->n_args; i++)
            if (tn_type_equal(r->args[i].type, t) && n-- == 0) return &r->args[i];
        for (tn_op *o = r->first; o && o != op; o = o->next)
            for (uint32_t i = 0; i < o->n_results; i++)
                if (tn_type_equal(o->results[i].type, t) && n-- == 0) return &o->results[i];
    }
    return NULL;
}

/* Kinds of edits for one op; false: this one does not apply. */
enum { BY_OPERAND, BY_EARLIER, BY_EARLIER_2, BY_ZERO, ONE_OPERAND, BRANCH, EDITS };

static bool edit_op(tn_module *m, tn_op *op, uint32_t kind, uint32_t which)
{
    if (tn_op_has_trait(op, TN_TRAIT_TERMINATOR) || !op->n_results) return false;
    bool changed = false;
    if (kind == ONE_OPERAND) { /* by a constant */
        if (which >= op->n_operands) return false;
        tn_value *v = op->operands[which];
        if (v->type->kind != TN_TYPE_TENSOR || (v->op && v->op->kind == TN_OP_constant))
            return false;
        op->operands[which] = zeros(m, op, v->type, 0);
        return true;
    }
    if (kind == BRANCH) {
        if ((op->kind != TN_OP_if && op->kind != TN_OP_case) || which >= op->n_regions)
            return false;
        tn_region *r = &op->regions[which];
        tn_op *last = r->last;
        for (tn_op *o = r->first, *next; o != last; o = next) {
            next = o->next;
            tn_op_remove(o);
            tn_op_insert_before(op, o);
        }
        for (uint32_t i = 0; i < op->n_results; i++)
            tn_value_replace(&op->results[i], last->operands[i]);
        tn_op_remove(op);
        return true;
    }
    if (which) return false;
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_type *t = op->results[i].type;
        if (t->kind != TN_TYPE_TENSOR) continue;
        tn_value *by = NULL;
        if (kind == BY_OPERAND)
            for (uint32_t j = 0; j < op->n_operands && !by; j++)
                by = tn_type_equal(op->operands[j]->type, t) ? op->operands[j] : NULL;
        if (kind == BY_EARLIER) by = earlier(op, t, 0);
        if (kind == BY_EARLIER_2) by = earlier(op, t, 1);
        if (kind == BY_ZERO && op->kind != TN_OP_constant) by = zeros(m, op, t, 0);
        if (!by || by == &op->results[i]) continue;
        tn_value_replace(&op->results[i], by);
        changed = true;
    }
    return changed;
}

typedef struct {
    attempt *a;
    tn_module *m;
    uint32_t at;
} editing;

enum { SLOTS = 8 };

static void visit(tn_op *op, void *ctx)
{
    editing *e = ctx;
    uint32_t first = e->at;
    e->at += EDITS * SLOTS;
    if (e->a->edit < first || e->a->edit >= e->at || e->a->applied) return;
    uint32_t k = e->a->edit - first;
    e->a->applied = edit_op(e->m, op, k / SLOTS, k % SLOTS);
}

static bool drop_result(tn_module *m, uint32_t i)
{
    tn_op *ret = m->main->body.last;
    if (ret->n_operands < 2 || i >= ret->n_operands) return false;
    const tn_type *old = m->main->type;
    tn_type *t = tn_dup(m->arena, old, sizeof *t);
    const tn_type **parts = tn_dup(m->arena, old->parts, old->n_parts * sizeof *parts);
    for (uint32_t j = i; j + 1 < ret->n_operands; j++) {
        ret->operands[j] = ret->operands[j + 1];
        parts[t->n_inputs + j] = parts[t->n_inputs + j + 1];
    }
    ret->n_operands--;
    t->n_parts--;
    t->parts = parts;
    m->main->type = t;
    for (uint32_t j = 0; j < t->n_inputs; j++) m->main->arg_attrs[j] = NULL;
    return true;
}

/* Results carried by a loop that nobody needs are taken away by passing them through. */
static bool edit_signature(tn_module *m, uint32_t edit)
{
    if (edit < 16) return drop_result(m, edit);
    uint32_t arg = edit - 16;
    if (arg >= m->main->body.n_args || !m->main->arg_attrs || !m->main->arg_attrs[arg])
        return false;
    m->main->arg_attrs[arg] = NULL;
    return true;
}

enum { SIGNATURE_EDITS = 32 };

static tn_status *try(void *ctx)
{
    attempt *a = ctx;
    tn_module *m;
    TN_TRY(tn_read_text(a->source.text, a->source.size, a->arena, &m));
    editing e = {a, m, SIGNATURE_EDITS};
    if (a->edit < SIGNATURE_EDITS) a->applied = edit_signature(m, a->edit);
    each(m, visit, &e);
    a->n_ops = e.at;
    if (!a->applied) return NULL;
    drop_dead(m);
    TN_TRY(tn_module_verify(m));
    const char *text = tn_module_print(m, a->arena, &a->size);
    a->text = malloc(a->size + 1);
    memcpy(a->text, text, a->size + 1);
    return NULL;
}

char *values_shrink(const values_source *s, values_verdict verdict, size_t *size)
{
    char *best = values_text(s, size);
    if (!best) return NULL;
    values_source source = {s->seed, best, *size};
    if (values_check_apart(&source, NULL) != verdict)
        return best; /* the text alone does not do it */
    bool better = true;
    for (uint32_t round = 0; better && round < 8; round++) {
        better = false;
        uint32_t end = SIGNATURE_EDITS + 1;
        for (uint32_t edit = 0; edit < end; edit++) {
            attempt a = {.source = source, .edit = edit, .arena = tn_arena_new()};
            tn_status *status = tn_arena_run(a.arena, try, &a);
            tn_arena_free(a.arena);
            if (!status && a.n_ops) end = a.n_ops;
            tn_status_free(status);
            if (!a.text) continue;
            values_source smaller = {s->seed, a.text, a.size};
            bool changed = a.size != source.size || memcmp(a.text, source.text, a.size);
            if (changed && a.size <= source.size + 64 &&
                values_check_apart(&smaller, NULL) == verdict) {
                better |= a.size < source.size;
                free(best);
                best = a.text;
                source = smaller;
                if (edit >= SIGNATURE_EDITS) edit -= 1; /* what stands there now */
            } else free(a.text);
        }
    }
    *size = source.size;
    return best;
}
