/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/strided_loops.h"

#include "kernels/interleave.h"
#include "kernels/isa.h"

/* Elements by width, without alignment: widened runs start anywhere. */
typedef uint8_t w1 __attribute__((may_alias));
typedef uint16_t w2 __attribute__((aligned(1), may_alias));
typedef uint32_t w4 __attribute__((aligned(1), may_alias));
typedef uint64_t w8 __attribute__((aligned(1), may_alias));
typedef unsigned __int128 w16 __attribute__((aligned(1), may_alias));

/* One of every few elements; gives how many are done. */
static int64_t one_of_few(size_t width, int64_t step, int64_t n, char *dst, const char *src)
{
    int64_t w = (int64_t)width;
    if (step <= 0 || step % w || step / w > TN_INTERLEAVED) return 0;
    /* Vectors reach up to the element before the next one, and the last one has no next one. */
    return TN_ISA_NAME(tn_separate)(width, step / w, src, n - 1, 1, &dst);
}

#define DEFINE_LOOPS(T)                                                                            \
    static void fill_##T(const tn_strided_inner *l, char *dst, const char *src)                    \
    {                                                                                              \
        int64_t n = l->d0, step = l->dst0;                                                         \
        for (int64_t i = 0; i < l->d1; i++) {                                                      \
            T v = *(const T *)(src + i * l->src1);                                                 \
            T *d = (T *)(dst + i * l->dst1);                                                       \
            if (step == (int64_t)sizeof(T)) {                                                      \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = v;                           \
            } else {                                                                               \
                for (int64_t j = 0; j < n; j++) *(T *)((char *)d + j * step) = v;                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void copy_##T(const tn_strided_inner *l, char *dst, const char *src)                    \
    {                                                                                              \
        int64_t n = l->d0, w = (int64_t)sizeof(T), to = l->dst0, from = l->src0;                   \
        for (int64_t i = 0; i < l->d1; i++) {                                                      \
            T *d = (T *)(dst + i * l->dst1);                                                       \
            const T *s = (const T *)(src + i * l->src1);                                           \
            if (to == w && from == w) {                                                            \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = s[j];                        \
            } else if (to == w && from == -w) {                                                    \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = s[-j];                       \
            } else if (to == w && from == 2 * w) {                                                 \
                TN_INDEPENDENT for (int64_t j = 0; j < n; j++) d[j] = s[2 * j];                    \
            } else if (to == w) {                                                                  \
                int64_t j = one_of_few(sizeof(T), from, n, (char *)d, (const char *)s);            \
                for (; j < n; j++) d[j] = *(const T *)((const char *)s + j * from);                \
            } else if (from == w && to == 2 * w) {                                                 \
                for (int64_t j = 0; j < n; j++) d[2 * j] = s[j];                                   \
            } else {                                                                               \
                for (int64_t j = 0; j < n; j++)                                                    \
                    *(T *)((char *)d + j * to) = *(const T *)((const char *)s + j * from);         \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_LOOPS(w1)
DEFINE_LOOPS(w2)
DEFINE_LOOPS(w4)
DEFINE_LOOPS(w8)
DEFINE_LOOPS(w16)

void TN_ISA_NAME(tn_copy_loop)(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    switch (width) {
    case 1: copy_w1(l, dst, src); return;
    case 2: copy_w2(l, dst, src); return;
    case 4: copy_w4(l, dst, src); return;
    case 8: copy_w8(l, dst, src); return;
    default: copy_w16(l, dst, src); return;
    }
}

void TN_ISA_NAME(tn_fill_loop)(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    switch (width) {
    case 1: fill_w1(l, dst, src); return;
    case 2: fill_w2(l, dst, src); return;
    case 4: fill_w4(l, dst, src); return;
    case 8: fill_w8(l, dst, src); return;
    default: fill_w16(l, dst, src); return;
    }
}

/* --- a few places to one, and back --- */

#define EACH_2(X)  X(0) X(1)
#define EACH_3(X)  EACH_2(X) X(2)
#define EACH_4(X)  EACH_3(X) X(3)
#define WEAVE(k)   d[i * K + k] = s[k][i];
#define UNRAVEL(k) d[k][i] = s[i * K + k];
#define DEFINE_WEAVE(T, N)                                                                         \
    static void weave_##T##_##N(int64_t n, T *restrict d, const T *const *s)                       \
    {                                                                                              \
        enum { K = N };                                                                            \
        TN_INDEPENDENT for (int64_t i = 0; i < n; i++)                                             \
        {                                                                                          \
            EACH_##N(WEAVE)                                                                        \
        }                                                                                          \
    }                                                                                              \
    static void unravel_##T##_##N(int64_t n, T *const *d, const T *restrict s)                     \
    {                                                                                              \
        enum { K = N };                                                                            \
        TN_INDEPENDENT for (int64_t i = 0; i < n; i++)                                             \
        {                                                                                          \
            EACH_##N(UNRAVEL)                                                                      \
        }                                                                                          \
    }
#define DEFINE_WEAVES(T)                                                                           \
    DEFINE_WEAVE(T, 2)                                                                             \
    DEFINE_WEAVE(T, 3)                                                                             \
    DEFINE_WEAVE(T, 4)                                                                             \
    static bool weave_##T(const tn_strided_inner *l, char *dst, const char *src)                   \
    {                                                                                              \
        int64_t w = (int64_t)sizeof(T), k = l->d0;                                                 \
        if (k < 2 || k > 4) return false;                                                          \
        T *to[4];                                                                                  \
        const T *from[4];                                                                          \
        for (int64_t i = 0; i < k; i++) {                                                          \
            to[i] = (T *)(dst + i * l->dst0);                                                      \
            from[i] = (const T *)(src + i * l->src0);                                              \
        }                                                                                          \
        if (l->dst0 == w && l->dst1 == k * w && l->src1 == w) {                                    \
            if (k == 2) weave_##T##_2(l->d1, (T *)dst, from);                                      \
            else if (k == 3) weave_##T##_3(l->d1, (T *)dst, from);                                 \
            else weave_##T##_4(l->d1, (T *)dst, from);                                             \
            return true;                                                                           \
        }                                                                                          \
        if (l->src0 != w || l->src1 != k * w || l->dst1 != w) return false;                        \
        if (k == 2) unravel_##T##_2(l->d1, to, (const T *)src);                                    \
        else if (k == 3) unravel_##T##_3(l->d1, to, (const T *)src);                               \
        else unravel_##T##_4(l->d1, to, (const T *)src);                                           \
        return true;                                                                               \
    }
DEFINE_WEAVES(w1)
DEFINE_WEAVES(w2)
DEFINE_WEAVES(w4)
DEFINE_WEAVES(w8)

bool TN_ISA_NAME(tn_weave_loop)(size_t width, const tn_strided_inner *l, char *dst, const char *src)
{
    switch (width) {
    case 1: return weave_w1(l, dst, src);
    case 2: return weave_w2(l, dst, src);
    case 4: return weave_w4(l, dst, src);
    case 8: return weave_w8(l, dst, src);
    default: return false;
    }
}
