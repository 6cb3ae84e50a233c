/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - the index vectors of gather and scatter: where each window begins.
 *
 * Both ops pair the positions of an index tensor (all but its index vector dimension) with windows
 * of an operand. A position has a place in the op's other tensor (gather's result, scatter's
 * updates) and, through its index vector and the batching dimensions, a place in the operand. */
#ifndef TN_OPS_WINDOWS_H
#define TN_OPS_WINDOWS_H

#include "ops/infer.h"

/* Attributes of either op under one set of names. */
typedef struct {
    tn_ints window_dims; /* of the other tensor: gather's offset_dims */
    tn_ints
        dropped_dims; /* of the operand: of size 1 in every window, absent from the other tensor */
    tn_ints batching_dims;  /* of the operand */
    tn_ints index_batching; /* of the index tensor, in the same order */
    tn_ints index_map;      /* component of the index vector -> dimension of the operand */
    int64_t vector_dim;
} tn_window_dims;

tn_window_dims tn_gather_dims(const tn_op *op);
tn_window_dims tn_scatter_dims(const tn_op *op);

/* Checks all that the specification says about the dimension numbers against the types of the
 * operand, the index tensor and (its rank only) the other tensor. */
tn_status *tn_check_window_dims(const tn_op *op, const tn_type *operand, const tn_type *indices,
                                uint32_t other_rank) TN_MUST_USE;

static inline bool tn_is_window_dim(const tn_window_dims *d, int64_t operand_dim)
{
    return !tn_ints_have(d->dropped_dims, operand_dim) &&
           !tn_ints_have(d->batching_dims, operand_dim);
}
/* Calls for each dimension of the other tensor that is no window dimension, in order, the dimension
 * of the index tensor that it comes from. */
static inline uint32_t tn_index_dim(const tn_window_dims *d, uint32_t nth)
{
    return nth >= d->vector_dim ? nth + 1 : nth;
}

typedef struct {
    int64_t dim;
    int64_t index;          /* elements of the index tensor in a step */
    int64_t other, operand; /* bytes in a step */
} tn_window_loop;

typedef struct {
    int64_t step;  /* bytes of the operand for one */
    int64_t limit; /* the largest start at which a window fits */
    int64_t index; /* elements of the index tensor to this component */
} tn_window_component;

typedef struct {
    const void *indices;
    tn_element_type index_type;
    int64_t n; /* windows in all */
    uint32_t n_loops, n_components;
    tn_window_loop *loops; /* outermost first */
    tn_window_component *components;
    bool clamp; /* move windows inside; else windows that don't fit are skipped */
} tn_windows;

/* Prepares for tensors of static types; sizes[operand rank] is the window, checked against the
 * operand. What lies in dimensions of the other tensor before `inner` are windows of their own.
 * Memory is from scratch. */
tn_status *tn_windows_prepare(const tn_op *op, const tn_window_dims *d, const tn_tensor *indices,
                              const tn_type *operand, const tn_type *other, const int64_t *sizes,
                              uint32_t inner, tn_scratch *scratch, tn_windows *out) TN_MUST_USE;

/* Windows [begin, end) as runs along the innermost loop: the first element of its index vector (in
 * elements), its place in the operand before the index vector is added, and in the other tensor. */
typedef struct {
    int64_t n, index, operand, other;
} tn_window_run;
/* The first of these runs. Where n_loops is 0 there is one window. */
tn_window_run tn_windows_run(const tn_windows *w, int64_t begin, int64_t end);
/* The innermost loop. */
tn_window_loop tn_windows_innermost(const tn_windows *w);
/* Are runs long enough, and indices such, that loops of indexed.h pay? */
bool tn_windows_are_indexed(const tn_windows *w);

#define TN_WINDOWS_AT_ONCE 256
/* Offsets in bytes of windows [begin, begin + n), n <= TN_WINDOWS_AT_ONCE, in the operand (-1 for
 * those to skip) and in the other tensor. */
void tn_windows_offsets(const tn_windows *w, int64_t begin, int64_t n, int64_t *operand,
                        int64_t *other);

#endif
