/* SPDX-License-Identifier: Apache-2.0 */
/* math_real.h - functions of f32 and f64 that are exact or one rounding away from it. See
 * math_scalar.h. */
#ifndef TN_KERNELS_MATH_REAL_H
#define TN_KERNELS_MATH_REAL_H

#include <stdint.h>
#include <string.h>

/* X(suffix, T, U, f, quiet bit): f is the suffix of C's functions. */
#define TN_REAL_TYPES(X)                                                                           \
    X(f32, float, uint32_t, f)                                                                     \
    X(f64, double, uint64_t, )

/* max and min: NaN if any operand is NaN; -0 < +0. The larger of equal values is the one without
 * the sign bit. rsqrt: one Newton step on the rounded value, with the product carried in two parts;
 * it would turn 0 and inf into NaN. round: ties away from zero. */
#define FUNCTIONS(s, T, U, f)                                                                      \
    static inline U tn_to_bits_##s(T a)                                                            \
    {                                                                                              \
        U u;                                                                                       \
        memcpy(&u, &a, sizeof u);                                                                  \
        return u;                                                                                  \
    }                                                                                              \
    static inline T tn_from_bits_##s(U u)                                                          \
    {                                                                                              \
        T a;                                                                                       \
        memcpy(&a, &u, sizeof a);                                                                  \
        return a;                                                                                  \
    }                                                                                              \
    static inline T tn_flip_##s(T a)                                                               \
    {                                                                                              \
        return tn_from_bits_##s(tn_to_bits_##s(a) ^ ((U)1 << (8 * sizeof(T) - 1)));                \
    }                                                                                              \
    static inline T tn_abs_##s(T a)                                                                \
    {                                                                                              \
        return __builtin_fabs##f(a);                                                               \
    }                                                                                              \
    static inline T tn_ceil_##s(T a)                                                               \
    {                                                                                              \
        return __builtin_ceil##f(a);                                                               \
    }                                                                                              \
    static inline T tn_floor_##s(T a)                                                              \
    {                                                                                              \
        return __builtin_floor##f(a);                                                              \
    }                                                                                              \
    static inline T tn_rint_##s(T a)                                                               \
    {                                                                                              \
        return __builtin_rint##f(a);                                                               \
    }                                                                                              \
    static inline T tn_round_##s(T a)                                                              \
    {                                                                                              \
        T t = __builtin_trunc##f(a);                                                               \
        T up = __builtin_fabs##f(a - t) >= (T)0.5 ? (T)1 : (T)0;                                   \
        return __builtin_copysign##f(__builtin_fabs##f(t) + up, a);                                \
    }                                                                                              \
    static inline uint8_t tn_is_finite_##s(T a)                                                    \
    {                                                                                              \
        return __builtin_fabs##f(a) < (T)__builtin_inf();                                          \
    }                                                                                              \
    static inline T tn_sign_##s(T a)                                                               \
    {                                                                                              \
        T one = __builtin_copysign##f((T)1, a);                                                    \
        return a < 0 || a > 0 ? one : a;                                                           \
    }                                                                                              \
    static inline T tn_max_##s(T a, T b)                                                           \
    {                                                                                              \
        T both = tn_from_bits_##s(tn_to_bits_##s(a) & tn_to_bits_##s(b));                          \
        T larger = a > b || a != a ? a : b;                                                        \
        return a == b ? both : larger;                                                             \
    }                                                                                              \
    static inline T tn_min_##s(T a, T b)                                                           \
    {                                                                                              \
        T either = tn_from_bits_##s(tn_to_bits_##s(a) | tn_to_bits_##s(b));                        \
        T smaller = a < b || a != a ? a : b;                                                       \
        return a == b ? either : smaller;                                                          \
    }                                                                                              \
    static inline T tn_sqrt_##s(T a)                                                               \
    {                                                                                              \
        return __builtin_sqrt##f(a);                                                               \
    }                                                                                              \
    static inline T tn_rsqrt_##s(T a)                                                              \
    {                                                                                              \
        T y = 1 / __builtin_sqrt##f(a);                                                            \
        T h = a * y;                                                                               \
        T l = __builtin_fma##f(a, y, -h);                                                          \
        T e = __builtin_fma##f(-l, y, __builtin_fma##f(-h, y, (T)1));                              \
        T z = __builtin_fma##f(y * (T)0.5, e, y);                                                  \
        return e == e ? z : y;                                                                     \
    }                                                                                              \
    static inline T _Complex tn_complex_##s(T re, T im)                                            \
    {                                                                                              \
        T _Complex z;                                                                              \
        __real__ z = re;                                                                           \
        __imag__ z = im;                                                                           \
        return z;                                                                                  \
    }
// clang-format off
TN_REAL_TYPES(FUNCTIONS)
// clang-format on
#undef FUNCTIONS

#endif
