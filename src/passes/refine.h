/* SPDX-License-Identifier: Apache-2.0 */
/* refine.h - from a program with unknown sizes to one that is static.
 *
 * Given the types of the arguments, sizes follow op by op: inference, shape operands that are or
 * become constants, loops whose carried values keep their shape, branches that agree. Where a size
 * depends on *values* that only a run knows, the program is cut: what is left in the module is a
 * static program, the stage, that computes just those values from the arguments. With what it gave,
 * refining another copy of the program gets further; most programs need no stage or one. */
#ifndef TN_PASSES_REFINE_H
#define TN_PASSES_REFINE_H

#include "passes/passes.h"

/* What the pass is to know, and what it found; see tn_module.refinement. */
typedef struct tn_refinement {
    const tn_type *const *params; /* [arguments of main] static types; NULL: as they are */
    const void *values;           /* results of the stages so far, end to end */
    size_t size;
    /* Out. */
    bool is_stage;
    uint32_t n_taken;
    const uint32_t *taken; /* [n_taken] arguments of the program that the stage takes, in order */
} tn_refinement;

/* Does the module say all sizes, and assert nothing about them? Then there is nothing to refine. */
bool tn_module_is_sized(const tn_module *m);

/* ---- Between the files of the pass ---- */

/* Gives op's results the sizes that its shape operands or operands tell; may replace it by other
 * ops before it, which are refined next. */
tn_status *tn_refine_op(tn_module *m, tn_op *op) TN_MUST_USE;
/* What is known of result i by now is what both its type and `t` know. INVALID_ARGUMENT where they
 * contradict each other. */
tn_status *tn_refine_result(tn_module *m, tn_op *op, uint32_t i, const tn_type *t) TN_MUST_USE;
/* Result i has the dims that operand `operand` says, if that is a constant. */
tn_status *tn_refine_from_operand(tn_module *m, tn_op *op, uint32_t i,
                                  uint32_t operand) TN_MUST_USE;
/* The same as tn_refine_op and tn_refine_needs_value for custom calls. */
tn_status *tn_refine_custom_call(tn_module *m, tn_op *op) TN_MUST_USE;
bool tn_refine_call_needs_value(const tn_op *op, uint32_t i);
bool tn_is_shape_assertion(const tn_op *op);
/* A custom call that refining takes away or changes, whatever its types say. */
bool tn_refine_is_pending(const tn_op *op);
/* And for those that stand for an op of another number of operands: stablehlo.dynamic_*. */
tn_status *tn_refine_dynamic_call(tn_module *m, tn_op *op) TN_MUST_USE;
bool tn_refine_is_dynamic_call(const tn_op *op);
bool tn_refine_dynamic_call_needs_value(const tn_op *op, uint32_t i);
/* The integers that operand `i` is, if it is a constant; else NULL. */
const int64_t *tn_refine_integers(tn_module *m, const tn_op *op, uint32_t i, uint32_t *n);
/* Whether the value of operand i, not only its type, decides about the shape of results. */
bool tn_refine_needs_value(const tn_op *op, uint32_t i);

/* Takes the first iteration out of a loop whose carried values change their shape: puts
 * if(condition) { body, then the loop `again`, whose operands are what the body gave } else
 * { operands } in the place of `op`. `again` is a detached copy of the loop as it was read. */
void tn_refine_peel(tn_module *m, tn_op *op, const tn_op *again);
/* An `if` that this made. Its regions are to be looked at only once its condition is known. */
bool tn_refine_is_peeled(const tn_op *op);

/* An op of which some result has no known size; where `branches` the branches of an op give
 * different sizes. */
typedef struct {
    tn_op *op;
    bool branches;
} tn_unsized;
/* The values, all of known size, of which shapes of `open` depend and that can be computed without
 * knowing more. In order; none: *n = 0. */
void tn_refine_wanted(tn_module *m, const tn_unsized *open, uint32_t n_open, tn_value ***out,
                      uint32_t *n);
/* Makes main a function that returns these. */
void tn_refine_cut(tn_module *m, tn_value *const *wanted, uint32_t n, tn_refinement *r);

#endif
