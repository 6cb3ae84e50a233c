/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - dst[i * dst_row + j] = src[j * src_row + i] for i < columns, j < rows: elements of
 * 1, 2, 4, 8 or 16 bytes in squares of a cache line on each side, through registers. Rows are in
 * bytes; any address; no overlap. Threads: no state. */
#ifndef TN_KERNELS_TRANSPOSE_H
#define TN_KERNELS_TRANSPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu_features.h"

typedef struct {
    int64_t rows, columns, dst_row, src_row;
    bool stream; /* past the caches: for what is larger than they are */
} tn_transpose_shape;

typedef void tn_transpose_fn(size_t width, const tn_transpose_shape *t, char *dst, const char *src);
tn_transpose_fn tn_transpose_baseline, tn_transpose_avx2, tn_transpose_avx512;

static inline void tn_transpose(size_t width, const tn_transpose_shape *t, char *dst,
                                const char *src)
{
#if defined(__x86_64__)
    switch (tn_cpu_isa()) {
    case TN_ISA_AVX512: tn_transpose_avx512(width, t, dst, src); return;
    case TN_ISA_AVX2: tn_transpose_avx2(width, t, dst, src); return;
    default: break;
    }
#endif
    tn_transpose_baseline(width, t, dst, src);
}

#endif
