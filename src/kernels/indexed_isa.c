/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include <string.h>

#include "kernels/elementwise_types.h"
#include "kernels/half.h"
#include "kernels/indexed.h"
#include "kernels/isa.h"
#include "kernels/stream_lines.h"

#if defined __AVX512F__ || defined __F16C__
#include <immintrin.h>
#endif

typedef unsigned __int128 wide __attribute__((aligned(8)));

/* X(suffix, NAME, T): the types of indices that loops are made for. */
#define INDEX_TYPES(X)                                                                             \
    X(i32, I32, int32_t)                                                                           \
    X(u32, U32, uint32_t)                                                                          \
    X(i64, I64, int64_t)
/* X(W, T): elements by their width. */
#define WIDTHS(X)                                                                                  \
    X(1, uint8_t)                                                                                  \
    X(2, uint16_t)                                                                                 \
    X(4, uint32_t)                                                                                 \
    X(8, uint64_t)                                                                                 \
    X(16, wide)

static inline int64_t move_inside(int64_t v, const tn_indexed_run *r)
{
    int64_t last = r->end - 1;
    v = v < r->first ? r->first : v;
    return v > last ? last : v;
}

/* --- gather --- */

#if defined __AVX512F__
/* Elements of a table behind the L2 cache are read one after the other: more reads are under way
 * then than of gathers, whose operations fill the core's window. */
enum { FAR_TABLE = 2 << 20 };
/* Sixteen at a time, elements next to each other by indices next to each other; how many. */
static int64_t gather_vectors_i32_4(const tn_indexed_run *r)
{
    if (r->index_step != 1 || r->step != 4 || r->operand_step || r->other_step != 4) return 0;
    if (r->end > FAR_TABLE / 4) return 0;
    int64_t i = 0, last = r->end - 1;
    const __m512i low = _mm512_set1_epi32((int)r->first), high = _mm512_set1_epi32((int)last);
    if (r->first > last) return 0;
    for (; i + 16 <= r->n; i += 16) {
        __m512i at = _mm512_loadu_si512((const int32_t *)r->indices + i);
        at = _mm512_min_epi32(_mm512_max_epi32(at, low), high);
        _mm512_storeu_si512(r->other + 4 * i, _mm512_i32gather_epi32(at, r->operand, 4));
    }
    return i;
}
static int64_t gather_vectors_i32_8(const tn_indexed_run *r)
{
    if (r->index_step != 1 || r->step != 8 || r->operand_step || r->other_step != 8) return 0;
    if (r->end > FAR_TABLE / 8) return 0;
    int64_t i = 0, last = r->end - 1;
    const __m256i low = _mm256_set1_epi32((int)r->first), high = _mm256_set1_epi32((int)last);
    if (r->first > last) return 0;
    for (; i + 8 <= r->n; i += 8) {
        __m256i at = _mm256_loadu_si256((const void *)((const int32_t *)r->indices + i));
        at = _mm256_min_epi32(_mm256_max_epi32(at, low), high);
        _mm512_storeu_si512(r->other + 8 * i, _mm512_i32gather_epi64(at, r->operand, 8));
    }
    return i;
}
#define VECTORS_i32_4(r) gather_vectors_i32_4(r)
#define VECTORS_i32_8(r) gather_vectors_i32_8(r)
#else
#define VECTORS_i32_4(r) 0
#define VECTORS_i32_8(r) 0
#endif
#define VECTORS_i32_1(r)  0
#define VECTORS_i32_2(r)  0
#define VECTORS_i32_16(r) 0
#define VECTORS_u32_1(r)  0
#define VECTORS_u32_2(r)  0
#define VECTORS_u32_4(r)  0
#define VECTORS_u32_8(r)  0
#define VECTORS_u32_16(r) 0
#define VECTORS_i64_1(r)  0
#define VECTORS_i64_2(r)  0
#define VECTORS_i64_4(r)  0
#define VECTORS_i64_8(r)  0
#define VECTORS_i64_16(r) 0

