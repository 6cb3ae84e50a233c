/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_avx512.h - internal: 16 x 16 elements of 4 bytes in registers, for sources compiled for
 * AVX-512. */
#ifndef TN_KERNELS_TRANSPOSE_AVX512_H
#define TN_KERNELS_TRANSPOSE_AVX512_H

#include <immintrin.h>

static inline __attribute__((always_inline)) void tn_transpose16(__m512i r[16])
{
    __m512i s[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        s[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(s[i], s[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(s[i], s[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(s[i + 1], s[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(s[i + 1], s[i + 3]);
    }
    /* r[4 g + h], lane l: column 4 l + h of rows 4 g ... 4 g + 3 */
#pragma GCC unroll 4
    for (int h = 0; h < 4; h++) {
        __m512i x = _mm512_shuffle_i32x4(r[h], r[4 + h], 0x88),
                y = _mm512_shuffle_i32x4(r[h], r[4 + h], 0xdd),
                z = _mm512_shuffle_i32x4(r[8 + h], r[12 + h], 0x88),
                w = _mm512_shuffle_i32x4(r[8 + h], r[12 + h], 0xdd);
        s[h] = _mm512_shuffle_i32x4(x, z, 0x88);
        s[4 + h] = _mm512_shuffle_i32x4(y, w, 0x88);
        s[8 + h] = _mm512_shuffle_i32x4(x, z, 0xdd);
        s[12 + h] = _mm512_shuffle_i32x4(y, w, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) r[i] = s[i];
}

#endif
