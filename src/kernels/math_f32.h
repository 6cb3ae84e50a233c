/* SPDX-License-Identifier: Apache-2.0 */
/* math_f32.h - elementary functions of f32. See math_scalar.h. */
#ifndef TN_KERNELS_MATH_F32_H
#define TN_KERNELS_MATH_F32_H

#include "kernels/math_f64.h"

#define THROUGH_F64_1(name)                                                                        \
    static inline float tn_##name##_f32(float a)                                                   \
    {                                                                                              \
        return (float)tn_##name##_f64(a);                                                          \
    }
#define THROUGH_F64_2(name)                                                                        \
    static inline float tn_##name##_f32(float a, float b)                                          \
    {                                                                                              \
        return (float)tn_##name##_f64(a, b);                                                       \
    }
// clang-format off
THROUGH_F64_1(exp) THROUGH_F64_1(expm1) THROUGH_F64_1(log) THROUGH_F64_1(log1p)
THROUGH_F64_1(sin) THROUGH_F64_1(cos) THROUGH_F64_1(tan) THROUGH_F64_1(tanh)
THROUGH_F64_1(logistic) THROUGH_F64_1(cbrt)
THROUGH_F64_2(atan2) THROUGH_F64_2(pow)
// clang-format on
#undef THROUGH_F64_1
#undef THROUGH_F64_2

#endif