/* Windows of `bytes` bytes; short ones as two copies that overlap. */
#define COPY_WINDOWS(COPY)                                                                         \
    for (int64_t i = 0; i < r->n; i++) {                                                           \
        int64_t v = move_inside((int64_t)indices[i * r->index_step], r);                           \
        const char *from = r->operand + v * r->step + i * r->operand_step;                         \
        char *to = r->other + i * r->other_step;                                                   \
        COPY;                                                                                      \
    }
#define COPY_ENDS(T)                                                                               \
    do {                                                                                           \
        T head, tail;                                                                              \
        memcpy(&head, from, sizeof head);                                                          \
        memcpy(&tail, from + bytes - sizeof tail, sizeof tail);                                    \
        memcpy(to, &head, sizeof head);                                                            \
        memcpy(to + bytes - sizeof tail, &tail, sizeof tail);                                      \
    } while (0)
/* Of the window after the next one, since a copy waits for its own. */
#define ASK_FOR(indices)                                                                           \
    if (i + 2 < r->n) {                                                                            \
        int64_t next = move_inside((int64_t)indices[(i + 2) * r->index_step], r);                  \
        const char *there = r->operand + next * r->step + (i + 2) * r->operand_step;               \
        for (size_t b = 0; b < bytes && b < 1024; b += 64) __builtin_prefetch(there + b);          \
    }
typedef struct {
    uint64_t words[4];
} quarter;
enum { STREAMED_WINDOW = 256 };
#define DEFINE_WINDOWS(s, NAME, I)                                                                 \
    static void gather_windows_##s(const tn_indexed_run *r, size_t bytes)                          \
    {                                                                                              \
        const I *indices = r->indices;                                                             \
        if (bytes >= 4 && bytes <= 8) COPY_WINDOWS(COPY_ENDS(uint32_t))                            \
        else if (bytes > 8 && bytes <= 16) COPY_WINDOWS(COPY_ENDS(uint64_t))                       \
        else if (bytes > 16 && bytes <= 32) COPY_WINDOWS(COPY_ENDS(wide))                          \
        else if (bytes > 32 && bytes <= 64) COPY_WINDOWS(COPY_ENDS(quarter))                       \
        else if (r->stream && bytes >= STREAMED_WINDOW) {                                          \
            COPY_WINDOWS(ASK_FOR(indices); tn_stream_out(to, from, (int64_t)bytes))                \
            tn_end_stream();                                                                       \
        } else COPY_WINDOWS(ASK_FOR(indices); memcpy(to, from, bytes))                             \
    }
INDEX_TYPES(DEFINE_WINDOWS)

#define DEFINE_GATHER(s, I, W, T)                                                                  \
    static void gather_##s##_##W(const tn_indexed_run *r)                                          \
    {                                                                                              \
        const I *indices = r->indices;                                                             \
        if (r->size > 1) {                                                                         \
            gather_windows_##s(r, (size_t)r->size *W);                                             \
            return;                                                                                \
        }                                                                                          \
        int64_t i = VECTORS_##s##_##W(r);                                                          \
        if (r->index_step == 1 && !r->operand_step && r->step == W && r->other_step == W) {        \
            const T *from = (const T *)r->operand;                                                 \
            T *to = (T *)r->other;                                                                 \
            for (; i < r->n; i++) to[i] = from[move_inside((int64_t)indices[i], r)];               \
            return;                                                                                \
        }                                                                                          \
        for (; i < r->n; i++) {                                                                    \
            int64_t v = move_inside((int64_t)indices[i * r->index_step], r);                       \
            *(T *)(r->other + i * r->other_step) =                                                 \
                *(const T *)(r->operand + v * r->step + i * r->operand_step);                      \
        }                                                                                          \
    }
#define DEFINE_GATHERS(s, NAME, I)                                                                 \
    DEFINE_GATHER(s, I, 1, uint8_t)                                                                \
    DEFINE_GATHER(s, I, 2, uint16_t)                                                               \
    DEFINE_GATHER(s, I, 4, uint32_t)                                                               \
    DEFINE_GATHER(s, I, 8, uint64_t)                                                               \
    DEFINE_GATHER(s, I, 16, wide)
