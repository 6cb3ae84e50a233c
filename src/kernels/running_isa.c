/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include <string.h>

#include "kernels/running.h"
#include "kernels/simd_order.h"

enum { GROUP = 16 };

/* STEP(places) for s = 1, 2, ...: of the last element of the lower half of 2 s neighbours for those
 * in the upper half, and of a second vector for the others. */
// clang-format off
#if TN_VB == 64
#define STEPS_4 STEP(16, 0, 18, 2, 20, 4, 22, 6, 24, 8, 26, 10, 28, 12, 30, 14)                    \
                STEP(16, 17, 1, 1, 20, 21, 5, 5, 24, 25, 9, 9, 28, 29, 13, 13)                     \
                STEP(16, 17, 18, 19, 3, 3, 3, 3, 24, 25, 26, 27, 11, 11, 11, 11)                   \
                STEP(16, 17, 18, 19, 20, 21, 22, 23, 7, 7, 7, 7, 7, 7, 7, 7)
#define LAST_4 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15
#define BACK_4 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#define STEPS_8 STEP(8, 0, 10, 2, 12, 4, 14, 6) STEP(8, 9, 1, 1, 12, 13, 5, 5)                     \
                STEP(8, 9, 10, 11, 3, 3, 3, 3)
#define LAST_8 7, 7, 7, 7, 7, 7, 7, 7
#define BACK_8 7, 6, 5, 4, 3, 2, 1, 0
#elif TN_VB == 32
#define STEPS_4 STEP(8, 0, 10, 2, 12, 4, 14, 6) STEP(8, 9, 1, 1, 12, 13, 5, 5)                     \
                STEP(8, 9, 10, 11, 3, 3, 3, 3)
#define LAST_4 7, 7, 7, 7, 7, 7, 7, 7
#define BACK_4 7, 6, 5, 4, 3, 2, 1, 0
#define STEPS_8 STEP(4, 0, 6, 2) STEP(4, 5, 1, 1)
#define LAST_8 3, 3, 3, 3
#define BACK_8 3, 2, 1, 0
#else
#define STEPS_4 STEP(4, 0, 6, 2) STEP(4, 5, 1, 1)
#define LAST_4 3, 3, 3, 3
#define BACK_4 3, 2, 1, 0
#define STEPS_8 STEP(2, 0)
#define LAST_8 1, 1
#define BACK_8 1, 0
#endif
// clang-format on

/* Sums and products of signed integers wrap as those of unsigned ones do, and so have their bits.
 */
#define NAME     add_f32
#define T        float
#define V        vf32
#define BYTES    4
#define OP(a, b) ((a) + (b))
#define NEUTRAL  -0.0
#include "kernels/running_lines.h"

#define NAME     multiply_f32
#define T        float
#define V        vf32
#define BYTES    4
#define OP(a, b) ((a) * (b))
#define NEUTRAL  1
#include "kernels/running_lines.h"

#define NAME     maximum_f32
#define T        float
#define V        vf32
#define BYTES    4
#define OP(a, b) larger_f32(a, b)
#define NEUTRAL  -__builtin_inff()
#include "kernels/running_lines.h"

#define NAME     minimum_f32
#define T        float
#define V        vf32
#define BYTES    4
#define OP(a, b) smaller_f32(a, b)
#define NEUTRAL  __builtin_inff()
#include "kernels/running_lines.h"

/* Where no NaN is, floats are ordered as integers are once their size counts down below 0: one
 * instruction for each, zeros included. */
#define NUMBER_KEY(x) ((x) ^ ((x) >> 31 & INT32_MAX))

#define NAME     maximum_numbers
#define T        int32_t
#define V        vi32
#define BYTES    4
#define OP(a, b) larger_i32(a, b)
#define NEUTRAL  INT32_MIN
#define KEY(x)   NUMBER_KEY(x)
#include "kernels/running_lines.h"

#define NAME     minimum_numbers
#define T        int32_t
#define V        vi32
#define BYTES    4
#define OP(a, b) smaller_i32(a, b)
#define NEUTRAL  INT32_MAX
#define KEY(x)   NUMBER_KEY(x)
#include "kernels/running_lines.h"

static bool are_numbers(const float *x, int64_t n)
{
    uint32_t nan = 0;
    for (int64_t i = 0; i < n; i++) nan |= x[i] != x[i];
    return !nan;
}

