/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. Quicksort: whole vectors are divided by a pivot in place;
 * ranges of a few vectors are sorted in registers. */
#include <string.h>

#include "kernels/simd.h"
#include "kernels/sort_lines.h"
#include "kernels/sort_net.h"

#define LANES_uint32_t (TN_VB / 4)
#define LANES_uint64_t (TN_VB / 8)

/* Ranges of up to FEW vectors are sorted in registers; UNROLLED are divided at a time. */
enum { FEW = 8, UNROLLED = 4 };

/* Writes the elements of v below the pivot to `low` on, and the others so that they end at `high`;
 * how many are below. Whole vectors may be written at either place. */
#if defined __AVX512F__
TN_INLINE int divide_vector_uint32_t(vu32 v, vu32 pivot, uint32_t *low, uint32_t *high)
{
    __m512i x = (__m512i)v, p = (__m512i)pivot;
    __mmask16 below = _mm512_cmplt_epu32_mask(x, p);
    int n = __builtin_popcount(below);
    _mm512_storeu_si512(low, _mm512_maskz_compress_epi32(below, x));
    _mm512_mask_storeu_epi32(high - (16 - n), (__mmask16)(0xFFFFu >> n),
                             _mm512_maskz_compress_epi32((__mmask16)~below, x));
    return n;
}
TN_INLINE int divide_vector_uint64_t(vu64 v, vu64 pivot, uint64_t *low, uint64_t *high)
{
    __m512i x = (__m512i)v, p = (__m512i)pivot;
    __mmask8 below = _mm512_cmplt_epu64_mask(x, p);
    int n = __builtin_popcount(below);
    _mm512_storeu_si512(low, _mm512_maskz_compress_epi64(below, x));
    _mm512_mask_storeu_epi64(high - (8 - n), (__mmask8)(0xFFu >> n),
                             _mm512_maskz_compress_epi64((__mmask8)~below, x));
    return n;
}
#elif defined __AVX2__
/* For each set of lanes, a byte each: those in it, in order, and then the others. */
#define LANE(m, i)   (((m) >> (i)) & 1)
#define BEFORE(m, i) __builtin_popcount((m) & ((1u << (i)) - 1))
#define PLACE(m, i)  (LANE(m, i) ? BEFORE(m, i) : __builtin_popcount(m) + (i) - BEFORE(m, i))
#define ENTRY(m, i)  ((uint64_t)(i) << 8 * PLACE(m, i))
#define ORDER(m)                                                                                   \
    ENTRY(m, 0) | ENTRY(m, 1) | ENTRY(m, 2) | ENTRY(m, 3) | ENTRY(m, 4) | ENTRY(m, 5) |            \
        ENTRY(m, 6) | ENTRY(m, 7)
#define ORDERS_4(m)  ORDER(m), ORDER((m) + 1), ORDER((m) + 2), ORDER((m) + 3)
#define ORDERS_16(m) ORDERS_4(m), ORDERS_4((m) + 4), ORDERS_4((m) + 8), ORDERS_4((m) + 12)
#define ORDERS_64(m) ORDERS_16(m), ORDERS_16((m) + 16), ORDERS_16((m) + 32), ORDERS_16((m) + 48)
static const uint64_t orders[256] = {ORDERS_64(0u), ORDERS_64(64u), ORDERS_64(128u),
                                     ORDERS_64(192u)};

