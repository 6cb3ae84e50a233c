/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise.h"
#include "kernels/elementwise_build.h"
#include "kernels/elementwise_types.h"
#include "kernels/isa.h"

/* An expression that the table leaves out has this type, by which _Generic knows it. */
typedef struct tn_undefined tn_undefined;
#define NO ((tn_undefined *)0)

#define SINT(i1, sint, uint, real, complex)     sint
#define UINT(i1, sint, uint, real, complex)     uint
#define REAL_(i1, sint, uint, real, complex)    real
#define COMPLEX_(i1, sint, uint, real, complex) complex
#define BOOL(i1, sint, uint, real, complex)     i1

#define S      i1
#define T      uint8_t
#define U      uint8_t
#define COLUMN BOOL
#include "kernels/elementwise_rows.h"

#define S      i8
#define T      int8_t
#define U      uint8_t
#define COLUMN SINT
#include "kernels/elementwise_rows.h"

#define S      u8
#define T      uint8_t
#define U      uint8_t
#define COLUMN UINT
#include "kernels/elementwise_rows.h"

#define S      i16
#define T      int16_t
#define U      uint16_t
#define COLUMN SINT
#include "kernels/elementwise_rows.h"

#define S      u16
#define T      uint16_t
#define U      uint16_t
#define COLUMN UINT
#include "kernels/elementwise_rows.h"

#define S      i32
#define T      int32_t
#define U      uint32_t
#define COLUMN SINT
#include "kernels/elementwise_rows.h"

#define S      u32
#define T      uint32_t
#define U      uint32_t
#define COLUMN UINT
#include "kernels/elementwise_rows.h"

#define S      i64
#define T      int64_t
#define U      uint64_t
#define COLUMN SINT
#include "kernels/elementwise_rows.h"

#define S      u64
#define T      uint64_t
#define U      uint64_t
#define COLUMN UINT
#include "kernels/elementwise_rows.h"

#define S      i2
#define T      int8_t
#define U      uint8_t
#define COLUMN SINT
#define WRAP   tn_wrap_i2
#include "kernels/elementwise_rows.h"

#define S      u2
#define T      uint8_t
#define U      uint8_t
#define COLUMN UINT
#define WRAP   tn_wrap_u2
#include "kernels/elementwise_rows.h"

#define S      i4
#define T      int8_t
#define U      uint8_t
#define COLUMN SINT
#define WRAP   tn_wrap_i4
#include "kernels/elementwise_rows.h"

#define S      u4
#define T      uint8_t
#define U      uint8_t
#define COLUMN UINT
#define WRAP   tn_wrap_u4
#include "kernels/elementwise_rows.h"

#define S       f32
#define T       float
#define U       uint32_t
#define COLUMN  REAL_
#define COMPLEX float _Complex
#include "kernels/elementwise_rows.h"

#define S       f64
#define T       double
#define U       uint64_t
#define COLUMN  REAL_
#define COMPLEX double _Complex
#include "kernels/elementwise_rows.h"

#define S      c64
#define T      float _Complex
#define U      uint64_t
#define COLUMN COMPLEX_
#define REAL   float
#include "kernels/elementwise_rows.h"

#define S      c128
#define T      double _Complex
#define U      uint64_t
#define COLUMN COMPLEX_
#define REAL   double
#include "kernels/elementwise_rows.h"

/* Functions that have a short way for most arguments: blocks in which all are such take it in a
 * loop without branches. */
#define BLOCK 256
#define GUARDED_LOOP(name, T, condition, fast, full)                                               \
    GUARDED_LOOP_TO(name, T, T, condition, fast, full)