#define DEFINE_ANY(op)                                                                             \
    static void run_##op##_any(const void *x, void *y, int64_t n, const void *before,              \
                               bool backwards)                                                     \
    {                                                                                              \
        bool numbers = are_numbers(x, n) && are_numbers(before, 1);                                \
        (numbers ? run_##op##_numbers : run_##op##_f32)(x, y, n, before, backwards);               \
    }                                                                                              \
    static void total_##op##_any(const void *x, void *out, bool backwards)                         \
    {                                                                                              \
        bool numbers = are_numbers(x, TN_RUNNING_PIECE);                                           \
        (numbers ? total_##op##_numbers : total_##op##_f32)(x, out, backwards);                    \
    }
DEFINE_ANY(maximum)
DEFINE_ANY(minimum)

#define NAME     add_f64
#define T        double
#define V        vf64
#define BYTES    8
#define OP(a, b) ((a) + (b))
#define NEUTRAL  -0.0
#include "kernels/running_lines.h"

#define NAME     multiply_f64
#define T        double
#define V        vf64
#define BYTES    8
#define OP(a, b) ((a) * (b))
#define NEUTRAL  1
#include "kernels/running_lines.h"

#define NAME     maximum_f64
#define T        double
#define V        vf64
#define BYTES    8
#define OP(a, b) larger_f64(a, b)
#define NEUTRAL  -__builtin_inf()
#include "kernels/running_lines.h"

#define NAME     minimum_f64
#define T        double
#define V        vf64
#define BYTES    8
#define OP(a, b) smaller_f64(a, b)
#define NEUTRAL  __builtin_inf()
#include "kernels/running_lines.h"

#define NAME     add_u32
#define T        uint32_t
#define V        vu32
#define BYTES    4
#define OP(a, b) ((a) + (b))
#define NEUTRAL  0
#include "kernels/running_lines.h"

#define NAME     multiply_u32
#define T        uint32_t
#define V        vu32
#define BYTES    4
#define OP(a, b) ((a) * (b))
#define NEUTRAL  1
#include "kernels/running_lines.h"

#define NAME     maximum_u32
#define T        uint32_t
#define V        vu32
#define BYTES    4
#define OP(a, b) larger_u32(a, b)
#define NEUTRAL  0
#include "kernels/running_lines.h"

#define NAME     minimum_u32
#define T        uint32_t
#define V        vu32
#define BYTES    4
#define OP(a, b) smaller_u32(a, b)
#define NEUTRAL  UINT32_MAX
#include "kernels/running_lines.h"

#define NAME     maximum_i32
#define T        int32_t
#define V        vi32
#define BYTES    4
#define OP(a, b) larger_i32(a, b)
#define NEUTRAL  INT32_MIN
#include "kernels/running_lines.h"

#define NAME     minimum_i32
#define T        int32_t
#define V        vi32
#define BYTES    4
#define OP(a, b) smaller_i32(a, b)
#define NEUTRAL  INT32_MAX
#include "kernels/running_lines.h"

#define NAME     add_u64
#define T        uint64_t
#define V        vu64
#define BYTES    8
#define OP(a, b) ((a) + (b))
#define NEUTRAL  0
#include "kernels/running_lines.h"

#define NAME     multiply_u64
#define T        uint64_t
#define V        vu64
#define BYTES    8
#define OP(a, b) ((a) * (b))
#define NEUTRAL  1
#include "kernels/running_lines.h"

#define NAME     maximum_u64
#define T        uint64_t
#define V        vu64
#define BYTES    8
#define OP(a, b) larger_u64(a, b)
#define NEUTRAL  0
#include "kernels/running_lines.h"

#define NAME     minimum_u64
#define T        uint64_t
#define V        vu64
#define BYTES    8
#define OP(a, b) smaller_u64(a, b)
#define NEUTRAL  UINT64_MAX
#include "kernels/running_lines.h"

#define NAME     maximum_i64
#define T        int64_t
#define V        vi64
#define BYTES    8
#define OP(a, b) larger_i64(a, b)
#define NEUTRAL  INT64_MIN
#include "kernels/running_lines.h"

#define NAME     minimum_i64
#define T        int64_t
#define V        vi64
#define BYTES    8
#define OP(a, b) smaller_i64(a, b)
#define NEUTRAL  INT64_MAX
#include "kernels/running_lines.h"

#define FOUND(name)                                                                                \
    return (tn_running)                                                                            \
    {                                                                                              \
        run_##name, total_##name                                                                   \
    }
/* Sums are those of type u. */
#define FIND(order, u)                                                                             \
    switch ((int)op) {                                                                             \
    case TN_OP_add: FOUND(add_##u);                                                                \
    case TN_OP_multiply: FOUND(multiply_##u);                                                      \
    case TN_OP_maximum: FOUND(maximum_##order);                                                    \
    case TN_OP_minimum: FOUND(minimum_##order);                                                    \
    default: return (tn_running){0};                                                               \
    }

tn_running TN_ISA_NAME(tn_find_running)(tn_op_kind op, tn_element_type e)
{
    switch ((int)e) {
    case TN_F32: FIND(any, f32);
    case TN_F64: FIND(f64, f64);
    case TN_I32: FIND(i32, u32);
    case TN_U32: FIND(u32, u32);
    case TN_I64: FIND(i64, u64);
    case TN_U64: FIND(u64, u64);
    default: return (tn_running){0};
    }
}