INDEX_TYPES(DEFINE_GATHERS)

static tn_indexed_fn *find_gather(tn_element_type index, size_t width)
{
#define PICK(s, NAME, I)                                                                           \
    case TN_##NAME:                                                                                \
        switch (width) {                                                                           \
        case 1: return gather_##s##_1;                                                             \
        case 2: return gather_##s##_2;                                                             \
        case 4: return gather_##s##_4;                                                             \
        case 8: return gather_##s##_8;                                                             \
        case 16: return gather_##s##_16;                                                           \
        default: return NULL;                                                                      \
        }
    switch ((int)index) {
        INDEX_TYPES(PICK)
    default: return NULL;
    }
#undef PICK
}

/* --- take --- */

static inline int32_t move_to(int32_t v, int32_t last)
{
    v = v < 0 ? 0 : v;
    return v < last ? v : last;
}

/* How many are done: of those in vectors, and of the rest with what is asked for beside them. */
#if defined __AVX512F__
static size_t take_vectors_4(const tn_kernel *k, size_t n, const void *from, const int32_t *at,
                             void *to)
{
    if (k->bits[0] >= FAR_TABLE / 4) return 0;
    const __m512i zero = _mm512_setzero_si512(), last = _mm512_set1_epi32(k->bits[0]);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xFFFF;
        __m512i v = _mm512_maskz_loadu_epi32(there, at + i);
        v = _mm512_min_epi32(_mm512_max_epi32(v, zero), last);
        v = _mm512_mask_i32gather_epi32(zero, there, v, from, 4);
        _mm512_mask_storeu_epi32((uint32_t *)to + i, there, v);
    }
    return n;
}
static size_t take_vectors_8(const tn_kernel *k, size_t n, const void *from, const int32_t *at,
                             void *to)
{
    if (k->bits[0] >= FAR_TABLE / 8) return 0;
    const __m256i zero = _mm256_setzero_si256(), last = _mm256_set1_epi32(k->bits[0]);
    for (size_t i = 0; i < n; i += 8) {
        __mmask8 there = n - i < 8 ? (__mmask8)((1u << (n - i)) - 1) : 0xFF;
        __m256i v = _mm256_maskz_loadu_epi32(there, at + i);
        v = _mm256_min_epi32(_mm256_max_epi32(v, zero), last);
        __m512i x = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), there, v, from, 8);
        _mm512_mask_storeu_epi64((uint64_t *)to + i, there, x);
    }
    return n;
}
#else
#define take_vectors_4(k, n, from, at, to) 0
#define take_vectors_8(k, n, from, at, to) 0
#endif
#define take_vectors_1(k, n, from, at, to)  0
#define take_vectors_2(k, n, from, at, to)  0
#define take_vectors_16(k, n, from, at, to) 0

#define DEFINE_TAKE(W, T)                                                                          \
    static void take_##W(const tn_kernel *k, size_t n, const void *const *in, void *out)           \
    {                                                                                              \
        const T *from = in[0];                                                                     \
        const int32_t *at = in[1];                                                                 \
        T *to = out;                                                                               \
        int32_t last = k->bits[0];                                                                 \
        size_t i = take_vectors_##W(k, n, from, at, to);                                           \
        for (; i < n; i++) to[i] = from[move_to(at[i], last)];                                     \
    }
WIDTHS(DEFINE_TAKE)

static tn_kernel_fn *find_take(size_t width)
{
    switch (width) {
    case 1: return take_1;
    case 2: return take_2;
    case 4: return take_4;
    case 8: return take_8;
    case 16: return take_16;
    default: return NULL;
    }
}

/* --- scatter --- */

#define SET(a, b) b

/* Positions inside are listed before they are done: where only a part of the operand is, a branch
 * on each would go wrong every other time. Of n <= LISTED positions, those whose index less `first`
 * is below `span`: that difference, and where in the list of n. */
