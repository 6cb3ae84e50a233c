/* SPDX-License-Identifier: Apache-2.0 */
/* math_scalar.h - what the expressions of ops.def call: tn_<function>_<type> for every element type
 * that has a C type.
 *
 * All are pure, signal nothing and read no rounding mode but to-nearest. i4, u4, i2 and u2 live in
 * bytes, extended by their sign or by zeros; their functions may leave bits above the width, which
 * the kernels cut off. Real functions keep subnormals, propagate NaN, and are within 1 ulp (f32) or
 * 2 ulp (f64) of the true value. */
#ifndef TN_KERNELS_MATH_SCALAR_H
#define TN_KERNELS_MATH_SCALAR_H

#include "kernels/math_complex.h"
#include "kernels/math_f32.h"
#include "kernels/math_f64.h"
#include "kernels/math_int.h"

#endif
