/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/strided_loops.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/interleave.h"
#include "kernels/simd.h"
#include "kernels/stream_lines.h"

/* Elements by width, without alignment: widened runs start anywhere. */
typedef uint8_t w1 __attribute__((may_alias));
typedef uint16_t w2 __attribute__((aligned(1), may_alias));
typedef uint32_t w4 __attribute__((aligned(1), may_alias));
typedef uint64_t w8 __attribute__((aligned(1), may_alias));
typedef unsigned __int128 w16 __attribute__((aligned(1), may_alias));

/* One of every few elements; gives how many are done. */
static int64_t one_of_few(size_t width, int64_t step, int64_t n, char *dst, const char *src)
{
    int64_t w = (int64_t)width;
    if (step <= 0 || step % w || step / w > TN_INTERLEAVED) return 0;
    /* Vectors reach up to the element before the next one, and the last one has no next one. */
    return TN_ISA_NAME(tn_separate)(width, step / w, src, n - 1, 1, &dst);
}

/* --- past the caches --- */

enum { STREAMED_ROW = 256, CHUNK = 4096 };

/* A row by way of memory that stays in the cache. */
static void stream_row(size_t width, int64_t n, int64_t step, char *dst, const char *src,
                       tn_strided_loop_fn *loop)
{
    _Alignas(64) char chunk[CHUNK];
    int64_t w = (int64_t)width, most = CHUNK / w;
    int64_t m = (int64_t)((CHUNK - (uintptr_t)dst % TN_LINE) / width);
    for (; n; n -= m, dst += m * w, src += m * step, m = most) {
        if (m > n) m = n;
        tn_strided_inner l = {.d2 = 1, .d1 = 1, .d0 = m, .dst0 = w, .src0 = step};
        loop(width, &l, chunk, src);
        tn_stream_out(dst, chunk, m * w);
    }
}

static bool stream_rows(size_t width, const tn_strided_inner *l, char *dst, const char *src,
                        tn_strided_loop_fn *loop)
{
    int64_t w = (int64_t)width, run = l->d0 * w;
    if (!l->stream || l->dst0 != w || run < STREAMED_ROW) return false;
    for (int64_t i = 0; i < l->d1; i++, dst += l->dst1, src += l->src1) {
        if (l->src0 == w) tn_stream_out(dst, src, run);
        else stream_row(width, l->d0, l->src0, dst, src, loop);
    }
    return true;
}

/* --- rows that are contiguous on both sides --- */

/* The bytes of a row as two pieces that overlap. */
#define ROWS(SIZE)                                                                                 \
    for (int64_t i = 0; i < l->d1; i++) {                                                          \
        char *to = dst + i * l->dst1;                                                              \
        const char *from = src + i * l->src1;                                                      \
        struct {                                                                                   \
            char bytes[SIZE];                                                                      \
        } head, tail;                                                                              \
        memcpy(&head, from, SIZE);                                                                 \
        memcpy(&tail, from + run - SIZE, SIZE);                                                    \
        memcpy(to, &head, SIZE);                                                                   \
        memcpy(to + run - SIZE, &tail, SIZE);                                                      \
    }
/* Of 64 bytes or more. What lies far from row to row is asked for some rows before. */
enum { ROWS_AHEAD = 4, FAR_APART = 512 };
static void copy_long_rows(const tn_strided_inner *l, int64_t run, char *dst, const char *src)
{
    bool far = llabs(l->src1) >= FAR_APART;
    for (int64_t i = 0; i < l->d1; i++) {
        char *to = dst + i * l->dst1;
        const char *from = src + i * l->src1;
        uintptr_t next = (uintptr_t)from + (far ? (uintptr_t)(ROWS_AHEAD * l->src1) : 0);
        for (int64_t k = 0; k + 64 < run; k += 64) {
            __builtin_prefetch((const void *)(next + (uintptr_t)k));
            memcpy(to + k, from + k, 64);
        }
        __builtin_prefetch((const void *)(next + (uintptr_t)run - 64));
        memcpy(to + run - 64, from + run - 64, 64);
    }
}
static void copy_rows(const tn_strided_inner *l, int64_t run, char *dst, const char *src)
{
    if (run >= 64) copy_long_rows(l, run, dst, src);
    else if (run >= 32) ROWS(32)
    else if (run >= 16) ROWS(16)
    else if (run >= 8) ROWS(8)
    else if (run >= 4) ROWS(4)
    else if (run >= 2) ROWS(2)
    else ROWS(1)
}

