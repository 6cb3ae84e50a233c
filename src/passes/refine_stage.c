/* SPDX-License-Identifier: Apache-2.0 */
/* refine_stage.c - which values sizes depend on, and the program that computes them.
 *
 * An op is ready when it and all that it is computed from have no effect and types that are known,
 * and no argument of a loop or branch is among that. What is asked for is not the shape operand
 * itself but the values that it is put together from: they are fewer, and most often arguments. */
#include <string.h>

#include "ir/functions.h"
#include "passes/refine.h"
#include "passes/rewrite.h"

enum { NOT_READY, READY, NEEDED };

/* --- what is ready --- */

static bool is_ready(const tn_module *m, const tn_value *v)
{
    if (v->op) return v->op->mark != NOT_READY;
    return v->region == &m->main->body && tn_type_is_static(v->type);
}

static bool is_within(const tn_op *op, const tn_value *v)
{
    for (const tn_region *r = v->region; r && r->parent; r = r->parent->region)
        if (r->parent == op) return true;
    return false;
}

static bool has_known_types(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!tn_type_is_static(op->results[i].type)) return false;
    return !tn_op_has_effect(op);
}

/* The ops in `r`, a region of `top`, and what they take from outside of it. */
static bool nest_is_ready(const tn_module *m, const tn_op *top, const tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++)
        if (!tn_type_is_static(r->args[i].type)) return false;
    for (const tn_op *op = r->first; op; op = op->next) {
        if (!has_known_types(op)) return false;
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (!is_within(top, op->operands[i]) && !is_ready(m, op->operands[i])) return false;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (!nest_is_ready(m, top, &op->regions[i])) return false;
    }
    return true;
}

static void mark_ready(const tn_module *m, tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = 0;
    for (tn_op *op = r->first; op; op = op->next) {
        op->mark = NOT_READY;
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = 0;
        for (uint32_t i = 0; i < op->n_regions; i++) mark_ready(m, &op->regions[i]);
        bool ready = has_known_types(op) && !tn_op_has_trait(op, TN_TRAIT_TERMINATOR);
        for (uint32_t i = 0; i < op->n_operands && ready; i++) ready = is_ready(m, op->operands[i]);
        for (uint32_t i = 0; i < op->n_regions && ready; i++)
            ready = nest_is_ready(m, op, &op->regions[i]);
        if (ready) op->mark = READY;
    }
}

/* --- what is wanted --- */

typedef struct {
    tn_module *m;
    tn_value **values;
    uint32_t n, capacity;
    tn_value **work;
    uint32_t n_work, work_capacity;
} list;

static void push(tn_module *m, tn_value ***values, uint32_t *n, uint32_t *capacity, tn_value *v)
{
    if (*n == *capacity) {
        tn_value **old = *values;
        *capacity = *capacity ? *capacity * 2 : 16;
        *values = TN_NEW_ARRAY(m->arena, tn_value *, *capacity);
        if (old) memcpy(*values, old, *n * sizeof *old);
    }
    (*values)[(*n)++] = v;
}

/* Ops whose result says as much as their operands that are no constants: then those are asked for,
 * and the op is computed once they are known. */
static bool is_transparent(const tn_op *op, bool condition)
{
    switch (op->kind) {
    /* What decides about going on is asked for anew each time, what it is compared with is not. */
    case TN_OP_compare: return condition && tn_is_integer(op->operands[0]->type->element);
    case TN_OP_and:
    case TN_OP_or:
    case TN_OP_not: return condition;
    case TN_OP_reshape:
    case TN_OP_concatenate: return true;
    case TN_OP_broadcast_in_dim: return tn_type_elements(op->results[0].type) <= 64;
    case TN_OP_convert:
        return tn_is_integer(op->operands[0]->type->element) &&
               tn_is_integer(op->results[0].type->element);
    case TN_OP_add:
    case TN_OP_subtract:
    case TN_OP_multiply:
        return tn_is_integer(op->results[0].type->element) &&
               (tn_constant_of(op->operands[0]) || tn_constant_of(op->operands[1]));
    default: return false;
    }
}

