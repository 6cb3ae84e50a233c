/* SPDX-License-Identifier: Apache-2.0 */
/* small.h - steps of some nanoseconds: what loops do at each turn beside their work.
 *
 * Counters and their comparisons are one operation on two integers. A dynamic slice, or an update
 * in place, whose window is one piece of memory is a copy from or to a place that its indices say.
 */
#ifndef TN_EXECUTABLE_SMALL_H
#define TN_EXECUTABLE_SMALL_H

#include "codegen/tile.h"
#include "ir/ir.h"

typedef void tn_scalar_fn(const void *a, const void *b, void *out);

/* What the program computes if that is one such operation, else NULL; *op is what it stands for. */
tn_scalar_fn *tn_small_scalar(const tn_tile_program *t, const tn_op **op);

/* The window begins at the sum of stride * (index, moved into [0, room]). */
typedef struct {
    uint32_t operand; /* that is the index */
    tn_element_type element;
    int64_t room, stride; /* in bytes */
} tn_window_index;

typedef struct {
    size_t bytes;
    uint32_t n;
    tn_window_index at[];
} tn_window;

/* The window of a dynamic_slice or dynamic_update_slice, if it is one piece (and small); else NULL.
 */
const tn_window *tn_window_of(const tn_op *op, tn_arena *a);
const tn_window *tn_small_window(const tn_op *op, tn_arena *a);
/* Where it begins; operands: the memory of the op's operands. */
int64_t tn_window_offset(const tn_window *w, void *const *operands);

#endif
