/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/groups.h"
#include "codegen/rows.h"
#include "codegen/tile_builder.h"

#include <string.h>

#include "ops/access.h"
#include "ops/elementwise.h"
#include "ops/reduce_arg.h"
#include "passes/rewrite.h"

/* A cluster that nothing joined for so many ops is left alone: what joins it moves up to it, and
 * would then have to be kept in memory for long. */
#define RECENT_FOR_CONSUMERS  24
#define RECENT_FOR_NEIGHBOURS 8
#define RECENT_GROUPS         4
#define READS_AT_MOST         12
#define SLICED_AT_MOST        8
#define JOINED_AT_LEAST       256

static bool is_plain_word(const tn_type *t)
{
    size_t bytes = tn_element_type_bytes(t->element);
    return (tn_is_float(t->element) || tn_is_integer(t->element)) && (bytes == 4 || bytes == 8) &&
           !t->quantization && tn_type_is_static(t);
}

bool tn_is_relabelling(const tn_op *op)
{
    if (op->kind == TN_OP_reshape) return true;
    if (op->kind != TN_OP_bitcast_convert) return false;
    const tn_type *from = tn_operand_type(op, 0), *to = tn_result_type(op, 0);
    return is_plain_word(from) && is_plain_word(to) &&
           tn_element_type_bytes(from->element) == tn_element_type_bytes(to->element);
}

const tn_value *tn_cluster_source(const tn_value *v)
{
    while (v->op && tn_is_relabelling(v->op)) v = v->op->operands[0];
    return v;
}

/* --- what is known before --- */

static bool is_splat(const tn_value *v)
{
    const tn_literal *l = tn_constant_of(tn_cluster_source(v));
    return l && l->splat;
}

/* The operand of which any element may be read for any element of the result. */
static bool is_table(const tn_op *op, uint32_t operand)
{
    return op->kind == TN_OP_take && operand == 0;
}

static bool is_fusable(const tn_op *op)
{
    tn_kernel k;
    bool takes = op->kind == TN_OP_take;
    if (!tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) && !takes) return false;
    if (op->n_operands > TN_KERNEL_OPERANDS) return false;
    /* Its table has to be in memory as a whole, which one element or a splat may not be. */
    if (takes && (tn_type_elements(tn_result_type(op, 0)) < 2 ||
                  tn_type_elements(tn_operand_type(op, 0)) < 2 || is_splat(op->operands[0])))
        return false;
    if (!tn_type_is_static(op->results[0].type)) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_type_is_static(op->operands[i]->type)) return false;
    tn_status *s = tn_elementwise_kernel(op, &k);
    if (s) {
        tn_status_free(s);
        return false;
    }
    int64_t n = tn_type_elements(op->results[0].type);
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (k.in_step[i] && tn_type_elements(op->operands[i]->type) != n) return false;
    return n > 0;
}

static bool is_mappable(const tn_op *op)
{
    tn_access_map map;
    if (op->kind != TN_OP_broadcast_in_dim && op->kind != TN_OP_iota && op->kind != TN_OP_slice &&
        op->kind != TN_OP_concatenate && op->kind != TN_OP_reverse)
        return false;
    const tn_type *t = op->results[0].type;
    /* One element may be wanted as a scalar by a kernel. */
    if (!t->rank || !tn_type_is_static(t) || tn_type_elements(t) <= 1) return false;
    if (op->kind == TN_OP_iota ? !tn_map_has_ramp(t->element)
                               : !tn_type_is_static(op->operands[0]->type))
        return false;
    if (op->kind == TN_OP_slice) {
        const tn_type *from = tn_operand_type(op, 0);
        /* A small piece doesn't keep all of a large array alive. */
        if (tn_type_bytes(from) > SLICED_AT_MOST * tn_type_bytes(t)) return false;
        return tn_map_make(op, &map);
    }
    if (op->kind == TN_OP_concatenate) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (!tn_type_is_static(op->operands[i]->type)) return false;
        return tn_type_is_static(tn_map_source(op)->type) &&
               tn_type_elements(t) >= JOINED_AT_LEAST && tn_map_make(op, &map) &&
               map.step[map.n_dims - 1] == 1;
    }
    return tn_map_make(op, &map);
}

