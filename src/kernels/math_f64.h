/* SPDX-License-Identifier: Apache-2.0 */
/* math_f64.h - elementary functions of f64. See math_scalar.h. */
#ifndef TN_KERNELS_MATH_F64_H
#define TN_KERNELS_MATH_F64_H

#include "kernels/math_real.h"

#define LIBM_1(name)                                                                               \
    static inline double tn_##name##_f64(double a)                                                 \
    {                                                                                              \
        return __builtin_##name(a);                                                                \
    }
#define LIBM_2(name)                                                                               \
    static inline double tn_##name##_f64(double a, double b)                                       \
    {                                                                                              \
        return __builtin_##name(a, b);                                                             \
    }
// clang-format off
LIBM_1(exp) LIBM_1(expm1) LIBM_1(log) LIBM_1(log1p) LIBM_1(sin) LIBM_1(cos) LIBM_1(tan)
LIBM_1(tanh)
LIBM_2(atan2) LIBM_2(pow)
// clang-format on
#undef LIBM_1
#undef LIBM_2

        static inline double tn_rem_f64(double a, double b)
{
    return __builtin_fmod(a, b);
}

/* One Newton step on libm's root, which is up to 4 ulp off. */
static inline double tn_cbrt_f64(double a)
{
    double y = __builtin_cbrt(a), square = y * y;
    double low = __builtin_fma(y, y, -square);
    double excess = __builtin_fma(low, y, __builtin_fma(square, y, -a));
    double z = y - excess / (3 * square);
    return z - z == 0 ? z : y;
}

static inline double tn_logistic_f64(double a)
{
    double e = __builtin_exp(-__builtin_fabs(a));
    return (a < 0 ? e : 1) / (1 + e);
}

#endif
