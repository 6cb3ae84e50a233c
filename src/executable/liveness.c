/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/plan.h"

static bool holds(const tn_loop *l, uint32_t item)
{
    return l->first <= item && item <= l->last;
}

/* A use inside of a loop that the root doesn't belong to comes again with every iteration. */
static uint32_t last_use(const tn_plan *p, const tn_root *r, uint32_t item)
{
    uint32_t end = 2 * item;
    for (uint32_t l = p->items[item].loop; !holds(&p->loops[l], r->anchor); l = p->loops[l].parent)
        end = 2 * p->loops[l].last + 1;
    return end;
}

static void use(tn_plan *p, const tn_value *v, uint32_t item)
{
    uint32_t root = tn_plan_root(p, v);
    if (root == TN_NO_ROOT) return;
    tn_root *r = &p->roots[root];
    if (r->place == TN_PLACE_FIXED) return;
    uint32_t end = last_use(p, r, item), i = r->n_segments - 1;
    while (i > 0 && r->segments[i].start >= 2 * item) i--;
    if (r->segments[i].end < end) r->segments[i].end = end;
}

static void use_op(tn_plan *p, const tn_item *item, uint32_t at)
{
    const tn_op *op = item->op;
    for (uint32_t i = 0; i < op->n_operands; i++) use(p, op->operands[i], at);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (uint32_t j = 0; j < item->bodies[i]->n_captures; j++)
            use(p, item->bodies[i]->captures[j], at);
}

void tn_plan_liveness(tn_plan *p)
{
    for (uint32_t at = 0; at < p->n_items; at++) {
        const tn_item *item = &p->items[at];
        switch (item->kind) {
        case TN_ITEM_OP: use_op(p, item, at); break;
        case TN_ITEM_TILE:
            for (uint32_t i = 0; i < item->tile->n_inputs; i++)
                use(p, item->tile->inputs[i].value, at);
            break;
        case TN_ITEM_ROWS:
            for (uint32_t i = 0; i < item->rows->n_inputs; i++)
                use(p, item->rows->values[item->rows->inputs[i]].value, at);
            break;
        case TN_ITEM_NATIVE:
            for (uint32_t i = 0; i < item->native->n_ports; i++)
                if (item->native->ports[i]) use(p, item->native->ports[i], at);
            break;
        case TN_ITEM_MOVES:
            for (uint32_t i = 0; i < item->n; i++) use(p, p->moves[item->first + i].from, at);
            break;
        case TN_ITEM_BRANCH:
        case TN_ITEM_SWITCH: use(p, item->value, at); break;
        case TN_ITEM_START:
        case TN_ITEM_JUMP:
        case TN_ITEM_END: break;
        }
    }
}
