/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - value numbers of bytecode.
 *
 * Each region claims a run of numbers behind those of the regions around it, hands them out in
 * order of definition and gives them back at its end. An isolated region starts again at 0 and sees
 * nothing of what is around it. */
#ifndef TN_READER_VALUES_H
#define TN_READER_VALUES_H

#include "ir/ir.h"
#include "reader/cursor.h"

enum { TN_REGION_DEPTH = 200 };

typedef struct {
    uint64_t base, claimed; /* numbers base .. base + claimed - 1 */
    size_t defined, capacity;
    tn_value **values;
} tn_value_frame;

typedef struct {
    tn_arena *arena;
    unsigned depth; /* open frames */
    unsigned scope; /* the first frame that is visible */
    tn_value_frame frames[TN_REGION_DEPTH + 1];
} tn_value_scopes;

/* Opens a region that defines `claimed` values. */
tn_status *tn_values_open(tn_value_scopes *s, const tn_cursor *c, uint64_t claimed) TN_MUST_USE;
/* Closes it: all of its values must have been defined. */
tn_status *tn_values_close(tn_value_scopes *s, const tn_cursor *c) TN_MUST_USE;
tn_status *tn_values_define(tn_value_scopes *s, const tn_cursor *c, tn_value *v) TN_MUST_USE;
tn_status *tn_values_find(const tn_value_scopes *s, const tn_cursor *c, uint64_t number,
                          tn_value **out) TN_MUST_USE;

#endif
