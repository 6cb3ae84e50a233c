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
#define GUARDED_LOOP(name, condition, fast, full)                                                  \
    static void name(const tn_kernel *k, size_t n, const void *const *in, void *out)               \
    {                                                                                              \
        for (size_t at = 0; at < n; at += BLOCK) {                                                 \
            size_t size = n - at < BLOCK ? n - at : BLOCK;                                         \
            const float *a = (const float *)in[0] + at;                                            \
            const float *b = k->n_operands > 1 ? (const float *)in[1] + at : a;                    \
            float *to = (float *)out + at;                                                         \
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
#define CIRCULAR_LOOP(name)                                                                        \
    GUARDED_LOOP(name##_guarded, __builtin_fabsf(a[i]) < TN_CIRCULAR_LIMIT,                        \
                 tn_##name##_near_f32(a[i]), tn_##name##_f32(a[i]))
// clang-format off
CIRCULAR_LOOP(sin)
CIRCULAR_LOOP(cos)
CIRCULAR_LOOP(tan)
GUARDED_LOOP(rem_guarded, tn_rem_is_near_f32(a[i], b[i]), tn_rem_near_f32(a[i], b[i]),
             tn_rem_f32(a[i], b[i]))
// clang-format on

static tn_kernel_fn *find_guarded(tn_op_kind op)
{
    switch ((int)op) {
    case TN_OP_sine: return sin_guarded;
    case TN_OP_cosine: return cos_guarded;
    case TN_OP_tan: return tan_guarded;
    case TN_OP_remainder: return rem_guarded;
    default: return NULL;
    }
}

tn_kernel_fn *TN_ISA_NAME(tn_find_elementwise)(tn_op_kind op, tn_element_type e)
{
    if (e == TN_F32 && find_guarded(op)) return find_guarded(op);
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
