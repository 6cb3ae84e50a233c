/* SPDX-License-Identifier: Apache-2.0 */
/* Loops, branches, calls, tuples. */
#include <string.h>

#include "test/values/generate.h"

static const tn_type *scalar(values_gen *g, tn_element_type e)
{
    return tn_type_tensor(g->arena, e, 0, NULL);
}

static tn_value *integer(values_gen *g, int32_t v)
{
    return values_constant_of(g, scalar(g, TN_I32), &v);
}

static tn_value *less(values_gen *g, tn_value *x, tn_value *y)
{
    tn_op *op = values_op(g, TN_OP_compare, 2, (tn_value *[]){x, y}, 1, 0);
    values_set_int(g, op, TN_ATTR_comparison_direction, TN_comparison_direction_LT);
    op->results[0].type = scalar(g, TN_I1);
    return &op->results[0];
}

/* A counter up to a few trips, and carried values, which the body may keep, swap and drop. */
static void loop(values_gen *g)
{
    tn_value *v[6] = {integer(g, 0)};
    uint32_t n = 1 + below(g, 6), seen = g->n;
    for (uint32_t i = 1; i < n; i++) v[i] = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    const tn_type *types[6];
    for (uint32_t i = 0; i < n; i++) types[i] = v[i]->type;
    tn_op *op = values_op(g, TN_OP_while, n, v, n, 2);
    seen = g->n;
    g->depth++;
    tn_region *outer = values_enter(g, op, 0, types, n);
    if (one_in(g, 4)) values_ops(g, 2);
    tn_value *go = less(g, &g->region->args[0], integer(g, (int32_t)below(g, 5)));
    if (one_in(g, 6)) {
        tn_value *other = values_like(g, scalar(g, TN_I1));
        tn_op *both = values_op(g, TN_OP_and, 2, (tn_value *[]){go, other}, 1, 0);
        both->results[0].type = go->type;
        go = &both->results[0];
    }
    values_return(g, 1, &go);
    g->n = seen;
    values_enter(g, op, 1, types, n);
    values_ops(g, 1 + below(g, 9));
    tn_region *body = g->region;
    tn_op *next = values_op(g, TN_OP_add, 2, (tn_value *[]){&body->args[0], integer(g, 1)}, 1, 0);
    next->results[0].type = types[0];
    tn_value *results[6] = {&next->results[0]};
    for (uint32_t i = 1; i < n; i++) results[i] = values_like(g, types[i]);
    values_return(g, n, results);
    g->region = outer;
    g->n = seen;
    g->depth--;
    values_finish(g, op);
}

static void branch(values_gen *g)
{
    bool is_if = below(g, 2);
    tn_value *choice = values_like(g, scalar(g, is_if ? TN_I1 : TN_I32));
    const tn_type *types[3];
    uint32_t n = below(g, 4), n_regions = is_if ? 2 : 1 + below(g, 3);
    for (uint32_t i = 0; i < n; i++) types[i] = values_pick(g, ANY_CLASS, 0, VALUES_DIMS)->type;
    tn_op *op = values_op(g, is_if ? TN_OP_if : TN_OP_case, 1, &choice, n, n_regions);
    uint32_t seen = g->n;
    g->depth++;
    for (uint32_t r = 0; r < n_regions; r++) {
        tn_region *outer = values_enter(g, op, r, NULL, 0);
        values_ops(g, below(g, 6));
        tn_value *results[3];
        for (uint32_t i = 0; i < n; i++) results[i] = values_like(g, types[i]);
        values_return(g, n, results);
        g->region = outer;
        g->n = seen;
    }
    g->depth--;
    values_finish(g, op);
}

static void call(values_gen *g)
{
    uint32_t nth = g->n_functions ? below(g, g->n_functions) : 0;
    tn_function *f = g->module->functions;
    if (!g->n_functions || f == g->function) return;
    for (uint32_t i = 0; i < nth; i++) f = f->next;
    tn_value *v[8];
    for (uint32_t i = 0; i < f->type->n_inputs; i++) v[i] = values_like(g, f->type->parts[i]);
    bool composite = one_in(g, 4);
    tn_op *op = values_op(g, composite ? TN_OP_composite : TN_OP_call, f->type->n_inputs, v,
                          f->type->n_parts - f->type->n_inputs, 0);
    tn_op_set_attr(g->module, op, composite ? TN_ATTR_decomposition : TN_ATTR_callee,
                   tn_attr_string(g->arena, f->name, strlen(f->name)));
    if (composite) {
        tn_op_set_attr(g->module, op, TN_ATTR_name, tn_attr_string(g->arena, "test.f", 6));
        values_set_int(g, op, TN_ATTR_version, 1);
    }
    values_finish(g, op);
}

static void tuple(values_gen *g)
{
    tn_value *v[3];
    uint32_t n = 1 + below(g, 3);
    for (uint32_t i = 0; i < n; i++) v[i] = values_pick(g, ANY_CLASS, 0, VALUES_DIMS);
    tn_op *op = values_op(g, TN_OP_tuple, n, v, 1, 0);
    if (!values_finish(g, op)) return;
    tn_value *t = &op->results[0];
    tn_op *element = values_op(g, TN_OP_get_tuple_element, 1, &t, 1, 0);
    values_set_int(g, element, TN_ATTR_index, below(g, n));
    values_finish(g, element);
}

void values_control(values_gen *g)
{
    switch (below(g, g->depth < 3 ? 9 : 4)) {
    case 0:
    case 1:
    case 2: call(g); break;
    case 3:
        if (one_in(g, 30)) tuple(g); /* the interpreter has none */
        break;
    case 4:
    case 5:
    case 6: loop(g); break;
    default: branch(g); break;
    }
}
