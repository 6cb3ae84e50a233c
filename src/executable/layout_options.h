/* SPDX-License-Identifier: Apache-2.0 */
/* layout_options.h - argument_layouts and result_layout of the compile options. Threads: the
 * arena's. */
#ifndef TN_EXECUTABLE_LAYOUT_OPTIONS_H
#define TN_EXECUTABLE_LAYOUT_OPTIONS_H

#include "executable/compile_options.h"
#include "type/type.h"

/* ShapeProto messages of arrays. Starts as {0}. */
typedef struct {
    tn_proto_span *shapes;
    size_t n, capacity;
} tn_layout_options;

/* The shapes in order, with a tuple's parts in its place. The bytes are not copied. */
tn_status *tn_layout_options_spread(const tn_proto_span *shapes, size_t n, tn_arena *a,
                                    tn_layout_options *out) TN_MUST_USE;

/* The dimensions from minor to major that the shape asks for; NULL: it leaves that open. `role` and
 * `i` name the value in errors: INVALID_ARGUMENT for the shape of another array or no order of
 * dimensions, UNIMPLEMENTED for tiles. */
tn_status *tn_layout_option(const tn_proto_span *shape, const tn_type *type, tn_arena *a,
                            const char *role, uint32_t i, const int64_t **out) TN_MUST_USE;

#endif
