/* SPDX-License-Identifier: Apache-2.0 */
/* untuple - every value of a tuple type becomes the values in it, also those that a function, a
 * region or an op takes and gives.
 *
 * Before:  main(%t: tuple<A, B>) { %a = get_tuple_element %t[0]
 *          %u = while(%v = %t) ...   return %u }
 * After:   main(%t0: A, %t1: B) { %u0, %u1 = while(%v0 = %t0, %v1 = %t1) ...   return %u0, %u1 }
 * Source:  PJRT has no tuples: executables take and give their leaves, in order. */
#include <string.h>

#include "ops/ops.h"
#include "passes/rewrite.h"

/* What became of a tuple. */
typedef struct {
    tn_value **values;
    uint32_t n;
} leaves;

typedef struct {
    tn_module *m;
    leaves *of; /* by the id of the tuple */
} untupler;

static bool is_tuple(const tn_type *t)
{
    return t->kind == TN_TYPE_TUPLE;
}

static uint32_t count(const tn_type *t)
{
    if (!is_tuple(t)) return 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_parts; i++) n += count(t->parts[i]);
    return n;
}

static const tn_type **put_types(const tn_type *t, const tn_type **out)
{
    if (!is_tuple(t)) {
        *out = t;
        return out + 1;
    }
    for (uint32_t i = 0; i < t->n_parts; i++) out = put_types(t->parts[i], out);
    return out;
}

static bool has_tuples(const tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++)
        if (is_tuple(r->args[i].type)) return true;
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_results; i++)
            if (is_tuple(op->results[i].type)) return true;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (has_tuples(&op->regions[i])) return true;
    }
    return false;
}

/* Lets `v` be replaced by the next of the new values. */
static tn_value *stand_for(untupler *u, tn_value *v, tn_value *fresh)
{
    if (!is_tuple(v->type)) {
        tn_value_replace(v, fresh);
        return fresh + 1;
    }
    uint32_t n = count(v->type);
    u->of[v->id] = (leaves){TN_NEW_ARRAY(u->m->arena, tn_value *, n), n};
    for (uint32_t i = 0; i < n; i++) u->of[v->id].values[i] = &fresh[i];
    return fresh + n;
}

/* New values of the leaf types of n old ones. */
static tn_value *spread(untupler *u, tn_value *old, uint32_t n, uint32_t *total)
{
    *total = 0;
    for (uint32_t i = 0; i < n; i++) *total += count(old[i].type);
    const tn_type **types = TN_NEW_ARRAY(u->m->arena, const tn_type *, *total), **end = types;
    for (uint32_t i = 0; i < n; i++) end = put_types(old[i].type, end);
    tn_value *fresh = TN_NEW_ARRAY(u->m->arena, tn_value, *total), *at = fresh;
    for (uint32_t i = 0; i < *total; i++)
        fresh[i] = (tn_value){
            .type = types[i], .op = old->op, .region = old->region, .index = i, .id = UINT32_MAX};
    for (uint32_t i = 0; i < n; i++) at = stand_for(u, &old[i], at);
    return fresh;
}

static void spread_operands(untupler *u, tn_op *op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) n += count(op->operands[i]->type);
    if (n == op->n_operands) {
        bool any = false;
        for (uint32_t i = 0; i < n; i++) any = any || is_tuple(op->operands[i]->type);
        if (!any) return;
    }
    tn_value **all = TN_NEW_ARRAY(u->m->arena, tn_value *, n), **at = all;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        tn_value *v = op->operands[i];
        if (!is_tuple(v->type)) {
            *at++ = v;
            continue;
        }
        const leaves *l = &u->of[v->id];
        if (l->n) memcpy(at, l->values, l->n * sizeof *at);
        at += l->n;
    }
    op->operands = all;
    op->n_operands = n;
}

static void spread_results(untupler *u, tn_op *op)
{
    bool any = false;
    for (uint32_t i = 0; i < op->n_results; i++) any = any || is_tuple(op->results[i].type);
    if (any) op->results = spread(u, op->results, op->n_results, &op->n_results);
}

