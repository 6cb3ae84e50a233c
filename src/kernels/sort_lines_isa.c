/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. Quicksort: whole vectors are divided by a pivot in place;
 * short ranges are put in order by counting, for each element, those before it. */
#include <string.h>

#include "kernels/simd.h"
#include "kernels/sort_lines.h"

#define LANES_uint32_t (TN_VB / 4)
#define LANES_uint64_t (TN_VB / 8)

/* Ranges of up to FEW vectors are sorted by counting. */
enum { FEW = 2, UNROLLED = 4 };

/* Writes the elements of v below (or, if `equal`, not above) the pivot to `low` on, and the others
 * so that they end at `high`; how many are below. Whole vectors may be written at either place. */
#if defined __AVX512F__
TN_INLINE int divide_vector_uint32_t(vu32 v, vu32 pivot, bool equal, uint32_t *low, uint32_t *high)
{
    __m512i x = (__m512i)v, p = (__m512i)pivot;
    __mmask16 below = equal ? _mm512_cmple_epu32_mask(x, p) : _mm512_cmplt_epu32_mask(x, p);
    int n = __builtin_popcount(below);
    _mm512_mask_compressstoreu_epi32(low, below, x);
    _mm512_mask_compressstoreu_epi32(high - (16 - n), (__mmask16)~below, x);
    return n;
}
TN_INLINE int divide_vector_uint64_t(vu64 v, vu64 pivot, bool equal, uint64_t *low, uint64_t *high)
{
    __m512i x = (__m512i)v, p = (__m512i)pivot;
    __mmask8 below = equal ? _mm512_cmple_epu64_mask(x, p) : _mm512_cmplt_epu64_mask(x, p);
    int n = __builtin_popcount(below);
    _mm512_mask_compressstoreu_epi64(low, below, x);
    _mm512_mask_compressstoreu_epi64(high - (8 - n), (__mmask8)~below, x);
    return n;
}
#else
#define DIVIDE_VECTOR(T, V)                                                                        \
    TN_INLINE int divide_vector_##T(V v, V pivot, bool equal, T *low, T *high)                     \
    {                                                                                              \
        int n = 0, above = 0;                                                                      \
        for (int i = 0; i < LANES_##T; i++) {                                                      \
            bool below = equal ? v[i] <= pivot[i] : v[i] < pivot[i];                               \
            if (below) low[n++] = v[i];                                                            \
            else high[--above] = v[i];                                                             \
        }                                                                                          \
        return n;                                                                                  \
    }
DIVIDE_VECTOR(uint32_t, vu32)
DIVIDE_VECTOR(uint64_t, vu64)
#endif

