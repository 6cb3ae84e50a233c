/* SPDX-License-Identifier: Apache-2.0 */
/* together.c - parts of a program that need nothing of each other, each too short to be shared
 * among threads by itself: an optimizer's steps for many small parameters, heads of a network.
 * Parts are runs of steps that follow each other; what a step needs of the part before it makes it
 * the same part, what it needs of another one ends the group. */
#include "executable/program.h"

enum {
    PARTS = 64,
    EXTENTS = 256,
    STEP_NS = 15000, /* from here on a step is shared among threads by itself */
    PART_NS = 30000,
    NO_PART = PARTS
};

/* Memory that a part reads or writes. */
typedef struct {
    uint64_t begin, end;
    uint32_t base, part;
    bool is_written;
} extent;

typedef struct {
    tn_executable *e;
    extent extents[EXTENTS];
    uint32_t n_extents, n_parts, first[PARTS + 1];
    double part_ns, ns; /* of the last part, of all */
} group;

static bool may_join(const tn_step *s)
{
    if (s->ns >= STEP_NS || s->n_operands + s->n_results > TN_TOGETHER_REFS) return false;
    switch ((tn_step_kind)s->kind) {
    case TN_STEP_TILE:
    case TN_STEP_ROWS:
    case TN_STEP_SCALAR:
    case TN_STEP_WINDOW:
    case TN_STEP_LOOK:
    case TN_STEP_FILL:
    case TN_STEP_COPY: return true;
    case TN_STEP_EVAL:
        return !s->call && s->op->kind != TN_OP_custom_call &&
               !tn_op_has_trait(s->op, TN_TRAIT_SIDE_EFFECT | TN_TRAIT_COLLECTIVE);
    case TN_STEP_NATIVE:
    case TN_STEP_JUMP:
    case TN_STEP_UNLESS:
    case TN_STEP_SWITCH:
    case TN_STEP_END: break;
    }
    return false;
}

/* Constants are only read. A donated parameter is at the base of its result. */
static uint32_t add_extent(const tn_step_ref *r, size_t bytes, bool is_written, extent *out)
{
    if (r->base == TN_BASE_FIXED || bytes == 0) return 0;
    *out = (extent){
        .begin = r->offset, .end = r->offset + bytes, .base = r->base, .is_written = is_written};
    return 1;
}

static uint32_t find_extents(const tn_step *s, extent *out)
{
    uint32_t n = 0;
    if (s->kind == TN_STEP_FILL) return add_extent(&s->refs[0], s->bytes, true, out);
    if (s->kind == TN_STEP_COPY) {
        n += add_extent(&s->refs[0], s->bytes, false, out);
        return n + add_extent(&s->refs[1], s->bytes, true, out + n);
    }
    for (uint32_t i = 0; i < s->n_operands + s->n_results; i++)
        n += add_extent(&s->refs[i], tn_type_bytes(s->refs[i].type), i >= s->n_operands, out + n);
    return n;
}

/* The first part that the step may not run beside, or NO_PART. */
static uint32_t conflict(const group *g, const extent *x, uint32_t n)
{
    uint32_t first = NO_PART;
    for (uint32_t k = 0; k < g->n_extents; k++) {
        const extent *y = &g->extents[k];
        for (uint32_t i = 0; i < n; i++)
            if (x[i].base == y->base && x[i].begin < y->end && y->begin < x[i].end &&
                (x[i].is_written || y->is_written) && y->part < first)
                first = y->part;
    }
    return first;
}

/* The group ends before step `end`. */
static void finish(group *g, uint32_t end, double least_ns)
{
    if (g->n_parts > 1 && g->ns >= least_ns) {
        size_t size = (g->n_parts + 1) * sizeof g->first[0];
        tn_together *t = tn_alloc(g->e->arena, sizeof *t + size);
        g->first[g->n_parts] = end;
        t->n = g->n_parts;
        t->part_ns = g->ns / g->n_parts;
        memcpy(t->first, g->first, size);
        ((tn_step *)g->e->steps)[g->first[0]].together = t; /* made by us, and not run yet */
    }
    g->n_parts = g->n_extents = 0;
    g->ns = g->part_ns = 0;
}

static bool add(group *g, uint32_t at, const tn_step *s)
{
    extent x[TN_TOGETHER_REFS];
    uint32_t n = find_extents(s, x), with = conflict(g, x, n);
    if (g->n_extents + n > EXTENTS) return false;
    if (with == NO_PART) {
        if (g->n_parts == PARTS) return false;
        g->first[g->n_parts++] = at;
        g->part_ns = 0;
    } else if (with + 1 < g->n_parts || g->part_ns + s->ns > PART_NS) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        x[i].part = g->n_parts - 1;
        g->extents[g->n_extents++] = x[i];
    }
    g->part_ns += s->ns;
    g->ns += s->ns;
    return true;
}

void tn_find_together(tn_executable *e, double least_ns)
{
    group g = {.e = e};
    for (uint32_t i = 0; i < e->n_steps; i++) {
        const tn_step *s = &e->steps[i];
        if (!may_join(s)) finish(&g, i, least_ns);
        else if (!add(&g, i, s)) {
            finish(&g, i, least_ns);
            add(&g, i, s);
        }
    }
}
