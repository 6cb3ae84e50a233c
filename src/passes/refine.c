/* SPDX-License-Identifier: Apache-2.0 */
/* refine - sizes that are known by now become part of every type.
 *
 * Before:  main(%n: tensor<i64>, %x: tensor<?x4xf32>), called with %x: tensor<3x4xf32>
 *          %0 = get_dimension_size %x, 0   %1 = concatenate %0, 4
 *          %2 = dynamic_broadcast_in_dim %y, %1 : tensor<?x4xf32>
 * After:   %2 = dynamic_broadcast_in_dim %y, dense<[3, 4]> : tensor<3x4xf32>
 * Or:      where sizes depend on values (here on those of %n, had they been asked for), main is the
 *          stage that computes them: see refine.h.
 * Source:  StableHLO spec, dynamism: what is known of a type may only grow, and inference of each
 * op says how. Shapes that change from one iteration of a loop to the next are refused. */
#include "passes/refine.h"

#include <string.h>

#include "ops/infer.h"
#include "passes/rewrite.h"

/* Stages are cut off one after the other; no sane program needs many. */
#define STAGES_AT_MOST 64
/* Iterations that are taken out of loops. */
#define PEELED_AT_MOST 1024

typedef struct {
    tn_module *m;
    tn_unsized *open;
    uint32_t n_open, capacity;
    uint32_t n_peeled;
    tn_value_map *loops; /* from a result of a loop to that of its copy */
} refiner;

static tn_status *walk(refiner *r, tn_region *region);

static void add_open(refiner *r, tn_op *op, bool branches)
{
    if (r->n_open == r->capacity) {
        tn_unsized *old = r->open;
        r->capacity = r->capacity ? r->capacity * 2 : 16;
        r->open = TN_NEW_ARRAY(r->m->arena, tn_unsized, r->capacity);
        if (old) memcpy(r->open, old, r->n_open * sizeof *old);
    }
    r->open[r->n_open++] = (tn_unsized){op, branches};
}

static bool results_are_static(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!tn_type_is_static(op->results[i].type)) return false;
    return true;
}

/* --- control flow --- */

/* A carried value that each iteration gives on unchanged is the same inside as outside. */
static void free_invariants(tn_op *op)
{
    const tn_op *last = op->regions[1].last;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (tn_value_resolve(last->operands[i]) != &op->regions[1].args[i]) continue;
        tn_value_replace(&op->regions[0].args[i], op->operands[i]);
        tn_value_replace(&op->regions[1].args[i], op->operands[i]);
        tn_value_replace(&op->results[i], op->operands[i]);
    }
}

static bool carries_unknown_sizes(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_type_is_static(op->results[i].type)) return true;
    return false;
}

/* A copy of a loop that may have to be peeled, from before anything in it was refined. */
static const tn_op *as_it_was(refiner *r, const tn_op *op)
{
    if (!op->n_results) return NULL;
    const tn_value *v = tn_value_map_get(r->loops, &op->results[0]);
    if (v) return v->op;
    if (!carries_unknown_sizes(op)) return NULL;
    tn_op *copy = tn_op_clone(r->m, op, tn_value_map_new(r->m->arena, 16));
    tn_value_map_set(r->loops, &op->results[0], &copy->results[0]);
    return copy;
}

/* The number of a carried value that changes its shape in the first iteration, n_operands if none
 * does. */
static uint32_t changing(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_shapes_agree(op->results[i].type, op->regions[1].last->operands[i]->type)) return i;
    return op->n_operands;
}

static tn_status *refine_while(refiner *r, tn_op *op)
{
    uint32_t n = op->n_operands, n_open = r->n_open;
    if (op->regions[0].n_args != n || op->regions[1].n_args != n || op->n_results != n ||
        op->regions[1].last->n_operands != n)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "a region takes or gives another number of values");
    const tn_op *again = as_it_was(r, op);
    free_invariants(op);
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_refine_result(r->m, op, i, op->operands[i]->type));
        op->regions[0].args[i].type = op->regions[1].args[i].type = op->results[i].type;
    }
    TN_TRY(walk(r, &op->regions[0]));
    TN_TRY(walk(r, &op->regions[1]));
    uint32_t i = changing(op);
    if (i < n) {
        if (!again || r->n_peeled++ == PEELED_AT_MOST)
            return TN_OP_ERROR(
                UNIMPLEMENTED, op,
                "value %u changes its shape within the loop, from %s to %s, in more than %d "
                "iterations",
                i, TN_TYPE_IN_MESSAGE(op->results[i].type),
                TN_TYPE_IN_MESSAGE(op->regions[1].last->operands[i]->type), PEELED_AT_MOST);
        r->n_open = n_open;
        tn_refine_peel(r->m, op, again);
        return NULL;
    }
    if (!results_are_static(op)) add_open(r, op, false);
    return NULL;
}

