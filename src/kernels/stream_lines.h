/* SPDX-License-Identifier: Apache-2.0 */
/* stream_lines.h - copies past the caches, for what is larger than they are: lines that are written
 * whole needn't be read first. For sources that are compiled once for each instruction set. */
#ifndef TN_KERNELS_STREAM_LINES_H
#define TN_KERNELS_STREAM_LINES_H

#include <string.h>

#include "kernels/simd.h"

enum { TN_LINE = 64 };

TN_INLINE void tn_put_line(char *dst, const char *line)
{
#if defined __AVX512F__
    _mm512_stream_si512((void *)dst, _mm512_loadu_si512(line));
#elif defined __AVX2__
    UNROLL for (int i = 0; i < TN_LINE; i += 32)
        _mm256_stream_si256((__m256i *)(dst + i), _mm256_loadu_si256((const __m256i *)(line + i)));
#elif defined __SSE2__
    UNROLL for (int i = 0; i < TN_LINE; i += 16)
        _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(line + i)));
#else
    memcpy(dst, line, TN_LINE);
#endif
}

/* What others read has to be there before they are told so. */
TN_INLINE void tn_end_stream(void)
{
#if defined __SSE2__
    _mm_sfence();
#endif
}

/* memcpy. */
TN_INLINE void tn_stream_out(char *dst, const char *src, int64_t n)
{
    int64_t at = (int64_t)(-(uintptr_t)dst % TN_LINE);
    if (at > n) at = n;
    memcpy(dst, src, (size_t)at);
    for (; at + TN_LINE <= n; at += TN_LINE) tn_put_line(dst + at, src + at);
    memcpy(dst + at, src + at, (size_t)(n - at));
}

#endif
