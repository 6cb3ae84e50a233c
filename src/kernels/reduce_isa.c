/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

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
#define load_f32(p)  LOAD(vf32, p)
#define load_f64(p)  LOAD(vf64, p)
#define load_bf16(p) ((vf32)(__builtin_convertvector(LOAD(vu16, p), vu32) << 16))
static inline float one_f32(float x)
{
    return x;
}
static inline double one_f64(double x)
{
    return x;
}
static inline float one_bf16(uint16_t x)
{
    return tn_from_bits_f32((uint32_t)x << 16);
}

#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))

/* T: of elements; A, VA: of accumulators. */
#define FOLD(name, T, A, VA, load, one, OP)                                                        \
    static void name(const void *row, int64_t n, void *out)                                        \
    {                                                                                              \
        enum { WIDTH = (int)(sizeof(VA) / sizeof(A)), LANES = 4 * WIDTH };                         \
        const T *x = row;                                                                          \
        _Alignas(64) A lanes[LANES];                                                               \
        int64_t valid = n < LANES ? n : LANES, groups = n / LANES, at = groups * LANES;            \
        if (groups) {                                                                              \
            VA t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};                                             \
            for (int64_t g = 0; g < groups;) {                                                     \
                int64_t end = g + BLOCK < groups ? g + BLOCK : groups;                             \
                bool first = g == 0;                                                               \
                const T *p = x + g * LANES;                                                        \
                VA a0 = load(p), a1 = load(p + WIDTH), a2 = load(p + 2 * WIDTH),                   \
                   a3 = load(p + 3 * WIDTH);                                                       \
                for (g++, p += LANES; g < end; g++, p += LANES) {                                  \
                    a0 = OP(a0, load(p));                                                          \
                    a1 = OP(a1, load(p + WIDTH));                                                  \
                    a2 = OP(a2, load(p + 2 * WIDTH));                                              \
                    a3 = OP(a3, load(p + 3 * WIDTH));                                              \
                }                                                                                  \
                t0 = first ? a0 : OP(t0, a0);                                                      \
                t1 = first ? a1 : OP(t1, a1);                                                      \
                t2 = first ? a2 : OP(t2, a2);                                                      \
                t3 = first ? a3 : OP(t3, a3);                                                      \
            }                                                                                      \
            memcpy(lanes, &t0, 64);                                                                \
            memcpy(lanes + WIDTH, &t1, 64);                                                        \
            memcpy(lanes + 2 * WIDTH, &t2, 64);                                                    \
            memcpy(lanes + 3 * WIDTH, &t3, 64);                                                    \
        } else {                                                                                   \
            for (at = 0; at < valid; at++) lanes[at] = one(x[at]);                                 \
        }                                                                                          \
        for (int64_t k = 0; at < n; k++, at++) lanes[k] = OP(lanes[k], one(x[at]));                \
        while (valid > 1) {                                                                        \
            int64_t half = valid / 2;                                                              \
            valid -= half;                                                                         \
            for (int64_t k = 0; k < half; k++) lanes[k] = OP(lanes[k], lanes[k + valid]);          \
        }                                                                                          \
        memcpy(out, lanes, sizeof(A));                                                             \
    }

// clang-format off
FOLD(sum_f32,      float,    float,  vf32, load_f32,  one_f32,  PLUS)
FOLD(product_f32,  float,    float,  vf32, load_f32,  one_f32,  TIMES)
FOLD(sum_f64,      double,   double, vf64, load_f64,  one_f64,  PLUS)
FOLD(product_f64,  double,   double, vf64, load_f64,  one_f64,  TIMES)
FOLD(sum_bf16,     uint16_t, float,  vf32, load_bf16, one_bf16, PLUS)
// clang-format on

/* Largest and smallest are the same in any order: vectors of the machine. `more` keeps its second
 * operand where it isn't smaller; NaN is noted beside. */
