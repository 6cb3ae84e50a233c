/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/groups.h"
#include "ops/elementwise.h"
#include "passes/rewrite.h"

/* JAX's backward passes want values that are cheap to make from what is kept anyway: 1 - t * t from
 * t, a mask from what it masks. Storing and loading them costs more than making them again. */
#define CHEAP_NS       1.0 /* an element */
#define BYTES_AT_LEAST 4096
#define COPIES_AT_MOST 8 /* for one value */

typedef struct {
    tn_groups *f;
    uint32_t *last_use; /* [n_values]: the last group that wants the value, plus 1 */
    uint32_t *held;     /* [n_values]: the last group, plus 1, that has a copy of its op */
    uint32_t at;        /* the group that is looked at */
    const tn_op *copies[COPIES_AT_MOST];
    uint32_t n_copies;
} search;

/* --- when values are wanted --- */

static void note_uses(search *s, const tn_op *op, uint32_t group)
{
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = tn_cluster_source(op->operands[i]);
        while (tn_is_mapped(s->f->c, v) && v->op->n_operands)
            v = tn_cluster_source(tn_map_source(v->op));
        if (s->last_use[v->id] < group + 1) s->last_use[v->id] = group + 1;
    }
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) note_uses(s, o, group);
}

static void find_last_uses(search *s)
{
    for (uint32_t i = 0; i < s->f->n_groups; i++) {
        const tn_group *g = &s->f->groups[i];
        if (g->single) note_uses(s, g->single, i);
        for (uint32_t j = 0; j < g->n_ops; j++) note_uses(s, g->ops[j].op, i);
    }
    note_uses(s, s->f->region->last, UINT32_MAX - 1);
}

/* --- what it would take to make a value again --- */

static bool is_local(const search *s, const tn_value *v)
{
    return v->op && v->op->region == s->f->region && v->op->mark >= s->f->first;
}

static bool is_cheap(const search *s, const tn_value *v)
{
    return is_local(s, v) && s->f->c->flags[v->id] & TN_VALUE_FUSABLE &&
           tn_elementwise_cost(v->op) < CHEAP_NS;
}

static bool is_there(const search *s, const tn_value *v)
{
    if (tn_constant_of(v)) return true;
    if (tn_is_mapped(s->f->c, v)) {
        if (!v->op->n_operands) return true;
        v = tn_cluster_source(tn_map_source(v->op));
        /* A map behind a map is read from memory. */
        if (tn_is_mapped(s->f->c, v)) return !is_local(s, v) || v->op->mark < s->f->first + s->at;
        return is_there(s, v);
    }
    if (is_local(s, v) && v->op->mark == s->f->first + s->at) return true;
    return s->held[v->id] == s->at + 1 || s->last_use[v->id] > s->at;
}

/* Bytes that have to be kept for longer so that `v` can be made again; its ops are added to the
 * copies, what they want first. Those of small operands don't count. */
static size_t cost_of_copy(search *s, const tn_value *v, uint32_t depth)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < v->op->n_operands; i++) {
        const tn_value *x = tn_cluster_source(v->op->operands[i]);
        if (is_there(s, x)) continue;
        for (uint32_t j = 0; j < s->n_copies; j++)
            if (s->copies[j] == x->op) goto next;
        if (tn_is_mapped(s->f->c, x)) x = tn_cluster_source(tn_map_source(x->op));
        uint32_t before = s->n_copies;
        size_t kept = tn_type_bytes(x->type), copied = SIZE_MAX;
        if (depth < 4 && is_cheap(s, x) && tn_type_elements(x->type) == tn_type_elements(v->type) &&
            s->n_copies + 1 < COPIES_AT_MOST)
            copied = cost_of_copy(s, x, depth + 1);
        if (copied >= kept) s->n_copies = before;
        bytes += copied < kept ? copied : kept;
    next:;
    }
    if (s->n_copies == COPIES_AT_MOST) return SIZE_MAX / 2;
    s->copies[s->n_copies++] = v->op;
    return bytes;
}

/* Is `v` what another group stores for this one and later ones alone, and worth making again? */
static bool is_worth_it(search *s, const tn_value *v)
{
    if (!is_cheap(s, v) || v->op->mark == s->f->first + s->at || s->held[v->id] == s->at + 1)
        return false;
    if (s->f->c->flags[v->id] & TN_VALUE_WANTED || tn_type_bytes(v->type) < BYTES_AT_LEAST)
        return false;
    s->n_copies = 0;
    size_t cost = cost_of_copy(s, v, 0);
    if (cost >= tn_type_bytes(v->type)) return false;
    uint32_t weight = 0;
    for (uint32_t i = 0; i < s->n_copies; i++) weight += tn_group_weight(s->f, s->copies[i]);
    return s->f->groups[s->at].weight + weight <= tn_group_limit(s->f);
}

/* --- copying --- */

static void keep_operands(search *s, const tn_op *op)
{
    note_uses(s, op, s->at);
    s->held[op->results[0].id] = s->at + 1;
}

static void recompute_in(search *s, uint32_t at)
{
    tn_group *g = &s->f->groups[at];
    tn_group_op ops[TN_TILE_OPS];
    uint32_t n = 0;
    s->at = at;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const tn_op *op = g->ops[i].op;
        for (uint32_t j = 0; j < op->n_operands; j++) {
            const tn_value *v = tn_cluster_source(op->operands[j]);
            if (tn_type_elements(v->type) != g->n || !is_worth_it(s, v)) continue;
            for (uint32_t k = 0; k < s->n_copies; k++) {
                ops[n++] = (tn_group_op){s->copies[k], true};
                g->weight += tn_group_weight(s->f, s->copies[k]);
                keep_operands(s, s->copies[k]);
            }
        }
        ops[n++] = g->ops[i];
    }
    if (n == g->n_ops) return;
    g->ops = tn_dup(s->f->c->arena, ops, n * sizeof *ops);
    g->n_ops = g->capacity = n;
}

void tn_groups_recompute(tn_groups *f)
{
    search s = {.f = f, .last_use = f->c->last_use, .held = f->c->held};
    find_last_uses(&s);
    for (uint32_t i = 0; i < f->n_groups; i++)
        if (!f->groups[i].single) recompute_in(&s, i);
}
