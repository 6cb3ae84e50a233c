/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - runs a program every way there is, and compares each with the interpreter.
 *
 * Values are compared bit for bit; two NaNs of a type are equal, since neither the sign nor the
 * payload of a NaN is specified. */
#ifndef TN_TEST_VALUES_CHECK_H
#define TN_TEST_VALUES_CHECK_H

#include <stdio.h>

#include "ops/ops.h"

typedef enum {
    VALUES_SAME,
    VALUES_REFUSED, /* the compiler says that it can't run this: not counted as a difference */
    VALUES_DIFFER,
    VALUES_FAILED /* a run failed, or reading what was printed did */
} values_verdict;

/* Where a program comes from: a seed, or text. Reading it again gives an equal one. */
typedef struct {
    uint64_t seed; /* also of the arguments */
    const char *text;
    size_t size; /* 0: generated from the seed */
} values_source;

/* Reads or generates it in `a`, verified. */
tn_status *values_read(const values_source *s, tn_arena *a, tn_module **out) TN_MUST_USE;
/* `report`: where the difference is told, or NULL. */
values_verdict values_check(const values_source *s, FILE *report);
/* The text of a program, for people and for shrinking; caller frees. NULL: it can't be made. */
char *values_text(const values_source *s, size_t *size);

/* A smaller program that still gives `verdict` (a crash counts as VALUES_FAILED), as text; caller
 * frees. `check` runs in a process of its own. */
char *values_shrink(const values_source *s, values_verdict verdict, size_t *size);
/* values_check in a child process; crashes and hangs are VALUES_FAILED. */
values_verdict values_check_apart(const values_source *s, FILE *report);

/* Interprets it, telling `observer` of each op; its module lives in `a`. */
tn_status *values_interpret(const values_source *s, tn_arena *a,
                            const tn_eval_observer *observer) TN_MUST_USE;

/* The first difference between two tensors of a type: its element, or -1. */
int64_t values_compare(const tn_type *t, const void *x, const void *y);

/* Checks the results of one op against a reference that shares no code with its evaluator
 * (reference.c). Gives what is wrong, or NULL; the text lives until the next call. */
const char *values_check_op(const tn_op *op, const tn_tensor *operands, const tn_tensor *results);

#endif
