/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/arg_rows.h"
#include "kernels/simd.h"

/* Floats as signed integers of the same order: bits of negative ones are turned around. MOST: of
 * the integer, INF: bits of infinity. */
#define FLOAT_KEYS(S, K, MOST, INF)                                                                \
    static inline K max_key_##S(K b)                                                               \
    {                                                                                              \
        K size = b & MOST, turn = b >> (8 * sizeof(K) - 1), nan = (K) - (K)(size > INF);           \
        return (K)((((size ^ turn) - turn) & ~nan) | (MOST & nan));                                \
    }                                                                                              \
    static inline K min_key_##S(K b)                                                               \
    {                                                                                              \
        K size = b & MOST, turn = ~(b >> (8 * sizeof(K) - 1)), nan = (K) - (K)(size > INF);        \
        return (K)((((size ^ turn) - turn) & ~nan) | (MOST & nan));                                \
    }
#define INT_KEYS(S, K, FLIP)                                                                       \
    static inline K max_key_##S(K b)                                                               \
    {                                                                                              \
        return b ^ FLIP;                                                                           \
    }                                                                                              \
    static inline K min_key_##S(K b)                                                               \
    {                                                                                              \
        return ~(b ^ FLIP);                                                                        \
    }

enum { CHUNK = 2048, BLOCK = 64, REGISTERS = 4 };

/* The larger or smaller of numbers, and which lanes are equal, as bits. */
#if TN_VB == 64
#define max_f32(a, b)   ((vf32)_mm512_max_ps(a, b))
#define min_f32(a, b)   ((vf32)_mm512_min_ps(a, b))
#define max_f64(a, b)   ((vf64)_mm512_max_pd(a, b))
#define min_f64(a, b)   ((vf64)_mm512_min_pd(a, b))
#define equal_f32(a, b) ((uint64_t)_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ))
#define equal_f64(a, b) ((uint64_t)_mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ))
#define max_of_f32      _mm512_reduce_max_ps
#define min_of_f32      _mm512_reduce_min_ps
#define max_of_f64      _mm512_reduce_max_pd
#define min_of_f64      _mm512_reduce_min_pd
#elif TN_VB == 32
#define max_f32(a, b)   ((vf32)_mm256_max_ps(a, b))
#define min_f32(a, b)   ((vf32)_mm256_min_ps(a, b))
#define max_f64(a, b)   ((vf64)_mm256_max_pd(a, b))
#define min_f64(a, b)   ((vf64)_mm256_min_pd(a, b))
#define equal_f32(a, b) ((uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)))
#define equal_f64(a, b) ((uint64_t)(unsigned)_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)))
#else
#define SELECT(U, V, more, a, b) ((V)(((U)(a) & (U)(more)) | ((U)(b) & ~(U)(more))))
#define max_f32(a, b)            SELECT(vu32, vf32, (a) > (b), a, b)
#define min_f32(a, b)            SELECT(vu32, vf32, (a) < (b), a, b)
#define max_f64(a, b)            SELECT(vu64, vf64, (a) > (b), a, b)
#define min_f64(a, b)            SELECT(vu64, vf64, (a) < (b), a, b)
#define equal_f32(a, b)                                                                            \
    ((uint64_t)(a[0] == b[0]) | (uint64_t)(a[1] == b[1]) << 1 | (uint64_t)(a[2] == b[2]) << 2 |    \
     (uint64_t)(a[3] == b[3]) << 3)
#define equal_f64(a, b) ((uint64_t)(a[0] == b[0]) | (uint64_t)(a[1] == b[1]) << 1)
#endif

#ifndef max_of_f32
#define OF_LANES(how, S, T, MORE)                                                                  \
    static inline T how##_of_##S(v##S v)                                                           \
    {                                                                                              \
        T best = v[0];                                                                             \
        for (int l = 1; l < TN_VB / (int)sizeof(T); l++) best = v[l] MORE best ? v[l] : best;      \
        return best;                                                                               \
    }
OF_LANES(max, f32, float, >)
OF_LANES(min, f32, float, <)
OF_LANES(max, f64, double, >)
OF_LANES(min, f64, double, <)
#endif

/* Floats as they are, where a row has nothing but numbers: with NaN, or infinities of both signs,
 * its sum is none. The chunk with the best is looked through again for the first that is equal. */
