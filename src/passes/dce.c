/* SPDX-License-Identifier: Apache-2.0 */
/* dce - removes ops whose results nobody wants.
 *
 * Before:  %1 = add %0, %0   return %0
 * After:   return %0
 * Kept:    what has a side effect, or holds in its regions what has one. */
#include "passes/passes.h"

enum { EFFECT = 1 };

/* Marks ops with effects, inside too, and forgets all uses. */
static bool mark_effects(tn_region *r)
{
    bool any = false;
    for (uint32_t i = 0; i < r->n_args; i++) r->args[i].id = 0;
    for (tn_op *op = r->first; op; op = op->next) {
        bool effect = tn_op_has_effect(op) || tn_op_has_trait(op, TN_TRAIT_SYMBOL);
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].id = 0;
        for (uint32_t i = 0; i < op->n_regions; i++) effect |= mark_effects(&op->regions[i]);
        op->mark = effect ? EFFECT : 0;
        any |= effect;
    }
    return any;
}

static bool is_wanted(const tn_op *op)
{
    if (op->mark == EFFECT || tn_op_has_trait(op, TN_TRAIT_TERMINATOR)) return true;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (op->results[i].id) return true;
    return false;
}

/* Backwards, so that every use is seen before what it uses. */
static void sweep(tn_region *r, bool *changed)
{
    for (tn_op *op = r->last, *before; op; op = before) {
        before = op->prev;
        if (!is_wanted(op)) {
            tn_op_remove(op);
            *changed = true;
            continue;
        }
        for (uint32_t i = op->n_regions; i-- > 0;) sweep(&op->regions[i], changed);
        for (uint32_t i = 0; i < op->n_operands; i++) op->operands[i]->id = 1;
    }
}

tn_status *tn_pass_dce(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) {
        mark_effects(&f->body);
        sweep(&f->body, changed);
    }
    return NULL;
}
