/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#endif

#include "kernels/half.h"
#include "kernels/isa.h"
#include "kernels/math_real.h"
#include "kernels/reduce_rows.h"

/* Vectors of the compiler, 64 bytes wide whatever the machine has: four of them are the lanes. */
typedef float vf32 __attribute__((vector_size(64)));
typedef double vf64 __attribute__((vector_size(64)));
typedef uint16_t vu16 __attribute__((vector_size(32)));
typedef uint32_t vu32 __attribute__((vector_size(64)));

enum { BLOCK = 128 /* groups of lanes that are folded before they join the total */ };

/* Macros, since functions that return such vectors have another ABI on every machine. */
#define LOAD(V, p)                                                                                 \
    ({                                                                                             \
        V v_;                                                                                      \
        memcpy(&v_, p, sizeof v_);                                                                 \
        v_;                                                                                        \
    })
#define load_f32(p) LOAD(vf32, p)
#define load_f64(p) LOAD(vf64, p)
#if defined __AVX512F__
#define load_bf16(p)                                                                               \
    ((vf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
#else
#define load_bf16(p) ((vf32)(__builtin_convertvector(LOAD(vu16, p), vu32) << 16))
#endif
static inline float one_f32(float x)
{
    return x;
}
static inline double one_f64(double x)
{
    return x;
}
/* By way of memory: 16 elements at a time wherever they come from. */
static inline void widen_f16(const uint16_t *x, float *to)
{
#if defined __AVX512F__
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)x)));
#elif defined __F16C__
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x)));
    _mm256_storeu_ps(to + 8, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x + 1)));
#else
    for (int i = 0; i < 16; i++) to[i] = tn_f32_of_f16(x[i]);
#endif
}
#define load_f16(p)                                                                                \
    ({                                                                                             \
        _Alignas(64) float wide_[16];                                                              \
        widen_f16(p, wide_);                                                                       \
        LOAD(vf32, wide_);                                                                         \
    })
static inline float one_f16(uint16_t x)
{
    return tn_f32_of_f16(x);
}
static inline float one_bf16(uint16_t x)
{
    return tn_from_bits_f32((uint32_t)x << 16);
}

#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))

/* T: of elements; A, VA: of accumulators. Lanes that have been filled join the total when the next
 * block begins, or at the end. */