TN_INLINE void divide_lanes(__m256i x, unsigned below, void *low, void *high)
{
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)orders[below]));
    __m256i divided = _mm256_permutevar8x32_epi32(x, order);
    _mm256_storeu_si256(low, divided);
    _mm256_storeu_si256((__m256i *)high - 1, divided);
}
TN_INLINE int divide_vector_uint32_t(vu32 v, vu32 pivot, uint32_t *low, uint32_t *high)
{
    __m256i x = (__m256i)v, p = (__m256i)pivot;
    __m256i above = _mm256_cmpeq_epi32(_mm256_max_epu32(x, p), x);
    unsigned lanes = (unsigned)_mm256_movemask_ps((__m256)above) ^ 0xFF;
    divide_lanes(x, lanes, low, high);
    return __builtin_popcount(lanes);
}
TN_INLINE int divide_vector_uint64_t(vu64 v, vu64 pivot, uint64_t *low, uint64_t *high)
{
    vi64 sign = (vi64)set_u64(1ull << 63), x = (vi64)v ^ sign, p = (vi64)pivot ^ sign;
    unsigned lanes = (unsigned)_mm256_movemask_pd((__m256d)(p > x));
    /* Two lanes of 32 bits each. */
    unsigned spread = (lanes | lanes << 2) & 0x33;
    spread = (spread | spread << 1) & 0x55;
    divide_lanes((__m256i)v, spread | spread << 1, low, high);
    return __builtin_popcount(lanes);
}
#else
/* Each element goes to either place; where it is wrong the next one overwrites it. */
#define DIVIDE_VECTOR(T, V)                                                                        \
    TN_INLINE int divide_vector_##T(V v, V pivot, T *low, T *high)                                 \
    {                                                                                              \
        int n = 0;                                                                                 \
        for (int i = 0; i < LANES_##T; i++) {                                                      \
            T x = v[i];                                                                            \
            low[n] = x;                                                                            \
            high[n - i - 1] = x;                                                                   \
            n += x < pivot[0];                                                                     \
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
#define NET_uint32_t net_sort_4
#define NET_uint64_t net_sort_8

#define DEFINE_SORT(T, V, UV, SV, name)                                                            \
    /* n <= R * LANES */                                                                           \
    TN_INLINE void sort_rows_##T(T *x, int64_t n, const int R)                                     \
    {                                                                                              \
        enum { L = LANES_##T };                                                                    \
        SV v[FEW], sign = (SV)SET_##T((T)1 << (8 * sizeof(T) - 1));                                \
        _Pragma("GCC unroll 8") for (int r = 0; r < R; r++) v[r] =                                 \
            (SV)load_part_##T(x + r * L, n - r * L) ^ sign;                                        \
        NET_##T(v, R);                                                                             \
        _Pragma("GCC unroll 8") for (int r = 0; r < R; r++)                                        \
            store_part_##T(x + r * L, n - r * L, (V)(v[r] ^ sign));                                \
    }                                                                                              \
    static void sort_few_##T(T *x, int64_t n)                                                      \
    {                                                                                              \
        enum { L = LANES_##T };                                                                    \
        if (n <= L) sort_rows_##T(x, n, 1);                                                        \
        else if (n <= 4 * L) sort_rows_##T(x, n, 4);                                               \
        else sort_rows_##T(x, n, 8);                                                               \
    }                                                                                              \
    /* The elements below the pivot come first; how many. n >= 2 * UNROLLED *                      \
       LANES. UNROLLED vectors are read at a time, from the side with less room before what was    \
       read. */                                                                                    \
    static int64_t divide_##T(T *x, int64_t n, T pivot)                                            \
    {                                                                                              \
        enum { L = LANES_##T, U = UNROLLED };                                                      \
        V p = SET_##T(pivot), ends[2 * U];                                                         \
        for (int i = 0; i < U; i++) {                                                              \
            ends[i] = *(UV *)(x + i * L);                                                          \
            ends[U + i] = *(UV *)(x + n - (i + 1) * L);                                            \
        }                                                                                          \
        /* Read are [0, left) and [right, n); written [0, low) and [high, n). */                   \
        int64_t left = U * L, right = n - U * L, low = 0, high = n;                                \
        while (right - left >= U * L) {                                                            \
            V from[U];                                                                             \
            bool begin = left - low <= high - right;                                               \
            right -= begin ? 0 : U * L;                                                            \
            const T *at = x + (begin ? left : right);                                              \
            left += begin ? U * L : 0;                                                             \
            for (int i = 0; i < U; i++) from[i] = *(const UV *)(at + i * L);                       \
            for (int i = 0; i < U; i++) {                                                          \
                int k = divide_vector_##T(from[i], p, x + low, x + high);                          \
                low += k;                                                                          \
                high -= L - k;                                                                     \
            }                                                                                      \
        }                                                                                          \
        T rest[U * L];                                                                             \
        int64_t n_rest = right - left, at = 0;                                                     \
        memcpy(rest, x + left, (size_t)n_rest * sizeof(T));                                        \
        for (; at + L <= n_rest; at += L) {                                                        \
            int k = divide_vector_##T(*(UV *)(rest + at), p, x + low, x + high);                   \
            low += k;                                                                              \
            high -= L - k;                                                                         \
        }                                                                                          \
        for (; at < n_rest; at++) {                                                                \
            bool below = rest[at] < pivot;                                                         \
            x[low] = x[high - 1] = rest[at];                                                       \
            low += below;                                                                          \
            high -= !below;                                                                        \
        }                                                                                          \
        /* Room for what stood at the ends is left. */                                             \
        for (int i = 0; i < 2 * U; i++) {                                                          \
            int k = divide_vector_##T(ends[i], p, x + low, x + high);                              \
            low += k;                                                                              \
            high -= L - k;                                                                         \
        }                                                                                          \
        return low;                                                                                \
    }                                                                                              \
    int64_t TN_ISA_NAME(tn_sort_divide_##name)(T * x, int64_t n, T pivot, bool equal)              \
    {                                                                                              \
        if (equal && pivot == (T) - 1) return n;                                                   \
        return divide_##T(x, n, equal ? pivot + 1 : pivot);                                        \
    }                                                                                              \
    TN_INLINE T middle_##T(T a, T b, T c)                                                          \
    {                                                                                              \
        T least = a < b ? a : b, most = a < b ? b : a, upper = most < c ? most : c;                \
        return least > upper ? least : upper;                                                      \
    }                                                                                              \
    T TN_ISA_NAME(tn_sort_pivot_##name)(const T *x, int64_t n)                                     \
    {                                                                                              \
        T sample[FEW * LANES_##T];                                                                 \
        if (n < 1 << 10) {                                                                         \
            const T *y = x + n / 2, *z = x + n - 3;                                                \
            return middle_##T(middle_##T(x[0], x[1], x[2]), middle_##T(y[0], y[1], y[2]),          \
                              middle_##T(z[0], z[1], z[2]));                                       \
        }                                                                                          \
        int64_t samples = (n < 1 << 14 ? 1 : FEW) * LANES_##T;                                     \
        if (samples < 8) samples = 8;                                                              \
        int64_t step = n / samples;                                                                \
        for (int64_t i = 0; i < samples; i++) sample[i] = x[i * step + step / 2];                  \
        sort_few_##T(sample, samples);                                                             \
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
    static void sort_range_##T(T *x, int64_t n, int depth)                                         \
    {                                                                                              \
        while (n > FEW * LANES_##T) {                                                              \
            if (!depth--) {                                                                        \
                heap_sort_##T(x, n);                                                               \
                return;                                                                            \
            }                                                                                      \
            T pivot = TN_ISA_NAME(tn_sort_pivot_##name)(x, n);                                     \
            int64_t begin = TN_ISA_NAME(tn_sort_divide_##name)(x, n, pivot, false), end = begin;   \
            /* The pivot is the least: what equals it is in its place. */                          \
            if (begin == 0) end = TN_ISA_NAME(tn_sort_divide_##name)(x, n, pivot, true);           \
            if (begin < n - end) {                                                                 \
                sort_range_##T(x, begin, depth);                                                   \
                x += end;                                                                          \
                n -= end;                                                                          \
            } else {                                                                               \
                sort_range_##T(x + end, n - end, depth);                                           \
                n = begin;                                                                         \
            }                                                                                      \
        }                                                                                          \
        if (n > 1) sort_few_##T(x, n);                                                             \
    }                                                                                              \
    void TN_ISA_NAME(tn_sort_##name)(T * x, int64_t n)                                             \
    {                                                                                              \
        sort_range_##T(x, n, 96);                                                                  \
    }

DEFINE_SORT(uint32_t, vu32, uu32, vi32, u32)
DEFINE_SORT(uint64_t, vu64, uu64, vi64, u64)

/* --- keys back to elements --- */

#define RESTORE(T, K, expression)                                                                  \
    do {                                                                                           \
        const K *from = keys;                                                                      \
        T *to = out; /* may be the same memory */                                                  \
        K flip = descending ? (K) - 1 : 0;                                                         \
        TN_INDEPENDENT for (int64_t i = 0; i < n; i++)                                             \
        {                                                                                          \
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