static void want(tn_cluster_context *c, const tn_value *v)
{
    c->flags[v->id] |= TN_VALUE_WANTED;
    v = tn_cluster_source(v);
    c->flags[v->id] |= TN_VALUE_WANTED;
    /* Pieces that are joined in memory are wanted there. */
    if (!(c->flags[v->id] & TN_VALUE_MAPPED) || v->op->kind != TN_OP_concatenate) return;
    for (uint32_t i = 0; i < v->op->n_operands; i++) want(c, v->op->operands[i]);
}

/* Only tile programs may read what is joined, for which slices need no memory. */
static void map_pieces(tn_cluster_context *c, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = op->operands[i];
        if (v != tn_map_source(op) && tn_type_elements(v->type) > 1)
            c->flags[v->id] |= TN_VALUE_MAPPED;
    }
}

/* The places of an argmax, which its evaluator knows. */
static bool is_unread(const tn_cluster_context *c, const tn_op *op, uint32_t operand)
{
    const tn_body *body;
    if (operand != 1 || !c->fuse || !tn_reduce_has_places(op)) return false;
    tn_status *s = tn_body_compile(&op->regions[0], c->arena, &body);
    if (s) {
        tn_status_free(s);
        return false;
    }
    return tn_reduce_is_arg(op, body) && !tn_is_empty(tn_operand_type(op, 0));
}

/* Does it join what tile programs make, each part for this alone? */
static bool joins_made_parts(const tn_cluster_context *c, const tn_op *op)
{
    if (!tn_tile_may_join(op)) return false;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = tn_cluster_source(op->operands[i]);
        if (v->region == op->region && c->flags[v->id] & TN_VALUE_FUSABLE) return true;
    }
    return false;
}

/* Definitions come before uses, so flags of operands are there. in_body: of a reduction or the
 * like, which is compiled elsewhere. */
static void look_at(tn_cluster_context *c, const tn_region *r, bool in_body)
{
    for (tn_op *op = r->first; op; op = op->next) {
        op->mark = 0;
        bool fusable = !in_body && is_fusable(op);
        if (fusable) c->flags[op->results[0].id] |= TN_VALUE_FUSABLE;
        bool mappable = c->fuse && !in_body && is_mappable(op);
        if (mappable) c->flags[op->results[0].id] |= TN_VALUE_MAPPED;
        bool joins = c->fuse && !in_body && !mappable && joins_made_parts(c, op);
        if (joins) {
            c->flags[op->results[0].id] |= TN_VALUE_JOINED | TN_VALUE_WANTED;
            fusable = true;
        }
        if (mappable && op->kind == TN_OP_concatenate) {
            map_pieces(c, op);
            want(c, tn_map_source(op));
            continue;
        }
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_value *v = tn_cluster_source(op->operands[i]);
            bool mapped = c->flags[v->id] & TN_VALUE_MAPPED;
            /* What a tile program of another region wants is in memory, unless it is mapped there
             * too or one number. */
            bool near = mapped || v->region == r || is_splat(v);
            if (fusable && !is_table(op, i) && near) continue;
            if (!tn_is_relabelling(op) && !is_unread(c, op, i)) want(c, op->operands[i]);
        }
        bool control = tn_op_has_trait(op, TN_TRAIT_CONTROL);
        for (uint32_t i = 0; i < op->n_regions; i++)
            look_at(c, &op->regions[i], in_body || !control);
    }
}

void tn_cluster_begin(const tn_function *f, bool fuse, tn_jit *jit, tn_arena *a,
                      tn_cluster_context *out)
{
    *out = (tn_cluster_context){.arena = a, .fuse = fuse, .jit = jit};
    out->n_values = f->module->n_values;
    out->flags = TN_NEW_ARRAY(a, uint8_t, f->module->n_values);
    out->slots = TN_NEW_ARRAY(a, uint32_t, f->module->n_values);
    out->last_use = TN_NEW_ARRAY(a, uint32_t, f->module->n_values);
    out->held = TN_NEW_ARRAY(a, uint32_t, f->module->n_values);
    out->n_groups = 1;
    look_at(out, &f->body, false);
}

/* --- forming groups --- */

#define NOWHERE (-1)

/* The group that makes what is read for `v`, NOWHERE if it is there from the start. A tile program
 * reads through one map; a map behind it is read from memory, which a group of its own fills. */
static int64_t group_of(const tn_groups *f, const tn_value *v)
{
    v = tn_cluster_source(v);
    if (tn_is_mapped(f->c, v)) {
        if (!v->op->n_operands) return NOWHERE;
        v = tn_cluster_source(tn_map_source(v->op));
    }
    if (tn_constant_of(v)) return NOWHERE;
    if (!v->op || v->op->region != f->region || v->op->mark < f->first) return NOWHERE;
    return (int64_t)v->op->mark - f->first;
}

