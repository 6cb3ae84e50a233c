/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - in loops dynamic slices that are one piece of memory are read where they are, and
 * what an update in place would put into a tensor is computed there.
 *
 * A window has a base of its own, which a step finds at each turn: in place of the slice, or in
 * front of what computes the update. Nobody else may use a window's memory in place of other. */
#include "executable/plan.h"
#include "executable/small.h"
#include "ops/access.h"

enum { READ_ALIGN = 16, WRITE_ALIGN = 64 };

static bool is_aligned(const tn_window *w, int64_t to)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->at[i].stride % to) return false;
    return true;
}

/* What comes from outside of the loop stays as it is until the loop ends. */
static bool is_from_outside(const tn_op *op, const tn_value *v)
{
    for (const tn_region *r = op->region; r->parent; r = r->parent->region) {
        if (v->region == r) return false;
        if (r->parent->kind == TN_OP_while) return r == &r->parent->regions[1];
    }
    return false;
}

bool tn_plan_may_look(const tn_plan *p, const tn_op *op)
{
    if (op->kind != TN_OP_dynamic_slice || !is_from_outside(op, op->operands[0])) return false;
    const tn_value *from = op->operands[0];
    uint64_t view = p->view_of[from->id];
    if (tn_plan_root(p, from) == TN_NO_ROOT || (view && (view - 1) % READ_ALIGN)) return false;
    if (tn_plan_goes_outside(p, &op->results[0])) return false;
    const tn_window *w = tn_window_of(op, p->arena);
    return w && is_aligned(w, READ_ALIGN);
}

/* The item that computes what is put into the window, if that can be done there; else 0. */
static uint32_t find_maker(const tn_plan *p, uint32_t at)
{
    const tn_op *op = p->items[at].op, *loop = op->region->parent;
    const tn_value *into = op->operands[0], *part = op->operands[1], *out = &op->results[0];
    if (!loop || loop->kind != TN_OP_while || op->region != &loop->regions[1]) return 0;
    /* Nobody looks at the tensor between the two, or changes it afterwards. */
    if (into->op || into->region != op->region || tn_plan_uses(p, into) != 1) return 0;
    if (tn_plan_uses(p, out) != 1 || op->region->last->operands[into->index] != out) return 0;
    uint32_t whole = tn_plan_root(p, into), root = tn_plan_root(p, part);
    if (whole == TN_NO_ROOT || root == TN_NO_ROOT || p->view_of[part->id]) return 0;
    if (tn_plan_class(p, whole) != tn_plan_class(p, tn_plan_root(p, out))) return 0;

    const tn_root *r = &p->roots[root];
    const tn_class *c = &p->classes[root];
    if (r->place != TN_PLACE_TEMP || c->merged != root || c->owns_segments) return 0;
    const tn_op *made_by = r->value ? r->value->op : NULL;
    if (!made_by || made_by->region != op->region || tn_plan_goes_outside(p, r->value)) return 0;
    if (tn_op_has_trait(made_by, TN_TRAIT_CONTROL | TN_TRAIT_SIDE_EFFECT | TN_TRAIT_COLLECTIVE) ||
        made_by->kind == TN_OP_custom_call)
        return 0;
    for (uint32_t i = 2; i < op->n_operands; i++) {
        uint32_t index = tn_plan_root(p, op->operands[i]);
        if (index == TN_NO_ROOT) return 0;
        if (p->roots[index].place != TN_PLACE_FIXED && p->roots[index].anchor >= r->anchor)
            return 0;
    }
    const tn_window *w = tn_window_of(op, p->arena);
    bool fits = w && w->bytes == r->bytes && w->bytes % WRITE_ALIGN == 0;
    return fits && is_aligned(w, WRITE_ALIGN) ? r->anchor : 0;
}

void tn_plan_find_windows(tn_plan *p)
{
    p->windows_before = TN_NEW_ARRAY(p->arena, uint32_t, p->n_items);
    for (uint32_t at = 0; at < p->n_items; at++) {
        const tn_op *op = p->items[at].op;
        if (p->items[at].kind != TN_ITEM_OP || op->kind != TN_OP_dynamic_update_slice) continue;
        uint32_t maker = find_maker(p, at);
        if (!maker) continue;
        uint32_t root = tn_plan_root(p, op->operands[1]);
        p->roots[root].place = p->classes[root].place = TN_PLACE_WINDOW;
        p->roots[root].index = p->classes[root].index = p->n_windows;
        tn_moving_window w = {op, p->windows_before[maker]};
        TN_PLAN_PUSH(p, p->windows, p->n_windows, p->window_capacity, w);
        p->windows_before[maker] = p->n_windows;
    }
}
