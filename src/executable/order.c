/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - clusters that give less memory than they are the last to read run as soon as they can:
 * what an optimizer wants of a gradient is done before the next gradient is made. */
#include "executable/plan.h"

typedef struct {
    tn_plan *p;
    const tn_cluster *list;
    uint32_t at;                         /* the cluster at hand */
    uint32_t *made, *read, *last_reader; /* [n_values]: 1 + a place in the new order; the last one
                                            of the old order, plus 1 */
    uint32_t after;                      /* the place behind which it may run */
    size_t ends, begins;                 /* bytes */
    const tn_region *region;
} ordering;

typedef void visit_fn(ordering *o, const tn_value *v);

static void visit_op(ordering *o, const tn_op *op, visit_fn *visit)
{
    for (uint32_t i = 0; i < op->n_operands; i++) visit(o, op->operands[i]);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *x = op->regions[i].first; x; x = x->next) visit_op(o, x, visit);
}

static void visit_reads(ordering *o, const tn_cluster *k, visit_fn *visit)
{
    if (k->tile)
        for (uint32_t i = 0; i < k->tile->n_inputs; i++) visit(o, k->tile->inputs[i].value);
    else if (k->rows)
        for (uint32_t i = 0; i < k->rows->n_inputs; i++)
            visit(o, k->rows->values[k->rows->inputs[i]].value);
    else visit_op(o, k->op, visit);
}

static void visit_gives(ordering *o, const tn_cluster *k, visit_fn *visit)
{
    if (k->tile)
        for (uint32_t i = 0; i < k->tile->n_outputs; i++) visit(o, k->tile->outputs[i].value);
    else if (k->rows)
        for (uint32_t i = 0; i < k->rows->n_outputs; i++)
            visit(o, k->rows->values[k->rows->outputs[i]].value);
    else
        for (uint32_t i = 0; i < k->op->n_results; i++) visit(o, &k->op->results[i]);
}

/* What was defined outside is there, and stays. */
static bool is_outside(const ordering *o, const tn_value *v)
{
    return v->region != o->region;
}

static void note_last(ordering *o, const tn_value *v)
{
    if (!is_outside(o, v)) o->last_reader[tn_cluster_source(v)->id] = o->at + 1;
}

/* Is its memory free when nobody reads it any more? */
static bool may_end(const ordering *o, const tn_value *v)
{
    if (is_outside(o, v)) return false;
    if (v->op) return v->op->kind != TN_OP_constant;
    return o->region == &o->p->main->body && o->p->aliases[v->index] >= 0;
}

static void weigh_read(ordering *o, const tn_value *v)
{
    if (is_outside(o, v)) return;
    const tn_value *from = tn_cluster_source(v);
    bool ends = o->last_reader[from->id] == o->at + 1 && may_end(o, from);
    uint32_t behind[] = {o->made[v->id], o->made[from->id], ends ? o->read[from->id] : 0};
    for (int i = 0; i < 3; i++)
        if (behind[i] > o->after) o->after = behind[i];
    if (ends) o->ends += tn_type_bytes(from->type);
}

static void weigh_given(ordering *o, const tn_value *v)
{
    o->begins += tn_type_bytes(v->type);
}

static void note_read(ordering *o, const tn_value *v)
{
    if (is_outside(o, v)) return;
    uint32_t *place = &o->read[tn_cluster_source(v)->id];
    if (o->after > *place) *place = o->after;
}

static void note_made(ordering *o, const tn_value *v)
{
    o->made[v->id] = o->after;
}

/* The clusters that run behind each place; those that stay are behind their own. */
typedef struct {
    uint32_t *first, *last, *next; /* 1 + a cluster, or 0 */
} queues;

static void put_behind(queues *q, uint32_t place, uint32_t cluster)
{
    if (q->last[place]) q->next[q->last[place] - 1] = cluster + 1;
    else q->first[place] = cluster + 1;
    q->last[place] = cluster + 1;
}

static bool may_move(ordering *o, const tn_cluster *k)
{
    o->after = 0;
    o->ends = o->begins = 0;
    if (k->op) return false;
    visit_reads(o, k, weigh_read);
    visit_gives(o, k, weigh_given);
    return o->ends > o->begins && o->after < o->at;
}

void tn_plan_order(tn_plan *p, const tn_region *r, const tn_cluster **list, uint32_t n)
{
    ordering o = {.p = p, .list = *list, .region = r};
    bool any = false;
    for (uint32_t i = 0; i < n; i++) any |= !o.list[i].op;
    if (!any || n < 3) return;
    uint32_t n_values = p->module->n_values;
    if (!p->order) p->order = TN_NEW_ARRAY(p->arena, uint32_t, 3 * (size_t)n_values);
    o.made = p->order;
    o.read = o.made + n_values;
    o.last_reader = o.read + n_values;
    for (o.at = 0; o.at < n; o.at++) visit_reads(&o, &o.list[o.at], note_last);
    visit_op(&o, r->last, note_last);

    queues q = {TN_NEW_ARRAY(p->arena, uint32_t, n + 1), TN_NEW_ARRAY(p->arena, uint32_t, n + 1),
                TN_NEW_ARRAY(p->arena, uint32_t, n)};
    bool changed = false;
    for (o.at = 0; o.at < n; o.at++) {
        const tn_cluster *k = &o.list[o.at];
        if (may_move(&o, k)) {
            put_behind(&q, o.after, o.at);
            changed = true;
        } else {
            o.after = o.at + 1;
        }
        visit_reads(&o, k, note_read);
        visit_gives(&o, k, note_made);
    }
    if (!changed) return;
    tn_cluster *out = TN_NEW_ARRAY(p->arena, tn_cluster, n);
    bool *moves = TN_NEW_ARRAY(p->arena, bool, n);
    uint32_t n_out = 0;
    for (uint32_t place = 0; place <= n; place++) {
        if (place && !moves[place - 1]) out[n_out++] = o.list[place - 1];
        for (uint32_t k = q.first[place]; k; k = q.next[k - 1]) {
            out[n_out++] = o.list[k - 1];
            moves[k - 1] = true;
        }
    }
    *list = out;
}
