/* SPDX-License-Identifier: Apache-2.0 */
/* refine_peel.c - loops whose carried values change their shape, one iteration at a time.
 *
 * Before:  %r = while(%v = %x) { condition(%v) } do { return body(%v) }
 * After:   %c = condition(%x)
 *          %r = if %c { %y = body(%x)   %s = while(%v = %y) {..} do {..}   return %s }
 *               else { return %x }
 *
 * Once %c is known the `if` gives way to one of its regions, and the loop that was in it is looked
 * at in turn; it stays a loop from the iteration on in which no shape changes. */
#include <string.h>

#include "passes/refine.h"
#include "passes/rewrite.h"

static const char mark[] = "tenon.peeled";

bool tn_refine_is_peeled(const tn_op *op)
{
    return op->kind == TN_OP_if && tn_op_extra(op, mark);
}

static tn_value *mapped(const tn_value_map *map, tn_value *v)
{
    v = tn_value_resolve(v);
    tn_value *to = tn_value_map_get(map, v);
    return to ? to : v;
}

/* From the arguments of region i of the loop to the operands of `op`. */
static tn_value_map *begin(tn_module *m, const tn_op *again, uint32_t i, const tn_op *op)
{
    tn_value_map *map = tn_value_map_new(m->arena, 64);
    for (uint32_t k = 0; k < op->n_operands; k++)
        tn_value_map_set(map, &again->regions[i].args[k], op->operands[k]);
    return map;
}

static void end(tn_module *m, tn_region *r, uint32_t n, tn_value *const *values)
{
    tn_op *last = tn_op_new(m, TN_OP_return, n, 0, 0);
    if (n) memcpy(last->operands, values, n * sizeof *values);
    tn_op_append(r, last);
}

void tn_refine_peel(tn_module *m, tn_op *op, const tn_op *again)
{
    uint32_t n = op->n_operands;
    tn_function *f = op->region->function;
    const tn_region *condition = &again->regions[0], *body = &again->regions[1];

    tn_value_map *map = begin(m, again, 0, op);
    for (const tn_op *o = condition->first; o != condition->last; o = o->next) {
        tn_op *copy = tn_op_clone(m, o, map);
        tn_op_insert_before(op, copy);
        for (uint32_t i = 0; i < copy->n_regions; i++) tn_region_put_in(&copy->regions[i], f);
    }

    tn_op *choice = tn_op_new(m, TN_OP_if, 1, n, 2);
    choice->location = op->location;
    choice->operands[0] = mapped(map, condition->last->operands[0]);
    tn_named_attr *extra = TN_NEW(m->arena, tn_named_attr);
    *extra = (tn_named_attr){mark, tn_attr_bool(m->arena, true)};
    choice->extra = extra;
    choice->n_extra = 1;
    tn_op_insert_before(op, choice);
    for (uint32_t i = 0; i < 2; i++) tn_region_init(m, &choice->regions[i], f, choice, 0);

    tn_region *once = &choice->regions[0];
    map = begin(m, again, 1, op);
    for (const tn_op *o = body->first; o != body->last; o = o->next)
        tn_op_append(once, tn_op_clone(m, o, map));
    tn_op *rest = tn_op_clone(m, again, tn_value_map_new(m->arena, 16));
    tn_value **results = TN_NEW_ARRAY(m->arena, tn_value *, n);
    for (uint32_t i = 0; i < n; i++) {
        rest->operands[i] = mapped(map, body->last->operands[i]);
        results[i] = &rest->results[i];
        choice->results[i].type = again->results[i].type;
    }
    tn_op_append(once, rest);
    end(m, once, n, results);
    end(m, &choice->regions[1], n, op->operands);
    tn_region_put_in(once, f);
    for (uint32_t i = 0; i < n; i++) tn_value_replace(&op->results[i], &choice->results[i]);
    tn_op_remove(op);
}
