/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set; see simd.h. */
#include <stddef.h>
#include <string.h>

#include "kernels/gemm_kernels.h"
#include "kernels/half.h"
#include "kernels/simd.h"
#if defined(__AVX512F__)
#include "kernels/transpose_avx512.h"
#endif

/* Tile sizes: accumulators, one row of B and one broadcast of A must fit in the registers. */
#if defined(__AVX512F__)
#define REAL_MR    14 /* 28 of 32 */
#define COMPLEX_MR 6  /* 24 of 32 */
#define DR         2
#define DC         2
#elif defined(__aarch64__)
#define REAL_MR    12 /* 24 of 32 */
#define COMPLEX_MR 6
#define DR         1
#define DC         1
#else
#define REAL_MR    6 /* 12 of 16 */
#define COMPLEX_MR 2 /* 8 of 16 */
#if defined(__AVX2__)
#define DR 1
#else
#define DR 0
#endif
#define DC 1
#endif
#define INTEGER_MR 6 /* multiplying takes several slots, so that few rows keep them full */
#define NV         2

/* --- the first `cols` elements of 4 or 8 bytes of a vector; it may have fewer --- */

typedef uint64_t any_vector __attribute__((vector_size(TN_VB), aligned(1), may_alias));

#if defined(__AVX512F__)
#define TILE_MASKED 1 /* a masked load takes a slot of the multiply-adds */
typedef __mmask16 tile_mask;
TN_INLINE tile_mask tile_mask_of(int64_t cols, size_t size)
{
    return (tile_mask)(cols < TN_VB / (int64_t)size ? (1u << cols) - 1 : 0xffff);
}
TN_INLINE any_vector load_masked(const char *p, tile_mask mask, size_t size)
{
    return (any_vector)(size == 4 ? _mm512_maskz_loadu_epi32(mask, p)
                                  : _mm512_maskz_loadu_epi64((__mmask8)mask, p));
}
TN_INLINE void store_masked(char *p, tile_mask mask, size_t size, any_vector x)
{
    if (size == 4) _mm512_mask_storeu_epi32(p, mask, (__m512i)x);
    else _mm512_mask_storeu_epi64(p, (__mmask8)mask, (__m512i)x);
}
#elif defined(__AVX2__)
#define TILE_MASKED 1 /* the mask takes a register */
typedef __m256i tile_mask;
TN_INLINE tile_mask tile_mask_of(int64_t cols, size_t size)
{
    int n = (int)(cols < 8 ? cols : 8);
    return size == 4
               ? _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
               : _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
TN_INLINE any_vector load_masked(const char *p, tile_mask mask, size_t size)
{
    return (any_vector)(size == 4 ? _mm256_maskload_epi32((const int *)p, mask)
                                  : _mm256_maskload_epi64((const long long *)p, mask));
}
TN_INLINE void store_masked(char *p, tile_mask mask, size_t size, any_vector x)
{
    if (size == 4) _mm256_maskstore_epi32((int *)p, mask, (__m256i)x);
    else _mm256_maskstore_epi64((long long *)p, mask, (__m256i)x);
}
#else
#define TILE_MASKED 0
typedef int tile_mask;
TN_INLINE tile_mask tile_mask_of(int64_t cols, size_t size)
{
    return 0;
}
TN_INLINE any_vector load_masked(const char *p, tile_mask mask, size_t size)
{
    return *(const any_vector *)p;
}
TN_INLINE void store_masked(char *p, tile_mask mask, size_t size, any_vector x)
{
    *(any_vector *)p = x;
}
#endif

/* --- a vector of f32 from as many narrower elements, at any address --- */

#if defined(__AVX512F__)
TN_INLINE vf32 widen_bf16(const char *p)
{
    return (vf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)),
                                   16);
}
TN_INLINE vf32 widen_i8(const char *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
TN_INLINE vf32 widen_u8(const char *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
#elif defined(__AVX2__)
TN_INLINE vf32 widen_bf16(const char *p)
{
    return (vf32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
}
TN_INLINE vf32 widen_i8(const char *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
TN_INLINE vf32 widen_u8(const char *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
#else
TN_INLINE vf32 widen_bf16(const char *p)
{
    uint16_t x[4];
    memcpy(x, p, sizeof x);
    return (vf32)((vu32){x[0], x[1], x[2], x[3]} << 16);
}
TN_INLINE vf32 widen_i8(const char *p)
{
    int8_t x[4];
    memcpy(x, p, sizeof x);
    return (vf32){x[0], x[1], x[2], x[3]};
}
TN_INLINE vf32 widen_u8(const char *p)
{
    uint8_t x[4];
    memcpy(x, p, sizeof x);
    return (vf32){x[0], x[1], x[2], x[3]};
}
#endif

#define MR REAL_MR
#define STREAMED
#define T f32
#define E float
#include "kernels/gemm_tile.inc"
#define LANES 16
#define NARROW
#include "kernels/gemm_dots.inc"
#include "kernels/gemm_batch.inc"
#undef NARROW
#undef LANES
#undef T
#undef E
#define T f64
#define E double
#include "kernels/gemm_tile.inc"
#undef STREAMED
#define LANES 8
#include "kernels/gemm_dots.inc"
#include "kernels/gemm_batch.inc"
#undef LANES
#undef T
#undef E
#undef MR
#define MR INTEGER_MR
#define T  u32
#define E  uint32_t
#include "kernels/gemm_tile.inc"
#undef T
#undef E
#define T p16
#define E uint32_t
#include "kernels/gemm_tile.inc"
#undef T
#undef E
#define T u64
#define E uint64_t
#include "kernels/gemm_tile.inc"
#undef T
#undef E
#undef MR

#define MR COMPLEX_MR
#define T  f32
#define E  float
#include "kernels/gemm_complex_tile.inc"
#undef T
#undef E
#define T f64
#define E double
#include "kernels/gemm_complex_tile.inc"
#undef T
#undef E
#undef MR

/* --- transposition: W x W blocks in registers --- */

#if TN_VB >= 32
typedef uint32_t b32 __attribute__((vector_size(32)));
typedef uint32_t ub32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t b64 __attribute__((vector_size(32)));
typedef uint64_t ub64 __attribute__((vector_size(32), aligned(8), may_alias));
enum { W4 = 8, W8 = 4 };

__attribute__((unused)) TN_INLINE void block4(char *dst, int64_t dst_row, const char *src,
                                              int64_t src_row)
{
    b32 r[8], s[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) r[i] = *(const ub32 *)(src + i * src_row);
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        r[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b32 low = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b32 high = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        *(ub32 *)(dst + i * dst_row) = low;
        *(ub32 *)(dst + (i + 4) * dst_row) = high;
    }
}

TN_INLINE void block8(char *dst, int64_t dst_row, const char *src, int64_t src_row)
{
    b64 r[4], s[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) r[i] = *(const ub64 *)(src + i * src_row);
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 2, 6);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 5, 3, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        *(ub64 *)(dst + i * dst_row) = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 4, 5);
        *(ub64 *)(dst + (i + 2) * dst_row) = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 6, 7);
    }
}
#else
enum { W4 = 4, W8 = 2 };

TN_INLINE void block4(char *dst, int64_t dst_row, const char *src, int64_t src_row)
{
    vu32 r[4], s[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) r[i] = *(const uu32 *)(src + i * src_row);
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 1, 5);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 6, 3, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        *(uu32 *)(dst + 2 * i * dst_row) = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 4, 5);
        *(uu32 *)(dst + (2 * i + 1) * dst_row) =
            __builtin_shufflevector(s[i], s[i + 2], 2, 3, 6, 7);
    }
}

