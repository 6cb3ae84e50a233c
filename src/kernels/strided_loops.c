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