/* Asks for `v`, or for what it is put together from. */
static void want(list *l, tn_value *v, bool condition)
{
    push(l->m, &l->work, &l->n_work, &l->work_capacity, v);
    while (l->n_work) {
        v = l->work[--l->n_work];
        if (v->id || tn_constant_of(v)) continue;
        v->id = 1;
        if (!v->op || !is_transparent(v->op, condition)) {
            push(l->m, &l->values, &l->n, &l->capacity, v);
            continue;
        }
        for (uint32_t i = v->op->n_operands; i-- > 0;)
            push(l->m, &l->work, &l->n_work, &l->work_capacity, v->op->operands[i]);
    }
}

void tn_refine_wanted(tn_module *m, const tn_unsized *open, uint32_t n_open, tn_value ***out,
                      uint32_t *n)
{
    mark_ready(m, &m->main->body);
    list l = {.m = m};
    for (uint32_t k = 0; k < n_open; k++) {
        const tn_op *op = open[k].op;
        for (uint32_t i = 0; i < op->n_operands; i++)
            if ((open[k].branches ? i == 0 : tn_refine_needs_value(op, i)) &&
                is_ready(m, op->operands[i]))
                want(&l, op->operands[i], tn_refine_is_peeled(op));
    }
    *out = l.values;
    *n = l.n;
}

/* --- the stage --- */

static void need_from_outside(list *l, const tn_op *top, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (!is_within(top, op->operands[i]))
                push(l->m, &l->work, &l->n_work, &l->work_capacity, op->operands[i]);
        for (uint32_t i = 0; i < op->n_regions; i++) need_from_outside(l, top, &op->regions[i]);
    }
}

/* Marks what is needed to compute `v`. */
static void need(list *l, tn_value *v)
{
    push(l->m, &l->work, &l->n_work, &l->work_capacity, v);
    while (l->n_work) {
        v = l->work[--l->n_work];
        if (!v->op) {
            v->id = NEEDED;
            continue;
        }
        if (v->op->mark == NEEDED) continue;
        v->op->mark = NEEDED;
        for (uint32_t i = 0; i < v->op->n_operands; i++)
            push(l->m, &l->work, &l->n_work, &l->work_capacity, v->op->operands[i]);
        for (uint32_t i = 0; i < v->op->n_regions; i++)
            need_from_outside(l, v->op, &v->op->regions[i]);
    }
}

static void copy_needed(tn_module *m, const tn_region *from, tn_region *to, tn_value_map *map)
{
    for (const tn_op *op = from->first; op; op = op->next) {
        if (op->mark == NEEDED) {
            tn_op_append(to, tn_op_clone(m, op, map));
            continue;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) copy_needed(m, &op->regions[i], to, map);
    }
}

void tn_refine_cut(tn_module *m, tn_value *const *wanted, uint32_t n, tn_refinement *r)
{
    list l = {.m = m};
    tn_function *old = m->main;
    for (uint32_t i = 0; i < n; i++) need(&l, wanted[i]);

    uint32_t *taken = TN_NEW_ARRAY(m->arena, uint32_t, old->body.n_args);
    r->n_taken = 0;
    for (uint32_t i = 0; i < old->body.n_args; i++)
        if (old->body.args[i].id == NEEDED) taken[r->n_taken++] = i;
    r->taken = taken;

    tn_function **at = &m->functions;
    m->last_function = NULL;
    for (tn_function *f = m->functions; f; f = f->next) {
        if (f == old) continue;
        *at = m->last_function = f;
        at = &f->next;
    }
    *at = NULL;
    tn_module_index_functions(m);
    tn_function *f = m->main = tn_module_add_function(m, old->name, NULL);
    f->is_public = true;
    f->location = old->location;
    tn_region_init(m, &f->body, f, NULL, r->n_taken);
    tn_value_map *map = tn_value_map_new(m->arena, 64);
    for (uint32_t i = 0; i < r->n_taken; i++) {
        f->body.args[i].type = old->body.args[taken[i]].type;
        tn_value_map_set(map, &old->body.args[taken[i]], &f->body.args[i]);
    }
    copy_needed(m, &old->body, &f->body, map);
    tn_op *last = tn_op_new(m, TN_OP_return, n, 0, 0);
    for (uint32_t i = 0; i < n; i++) last->operands[i] = tn_value_map_get(map, wanted[i]);
    tn_op_append(&f->body, last);
    tn_region_put_in(&f->body, f);
}
