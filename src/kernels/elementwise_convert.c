/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise_build.h"
#include "kernels/elementwise_types.h"
#include "kernels/small_float.h"

#if defined __F16C__
#include <immintrin.h>
#endif

#define LOOP(name, T, R, value)                                                                    \
    __attribute__((unused)) static void name(const tn_kernel *k, size_t n, const void *const *in,  \
                                             void *out)                                            \
    {                                                                                              \
        const T *from = in[0];                                                                     \
        R *to = out;                                                                               \
        TN_INDEPENDENT                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            T a = from[i];                                                                         \
            to[i] = (R)(value);                                                                    \
        }                                                                                          \
    }

/* --- between types that C has --- */

/* The first float beyond what an integer type holds; exact in f32 and f64 alike. */
#define BEYOND_i2  2
#define BEYOND_i4  8
#define BEYOND_i8  128
#define BEYOND_i16 32768
#define BEYOND_i32 2147483648.0
#define BEYOND_i64 9223372036854775808.0
#define BEYOND_u2  4
#define BEYOND_u4  16
#define BEYOND_u8  256
#define BEYOND_u16 65536
#define BEYOND_u32 4294967296.0
#define BEYOND_u64 18446744073709551616.0
#define MAX_i2     1
#define MAX_i4     7
#define MAX_i8     INT8_MAX
#define MAX_i16    INT16_MAX
#define MAX_i32    INT32_MAX
#define MAX_i64    INT64_MAX
#define MAX_u2     3
#define MAX_u4     15
#define MAX_u8     UINT8_MAX
#define MAX_u16    UINT16_MAX
#define MAX_u32    UINT32_MAX
#define MAX_u64    UINT64_MAX

