/* SPDX-License-Identifier: Apache-2.0 */
/* math_int.h - integer functions that C leaves undefined or doesn't have. See math_scalar.h. */
#ifndef TN_KERNELS_MATH_INT_H
#define TN_KERNELS_MATH_INT_H

#include <stdint.h>

/* X(suffix, T, U, S, M, Q, width): T the C type, U its unsigned and S its signed form, M what wraps
 * in a product, Q what a quotient is computed in. A float quotient of integers of at most 16 bits,
 * or a double one of at most 32, truncates to the right integer: if a/b isn't whole, it is farther
 * than a/b * 2^-17 (2^-33) from any whole number. Unlike integer division it is vectorised. */
// clang-format off
#define TN_SIGNED_TYPES(X)                                                                         \
    X(i2,  int8_t,  uint8_t,  int8_t,  uint32_t, float,    2)                                      \
    X(i4,  int8_t,  uint8_t,  int8_t,  uint32_t, float,    4)                                      \
    X(i8,  int8_t,  uint8_t,  int8_t,  uint32_t, float,    8)                                      \
    X(i16, int16_t, uint16_t, int16_t, uint32_t, float,   16)                                      \
    X(i32, int32_t, uint32_t, int32_t, uint32_t, double,  32)                                      \
    X(i64, int64_t, uint64_t, int64_t, uint64_t, int64_t, 64)
#define TN_UNSIGNED_TYPES(X)                                                                       \
    X(u2,  uint8_t,  uint8_t,  int8_t,  uint32_t, float,     2)                                    \
    X(u4,  uint8_t,  uint8_t,  int8_t,  uint32_t, float,     4)                                    \
    X(u8,  uint8_t,  uint8_t,  int8_t,  uint32_t, float,     8)                                    \
    X(u16, uint16_t, uint16_t, int16_t, uint32_t, float,    16)                                    \
    X(u32, uint32_t, uint32_t, int32_t, uint32_t, double,   32)                                    \
    X(u64, uint64_t, uint64_t, int64_t, uint64_t, uint64_t, 64)
// clang-format on

/* The value's bits alone, without what extends it to its byte. */
#define TN_WIDTH_BITS(a, width) ((uint64_t)(a) & (~(uint64_t)0 >> (64 - (width))))

static inline unsigned tn_popcnt_32(uint32_t v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;
}
static inline unsigned tn_popcnt_64(uint64_t v)
{
    return tn_popcnt_32((uint32_t)v) + tn_popcnt_32((uint32_t)(v >> 32));
}

#define COMMON(s, T, U, S, M, Q, width)                                                            \
    static inline T tn_mul_##s(T a, T b)                                                           \
    {                                                                                              \
        return (T)((M)a * (M)b);                                                                   \
    }                                                                                              \
    static inline T tn_shl_##s(T a, T b)                                                           \
    {                                                                                              \
        return (U)b >= width ? 0 : (T)((U)a << ((U)b & (width - 1)));                              \
    }                                                                                              \
    static inline T tn_shr_##s(T a, T b)                                                           \
    {                                                                                              \
        U bits = (U)TN_WIDTH_BITS(a, width);                                                       \
        return (U)b >= width ? 0 : (T)(bits >> ((U)b & (width - 1)));                              \
    }                                                                                              \
    static inline T tn_sar_##s(T a, T b)                                                           \
    {                                                                                              \
        S v = (S)((U)a << (8 * sizeof(T) - width));                                                \
        v = (S)(v >> (8 * sizeof(T) - width));                                                     \
        U by = (U)b >= width ? width - 1 : (U)b;                                                   \
        return (T)(v >> by);                                                                       \
    }                                                                                              \
    static inline T tn_clz_##s(T a)                                                                \
    {                                                                                              \
        uint64_t bits = TN_WIDTH_BITS(a, width);                                                   \
        return (T)(bits ? __builtin_clzll(bits) - (64 - width) : width);                           \
    }                                                                                              \
    static inline T tn_popcnt_##s(T a)                                                             \
    {                                                                                              \
        return (T)(width == 64 ? tn_popcnt_64(TN_WIDTH_BITS(a, width))                             \
                               : tn_popcnt_32((uint32_t)TN_WIDTH_BITS(a, width)));                 \
    }                                                                                              \
    static inline T tn_power_of_##s(T a, U exponent)                                               \
    {                                                                                              \
        M x = (M)a, p = 1;                                                                         \
        for (U e = exponent; e; e >>= 1, x *= x)                                                   \
            if (e & 1) p *= x;                                                                     \
        return (T)p;                                                                               \
    }