#define GUARDED_LOOP_TO(name, T, R, condition, fast, full)                                         \
    static void name(const tn_kernel *k, size_t n, const void *const *in, void *out)               \
    {                                                                                              \
        for (size_t at = 0; at < n; at += BLOCK) {                                                 \
            size_t size = n - at < BLOCK ? n - at : BLOCK;                                         \
            const T *a = (const T *)in[0] + at;                                                    \
            const T *b = k->n_operands > 1 ? (const T *)in[1] + at : a;                            \
            R *to = (R *)out + at;                                                                 \
            unsigned far = 0;                                                                      \
            (void)b;                                                                               \
            for (size_t i = 0; i < size; i++) far |= !(condition);                                 \
            if (far) {                                                                             \
                for (size_t i = 0; i < size; i++) to[i] = full;                                    \
            } else {                                                                               \
                TN_INDEPENDENT                                                                     \
                for (size_t i = 0; i < size; i++) to[i] = fast;                                    \
            }                                                                                      \
        }                                                                                          \
    }
#define CIRCULAR_LOOP(name, limit, fast, full)                                                     \
    GUARDED_LOOP(name, float, __builtin_fabsf(a[i]) < limit, fast(a[i]), full(a[i]))
/* Two such ways: the second is for blocks with elements that aren't below the first limit. */
#define SINE_LOOP(name)                                                                            \
    CIRCULAR_LOOP(name##_below_f32, TN_CIRCULAR_LIMIT, tn_##name##_below_f32, tn_##name##_f32)     \
    static void name##_guarded_f32(const tn_kernel *k, size_t n, const void *const *in, void *out) \
    {                                                                                              \
        for (size_t at = 0; at < n; at += BLOCK) {                                                 \
            size_t size = n - at < BLOCK ? n - at : BLOCK;                                         \
            const float *a = (const float *)in[0] + at;                                            \
            const void *const from[] = {a};                                                        \
            float *to = (float *)out + at;                                                         \
            unsigned far = 0;                                                                      \
            for (size_t i = 0; i < size; i++) far |= !(__builtin_fabsf(a[i]) < TN_SINE_LIMIT);     \
            if (far) {                                                                             \
                name##_below_f32(k, size, from, to);                                               \
                continue;                                                                          \
            }                                                                                      \
            TN_INDEPENDENT                                                                         \
            for (size_t i = 0; i < size; i++) to[i] = tn_##name##_near_f32(a[i]);                  \
        }                                                                                          \
    }
#define CIRCULAR_LOOP_F64(name)                                                                    \
    GUARDED_LOOP(name##_guarded_f64, double, __builtin_fabs(a[i]) < TN_CIRCULAR_LIMIT_F64,         \
                 tn_##name##_near_f64(a[i]), tn_##name##_f64(a[i]))
// clang-format off
SINE_LOOP(sin)
SINE_LOOP(cos)
CIRCULAR_LOOP(tan_guarded_f32, TN_CIRCULAR_LIMIT, tn_tan_near_f32, tn_tan_f32)
CIRCULAR_LOOP_F64(sin)
CIRCULAR_LOOP_F64(cos)
GUARDED_LOOP(rem_guarded_f32, float, tn_rem_is_near_f32(a[i], b[i]), tn_rem_near_f32(a[i], b[i]),
             tn_rem_f32(a[i], b[i]))
GUARDED_LOOP(rem_guarded_f64, double, tn_rem_is_near_f64(a[i], b[i]), tn_rem_near_f64(a[i], b[i]),
             tn_rem_f64(a[i], b[i]))
#define COMPLEX_LOOP(name, test, s, T)                                                             \
    GUARDED_LOOP(name##_guarded_##s, T, tn_##test##_is_near_##s(a[i]), tn_##name##_near_##s(a[i]), \
                 tn_##name##_##s(a[i]))
COMPLEX_LOOP(expm1, exp, c64, float _Complex)
COMPLEX_LOOP(log, log, c64, float _Complex)
COMPLEX_LOOP(sqrt, log, c64, float _Complex)
COMPLEX_LOOP(tan, tanh, c64, float _Complex)
COMPLEX_LOOP(tanh, tanh, c64, float _Complex)
GUARDED_LOOP_TO(abs_guarded_c64, float _Complex, float, tn_abs_is_near_c64(a[i]),
                tn_abs_near_c64(a[i]), tn_abs_c64(a[i]))
COMPLEX_LOOP(sign, abs, c64, float _Complex)
COMPLEX_LOOP(sign, sign, c128, double _Complex)
GUARDED_LOOP(div_guarded_c64, float _Complex, tn_div_is_near_c64(a[i], b[i]),
             tn_div_near_c64(a[i], b[i]), tn_div_c64(a[i], b[i]))
GUARDED_LOOP(div_guarded_c128, double _Complex, tn_div_is_near_c128(a[i], b[i]),
             tn_div_near_c128(a[i], b[i]), tn_div_c128(a[i], b[i]))
/* Integers of 64 bits that f64 holds: tn_div_i64 and so on where tn_div_is_near. */
GUARDED_LOOP(div_guarded_i64, int64_t, tn_div_is_near(a[i], b[i]), tn_div_near(a[i], b[i]),
             tn_div_i64(a[i], b[i]))
GUARDED_LOOP(rem_guarded_i64, int64_t, tn_div_is_near(a[i], b[i]),
             a[i] - tn_div_near(a[i], b[i]) * b[i], tn_rem_i64(a[i], b[i]))
GUARDED_LOOP(div_guarded_u64, uint64_t, tn_div_is_near_u64(a[i], b[i]),
             (uint64_t)tn_div_near((int64_t)a[i], (int64_t)b[i]), tn_div_u64(a[i], b[i]))
GUARDED_LOOP(rem_guarded_u64, uint64_t, tn_div_is_near_u64(a[i], b[i]),
             a[i] - (uint64_t)tn_div_near((int64_t)a[i], (int64_t)b[i]) * b[i],
             tn_rem_u64(a[i], b[i]))
// clang-format on

static tn_kernel_fn *find_guarded(tn_op_kind op, tn_element_type e)
{
    switch ((int)e) {
    case TN_C64:
        switch ((int)op) {
        case TN_OP_abs: return abs_guarded_c64;
        case TN_OP_divide: return div_guarded_c64;
        case TN_OP_exponential_minus_one: return expm1_guarded_c64;
        case TN_OP_log: return log_guarded_c64;
        case TN_OP_sign: return sign_guarded_c64;
        case TN_OP_sqrt: return sqrt_guarded_c64;
        case TN_OP_tan: return tan_guarded_c64;
        case TN_OP_tanh: return tanh_guarded_c64;
        default: return NULL;
        }
    case TN_C128:
        return op == TN_OP_divide ? div_guarded_c128 : op == TN_OP_sign ? sign_guarded_c128 : NULL;
    case TN_I64:
        return op == TN_OP_divide      ? div_guarded_i64
               : op == TN_OP_remainder ? rem_guarded_i64
                                       : NULL;
    case TN_U64:
        return op == TN_OP_divide      ? div_guarded_u64
               : op == TN_OP_remainder ? rem_guarded_u64
                                       : NULL;
    case TN_F32:
    case TN_F64: break;
    default: return NULL;
    }
    switch ((int)op) {
    case TN_OP_sine: return e == TN_F32 ? sin_guarded_f32 : sin_guarded_f64;
    case TN_OP_cosine: return e == TN_F32 ? cos_guarded_f32 : cos_guarded_f64;
    case TN_OP_tan: return e == TN_F32 ? tan_guarded_f32 : NULL;
    case TN_OP_remainder: return e == TN_F32 ? rem_guarded_f32 : rem_guarded_f64;
    default: return NULL;
    }
}

tn_kernel_fn *TN_ISA_NAME(tn_find_elementwise)(tn_op_kind op, tn_element_type e)
{
    tn_kernel_fn *guarded = find_guarded(op, e);
    if (guarded) return guarded;
    switch ((int)e) {
    case TN_I1: return find_i1(op);
#define X(s, NAME, T, U, class)                                                                    \
    case TN_##NAME: return find_##s(op);
        TN_COMPUTE_INTEGERS(X)
        TN_COMPUTE_NARROW(X)
        TN_COMPUTE_REALS(X)
        TN_COMPUTE_COMPLEX(X)
#undef X
    default: return NULL;
    }
}