TN_INLINE void block8(char *dst, int64_t dst_row, const char *src, int64_t src_row)
{
    vu64 x = *(const uu64 *)src, y = *(const uu64 *)(src + src_row);
    *(uu64 *)dst = __builtin_shufflevector(x, y, 0, 2);
    *(uu64 *)(dst + dst_row) = __builtin_shufflevector(x, y, 1, 3);
}
#endif

#define TRANSPOSE(bytes, W, E)                                                                     \
    static void transpose##bytes(char *dst, int64_t dst_row, const char *src, int64_t src_row,     \
                                 int64_t rows, int64_t cols)                                       \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + W <= rows; i += W) {                                                            \
            int64_t p = 0;                                                                         \
            for (; p + W <= cols; p += W)                                                          \
                block##bytes(dst + p * dst_row + i * bytes, dst_row,                               \
                             src + i * src_row + p * bytes, src_row);                              \
            for (; p < cols; p++)                                                                  \
                for (int64_t r = i; r < i + W; r++)                                                \
                    *(E *)(dst + p * dst_row + r * bytes) =                                        \
                        *(const E *)(src + r * src_row + p * bytes);                               \
        }                                                                                          \
        for (; i < rows; i++)                                                                      \
            for (int64_t p = 0; p < cols; p++)                                                     \
                *(E *)(dst + p * dst_row + i * bytes) =                                            \
                    *(const E *)(src + i * src_row + p * bytes);                                   \
    }