/* x / 0 is -1, MIN / -1 is MIN, x % 0 is x, x % -1 is 0: what XLA gives, and none of it traps. A
 * negative power is 0 but for bases 1 and -1. */
#define SIGNED(s, T, U, S, M, Q, width)                                                            \
    static inline T tn_div_##s(T a, T b)                                                           \
    {                                                                                              \
        T d = b == 0 || b == -1 ? 1 : b;                                                           \
        T q = (T)((Q)a / (Q)d);                                                                    \
        return b == 0 ? -1 : b == -1 ? (T)(0 - (U)a) : q;                                          \
    }                                                                                              \
    static inline T tn_rem_##s(T a, T b)                                                           \
    {                                                                                              \
        T d = b == 0 || b == -1 ? 1 : b;                                                           \
        T q = (T)((Q)a / (Q)d);                                                                    \
        T r = (T)((U)a - (U)((M)q * (M)d));                                                        \
        return b == 0 ? a : b == -1 ? 0 : r;                                                       \
    }                                                                                              \
    static inline T tn_pow_##s(T a, T b)                                                           \
    {                                                                                              \
        if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;                           \
        return tn_power_of_##s(a, (U)b);                                                           \
    }
/* x / 0 is all ones. */
#define UNSIGNED(s, T, U, S, M, Q, width)                                                          \
    static inline T tn_div_##s(T a, T b)                                                           \
    {                                                                                              \
        T d = b == 0 ? 1 : b;                                                                      \
        T q = (T)((Q)a / (Q)d);                                                                    \
        return b == 0 ? (T) - 1 : q;                                                               \
    }                                                                                              \
    static inline T tn_rem_##s(T a, T b)                                                           \
    {                                                                                              \
        T d = b == 0 ? 1 : b;                                                                      \
        T q = (T)((Q)a / (Q)d);                                                                    \
        return b == 0 ? a : (T)(a - (U)((M)q * (M)d));                                             \
    }                                                                                              \
    static inline T tn_pow_##s(T a, T b)                                                           \
    {                                                                                              \
        return tn_power_of_##s(a, b);                                                              \
    }

// clang-format off
TN_SIGNED_TYPES(COMMON)
TN_SIGNED_TYPES(SIGNED)
TN_UNSIGNED_TYPES(COMMON)
TN_UNSIGNED_TYPES(UNSIGNED)
// clang-format on
#undef COMMON
#undef SIGNED
#undef UNSIGNED

/* Quotients of 64 bits in f64, where both operands are smaller than 2^51: what isn't whole is then
 * farther from any whole number than what it is rounded by. Numbers become f64 and back by
 * adding 1.5 2^52, in whose low bits they are. */
static inline bool tn_div_is_near(int64_t a, int64_t b)
{
    const uint64_t limit = (uint64_t)1 << 51;
    return ((uint64_t)a + limit < 2 * limit) & ((uint64_t)b + limit < 2 * limit) & (b != 0);
}
static inline bool tn_div_is_near_u64(uint64_t a, uint64_t b)
{
    return ((a | b) < (uint64_t)1 << 51) & (b != 0);
}
static inline int64_t tn_div_near(int64_t a, int64_t b)
{
    const double one = 0x1.8p52;
    const int64_t shift = 0x4338000000000000;
    int64_t bits;
    double x, y;
    a += shift;
    b += shift;
    __builtin_memcpy(&x, &a, sizeof x);
    __builtin_memcpy(&y, &b, sizeof y);
    double q = __builtin_trunc((x - one) / (y - one)) + one;
    __builtin_memcpy(&bits, &q, sizeof q);
    return bits - shift;
}

#endif
