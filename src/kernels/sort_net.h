/* SPDX-License-Identifier: Apache-2.0 */
/* sort_net.h - internal to sort_lines_isa.c: sorts a few vectors of signed integers by a network.
 *
 * The columns of R vectors are sorted first; then neighbouring columns, pairs of columns and so on
 * are merged, until a group is as wide as a vector. A group of columns holds its numbers in order
 * row by row. Merging two sorted groups compares each number of the one with its opposite of the
 * other, in the last row and from the other end, which leaves two sequences that rise and fall, of
 * half of the rows each; these are halved in the same way until they are one row, and then within
 * it. Included as simd.h is. */
#ifndef TN_KERNELS_SORT_NET_H
#define TN_KERNELS_SORT_NET_H

#include "kernels/simd_order.h"

#define TN_LANES_4 (TN_VB / 4)
#define TN_LANES_8 (TN_VB / 8)

/* Lane i gets lane i ^ x. */
#define X2(v, x) __builtin_shufflevector(v, v, 0 ^ x, 1 ^ x)
#define X4(v, x) __builtin_shufflevector(v, v, 0 ^ x, 1 ^ x, 2 ^ x, 3 ^ x)
#define X8(v, x)                                                                                   \
    __builtin_shufflevector(v, v, 0 ^ x, 1 ^ x, 2 ^ x, 3 ^ x, 4 ^ x, 5 ^ x, 6 ^ x, 7 ^ x)
#define X16(v, x)                                                                                  \
    __builtin_shufflevector(v, v, 0 ^ x, 1 ^ x, 2 ^ x, 3 ^ x, 4 ^ x, 5 ^ x, 6 ^ x, 7 ^ x, 8 ^ x,   \
                            9 ^ x, 10 ^ x, 11 ^ x, 12 ^ x, 13 ^ x, 14 ^ x, 15 ^ x)
/* Lane i of b where i has bit x, of a elsewhere. */
#define P(i, x, n)  (i + ((i & x) != 0) * n)
#define P2(a, b, x) __builtin_shufflevector(a, b, P(0, x, 2), P(1, x, 2))
#define P4(a, b, x) __builtin_shufflevector(a, b, P(0, x, 4), P(1, x, 4), P(2, x, 4), P(3, x, 4))
#define P8(a, b, x)                                                                                \
    __builtin_shufflevector(a, b, P(0, x, 8), P(1, x, 8), P(2, x, 8), P(3, x, 8), P(4, x, 8),      \
                            P(5, x, 8), P(6, x, 8), P(7, x, 8))

/* min and max of signed integers. */
#if TN_VB == 32
TN_INLINE vi32 net_least_4(vi32 a, vi32 b)
{
    return (vi32)_mm256_min_epi32((__m256i)a, (__m256i)b);
}
TN_INLINE vi32 net_most_4(vi32 a, vi32 b)
{
    return (vi32)_mm256_max_epi32((__m256i)a, (__m256i)b);
}
TN_INLINE vi64 net_least_8(vi64 a, vi64 b)
{
    return (vi64)_mm256_blendv_epi8((__m256i)a, (__m256i)b, (__m256i)(a > b));
}
TN_INLINE vi64 net_most_8(vi64 a, vi64 b)
{
    return (vi64)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)(a > b));
}
#else
#define net_least_4 smaller_i32
#define net_most_4  larger_i32
#define net_least_8 smaller_i64
#define net_most_8  larger_i64
#endif

/* lanes_##W(v, x): lane i gets lane i ^ x, for x that are known. order_##W(v, w, x): the smaller
 * one of v and w, or, in lanes with bit x, the larger one. */
