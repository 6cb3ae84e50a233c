/* SPDX-License-Identifier: Apache-2.0 */
/* sort_lines.h - sorts arrays of unsigned integers, and turns keys of select.h back into elements.
 *
 * Equal numbers are one and the same, so every build, and every way of cutting an array into ranges
 * that are sorted apart, gives the same. Threads: no state. */
#ifndef TN_KERNELS_SORT_LINES_H
#define TN_KERNELS_SORT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_features.h"
#include "type/type.h"

/* Ascending, in place. */
void tn_sort_u32(tn_isa isa, uint32_t *x, int64_t n);
void tn_sort_u64(tn_isa isa, uint64_t *x, int64_t n);

/* A number of x near its middle, x's own; n > 0. */
uint32_t tn_sort_pivot_u32(tn_isa isa, const uint32_t *x, int64_t n);
uint64_t tn_sort_pivot_u64(tn_isa isa, const uint64_t *x, int64_t n);
/* Moves elements so that those below the pivot (or, if `equal`, not above it) come first; how many.
 * n >= TN_SORT_DIVIDE_LEAST. */
#define TN_SORT_DIVIDE_LEAST 128
int64_t tn_sort_divide_u32(tn_isa isa, uint32_t *x, int64_t n, uint32_t pivot, bool equal);
int64_t tn_sort_divide_u64(tn_isa isa, uint64_t *x, int64_t n, uint64_t pivot, bool equal);

/* Whether keys can be turned back: elements of i8 to u64, f32 and f64. */
bool tn_keys_are_elements(tn_element_type e);
/* Elements that have these keys. */
void tn_restore_keys(tn_isa isa, tn_element_type e, bool descending, const void *keys, int64_t n,
                     void *out);

#define TN_SORT_BUILD(isa)                                                                         \
    void tn_sort_u32_##isa(uint32_t *, int64_t);                                                   \
    void tn_sort_u64_##isa(uint64_t *, int64_t);                                                   \
    uint32_t tn_sort_pivot_u32_##isa(const uint32_t *, int64_t);                                   \
    uint64_t tn_sort_pivot_u64_##isa(const uint64_t *, int64_t);                                   \
    int64_t tn_sort_divide_u32_##isa(uint32_t *, int64_t, uint32_t, bool);                         \
    int64_t tn_sort_divide_u64_##isa(uint64_t *, int64_t, uint64_t, bool);                         \
    void tn_restore_keys_##isa(tn_element_type, bool, const void *, int64_t, void *);
TN_SORT_BUILD(baseline)
TN_SORT_BUILD(avx2)
TN_SORT_BUILD(avx512)

#endif
