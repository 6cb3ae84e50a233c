/* SPDX-License-Identifier: Apache-2.0 */
/* interleave.h - a few arrays to one that has their elements in turn, and back, by permutations of
 * whole vectors. Elements of 4, 8 or 16 bytes at any address; no overlap. Each gives how many of
 * the n elements of each array are done: not what is no whole vector, and none where that isn't
 * worth it or isn't known. Threads: no state. */
#ifndef TN_KERNELS_INTERLEAVE_H
#define TN_KERNELS_INTERLEAVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu_features.h"

enum { TN_INTERLEAVED = 15 /* arrays at most */ };

/* dst[i * k + j] = src[j][i] for j < k. */
typedef int64_t tn_interleave_fn(size_t width, int64_t k, const char *const *src, int64_t n,
                                 char *dst);
tn_interleave_fn tn_interleave_baseline, tn_interleave_avx2, tn_interleave_avx512;

/* dst[j][i] = src[i * k + j] for j < n_out, at most k. Reads k n elements. */
typedef int64_t tn_separate_fn(size_t width, int64_t k, const char *src, int64_t n, int64_t n_out,
                               char *const *dst);
tn_separate_fn tn_separate_baseline, tn_separate_avx2, tn_separate_avx512;

enum { TN_REPEATED = 16 /* copies at most */ };

/* dst[i] = src[(first + i) / k], k <= TN_REPEATED, first < k. src has n_src elements of 1, 2, 4 or
 * 8 bytes; nothing behind them is read. */
typedef int64_t tn_repeat_fn(size_t width, int64_t k, const char *src, int64_t n_src, int64_t first,
                             int64_t n, char *dst);
tn_repeat_fn tn_repeat_baseline, tn_repeat_avx2, tn_repeat_avx512;

static inline int64_t tn_repeat(size_t width, int64_t k, const char *src, int64_t n_src,
                                int64_t first, int64_t n, char *dst)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: return tn_repeat_avx512(width, k, src, n_src, first, n, dst);
    case TN_ISA_AVX2: return tn_repeat_avx2(width, k, src, n_src, first, n, dst);
    default: break;
    }
#endif
    return tn_repeat_baseline(width, k, src, n_src, first, n, dst);
}

static inline int64_t tn_interleave(size_t width, int64_t k, const char *const *src, int64_t n,
                                    char *dst)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: return tn_interleave_avx512(width, k, src, n, dst);
    case TN_ISA_AVX2: return tn_interleave_avx2(width, k, src, n, dst);
    default: break;
    }
#endif
    return tn_interleave_baseline(width, k, src, n, dst);
}

static inline int64_t tn_separate(size_t width, int64_t k, const char *src, int64_t n,
                                  int64_t n_out, char *const *dst)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: return tn_separate_avx512(width, k, src, n, n_out, dst);
    case TN_ISA_AVX2: return tn_separate_avx2(width, k, src, n, n_out, dst);
    default: break;
    }
#endif
    return tn_separate_baseline(width, k, src, n, n_out, dst);
}

#endif