/* The same for operand i of `op`; a table is read from memory in any case. */
static int64_t group_of_operand(const tn_groups *f, const tn_op *op, uint32_t i)
{
    if (!is_table(op, i)) return group_of(f, op->operands[i]);
    const tn_op *by = tn_cluster_source(op->operands[i])->op;
    if (!by || by->region != f->region || by->mark < f->first) return NOWHERE;
    return (int64_t)by->mark - f->first;
}

static uint32_t add_group(tn_groups *f, tn_group g)
{
    if (f->n_groups == f->capacity) {
        tn_group *old = f->groups;
        f->capacity = f->capacity ? f->capacity * 2 : 16;
        f->groups = TN_NEW_ARRAY(f->c->arena, tn_group, f->capacity);
        if (old) memcpy(f->groups, old, f->n_groups * sizeof *old);
    }
    f->groups[f->n_groups++] = g;
    f->c->n_groups++;
    return f->n_groups - 1;
}

uint32_t tn_group_weight(const tn_groups *f, const tn_op *op)
{
    uint32_t weight = op->kind == TN_OP_concatenate ? op->n_operands : 1;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = tn_cluster_source(op->operands[i]);
        weight += tn_is_mapped(f->c, v) || tn_constant_of(v);
    }
    return weight;
}

/* Everything that `op` wants is made by group `g` or before it; what it wants through a map or as a
 * scalar, before. */
static bool precedes(const tn_groups *f, const tn_op *op, int64_t g)
{
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = tn_cluster_source(op->operands[i]);
        int64_t made = group_of_operand(f, op, i);
        bool linear = !tn_is_mapped(f->c, v) && !is_table(op, i) &&
                      tn_type_elements(v->type) == tn_group_space(op);
        if (made > g || (made == g && !linear)) return false;
    }
    return true;
}

/* As tn_group_weight; what group `g` has of constants and loads takes nothing again. */
static uint32_t weight_in(const tn_groups *f, const tn_op *op, uint32_t g)
{
    uint32_t weight = tn_group_weight(f, op);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = tn_cluster_source(op->operands[i]);
        if (tn_is_mapped(f->c, v) || tn_constant_of(v))
            weight -= f->c->held[v->id] == f->first + g + 1;
    }
    return weight;
}

static bool may_join(const tn_groups *f, const tn_op *op, int64_t g, uint32_t recent,
                     uint32_t limit)
{
    if (g < 0 || !f->c->fuse) return false;
    const tn_group *x = &f->groups[g];
    return !x->single && x->n == tn_group_space(op) && f->clock - x->last <= recent &&
           x->weight + weight_in(f, op, (uint32_t)g) <= limit && precedes(f, op, g);
}

/* Ops that want nothing of each other share a large program only where it reads few arrays. */
static uint32_t limit_for_neighbours(const tn_groups *f, uint32_t g)
{
    return f->groups[g].reads <= READS_AT_MOST ? tn_group_limit(f) : TN_TILE_FEW_OPS;
}

static void remember(tn_groups *f, uint32_t g)
{
    for (uint32_t i = 0; i < RECENT_GROUPS; i++)
        if (f->recent[i] == g + 1) return;
    memmove(f->recent + 1, f->recent, (RECENT_GROUPS - 1) * sizeof *f->recent);
    f->recent[0] = g + 1;
}

static uint32_t choose(tn_groups *f, const tn_op *op)
{
    int64_t last = NOWHERE;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        int64_t g = group_of_operand(f, op, i);
        if (g > last) last = g;
    }
    if (may_join(f, op, last, RECENT_FOR_CONSUMERS, tn_group_limit(f))) return (uint32_t)last;
    for (uint32_t i = 0; i < RECENT_GROUPS; i++)
        if (f->recent[i] && may_join(f, op, f->recent[i] - 1, RECENT_FOR_NEIGHBOURS,
                                     limit_for_neighbours(f, f->recent[i] - 1)))
            return f->recent[i] - 1;
    return add_group(f, (tn_group){.n = tn_group_space(op)});
}