/* The region that a known selector takes, or NULL. */
static tn_region *taken_branch(tn_op *op)
{
    int64_t i;
    if (!op->n_regions || !tn_constant_integer(op->operands[0], &i)) return NULL;
    if (op->kind == TN_OP_if) return &op->regions[i ? 0 : 1];
    return &op->regions[i < 0 || i >= op->n_regions ? op->n_regions - 1 : i];
}

/* Result i has a size as soon as all branches agree on it. */
static tn_status *join_branches(refiner *r, tn_op *op, uint32_t i, bool *differ)
{
    const tn_type *first = op->regions[0].last->operands[i]->type;
    bool all = true;
    for (uint32_t k = 0; k < op->n_regions; k++) {
        const tn_type *t = op->regions[k].last->operands[i]->type;
        all = all && tn_type_is_static(t);
        if (!tn_shapes_agree(first, t)) {
            *differ = true;
            all = false;
        }
    }
    return all ? tn_refine_result(r->m, op, i, first) : NULL;
}

static tn_status *refine_branches(refiner *r, tn_op *op)
{
    tn_region *taken = taken_branch(op);
    if (taken) {
        tn_rewrite_by_region(op, taken);
        return NULL;
    }
    if (tn_refine_is_peeled(op)) {
        add_open(r, op, true);
        return NULL;
    }
    for (uint32_t k = 0; k < op->n_regions; k++) {
        if (op->regions[k].last->n_operands != op->n_results)
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "region %u gives another number of values", k);
        TN_TRY(walk(r, &op->regions[k]));
    }
    bool differ = false;
    for (uint32_t i = 0; i < op->n_results; i++) TN_TRY(join_branches(r, op, i, &differ));
    if (!results_are_static(op)) add_open(r, op, differ);
    return NULL;
}

/* --- ops --- */

static void resolve_nested(tn_region *region)
{
    for (tn_op *op = region->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        for (uint32_t i = 0; i < op->n_regions; i++) resolve_nested(&op->regions[i]);
    }
}

static tn_status *refine_plain(refiner *r, tn_op *op)
{
    tn_module *m = r->m;
    for (uint32_t i = 0; i < op->n_regions; i++) {
        tn_region *inner = &op->regions[i];
        if (op->kind != TN_OP_async_start || inner->n_args != op->n_operands) {
            resolve_nested(inner);
            continue;
        }
        for (uint32_t k = 0; k < inner->n_args; k++) inner->args[k].type = op->operands[k]->type;
        TN_TRY(walk(r, inner));
    }
    TN_TRY(tn_refine_op(m, op));
    if (!op->region) return NULL;
    const tn_type **types = TN_NEW_ARRAY(m->arena, const tn_type *, op->n_results);
    TN_TRY(tn_op_behaviours[op->kind].infer(op, m->arena, types));
    for (uint32_t i = 0; i < op->n_results; i++) TN_TRY(tn_refine_result(m, op, i, types[i]));
    bool folded = false;
    tn_fold_op(m, op, &folded);
    if (!folded && (!results_are_static(op) || tn_refine_is_pending(op))) add_open(r, op, false);
    return NULL;
}

static tn_status *refine_op(refiner *r, tn_op *op)
{
    switch (op->kind) {
    case TN_OP_while: return refine_while(r, op);
    case TN_OP_if:
    case TN_OP_case: return refine_branches(r, op);
    default: break;
    }
    if (tn_op_has_trait(op, TN_TRAIT_TERMINATOR | TN_TRAIT_SYMBOL)) return NULL;
    return refine_plain(r, op);
}

static tn_status *walk(refiner *r, tn_region *region)
{
    for (tn_op *op = region->first, *next; op; op = next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        tn_op *before = op->prev;
        TN_TRY(refine_op(r, op));
        if (op->region) next = op->next;
        else next = before ? before->next : region->first;
    }
    return NULL;
}

/* --- stages --- */

