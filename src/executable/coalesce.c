/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/plan.h"
#include "ops/custom_call.h"

/* A class of more segments than this takes no more roots: copies are cheaper than the search. */
#define SEGMENTS_AT_MOST 256

tn_class *tn_plan_class(const tn_plan *p, uint32_t root)
{
    uint32_t i = root;
    while (p->classes[i].merged != i) i = p->classes[i].merged;
    /* Shorten the path for the next search. */
    while (p->classes[root].merged != i) {
        uint32_t next = p->classes[root].merged;
        p->classes[root].merged = i;
        root = next;
    }
    return &p->classes[i];
}

static void make_classes(tn_plan *p)
{
    p->classes = TN_NEW_ARRAY(p->arena, tn_class, p->n_roots);
    for (uint32_t i = 0; i < p->n_roots; i++) {
        const tn_root *r = &p->roots[i];
        p->classes[i] = (tn_class){.place = r->place,
                                   .index = r->index,
                                   .address = r->address,
                                   .bytes = r->bytes,
                                   .n_segments = r->n_segments,
                                   .segments = r->segments,
                                   .merged = i};
    }
}

static bool is_view(const tn_plan *p, const tn_value *v)
{
    return p->view_of[v->id] != 0;
}

/* May output `out` of a tile program be written over the content of root `dying`? */
static bool tile_allows(const tn_plan *p, const tn_tile_program *t, uint32_t dying, uint32_t out)
{
    for (uint32_t i = 0; i < t->n_inputs; i++)
        if (tn_plan_root(p, t->inputs[i].value) == dying &&
            (is_view(p, t->inputs[i].value) || !tn_tile_may_overwrite(t, i, out)))
            return false;
    return true;
}

/* The same for a group of rows. */
static bool rows_allow(const tn_plan *p, const tn_rows *rows, uint32_t dying, uint32_t out)
{
    for (uint32_t i = 0; i < rows->n_inputs; i++) {
        const tn_value *v = rows->values[rows->inputs[i]].value;
        if (tn_plan_root(p, v) == dying && (is_view(p, v) || !tn_rows_may_overwrite(rows, i, out)))
            return false;
    }
    return true;
}

/* May result `r` of `op` be computed over the content of root `dying`, which ends at that op? */
static bool op_allows(const tn_plan *p, const tn_item *item, uint32_t dying, uint32_t r)
{
    const tn_op *op = item->op;
    bool takes = tn_op_has_trait(op, TN_TRAIT_IN_PLACE);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (tn_plan_root(p, op->operands[i]) != dying) continue;
        if (tn_op_takes(op, i) != r || is_view(p, op->operands[i])) return false;
        takes = true;
    }
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (uint32_t j = 0; j < item->bodies[i]->n_captures; j++)
            if (tn_plan_root(p, item->bodies[i]->captures[j]) == dying) return false;
    return takes;
}

/* `first` ends at the doubled position where `second` begins. */
static bool may_touch(const tn_plan *p, const tn_segment *first, const tn_segment *second)
{
    const tn_item *item = &p->items[second->start / 2];
    if (item->kind == TN_ITEM_MOVES) return true;
    if (second->start % 2) return false;
    if (item->kind == TN_ITEM_TILE) {
        for (uint32_t i = 0; i < item->tile->n_outputs; i++)
            if (tn_plan_root(p, item->tile->outputs[i].value) == second->born)
                return tile_allows(p, item->tile, first->dies, i);
        return false;
    }
    for (uint32_t i = 0; item->kind == TN_ITEM_ROWS && i < item->rows->n_outputs; i++)
        if (tn_plan_root(p, item->rows->values[item->rows->outputs[i]].value) == second->born)
            return rows_allow(p, item->rows, first->dies, i);
    if (item->kind != TN_ITEM_OP) return false;
    for (uint32_t r = 0; r < item->op->n_results; r++)
        if (tn_plan_root(p, &item->op->results[r]) == second->born)
            return op_allows(p, item, first->dies, r);
    return false;
}

/* Joins two ordered lists of segments, or gives false if they can't share memory. Segments that
 * touch become one, so that chains of ops stay short. */
static bool join(const tn_plan *p, const tn_class *a, const tn_class *b, tn_segment *out,
                 uint32_t *n)
{
    uint32_t i = 0, j = 0;
    *n = 0;
    while (i < a->n_segments || j < b->n_segments) {
        bool from_a = j == b->n_segments ||
                      (i < a->n_segments && (a->segments[i].start < b->segments[j].start ||
                                             (a->segments[i].start == b->segments[j].start &&
                                              a->segments[i].end < b->segments[j].end)));
        const tn_segment *s = from_a ? &a->segments[i++] : &b->segments[j++];
        tn_segment *last = *n ? &out[*n - 1] : NULL;
        if (!last || s->start > last->end) {
            out[(*n)++] = *s;
            continue;
        }
        /* Two segments of one root, as of a loop's slot, were checked when it was made. */
        bool same = last->dies == s->born;
        if (s->start < last->end || (!same && !may_touch(p, last, s))) return false;
        last->end = s->end;
        last->dies = s->dies;
    }
    return true;
}

