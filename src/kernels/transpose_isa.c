/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/transpose.h"

#include <string.h>

#include "kernels/interleave.h"
#include "kernels/simd.h"
#include "kernels/strided_loops.h"
#if defined __AVX512F__
#include "kernels/transpose_avx512.h"
#endif

enum { LINE = 64 };

#if defined __AVX512F__
TN_INLINE void put_vector(char *dst, __m512i v, bool stream)
{
    if (stream) _mm512_stream_si512((void *)dst, v);
    else _mm512_storeu_si512(dst, v);
}
#endif

/* A line of a square to where it belongs. */
TN_INLINE void put_line(char *dst, const char *line, bool stream)
{
#if defined __AVX512F__
    put_vector(dst, _mm512_load_si512(line), stream);
#elif defined __AVX2__
    UNROLL for (int i = 0; i < LINE; i += 32)
    {
        __m256i v = _mm256_load_si256((const __m256i *)(line + i));
        if (stream) _mm256_stream_si256((__m256i *)(dst + i), v);
        else _mm256_storeu_si256((__m256i *)(dst + i), v);
    }
#elif defined __x86_64__
    UNROLL for (int i = 0; i < LINE; i += 16)
    {
        __m128i v = _mm_load_si128((const __m128i *)(line + i));
        if (stream) _mm_stream_si128((__m128i *)(dst + i), v);
        else _mm_storeu_si128((__m128i *)(dst + i), v);
    }
#else
    (void)stream;
    memcpy(dst, line, LINE);
#endif
}

/* --- squares of 16 bytes: interleaving row i with row i + N / 2, log2(N) times over, transposes N
 * rows of N --- */

typedef uint8_t v1 __attribute__((vector_size(16)));
typedef uint16_t v2 __attribute__((vector_size(16)));
typedef uint32_t v4 __attribute__((vector_size(16)));
typedef uint64_t v8 __attribute__((vector_size(16)));
#define LOW1  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW2  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH2 4, 12, 5, 13, 6, 14, 7, 15
#define LOW4  0, 4, 1, 5
#define HIGH4 2, 6, 3, 7
#define LOW8  0, 2
#define HIGH8 1, 3

/* Unrolled so that the rows stay in registers. */
#define DEFINE_SQUARE(W, STAGES)                                                                   \
    TN_INLINE void square_##W(char *dst, int64_t dst_row, const char *src, int64_t src_row)        \
    {                                                                                              \
        enum { N = 16 / W };                                                                       \
        v##W r[N], t[N];                                                                           \
        UNROLL for (int i = 0; i < N; i++) memcpy(&r[i], src + i * src_row, 16);                   \
        UNROLL for (int stage = 0; stage < STAGES; stage++)                                        \
        {                                                                                          \
            UNROLL for (int i = 0; i < N / 2; i++)                                                 \
            {                                                                                      \
                t[2 * i] = __builtin_shufflevector(r[i], r[i + N / 2], LOW##W);                    \
                t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + N / 2], HIGH##W);               \
            }                                                                                      \
            UNROLL for (int i = 0; i < N; i++) r[i] = t[i];                                        \
        }                                                                                          \
        UNROLL for (int i = 0; i < N; i++) memcpy(dst + i * dst_row, &r[i], 16);                   \
    }                                                                                              \
    /* A line on each side, by way of memory. */                                                   \
    TN_INLINE void tiled_##W(const tn_transpose_shape *s, char *dst, const char *src, bool stream) \
    {                                                                                              \
        enum { N = LINE / W };                                                                     \
        _Alignas(LINE) char tile[N * LINE];                                                        \
        for (int y = 0; y < N; y += 16 / W)                                                        \
            for (int x = 0; x < N; x += 16 / W)                                                    \
                square_##W(tile + x * LINE + y * W, LINE, src + x * W + y * s->src_row,            \
                           s->src_row);                                                            \
        for (int x = 0; x < N; x++) put_line(dst + x * s->dst_row, tile + x * LINE, stream);       \
    }
