/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. Mostly there is nothing below the limit: a block is
 * looked at as a whole first. */
#include "kernels/isa.h"
#include "kernels/select.h"

enum { BLOCK = 64 };

#define DEFINE_SELECT(T, name)                                                                     \
    int64_t TN_ISA_NAME(name)(const T *x, int64_t n, T limit, uint32_t at, uint32_t *out)          \
    {                                                                                              \
        int64_t found = 0, i = 0;                                                                  \
        for (; i + BLOCK <= n; i += BLOCK) {                                                       \
            T any = 0;                                                                             \
            for (int k = 0; k < BLOCK; k++) any |= x[i + k] < limit;                               \
            if (!any) continue;                                                                    \
            for (int k = 0; k < BLOCK; k++) {                                                      \
                out[found] = at + (uint32_t)(i + k);                                               \
                found += x[i + k] < limit;                                                         \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            out[found] = at + (uint32_t)i;                                                         \
            found += x[i] < limit;                                                                 \
        }                                                                                          \
        return found;                                                                              \
    }
DEFINE_SELECT(uint32_t, tn_select_u32)
DEFINE_SELECT(uint64_t, tn_select_u64)

/* --- keys --- */

static inline uint32_t order_f32(uint32_t u)
{
    return u ^ ((uint32_t)((int32_t)u >> 31) | 0x80000000u);
}
static inline uint32_t same_f32(uint32_t u)
{
    u = (u << 1) > 0xFF000000u ? 0x7FC00000u : u;
    return u << 1 ? u : 0;
}
static inline uint64_t order_f64(uint64_t u)
{
    return u ^ ((uint64_t)((int64_t)u >> 63) | 0x8000000000000000u);
}
static inline uint64_t same_f64(uint64_t u)
{
    u = (u << 1) > 0xFFE0000000000000u ? 0x7FF8000000000000u : u;
    return u << 1 ? u : 0;
}

#define ORDER(T, K, expression)                                                                    \
    do {                                                                                           \
        const T *restrict from = values;                                                           \
        K *restrict to = out;                                                                      \
        K flip = descending ? (K) - 1 : 0;                                                         \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = from[i];                                                                         \
            to[i] = (K)(expression) ^ flip;                                                        \
        }                                                                                          \
    } while (0)

void TN_ISA_NAME(tn_order_keys)(tn_element_type e, bool total, bool descending, const void *values,
                                int64_t n, void *out)
{
    switch ((int)e) {
    case TN_I2:
    case TN_I4:
    case TN_I8: ORDER(int8_t, uint32_t, (uint32_t)x ^ 0x80000000u); return;
    case TN_I16: ORDER(int16_t, uint32_t, (uint32_t)x ^ 0x80000000u); return;
    case TN_I32: ORDER(int32_t, uint32_t, (uint32_t)x ^ 0x80000000u); return;
    case TN_I64: ORDER(int64_t, uint64_t, (uint64_t)x ^ 0x8000000000000000u); return;
    case TN_U16: ORDER(uint16_t, uint32_t, x); return;
    case TN_U32: ORDER(uint32_t, uint32_t, x); return;
    case TN_U64: ORDER(uint64_t, uint64_t, x); return;
    case TN_F32:
        if (total) ORDER(uint32_t, uint32_t, order_f32(x));
        else ORDER(uint32_t, uint32_t, order_f32(same_f32(x)));
        return;
    case TN_F64:
        if (total) ORDER(uint64_t, uint64_t, order_f64(x));
        else ORDER(uint64_t, uint64_t, order_f64(same_f64(x)));
        return;
    default: ORDER(uint8_t, uint32_t, x); return;
    }
}