enum { LISTED = 256 };
#define ALONE static __attribute__((noinline))
#define DEFINE_LIST(s, NAME, I)                                                                    \
    static int64_t list_##s(const I *indices, int64_t step, int64_t n, uint64_t first,             \
                            uint64_t span, uint32_t *place, uint32_t *from)                        \
    {                                                                                              \
        int64_t found = 0;                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            uint64_t v = (uint64_t)indices[i * step] - first;                                      \
            place[found] = (uint32_t)v;                                                            \
            from[found] = (uint32_t)i;                                                             \
            found += v < span;                                                                     \
        }                                                                                          \
        return found;                                                                              \
    }
INDEX_TYPES(DEFINE_LIST)

#if defined __AVX512F__
/* Indices next to each other. Places end within int32_t, so no index wraps round into them. */
static int64_t list_vectors(const int32_t *indices, int64_t n, uint64_t first, uint64_t span,
                            uint32_t *place, uint32_t *from)
{
    int64_t found = 0;
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i low = _mm512_set1_epi32((int)first), size = _mm512_set1_epi32((int)span);
    const __m512i step = _mm512_set1_epi32(16);
    for (int64_t i = 0; i < n; i += 16, at = _mm512_add_epi32(at, step)) {
        __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xFFFF;
        __m512i v = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(there, indices + i), low);
        __mmask16 inside = _mm512_mask_cmplt_epu32_mask(there, v, size);
        _mm512_storeu_si512(place + found, _mm512_maskz_compress_epi32(inside, v));
        _mm512_storeu_si512(from + found, _mm512_maskz_compress_epi32(inside, at));
        found += __builtin_popcount(inside);
    }
    return found;
}
#endif

/* Of positions [i, i + n). */
ALONE int64_t list(const tn_indexed_run *r, int64_t i, int64_t n, uint32_t *place, uint32_t *from)
{
    uint64_t first = (uint64_t)r->first, span = (uint64_t)(r->end - r->first);
    int64_t step = r->index_step;
    i *= step;
#if defined __AVX512F__
    if (r->index == TN_I32 && step == 1)
        return list_vectors((const int32_t *)r->indices + i, n, first, span, place, from);
#endif
#define LIST(s, NAME, I)                                                                           \
    case TN_##NAME: return list_##s((const I *)r->indices + i, step, n, first, span, place, from);
    switch ((int)r->index) {
        INDEX_TYPES(LIST)
    default: return 0;
    }
#undef LIST
}

/* Whether all positions [i, i + n) are inside, and their places in order. */
#define DEFINE_INSIDE(s, NAME, I)                                                                  \
    static bool inside_##s(const I *indices, int64_t n, uint64_t first, uint64_t span,             \
                           uint32_t *place)                                                        \
    {                                                                                              \
        uint32_t outside = 0;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                          \
            uint64_t v = (uint64_t)indices[i] - first;                                             \
            place[i] = (uint32_t)v;                                                                \
            outside |= v >= span;                                                                  \
        }                                                                                          \
        return !outside;                                                                           \
    }
INDEX_TYPES(DEFINE_INSIDE)

#if defined __AVX512F__
static bool inside_vectors(const int32_t *indices, int64_t n, uint64_t first, uint64_t span,
                           uint32_t *place)
{
    __m512i low = _mm512_set1_epi32((int)first), size = _mm512_set1_epi32((int)span);
    __mmask16 outside = 0;
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xFFFF;
        __m512i v = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(there, indices + i), low);
        outside |= _mm512_mask_cmpge_epu32_mask(there, v, size);
        _mm512_storeu_si512(place + i, v);
    }
    return !outside;
}
#endif

/* Only of indices next to each other: false for others. */
ALONE bool inside(const tn_indexed_run *r, int64_t i, int64_t n, uint32_t *place)
{
    uint64_t first = (uint64_t)r->first, span = (uint64_t)(r->end - r->first);
    if (r->index_step != 1) return false;
#if defined __AVX512F__
    if (r->index == TN_I32)
        return inside_vectors((const int32_t *)r->indices + i, n, first, span, place);
#endif
#define INSIDE(s, NAME, I)                                                                         \
    case TN_##NAME: return inside_##s((const I *)r->indices + i, n, first, span, place);
    switch ((int)r->index) {
        INDEX_TYPES(INSIDE)
    default: return false;
    }
#undef INSIDE
}

