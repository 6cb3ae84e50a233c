/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. Quicksort: whole vectors are divided by a pivot in place;
 * short ranges are put in order by counting, for each element, those before it. */
#include <string.h>

#include "kernels/simd.h"
#include "kernels/sort_lines.h"

#define LANES_uint32_t (TN_VB / 4)
#define LANES_uint64_t (TN_VB / 8)

/* Ranges of up to FEW vectors are sorted by counting. */
enum { FEW = 4 };

/* The elements of v below (or, if `equal`, not above) the pivot first, then the others; how many
 * are below. */
#if defined __AVX512F__
TN_INLINE int divide_vector_uint32_t(vu32 v, vu32 pivot, bool equal, vu32 *out)
{
    __m512i x = (__m512i)v, p = (__m512i)pivot;
    __mmask16 low = equal ? _mm512_cmple_epu32_mask(x, p) : _mm512_cmplt_epu32_mask(x, p);
    int n = __builtin_popcount(low);
    __m512i first = _mm512_maskz_compress_epi32(low, x);
    __m512i rest = _mm512_maskz_compress_epi32((__mmask16)~low, x);
    *out = (vu32)_mm512_mask_expand_epi32(first, (__mmask16)(0xFFFFu << n), rest);
    return n;
}
TN_INLINE int divide_vector_uint64_t(vu64 v, vu64 pivot, bool equal, vu64 *out)
{
    __m512i x = (__m512i)v, p = (__m512i)pivot;
    __mmask8 low = equal ? _mm512_cmple_epu64_mask(x, p) : _mm512_cmplt_epu64_mask(x, p);
    int n = __builtin_popcount(low);
    __m512i first = _mm512_maskz_compress_epi64(low, x);
    __m512i rest = _mm512_maskz_compress_epi64((__mmask8)~low, x);
    *out = (vu64)_mm512_mask_expand_epi64(first, (__mmask8)(0xFFu << n), rest);
    return n;
}
#else
#define DIVIDE_VECTOR(T, V)                                                                        \
    TN_INLINE int divide_vector_##T(V v, V pivot, bool equal, V *out)                              \
    {                                                                                              \
        int n = 0, last = LANES_##T;                                                               \
        for (int i = 0; i < LANES_##T; i++) {                                                      \
            bool low = equal ? v[i] <= pivot[i] : v[i] < pivot[i];                                 \
            if (low) (*out)[n++] = v[i];                                                           \
            else (*out)[--last] = v[i];                                                            \
        }                                                                                          \
        return n;                                                                                  \
    }
DIVIDE_VECTOR(uint32_t, vu32)
DIVIDE_VECTOR(uint64_t, vu64)
#endif

#define SET_uint32_t set_u32
#define SET_uint64_t set_u64

#define DEFINE_SORT(T, V, UV, name)                                                                \
    /* By counting; n <= FEW * LANES. Places past n count as above all. */                         \
    static void count_sort_##T(T *x, int64_t n)                                                    \
    {                                                                                              \
        enum { L = LANES_##T };                                                                    \
        T copy[FEW * L];                                                                           \
        V v[FEW], rank[FEW], lane;                                                                 \
        for (int i = 0; i < L; i++) lane[i] = (T)i;                                                \
        memcpy(copy, x, (size_t)n * sizeof(T));                                                    \
        memset(copy + n, 0xFF, (size_t)(FEW * L - n) * sizeof(T));                                 \
        int64_t vectors = (n + L - 1) / L;                                                         \
        for (int64_t q = 0; q < vectors; q++) {                                                    \
            v[q] = *(const UV *)(copy + q * L);                                                    \
            rank[q] = (V){0};                                                                      \
        }                                                                                          \
        for (int64_t q = 0; q < vectors; q++)                                                      \
            for (int64_t j = 0; j < n; j++) {                                                      \
                V other = SET_##T(copy[j]);                                                        \
                V before = (V)(other < v[q]), same = (V)(other == v[q]);                           \
                if (j < q * L) before |= same;                                                     \
                else if (j < (q + 1) * L) before |= same & (V)(lane > (T)(j - q * L));             \
                rank[q] -= before;                                                                 \
            }                                                                                      \
        T ranks[FEW * L];                                                                          \
        for (int64_t q = 0; q < vectors; q++) *(UV *)(ranks + q * L) = rank[q];                    \
        for (int64_t i = 0; i < n; i++) x[ranks[i]] = copy[i];                                     \
    }                                                                                              \
    /* The elements below the pivot (or not above it) come first; how many. n >= 2 * LANES. */     \
    static int64_t divide_##T(T *x, int64_t n, T pivot, bool equal)                                \
    {                                                                                              \
        enum { L = LANES_##T };                                                                    \
        V p = SET_##T(pivot), first = *(UV *)x, last = *(UV *)(x + n - L), v;                      \
        /* Read are [0, left) and [right, n); written [0, low) and [high, n). */                   \
        int64_t left = L, right = n - L, low = 0, high = n;                                        \
        while (right - left >= L) {                                                                \
            V from;                                                                                \
            if (left - low <= high - right) {                                                      \
                from = *(UV *)(x + left);                                                          \
                left += L;                                                                         \
            } else {                                                                               \
                right -= L;                                                                        \
                from = *(UV *)(x + right);                                                         \
            }                                                                                      \
            int k = divide_vector_##T(from, p, equal, &v);                                         \
            *(UV *)(x + low) = v;                                                                  \
            *(UV *)(x + high - L) = v;                                                             \
            low += k;                                                                              \
            high -= L - k;                                                                         \
        }                                                                                          \
        T rest[L];                                                                                 \
        int64_t n_rest = right - left;                                                             \
        memcpy(rest, x + left, (size_t)n_rest * sizeof(T));                                        \
        for (int64_t i = 0; i < n_rest; i++) {                                                     \
            if (equal ? rest[i] <= pivot : rest[i] < pivot) x[low++] = rest[i];                    \
            else x[--high] = rest[i];                                                              \
        }                                                                                          \
        /* Room for two vectors is left. */                                                        \
        int k = divide_vector_##T(first, p, equal, &v);                                            \
        *(UV *)(x + low) = v;                                                                      \
        *(UV *)(x + high - L) = v;                                                                 \
        low += k;                                                                                  \
        high -= L - k;                                                                             \
        k = divide_vector_##T(last, p, equal, &v);                                                 \
        *(UV *)(x + low) = v;                                                                      \
        return low + k;                                                                            \
    }                                                                                              \
    static T pivot_##T(const T *x, int64_t n)                                                      \
    {                                                                                              \
        enum { SAMPLES = 15 };                                                                     \
        T sample[SAMPLES];                                                                         \
        for (int64_t i = 0; i < SAMPLES; i++) sample[i] = x[(2 * i + 1) * n / (2 * SAMPLES)];      \
        for (int i = 1; i < SAMPLES; i++) {                                                        \
            T t = sample[i];                                                                       \
            int at = i;                                                                            \
            for (; at > 0 && sample[at - 1] > t; at--) sample[at] = sample[at - 1];                \
            sample[at] = t;                                                                        \
        }                                                                                          \
        return sample[SAMPLES / 2];                                                                \
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
