/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_types.h - the element types that have a C type, i.e. that kernels compute in. */
#ifndef TN_KERNELS_ELEMENTWISE_TYPES_H
#define TN_KERNELS_ELEMENTWISE_TYPES_H

#include "kernels/math_scalar.h"

/* X(suffix, NAME, T, U, class) */
// clang-format off
#define TN_COMPUTE_INTEGERS(X)                                                                     \
    X(i8,  I8,  int8_t,   uint8_t,  sint)                                                          \
    X(i16, I16, int16_t,  uint16_t, sint)                                                          \
    X(i32, I32, int32_t,  uint32_t, sint)                                                          \
    X(i64, I64, int64_t,  uint64_t, sint)                                                          \
    X(u8,  U8,  uint8_t,  uint8_t,  uint)                                                          \
    X(u16, U16, uint16_t, uint16_t, uint)                                                          \
    X(u32, U32, uint32_t, uint32_t, uint)                                                          \
    X(u64, U64, uint64_t, uint64_t, uint)
#define TN_COMPUTE_NARROW(X)                                                                       \
    X(i2,  I2,  int8_t,   uint8_t,  sint)                                                          \
    X(i4,  I4,  int8_t,   uint8_t,  sint)                                                          \
    X(u2,  U2,  uint8_t,  uint8_t,  uint)                                                          \
    X(u4,  U4,  uint8_t,  uint8_t,  uint)
#define TN_COMPUTE_REALS(X)                                                                        \
    X(f32, F32, float,    uint32_t, real)                                                          \
    X(f64, F64, double,   uint64_t, real)
#define TN_COMPUTE_COMPLEX(X)                                                                      \
    X(c64,  C64,  float _Complex,  uint64_t, complex)                                              \
    X(c128, C128, double _Complex, uint64_t, complex)
// clang-format on

/* After an op on a type narrower than its byte: extends it again. */
static inline int8_t tn_wrap_i2(int8_t a)
{
    return (int8_t)((int8_t)((uint8_t)a << 6) >> 6);
}
static inline int8_t tn_wrap_i4(int8_t a)
{
    return (int8_t)((int8_t)((uint8_t)a << 4) >> 4);
}
static inline uint8_t tn_wrap_u2(uint8_t a)
{
    return a & 3;
}
static inline uint8_t tn_wrap_u4(uint8_t a)
{
    return a & 15;
}

#endif
