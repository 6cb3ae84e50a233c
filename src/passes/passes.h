/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - the passes of pipeline.def and the manager that runs them.
 *
 * A pass changes a module in place, sets *changed (and never clears it), and leaves a module that
 * verifies, in which operands stand for themselves. Work is linear in the size of the program. */
#ifndef TN_PASSES_PASSES_H
#define TN_PASSES_PASSES_H

#include "ops/custom_call.h"

/* Must stay where it is even if nobody wants its results. Doesn't look into regions. */
static inline bool tn_op_has_effect(const tn_op *op)
{
    if (tn_op_has_trait(op, TN_TRAIT_SIDE_EFFECT | TN_TRAIT_COLLECTIVE)) return true;
    if (op->kind != TN_OP_custom_call) return false;
    if (op->n_results && !tn_op_bool(op, TN_ATTR_has_side_effect, false)) return false;
    const tn_custom_call_target *target =
        tn_custom_call_find(tn_op_string(op, TN_ATTR_call_target_name));
    return !target || !target->may_go;
}

#define TN_PASS(name, needed, doc, ...)                                                            \
    tn_status *tn_pass_##name(tn_module *m, bool *changed) TN_MUST_USE;
#include "passes/pipeline.def"
#undef TN_PASS

/* Does TN_DUMP name `name` (or "all")? */
bool tn_dumps(const char *name);
typedef enum {
    TN_PASSES_ALL,
    TN_PASSES_BEFORE_SIZES, /* those before `refine` */
    TN_PASSES_WITH_SIZES    /* `refine` and those after it */
} tn_passes_part;
/* Runs a part of the pipeline on a verified module; `only_needed` leaves out what merely makes it
 * faster. Honours TN_DUMP (prints after the passes that it names), TN_LAST_PASS (stops after that
 * one) and TN_LOG=passes:debug (times and changes); in debug builds verifies after each pass. */
tn_status *tn_passes_run(tn_module *m, tn_passes_part part, bool only_needed) TN_MUST_USE;

#endif