typedef uint32_t any32 __attribute__((may_alias));
typedef uint64_t any64 __attribute__((may_alias));
#if defined(__AVX512F__)
/* `rows`, `cols`: 16 where that is known, and no mask needed. */
TN_INLINE void block16(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows,
                       int64_t cols)
{
    __m512i r[16];
    __mmask16 row = (__mmask16)((1u << cols) - 1), col = (__mmask16)((1u << rows) - 1);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = i >= rows    ? _mm512_setzero_si512()
               : cols == 16 ? _mm512_loadu_si512(src + i * src_row)
                            : _mm512_maskz_loadu_epi32(row, src + i * src_row);
    tn_transpose16(r);
#pragma GCC unroll 16
    for (int p = 0; p < 16; p++) {
        if (p >= cols) break;
        if (rows == 16) _mm512_storeu_si512(dst + p * dst_row, r[p]);
        else _mm512_mask_storeu_epi32(dst + p * dst_row, col, r[p]);
    }
}

static void transpose4(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows,
                       int64_t cols)
{
    for (int64_t i = 0; i < rows; i += 16)
        for (int64_t p = 0; p < cols; p += 16) {
            char *to = dst + p * dst_row + i * 4;
            const char *from = src + i * src_row + p * 4;
            int64_t n = rows - i, m = cols - p;
            if (n >= 16 && m >= 16) block16(to, dst_row, from, src_row, 16, 16);
            else if (n >= 16) block16(to, dst_row, from, src_row, 16, m);
            else block16(to, dst_row, from, src_row, n, m < 16 ? m : 16);
        }
}
#else
TRANSPOSE(4, W4, any32)
#endif
TRANSPOSE(8, W8, any64)

/* --- half floats: half.h vectorised, or the instructions for f16 --- */

static void f32_of_bf16(float *dst, const uint16_t *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dst[i] = tn_f32_of_bf16(src[i]);
}

static void bf16_of_f32(uint16_t *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dst[i] = tn_bf16_of_f32(src[i]);
}

static void f32_of_f16(float *dst, const uint16_t *src, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(dst + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(src + i))));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
#endif
    for (; i < n; i++) dst[i] = tn_f32_of_f16(src[i]);
}

#define F32_OF(name, E)                                                                            \
    static void f32_of_##name(float *dst, const E *src, int64_t n)                                 \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) dst[i] = src[i];                                           \
    }
F32_OF(i8, int8_t)
F32_OF(u8, uint8_t)
F32_OF(i16, int16_t)
F32_OF(u16, uint16_t)

static void f16_of_f32(uint16_t *dst, const float *src, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(dst + i), _mm512_cvtps_ph(_mm512_loadu_ps(src + i), 0));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
#endif
    for (; i < n; i++) dst[i] = tn_f16_of_f32(src[i]);
}

/* --- triangular systems --- */

#define SOLVE(bytes, T, E)                                                                         \
    TN_INLINE void solve_some##bytes(const int some, int64_t n, int64_t vectors, const E *c,       \
                                     v##T *x)                                                      \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++, c += n) {                                                  \
            v##T sum[8];                                                                           \
            const v##T *known = x;                                                                 \
            v##T *to = x + j * vectors;                                                            \
            UNROLL for (int q = 0; q < some; q++) sum[q] = to[q];                                  \
            for (int64_t i = 0; i < j; i++, known += vectors) {                                    \
                v##T by = set_##T(c[i]);                                                           \
                UNROLL for (int q = 0; q < some; q++) sum[q] = fnma_##T(known[q], by, sum[q]);     \
            }                                                                                      \
            UNROLL for (int q = 0; q < some; q++) to[q] = sum[q] * c[j];                           \
        }                                                                                          \
    }                                                                                              \
    static void solve##bytes(int64_t n, int64_t vectors, const char *c, char *x)                   \
    {                                                                                              \
        int64_t v = 0;                                                                             \
        for (; v + 8 <= vectors; v += 8)                                                           \
            solve_some##bytes(8, n, vectors, (const E *)c, (v##T *)x + v);                         \
        for (; v < vectors; v++) solve_some##bytes(1, n, vectors, (const E *)c, (v##T *)x + v);    \
    }
