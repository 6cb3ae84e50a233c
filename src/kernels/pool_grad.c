/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/pool_grad.h"

#include <string.h>

#include "kernels/simd.h"

#if defined __AVX512F__
/* Vectors of channels, which stay in registers. What is written has to be whole, since it is read
 * again soon: masked stores are not forwarded to loads. */
#define MASK_f32 __mmask16
#define MASK_f64 __mmask8
#define DEFINE_POOL(name, T, I, s, OP)                                                             \
    TN_INLINE void name##_lanes(const tn_pool_window *w, int64_t c, MASK_##s there, bool whole)    \
    {                                                                                              \
        const T *x = (const T *)w->operand + c;                                                    \
        T *to = (T *)w->result + c;                                                                \
        V_##s source = GET_##s((const T *)w->source + c), best = GET_##s(x + w->places[0]);        \
        __m512i at = _mm512_setzero_si512();                                                       \
        for (int64_t t = 1; t < w->n; t++) {                                                       \
            V_##s v = GET_##s(x + w->places[t]);                                                   \
            MASK_##s later = (MASK_##s) ~COMPARE_##s(best, v, OP);                                 \
            best = MOVE_##s(best, later, v);                                                       \
            at = SET_##s(at, later, (I)t);                                                         \
        }                                                                                          \
        for (int64_t t = 0; t < w->n; t++) {                                                       \
            T *place = to + w->places[t];                                                          \
            V_##s before = GET_##s(place);                                                         \
            before = ADD_##s(before, EQUAL_##s(at, (I)t), before, source);                         \
            if (whole) PUT_##s(place, before);                                                     \
            else PUT_SOME_##s(place, there, before);                                               \
        }                                                                                          \
    }                                                                                              \
    static void name(const tn_pool_window *w)                                                      \
    {                                                                                              \
        enum { LANES = 64 / sizeof(T) };                                                           \
        int64_t c = 0, n = w->channels;                                                            \
        for (; c + LANES <= n; c += LANES) name##_lanes(w, c, (MASK_##s) - 1, true);               \
        if (c < n) name##_lanes(w, c, (MASK_##s)((1u << (n - c)) - 1), false);                     \
    }
#define V_f32            __m512
#define V_f64            __m512d
#define GET_f32(from)    (whole ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(there, from))
#define GET_f64(from)    (whole ? _mm512_loadu_pd(from) : _mm512_maskz_loadu_pd(there, from))
#define PUT_f32          _mm512_storeu_ps
#define PUT_f64          _mm512_storeu_pd
#define PUT_SOME_f32     _mm512_mask_storeu_ps
#define PUT_SOME_f64     _mm512_mask_storeu_pd
#define ADD_f32          _mm512_mask_add_ps
#define ADD_f64          _mm512_mask_add_pd
#define MOVE_f32         _mm512_mask_mov_ps
#define MOVE_f64         _mm512_mask_mov_pd
#define COMPARE_f32      _mm512_cmp_ps_mask
#define COMPARE_f64      _mm512_cmp_pd_mask
#define SET_f32          _mm512_mask_set1_epi32
#define SET_f64          _mm512_mask_set1_epi64
#define EQUAL_f32(at, t) _mm512_cmpeq_epi32_mask(at, _mm512_set1_epi32(t))
#define EQUAL_f64(at, t) _mm512_cmpeq_epi64_mask(at, _mm512_set1_epi64(t))
#define GE               _CMP_GE_OQ
#define GT               _CMP_GT_OQ
#define LE               _CMP_LE_OQ
#define LT               _CMP_LT_OQ
#else
enum { CHANNELS = 256 };
#define GE    >=
#define GT    >
#define LE    <=
#define LT    <

/* Loops over channels are functions of their own, or compilers merge those of several places and
 * run the rest one by one. I: the integer of T's size, so that selections are vectors of the same
 * lanes. */
#define ALONE static __attribute__((noinline))
#define DEFINE_POOL(name, T, I, s, OP)                                                             \
    ALONE void name##_select(int64_t n, const T *restrict x, I t, T *restrict best,                \
                             I *restrict at)                                                       \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T v = x[i], b = best[i];                                                               \
            I a = at[i];                                                                           \
            best[i] = b OP v ? b : v;                                                              \
            at[i] = b OP v ? a : t;                                                                \
        }                                                                                          \
    }                                                                                              \
    ALONE void name##_add(int64_t n, const T *restrict source, const I *restrict at, I t,          \
                          T *restrict to)                                                          \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T before = to[i], sum = before + source[i];                                            \
            to[i] = at[i] == t ? sum : before;                                                     \
        }                                                                                          \
    }                                                                                              \
    static void name(const tn_pool_window *w)                                                      \
    {                                                                                              \
        for (int64_t c = 0; c < w->channels; c += CHANNELS) {                                      \
            T best[CHANNELS];                                                                      \
            I at[CHANNELS] = {0};                                                                  \
            int64_t n = w->channels - c < CHANNELS ? w->channels - c : CHANNELS;                   \
            const T *x = (const T *)w->operand + c;                                                \
            memcpy(best, x + w->places[0], (size_t)n * sizeof(T));                                 \
            for (int64_t t = 1; t < w->n; t++) name##_select(n, x + w->places[t], (I)t, best, at); \
            for (int64_t t = 0; t < w->n; t++)                                                     \
                name##_add(n, (const T *)w->source + c, at, (I)t,                                  \
                           (T *)w->result + w->places[t] + c);                                     \
        }                                                                                          \
    }
#endif

#define DEFINE_TYPE(s, T, I)                                                                       \
    DEFINE_POOL(ge_##s, T, I, s, GE)                                                               \
    DEFINE_POOL(gt_##s, T, I, s, GT)                                                               \
    DEFINE_POOL(le_##s, T, I, s, LE)                                                               \
    DEFINE_POOL(lt_##s, T, I, s, LT)                                                               \
    void TN_ISA_NAME(tn_pool_##s)(const tn_pool_window *w)                                         \
    {                                                                                              \
        switch (w->keep) {                                                                         \
        case TN_KEEP_GE: ge_##s(w); return;                                                        \
        case TN_KEEP_GT: gt_##s(w); return;                                                        \
        case TN_KEEP_LE: le_##s(w); return;                                                        \
        case TN_KEEP_LT: lt_##s(w); return;                                                        \
        }                                                                                          \
    }

DEFINE_TYPE(f32, float, int32_t)
DEFINE_TYPE(f64, double, int64_t)