DEFINE_SQUARE(1, 4)
#if !defined __AVX512F__
DEFINE_SQUARE(4, 2)
DEFINE_SQUARE(8, 1)
#define lines_4 tiled_4
#define lines_8 tiled_8
#endif
#define lines_1 tiled_1
#if !defined __AVX512BW__
DEFINE_SQUARE(2, 3)
#define lines_2 tiled_2
#endif

TN_INLINE void lines_16(const tn_transpose_shape *s, char *dst, const char *src, bool stream)
{
    enum { N = LINE / 16 };
    _Alignas(LINE) char tile[N * LINE];
    UNROLL for (int y = 0; y < N; y++)
    {
        UNROLL for (int x = 0; x < N; x++)
            memcpy(tile + x * LINE + y * 16, src + y * s->src_row + x * 16, 16);
    }
    UNROLL for (int x = 0; x < N; x++) put_line(dst + x * s->dst_row, tile + x * LINE, stream);
}

#if defined __AVX512F__
TN_INLINE void lines_4(const tn_transpose_shape *s, char *dst, const char *src, bool stream)
{
    __m512i r[16];
    UNROLL for (int i = 0; i < 16; i++) r[i] = _mm512_loadu_si512(src + i * s->src_row);
    tn_transpose16(r);
    UNROLL for (int i = 0; i < 16; i++) put_vector(dst + i * s->dst_row, r[i], stream);
}

#if defined __AVX512BW__
/* Elements of two rows next to each other are one of 4 bytes; half of the columns at a time, the
 * first by way of memory, since lines are written in order (kernels/turn.c lets them overlap). */
TN_INLINE void pairs_of_rows(const tn_transpose_shape *s, const char *src, bool high, __m512i *r)
{
    UNROLL for (int i = 0; i < 16; i++)
    {
        __m512i a = _mm512_loadu_si512(src + 2 * i * s->src_row);
        __m512i b = _mm512_loadu_si512(src + (2 * i + 1) * s->src_row);
        r[i] = high ? _mm512_unpackhi_epi16(a, b) : _mm512_unpacklo_epi16(a, b);
    }
    tn_transpose16(r);
}
TN_INLINE void lines_2(const tn_transpose_shape *s, char *dst, const char *src, bool stream)
{
    _Alignas(LINE) char low[16 * LINE];
    __m512i r[16];
    pairs_of_rows(s, src, false, r);
    UNROLL for (int i = 0; i < 16; i++) _mm512_store_si512(low + i * LINE, r[i]);
    pairs_of_rows(s, src, true, r);
    UNROLL for (int i = 0; i < 32; i++)
    {
        int at = i / 8 * 4 + i % 4;
        put_vector(dst + i * s->dst_row, i & 4 ? r[at] : _mm512_load_si512(low + at * LINE),
                   stream);
    }
}
#endif

/* Eight rows of eight. */
TN_INLINE void lines_8(const tn_transpose_shape *s, char *dst, const char *src, bool stream)
{
    __m512i r[8], t[8];
    UNROLL for (int i = 0; i < 8; i++) r[i] = _mm512_loadu_si512(src + i * s->src_row);
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        t[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 2; i++)
    {
        r[i] = _mm512_shuffle_i64x2(t[i], t[2 + i], 0x88);
        r[2 + i] = _mm512_shuffle_i64x2(t[i], t[2 + i], 0xDD);
        r[4 + i] = _mm512_shuffle_i64x2(t[4 + i], t[6 + i], 0x88);
        r[6 + i] = _mm512_shuffle_i64x2(t[4 + i], t[6 + i], 0xDD);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        char *to = dst + i * s->dst_row;
        put_vector(to, _mm512_shuffle_i64x2(r[i], r[4 + i], 0x88), stream);
        put_vector(to + 4 * s->dst_row, _mm512_shuffle_i64x2(r[i], r[4 + i], 0xDD), stream);
    }
}
#endif

/* --- all of it --- */

static void edge(size_t width, const tn_transpose_shape *t, int64_t rows, int64_t columns,
                 char *dst, const char *src)
{
    tn_strided_inner l = {.d2 = 1,
                          .d1 = columns,
                          .d0 = rows,
                          .dst1 = t->dst_row,
                          .dst0 = (int64_t)width,
                          .src1 = (int64_t)width,
                          .src0 = t->src_row};
    tn_copy_loop(width, &l, dst, src);
}