SOLVE(4, f32, float)
SOLVE(8, f64, double)

/* --- copying rows into a panel --- */

TN_INLINE void copy_vectors(const int vectors, char *dst, const char *src, int64_t src_row,
                            int64_t rows)
{
    for (int64_t p = 0; p < rows; p++, dst += vectors * TN_VB, src += src_row)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            *(uu64 *)(dst + v * TN_VB) = *(const any_vector *)(src + v * TN_VB);
}

static void copy_panel(char *dst, const char *src, int64_t src_row, int64_t rows, int64_t vectors)
{
    if (vectors == 1) copy_vectors(1, dst, src, src_row, rows);
    else copy_vectors(2, dst, src, src_row, rows);
}

#if defined(__AVX2__)
#include "kernels/gemm_ordered.inc"
#define ORDERED_SUMS                                                                               \
    .ordered = {ordered_f32, [1 + TN_GEMM_NARROW_BF16] = ordered_bf16,                             \
                [1 + TN_GEMM_NARROW_I8] = ordered_i8, [1 + TN_GEMM_NARROW_U8] = ordered_u8},
#else
#define ORDERED_SUMS
#endif

#define FLOAT_LOOPS(name, bytes, ...)                                                              \
    {.mr = REAL_MR,                                                                                \
     .masked = TILE_MASKED,                                                                        \
     .nv = NV,                                                                                     \
     .vl = TN_VB / bytes,                                                                          \
     .tiles = tiles_##name,                                                                        \
     .dot_rows = 1 << DR,                                                                          \
     .dot_cols = 1 << DC,                                                                          \
     .dots = all_dots_##name,                                                                      \
     .dot_line = dot_line_##name,                                                                  \
     .reduce_lanes = reduce_lanes_##name,                                                          \
     .dot_row = dot_row_##name,                                                                    \
     .stream = stream_##name,                                                                      \
     .batch = batch_##name,                                                                        \
     .batch_dots = batch_dots_##name,                                                              \
     __VA_ARGS__}
#define LOOPS(rows, name, bytes, ...)                                                              \
    {.mr = rows, .nv = NV, .vl = TN_VB / bytes, .tiles = tiles_##name, __VA_ARGS__}

extern const tn_gemm_table TN_ISA_NAME(tn_gemm_table);
const tn_gemm_table TN_ISA_NAME(tn_gemm_table) = {
    .kinds = {[TN_GEMM_F32] = FLOAT_LOOPS(f32, 4, .narrow_dots = {dots_bf16, dots_i8, dots_u8}),
              [TN_GEMM_F64] = FLOAT_LOOPS(f64, 8),
              [TN_GEMM_I32] = LOOPS(INTEGER_MR, u32, 4, .masked = TILE_MASKED),
              [TN_GEMM_P16] = LOOPS(INTEGER_MR, p16, 4, .masked = TILE_MASKED),
              [TN_GEMM_I64] = LOOPS(INTEGER_MR, u64, 8, .masked = TILE_MASKED),
              [TN_GEMM_C64] = LOOPS(COMPLEX_MR, complex_f32, 4, ),
              [TN_GEMM_C128] = LOOPS(COMPLEX_MR, complex_f64, 8, )},
    ORDERED_SUMS.transpose4 = transpose4,
    .transpose8 = transpose8,
    .f32_of_bf16 = f32_of_bf16,
    .f32_of_f16 = f32_of_f16,
    .f32_of_i8 = f32_of_i8,
    .f32_of_u8 = f32_of_u8,
    .f32_of_i16 = f32_of_i16,
    .f32_of_u16 = f32_of_u16,
    .bf16_of_f32 = bf16_of_f32,
    .f16_of_f32 = f16_of_f32,
    .copy_panel = copy_panel,
    .solve4 = solve4,
    .solve8 = solve8,
};