#define FOLD(name, T, A, VA, load, one, OP)                                                        \
    static void name##_append(const void *row, int64_t n, tn_row_state *s)                         \
    {                                                                                              \
        enum { WIDTH = (int)(sizeof(VA) / sizeof(A)), LANES = 4 * WIDTH };                         \
        const T *p = row;                                                                          \
        int64_t at = s->n / LANES, groups = at + n / LANES;                                        \
        VA a0 = LOAD(VA, s->lanes), a1 = LOAD(VA, s->lanes + 64), a2 = LOAD(VA, s->lanes + 128),   \
           a3 = LOAD(VA, s->lanes + 192);                                                          \
        VA t0 = LOAD(VA, s->total), t1 = LOAD(VA, s->total + 64), t2 = LOAD(VA, s->total + 128),   \
           t3 = LOAD(VA, s->total + 192);                                                          \
        while (at < groups) {                                                                      \
            int64_t end = at - at % BLOCK + BLOCK;                                                 \
            if (end > groups) end = groups;                                                        \
            if (at % BLOCK == 0) {                                                                 \
                if (at) {                                                                          \
                    bool first = at == BLOCK;                                                      \
                    t0 = first ? a0 : OP(t0, a0);                                                  \
                    t1 = first ? a1 : OP(t1, a1);                                                  \
                    t2 = first ? a2 : OP(t2, a2);                                                  \
                    t3 = first ? a3 : OP(t3, a3);                                                  \
                }                                                                                  \
                a0 = load(p);                                                                      \
                a1 = load(p + WIDTH);                                                              \
                a2 = load(p + 2 * WIDTH);                                                          \
                a3 = load(p + 3 * WIDTH);                                                          \
                at++;                                                                              \
                p += LANES;                                                                        \
            }                                                                                      \
            for (; at < end; at++, p += LANES) {                                                   \
                a0 = OP(a0, load(p));                                                              \
                a1 = OP(a1, load(p + WIDTH));                                                      \
                a2 = OP(a2, load(p + 2 * WIDTH));                                                  \
                a3 = OP(a3, load(p + 3 * WIDTH));                                                  \
            }                                                                                      \
        }                                                                                          \
        memcpy(s->lanes, &a0, 64);                                                                 \
        memcpy(s->lanes + 64, &a1, 64);                                                            \
        memcpy(s->lanes + 128, &a2, 64);                                                           \
        memcpy(s->lanes + 192, &a3, 64);                                                           \
        memcpy(s->total, &t0, 64);                                                                 \
        memcpy(s->total + 64, &t1, 64);                                                            \
        memcpy(s->total + 128, &t2, 64);                                                           \
        memcpy(s->total + 192, &t3, 64);                                                           \
        s->n += n;                                                                                 \
    }                                                                                              \
    static void name##_finish(const void *row, int64_t n, tn_row_state *s, void *out)              \
    {                                                                                              \
        enum { LANES = 256 / sizeof(A) };                                                          \
        const T *x = row;                                                                          \
        _Alignas(64) A lanes[LANES];                                                               \
        int64_t whole = n / LANES * LANES, at = whole, valid = LANES;                              \
        if (whole) name##_append(row, whole, s);                                                   \
        if (s->n > BLOCK * LANES) {                                                                \
            const A *a = (const A *)s->lanes, *t = (const A *)s->total;                            \
            for (int k = 0; k < LANES; k++) lanes[k] = OP(t[k], a[k]);                             \
        } else if (s->n) {                                                                         \
            memcpy(lanes, s->lanes, sizeof lanes);                                                 \
        } else {                                                                                   \
            valid = n;                                                                             \
            for (; at < n; at++) lanes[at] = one(x[at]);                                           \
        }                                                                                          \
        for (int64_t k = 0; at < n; k++, at++) lanes[k] = OP(lanes[k], one(x[at]));                \
        for (int64_t half = LANES / 2; half; half /= 2) {                                          \
            for (int64_t k = 0; k + half < valid; k++) lanes[k] = OP(lanes[k], lanes[k + half]);   \
            if (valid > half) valid = half;                                                        \
        }                                                                                          \
        memcpy(out, lanes, sizeof(A));                                                             \
    }                                                                                              \
    static void name(const void *row, int64_t n, void *out)                                        \
    {                                                                                              \
        tn_row_state s = {.n = 0};                                                                 \
        name##_finish(row, n, &s, out);                                                            \
    }

// clang-format off
FOLD(sum_f32,      float,    float,  vf32, load_f32,  one_f32,  PLUS)
FOLD(product_f32,  float,    float,  vf32, load_f32,  one_f32,  TIMES)
FOLD(sum_f64,      double,   double, vf64, load_f64,  one_f64,  PLUS)
FOLD(product_f64,  double,   double, vf64, load_f64,  one_f64,  TIMES)
FOLD(sum_bf16,     uint16_t, float,  vf32, load_bf16, one_bf16, PLUS)
FOLD(sum_f16,      uint16_t, float,  vf32, load_f16,  one_f16,  PLUS)
FOLD(product_bf16, uint16_t, float,  vf32, load_bf16, one_bf16, TIMES)
FOLD(product_f16,  uint16_t, float,  vf32, load_f16,  one_f16,  TIMES)
// clang-format on

/* Largest and smallest are the same in any order: vectors of the machine. `more` keeps its second
 * operand where it isn't smaller; NaN is noted beside. */
