/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set.
 *
 * Of K arrays, each of K output vectors has elements of all of them: their lanes are the same in
 * all inputs, and a mask says whose they are. So it is the other way round. */
#include "kernels/interleave.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/simd.h"

#if defined __AVX2__

enum { WORDS = TN_VB / 4, MOST = TN_VB == 64 ? TN_INTERLEAVED : 8 };

#if defined __AVX512F__
typedef __m512i words_t;
typedef __mmask16 lane_mask;
TN_INLINE void set_in(lane_mask *m, int lane)
{
    *m = (lane_mask)(*m | 1u << lane);
}
/* `out` with lanes of what is at `from`. */
TN_INLINE words_t pick(words_t out, lane_mask m, words_t lanes, const char *from)
{
    return _mm512_mask_permutexvar_epi32(out, m, lanes, _mm512_loadu_si512(from));
}
#else
typedef __m256i words_t;
typedef union {
    __m256i v;
    uint32_t lane[8];
} lane_mask;
TN_INLINE void set_in(lane_mask *m, int lane)
{
    m->lane[lane] = UINT32_MAX;
}
TN_INLINE words_t pick(words_t out, lane_mask m, words_t lanes, const char *from)
{
    __m256i words = _mm256_loadu_si256((const __m256i *)from);
    return _mm256_blendv_epi8(out, _mm256_permutevar8x32_epi32(words, lanes), m.v);
}
#endif

/* For each of `n_out` output vectors: which lanes it takes, and from which of the K inputs. */
typedef struct {
    union {
        words_t v;
        uint32_t lane[WORDS];
    } lanes[MOST];
    lane_mask from[MOST][MOST];
} table;

/* May elements of `width` bytes of k arrays be moved so, and is n of each worth it? */
TN_INLINE bool is_worth_it(size_t width, int64_t k, int64_t n)
{
    return (width == 4 || width == 8 || width == 16) && k >= 2 && k <= MOST && n >= 8 * k;
}

static void make_table(table *t, int k, int words, bool back, int n_out)
{
    int log2 = __builtin_ctz((unsigned)words), of_vector = __builtin_ctz(WORDS) - log2;
    int element = 0, part = 0; /* of what is interleaved: at / k, at % k */
    for (int v = 0; v < n_out; v++) {
        for (int i = 0; i < k; i++) t->from[v][i] = (lane_mask){0};
        for (int lane = 0, e = 0; lane < WORDS; e++) {
            int at = e * k + v;
            if (back) element = at & ((1 << of_vector) - 1), part = at >> of_vector;
            for (int word = 0; word < words; word++, lane++) {
                t->lanes[v].lane[lane] = (uint32_t)((element << log2) + word);
                set_in(&t->from[v][part], lane);
            }
            if (!back && ++part == k) part = 0, element++;
        }
    }
}

/* Tiles of a program ask for the same ones again and again, often one each way. */
static const table *table_of(int64_t k, size_t width, bool back, int64_t n_out)
{
    static _Thread_local struct {
        uint32_t key; /* 0: none */
        table t;
    } kept[2];
    uint32_t key = (uint32_t)k | (uint32_t)n_out << 8 | (uint32_t)width << 16;
    if (kept[back].key != key) make_table(&kept[back].t, (int)k, (int)width / 4, back, (int)n_out);
    kept[back].key = key;
    return &kept[back].t;
}

TN_INLINE words_t gather_words(const table *t, int v, int k, const char *const *from, int64_t at)
{
    words_t out = {0};
    UNROLL for (int i = 0; i < k; i++) out = pick(out, t->from[v][i], t->lanes[v].v, from[i] + at);
    return out;
}

TN_INLINE int64_t interleave_some(const table *t, int k, int64_t n, int64_t step,
                                  const char *const *src, char *dst)
{
    int64_t i = 0, at = 0;
    for (; i + step <= n; i += step, at += TN_VB, dst += k * TN_VB)
        for (int v = 0; v < k; v++) {
            words_t out = gather_words(t, v, k, src, at);
            memcpy(dst + v * TN_VB, &out, TN_VB);
        }
    return i;
}

TN_INLINE int64_t separate_some(const table *t, int k, int64_t n, int64_t step, const char *src,
                                int n_out, char *const *dst)
{
    int64_t i = 0, at = 0;
    for (; i + step <= n; i += step, at += TN_VB, src += k * TN_VB) {
        const char *from[MOST];
        for (int j = 0; j < k; j++) from[j] = src + j * TN_VB;
        for (int v = 0; v < n_out; v++) {
            words_t out = gather_words(t, v, k, from, 0);
            memcpy(dst[v] + at, &out, TN_VB);
        }
    }
    return i;
}

#endif

int64_t TN_ISA_NAME(tn_interleave)(size_t width, int64_t k, const char *const *src, int64_t n,
                                   char *dst)
{
#if defined __AVX2__
    if (!is_worth_it(width, k, n)) return 0;
    const table *t = table_of(k, width, false, k);
    int64_t step = TN_VB / (int64_t)width;
    switch (k) {
    case 2: return interleave_some(t, 2, n, step, src, dst);
    case 3: return interleave_some(t, 3, n, step, src, dst);
    case 4: return interleave_some(t, 4, n, step, src, dst);
    default: return interleave_some(t, (int)k, n, step, src, dst);
    }
#else
    (void)width, (void)k, (void)src, (void)n, (void)dst;
    return 0;
#endif
}

#if defined __AVX512BW__