static void join(tn_groups *f, tn_op *op)
{
    uint32_t at = choose(f, op);
    tn_group *g = &f->groups[at];
    if (g->n_ops == g->capacity) {
        tn_group_op *old = g->ops;
        g->capacity = g->capacity ? g->capacity * 2 : 4;
        g->ops = TN_NEW_ARRAY(f->c->arena, tn_group_op, g->capacity);
        if (old) memcpy(g->ops, old, g->n_ops * sizeof *old);
    }
    g->ops[g->n_ops++] = (tn_group_op){op, false};
    g->weight += weight_in(f, op, at);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *v = tn_cluster_source(op->operands[i]);
        if (tn_is_mapped(f->c, v) || tn_constant_of(v)) f->c->held[v->id] = f->first + at + 1;
        else g->reads += group_of(f, v) != at;
    }
    g->last = f->clock;
    op->mark = f->first + at;
    remember(f, at);
}

static bool is_dense_constant(const tn_op *op)
{
    return op->kind == TN_OP_constant && !tn_op_attr(op, TN_ATTR_value)->tensor.splat;
}

/* Is memory made for what `op` gives? Not for splats and broadcasts that only tile programs read.
 */
static bool is_made(const tn_groups *f, const tn_op *op)
{
    uint8_t flags = op->n_results ? f->c->flags[op->results[0].id] : TN_VALUE_WANTED;
    if (!f->c->fuse || flags & TN_VALUE_WANTED) return true;
    return !(flags & TN_VALUE_MAPPED) && op->kind != TN_OP_constant;
}

static void form(tn_groups *f)
{
    /* Dense constants are there from the start, whatever group comes to read them. */
    for (tn_op *op = f->region->first; op; op = op->next)
        if (is_dense_constant(op)) add_group(f, (tn_group){.single = op});
    for (tn_op *op = f->region->first; op; op = op->next) {
        if (tn_op_has_trait(op, TN_TRAIT_TERMINATOR) || is_dense_constant(op) || !is_made(f, op))
            continue;
        f->clock += op->kind != TN_OP_constant && !tn_is_relabelling(op);
        const unsigned joins = TN_VALUE_FUSABLE | TN_VALUE_JOINED;
        if (op->n_results && f->c->flags[op->results[0].id] & joins) join(f, op);
        else op->mark = f->first + add_group(f, (tn_group){.single = op});
    }
}

/* What one group makes and another wants goes through memory. A group that has a copy of the op
 * makes it itself. */
static void want_between(tn_groups *f)
{
    uint32_t *copied = f->c->slots; /* the last group with a copy; its builder is done with it
                                       before it is read again */
    for (uint32_t i = 0; i < f->n_groups; i++) {
        const tn_group *g = &f->groups[i];
        uint32_t mark = f->first + i;
        for (uint32_t j = 0; j < g->n_ops; j++) {
            const tn_op *op = g->ops[j].op;
            if (g->ops[j].is_copy) copied[op->results[0].id] = mark;
            for (uint32_t k = 0; k < op->n_operands; k++) {
                const tn_value *v = tn_cluster_source(op->operands[k]);
                if (tn_is_mapped(f->c, v) || !v->op || v->op->mark == mark || copied[v->id] == mark)
                    continue;
                f->c->flags[v->id] |= TN_VALUE_WANTED;
            }
        }
    }
}

/* False where all of it is made again elsewhere. */
static bool gives(const tn_cluster_context *c, const tn_group *g)
{
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (!g->ops[i].is_copy && c->flags[g->ops[i].op->results[0].id] & TN_VALUE_WANTED)
            return true;
    return g->single;
}

void tn_cluster_region(tn_cluster_context *c, const tn_region *r, const tn_cluster **out,
                       uint32_t *n)
{
    tn_groups f = {.c = c, .region = r, .first = c->n_groups};
    form(&f);
    if (c->fuse) tn_groups_recompute(&f);
    want_between(&f);
    tn_cluster *list = TN_NEW_ARRAY(c->arena, tn_cluster, f.n_groups);
    *n = 0;
    for (uint32_t i = 0; i < f.n_groups; i++) {
        const tn_group *g = &f.groups[i];
        if (!gives(c, g)) continue;
        tn_cluster *k = &list[(*n)++];
        if (g->single) k->op = g->single;
        else k->tile = tn_tile_build(c, g->ops, g->n_ops);
    }
    *out = list;
    if (!c->fuse) return;
    tn_rows_find(c, r, out, n);
    list = TN_NEW_ARRAY(c->arena, tn_cluster, *n);
    for (uint32_t i = 0; i < *n; i++) {
        list[i] = (*out)[i];
        if (list[i].tile) list[i].tile = tn_tile_by_rows(c, list[i].tile);
    }
    *out = list;
}