/* 0, 1, 2 and so on, as far as there are positions. */
ALONE void count_up(uint32_t *all, int64_t n)
{
    for (uint32_t i = 0; i < LISTED && i < n; i++) all[i] = i;
}

/* Whether most places are the one before again, as in sorted indices. */
ALONE bool mostly_repeat(const uint32_t *place, int64_t n)
{
    uint32_t same = 0;
    for (int64_t k = 1; k < n; k++) same += place[k] == place[k - 1];
    return 2 * (int64_t)same > n;
}

/* The first k > `begin` with another place. */
static inline int64_t run_end(const uint32_t *place, int64_t begin, int64_t n)
{
    int64_t k = begin + 1;
    while (k < n && place[k] == place[begin]) k++;
    return k;
}

/* Windows in vectors of 32 bytes and single elements; ONE is COMBINE for those. Where places
 * repeat, REPEATS adds to what is in registers: memory takes twice as long to give it back. */
#define DEFINE_SCATTER(name, T, COMBINE, ONE, REPEATS)                                             \
    static void name(const tn_indexed_run *r)                                                      \
    {                                                                                              \
        enum { LANES = sizeof(T) < 32 ? 32 / sizeof(T) : 1 };                                      \
        uint32_t place[LISTED + 16], listed[LISTED + 16], all[LISTED];                             \
        int64_t w = (int64_t)sizeof(T), size = r->size, row = r->step;                             \
        int64_t operand_step = r->operand_step, other_step = r->other_step;                        \
        bool dense = size == 1 && row == w && !operand_step && other_step == w;                    \
        bool asks = size * w >= LONG && (r->end - r->first) * row > NEAR;                          \
        count_up(all, r->n);                                                                       \
        for (int64_t i = 0; i < r->n; i += LISTED) {                                               \
            int64_t n = r->n - i < LISTED ? r->n - i : LISTED;                                     \
            const uint32_t *at = all;                                                              \
            if (!inside(r, i, n, place)) n = list(r, i, n, place, listed), at = listed;            \
            const char *other = r->other + i * other_step;                                         \
            char *operand = r->operand + r->first * row + i * operand_step;                        \
            REPEATS(T)                                                                             \
            for (int64_t k = 0; k < n && dense; k++) {                                             \
                T *to = (T *)operand + place[k];                                                   \
                *to = ONE(*to, ((const T *)other)[at[k]]);                                         \
            }                                                                                      \
            for (int64_t k = 0; k < n && !dense; k++) {                                            \
                T *to = (T *)(operand + place[k] * row + at[k] * operand_step);                    \
                const T *from = (const T *)(other + at[k] * other_step);                           \
                int64_t left = size;                                                               \
                if (asks && k + 2 < n)                                                             \
                    ask_for(operand + place[k + 2] * row + at[k + 2] * operand_step, left * w);    \
                for (; left >= LANES; left -= LANES, to += LANES, from += LANES)                   \
                    TN_INDEPENDENT for (int l = 0; l < LANES; l++) to[l] =                         \
                        COMBINE(to[l], from[l]);                                                   \
                for (; left > 0; left--, to++, from++) {                                           \
                    *to = ONE(*to, *from);                                                         \
                    ONE_BY_ONE;                                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define ONE_BY_ONE __asm__ volatile("")
#define NEVER(T)

/* Long windows of what no cache near holds are asked for before their turn, up to so many bytes. */
enum { LONG = 256, MOST_AHEAD = 1024, NEAR = 1 << 20 };
ALONE void ask_for(const char *window, int64_t bytes)
{
    for (int64_t b = 0; b < bytes && b < MOST_AHEAD; b += 64) __builtin_prefetch(window + b, 1);
}

/* Sums of windows in a row that go to one place, and of elements of which all are inside. */
#define SUM_REPEATED(T)                                                                            \
    if (!operand_step && mostly_repeat(place, n)) {                                                \
        typedef T v __attribute__((vector_size(32), aligned(1), may_alias));                       \
        for (int64_t k = 0, end; k < n; k = end) {                                                 \
            T *to = (T *)(operand + place[k] * row);                                               \
            int64_t c = 0;                                                                         \
            end = run_end(place, k, n);                                                            \
            for (; c + 2 * LANES <= size; c += 2 * LANES) {                                        \
                v a = *(v *)(to + c), b = *(v *)(to + c + LANES);                                  \
                for (int64_t t = k; t < end; t++) {                                                \
                    const T *from = (const T *)(other + at[t] * other_step) + c;                   \
                    a += *(const v *)from;                                                         \
                    b += *(const v *)(from + LANES);                                               \
                }                                                                                  \
                *(v *)(to + c) = a;                                                                \
                *(v *)(to + c + LANES) = b;                                                        \
            }                                                                                      \
            for (; c + LANES <= size; c += LANES) {                                                \
                v a = *(v *)(to + c);                                                              \
                for (int64_t t = k; t < end; t++)                                                  \
                    a += *(const v *)((const T *)(other + at[t] * other_step) + c);                \
                *(v *)(to + c) = a;                                                                \
            }                                                                                      \
            for (; c < size; c++) {                                                                \
                T a = to[c];                                                                       \
                for (int64_t t = k; t < end; t++)                                                  \
                    a = (T)(a + ((const T *)(other + at[t] * other_step))[c]);                     \
                to[c] = a;                                                                         \
            }                                                                                      \
        }                                                                                          \
        continue;                                                                                  \
    }                                                                                              \
    if (dense && at == all) {                                                                      \
        UNROLL_4 for (int64_t k = 0; k < n; k++)                                                   \
        {                                                                                          \
            T *to = (T *)operand + place[k];                                                       \
            *to = *to + ((const T *)other)[k];                                                     \
        }                                                                                          \
        continue;                                                                                  \
    }
#define UNROLL_4 _Pragma("GCC unroll 4")

#define DEFINE_SET(W, T) DEFINE_SCATTER(set_##W, T, SET, SET, NEVER)
WIDTHS(DEFINE_SET)

#define DEFINE_COMBINER(name, e, T, COMBINE) DEFINE_SCATTER(name##_##e, T, COMBINE, COMBINE, NEVER)
/* Segments are summed of these types. */
#define SUM_REPEATED_uint8_t(T)
#define SUM_REPEATED_uint16_t(T)
#define SUM_REPEATED_uint32_t(T) SUM_REPEATED(T)
#define SUM_REPEATED_uint64_t(T)
#define SUM_REPEATED_float(T)  SUM_REPEATED(T)
#define SUM_REPEATED_double(T) SUM_REPEATED(T)
#define DEFINE_SUM(e, T)       DEFINE_SCATTER(add_##e, T, (T)SUM, (T)SUM, SUM_REPEATED_##T)

#define GREATER(a, b)  ((a) > (b) ? (a) : (b))
#define LESS(a, b)     ((a) < (b) ? (a) : (b))
#define BITS_AND(a, b) ((a) & (b))
#define BITS_OR(a, b)  ((a) | (b))
#define BITS_XOR(a, b) ((a) ^ (b))
#define SUM(a, b)      ((a) + (b))
#define PRODUCT(a, b)  ((a) * (b))

/* Sums of signed integers wrap as those of unsigned ones do, and so have their bits. */
#define DEFINE_UNSIGNED(e, T, P)                                                                   \
    DEFINE_SUM(e, T)                                                                               \
    DEFINE_COMBINER(multiply, e, T, (T)P)                                                          \
    DEFINE_COMBINER(maximum, e, T, GREATER)                                                        \
    DEFINE_COMBINER(minimum, e, T, LESS)                                                           \
    DEFINE_COMBINER(and, e, T, BITS_AND)                                                           \
    DEFINE_COMBINER(or, e, T, BITS_OR)                                                             \
    DEFINE_COMBINER(xor, e, T, BITS_XOR)
#define PRODUCT_16(a, b) ((uint32_t)(a) * (b))
DEFINE_UNSIGNED(u8, uint8_t, PRODUCT)
DEFINE_UNSIGNED(u16, uint16_t, PRODUCT_16)
DEFINE_UNSIGNED(u32, uint32_t, PRODUCT)
DEFINE_UNSIGNED(u64, uint64_t, PRODUCT)

#define DEFINE_SIGNED(e, T)                                                                        \
    DEFINE_COMBINER(maximum, e, T, GREATER)                                                        \
    DEFINE_COMBINER(minimum, e, T, LESS)
DEFINE_SIGNED(i8, int8_t)
DEFINE_SIGNED(i16, int16_t)
DEFINE_SIGNED(i32, int32_t)
DEFINE_SIGNED(i64, int64_t)

/* tn_max_ and tn_min_ of one element without branches, which random numbers lead astray. */
#define DEFINE_ONE(e, T, I)                                                                        \
    typedef T e##_pair __attribute__((vector_size(16)));                                           \
    typedef I e##_bits __attribute__((vector_size(16)));                                           \
    static inline T one_##e(T a, T b, bool larger)                                                 \
    {                                                                                              \
        e##_pair x = {a}, y = {b};                                                                 \
        e##_bits p = (e##_bits)x, q = (e##_bits)y, equal = (e##_bits)(x == y);                     \
        e##_bits first = (e##_bits)(larger ? x > y : x < y) | (e##_bits)(x != x);                  \
        e##_bits both = larger ? p & q : p | q, other = (p & first) | (q & ~first);                \
        return ((e##_pair)((both & equal) | (other & ~equal)))[0];                                 \
    }                                                                                              \
    static inline T max_one_##e(T a, T b)                                                          \
    {                                                                                              \
        return one_##e(a, b, true);                                                                \
    }                                                                                              \
    static inline T min_one_##e(T a, T b)                                                          \
    {                                                                                              \
        return one_##e(a, b, false);                                                               \
    }
DEFINE_ONE(f32, float, int32_t)
DEFINE_ONE(f64, double, int64_t)

/* Numbers other than zeros and NaNs leave no question which of two is larger. */
#define DEFINE_PLAIN(e, T)                                                                         \
    static bool plain_##e(const T *x, int64_t n)                                                   \
    {                                                                                              \
        uint32_t other = 0;                                                                        \
        for (int64_t i = 0; i < n; i++) other |= !(x[i] < 0) & !(x[i] > 0);                        \
        return !other;                                                                             \
    }
DEFINE_PLAIN(f32, float)
DEFINE_PLAIN(f64, double)
#define PICK_PLAIN(T, e, IS)                                                                       \
    if (dense && at == all && plain_##e((const T *)other, n)) {                                    \
        for (int64_t k = 0; k < n; k++) {                                                          \
            T *to = (T *)operand + place[k], v = ((const T *)other)[k];                            \
            *to = v IS * to ? v : *to;                                                             \
        }                                                                                          \
        continue;                                                                                  \
    }
#define MAX_PLAIN_float(T)  PICK_PLAIN(T, f32, >)
#define MIN_PLAIN_float(T)  PICK_PLAIN(T, f32, <)
#define MAX_PLAIN_double(T) PICK_PLAIN(T, f64, >)
#define MIN_PLAIN_double(T) PICK_PLAIN(T, f64, <)

#define DEFINE_REAL(e, T)                                                                          \
    DEFINE_SUM(e, T)                                                                               \
    DEFINE_COMBINER(multiply, e, T, PRODUCT)                                                       \
    DEFINE_SCATTER(maximum_##e, T, tn_max_##e, max_one_##e, MAX_PLAIN_##T)                         \
    DEFINE_SCATTER(minimum_##e, T, tn_min_##e, min_one_##e, MIN_PLAIN_##T)
DEFINE_REAL(f32, float)
DEFINE_REAL(f64, double)
DEFINE_COMBINER(add, c64, float _Complex, SUM)
DEFINE_COMBINER(add, c128, double _Complex, SUM)

/* Each sum is rounded, as the elementwise kernels do. */
static inline uint16_t sum_bf16(uint16_t a, uint16_t b)
{
    return tn_bf16_of_f32(tn_f32_of_bf16(a) + tn_f32_of_bf16(b));
}
static inline uint16_t sum_f16(uint16_t a, uint16_t b)
{
    return tn_f16_of_f32(tn_f32_of_f16(a) + tn_f32_of_f16(b));
}
#if defined __F16C__
static inline uint16_t sum_one_f16(uint16_t a, uint16_t b)
{
    return (uint16_t)_cvtss_sh(_cvtsh_ss(a) + _cvtsh_ss(b), 0);
}
#else
#define sum_one_f16 sum_f16
#endif
DEFINE_SCATTER(add_bf16, uint16_t, sum_bf16, sum_bf16, NEVER)
DEFINE_SCATTER(add_f16, uint16_t, sum_f16, sum_one_f16, NEVER)

#define PICK(loop) return loop

static tn_indexed_fn *find_set(size_t width)
{
    switch (width) {
    case 1: PICK(set_1);
    case 2: PICK(set_2);
    case 4: PICK(set_4);
    case 8: PICK(set_8);
    case 16: PICK(set_16);
    default: return NULL;
    }
}

#define PICK_REAL(e)                                                                               \
    switch ((int)op) {                                                                             \
    case TN_OP_add: PICK(add_##e);                                                                 \
    case TN_OP_multiply: PICK(multiply_##e);                                                       \
    case TN_OP_maximum: PICK(maximum_##e);                                                         \
    case TN_OP_minimum: PICK(minimum_##e);                                                         \
    default: return NULL;                                                                          \
    }
/* e, and the unsigned type u of its size. */
#define PICK_INTEGER(e, u)                                                                         \
    switch ((int)op) {                                                                             \
    case TN_OP_add: PICK(add_##u);                                                                 \
    case TN_OP_multiply: PICK(multiply_##u);                                                       \
    case TN_OP_maximum: PICK(maximum_##e);                                                         \
    case TN_OP_minimum: PICK(minimum_##e);                                                         \
    case TN_OP_and: PICK(and_##u);                                                                 \
    case TN_OP_or: PICK(or_##u);                                                                   \
    case TN_OP_xor: PICK(xor_##u);                                                                 \
    default: return NULL;                                                                          \
    }

static tn_indexed_fn *find_combiner(tn_op_kind op, tn_element_type e)
{
    switch ((int)e) {
    case TN_I1:
        switch ((int)op) {
        case TN_OP_add:
        case TN_OP_maximum:
        case TN_OP_or: PICK(or_u8);
        case TN_OP_multiply:
        case TN_OP_minimum:
        case TN_OP_and: PICK(and_u8);
        case TN_OP_xor: PICK(xor_u8);
        default: return NULL;
        }
    case TN_I8: PICK_INTEGER(i8, u8);
    case TN_I16: PICK_INTEGER(i16, u16);
    case TN_I32: PICK_INTEGER(i32, u32);
    case TN_I64: PICK_INTEGER(i64, u64);
    case TN_U8: PICK_INTEGER(u8, u8);
    case TN_U16: PICK_INTEGER(u16, u16);
    case TN_U32: PICK_INTEGER(u32, u32);
    case TN_U64: PICK_INTEGER(u64, u64);
    case TN_F32: PICK_REAL(f32);
    case TN_F64: PICK_REAL(f64);
    case TN_BF16:
        if (op == TN_OP_add) PICK(add_bf16);
        return NULL;
    case TN_F16:
        if (op == TN_OP_add) PICK(add_f16);
        return NULL;
    case TN_C64:
        if (op == TN_OP_add) PICK(add_c64);
        return NULL;
    case TN_C128:
        if (op == TN_OP_add) PICK(add_c128);
        return NULL;
    default: return NULL;
    }
}

static tn_indexed_fn *find_scatter(tn_element_type index, tn_op_kind op, tn_element_type e)
{
    if (index != TN_I32 && index != TN_U32 && index != TN_I64) return NULL;
    if (op == TN_OP_INVALID) return find_set(tn_element_type_bytes(e));
    return find_combiner(op, e);
}

const tn_indexed_build TN_ISA_NAME(tn_indexed_build) = {find_gather, find_scatter, find_take};
