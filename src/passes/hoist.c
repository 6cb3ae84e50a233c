/* SPDX-License-Identifier: Apache-2.0 */
/* hoist - computes before a loop what is the same in every iteration.
 *
 * Before:  while { body(%a): %1 = transpose %w   %2 = dot %a, %1 ... }
 * After:   %1 = transpose %w   while { body(%a): %2 = dot %a, %1 ... }
 * Not:     what can fail or has effects, and what would keep much more memory alive than it reads:
 * a broadcast stays inside. A loop of no iterations computes it in vain. */
#include "passes/rewrite.h"

#define BYTES_AT_MOST (64u << 10)
#define REPEATED      (32u << 10) /* of a broadcast, which costs no more than what reads it */
#define INSIDE        UINT32_MAX  /* of a body of a reduction or the like */

/* Gives every value the number of loops around it in `id`. */
static void set_levels(tn_region *r, uint32_t level)
{
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = level;
    for (tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = level;
        uint32_t inner = level;
        if (op->kind == TN_OP_while) inner = level + 1;
        else if (!tn_op_has_trait(op, TN_TRAIT_CONTROL)) inner = INSIDE;
        for (uint32_t i = 0; i < op->n_regions; i++)
            set_levels(&op->regions[i], level == INSIDE ? INSIDE : inner);
    }
}

static bool bodies_are_outside(const tn_op *op, uint32_t level)
{
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) {
            for (uint32_t j = 0; j < o->n_operands; j++)
                if (o->operands[j]->id != INSIDE && o->operands[j]->id > level) return false;
            if (!bodies_are_outside(o, level)) return false;
        }
    return true;
}

static bool is_cheap_to_keep(const tn_op *op)
{
    size_t bytes = 0, largest = op->kind == TN_OP_broadcast_in_dim ? REPEATED : BYTES_AT_MOST;
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (!tn_type_is_static(op->results[i].type)) return false;
        bytes += tn_type_bytes(op->results[i].type);
    }
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (!tn_type_is_static(op->operands[i]->type)) return false;
        size_t n = tn_type_bytes(op->operands[i]->type);
        if (n > largest) largest = n;
    }
    return bytes <= largest;
}

/* May `op`, which stands in a loop, be computed at `level`? */
static bool is_movable(const tn_op *op, uint32_t level)
{
    if (!op->n_results || tn_op_has_effect(op) || op->kind == TN_OP_custom_call) return false;
    if (tn_op_has_trait(op, TN_TRAIT_CONTROL | TN_TRAIT_TERMINATOR | TN_TRAIT_SYMBOL)) return false;
    if (op->kind == TN_OP_optimization_barrier) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (op->operands[i]->id > level) return false;
    return bodies_are_outside(op, level) && is_cheap_to_keep(op);
}

static void hoist_from(tn_region *r, uint32_t level, bool *changed);

/* Inner loops first: what leaves them may leave this one too. */
static void hoist_loop(tn_op *loop, uint32_t level, bool *changed)
{
    for (uint32_t i = 0; i < 2; i++) {
        hoist_from(&loop->regions[i], level + 1, changed);
        for (tn_op *op = loop->regions[i].first, *next; op; op = next) {
            next = op->next;
            if (!is_movable(op, level)) continue;
            tn_op_remove(op);
            tn_op_insert_before(loop, op);
            for (uint32_t j = 0; j < op->n_results; j++) op->results[j].id = level;
            *changed = true;
        }
    }
}

static void hoist_from(tn_region *r, uint32_t level, bool *changed)
{
    for (tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_while) {
            hoist_loop(op, level, changed);
            continue;
        }
        if (!tn_op_has_trait(op, TN_TRAIT_CONTROL)) continue;
        for (uint32_t i = 0; i < op->n_regions; i++) hoist_from(&op->regions[i], level, changed);
    }
}

tn_status *tn_pass_hoist(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) {
        set_levels(&f->body, 0);
        hoist_from(&f->body, 0, changed);
    }
    return NULL;
}