#if defined __AVX512F__
typedef __m512 wide;
typedef __mmask16 truth;
#define WIDE_LOAD(p)         _mm512_loadu_ps(p)
#define WIDE_MAX(a, b)       _mm512_max_ps(a, b)
#define WIDE_MIN(a, b)       _mm512_min_ps(a, b)
#define WIDE_NOTE(bad, a, b) ((truth)((bad) | _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)))
#define WIDE_STORE(p, a)     _mm512_storeu_ps(p, a)
#define WIDE_ANY(bad)        ((bad) != 0)
#define WIDE_NONE            0
enum { WIDE = 16 };
#elif defined __AVX2__
typedef __m256 wide;
typedef __m256 truth;
#define WIDE_LOAD(p)         _mm256_loadu_ps(p)
#define WIDE_MAX(a, b)       _mm256_max_ps(a, b)
#define WIDE_MIN(a, b)       _mm256_min_ps(a, b)
#define WIDE_NOTE(bad, a, b) _mm256_or_ps(bad, _mm256_cmp_ps(a, b, _CMP_UNORD_Q))
#define WIDE_STORE(p, a)     _mm256_storeu_ps(p, a)
#define WIDE_ANY(bad)        (_mm256_movemask_ps(bad) != 0)
#define WIDE_NONE            _mm256_setzero_ps()
enum { WIDE = 8 };
#elif defined __x86_64__
#include <immintrin.h>
typedef __m128 wide;
typedef __m128 truth;
#define WIDE_LOAD(p)         _mm_loadu_ps(p)
#define WIDE_MAX(a, b)       _mm_max_ps(a, b)
#define WIDE_MIN(a, b)       _mm_min_ps(a, b)
#define WIDE_NOTE(bad, a, b) _mm_or_ps(bad, _mm_cmpunord_ps(a, b))
#define WIDE_STORE(p, a)     _mm_storeu_ps(p, a)
#define WIDE_ANY(bad)        (_mm_movemask_ps(bad) != 0)
#define WIDE_NONE            _mm_setzero_ps()
enum { WIDE = 4 };
#elif defined __aarch64__
#include <arm_neon.h>
typedef float32x4_t wide;
typedef uint32x4_t truth;
#define WIDE_LOAD(p)         vld1q_f32(p)
#define WIDE_MAX(a, b)       vbslq_f32(vcgtq_f32(a, b), a, b)
#define WIDE_MIN(a, b)       vbslq_f32(vcltq_f32(a, b), a, b)
#define WIDE_NOTE(bad, a, b) vorrq_u32(bad, vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b))))
#define WIDE_STORE(p, a)     vst1q_f32(p, a)
#define WIDE_ANY(bad)        (vmaxvq_u32(bad) != 0)
#define WIDE_NONE            vdupq_n_u32(0)
enum { WIDE = 4 };
#else
typedef float wide;
typedef int truth;
#define WIDE_LOAD(p)         (*(p))
#define WIDE_MAX(a, b)       ((a) > (b) ? (a) : (b))
#define WIDE_MIN(a, b)       ((a) < (b) ? (a) : (b))
#define WIDE_NOTE(bad, a, b) ((bad) | ((a) != (a)) | ((b) != (b)))
#define WIDE_STORE(p, a)     (*(p) = (a))
#define WIDE_ANY(bad)        (bad)
#define WIDE_NONE            0
enum { WIDE = 1 };
#endif

#define LARGER_OF(a, b)  ((a) > (b) ? (a) : (b))
#define SMALLER_OF(a, b) ((a) < (b) ? (a) : (b))

/* +0 is more than -0, which comparisons don't see. */
static bool has_zero(const float *x, int64_t n, uint32_t bits)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++) found |= tn_to_bits_f32(x[i]) == bits;
    return found;
}

