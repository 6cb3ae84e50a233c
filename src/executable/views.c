/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - slices that are one piece of their operand's memory are read where they are. */
#include "executable/plan.h"
#include "ops/access.h"
#include "ops/custom_call.h"

/* Of a value, together with all that is the same bytes under another type. Positions are numbers of
 * ops in order. */
struct tn_view_uses {
    uint32_t last;        /* use */
    uint32_t first_write; /* the first op that might be computed in place of it, or hands it on */
    uint32_t n;
    bool escapes; /* into a region inside, out of its own, or to code from outside */
    bool outside; /* to code from outside */
};

static bool hands_on(const tn_op *op)
{
    return tn_op_has_trait(op, TN_TRAIT_SAME_BYTES) || tn_is_relabelling(op);
}

static void note_use(struct tn_view_uses *uses, const tn_op *op, uint32_t i, uint32_t at)
{
    const tn_value *v = op->operands[i];
    struct tn_view_uses *u = &uses[v->id];
    u->n++;
    if (hands_on(op) && i < op->n_results) u->outside |= uses[op->results[i].id].outside;
    if (v->region == op->region && hands_on(op) && i < op->n_results) {
        const struct tn_view_uses *r = &uses[op->results[i].id];
        if (r->last > u->last) u->last = r->last;
        if (r->first_write < u->first_write) u->first_write = r->first_write;
        u->escapes |= r->escapes;
        return;
    }
    bool control = tn_op_has_trait(op, TN_TRAIT_CONTROL | TN_TRAIT_TERMINATOR);
    if (at > u->last) u->last = at;
    if (at < u->first_write && (control || tn_op_takes(op, i) >= 0)) u->first_write = at;
    u->outside |= op->kind == TN_OP_custom_call ||
                  tn_op_has_trait(op, TN_TRAIT_SIDE_EFFECT | TN_TRAIT_COLLECTIVE);
    u->escapes |= v->region != op->region || control || u->outside;
}

uint32_t tn_plan_uses(const tn_plan *p, const tn_value *v)
{
    return p->view_uses[v->id].n;
}

bool tn_plan_goes_outside(const tn_plan *p, const tn_value *v)
{
    return p->view_uses[v->id].outside;
}

static uint32_t count_ops(const tn_region *r)
{
    uint32_t n = 0;
    for (const tn_op *op = r->first; op; op = op->next) {
        n++;
        for (uint32_t i = 0; i < op->n_regions; i++) n += count_ops(&op->regions[i]);
    }
    return n;
}

/* Backwards: uses of results are known before those of operands. An op comes before its regions. */
static void find_uses(struct tn_view_uses *uses, const tn_region *r, uint32_t *at)
{
    for (const tn_op *op = r->last; op; op = op->prev) {
        for (uint32_t i = op->n_regions; i-- > 0;) find_uses(uses, &op->regions[i], at);
        --*at;
        for (uint32_t i = 0; i < op->n_operands; i++) note_use(uses, op, i, *at);
    }
}

void tn_plan_find_views(tn_plan *p)
{
    uint32_t n = p->module->n_values, at = count_ops(&p->main->body);
    p->view_of = TN_NEW_ARRAY(p->arena, uint64_t, n);
    p->view_uses = TN_NEW_ARRAY(p->arena, struct tn_view_uses, n);
    for (uint32_t i = 0; i < n; i++) p->view_uses[i].first_write = UINT32_MAX;
    find_uses(p->view_uses, &p->main->body, &at);
}

/* The bytes in front of the piece that a slice is, or -1. */
static int64_t offset_of_piece(const tn_op *op)
{
    const tn_type *whole = op->operands[0]->type, *part = op->results[0].type;
    uint32_t n;
    const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
    const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
    int64_t offset = 0;
    bool inside = false; /* a dimension in front has several places */
    for (uint32_t i = 0; i < n; i++) {
        if (inside && part->dims[i] != whole->dims[i]) return -1;
        if (part->dims[i] > 1 && stride[i] != 1) return -1;
        inside = inside || part->dims[i] != 1;
        offset += start[i] * tn_stride(whole, i);
    }
    return offset;
}

bool tn_plan_make_view(tn_plan *p, const tn_op *op)
{
    const tn_value *from = op->operands[0], *to = &op->results[0];
    if (op->kind != TN_OP_slice || from->region != op->region) {
        /* An argument of the program is in main's region, whichever reads it. */
        if (op->kind != TN_OP_slice || from->op || from->region != &p->main->body) return false;
    }
    uint32_t root = tn_plan_root(p, from);
    if (root == TN_NO_ROOT || p->view_of[from->id] || !tn_type_bytes(to->type)) return false;
    int64_t offset = offset_of_piece(op);
    if (offset < 0 || offset % 64) return false;
    const tn_value *whole = from;
    while (whole->op && hands_on(whole->op) && whole->region == op->region)
        whole = whole->op->operands[whole->index];
    const struct tn_view_uses *w = &p->view_uses[whole->id], *v = &p->view_uses[to->id];
    const tn_root *r = &p->roots[root];
    if (v->escapes) return false;
    if (r->place == TN_PLACE_TEMP || r->place == TN_PLACE_RESULT) {
        /* It must not keep others from working in place, nor much memory from being used again. */
        if (w->first_write <= v->last) return false;
        if (r->place == TN_PLACE_TEMP && w->last < v->last &&
            r->bytes > 2 * tn_type_bytes(to->type))
            return false;
    }
    p->root_of[to->id] = root;
    p->view_of[to->id] = (uint64_t)offset + 1;
    return true;
}
