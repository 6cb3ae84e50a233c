/* SPDX-License-Identifier: Apache-2.0 */
/* sort_lines.h - sorts arrays of unsigned integers, and turns keys of select.h back into elements.
 *
 * Equal numbers are one and the same, so every build, and every way of cutting an array into ranges
 * that are sorted apart, gives the same. Threads: no state. */
#ifndef TN_KERNELS_SORT_LINES_H
#define TN_KERNELS_SORT_LINES_H

#include <stdint.h>

#include "base/cpu_features.h"
#include "type/type.h"

/* Ascending, in place. */
void tn_sort_u32(tn_isa isa, uint32_t *x, int64_t n);
void tn_sort_u64(tn_isa isa, uint64_t *x, int64_t n);

/* Moves elements so that x is made of up to TN_SORT_RANGES ranges, each above the one before; range
 * i begins at bounds[i] and ends at bounds[i + 1]. How many. */
#define TN_SORT_RANGES 16
int64_t tn_sort_split_u32(tn_isa isa, uint32_t *x, int64_t n, int64_t *bounds);
int64_t tn_sort_split_u64(tn_isa isa, uint64_t *x, int64_t n, int64_t *bounds);

/* Whether keys can be turned back: elements of i8 to u64, f32 and f64. */
bool tn_keys_are_elements(tn_element_type e);
/* Elements that have these keys. */
void tn_restore_keys(tn_isa isa, tn_element_type e, bool descending, const void *keys, int64_t n,
                     void *out);

#define TN_SORT_BUILD(isa)                                                                         \
    void tn_sort_u32_##isa(uint32_t *, int64_t);                                                   \
    void tn_sort_u64_##isa(uint64_t *, int64_t);                                                   \
    int64_t tn_sort_split_u32_##isa(uint32_t *, int64_t, int64_t *);                               \
    int64_t tn_sort_split_u64_##isa(uint64_t *, int64_t, int64_t *);                               \
    void tn_restore_keys_##isa(tn_element_type, bool, const void *, int64_t, void *);
TN_SORT_BUILD(baseline)
TN_SORT_BUILD(avx2)
TN_SORT_BUILD(avx512)

#endif