static void try_merge(tn_plan *p, uint32_t x, uint32_t y)
{
    if (x == TN_NO_ROOT || y == TN_NO_ROOT) return;
    tn_class *a = tn_plan_class(p, x), *b = tn_plan_class(p, y);
    if (a == b || a->bytes != b->bytes) return;
    if (a->place != TN_PLACE_TEMP) {
        tn_class *t = a;
        a = b;
        b = t;
    }
    /* Only b may have a place of its own by now, and one that can be written. */
    if (a->place != TN_PLACE_TEMP) return;
    if (b->place != TN_PLACE_TEMP && b->place != TN_PLACE_RESULT) return;
    if (a->n_segments + b->n_segments > SEGMENTS_AT_MOST) return;
    tn_segment joined[SEGMENTS_AT_MOST];
    uint32_t n;
    if (!join(p, a, b, joined, &n)) return;
    /* A class of one root shares the root's segments, which stay as they are. */
    if (n > b->n_segments || !b->owns_segments) {
        b->segments = TN_NEW_ARRAY(p->arena, tn_segment, n);
        b->owns_segments = true;
    }
    memcpy(b->segments, joined, n * sizeof *joined);
    b->n_segments = n;
    a->merged = (uint32_t)(b - p->classes);
}

/* A donated parameter and the result that takes its memory are one place from the start; whether
 * the result may be computed there is what its class decides. */
static void tie_aliases(tn_plan *p)
{
    for (uint32_t i = 0; i < p->main->body.n_args; i++) {
        uint32_t param = tn_plan_root(p, &p->main->body.args[i]);
        if (param == TN_NO_ROOT || p->aliases[i] < 0) continue;
        uint32_t result = p->result_roots[p->aliases[i]];
        tn_class *from = &p->classes[param], *to = &p->classes[result];
        uint32_t n = from->n_segments + to->n_segments;
        tn_segment *all = TN_NEW_ARRAY(p->arena, tn_segment, n);
        memcpy(all, from->segments, from->n_segments * sizeof *all);
        memcpy(all + from->n_segments, to->segments, to->n_segments * sizeof *all);
        to->segments = all;
        to->n_segments = n;
        from->merged = result;
    }
}

static void merge_in_place(tn_plan *p)
{
    for (uint32_t at = 0; at < p->n_items; at++) {
        const tn_op *op = p->items[at].op;
        if (p->items[at].kind != TN_ITEM_OP) continue;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            int64_t r = tn_op_takes(op, i);
            if (r >= 0 && !is_view(p, op->operands[i]))
                try_merge(p, tn_plan_root(p, op->operands[i]), tn_plan_root(p, &op->results[r]));
        }
    }
}

static void merge_moves(tn_plan *p)
{
    for (uint32_t i = 0; i < p->n_moves; i++)
        if (!is_view(p, p->moves[i].from))
            try_merge(p, tn_plan_root(p, p->moves[i].from), p->moves[i].to);
}

static bool dies_at(const tn_plan *p, const tn_value *v, uint32_t at)
{
    uint32_t root = tn_plan_root(p, v);
    if (root == TN_NO_ROOT) return false;
    const tn_root *r = &p->roots[root];
    for (uint32_t i = 0; i < r->n_segments; i++)
        if (r->segments[i].end == 2 * at) return true;
    return false;
}

static void merge_tiles(tn_plan *p)
{
    for (uint32_t at = 0; at < p->n_items; at++) {
        const tn_tile_program *t = p->items[at].tile;
        if (p->items[at].kind != TN_ITEM_TILE) continue;
        for (uint32_t i = 0; i < t->n_inputs; i++) {
            if (is_view(p, t->inputs[i].value) || !dies_at(p, t->inputs[i].value, at)) continue;
            for (uint32_t o = 0; o < t->n_outputs; o++)
                if (tn_tile_may_overwrite(t, i, o))
                    try_merge(p, tn_plan_root(p, t->inputs[i].value),
                              tn_plan_root(p, t->outputs[o].value));
        }
    }
}

static void merge_rows(tn_plan *p)
{
    for (uint32_t at = 0; at < p->n_items; at++) {
        const tn_rows *r = p->items[at].rows;
        if (p->items[at].kind != TN_ITEM_ROWS) continue;
        for (uint32_t i = 0; i < r->n_inputs; i++) {
            const tn_value *v = r->values[r->inputs[i]].value;
            if (is_view(p, v) || !dies_at(p, v, at)) continue;
            for (uint32_t o = 0; o < r->n_outputs; o++)
                if (tn_rows_may_overwrite(r, i, o))
                    try_merge(p, tn_plan_root(p, v),
                              tn_plan_root(p, r->values[r->outputs[o]].value));
        }
    }
}

void tn_plan_coalesce(tn_plan *p)
{
    make_classes(p);
    tie_aliases(p);
    merge_in_place(p);
    if (p->fuse) tn_plan_find_windows(p);
    merge_moves(p);
    merge_tiles(p);
    merge_rows(p);
}
