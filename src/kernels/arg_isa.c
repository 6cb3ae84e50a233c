/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arg_rows.h"
#include "kernels/isa.h"

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

enum { CHUNK = 2048, BLOCK = 64 };

/* The chunk with the best key is looked through again for the element. */
#define ARG(how, S, K, LEAST)                                                                      \
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
        for (; at + BLOCK <= n; at += BLOCK) {                                                     \
            K found = 0;                                                                           \
            for (int i = 0; i < BLOCK; i++) found |= (K)(how##_key_##S(x[at + i]) == best);        \
            if (found) break;                                                                      \
        }                                                                                          \
        while (how##_key_##S(x[at]) != best) at++;                                                 \
        return (tn_arg){best, at};                                                                 \
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
    X(bf16, int16_t, INT16_MIN, FLOAT, 0x7f80)    X(f16,  int16_t, INT16_MIN, FLOAT, 0x7c00)       \
    X(f32,  int32_t, INT32_MIN, FLOAT, 0x7f800000)
#define WIDE(X)                                                                                    \
    X(i64,  int64_t, INT64_MIN, INT,   0)         X(u64,  int64_t, INT64_MIN, INT, INT64_MIN)      \
    X(f64,  int64_t, INT64_MIN, FLOAT, 0x7ff0000000000000)
// clang-format on

#define KEYS_INT(S, K, LEAST, x)   INT_KEYS(S, K, (K)x)
#define KEYS_FLOAT(S, K, LEAST, x) FLOAT_KEYS(S, K, (K)~LEAST, (K)x)
#define DEFINE(S, K, LEAST, kind, x)                                                               \
    KEYS_##kind(S, K, LEAST, x) ARG(max, S, K, LEAST) ARG(min, S, K, LEAST)
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