#define NUMBERS(how, S, K, MORE)                                                                   \
    static bool how##_numbers_##S(const u##S *from, int64_t n, tn_arg *out)                        \
    {                                                                                              \
        typedef __typeof__((*(u##S *)0)[0]) T;                                                     \
        const T *x = (const T *)from;                                                              \
        enum { WIDTH = TN_VB / (int)sizeof(T), GROUP = REGISTERS * WIDTH };                        \
        T best = 0;                                                                                \
        int64_t at = 0;                                                                            \
        uint64_t found = 0;                                                                        \
        v##S m[REGISTERS], sum[REGISTERS] = {{0}};                                                 \
        for (int64_t c = 0; c < n; c += CHUNK) {                                                   \
            int64_t end = n - c < CHUNK ? n : c + CHUNK, i = c;                                    \
            if (end - i < GROUP) i = end - GROUP;                                                  \
            UNROLL for (int r = 0; r < REGISTERS; r++) m[r] = *(const u##S *)(x + i + r * WIDTH);  \
            for (;; i += GROUP) {                                                                  \
                if (i + GROUP > end) i = end - GROUP;                                              \
                UNROLL for (int r = 0; r < REGISTERS; r++)                                         \
                {                                                                                  \
                    v##S v = *(const u##S *)(x + i + r * WIDTH);                                   \
                    m[r] = how##_##S(v, m[r]);                                                     \
                    sum[r] += v;                                                                   \
                }                                                                                  \
                if (i + GROUP == end) break;                                                       \
            }                                                                                      \
            UNROLL for (int r = 1; r < REGISTERS; r++) m[0] = how##_##S(m[r], m[0]);               \
            T most = how##_of_##S(m[0]);                                                           \
            if (c == 0 || most MORE best) {                                                        \
                best = most;                                                                       \
                at = c;                                                                            \
            }                                                                                      \
        }                                                                                          \
        UNROLL for (int r = 1; r < REGISTERS; r++) sum[0] += sum[r];                               \
        if (equal_##S(sum[0], sum[0]) != (UINT64_C(1) << WIDTH) - 1) return false;                 \
        v##S wanted = set_##S(best);                                                               \
        for (;; at += GROUP) {                                                                     \
            if (at + GROUP > n) at = n - GROUP;                                                    \
            UNROLL for (int r = 0; r < REGISTERS; r++)                                             \
            {                                                                                      \
                m[r] = *(const u##S *)(x + at + r * WIDTH);                                        \
            }                                                                                      \
            v##S most = how##_##S(how##_##S(m[0], m[1]), how##_##S(m[2], m[3]));                   \
            if (equal_##S(most, wanted)) break;                                                    \
        }                                                                                          \
        UNROLL for (int r = 0; r < REGISTERS; r++) found |= equal_##S(m[r], wanted)                \
                                                            << (r * WIDTH);                        \
        K bits;                                                                                    \
        memcpy(&bits, &best, sizeof bits);                                                         \
        *out = (tn_arg){how##_key_##S(bits), at + __builtin_ctzll(found)};                         \
        return true;                                                                               \
    }
#define NUMBERS_FLOAT(how, S, x, n, out) how##_numbers_##S((const void *)(x), n, out)
#define NUMBERS_HALF(how, S, x, n, out)  ((void)(out), false)
#define NUMBERS_INT(how, S, x, n, out)   ((void)(out), false)

/* The chunk with the best key is looked through again for the element. */
#define ARG(how, S, K, LEAST, NUMBERS_)                                                            \
    static tn_arg how##_row_##S(const void *row, int64_t n)                                        \
    {                                                                                              \
        const K *x = row;                                                                          \
        K best = LEAST;                                                                            \
        int64_t at = 0;                                                                            \
        if (n < BLOCK) {                                                                           \
            best = how##_key_##S(x[0]);                                                            \
            for (int64_t i = 1; i < n; i++) {                                                      \
                K k = how##_key_##S(x[i]);                                                         \
                at = k > best ? i : at;                                                            \
                best = k > best ? k : best;                                                        \
            }                                                                                      \
            return (tn_arg){best, at};                                                             \
        }                                                                                          \
        tn_arg number;                                                                             \
        if (NUMBERS_(how, S, x, n, &number)) return number;                                        \
        for (int64_t c = 0; c < n; c += CHUNK) {                                                   \
            int64_t end = n - c < CHUNK ? n : c + CHUNK;                                           \
            K most = LEAST;                                                                        \
            for (int64_t i = c; i < end; i++) {                                                    \
                K k = how##_key_##S(x[i]);                                                         \
                most = k > most ? k : most;                                                        \
            }                                                                                      \
            if (most > best) {                                                                     \
                best = most;                                                                       \
                at = c;                                                                            \
            }                                                                                      \
        }                                                                                          \
        for (K found = 0;; at += BLOCK) {                                                          \
            if (at + BLOCK > n) at = n - BLOCK;                                                    \
            for (int i = 0; i < BLOCK; i++) found |= (K)(how##_key_##S(x[at + i]) == best);        \
            if (found) break;                                                                      \
        }                                                                                          \
        K first = BLOCK;                                                                           \
        for (int i = 0; i < BLOCK; i++) {                                                          \
            K here = how##_key_##S(x[at + i]) == best ? (K)i : (K)BLOCK;                           \
            first = here < first ? here : first;                                                   \
        }                                                                                          \
        return (tn_arg){best, at + first};                                                         \
    }                                                                                              \
    static void how##_block_##S(const void *rows_, int64_t step, int64_t rows, int64_t n,          \
                                void *key_, void *index_)                                          \
    {                                                                                              \
        const K *x = rows_;                                                                        \
        K *key = key_, *index = index_;                                                            \
        for (int64_t l = 0; l < n; l++) {                                                          \
            key[l] = how##_key_##S(x[l]);                                                          \
            index[l] = 0;                                                                          \
        }                                                                                          \
        for (int64_t i = 1; i < rows; i++) {                                                       \
            const K *y = x + i * step;                                                             \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) {                                                      \
                K k = how##_key_##S(y[l]);                                                         \
                bool more = k > key[l];                                                            \
                key[l] = more ? k : key[l];                                                        \
                index[l] = more ? (K)i : index[l];                                                 \
            }                                                                                      \
        }                                                                                          \
    }

// clang-format off
#define NARROW(X)                                                                                  \
    X(i8,   int8_t,  INT8_MIN,  INT,   0)         X(u8,   int8_t,  INT8_MIN,  INT, INT8_MIN)       \
    X(i16,  int16_t, INT16_MIN, INT,   0)         X(u16,  int16_t, INT16_MIN, INT, INT16_MIN)      \
    X(i32,  int32_t, INT32_MIN, INT,   0)         X(u32,  int32_t, INT32_MIN, INT, INT32_MIN)      \
    X(bf16, int16_t, INT16_MIN, HALF,  0x7f80)    X(f16,  int16_t, INT16_MIN, HALF,  0x7c00)       \
    X(f32,  int32_t, INT32_MIN, FLOAT, 0x7f800000)
#define WIDE(X)                                                                                    \
    X(i64,  int64_t, INT64_MIN, INT,   0)         X(u64,  int64_t, INT64_MIN, INT, INT64_MIN)      \
    X(f64,  int64_t, INT64_MIN, FLOAT, 0x7ff0000000000000)
// clang-format on

#define KEYS_INT(S, K, LEAST, x)  INT_KEYS(S, K, (K)x)
#define KEYS_HALF(S, K, LEAST, x) FLOAT_KEYS(S, K, (K)~LEAST, (K)x)
#define KEYS_FLOAT(S, K, LEAST, x)                                                                 \
    FLOAT_KEYS(S, K, (K)~LEAST, (K)x) NUMBERS(max, S, K, >) NUMBERS(min, S, K, <)
#define DEFINE(S, K, LEAST, kind, x)                                                               \
    KEYS_##kind(S, K, LEAST, x) ARG(max, S, K, LEAST, NUMBERS_##kind)                              \
        ARG(min, S, K, LEAST, NUMBERS_##kind)
NARROW(DEFINE)
WIDE(DEFINE)

static tn_arg_kernels find(bool largest, tn_element_type e)
{
#define ROW(S, ...)                                                                                \
    static const tn_arg_kernels of_##S[2] = {{min_row_##S, min_block_##S},                         \
                                             {max_row_##S, max_block_##S}};
    NARROW(ROW)
    WIDE(ROW)
    switch ((int)e) {
    case TN_I8: return of_i8[largest];
    case TN_U8: return of_u8[largest];
    case TN_I16: return of_i16[largest];
    case TN_U16: return of_u16[largest];
    case TN_I32: return of_i32[largest];
    case TN_U32: return of_u32[largest];
    case TN_I64: return of_i64[largest];
    case TN_U64: return of_u64[largest];
    case TN_BF16: return of_bf16[largest];
    case TN_F16: return of_f16[largest];
    case TN_F32: return of_f32[largest];
    case TN_F64: return of_f64[largest];
    default: return (tn_arg_kernels){.row = NULL};
    }
}

tn_arg_finder TN_ISA_NAME(tn_find_arg);

tn_arg_kernels TN_ISA_NAME(tn_find_arg)(bool largest, tn_element_type e)
{
    return find(largest, e);
}
