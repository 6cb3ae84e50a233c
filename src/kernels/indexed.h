/* SPDX-License-Identifier: Apache-2.0 */
/* indexed.h - the inner loops of gather and scatter: positions in a row, each with one index that
 * says where its window of contiguous elements lies.
 *
 * Position i of a run has its index at indices[i * index_step], its window in the operand at
 * operand + index * step + i * operand_step and its place in the other tensor (gather's result,
 * scatter's updates) at other + i * other_step. Positions are done in order, and every build gives
 * the same bits. Threads: no state. */
#ifndef TN_KERNELS_INDEXED_H
#define TN_KERNELS_INDEXED_H

#include "base/cpu_features.h"
#include "kernels/elementwise.h"

typedef struct {
    const void *indices;
    tn_element_type index; /* scatter: their type */
    int64_t index_step;    /* elements */
    int64_t n;             /* positions */
    int64_t first, end;    /* gather moves indices into [first, end), scatter skips those outside;
                              0 <= first < end, for scatter < 2^31 */
    int64_t step, operand_step, other_step; /* bytes */
    int64_t size;                           /* elements of a window */
    char *operand, *other;
    bool stream; /* gather writes long windows past the caches */
} tn_indexed_run;

typedef void tn_indexed_fn(const tn_indexed_run *r);

/* Elements of `width` bytes by indices of type `index`. NULL: there is no such loop. */
tn_indexed_fn *tn_indexed_gather(tn_isa isa, tn_element_type index, size_t width);
/* operand = combiner(operand, update) in element type e; TN_OP_INVALID overwrites. */
tn_indexed_fn *tn_indexed_scatter(tn_isa isa, tn_element_type index, tn_op_kind combiner,
                                  tn_element_type e);

/* --- one build of them --- */

typedef struct {
    tn_indexed_fn *(*gather)(tn_element_type index, size_t width);
    tn_indexed_fn *(*scatter)(tn_element_type index, tn_op_kind combiner, tn_element_type e);
    tn_kernel_fn *(*take)(size_t width); /* bits[0] is the last element of the table */
} tn_indexed_build;
extern const tn_indexed_build tn_indexed_build_baseline, tn_indexed_build_avx2,
    tn_indexed_build_avx512;

#endif