/* --- short rows from near each other, to rows side by side --- */

#if defined __AVX2__

enum { WORDS = TN_VB / 4, PHASES = 16 };

#if defined __AVX512F__
typedef __m512i words_t;
/* The first n of them alone are read. */
TN_INLINE words_t load_words(const int32_t *from, int64_t n)
{
    return _mm512_maskz_loadu_epi32(n >= WORDS ? 0xFFFF
                                    : n > 0    ? (__mmask16)((1u << n) - 1)
                                               : 0,
                                    from);
}
TN_INLINE words_t pick_words(words_t a, words_t b, words_t at)
{
    return _mm512_permutex2var_epi32(a, at, b);
}
#else
typedef __m256i words_t;
TN_INLINE words_t load_words(const int32_t *from, int64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int there = n >= WORDS ? WORDS : n > 0 ? (int)n : 0;
    return _mm256_maskload_epi32(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(there), lane));
}
TN_INLINE words_t pick_words(words_t a, words_t b, words_t at)
{
    __m256i second = _mm256_slli_epi32(at, 28); /* the sign is that of lanes of b */
    return _mm256_castps_si256(_mm256_blendv_ps(
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(a, at)),
        _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(b, at)), _mm256_castsi256_ps(second)));
}
#endif

/* A vector of results takes its words from two vectors next to each other, in ways that come again
 * after `phases` of them. Nothing is read in front of the first element or behind the last. */
typedef struct {
    int64_t phases, words, row, rows, s0, s1, s2; /* words of a row; rows of a matrix */
    int64_t base[PHASES];                         /* of a vector's words the first */
    _Alignas(64) int32_t lanes[PHASES][WORDS];
} near_rows;

static bool find_lanes(near_rows *t)
{
    int64_t row = 0, matrix = 0, place = 0, in_row = 0, part = 0;
    for (int64_t p = 0; p < t->phases; p++) {
        int64_t from[WORDS], first = INT64_MAX;
        for (int64_t i = 0; i < WORDS; i++) {
            from[i] = place + part;
            if (from[i] < first) first = from[i];
            if (++part == t->words) part = 0, place += t->s0;
            if (++in_row < t->row) continue;
            in_row = 0;
            if (++row == t->rows) row = 0, matrix++;
            place = matrix * t->s2 + row * t->s1;
        }
        for (int64_t i = 0; i < WORDS; i++) {
            if (from[i] - first >= 2 * WORDS) return false;
            t->lanes[p][i] = (int32_t)(from[i] - first);
        }
        t->base[p] = first;
    }
    return true;
}

/* `total` words, and no word is read from `last` on. */
static void copy_by_lanes(const near_rows *t, int64_t total, int64_t last, int32_t *to,
                          const int32_t *from)
{
    int64_t rows = t->phases * WORDS / t->row;
    int64_t step = rows / t->rows * t->s2 + rows % t->rows * t->s1;
    for (int64_t at = 0, turn = 0; at < total; turn += step) {
        for (int64_t p = 0; p < t->phases && at < total; p++, at += WORDS) {
            int64_t first = turn + t->base[p], n = last - first;
            words_t v, w, where;
            memcpy(&where, t->lanes[p], sizeof where);
            if (total - at >= WORDS && n >= 2 * WORDS) {
                memcpy(&v, from + first, sizeof v);
                memcpy(&w, from + first + WORDS, sizeof w);
            } else if (total - at >= WORDS) {
                v = load_words(from + first, n);
                w = load_words(from + first + WORDS, n - WORDS);
            } else {
                for (int64_t i = 0; at + i < total; i++)
                    memcpy(to + at + i, from + first + t->lanes[p][i], 4);
                return;
            }
            v = pick_words(v, w, where);
            memcpy(to + at, &v, sizeof v);
        }
    }
}

static bool copy_near_rows(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    if (width != 4 && width != 8) return false;
    int64_t words = (int64_t)width / 4;
    near_rows t = {.phases = 1,
                   .words = words,
                   .row = l->d0 * words,
                   .rows = INT64_MAX,
                   .s0 = l->src0 / 4,
                   .s1 = l->src1 / 4};
    int64_t total = t.row * l->d1;
    if (t.row * 4 >= 64 || l->src0 % 4 || l->src1 % 4 || total < 4 * WORDS) return false;
    if (total * (l->d2 ? l->d2 : 1) < 16 * t.row * WORDS) return false;
    while (t.phases * WORDS % t.row) t.phases++;
    if (t.phases > PHASES || !find_lanes(&t)) return false;
    int64_t last = words;
    if (t.s0 > 0) last += (l->d0 - 1) * t.s0;
    if (t.s1 > 0) last += (l->d1 - 1) * t.s1;
    for (int64_t i = 0; i == 0 || i < l->d2; i++)
        copy_by_lanes(&t, total, last, (int32_t *)(dst + i * l->dst2),
                      (const int32_t *)(src + i * l->src2));
    return true;
}

