/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - byte strides of layouts, and copies between arrays with any strides. Threads: any. */
#ifndef TN_RUNTIME_LAYOUT_H
#define TN_RUNTIME_LAYOUT_H

#include "base/thread_pool.h"
#include "runtime/buffer.h"

/* Bytes between elements along each dimension of an array of the type: out[rank]. NULL: row-major.
 * INVALID_ARGUMENT: tiles, another rank, or an order that is no permutation. */
tn_status *tn_layout_strides(const tn_layout *layout, const tn_type *type,
                             int64_t *out) TN_MUST_USE;

/* The order of the dimensions, minor to major: out[rank]. NULL: row-major. UNIMPLEMENTED: strides
 * that leave gaps, which device memory can't have; else the errors of tn_layout_strides. */
tn_status *tn_layout_order(const tn_layout *layout, const tn_type *type, int64_t *out) TN_MUST_USE;
/* The same without the answer. */
tn_status *tn_layout_check_device(const tn_layout *layout, const tn_type *type) TN_MUST_USE;

/* Whether strides are those of the dense row-major array; ignores dimensions of size 1. */
bool tn_strides_are_dense(const int64_t *strides, const tn_type *type);
/* Whether both put every element at the same place. */
bool tn_strides_agree(const int64_t *x, const int64_t *y, const tn_type *type);

/* Copies an array of the type; addresses are those of element 0, ..., 0. The arrays don't overlap.
 * INVALID_ARGUMENT: more than TN_MOST_STRIDED_DIMS dimensions that can't be merged. */
enum { TN_MOST_STRIDED_DIMS = 64 };
tn_status *tn_strided_copy(tn_thread_pool *pool, const tn_type *type, void *dst,
                           const int64_t *dst_strides, const void *src,
                           const int64_t *src_strides) TN_MUST_USE;

/* memcpy on several threads. */
void tn_parallel_memcpy(tn_thread_pool *pool, void *dst, const void *src, size_t size);

/* Whether elements are less than a byte, and host arrays may have anything in the other bits. */
bool tn_element_is_padded(tn_element_type e);
/* Gives the other bits of `n` such elements the value that kernels expect: sign or zeros. */
void tn_normalize_padding(tn_element_type e, void *data, size_t n);

#endif