#define TRUNCATE_sint(T, R, s)                                                                     \
    (a >= (T)BEYOND_##s   ? (R)MAX_##s                                                             \
     : a > -(T)BEYOND_##s ? (R)a                                                                   \
     : a != a             ? (R)0                                                                   \
                          : (R)(-MAX_##s - 1))
#define TRUNCATE_uint(T, R, s) (a >= (T)BEYOND_##s ? (R)MAX_##s : a > 0 ? (R)a : (R)0)

/* Every type to every type but itself, as VALUE_<class of from>_<class of to>. */
#define VALUE_flag_flag(T, R, s) a
#define VALUE_flag_sint(T, R, s) a
#define VALUE_flag_uint(T, R, s) a
#define VALUE_flag_real(T, R, s) a
#define VALUE_sint_flag(T, R, s) a != 0
#define VALUE_sint_sint(T, R, s) a
#define VALUE_sint_uint(T, R, s) a
#define VALUE_sint_real(T, R, s) a
#define VALUE_uint_flag(T, R, s) a != 0
#define VALUE_uint_sint(T, R, s) a
#define VALUE_uint_uint(T, R, s) a
#define VALUE_uint_real(T, R, s) a
#define VALUE_real_flag(T, R, s) a != 0
#define VALUE_real_sint(T, R, s) TRUNCATE_sint(T, R, s)
#define VALUE_real_uint(T, R, s) TRUNCATE_uint(T, R, s)
#define VALUE_real_real(T, R, s) a

// clang-format off
#define TARGETS(X, from, FROM, T, class)                                                           \
    X(from, FROM, T, class, i1,  I1,  uint8_t,  flag)                                              \
    X(from, FROM, T, class, i8,  I8,  int8_t,   sint)                                              \
    X(from, FROM, T, class, i16, I16, int16_t,  sint)                                              \
    X(from, FROM, T, class, i32, I32, int32_t,  sint)                                              \
    X(from, FROM, T, class, i64, I64, int64_t,  sint)                                              \
    X(from, FROM, T, class, u8,  U8,  uint8_t,  uint)                                              \
    X(from, FROM, T, class, u16, U16, uint16_t, uint)                                              \
    X(from, FROM, T, class, u32, U32, uint32_t, uint)                                              \
    X(from, FROM, T, class, u64, U64, uint64_t, uint)                                              \
    X(from, FROM, T, class, f32, F32, float,    real)                                              \
    X(from, FROM, T, class, f64, F64, double,   real)
#define NARROW_TARGETS(X, from, FROM, T)                                                           \
    X(from, FROM, T, real, i2, I2, int8_t,  sint)                                                  \
    X(from, FROM, T, real, i4, I4, int8_t,  sint)                                                  \
    X(from, FROM, T, real, u2, U2, uint8_t, uint)                                                  \
    X(from, FROM, T, real, u4, U4, uint8_t, uint)
#define PAIRS(X)                                                                                   \
    TARGETS(X, i1,  I1,  uint8_t,  flag)                                                           \
    TARGETS(X, i8,  I8,  int8_t,   sint)                                                           \
    TARGETS(X, i16, I16, int16_t,  sint)                                                           \
    TARGETS(X, i32, I32, int32_t,  sint)                                                           \
    TARGETS(X, i64, I64, int64_t,  sint)                                                           \
    TARGETS(X, u8,  U8,  uint8_t,  uint)                                                           \
    TARGETS(X, u16, U16, uint16_t, uint)                                                           \
    TARGETS(X, u32, U32, uint32_t, uint)                                                           \
    TARGETS(X, u64, U64, uint64_t, uint)                                                           \
    TARGETS(X, f32, F32, float,    real)                                                           \
    TARGETS(X, f64, F64, double,   real)                                                           \
    NARROW_TARGETS(X, f32, F32, float)                                                             \
    NARROW_TARGETS(X, f64, F64, double)

#define X(from, FROM, T, class, to, TO, R, to_class)                                               \
    LOOP(from##_to_##to, T, R, VALUE_##class##_##to_class(T, R, to))
PAIRS(X)
#undef X

tn_kernel_fn *TN_ISA_NAME(tn_find_convert)(tn_element_type from, tn_element_type to)
{
    switch (from * TN_ELEMENT_TYPE_COUNT + to) {
#define X(f, FROM, T, class, t, TO, R, to_class)                                                   \
    case TN_##FROM * TN_ELEMENT_TYPE_COUNT + TN_##TO: return f##_to_##t;
    PAIRS(X)
#undef X
    default: return NULL;
    }
}

/* --- narrow integers --- */

#define X(s, NAME, T, U, class) LOOP(wrap_##s, T, T, tn_wrap_##s(a))
TN_COMPUTE_NARROW(X)
#undef X

tn_kernel_fn *TN_ISA_NAME(tn_find_wrap)(tn_element_type to)
{
    switch ((int)to) {
#define X(s, NAME, T, U, class) case TN_##NAME: return wrap_##s;
    TN_COMPUTE_NARROW(X)
#undef X
    default: return NULL;
    }
}

/* --- narrow floats --- */

#define X(s, NAME, T, exponent, mantissa, bias, kind)                                              \
    LOOP(load_##s, T, float, tn_decode_##s(a))                                                     \
    LOOP(store_##s, float, T, tn_encode_##s(a))
TN_SMALL_FLOATS(X)
#undef X
LOOP(load_f8e8m0fnu, uint8_t, float, tn_decode_f8e8m0fnu(a))
LOOP(store_f8e8m0fnu, float, uint8_t, tn_encode_f8e8m0fnu(a))
// clang-format on

#if defined __F16C__
static void load_f16_8(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    const uint16_t *from = in[0];
    float *to = out;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < n; i++) to[i] = tn_decode_f16(from[i]);
}

static void store_f16_8(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    const float *from = in[0];
    uint16_t *to = out;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) to[i] = tn_encode_f16(from[i]);
}
#define load_f16  load_f16_8
#define store_f16 store_f16_8
#endif

tn_kernel_fn *TN_ISA_NAME(tn_find_load)(tn_element_type from)
{
    switch ((int)from) {
#define X(s, NAME, T, exponent, mantissa, bias, kind)                                              \
    case TN_##NAME: return load_##s;
        TN_SMALL_FLOATS(X)
#undef X
    case TN_F8E8M0FNU: return load_f8e8m0fnu;
    default: return NULL;
    }
}

tn_kernel_fn *TN_ISA_NAME(tn_find_store)(tn_element_type to)
{
    switch ((int)to) {
#define X(s, NAME, T, exponent, mantissa, bias, kind)                                              \
    case TN_##NAME: return store_##s;
        TN_SMALL_FLOATS(X)
#undef X
    case TN_F8E8M0FNU: return store_f8e8m0fnu;
    default: return NULL;
    }
}

/* clang-format off */
LOOP(odd_i32, int32_t,  float, tn_odd_f32(a))
LOOP(odd_u32, uint32_t, float, tn_odd_f32(a))
LOOP(odd_i64, int64_t,  float, tn_odd_f32_i64(a))
LOOP(odd_u64, uint64_t, float, tn_odd_f32_u64(a))
LOOP(odd_f64, double,   float, tn_odd_f32(a))
/* clang-format on */

tn_kernel_fn *TN_ISA_NAME(tn_find_to_odd)(tn_element_type from)
{
    switch ((int)from) {
    case TN_I32: return odd_i32;
    case TN_U32: return odd_u32;
    case TN_I64: return odd_i64;
    case TN_U64: return odd_u64;
    case TN_F64: return odd_f64;
    default: return NULL;
    }
}

/* --- complex --- */

/* clang-format off */
LOOP(real_of_c64,  float _Complex,  float,           __real__ a)
LOOP(real_of_c128, double _Complex, double,          __real__ a)
LOOP(c64_of_f32,   float,           float _Complex,  tn_complex_f32(a, 0))
LOOP(c128_of_f64,  double,          double _Complex, tn_complex_f64(a, 0))
/* clang-format on */

tn_kernel_fn *TN_ISA_NAME(tn_find_real_part)(tn_element_type from)
{
    return from == TN_C64 ? real_of_c64 : from == TN_C128 ? real_of_c128 : NULL;
}

tn_kernel_fn *TN_ISA_NAME(tn_find_to_complex)(tn_element_type from)
{
    return from == TN_F32 ? c64_of_f32 : from == TN_F64 ? c128_of_f64 : NULL;
}

const tn_elementwise_build TN_ISA_NAME(tn_elementwise_build) = {
    .elementwise = TN_ISA_NAME(tn_find_elementwise),
    .compare = TN_ISA_NAME(tn_find_compare),
    .clamp = TN_ISA_NAME(tn_find_clamp),
    .select = TN_ISA_NAME(tn_find_select),
    .convert = TN_ISA_NAME(tn_find_convert),
    .wrap = TN_ISA_NAME(tn_find_wrap),
    .load = TN_ISA_NAME(tn_find_load),
    .store = TN_ISA_NAME(tn_find_store),
    .to_odd = TN_ISA_NAME(tn_find_to_odd),
    .real_part = TN_ISA_NAME(tn_find_real_part),
    .to_complex = TN_ISA_NAME(tn_find_to_complex),
    .reduce_precision = TN_ISA_NAME(tn_find_reduce_precision),
};