#define EXTREME(name, MORE, LARGER, exact, zero)                                                   \
    static void name(const void *row, int64_t n, void *out)                                        \
    {                                                                                              \
        const float *x = row;                                                                      \
        float best = x[0], some[WIDE];                                                             \
        int64_t at = 0;                                                                            \
        bool nan = false;                                                                          \
        if (n >= 4 * WIDE) {                                                                       \
            wide a0 = WIDE_LOAD(x), a1 = a0, a2 = a0, a3 = a0;                                     \
            truth bad = WIDE_NONE, worse = WIDE_NONE;                                              \
            for (; at + 4 * WIDE <= n; at += 4 * WIDE) {                                           \
                wide b0 = WIDE_LOAD(x + at), b1 = WIDE_LOAD(x + at + WIDE);                        \
                wide b2 = WIDE_LOAD(x + at + 2 * WIDE), b3 = WIDE_LOAD(x + at + 3 * WIDE);         \
                a0 = MORE(b0, a0);                                                                 \
                a1 = MORE(b1, a1);                                                                 \
                a2 = MORE(b2, a2);                                                                 \
                a3 = MORE(b3, a3);                                                                 \
                bad = WIDE_NOTE(bad, b0, b1);                                                      \
                worse = WIDE_NOTE(worse, b2, b3);                                                  \
            }                                                                                      \
            a0 = MORE(MORE(a1, a0), MORE(a3, a2));                                                 \
            WIDE_STORE(some, a0);                                                                  \
            for (int half = WIDE / 2; half; half /= 2)                                             \
                for (int k = 0; k < half; k++) some[k] = LARGER(some[k], some[k + half]);          \
            best = some[0];                                                                        \
            nan = WIDE_ANY(bad) || WIDE_ANY(worse);                                                \
        }                                                                                          \
        for (; at < n; at++) best = exact(best, x[at]);                                            \
        if (nan || best != best) best = __builtin_nanf("");                                        \
        if (best == 0)                                                                             \
            best = has_zero(x, n, zero) ? tn_from_bits_f32(zero)                                   \
                                        : tn_from_bits_f32((zero) ^ 0x80000000u);                  \
        memcpy(out, &best, sizeof best);                                                           \
    }
// clang-format off
EXTREME(max_f32, WIDE_MAX, LARGER_OF, tn_max_f32, 0)
EXTREME(min_f32, WIDE_MIN, SMALLER_OF, tn_min_f32, 0x80000000u)
// clang-format on

/* --- what has no rounding --- */

#define BITS_AND(a, b) ((a) & (b))
#define BITS_OR(a, b)  ((a) | (b))
#define BITS_XOR(a, b) ((a) ^ (b))

#define ROW(name, T, OP)                                                                           \
    static void name##_row(const void *row, int64_t n, void *out)                                  \
    {                                                                                              \
        const T *x = row;                                                                          \
        T a = x[0];                                                                                \
        for (int64_t i = 1; i < n; i++) a = (T)OP(a, x[i]);                                        \
        memcpy(out, &a, sizeof a);                                                                 \
    }

/* Floats as integers of the same order, -0 below 0; K: signed, of their width. */
#define EXTREME_BY_BITS(name, K, MOST, INF, BEST, FIRST)                                           \
    static void name(const void *row, int64_t n, void *out)                                        \
    {                                                                                              \
        const K *x = row;                                                                          \
        K best = FIRST, nan = 0;                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            K size = x[i] & MOST, k = x[i] ^ ((x[i] >> (8 * sizeof(K) - 1)) & MOST);               \
            nan |= (K)(size > INF);                                                                \
            best = BEST(k, best);                                                                  \
        }                                                                                          \
        K bits = best ^ ((best >> (8 * sizeof(K) - 1)) & MOST);                                    \
        if (nan) bits = INF | (INF >> 1);                                                          \
        memcpy(out, &bits, sizeof bits);                                                           \
    }