static bool copy_near_matrices(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    int64_t w = (int64_t)width, words = w / 4, of_matrix = l->d1 * l->d0 * words;
    if (width != 4 && width != 8) return false;
    if (l->dst0 != w || l->dst1 != l->d0 * w || l->dst2 != l->d1 * l->dst1) return false;
    if (l->src0 <= 0 || l->src1 <= 0 || l->src2 <= 0) return false;
    if (l->src0 % 4 || l->src1 % 4 || l->src2 % 4) return false;
    near_rows t = {.phases = 1,
                   .words = words,
                   .row = l->d0 * words,
                   .rows = l->d1,
                   .s0 = l->src0 / 4,
                   .s1 = l->src1 / 4,
                   .s2 = l->src2 / 4};
    int64_t total = of_matrix * l->d2;
    if (total < 16 * of_matrix * WORDS) return false;
    while (t.phases * WORDS % of_matrix) t.phases++;
    if (t.phases > PHASES || !find_lanes(&t)) return false;
    int64_t last = words + (l->d0 - 1) * t.s0 + (l->d1 - 1) * t.s1 + (l->d2 - 1) * t.s2;
    copy_by_lanes(&t, total, last, (int32_t *)dst, (const int32_t *)src);
    return true;
}

#else
static bool copy_near_matrices(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    (void)width, (void)l, (void)dst, (void)src;
    return false;
}
static bool copy_near_rows(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    (void)width, (void)l, (void)dst, (void)src;
    return false;
}
#endif

/* --- any --- */