/* Bands of some rows, so that lines of the destination are written next to each other
 * while the lines of the source that they come from are still in L1. Squares of 4-byte elements
 * take so little else that lines of the next one are asked for. */
#define DEFINE_TRANSPOSE(W)                                                                        \
    static void transpose_##W(const tn_transpose_shape *t, char *dst, const char *src)             \
    {                                                                                              \
        enum { N = LINE / W };                                                                     \
        const bool ahead = W == 4 && !t->stream;                                                   \
        const int64_t band = ahead ? 8 * N : 4 * N;                                                \
        /* Rows that overlap are written in order: see turn.h. */                                  \
        bool apart = t->dst_row >= t->rows * W;                                                    \
        for (int64_t y = 0; y < t->rows; y += band) {                                              \
            int64_t rows = t->rows - y < band ? t->rows - y : band;                                \
            for (int64_t i = 0; i < t->columns; i += N) {                                          \
                int64_t columns = t->columns - i < N ? t->columns - i : N, x = i;                  \
                /* What is no whole square is part of one that reaches back. */                    \
                if (apart && t->columns >= N && columns < N) x = t->columns - N, columns = N;      \
                for (int64_t j = y; j < y + rows; j += N) {                                        \
                    int64_t left = y + rows - j < N ? y + rows - j : N, z = j;                     \
                    if (apart && t->rows >= N && left < N) z = t->rows - N, left = N;              \
                    char *d = dst + x * t->dst_row + z * W;                                        \
                    const char *s = src + z * t->src_row + x * W;                                  \
                    if (ahead && j + N < y + rows)                                                 \
                        for (int64_t k = 0; k < columns; k++)                                      \
                            __builtin_prefetch(d + k * t->dst_row + LINE, 1);                      \
                    if (left < N || columns < N) edge(W, t, left, columns, d, s);                  \
                    else if (t->stream && x == i && z == j) lines_##W(t, d, s, true);              \
                    else lines_##W(t, d, s, false);                                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_TRANSPOSE(1)
DEFINE_TRANSPOSE(2)
DEFINE_TRANSPOSE(4)
DEFINE_TRANSPOSE(8)
DEFINE_TRANSPOSE(16)

/* A few whole rows or columns in turn; gives how many of the others' elements are done. */
static int64_t few(size_t width, const tn_transpose_shape *t, char *dst, const char *src)
{
    int64_t w = (int64_t)width;
    if (t->dst_row == t->rows * w && t->rows <= TN_INTERLEAVED) {
        const char *from[TN_INTERLEAVED];
        for (int64_t j = 0; j < t->rows; j++) from[j] = src + j * t->src_row;
        return TN_ISA_NAME(tn_interleave)(width, t->rows, from, t->columns, dst);
    }
    if (t->src_row == t->columns * w && t->columns <= TN_INTERLEAVED) {
        char *to[TN_INTERLEAVED];
        for (int64_t i = 0; i < t->columns; i++) to[i] = dst + i * t->dst_row;
        return TN_ISA_NAME(tn_separate)(width, t->columns, src, t->rows, t->columns, to);
    }
    return 0;
}

void TN_ISA_NAME(tn_transpose)(size_t width, const tn_transpose_shape *t, char *dst,
                               const char *src)
{
    tn_transpose_shape s = *t;
    /* Such stores need whole lines. */
    if (((uintptr_t)dst | (uintptr_t)s.dst_row) % LINE) s.stream = false;
    int64_t done = few(width, t, dst, src), w = (int64_t)width;
    if (done && t->dst_row == t->rows * w && t->rows <= TN_INTERLEAVED) {
        s.columns -= done;
        dst += done * s.dst_row;
        src += done * w;
    } else if (done) {
        s.rows -= done;
        dst += done * w;
        src += done * s.src_row;
    }
    switch (width) {
    case 1: transpose_1(&s, dst, src); break;
    case 2: transpose_2(&s, dst, src); break;
    case 4: transpose_4(&s, dst, src); break;
    case 8: transpose_8(&s, dst, src); break;
    default: transpose_16(&s, dst, src); break;
    }
#if defined __x86_64__
    if (s.stream) _mm_sfence();
#endif
}
