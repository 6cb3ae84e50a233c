/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/half.h"
#include "kernels/math_real.h"
#include "kernels/reduce_rows.h"
#include "kernels/simd.h"

enum {
    BLOCK = 128, /* groups of lanes that are folded before they join the total */
    LANE_BYTES = 256,
    REGISTERS = LANE_BYTES / TN_VB
};

/* Macros, since functions that return vectors have another ABI on every machine. */
#define LOAD(V, p)                                                                                 \
    ({                                                                                             \
        V v_;                                                                                      \
        memcpy(&v_, p, sizeof v_);                                                                 \
        v_;                                                                                        \
    })
#define load_f32(p) LOAD(vf32, p)
#define load_f64(p) LOAD(vf64, p)
#if TN_VB == 64
#define load_bf16(p)                                                                               \
    ((vf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
#define load_f16(p) ((vf32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p))))
#elif TN_VB == 32
#define load_bf16(p)                                                                               \
    ((vf32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define load_f16(p) ((vf32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p))))
#else
#define BY_ELEMENTS(p, one) ((vf32){one((p)[0]), one((p)[1]), one((p)[2]), one((p)[3])})
#define load_bf16(p)        BY_ELEMENTS(p, one_bf16)
#define load_f16(p)         BY_ELEMENTS(p, one_f16)
#endif
static inline float one_f32(float x)
{
    return x;
}
static inline double one_f64(double x)
{
    return x;
}
static inline float one_f16(uint16_t x)
{
#if TN_VB > 16
    return _cvtsh_ss(x);
#else
    return tn_f32_of_f16(x);
#endif
}
static inline float one_bf16(uint16_t x)
{
    return tn_from_bits_f32((uint32_t)x << 16);
}

/* Memory is asked for early, since the machine's own prefetching ends with a page. */
enum { AHEAD = 4096 };
#define ASK(p, bytes)                                                                              \
    UNROLL for (size_t b_ = 0; b_ < (bytes); b_ += 64)                                             \
        __builtin_prefetch((const char *)(p) + AHEAD + b_)

#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))

/* T: of elements; A, VA: of accumulators; NEUTRAL changes nothing; direct: lanes of a row that is
 * one block are made without a state. Lanes that have been filled join
 * the total when the next block begins, or at the end. */
#define FOLD(name, T, A, VA, load, one, OP, NEUTRAL, direct)                                       \
    static void name##_append(const void *row, int64_t n, tn_row_state *s)                         \
    {                                                                                              \
        enum { WIDTH = TN_VB / (int)sizeof(A), LANES = LANE_BYTES / (int)sizeof(A) };              \
        const T *p = row;                                                                          \
        int64_t at = s->n / LANES, groups = at + n / LANES;                                        \
        A *lanes = (A *)s->lanes, *total = (A *)s->total;                                          \
        VA a[REGISTERS] = {{0}};                                                                   \
        if (at % BLOCK) UNROLL for (int r = 0; r < REGISTERS; r++)                                 \
            {                                                                                      \
                a[r] = LOAD(VA, lanes + r * WIDTH);                                                \
            }                                                                                      \
        while (at < groups) {                                                                      \
            int64_t end = at - at % BLOCK + BLOCK;                                                 \
            if (end > groups) end = groups;                                                        \
            if (at % BLOCK == 0) {                                                                 \
                for (int k = 0; k < LANES && at; k++)                                              \
                    total[k] = at == BLOCK ? lanes[k] : OP(total[k], lanes[k]);                    \
                UNROLL for (int r = 0; r < REGISTERS; r++) a[r] = load(p + r * WIDTH);             \
                at++;                                                                              \
                p += LANES;                                                                        \
            }                                                                                      \
            for (; at < end; at++, p += LANES) {                                                   \
                ASK(p, LANES * sizeof(T));                                                         \
                UNROLL for (int r = 0; r < REGISTERS; r++) a[r] = OP(a[r], load(p + r * WIDTH));   \
            }                                                                                      \
            UNROLL for (int r = 0; r < REGISTERS; r++) memcpy(lanes + r * WIDTH, &a[r], TN_VB);    \
        }                                                                                          \
        s->n += n;                                                                                 \
    }                                                                                              \
    /* What is left behind whole groups. */                                                        \
    static void name##_rest(const T *x, int64_t rest, A *lanes)                                    \
    {                                                                                              \
        enum { WIDTH = TN_VB / (int)sizeof(A) };                                                   \
        int64_t k = 0;                                                                             \
        for (; k + WIDTH <= rest; k += WIDTH) {                                                    \
            VA v = OP(LOAD(VA, lanes + k), load(x + k));                                           \
            memcpy(lanes + k, &v, TN_VB);                                                          \
        }                                                                                          \
        if (k == rest) return;                                                                     \
        x += k, lanes += k, rest -= k;                                                             \
        for (int i = 0; i < WIDTH; i++)                                                            \
            lanes[i] = OP(lanes[i], i < (int)rest ? one(x[i]) : NEUTRAL);                          \
    }                                                                                              \
    /* Behind what was appended, or of as many elements as there are lanes. */                     \
    static void name##_end(const void *row, int64_t n, tn_row_state *s, A *lanes)                  \
    {                                                                                              \
        enum { LANES = LANE_BYTES / (int)sizeof(A) };                                              \
        int64_t whole = n / LANES * LANES, rest = n - whole;                                       \
        const T *x = (const T *)row + whole;                                                       \
        const A *total = (const A *)s->total;                                                      \
        if (whole) name##_append(row, whole, s);                                                   \
        memcpy(lanes, s->lanes, LANE_BYTES);                                                       \
        if (s->n > BLOCK * LANES)                                                                  \
            for (int i = 0; i < LANES; i++) lanes[i] = OP(total[i], lanes[i]);                     \
        name##_rest(x, rest, lanes);                                                               \
    }                                                                                              \
    static void name##_lanes(const void *row, int64_t n, void *lanes)                              \
    {                                                                                              \
        enum { WIDTH = TN_VB / (int)sizeof(A), LANES = LANE_BYTES / (int)sizeof(A) };              \
        if (direct && n < (BLOCK + 1) * LANES) {                                                   \
            const T *p = row, *end = p + n / LANES * LANES;                                        \
            VA a[REGISTERS];                                                                       \
            UNROLL for (int r = 0; r < REGISTERS; r++) a[r] = load(p + r * WIDTH);                 \
            for (p += LANES; p < end; p += LANES) {                                                \
                ASK(p, LANES * sizeof(T));                                                         \
                UNROLL for (int r = 0; r < REGISTERS; r++) a[r] = OP(a[r], load(p + r * WIDTH));   \
            }                                                                                      \
            UNROLL for (int r = 0; r < REGISTERS; r++)                                             \
                memcpy((char *)lanes + r * TN_VB, &a[r], TN_VB);                                   \
            if (n % LANES) name##_rest(end, n % LANES, lanes);                                     \
            return;                                                                                \
        }                                                                                          \
        tn_row_state s;                                                                            \
        s.n = 0;                                                                                   \
        name##_end(row, n, &s, lanes);                                                             \
    }                                                                                              \
    static void name##_finish(const void *row, int64_t n, tn_row_state *s, void *out)              \
    {                                                                                              \
        enum { LANES = LANE_BYTES / (int)sizeof(A) };                                              \
        const T *x = row;                                                                          \
        _Alignas(64) A lanes[LANES];                                                               \
        int64_t valid = n < LANES && !s->n ? n : LANES;                                            \
        if (valid == LANES) name##_end(row, n, s, lanes);                                          \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) lanes[i] = one(x[i]);                                  \
        for (int64_t half = LANES / 2; half; half /= 2) {                                          \
            for (int64_t k = 0; k + half < valid; k++) lanes[k] = OP(lanes[k], lanes[k + half]);   \
            if (valid > half) valid = half;                                                        \
        }                                                                                          \
        memcpy(out, lanes, sizeof(A));                                                             \
    }                                                                                              \
    static void name(const void *row, int64_t n, void *out)                                        \
    {                                                                                              \
        tn_row_state s;                                                                            \
        s.n = 0;                                                                                   \
        name##_finish(row, n, &s, out);                                                            \
    }

// clang-format off
FOLD(sum_f32,      float,    float,  vf32, load_f32,  one_f32,  PLUS, -0.0f, true)
FOLD(product_f32,  float,    float,  vf32, load_f32,  one_f32,  TIMES, 1, false)
FOLD(sum_f64,      double,   double, vf64, load_f64,  one_f64,  PLUS, -0.0, true)
FOLD(product_f64,  double,   double, vf64, load_f64,  one_f64,  TIMES, 1, false)
FOLD(sum_bf16,     uint16_t, float,  vf32, load_bf16, one_bf16, PLUS, -0.0f, true)
FOLD(sum_f16,      uint16_t, float,  vf32, load_f16,  one_f16,  PLUS, -0.0f, false)
FOLD(product_bf16, uint16_t, float,  vf32, load_bf16, one_bf16, TIMES, 1, false)
FOLD(product_f16,  uint16_t, float,  vf32, load_f16,  one_f16,  TIMES, 1, false)
// clang-format on

/* Largest and smallest are the same in any order: vectors of the machine. MORE keeps its second
 * operand where it isn't smaller; NaN is noted beside. */
#if TN_VB == 64
typedef __m512 wide_f32;
typedef __m512d wide_f64;
typedef __mmask16 truth_f32;
typedef __mmask8 truth_f64;
#define MAX_f32 _mm512_max_ps
#define MIN_f32 _mm512_min_ps
#define MAX_f64 _mm512_max_pd
#define MIN_f64 _mm512_min_pd
/* Bits of what is none: so a comparison alone adds to them. */
#define NOTE_f32(bad, a, b) _mm512_mask_cmp_ps_mask(bad, a, b, _CMP_ORD_Q)
#define NOTE_f64(bad, a, b) _mm512_mask_cmp_pd_mask(bad, a, b, _CMP_ORD_Q)
#define ANY_f32(bad)        ((bad) != 0xffff)
#define ANY_f64(bad)        ((bad) != 0xff)
#define NONE_f32            0xffff
#define NONE_f64            0xff
#elif TN_VB == 32
typedef __m256 wide_f32, truth_f32;
typedef __m256d wide_f64, truth_f64;
#define MAX_f32             _mm256_max_ps
#define MIN_f32             _mm256_min_ps
#define MAX_f64             _mm256_max_pd
#define MIN_f64             _mm256_min_pd
#define NOTE_f32(bad, a, b) _mm256_or_ps(bad, _mm256_cmp_ps(a, b, _CMP_UNORD_Q))
#define NOTE_f64(bad, a, b) _mm256_or_pd(bad, _mm256_cmp_pd(a, b, _CMP_UNORD_Q))
#define ANY_f32(bad)        (_mm256_movemask_ps(bad) != 0)
#define ANY_f64(bad)        (_mm256_movemask_pd(bad) != 0)
#define NONE_f32            _mm256_setzero_ps()
#define NONE_f64            _mm256_setzero_pd()
#elif defined __x86_64__
#include <immintrin.h>
typedef __m128 wide_f32, truth_f32;
typedef __m128d wide_f64, truth_f64;
#define MAX_f32             _mm_max_ps
#define MIN_f32             _mm_min_ps
#define MAX_f64             _mm_max_pd
#define MIN_f64             _mm_min_pd
#define NOTE_f32(bad, a, b) _mm_or_ps(bad, _mm_cmpunord_ps(a, b))
#define NOTE_f64(bad, a, b) _mm_or_pd(bad, _mm_cmpunord_pd(a, b))
#define ANY_f32(bad)        (_mm_movemask_ps(bad) != 0)
#define ANY_f64(bad)        (_mm_movemask_pd(bad) != 0)
#define NONE_f32            _mm_setzero_ps()
#define NONE_f64            _mm_setzero_pd()
#elif defined __aarch64__
#include <arm_neon.h>
typedef float32x4_t wide_f32;
typedef float64x2_t wide_f64;
typedef uint32x4_t truth_f32;
typedef uint64x2_t truth_f64;
#define MAX_f32(a, b)       vbslq_f32(vcgtq_f32(a, b), a, b)
#define MIN_f32(a, b)       vbslq_f32(vcltq_f32(a, b), a, b)
#define MAX_f64(a, b)       vbslq_f64(vcgtq_f64(a, b), a, b)
#define MIN_f64(a, b)       vbslq_f64(vcltq_f64(a, b), a, b)
#define NOTE_f32(bad, a, b) vorrq_u32(bad, vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b))))
#define NOTE_f64(bad, a, b) vornq_u64(bad, vandq_u64(vceqq_f64(a, a), vceqq_f64(b, b)))
#define ANY_f32(bad)        (vmaxvq_u32(bad) != 0)
#define ANY_f64(bad)        (vmaxvq_u32(vreinterpretq_u32_u64(bad)) != 0)
#define NONE_f32            vdupq_n_u32(0)
#define NONE_f64            vdupq_n_u64(0)
#else
typedef float wide_f32;
typedef double wide_f64;
typedef int truth_f32, truth_f64;
#define MAX_f32(a, b)       ((a) > (b) ? (a) : (b))
#define MIN_f32(a, b)       ((a) < (b) ? (a) : (b))
#define MAX_f64             MAX_f32
#define MIN_f64             MIN_f32
#define NOTE_f32(bad, a, b) ((bad) | ((a) != (a)) | ((b) != (b)))
#define NOTE_f64            NOTE_f32
#define ANY_f32(bad)        (bad)
#define ANY_f64(bad)        (bad)
#define NONE_f32            0
#define NONE_f64            0
#endif

#define LARGER_OF(a, b)  ((a) > (b) ? (a) : (b))
#define SMALLER_OF(a, b) ((a) < (b) ? (a) : (b))

#if TN_VB == 64
#define MAX_f32_LANES _mm512_reduce_max_ps
#define MIN_f32_LANES _mm512_reduce_min_ps
#define MAX_f64_LANES _mm512_reduce_max_pd
#define MIN_f64_LANES _mm512_reduce_min_pd
#else
#define OF_LANES(name, S, T, LARGER)                                                               \
    static inline T name(wide_##S v)                                                               \
    {                                                                                              \
        T some[sizeof v / sizeof(T)];                                                              \
        memcpy(some, &v, sizeof v);                                                                \
        UNROLL for (int half = (int)(sizeof v / sizeof(T)) / 2; half; half /= 2)                   \
            UNROLL for (int k = 0; k < half; k++) some[k] = LARGER(some[k], some[k + half]);       \
        return some[0];                                                                            \
    }
OF_LANES(MAX_f32_LANES, f32, float, LARGER_OF)
OF_LANES(MIN_f32_LANES, f32, float, SMALLER_OF)
OF_LANES(MAX_f64_LANES, f64, double, LARGER_OF)
OF_LANES(MIN_f64_LANES, f64, double, SMALLER_OF)
#endif

/* What is left of a row behind groups of four vectors is covered by vectors that overlap. +0 is
 * more than -0, which comparisons don't see: ZERO is the one that is wanted. U: the bits. */
#define EXTREME(name, S, T, U, SIGN, MORE, exact, ZERO)                                            \
    static void name(const void *row, int64_t n, void *out)                                        \
    {                                                                                              \
        enum { WIDE = (int)(sizeof(wide_##S) / sizeof(T)) };                                       \
        const T *x = row;                                                                          \
        T best = x[0];                                                                             \
        bool nan = false;                                                                          \
        if (n >= 4 * WIDE) {                                                                       \
            wide_##S a0 = LOAD(wide_##S, x), a1 = a0, a2 = a0, a3 = a0;                            \
            truth_##S bad = NONE_##S, worse = NONE_##S;                                            \
            for (int64_t at = 0; at < n; at += 4 * WIDE) {                                         \
                const T *p = n - at < 4 * WIDE ? x + n - 4 * WIDE : x + at;                        \
                ASK(p, 4 * sizeof a0);                                                             \
                wide_##S b0 = LOAD(wide_##S, p), b1 = LOAD(wide_##S, p + WIDE);                    \
                wide_##S b2 = LOAD(wide_##S, p + 2 * WIDE), b3 = LOAD(wide_##S, p + 3 * WIDE);     \
                a0 = MORE(b0, a0);                                                                 \
                a1 = MORE(b1, a1);                                                                 \
                a2 = MORE(b2, a2);                                                                 \
                a3 = MORE(b3, a3);                                                                 \
                bad = NOTE_##S(bad, b0, b1);                                                       \
                worse = NOTE_##S(worse, b2, b3);                                                   \
            }                                                                                      \
            a0 = MORE(MORE(a1, a0), MORE(a3, a2));                                                 \
            best = MORE##_LANES(a0);                                                               \
            nan = ANY_##S(bad) || ANY_##S(worse);                                                  \
        } else {                                                                                   \
            for (int64_t at = 1; at < n; at++) best = exact(best, x[at]);                          \
        }                                                                                          \
        if (nan || best != best) best = (T)__builtin_nanf("");                                     \
        if (best == 0) {                                                                           \
            U bits, found = 0;                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                      \
                memcpy(&bits, &x[i], sizeof bits);                                                 \
                found |= (U)(bits == (ZERO));                                                      \
            }                                                                                      \
            bits = found ? (ZERO) : (ZERO) ^ (SIGN);                                               \
            memcpy(&best, &bits, sizeof bits);                                                     \
        }                                                                                          \
        memcpy(out, &best, sizeof best);                                                           \
    }
#define SIGN_f32 0x80000000u
#define SIGN_f64 0x8000000000000000u
// clang-format off
EXTREME(max_f32, f32, float,  uint32_t, SIGN_f32, MAX_f32, tn_max_f32, (uint32_t)0)
EXTREME(min_f32, f32, float,  uint32_t, SIGN_f32, MIN_f32, tn_min_f32, SIGN_f32)
EXTREME(max_f64, f64, double, uint64_t, SIGN_f64, MAX_f64, tn_max_f64, (uint64_t)0)
EXTREME(min_f64, f64, double, uint64_t, SIGN_f64, MIN_f64, tn_min_f64, SIGN_f64)
// clang-format on

/* --- what has no rounding --- */

#define BITS_AND(a, b) ((a) & (b))
#define BITS_OR(a, b)  ((a) | (b))
#define BITS_XOR(a, b) ((a) ^ (b))
/* Two of 16 bits would be multiplied as signed integers, in which it may overflow. */
#define BITS_TIMES(a, b) ((a) * 1u * (b))

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
        K best = FIRST, largest = 0;                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            K size = x[i] & MOST, k = x[i] ^ ((x[i] >> (8 * sizeof(K) - 1)) & MOST);               \
            largest = LARGER_OF(size, largest);                                                    \
            best = BEST(k, best);                                                                  \
        }                                                                                          \
        K bits = best ^ ((best >> (8 * sizeof(K) - 1)) & MOST);                                    \
        if (largest > INF) bits = INF | (INF >> 1);                                                \
        memcpy(out, &bits, sizeof bits);                                                           \
    }
// clang-format off
EXTREME_BY_BITS(max_bf16, int16_t, INT16_MAX, 0x7f80, LARGER_OF, INT16_MIN)
EXTREME_BY_BITS(min_bf16, int16_t, INT16_MAX, 0x7f80, SMALLER_OF, INT16_MAX)
EXTREME_BY_BITS(max_f16, int16_t, INT16_MAX, 0x7c00, LARGER_OF, INT16_MIN)
EXTREME_BY_BITS(min_f16, int16_t, INT16_MAX, 0x7c00, SMALLER_OF, INT16_MAX)
// clang-format on

/* --- columns --- */

/* Some rows at a time, so that accumulators are read and written less often: with the first row of
 * all, which is what there is so far, 2^k rows of 64 and more are groups but for one. */
enum { GROUP = 7 };
#define COLUMNS(name, T, A, one, OP)                                                               \
    static void name##_columns(const void *from, int64_t step, int64_t rows, int64_t n, void *acc, \
                               bool first)                                                         \
    {                                                                                              \
        const T *x = from;                                                                         \
        A *to = acc;                                                                               \
        const A *so_far = acc;                                                                     \
        if (first && (sizeof(T) < sizeof(A) || rows <= GROUP)) {                                   \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) to[l] = one(x[l]);                                     \
        } else if (first) {                                                                        \
            so_far = from;                                                                         \
        }                                                                                          \
        x += first ? step : 0;                                                                     \
        for (rows -= first; rows >= GROUP; rows -= GROUP, x += GROUP * step, so_far = acc) {       \
            const T *x1 = x + step, *x2 = x1 + step, *x3 = x2 + step, *x4 = x3 + step;             \
            const T *x5 = x4 + step, *x6 = x5 + step;                                              \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) {                                                      \
                A a = (A)OP(so_far[l], one(x[l]));                                                 \
                a = (A)OP(a, one(x1[l]));                                                          \
                a = (A)OP(a, one(x2[l]));                                                          \
                a = (A)OP(a, one(x3[l]));                                                          \
                a = (A)OP(a, one(x4[l]));                                                          \
                a = (A)OP(a, one(x5[l]));                                                          \
                to[l] = (A)OP(a, one(x6[l]));                                                      \
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
COLUMNS(any_max_f32,  float,    float,  SAME,     tn_max_f32)
COLUMNS(any_min_f32,  float,    float,  SAME,     tn_min_f32)
COLUMNS(sum_f64,      double,   double, SAME,     PLUS)
COLUMNS(product_f64,  double,   double, SAME,     TIMES)
COLUMNS(any_max_f64,  double,   double, SAME,     tn_max_f64)
COLUMNS(any_min_f64,  double,   double, SAME,     tn_min_f64)
COLUMNS(sum_bf16,     uint16_t, float,  one_bf16, PLUS)
COLUMNS(product_bf16, uint16_t, float,  one_bf16, TIMES)
// clang-format on

/* Some rows of some columns are made f32 first. */
__attribute__((noinline)) static void columns_f16(const uint16_t *x, int64_t step, int64_t rows,
                                                  int64_t n, float *acc, bool first,
                                                  tn_column_fold_fn *fold)
{
    enum { SOME = 256, WIDTH = TN_VB / (int)sizeof(float) };
    _Alignas(64) float wide[GROUP * SOME];
    for (int64_t at = 0, columns; at < n; at += columns) {
        columns = n - at < SOME ? n - at : SOME;
        for (int64_t r = 0, some; r < rows; r += some) {
            some = rows - r < GROUP ? rows - r : GROUP;
            for (int64_t k = 0; k < some; k++) {
                const uint16_t *from = x + (r + k) * step + at;
                float *to = wide + k * SOME;
                int64_t l = 0;
                for (; l + WIDTH <= columns; l += WIDTH) {
                    vf32 v = load_f16(from + l);
                    memcpy(to + l, &v, TN_VB);
                }
                for (; l < columns; l++) to[l] = one_f16(from[l]);
            }
            fold(wide, SOME, some, columns, acc + at, first && r == 0);
        }
    }
}
static void sum_f16_columns(const void *x, int64_t step, int64_t rows, int64_t n, void *acc,
                            bool first)
{
    columns_f16(x, step, rows, n, acc, first, sum_f32_columns);
}
static void product_f16_columns(const void *x, int64_t step, int64_t rows, int64_t n, void *acc,
                                bool first)
{
    columns_f16(x, step, rows, n, acc, first, product_f32_columns);
}

/* In vectors of the machine; where there is a NaN, or a zero that may have the wrong sign, again as
 * above. */
#if TN_VB == 64
#define MOST_f32(b, a)  _mm512_range_ps(b, a, 5)
#define LEAST_f32(b, a) _mm512_range_ps(b, a, 4)
#define MOST_f64(b, a)  _mm512_range_pd(b, a, 5)
#define LEAST_f64(b, a) _mm512_range_pd(b, a, 4)
#define ZERO_f32(a)     0
#define ZERO_f64(a)     0
#elif TN_VB == 32
#define MOST_f32    MAX_f32
#define LEAST_f32   MIN_f32
#define MOST_f64    MAX_f64
#define LEAST_f64   MIN_f64
#define ZERO_f32(a) _mm256_movemask_ps(_mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_EQ_OQ))
#define ZERO_f64(a) _mm256_movemask_pd(_mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_EQ_OQ))
#endif
#if TN_VB > 16
#define EXTREME_COLUMNS(name, S, T, BEST)                                                          \
    static void name##_columns(const void *from, int64_t step, int64_t rows, int64_t n, void *acc, \
                               bool first)                                                         \
    {                                                                                              \
        enum { WIDE = (int)(sizeof(wide_##S) / sizeof(T)) };                                       \
        const T *x = from;                                                                         \
        T *to = acc;                                                                               \
        if (n < WIDE) {                                                                            \
            any_##name##_columns(from, step, rows, n, acc, first);                                 \
            return;                                                                                \
        }                                                                                          \
        const T *so_far = to;                                                                      \
        if (first && rows == 1) memcpy(to, x, (size_t)n * sizeof *x);                              \
        else if (first) so_far = x;                                                                \
        x += first ? step : 0;                                                                     \
        rows -= first;                                                                             \
        for (int64_t some; rows > 0; rows -= some, x += some * step, so_far = to) {                \
            some = rows < GROUP ? 1 : GROUP;                                                       \
            int64_t by = some == 1 ? 0 : step;                                                     \
            for (int64_t l = 0; l < n; l += WIDE) {                                                \
                /* What is folded twice stays the same. */                                         \
                int64_t at = l + WIDE <= n ? l : n - WIDE;                                         \
                wide_##S a = LOAD(wide_##S, so_far + at), b = LOAD(wide_##S, x + at), c;           \
                truth_##S bad = NOTE_##S(NONE_##S, a, b);                                          \
                const T *p = x + at + by;                                                          \
                a = BEST(b, a);                                                                    \
                UNROLL for (int k = 1; k < GROUP; k += 2, p += 2 * by)                             \
                {                                                                                  \
                    b = LOAD(wide_##S, p), c = LOAD(wide_##S, p + by);                             \
                    bad = NOTE_##S(bad, b, c);                                                     \
                    a = BEST(c, BEST(b, a));                                                       \
                }                                                                                  \
                if (__builtin_expect(ANY_##S(bad) || ZERO_##S(a), 0)) {                            \
                    if (so_far != to) memcpy(to + at, so_far + at, sizeof a);                      \
                    any_##name##_columns(x + at, step, some, WIDE, to + at, false);                \
                } else {                                                                           \
                    memcpy(to + at, &a, sizeof a);                                                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
EXTREME_COLUMNS(max_f32, f32, float, MOST_f32)
EXTREME_COLUMNS(min_f32, f32, float, LEAST_f32)
EXTREME_COLUMNS(max_f64, f64, double, MOST_f64)
EXTREME_COLUMNS(min_f64, f64, double, LEAST_f64)
#else
#define max_f32_columns any_max_f32_columns
#define min_f32_columns any_min_f32_columns
#define max_f64_columns any_max_f64_columns
#define min_f64_columns any_min_f64_columns
#endif

// clang-format off
/* Floats of 2 bytes as integers of the same order, of which NaN is the one that stays. */
#define COLUMNS_BY_BITS(name, INF, NAN_KEY, BEST)                                                  \
    static inline int16_t name##_key(int16_t x)                                                    \
    {                                                                                              \
        int16_t size = x & INT16_MAX, k = x ^ ((x >> 15) & INT16_MAX);                             \
        return size > INF ? NAN_KEY : k;                                                           \
    }                                                                                              \
    static void name##_columns(const void *from, int64_t step, int64_t rows, int64_t n, void *acc, \
                               bool first)                                                         \
    {                                                                                              \
        const int16_t *x = from;                                                                   \
        int16_t *to = acc;                                                                         \
        if (first) {                                                                               \
            memcpy(to, x, (size_t)n * sizeof *x);                                                  \
            x += step;                                                                             \
            rows--;                                                                                \
        }                                                                                          \
        for (int64_t some; rows > 0; rows -= some, x += some * step) {                             \
            some = rows < 4 ? 1 : 4;                                                               \
            const int16_t *x1 = some == 1 ? x : x + step, *x2 = some == 1 ? x : x1 + step;         \
            const int16_t *x3 = some == 1 ? x : x2 + step;                                         \
            TN_INDEPENDENT                                                                         \
            for (int64_t l = 0; l < n; l++) {                                                      \
                int16_t a = name##_key(to[l]), k0 = name##_key(x[l]), k1 = name##_key(x1[l]);      \
                int16_t k2 = name##_key(x2[l]), k3 = name##_key(x3[l]);                            \
                a = BEST(BEST(a, k0), BEST(k1, BEST(k2, k3)));                                     \
                to[l] = a ^ ((a >> 15) & INT16_MAX);                                               \
            }                                                                                      \
        }                                                                                          \
    }
COLUMNS_BY_BITS(max_bf16, 0x7f80, INT16_MAX, LARGER_OF)
COLUMNS_BY_BITS(min_bf16, 0x7f80, INT16_MIN, SMALLER_OF)
COLUMNS_BY_BITS(max_f16, 0x7c00, INT16_MAX, LARGER_OF)
COLUMNS_BY_BITS(min_f16, 0x7c00, INT16_MIN, SMALLER_OF)

#define INTEGERS(X) X(i8, int8_t) X(u8, uint8_t) X(i16, int16_t) X(u16, uint16_t)                  \
    X(i32, int32_t) X(u32, uint32_t) X(i64, int64_t) X(u64, uint64_t)
/* Bits of sums and products are those of unsigned types. */
#define UNSIGNED(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t)
#define BOTH(name, T, OP) ROW(name, T, OP) COLUMNS(name, T, T, SAME, OP)
#define BY_ORDER(S, T) BOTH(max_##S, T, LARGER_OF) BOTH(min_##S, T, SMALLER_OF)
#define BY_BITS(S, T)                                                                              \
    BOTH(sum_##S, T, PLUS) BOTH(product_##S, T, BITS_TIMES) BOTH(and_##S, T, BITS_AND)                  \
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
    ((tn_line_folds){name, name##_append, name##_finish, name##_columns, name##_lanes, {0}})
#define EXACT(name) ((tn_line_folds){.row = name, .columns = name##_columns})
#define OF(sum, product, max, min)                                                                 \
    return op == TN_OP_add        ? sum                                                            \
           : op == TN_OP_multiply ? product                                                        \
           : op == TN_OP_maximum  ? max                                                            \
           : op == TN_OP_minimum  ? min                                                            \
                                  : (tn_line_folds){0}
    switch ((int)from) {
    case TN_F32: OF(INEXACT(sum_f32), INEXACT(product_f32), EXACT(max_f32), EXACT(min_f32));
    case TN_F64: OF(INEXACT(sum_f64), INEXACT(product_f64), EXACT(max_f64), EXACT(min_f64));
    case TN_BF16: OF(INEXACT(sum_bf16), INEXACT(product_bf16), EXACT(max_bf16), EXACT(min_bf16));
    case TN_F16: OF(INEXACT(sum_f16), INEXACT(product_f16), EXACT(max_f16), EXACT(min_f16));
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