/* The first n elements, of one vector at most; the others are the largest numbers. */
#define DEFINE_PARTS(T, V, UV)                                                                     \
    TN_INLINE V load_part_##T(const T *x, int64_t n)                                               \
    {                                                                                              \
        if (n >= LANES_##T) return *(const UV *)x;                                                 \
        T part[LANES_##T];                                                                         \
        memset(part, 0xFF, sizeof part);                                                           \
        if (n > 0) memcpy(part, x, (size_t)n * sizeof(T));                                         \
        return *(UV *)part;                                                                        \
    }                                                                                              \
    TN_INLINE void store_part_##T(T *x, int64_t n, V v)                                            \
    {                                                                                              \
        if (n >= LANES_##T) *(UV *)x = v;                                                          \
        else if (n > 0) memcpy(x, &v, (size_t)n * sizeof(T));                                      \
    }
#if defined __AVX512F__
TN_INLINE uint32_t first_lanes(int64_t n)
{
    return n <= 0 ? 0 : n >= 16 ? 0xFFFF : (1u << n) - 1;
}
TN_INLINE vu32 load_part_uint32_t(const uint32_t *x, int64_t n)
{
    __m512i most = _mm512_set1_epi32(-1);
    return (vu32)_mm512_mask_loadu_epi32(most, (__mmask16)first_lanes(n), x);
}
TN_INLINE void store_part_uint32_t(uint32_t *x, int64_t n, vu32 v)
{
    _mm512_mask_storeu_epi32(x, (__mmask16)first_lanes(n), (__m512i)v);
}
TN_INLINE vu64 load_part_uint64_t(const uint64_t *x, int64_t n)
{
    __m512i most = _mm512_set1_epi32(-1);
    return (vu64)_mm512_mask_loadu_epi64(most, (__mmask8)first_lanes(n), x);
}
TN_INLINE void store_part_uint64_t(uint64_t *x, int64_t n, vu64 v)
{
    _mm512_mask_storeu_epi64(x, (__mmask8)first_lanes(n), (__m512i)v);
}
#else
DEFINE_PARTS(uint32_t, vu32, uu32)
DEFINE_PARTS(uint64_t, vu64, uu64)
#endif

#define SET_uint32_t set_u32
#define SET_uint64_t set_u64

#define DEFINE_SORT(T, V, UV, name)                                                                \
    /* By counting; n <= FEW * LANES. Places past n hold what is above all. Numbers of steps don't \
           depend on n, which no branch could foresee. */                                          \
    TN_INLINE void count_sort_by_##T(T *x, int64_t n, const int vectors)                           \
    {                                                                                              \
        enum { L = LANES_##T };                                                                    \
        T copy[FEW * L], sorted[FEW * L], ranks[FEW * L];                                          \
        V lane;                                                                                    \
        for (int i = 0; i < L; i++) lane[i] = (T)i;                                                \
        for (int q = 0; q < vectors; q++)                                                          \
            *(UV *)(copy + q * L) = load_part_##T(x + q * L, n - q * L);                           \
        for (int q = 0; q < vectors; q++) {                                                        \
            V v = *(const UV *)(copy + q * L), rank = {0};                                         \
            for (int j = 0; j < q * L; j++) rank -= (V)(SET_##T(copy[j]) <= v);                    \
            for (int j = 0; j < L; j++) {                                                          \
                V other = SET_##T(copy[q * L + j]), after = (V)(lane > (T)j);                      \
                rank -= (V)(other < v) | ((V)(other == v) & after);                                \
            }                                                                                      \
            for (int j = (q + 1) * L; j < vectors * L; j++) rank -= (V)(SET_##T(copy[j]) < v);     \
            *(UV *)(ranks + q * L) = rank;                                                         \
        }                                                                                          \
        for (int i = 0; i < vectors * L; i++) sorted[ranks[i]] = copy[i];                          \
        for (int q = 0; q < vectors; q++)                                                          \
            store_part_##T(x + q * L, n - q * L, *(const UV *)(sorted + q * L));                   \
    }                                                                                              \
    static void count_sort_##T(T *x, int64_t n)                                                    \
    {                                                                                              \
        if (n <= LANES_##T) count_sort_by_##T(x, n, 1);                                            \
        else count_sort_by_##T(x, n, FEW);                                                         \
    }                                                                                              \
    /* The elements below the pivot (or not above it) come first; how many. n >= 2 * U * LANES. U  \
       vectors are read at a time, from the side with less room before what was read. */           \
    TN_INLINE int64_t divide_by_##T(T *x, int64_t n, T pivot, bool equal, const int U)             \
    {                                                                                              \
        enum { L = LANES_##T };                                                                    \
        V p = SET_##T(pivot), ends[2 * UNROLLED];                                                  \
        for (int i = 0; i < U; i++) {                                                              \
            ends[i] = *(UV *)(x + i * L);                                                          \
            ends[U + i] = *(UV *)(x + n - (i + 1) * L);                                            \
        }                                                                                          \
        /* Read are [0, left) and [right, n); written [0, low) and [high, n). */                   \
        int64_t left = U * L, right = n - U * L, low = 0, high = n;                                \
        while (right - left >= U * L) {                                                            \
            V from[UNROLLED];                                                                      \
            bool begin = left - low <= high - right;                                               \
            if (!begin) right -= U * L;                                                            \
            const T *at = x + (begin ? left : right);                                              \
            if (begin) left += U * L;                                                              \
            for (int i = 0; i < U; i++) from[i] = *(const UV *)(at + i * L);                       \
            for (int i = 0; i < U; i++) {                                                          \
                int k = divide_vector_##T(from[i], p, equal, x + low, x + high);                   \
                low += k;                                                                          \
                high -= L - k;                                                                     \
            }                                                                                      \
        }                                                                                          \
        T rest[UNROLLED * L];                                                                      \
        int64_t n_rest = right - left, at = 0;                                                     \
        memcpy(rest, x + left, (size_t)n_rest * sizeof(T));                                        \
        for (; at + L <= n_rest; at += L) {                                                        \
            int k = divide_vector_##T(*(UV *)(rest + at), p, equal, x + low, x + high);            \
            low += k;                                                                              \
            high -= L - k;                                                                         \
        }                                                                                          \
        for (; at < n_rest; at++) {                                                                \
            bool below = equal ? rest[at] <= pivot : rest[at] < pivot;                             \
            x[low] = x[high - 1] = rest[at];                                                       \
            low += below;                                                                          \
            high -= !below;                                                                        \
        }                                                                                          \
        /* Room for what stood at the ends is left. */                                             \
        for (int i = 0; i < 2 * U; i++) {                                                          \
            int k = divide_vector_##T(ends[i], p, equal, x + low, x + high);                       \
            low += k;                                                                              \
            high -= L - k;                                                                         \
        }                                                                                          \
        return low;                                                                                \
    }                                                                                              \
    static int64_t divide_##T(T *x, int64_t n, T pivot, bool equal)                                \
    {                                                                                              \
        if (n >= 4 * UNROLLED * LANES_##T) return divide_by_##T(x, n, pivot, equal, UNROLLED);     \
        return divide_by_##T(x, n, pivot, equal, 1);                                               \
    }                                                                                              \
    static T pivot_##T(const T *x, int64_t n)                                                      \
    {                                                                                              \
        T sample[15];                                                                              \
        int64_t samples = n < 256 ? 3 : n < 4096 ? 7 : 15;                                         \
        for (int64_t i = 0; i < samples; i++) sample[i] = x[(2 * i + 1) * n / (2 * samples)];      \
        if (samples == 3) {                                                                        \
            T a = sample[0], b = sample[1], c = sample[2];                                         \
            T least = a < b ? a : b, most = a < b ? b : a;                                         \
            T upper = most < c ? most : c;                                                         \
            return least > upper ? least : upper;                                                  \
        }                                                                                          \
        for (int64_t i = 1; i < samples; i++) {                                                    \
            T t = sample[i];                                                                       \
            int64_t at = i;                                                                        \
            for (; at > 0 && sample[at - 1] > t; at--) sample[at] = sample[at - 1];                \
            sample[at] = t;                                                                        \
        }                                                                                          \
        return sample[samples / 2];                                                                \
    }                                                                                              \
    static void heap_sort_##T(T *x, int64_t n)                                                     \
    {                                                                                              \
        for (int64_t start = n / 2, end = n; end > 1;) {                                           \
            T t;                                                                                   \
            if (start > 0) {                                                                       \
                t = x[--start];                                                                    \
            } else {                                                                               \
                t = x[--end];                                                                      \
                x[end] = x[0];                                                                     \
            }                                                                                      \
            int64_t at = start;                                                                    \
            for (int64_t child; (child = 2 * at + 1) < end; at = child) {                          \
                if (child + 1 < end && x[child] < x[child + 1]) child++;                           \
                if (x[child] <= t) break;                                                          \
                x[at] = x[child];                                                                  \
            }                                                                                      \
            x[at] = t;                                                                             \
        }                                                                                          \
    }                                                                                              \
    /* Divides a range; [*begin, *end) of it are all the same. */                                  \
    static void divide_range_##T(T *x, int64_t n, int64_t *begin, int64_t *end)                    \
    {                                                                                              \
        T pivot = pivot_##T(x, n);                                                                 \
        *begin = *end = divide_##T(x, n, pivot, false);                                            \
        /* The pivot is the least: what equals it is in its place. */                              \
        if (*begin == 0) *end = divide_##T(x, n, pivot, true);                                     \
    }                                                                                              \
    static void sort_range_##T(T *x, int64_t n, int depth)                                         \
    {                                                                                              \
        while (n > FEW * LANES_##T) {                                                              \
            if (!depth--) {                                                                        \
                heap_sort_##T(x, n);                                                               \
                return;                                                                            \
            }                                                                                      \
            int64_t begin, end;                                                                    \
            divide_range_##T(x, n, &begin, &end);                                                  \
            if (begin < n - end) {                                                                 \
                sort_range_##T(x, begin, depth);                                                   \
                x += end;                                                                          \
                n -= end;                                                                          \
            } else {                                                                               \
                sort_range_##T(x + end, n - end, depth);                                           \
                n = begin;                                                                         \
            }                                                                                      \
        }                                                                                          \
        if (n > 1) count_sort_##T(x, n);                                                           \
    }                                                                                              \
    void TN_ISA_NAME(tn_sort_##name)(T * x, int64_t n)                                             \
    {                                                                                              \
        sort_range_##T(x, n, 96);                                                                  \
    }                                                                                              \
    int64_t TN_ISA_NAME(tn_sort_split_##name)(T * x, int64_t n, int64_t *bounds)                   \
    {                                                                                              \
        int64_t ranges = 1;                                                                        \
        bounds[0] = 0;                                                                             \
        bounds[1] = n;                                                                             \
        while (ranges + 2 <= TN_SORT_RANGES) {                                                     \
            int64_t largest = 0, begin, end;                                                       \
            for (int64_t i = 1; i < ranges; i++)                                                   \
                if (bounds[i + 1] - bounds[i] > bounds[largest + 1] - bounds[largest])             \
                    largest = i;                                                                   \
            int64_t from = bounds[largest], size = bounds[largest + 1] - from;                     \
            if (size < 4096) break;                                                                \
            divide_range_##T(x + from, size, &begin, &end);                                        \
            if (end == size && begin == 0) break; /* all the same */                               \
            memmove(bounds + largest + 3, bounds + largest + 1,                                    \
                    (size_t)(ranges - largest) * sizeof *bounds);                                  \
            bounds[largest + 1] = from + begin;                                                    \
            bounds[largest + 2] = from + end;                                                      \
            ranges += 2;                                                                           \
        }                                                                                          \
        return ranges;                                                                             \
    }

DEFINE_SORT(uint32_t, vu32, uu32, u32)
DEFINE_SORT(uint64_t, vu64, uu64, u64)

/* --- keys back to elements --- */

#define RESTORE(T, K, expression)                                                                  \
    do {                                                                                           \
        const K *restrict from = keys;                                                             \
        T *restrict to = out;                                                                      \
        K flip = descending ? (K) - 1 : 0;                                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            K u = from[i] ^ flip;                                                                  \
            to[i] = (T)(expression);                                                               \
        }                                                                                          \
    } while (0)

void TN_ISA_NAME(tn_restore_keys)(tn_element_type e, bool descending, const void *keys, int64_t n,
                                  void *out)
{
    switch ((int)e) {
    case TN_I8: RESTORE(uint8_t, uint32_t, u ^ 0x80000000u); return;
    case TN_I16: RESTORE(uint16_t, uint32_t, u ^ 0x80000000u); return;
    case TN_I32: RESTORE(uint32_t, uint32_t, u ^ 0x80000000u); return;
    case TN_I64: RESTORE(uint64_t, uint64_t, u ^ 0x8000000000000000u); return;
    case TN_U16: RESTORE(uint16_t, uint32_t, u); return;
    case TN_U32: RESTORE(uint32_t, uint32_t, u); return;
    case TN_U64: RESTORE(uint64_t, uint64_t, u); return;
    case TN_F32:
        RESTORE(uint32_t, uint32_t, u ^ ((uint32_t)((int32_t)~u >> 31) | 0x80000000u));
        return;
    case TN_F64:
        RESTORE(uint64_t, uint64_t, u ^ ((uint64_t)((int64_t)~u >> 63) | 0x8000000000000000u));
        return;
    default: RESTORE(uint8_t, uint32_t, u); return;
    }
}
