/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h - checked runs: for users who doubt a value, and for us. See docs/checked-mode.md.
 *
 * What to check is a set of names, in the environment variable TN_CHECK or in the compile option
 * "tenon_check":
 *   values  the program is evaluated a second time, op by op without passes, fusion or aliasing;
 * the first op whose compiled value differs is an error (INTERNAL) nan     the first op that makes
 * a NaN of operands without one is an error (FAILED_PRECONDITION) bounds  the first index of a
 * slice, update, gather or scatter that is clamped or skipped for lying outside is an error
 * (OUT_OF_RANGE) Errors name the op and its source line. */
#ifndef TN_EXECUTABLE_CHECKED_H
#define TN_EXECUTABLE_CHECKED_H

#include "executable/compile_options.h"
#include "executable/executable.h"
#include "ops/ops.h"

enum { TN_CHECK_VALUES = 1, TN_CHECK_NAN = 2, TN_CHECK_BOUNDS = 4 };

/* The set that the options ask for, or else the environment; options may be NULL. INVALID_ARGUMENT:
 * a name is unknown. */
tn_status *tn_checks_wanted(const tn_compile_options *options, unsigned *out) TN_MUST_USE;

/* Runs `e` and checks it. `compiled` is the plain run. Programs that can't be run twice (side
 * effects, several devices) are run unchecked, and a warning is logged. */
tn_status *tn_run_checked(const tn_executable *e, const tn_run *run, unsigned checks,
                          tn_status *(*compiled)(const tn_executable *e,
                                                 const tn_run *run)) TN_MUST_USE;

/* What an interpreter's run is watched for (checked_ops.c). */
typedef struct {
    tn_eval_observer as_observer; /* first */
    unsigned checks;
    tn_status *found; /* the first one; the caller's */
} tn_op_watch;
void tn_watch_op(const tn_eval_observer *self, const tn_op *op, const tn_tensor *operands,
                 const tn_tensor *results);

/* The first element that differs, or -1; NaNs are equal. */
int64_t tn_first_difference(const tn_type *t, const void *x, const void *y);
/* Element i as text, in buf. */
const char *tn_element_text(const tn_type *t, const void *data, int64_t i, char *buf, size_t size);

#endif
