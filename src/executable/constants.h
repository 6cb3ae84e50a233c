/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h - the memory of constants.
 *
 * Most constants are laid down once at compile time. A large splat (zeros that a loop starts from)
 * is filled in at run time instead, straight into the memory where it is wanted. */
#ifndef TN_EXECUTABLE_CONSTANTS_H
#define TN_EXECUTABLE_CONSTANTS_H

#include "ir/ir.h"

/* Whether a constant op is a step that fills memory. */
bool tn_constant_is_filled(const tn_op *op);
/* The dense elements of a constant op, aligned to 64; what had to be laid down for it is added to
 * *bytes. */
const void *tn_constant_data(tn_arena *a, const tn_op *op, size_t *bytes);
/* Fills `bytes` at `to` with copies of the `size` bytes at `element`. */
void tn_constant_fill(void *to, size_t bytes, const void *element, size_t size);

#endif
