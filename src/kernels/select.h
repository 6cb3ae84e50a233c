/* SPDX-License-Identifier: Apache-2.0 */
/* select.h - elements as unsigned integers of their order, and those below a limit. Threads: no
 * state. Every build gives the same. */
#ifndef TN_KERNELS_SELECT_H
#define TN_KERNELS_SELECT_H

#include <stdint.h>

#include "base/cpu_features.h"
#include "type/type.h"

/* Writes `at` + i for every x[i] < limit, i < n, in order, to out[n + 16]; how many. */
int64_t tn_select_u32(tn_isa isa, const uint32_t *x, int64_t n, uint32_t limit, uint32_t at,
                      uint32_t *out);
int64_t tn_select_u64(tn_isa isa, const uint64_t *x, int64_t n, uint64_t limit, uint32_t at,
                      uint32_t *out);

/* out[i], uint64_t for elements of 64 bits and uint32_t for others, orders as x[i] does: below for
 * less, or for greater if `descending`. Floats (f32, f64): by total order, or with all NaNs alike
 * and last and -0 equal to 0. */
void tn_order_keys(tn_isa isa, tn_element_type e, bool total, bool descending, const void *x,
                   int64_t n, void *out);

#define TN_SELECT_BUILD(isa)                                                                       \
    void tn_order_keys_##isa(tn_element_type, bool, bool, const void *, int64_t, void *);          \
    int64_t tn_select_u32_##isa(const uint32_t *, int64_t, uint32_t, uint32_t, uint32_t *);        \
    int64_t tn_select_u64_##isa(const uint64_t *, int64_t, uint64_t, uint32_t, uint32_t *);
TN_SELECT_BUILD(baseline)
TN_SELECT_BUILD(avx2)
TN_SELECT_BUILD(avx512)

#endif