// clang-format off
EXTREME_BY_BITS(max_bf16, int16_t, INT16_MAX, 0x7f80, LARGER_OF, INT16_MIN)
EXTREME_BY_BITS(min_bf16, int16_t, INT16_MAX, 0x7f80, SMALLER_OF, INT16_MAX)
EXTREME_BY_BITS(max_f16, int16_t, INT16_MAX, 0x7c00, LARGER_OF, INT16_MIN)
EXTREME_BY_BITS(min_f16, int16_t, INT16_MAX, 0x7c00, SMALLER_OF, INT16_MAX)
EXTREME_BY_BITS(max_f64, int64_t, INT64_MAX, 0x7ff0000000000000, LARGER_OF, INT64_MIN)
EXTREME_BY_BITS(min_f64, int64_t, INT64_MAX, 0x7ff0000000000000, SMALLER_OF, INT64_MAX)
// clang-format on

/* --- columns --- */

/* Some rows at a time, so that accumulators are read and written less often. */
#define COLUMNS(name, T, A, one, OP)                                                               \
    static void name##_columns(const void *from, int64_t step, int64_t rows, int64_t n, void *acc, \
                               bool first)                                                         \
    {                                                                                              \
        const T *x = from;                                                                         \
        A *to = acc;                                                                               \
        if (first) {                                                                               \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) to[l] = one(x[l]);                                     \
            x += step;                                                                             \
            rows--;                                                                                \
        }                                                                                          \
        for (; rows >= 8; rows -= 8, x += 8 * step) {                                              \
            const T *x1 = x + step, *x2 = x1 + step, *x3 = x2 + step, *x4 = x3 + step;             \
            const T *x5 = x4 + step, *x6 = x5 + step, *x7 = x6 + step;                             \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) {                                                      \
                A a = (A)OP(to[l], one(x[l]));                                                     \
                a = (A)OP(a, one(x1[l]));                                                          \
                a = (A)OP(a, one(x2[l]));                                                          \
                a = (A)OP(a, one(x3[l]));                                                          \
                a = (A)OP(a, one(x4[l]));                                                          \
                a = (A)OP(a, one(x5[l]));                                                          \
                a = (A)OP(a, one(x6[l]));                                                          \
                to[l] = (A)OP(a, one(x7[l]));                                                      \
            }                                                                                      \
        }                                                                                          \
        for (; rows > 0; rows--, x += step) {                                                      \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) to[l] = (A)OP(to[l], one(x[l]));                       \
        }                                                                                          \
    }
#define SAME(x) (x)

// clang-format off
COLUMNS(sum_f32,      float,    float,  SAME,     PLUS)
COLUMNS(product_f32,  float,    float,  SAME,     TIMES)
COLUMNS(max_f32,      float,    float,  SAME,     tn_max_f32)
COLUMNS(min_f32,      float,    float,  SAME,     tn_min_f32)
COLUMNS(sum_f64,      double,   double, SAME,     PLUS)
COLUMNS(product_f64,  double,   double, SAME,     TIMES)
COLUMNS(max_f64,      double,   double, SAME,     tn_max_f64)
COLUMNS(min_f64,      double,   double, SAME,     tn_min_f64)
COLUMNS(sum_bf16,     uint16_t, float,  one_bf16, PLUS)
COLUMNS(product_bf16, uint16_t, float,  one_bf16, TIMES)
COLUMNS(sum_f16,      uint16_t, float,  one_f16,  PLUS)
COLUMNS(product_f16,  uint16_t, float,  one_f16,  TIMES)

#define INTEGERS(X) X(i8, int8_t) X(u8, uint8_t) X(i16, int16_t) X(u16, uint16_t)                  \
    X(i32, int32_t) X(u32, uint32_t) X(i64, int64_t) X(u64, uint64_t)
