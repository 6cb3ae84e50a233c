/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - takes a StableHLO program apart into programs of one op each, so that a plugin can be
 * asked about every op.
 *
 * Equal ops (same kind, types, attributes and regions) are one slice. Calls, loops, branches and
 * returns are not slices themselves; the ops inside of them are. Threads: slices are immutable. */
#ifndef TN_SLICES_H
#define TN_SLICES_H

#include <stdint.h>

#include "tenon/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *op;       /* "stablehlo.add" */
    const char *form;     /* "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>" */
    const char *location; /* of the first such op, "" if the program names none */
    uint32_t count;       /* how often it stands in the program */
    const void *code;     /* a portable artifact whose @main takes the op's operands and gives its
                             results; NULL: has no such form */
    size_t size;
} tn_slice;

typedef struct tn_slices tn_slices;

/* Takes MLIR bytecode apart; `code` is only read during the call. The caller ends *out with
 * tn_slices_free. */
tn_status *tn_slices_make(const void *code, size_t size, tn_slices **out) TN_MUST_USE;
void tn_slices_free(tn_slices *s); /* NULL is fine */
size_t tn_slices_count(const tn_slices *s);
const tn_slice *tn_slices_get(const tn_slices *s,
                              size_t i); /* in the order of first appearance; lives with s */

#ifdef __cplusplus
}
#endif
#endif