#if defined __AVX512F__
#include <immintrin.h>
typedef __m512 wide;
typedef __mmask16 truth;
#define WIDE_LOAD(p)      _mm512_loadu_ps(p)
#define WIDE_MAX(a, b)    _mm512_max_ps(a, b)
#define WIDE_MIN(a, b)    _mm512_min_ps(a, b)
#define WIDE_NOTE(bad, a) ((truth)((bad) | _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q)))
#define WIDE_STORE(p, a)  _mm512_storeu_ps(p, a)
#define WIDE_ANY(bad)     ((bad) != 0)
#define WIDE_NONE         0
enum { WIDE = 16 };
#elif defined __AVX2__
#include <immintrin.h>
typedef __m256 wide;
typedef __m256 truth;
#define WIDE_LOAD(p)      _mm256_loadu_ps(p)
#define WIDE_MAX(a, b)    _mm256_max_ps(a, b)
#define WIDE_MIN(a, b)    _mm256_min_ps(a, b)
#define WIDE_NOTE(bad, a) _mm256_or_ps(bad, _mm256_cmp_ps(a, a, _CMP_UNORD_Q))
#define WIDE_STORE(p, a)  _mm256_storeu_ps(p, a)
#define WIDE_ANY(bad)     (_mm256_movemask_ps(bad) != 0)
#define WIDE_NONE         _mm256_setzero_ps()
enum { WIDE = 8 };
#elif defined __x86_64__
#include <immintrin.h>
typedef __m128 wide;
typedef __m128 truth;
#define WIDE_LOAD(p)      _mm_loadu_ps(p)
#define WIDE_MAX(a, b)    _mm_max_ps(a, b)
#define WIDE_MIN(a, b)    _mm_min_ps(a, b)
#define WIDE_NOTE(bad, a) _mm_or_ps(bad, _mm_cmpunord_ps(a, a))
#define WIDE_STORE(p, a)  _mm_storeu_ps(p, a)
#define WIDE_ANY(bad)     (_mm_movemask_ps(bad) != 0)
#define WIDE_NONE         _mm_setzero_ps()
enum { WIDE = 4 };
#elif defined __aarch64__
#include <arm_neon.h>
typedef float32x4_t wide;
typedef uint32x4_t truth;
#define WIDE_LOAD(p)      vld1q_f32(p)
#define WIDE_MAX(a, b)    vbslq_f32(vcgtq_f32(a, b), a, b)
#define WIDE_MIN(a, b)    vbslq_f32(vcltq_f32(a, b), a, b)
#define WIDE_NOTE(bad, a) vorrq_u32(bad, vmvnq_u32(vceqq_f32(a, a)))
#define WIDE_STORE(p, a)  vst1q_f32(p, a)
#define WIDE_ANY(bad)     (vmaxvq_u32(bad) != 0)
#define WIDE_NONE         vdupq_n_u32(0)
enum { WIDE = 4 };
#else
typedef float wide;
typedef int truth;
#define WIDE_LOAD(p)      (*(p))
#define WIDE_MAX(a, b)    ((a) > (b) ? (a) : (b))
#define WIDE_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define WIDE_NOTE(bad, a) ((bad) | ((a) != (a)))
#define WIDE_STORE(p, a)  (*(p) = (a))
#define WIDE_ANY(bad)     (bad)
#define WIDE_NONE         0
enum { WIDE = 1 };
#endif

/* +0 is more than -0, which comparisons don't see. */
static bool has_zero(const float *x, int64_t n, uint32_t bits)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++) found |= tn_to_bits_f32(x[i]) == bits;
    return found;
}

#define EXTREME(name, MORE, exact, zero)                                                           \
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
                bad = WIDE_NOTE(bad, b0);                                                          \
                worse = WIDE_NOTE(worse, b1);                                                      \
                bad = WIDE_NOTE(bad, b2);                                                          \
                worse = WIDE_NOTE(worse, b3);                                                      \
            }                                                                                      \
            a0 = MORE(MORE(a1, a0), MORE(a3, a2));                                                 \
            WIDE_STORE(some, a0);                                                                  \
            for (int k = 0; k < WIDE; k++) best = exact(best, some[k]);                            \
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
EXTREME(max_f32, WIDE_MAX, tn_max_f32, 0)
EXTREME(min_f32, WIDE_MIN, tn_min_f32, 0x80000000u)
// clang-format on

tn_row_fold_finder TN_ISA_NAME(tn_find_row_fold);

tn_row_fold_fn *TN_ISA_NAME(tn_find_row_fold)(tn_op_kind op, tn_element_type from)
{
    switch ((int)op) {
    case TN_OP_add:
        return from == TN_F32    ? sum_f32
               : from == TN_F64  ? sum_f64
               : from == TN_BF16 ? sum_bf16
                                 : NULL;
    case TN_OP_multiply: return from == TN_F32 ? product_f32 : from == TN_F64 ? product_f64 : NULL;
    case TN_OP_maximum: return from == TN_F32 ? max_f32 : NULL;
    case TN_OP_minimum: return from == TN_F32 ? min_f32 : NULL;
    default: return NULL;
    }
}
