/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set; see simd.h. */
#include "kernels/conv_lanes.h"
#include "kernels/simd.h"

#define ROWS TN_CONV_LANE_ROWS
#define VECS TN_CONV_LANE_VECTORS
#define T    f32
#include "kernels/conv_lanes.inc"
#undef T
#define T f64
#include "kernels/conv_lanes.inc"
#undef T
#define T u32
#include "kernels/conv_lanes.inc"
#undef T
#define T u64
#include "kernels/conv_lanes.inc"
#undef T

extern const tn_conv_lanes_table TN_ISA_NAME(tn_conv_lanes_table);
const tn_conv_lanes_table TN_ISA_NAME(tn_conv_lanes_table) = {
    .kinds = {[TN_GEMM_F32] = all_lanes_f32,
              [TN_GEMM_F64] = all_lanes_f64,
              [TN_GEMM_I32] = all_lanes_u32,
              [TN_GEMM_I64] = all_lanes_u64},
};
