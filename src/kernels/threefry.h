/* SPDX-License-Identifier: Apache-2.0 */
/* threefry.h - Threefry-2x32 with 20 rounds on arrays (Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3"), and Philox-4x32 with 10.
 *
 * Threads: no state. Every build gives the same bits. */
#ifndef TN_KERNELS_THREEFRY_H
#define TN_KERNELS_THREEFRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_features.h"

/* Blocks i < n: key (k0[i], k1[i]), or (k0[0], k1[0]) for all; counter (x0[i], x1[i]), or, where x0
 * is NULL, (0, x1[i]), or, where both are, the words of first + i, the upper one first. */
typedef struct {
    int64_t n;
    const uint32_t *k0, *k1;
    bool one_key;
    const uint32_t *x0, *x1;
    uint64_t first;
    uint32_t *y0, *y1; /* y1 NULL: y0 becomes the exclusive or of both words */
} tn_threefry_blocks;
void tn_threefry(tn_isa isa, const tn_threefry_blocks *b);

/* Blocks `first` to `first` + n of Philox with the counter (low, high): four words each, in order,
 * at out. */
typedef struct {
    int64_t n;
    uint32_t key[2];
    uint64_t low, high; /* the first block's */
    uint32_t *out;
} tn_philox_blocks;
void tn_philox(tn_isa isa, const tn_philox_blocks *b);

/* --- builds --- */

typedef void tn_threefry_fn(const tn_threefry_blocks *b);
tn_threefry_fn tn_threefry_baseline, tn_threefry_avx2, tn_threefry_avx512;
typedef void tn_philox_fn(const tn_philox_blocks *b);
tn_philox_fn tn_philox_baseline, tn_philox_avx2, tn_philox_avx512;

#endif
