/* SPDX-License-Identifier: Apache-2.0 */
/* strided_loops.h - the innermost loops of a strided copy: i over d1, j over d0, with the bytes
 * that a step takes on either side; and for copies one more around them, over d2. Elements of 1, 2,
 * 4, 8 or 16 bytes at any address; no overlap. Threads: no state. */
#ifndef TN_KERNELS_STRIDED_LOOPS_H
#define TN_KERNELS_STRIDED_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu_features.h"

typedef struct {
    int64_t d1, d0, dst1, dst0, src1, src0;
    int64_t d2, dst2, src2; /* tn_copy_loop's alone; 0 as 1 */
    bool stream;            /* past the caches, where what is written lies side by side */
} tn_strided_inner;

typedef void tn_strided_loop_fn(size_t width, const tn_strided_inner *l, char *dst,
                                const char *src);
/* Copies; and, for src0 = 0, fills. */
tn_strided_loop_fn tn_copy_loop_baseline, tn_copy_loop_avx2, tn_copy_loop_avx512;
tn_strided_loop_fn tn_fill_loop_baseline, tn_fill_loop_avx2, tn_fill_loop_avx512;

/* d1 steps, in each of which one element of each of d0 = 2, 3 or 4 places goes to as many in a row
 * (dst0 is their width, dst1 d0 of them; src1 is a width), or the other way round (src0, src1 and
 * dst1). False where it isn't so, or for other widths than 1, 2, 4 and 8. src0 may be 0. */
typedef bool tn_weave_loop_fn(size_t width, const tn_strided_inner *l, char *dst, const char *src);
tn_weave_loop_fn tn_weave_loop_baseline, tn_weave_loop_avx2, tn_weave_loop_avx512;

/* d2 matrices side by side in the destination, whose elements lie near each other in the source:
 * false where that isn't so or nothing is known for it. */
tn_weave_loop_fn tn_matrices_loop_baseline, tn_matrices_loop_avx2, tn_matrices_loop_avx512;

static inline bool tn_matrices_loop(size_t width, const tn_strided_inner *l, char *dst,
                                    const char *src)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: return tn_matrices_loop_avx512(width, l, dst, src);
    case TN_ISA_AVX2: return tn_matrices_loop_avx2(width, l, dst, src);
    default: break;
    }
#endif
    return tn_matrices_loop_baseline(width, l, dst, src);
}

static inline bool tn_weave_loop(size_t width, const tn_strided_inner *l, char *dst,
                                 const char *src)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: return tn_weave_loop_avx512(width, l, dst, src);
    case TN_ISA_AVX2: return tn_weave_loop_avx2(width, l, dst, src);
    default: break;
    }
#endif
    return tn_weave_loop_baseline(width, l, dst, src);
}

static inline void tn_copy_loop(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: tn_copy_loop_avx512(width, l, dst, src); return;
    case TN_ISA_AVX2: tn_copy_loop_avx2(width, l, dst, src); return;
    default: break;
    }
#endif
    tn_copy_loop_baseline(width, l, dst, src);
}

static inline void tn_fill_loop(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: tn_fill_loop_avx512(width, l, dst, src); return;
    case TN_ISA_AVX2: tn_fill_loop_avx2(width, l, dst, src); return;
    default: break;
    }
#endif
    tn_fill_loop_baseline(width, l, dst, src);
}

#endif
