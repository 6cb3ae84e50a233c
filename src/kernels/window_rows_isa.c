/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include <string.h>

#include "kernels/simd_order.h"
#include "kernels/window_rows.h"

#if TN_VB == 64
#define EVEN_4 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define EVEN_8 0, 2, 4, 6, 8, 10, 12, 14
#elif TN_VB == 32
#define EVEN_4 0, 2, 4, 6, 8, 10, 12, 14
#define EVEN_8 0, 2, 4, 6
#else
#define EVEN_4 0, 2, 4, 6
#define EVEN_8 0, 2
#endif

#define SUM(a, b)     ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))

/* B: bytes of an element. Four vectors of windows at once; those that are left over one vector at a
 * time, and the last in a vector whose other lanes nobody reads. */
#define DEFINE(name, T, V, B, OP)                                                                  \
    TN_INLINE void name##_vectors(const tn_window_rows *r, const T *x, T *y, int n, V init)        \
    {                                                                                              \
        enum { W = TN_VB / B };                                                                    \
        V acc[4];                                                                                  \
        UNROLL for (int i = 0; i < n; i++) acc[i] = init;                                          \
        for (int64_t t = 0; t < r->n_taps; t++) {                                                  \
            const T *p = x + r->taps[t];                                                           \
            UNROLL for (int i = 0; i < n; i++)                                                     \
            {                                                                                      \
                V v;                                                                               \
                memcpy(&v, p + i * W, TN_VB);                                                      \
                acc[i] = OP(acc[i], v);                                                            \
            }                                                                                      \
        }                                                                                          \
        UNROLL for (int i = 0; i < n; i++) memcpy(y + i * W, &acc[i], TN_VB);                      \
    }                                                                                              \
    /* n < W windows, `step` elements apart. */                                                    \
    TN_INLINE void name##_few(const tn_window_rows *r, const T *x, T *y, int64_t n, int64_t step,  \
                              V init)                                                              \
    {                                                                                              \
        enum { W = TN_VB / B };                                                                    \
        V acc = init, v = init;                                                                    \
        for (int64_t t = 0; t < r->n_taps; t++) {                                                  \
            const T *p = x + r->taps[t];                                                           \
            if (n == 1) {                                                                          \
                acc = OP(acc, *p - (V){0});                                                        \
                continue;                                                                          \
            }                                                                                      \
            T some[W] = {0};                                                                       \
            for (int64_t i = 0; i < n; i++) some[i] = p[i * step];                                 \
            memcpy(&v, some, TN_VB);                                                               \
            acc = OP(acc, v);                                                                      \
        }                                                                                          \
        memcpy(y, &acc, (size_t)n *B);                                                             \
    }                                                                                              \
    /* `part` windows side by side, less than a vector of them. */                                 \
    TN_INLINE void name##_part(const tn_window_rows *r, const T *x, T *y, int part, V init)        \
    {                                                                                              \
        V acc = init;                                                                              \
        for (int64_t t = 0; t < r->n_taps; t++) {                                                  \
            V v = {0};                                                                             \
            memcpy(&v, x + r->taps[t], (size_t)part * B);                                          \
            acc = OP(acc, v);                                                                      \
        }                                                                                          \
        memcpy(y, &acc, (size_t)part *B);                                                          \
    }                                                                                              \
    TN_INLINE void name##_pairs(const tn_window_rows *r, const T *x, T *y, V init)                 \
    {                                                                                              \
        enum { W = TN_VB / B };                                                                    \
        V acc = init;                                                                              \
        for (int64_t t = 0; t < r->n_taps; t++) {                                                  \
            const T *p = x + r->taps[t];                                                           \
            V a, b;                                                                                \
            memcpy(&a, p, TN_VB);                                                                  \
            memcpy(&b, p + W, TN_VB);                                                              \
            acc = OP(acc, __builtin_shufflevector(a, b, EVEN_##B));                                \
        }                                                                                          \
        memcpy(y, &acc, TN_VB);                                                                    \
    }                                                                                              \
    static void name(const tn_window_rows *r)                                                      \
    {                                                                                              \
        enum { W = TN_VB / B };                                                                    \
        T first;                                                                                   \
        memcpy(&first, r->init, B);                                                                \
        const V init = first - (V){0}; /* -0 stays */                                              \
        int64_t step = r->lane_step, n = r->lanes;                                                 \
        for (int64_t p = 0; p < r->positions; p++) {                                               \
            const T *x = (const T *)r->x + p * r->x_step;                                          \
            T *y = (T *)r->y + p * n;                                                              \
            int64_t i = 0;                                                                         \
            if (step == 1) {                                                                       \
                for (; i + 4 * W <= n; i += 4 * W) name##_vectors(r, x + i, y + i, 4, init);       \
                for (; i + W <= n; i += W) name##_vectors(r, x + i, y + i, 1, init);               \
                if (i < n && n >= W) { /* some again */                                            \
                    name##_vectors(r, x + n - W, y + n - W, 1, init);                              \
                    i = n;                                                                         \
                }                                                                                  \
                enum { P = 16 / B };                                                               \
                for (; i < n && n >= P; i += P) {                                                  \
                    int64_t at = i + P <= n ? i : n - P;                                           \
                    name##_part(r, x + at, y + at, P, init);                                       \
                }                                                                                  \
            } else if (step == 2) {                                                                \
                /* Of the last window the element behind it may not be there. */                   \
                for (; i + W < n; i += W) name##_pairs(r, x + 2 * i, y + i, init);                 \
                if (i + 1 < n && n > W) {                                                          \
                    i = n - 1 - W;                                                                 \
                    name##_pairs(r, x + 2 * i, y + i, init);                                       \
                    i = n - 1;                                                                     \
                }                                                                                  \
            }                                                                                      \
            for (; i < n; i += W)                                                                  \
                name##_few(r, x + i * step, y + i, n - i < W ? n - i : W, step, init);             \
        }                                                                                          \
    }

DEFINE(add_f32, float, vf32, 4, SUM)
DEFINE(add_f64, double, vf64, 8, SUM)
DEFINE(add_u32, uint32_t, vu32, 4, SUM)
DEFINE(multiply_f32, float, vf32, 4, PRODUCT)
DEFINE(multiply_f64, double, vf64, 8, PRODUCT)
DEFINE(multiply_u32, uint32_t, vu32, 4, PRODUCT)
DEFINE(maximum_f32, float, vf32, 4, larger_f32)
DEFINE(maximum_f64, double, vf64, 8, larger_f64)
DEFINE(maximum_i32, int32_t, vi32, 4, larger_i32)
DEFINE(maximum_u32, uint32_t, vu32, 4, larger_u32)
DEFINE(minimum_f32, float, vf32, 4, smaller_f32)
DEFINE(minimum_f64, double, vf64, 8, smaller_f64)
DEFINE(minimum_i32, int32_t, vi32, 4, smaller_i32)
DEFINE(minimum_u32, uint32_t, vu32, 4, smaller_u32)

/* Sums are those of type u: signed integers wrap as unsigned ones do. */
#define FIND(e, u)                                                                                 \
    switch ((int)op) {                                                                             \
    case TN_OP_add: return add_##u;                                                                \
    case TN_OP_multiply: return multiply_##u;                                                      \
    case TN_OP_maximum: return maximum_##e;                                                        \
    case TN_OP_minimum: return minimum_##e;                                                        \
    default: return NULL;                                                                          \
    }

tn_window_rows_fn *TN_ISA_NAME(tn_find_window_rows)(tn_op_kind op, tn_element_type e)
{
    switch ((int)e) {
    case TN_F32: FIND(f32, f32);
    case TN_F64: FIND(f64, f64);
    case TN_I32: FIND(i32, u32);
    case TN_U32: FIND(u32, u32);
    default: return NULL;
    }
}