/* The wanted values become what the stage said that they are. */
static tn_status *bind(tn_module *m, tn_value *const *wanted, uint32_t n, tn_refinement *in,
                       size_t *used)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t bytes = tn_type_bytes(wanted[i]->type);
        if (bytes > in->size - *used)
            return TN_ERROR(INTERNAL, "the values of a stage are cut short at %zu bytes", in->size);
        char *data = tn_alloc(m->arena, bytes < 64 ? 64 : bytes);
        if (bytes) memcpy(data, (const char *)in->values + *used, bytes);
        *used += bytes;
        tn_literal l = {.type = wanted[i]->type, .data = data, .size = bytes};
        tn_value_replace(wanted[i], tn_rewrite_constant(m, m->main->body.first, l));
    }
    return NULL;
}

static tn_status *stuck(const tn_unsized *open)
{
    const tn_op *op = open->op;
    if (tn_is_shape_assertion(op))
        return TN_OP_ERROR(
            UNIMPLEMENTED, op,
            "the assertion is about a value that exists only within a loop or depends on "
            "an effect");
    uint32_t i = 0;
    while (i + 1 < op->n_results && tn_type_is_static(op->results[i].type)) i++;
    return TN_OP_ERROR(
        UNIMPLEMENTED, op,
        "the size of result %u, %s, follows neither from the arguments nor from values "
        "that can be computed beforehand (values within a loop, random numbers and "
        "effects can't)",
        i, TN_TYPE_IN_MESSAGE(op->results[i].type));
}

static tn_status *bind_params(tn_module *m, const tn_refinement *in)
{
    for (uint32_t i = 0; in->params && i < m->main->body.n_args; i++) {
        tn_value *v = &m->main->body.args[i];
        if (tn_type_is_static(v->type)) continue;
        if (!tn_type_compatible(v->type, in->params[i]))
            return TN_ERROR(INVALID_ARGUMENT, "argument %u should be %s and is %s", i,
                            TN_TYPE_IN_MESSAGE(v->type), TN_TYPE_IN_MESSAGE(in->params[i]));
        tn_type *t = tn_dup(m->arena, v->type, sizeof *t);
        t->dims = tn_dup(m->arena, in->params[i]->dims, t->rank * sizeof *t->dims);
        t->bounds = NULL;
        v->type = t;
    }
    return NULL;
}

/* The signature as the body has it now. */
static void settle_signature(tn_module *m)
{
    tn_function *f = m->main;
    uint32_t n = f->body.n_args, n_results = f->body.last->n_operands;
    const tn_type **parts = TN_NEW_ARRAY(m->arena, const tn_type *, n + n_results);
    for (uint32_t i = 0; i < n; i++) parts[i] = f->body.args[i].type;
    for (uint32_t i = 0; i < n_results; i++) parts[n + i] = f->body.last->operands[i]->type;
    tn_type *t = TN_NEW(m->arena, tn_type);
    *t = (tn_type){
        .kind = TN_TYPE_FUNCTION, .n_parts = n + n_results, .n_inputs = n, .parts = parts};
    f->type = t;
}

tn_status *tn_pass_refine(tn_module *m, bool *changed)
{
    tn_refinement *in = m->refinement;
    if (!in) return NULL;
    *changed = true;
    in->is_stage = false;
    TN_TRY(bind_params(m, in));
    refiner r = {.m = m, .loops = tn_value_map_new(m->arena, 16)};
    size_t used = 0;
    for (uint32_t stage = 0;; stage++) {
        r.n_open = 0;
        TN_TRY(walk(&r, &m->main->body));
        if (!r.n_open) break;
        tn_value **wanted;
        uint32_t n;
        tn_refine_wanted(m, r.open, r.n_open, &wanted, &n);
        if (!n || stage == STAGES_AT_MOST) return stuck(&r.open[0]);
        if (used == in->size) {
            tn_refine_cut(m, wanted, n, in);
            in->is_stage = true;
            break;
        }
        TN_TRY(bind(m, wanted, n, in, &used));
    }
    settle_signature(m);
    return NULL;
}

/* --- whether there is anything to do --- */

static bool region_is_sized(const tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++)
        if (!tn_type_is_static(r->args[i].type)) return false;
    for (const tn_op *op = r->first; op; op = op->next) {
        if (!results_are_static(op) || tn_refine_is_pending(op)) return false;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (!region_is_sized(&op->regions[i])) return false;
    }
    return true;
}

bool tn_module_is_sized(const tn_module *m)
{
    return region_is_sized(&m->main->body);
}