static void make_tuple(untupler *u, tn_op *op)
{
    spread_operands(u, op);
    u->of[op->results[0].id] = (leaves){op->operands, op->n_operands};
    tn_op_remove(op);
}

static void take_element(untupler *u, tn_op *op)
{
    const tn_value *v = op->operands[0];
    uint32_t first = 0, index = (uint32_t)tn_op_int(op, TN_ATTR_index, 0);
    for (uint32_t i = 0; i < index; i++) first += count(v->type->parts[i]);
    const leaves *l = &u->of[v->id];
    tn_value *element = &op->results[0];
    if (is_tuple(element->type))
        u->of[element->id] = (leaves){l->values + first, count(element->type)};
    else tn_value_replace(element, l->values[first]);
    tn_op_remove(op);
}

/* Layouts are of the operands and results as they were. */
static void forget_layouts(tn_module *m, tn_op *op)
{
    static const tn_attr_name names[] = {TN_ATTR_operand_layouts, TN_ATTR_result_layouts};
    tn_attr *none = TN_NEW(m->arena, tn_attr);
    none->kind = TN_ATTR_KIND_LIST;
    for (int i = 0; i < 2; i++) tn_op_set_attr(m, op, names[i], none);
}

static tn_status *walk(untupler *u, tn_region *r)
{
    bool any = false;
    for (uint32_t i = 0; i < r->n_args; i++) any = any || is_tuple(r->args[i].type);
    if (any) r->args = spread(u, r->args, r->n_args, &r->n_args);
    for (tn_op *op = r->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        if (op->kind == TN_OP_tuple) {
            make_tuple(u, op);
            continue;
        }
        if (op->kind == TN_OP_get_tuple_element) {
            take_element(u, op);
            continue;
        }
        uint32_t n = op->n_operands, k = op->n_results;
        spread_operands(u, op);
        spread_results(u, op);
        for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(walk(u, &op->regions[i]));
        if (op->kind != TN_OP_custom_call || (n == op->n_operands && k == op->n_results)) continue;
        forget_layouts(u->m, op);
        TN_TRY(tn_op_verify(op, u->m->arena)); /* its target could not be asked before */
    }
    return NULL;
}

/* Attributes of a tuple are those of each of its leaves. */
static const tn_attr **spread_attrs(tn_module *m, const tn_attr **attrs,
                                    const tn_type *const *types, uint32_t n)
{
    if (!attrs) return NULL;
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) total += count(types[i]);
    const tn_attr **out = TN_NEW_ARRAY(m->arena, const tn_attr *, total);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = count(types[i]); k > 0; k--) out[at++] = attrs[i];
    return out;
}

static tn_status *spread_function(untupler *u, tn_function *f)
{
    const tn_type *old = f->type;
    TN_TRY(walk(u, &f->body));
    uint32_t n_inputs = f->body.n_args, n = n_inputs + f->body.last->n_operands;
    const tn_type **parts = TN_NEW_ARRAY(u->m->arena, const tn_type *, n);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = i < n_inputs ? f->body.args[i].type : f->body.last->operands[i - n_inputs]->type;
    tn_type *type = TN_NEW(u->m->arena, tn_type);
    *type = (tn_type){.kind = TN_TYPE_FUNCTION, .n_parts = n, .n_inputs = n_inputs, .parts = parts};
    if (!old) return NULL; /* built by hand */
    f->arg_attrs = spread_attrs(u->m, f->arg_attrs, old->parts, old->n_inputs);
    f->result_attrs = spread_attrs(u->m, f->result_attrs, old->parts + old->n_inputs,
                                   old->n_parts - old->n_inputs);
    f->type = type;
    return NULL;
}

tn_status *tn_pass_untuple(tn_module *m, bool *changed)
{
    bool any = false;
    for (tn_function *f = m->functions; f; f = f->next) any = any || has_tuples(&f->body);
    if (!any) return NULL;
    tn_module_number(m);
    untupler u = {m, TN_NEW_ARRAY(m->arena, leaves, m->n_values)};
    for (tn_function *f = m->functions; f; f = f->next) TN_TRY(spread_function(&u, f));
    *changed = true;
    return NULL;
}