#if TN_VB == 64
TN_INLINE vi32 lanes_4(vi32 v, const int x)
{
    return x == 1   ? X16(v, 1)
           : x == 2 ? X16(v, 2)
           : x == 3 ? X16(v, 3)
           : x == 4 ? X16(v, 4)
           : x == 7 ? X16(v, 7)
           : x == 8 ? X16(v, 8)
                    : X16(v, 15);
}
TN_INLINE vi64 lanes_8(vi64 v, const int x)
{
    return x == 1 ? X8(v, 1) : x == 2 ? X8(v, 2) : x == 3 ? X8(v, 3) : x == 4 ? X8(v, 4) : X8(v, 7);
}
TN_INLINE vi32 order_4(vi32 v, vi32 w, const int x)
{
    const __mmask16 with_bit = x == 1 ? 0xAAAA : x == 2 ? 0xCCCC : x == 4 ? 0xF0F0 : 0xFF00;
    return (vi32)_mm512_mask_max_epi32(_mm512_min_epi32((__m512i)v, (__m512i)w), with_bit,
                                       (__m512i)v, (__m512i)w);
}
TN_INLINE vi64 order_8(vi64 v, vi64 w, const int x)
{
    const __mmask8 with_bit = x == 1 ? 0xAA : x == 2 ? 0xCC : 0xF0;
    return (vi64)_mm512_mask_max_epi64(_mm512_min_epi64((__m512i)v, (__m512i)w), with_bit,
                                       (__m512i)v, (__m512i)w);
}
#elif TN_VB == 32
TN_INLINE vi32 lanes_4(vi32 v, const int x)
{
    return x == 1 ? X8(v, 1) : x == 2 ? X8(v, 2) : x == 3 ? X8(v, 3) : x == 4 ? X8(v, 4) : X8(v, 7);
}
TN_INLINE vi64 lanes_8(vi64 v, const int x)
{
    return x == 1 ? X4(v, 1) : x == 2 ? X4(v, 2) : X4(v, 3);
}
TN_INLINE vi32 order_4(vi32 v, vi32 w, const int x)
{
    vi32 a = net_least_4(v, w), b = net_most_4(v, w);
    return x == 1 ? P8(a, b, 1) : x == 2 ? P8(a, b, 2) : P8(a, b, 4);
}
TN_INLINE vi64 order_8(vi64 v, vi64 w, const int x)
{
    vi64 a = net_least_8(v, w), b = net_most_8(v, w);
    return x == 1 ? P4(a, b, 1) : P4(a, b, 2);
}
#else
TN_INLINE vi32 lanes_4(vi32 v, const int x)
{
    return x == 1 ? X4(v, 1) : x == 2 ? X4(v, 2) : X4(v, 3);
}
TN_INLINE vi64 lanes_8(vi64 v, const int x)
{
    (void)x;
    return X2(v, 1);
}
TN_INLINE vi32 order_4(vi32 v, vi32 w, const int x)
{
    vi32 a = net_least_4(v, w), b = net_most_4(v, w);
    return x == 1 ? P4(a, b, 1) : P4(a, b, 2);
}
TN_INLINE vi64 order_8(vi64 v, vi64 w, const int x)
{
    (void)x;
    return P2(net_least_8(v, w), net_most_8(v, w), 1);
}
#endif

/* The rows i and j of which i comes first. */
#define C(W, i, j) (t = v[i], v[i] = net_least_##W(t, v[j]), v[j] = net_most_##W(t, v[j]))
#define NET_4(W)   C(W, 0, 2), C(W, 1, 3), C(W, 0, 1), C(W, 2, 3), C(W, 1, 2)
#define NET_8(W)                                                                                   \
    C(W, 0, 2), C(W, 1, 3), C(W, 4, 6), C(W, 5, 7), C(W, 0, 4), C(W, 1, 5), C(W, 2, 6),            \
        C(W, 3, 7), C(W, 0, 1), C(W, 2, 3), C(W, 4, 5), C(W, 6, 7), C(W, 2, 4), C(W, 3, 5),        \
        C(W, 1, 4), C(W, 3, 6), C(W, 1, 2), C(W, 3, 4), C(W, 5, 6)

/* Sorts R vectors, R = 1, 4 or 8. */
#define DEFINE_NET(W, V)                                                                           \
    TN_INLINE void halve_rows_##W(V *v, const int rows, const int x)                               \
    {                                                                                              \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows / 2; r++)                                 \
        {                                                                                          \
            V w = lanes_##W(v[rows - 1 - r], x), t = v[r];                                         \
            v[r] = net_least_##W(t, w);                                                            \
            v[rows - 1 - r] = net_most_##W(t, w);                                                  \
        }                                                                                          \
    }                                                                                              \
    /* Two groups of `width` columns become one. */                                                \
    TN_INLINE void merge_groups_##W(V *v, const int R, const int width)                            \
    {                                                                                              \
        const int x = 2 * width - 1;                                                               \
        if (R >= 8) halve_rows_##W(v, 8, x);                                                       \
        _Pragma("GCC unroll 2") for (int r = 0; r + 4 <= R; r += 4) halve_rows_##W(v + r, 4, x);   \
        _Pragma("GCC unroll 4") for (int r = 0; r + 2 <= R; r += 2) halve_rows_##W(v + r, 2, x);   \
        _Pragma("GCC unroll 8") for (int r = 0; r < R; r++)                                        \
        {                                                                                          \
            v[r] = order_##W(v[r], lanes_##W(v[r], x), width);                                     \
            if (width >= 8) v[r] = order_##W(v[r], lanes_##W(v[r], 4), 4);                         \
            if (width >= 4) v[r] = order_##W(v[r], lanes_##W(v[r], 2), 2);                         \
            if (width >= 2) v[r] = order_##W(v[r], lanes_##W(v[r], 1), 1);                         \
        }                                                                                          \
    }                                                                                              \
    TN_INLINE void net_sort_##W(V *v, const int R)                                                 \
    {                                                                                              \
        V t;                                                                                       \
        if (R == 4) (void)(NET_4(W));                                                              \
        if (R == 8) (void)(NET_8(W));                                                              \
        merge_groups_##W(v, R, 1);                                                                 \
        if (TN_LANES_##W >= 4) merge_groups_##W(v, R, 2);                                          \
        if (TN_LANES_##W >= 8) merge_groups_##W(v, R, 4);                                          \
        if (TN_LANES_##W >= 16) merge_groups_##W(v, R, 8);                                         \
    }

DEFINE_NET(4, vi32)
DEFINE_NET(8, vi64)

#undef C
#undef P
#endif