/* Bits of sums and products are those of unsigned types. */
#define UNSIGNED(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t)
#define BOTH(name, T, OP) ROW(name, T, OP) COLUMNS(name, T, T, SAME, OP)
#define BY_ORDER(S, T) BOTH(max_##S, T, LARGER_OF) BOTH(min_##S, T, SMALLER_OF)
#define BY_BITS(S, T)                                                                              \
    BOTH(sum_##S, T, PLUS) BOTH(product_##S, T, TIMES) BOTH(and_##S, T, BITS_AND)                  \
    BOTH(or_##S, T, BITS_OR) BOTH(xor_##S, T, BITS_XOR)
INTEGERS(BY_ORDER)
UNSIGNED(BY_BITS)
// clang-format on

static tn_line_folds of_bits(tn_op_kind op, unsigned bytes)
{
#define PAIR(name) ((tn_line_folds){.row = name##_row, .columns = name##_columns})
#define CASE(S, T)                                                                                 \
    case sizeof(T):                                                                                \
        switch ((int)op) {                                                                         \
        case TN_OP_add: return PAIR(sum_##S);                                                      \
        case TN_OP_multiply: return PAIR(product_##S);                                             \
        case TN_OP_and: return PAIR(and_##S);                                                      \
        case TN_OP_or: return PAIR(or_##S);                                                        \
        case TN_OP_xor: return PAIR(xor_##S);                                                      \
        default: return (tn_line_folds){0};                                                        \
        }
    switch (bytes) {
        UNSIGNED(CASE)
    default: return (tn_line_folds){0};
    }
#undef CASE
}

tn_line_folds_finder TN_ISA_NAME(tn_find_line_folds);

tn_line_folds TN_ISA_NAME(tn_find_line_folds)(tn_op_kind op, tn_element_type from)
{
#define INEXACT(name)                                                                              \
    ((tn_line_folds){name, name##_append, name##_finish, name##_columns, {.tree = NULL}})
#define EXACT(name)     ((tn_line_folds){.row = name, .columns = name##_columns})
#define ROWS_ONLY(name) ((tn_line_folds){.row = name})
#define OF(sum, product, max, min)                                                                 \
    return op == TN_OP_add        ? sum                                                            \
           : op == TN_OP_multiply ? product                                                        \
           : op == TN_OP_maximum  ? max                                                            \
           : op == TN_OP_minimum  ? min                                                            \
                                  : (tn_line_folds){0}
    switch ((int)from) {
    case TN_F32: OF(INEXACT(sum_f32), INEXACT(product_f32), EXACT(max_f32), EXACT(min_f32));
    case TN_F64: OF(INEXACT(sum_f64), INEXACT(product_f64), EXACT(max_f64), EXACT(min_f64));
    case TN_BF16:
        OF(INEXACT(sum_bf16), INEXACT(product_bf16), ROWS_ONLY(max_bf16), ROWS_ONLY(min_bf16));
    case TN_F16: OF(INEXACT(sum_f16), INEXACT(product_f16), ROWS_ONLY(max_f16), ROWS_ONLY(min_f16));
    /* Truths are bytes of 0 and 1. */
    case TN_I1:
        if (op == TN_OP_add || op == TN_OP_maximum) op = TN_OP_or;
        if (op == TN_OP_multiply || op == TN_OP_minimum) op = TN_OP_and;
        return of_bits(op, 1);
    default: break;
    }
#define CASE(S, E)                                                                                 \
    case E:                                                                                        \
        if (op == TN_OP_maximum) return PAIR(max_##S);                                             \
        if (op == TN_OP_minimum) return PAIR(min_##S);                                             \
        return of_bits(op, (unsigned)tn_element_type_bytes(from));
    switch ((int)from) {
        CASE(i8, TN_I8)
        CASE(u8, TN_U8)
        CASE(i16, TN_I16)
        CASE(u16, TN_U16)
        CASE(i32, TN_I32)
        CASE(u32, TN_U32)
        CASE(i64, TN_I64)
        CASE(u64, TN_U64)
    default: return (tn_line_folds){0};
    }
}
