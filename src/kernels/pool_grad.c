/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/pool_grad.h"

#include <string.h>

#include "kernels/isa.h"

enum { CHANNELS = 256 };

/* Loops over channels are functions of their own, or compilers merge those of several places and
 * run the rest one by one. I: the integer of T's size, so that selections are vectors of the same
 * lanes. */
#define ALONE static __attribute__((noinline))
#define DEFINE_POOL(name, T, I, OP)                                                                \
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
#define DEFINE_TYPE(s, T, I)                                                                       \
    DEFINE_POOL(ge_##s, T, I, >=)                                                                  \
    DEFINE_POOL(gt_##s, T, I, >)                                                                   \
    DEFINE_POOL(le_##s, T, I, <=)                                                                  \
    DEFINE_POOL(lt_##s, T, I, <)                                                                   \
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
