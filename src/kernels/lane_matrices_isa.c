/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set. */
#include "kernels/lane_matrices.h"

#include "kernels/simd.h"

TN_INLINE vf32 size_f32(vf32 x)
{
    return (vf32)((vu32)x & 0x7fffffff);
}
TN_INLINE vf64 size_f64(vf64 x)
{
    return (vf64)((vu64)x & 0x7fffffffffffffff);
}

#define T       f32
#define E       float
#define I       int32_t
#define ROOT(x) __builtin_sqrtf(x)
#include "kernels/lane_matrices.inc"
#undef T
#undef E
#undef I
#undef ROOT
#define T       f64
#define E       double
#define I       int64_t
#define ROOT(x) __builtin_sqrt(x)
#include "kernels/lane_matrices.inc"

extern const tn_lane_matrices TN_ISA_NAME(tn_lane_matrices);
const tn_lane_matrices TN_ISA_NAME(tn_lane_matrices) = {
    TN_VB,
    {{potrf_f32, getrf_f32, trsm_f32, geqrf_f32, orgqr_f32},
     {potrf_f64, getrf_f64, trsm_f64, geqrf_f64, orgqr_f64}}};