/* The first of every k elements of 2 bytes. */
static int64_t separate_halves(int k, const char *src, int64_t n, char *dst)
{
    enum { LANES = TN_VB / 2 };
    union {
        __m512i v;
        uint16_t lane[LANES];
    } lanes;
    __mmask32 from[TN_INTERLEAVED] = {0};
    for (int e = 0; e < LANES; e++) {
        lanes.lane[e] = (uint16_t)(e * k % LANES);
        from[e * k / LANES] |= (__mmask32)1 << e;
    }
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES, src += k * TN_VB) {
        __m512i out = _mm512_setzero_si512();
        for (int p = 0; p < k; p++)
            out = _mm512_mask_permutexvar_epi16(out, from[p], lanes.v,
                                                _mm512_loadu_si512(src + p * TN_VB));
        memcpy(dst + i * 2, &out, TN_VB);
    }
    return i;
}

#endif

int64_t TN_ISA_NAME(tn_separate)(size_t width, int64_t k, const char *src, int64_t n, int64_t n_out,
                                 char *const *dst)
{
#if defined __AVX512BW__
    if (width == 2 && n_out == 1 && k >= 2 && k <= TN_INTERLEAVED && n >= 8 * k)
        return separate_halves((int)k, src, n, dst[0]);
#endif
#if defined __AVX2__
    if (!is_worth_it(width, k, n)) return 0;
    const table *t = table_of(k, width, true, n_out);
    int64_t step = TN_VB / (int64_t)width;
    switch (k) {
#define OF(k)                                                                                      \
    case k:                                                                                        \
        return n_out == 1 ? separate_some(t, k, n, step, src, 1, dst)                              \
                          : separate_some(t, k, n, step, src, (int)n_out, dst);
        OF(2)
        OF(3)
        OF(4)
#undef OF
    default: return separate_some(t, (int)k, n, step, src, (int)n_out, dst);
    }
#else
    (void)width, (void)k, (void)src, (void)n, (void)n_out, (void)dst;
    return 0;
#endif
}

/* A vector has elements that all lie in one vector of the source. After some vectors one begins
 * with the same copy of an element again: until then each has lanes of its own. */
#if defined __AVX2__

typedef struct {
    uint8_t lanes[TN_REPEATED][TN_VB];
    int64_t at[TN_REPEATED]; /* in the source */
    int n_vectors, n_bytes;  /* until it begins again, of the source meanwhile */
} repeat_table;

/* The lanes of vectors of `bytes` bytes: bytes of them, or words. */
static void make_repeat_table(repeat_table *t, int w, int k, int first, int bytes, bool words)
{
    int each = bytes / w, source = 0, copy = first;
    t->n_vectors = k >> __builtin_ctz((unsigned)(k | each));
    for (int v = 0; v < t->n_vectors; v++) {
        int begin = source;
        t->at[v] = (int64_t)source * w;
        for (int i = 0; i < each; i++) {
            for (int b = 0; b < w && !words; b++)
                t->lanes[v][i * w + b] = (uint8_t)((source - begin) * w + b);
            for (int b = 0; b < w / 4 && words; b++) {
                uint32_t word = (uint32_t)((source - begin) * (w / 4) + b);
                memcpy(&t->lanes[v][i * w + 4 * b], &word, 4);
            }
            if (++copy == k) copy = 0, source++;
        }
    }
    t->n_bytes = source * w;
}

#define DEFINE_REPEAT(name, V, BYTES, LOAD, PICK)                                                  \
    static int64_t name(const repeat_table *t, const char *src, const char *end, int64_t size,     \
                        char *dst)                                                                 \
    {                                                                                              \
        int64_t done = 0, turn = (int64_t)t->n_vectors * (BYTES);                                  \
        int64_t most = t->at[t->n_vectors - 1] + (BYTES);                                          \
        for (; done + turn <= size && end - src >= most; src += t->n_bytes)                        \
            for (int v = 0; v < t->n_vectors; v++, done += (BYTES)) {                              \
                V some = LOAD((const V *)(src + t->at[v])), lanes = LOAD((const V *)t->lanes[v]);  \
                some = PICK;                                                                       \
                memcpy(dst + done, &some, (BYTES));                                                \
            }                                                                                      \
        for (int v = 0;                                                                            \
             v < t->n_vectors && done + (BYTES) <= size && end - src >= t->at[v] + (BYTES);        \
             v++, done += (BYTES)) {                                                               \
            V some = LOAD((const V *)(src + t->at[v])), lanes = LOAD((const V *)t->lanes[v]);      \
            some = PICK;                                                                           \
            memcpy(dst + done, &some, (BYTES));                                                    \
        }                                                                                          \
        return done;                                                                               \
    }
#if defined __AVX512F__
DEFINE_REPEAT(repeat_words, __m512i, 64, _mm512_loadu_si512, _mm512_permutexvar_epi32(lanes, some))
#else
DEFINE_REPEAT(repeat_words, __m256i, 32, _mm256_loadu_si256,
              _mm256_permutevar8x32_epi32(some, lanes))
#endif
DEFINE_REPEAT(repeat_bytes, __m128i, 16, _mm_loadu_si128, _mm_shuffle_epi8(some, lanes))

#endif

int64_t TN_ISA_NAME(tn_repeat)(size_t width, int64_t k, const char *src, int64_t n_src,
                               int64_t first, int64_t n, char *dst)
{
#if defined __AVX2__
    repeat_table t;
    int w = (int)width;
    const char *end = src + n_src * w;
    if (n * w < 4 * TN_VB) return 0;
    make_repeat_table(&t, w, (int)k, (int)first, w >= 4 ? TN_VB : 16, w >= 4);
    return (w >= 4 ? repeat_words : repeat_bytes)(&t, src, end, n * w, dst) / w;
#else
    (void)width, (void)k, (void)src, (void)n_src, (void)first, (void)n, (void)dst;
    return 0;
#endif
}