#define DEFINE_LOOPS(T)                                                                            \
    static void fill_##T(const tn_strided_inner *l, char *dst, const char *src)                    \
    {                                                                                              \
        int64_t n = l->d0, step = l->dst0;                                                         \
        for (int64_t i = 0; i < l->d1; i++) {                                                      \
            T v = *(const T *)(src + i * l->src1);                                                 \
            T *d = (T *)(dst + i * l->dst1);                                                       \
            if (step == (int64_t)sizeof(T)) {                                                      \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = v;                           \
            } else {                                                                               \
                for (int64_t j = 0; j < n; j++) *(T *)((char *)d + j * step) = v;                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void copy_##T(const tn_strided_inner *l, char *dst, const char *src)                    \
    {                                                                                              \
        int64_t n = l->d0, w = (int64_t)sizeof(T), to = l->dst0, from = l->src0;                   \
        for (int64_t i = 0; i < l->d1; i++) {                                                      \
            T *d = (T *)(dst + i * l->dst1);                                                       \
            const T *s = (const T *)(src + i * l->src1);                                           \
            if (to == w && from == w) {                                                            \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = s[j];                        \
            } else if (to == w && from == -w) {                                                    \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = s[-j];                       \
            } else if (to == w && from == 2 * w) {                                                 \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = s[2 * j];                    \
            } else if (to == w) {                                                                  \
                int64_t j = one_of_few(sizeof(T), from, n, (char *)d, (const char *)s);            \
                for (; j < n; j++) d[j] = *(const T *)((const char *)s + j * from);                \
            } else if (from == w && to == 2 * w) {                                                 \
                for (int64_t j = 0; j < n; j++) d[2 * j] = s[j];                                   \
            } else {                                                                               \
                for (int64_t j = 0; j < n; j++)                                                    \
                    *(T *)((char *)d + j * to) = *(const T *)((const char *)s + j * from);         \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_LOOPS(w1)
DEFINE_LOOPS(w2)
DEFINE_LOOPS(w4)
DEFINE_LOOPS(w8)
DEFINE_LOOPS(w16)

static void copy_inner(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    int64_t w = (int64_t)width;
    if (stream_rows(width, l, dst, src, copy_inner)) return;
    if (l->d1 > 1 && l->dst0 == w && l->src0 == w) {
        copy_rows(l, l->d0 * w, dst, src);
        return;
    }
    switch (width) {
    case 1: copy_w1(l, dst, src); return;
    case 2: copy_w2(l, dst, src); return;
    case 4: copy_w4(l, dst, src); return;
    case 8: copy_w8(l, dst, src); return;
    default: copy_w16(l, dst, src); return;
    }
}

void TN_ISA_NAME(tn_copy_loop)(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    bool dense = l->dst0 == (int64_t)width && l->dst1 == l->d0 * l->dst0;
    if (l->d1 > 1 && dense && copy_near_rows(width, l, dst, src)) return;
    for (int64_t i = 0; i == 0 || i < l->d2; i++)
        copy_inner(width, l, dst + i * l->dst2, src + i * l->src2);
    if (l->stream) tn_end_stream();
}

bool TN_ISA_NAME(tn_matrices_loop)(size_t width, const tn_strided_inner *l, char *dst,
                                   const char *src)
{
    return copy_near_matrices(width, l, dst, src);
}

void TN_ISA_NAME(tn_fill_loop)(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    if (stream_rows(width, l, dst, src, TN_ISA_NAME(tn_fill_loop))) {
        tn_end_stream();
        return;
    }
    switch (width) {
    case 1: fill_w1(l, dst, src); return;
    case 2: fill_w2(l, dst, src); return;
    case 4: fill_w4(l, dst, src); return;
    case 8: fill_w8(l, dst, src); return;
    default: fill_w16(l, dst, src); return;
    }
}

/* --- a few places to one, and back --- */

#define EACH_2(X)  X(0) X(1)
#define EACH_3(X)  EACH_2(X) X(2)
#define EACH_4(X)  EACH_3(X) X(3)
#define WEAVE(k)   d[i * K + k] = s[k][i];
#define UNRAVEL(k) d[k][i] = s[i * K + k];
#define DEFINE_WEAVE(T, N)                                                                         \
    static void weave_##T##_##N(int64_t n, T *restrict d, const T *const *s)                       \
    {                                                                                              \
        enum { K = N };                                                                            \
        TN_INDEPENDENT for (int64_t i = 0; i < n; i++)                                             \
        {                                                                                          \
            EACH_##N(WEAVE)                                                                        \
        }                                                                                          \
    }                                                                                              \
    static void unravel_##T##_##N(int64_t n, T *const *d, const T *restrict s)                     \
    {                                                                                              \
        enum { K = N };                                                                            \
        TN_INDEPENDENT for (int64_t i = 0; i < n; i++)                                             \
        {                                                                                          \
            EACH_##N(UNRAVEL)                                                                      \
        }                                                                                          \
    }
#define DEFINE_WEAVES(T)                                                                           \
    DEFINE_WEAVE(T, 2)                                                                             \
    DEFINE_WEAVE(T, 3)                                                                             \
    DEFINE_WEAVE(T, 4)                                                                             \
    static bool weave_##T(const tn_strided_inner *l, char *dst, const char *src)                   \
    {                                                                                              \
        int64_t w = (int64_t)sizeof(T), k = l->d0;                                                 \
        if (k < 2 || k > 4) return false;                                                          \
        T *to[4];                                                                                  \
        const T *from[4];                                                                          \
        for (int64_t i = 0; i < k; i++) {                                                          \
            to[i] = (T *)(dst + i * l->dst0);                                                      \
            from[i] = (const T *)(src + i * l->src0);                                              \
        }                                                                                          \
        if (l->dst0 == w && l->dst1 == k * w && l->src1 == w) {                                    \
            if (k == 2) weave_##T##_2(l->d1, (T *)dst, from);                                      \
            else if (k == 3) weave_##T##_3(l->d1, (T *)dst, from);                                 \
            else weave_##T##_4(l->d1, (T *)dst, from);                                             \
            return true;                                                                           \
        }                                                                                          \
        if (l->src0 != w || l->src1 != k * w || l->dst1 != w) return false;                        \
        if (k == 2) unravel_##T##_2(l->d1, to, (const T *)src);                                    \
        else if (k == 3) unravel_##T##_3(l->d1, to, (const T *)src);                               \
        else unravel_##T##_4(l->d1, to, (const T *)src);                                           \
        return true;                                                                               \
    }
DEFINE_WEAVES(w1)
DEFINE_WEAVES(w2)
DEFINE_WEAVES(w4)
DEFINE_WEAVES(w8)

bool TN_ISA_NAME(tn_weave_loop)(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    switch (width) {
    case 1: return weave_w1(l, dst, src);
    case 2: return weave_w2(l, dst, src);
    case 4: return weave_w4(l, dst, src);
    case 8: return weave_w8(l, dst, src);
    default: return false;
    }
}
