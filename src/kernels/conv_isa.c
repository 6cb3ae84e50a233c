/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each instruction set; see simd.h. */
#include "kernels/conv_lanes.h"
#include "kernels/simd.h"

#define ROWS TN_CONV_LANE_ROWS
/* What 32 registers hold, or 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define VECS 4
#else
#define VECS 3
#endif
#define T f32
#define E float
#include "kernels/conv_lanes.inc"
#undef T
#undef E
#define T f64
#define E double
#include "kernels/conv_lanes.inc"
#undef T
#undef E
#define T u32
#define E uint32_t
#include "kernels/conv_lanes.inc"
#undef T
#undef E
#define T u64
#define E uint64_t
#include "kernels/conv_lanes.inc"
#undef T
#undef E

extern const tn_conv_lanes_table TN_ISA_NAME(tn_conv_lanes_table);
const tn_conv_lanes_table TN_ISA_NAME(tn_conv_lanes_table) = {
    .vectors = VECS,
    .kinds = {[TN_GEMM_F32] = all_lanes_f32,
              [TN_GEMM_F64] = all_lanes_f64,
              [TN_GEMM_I32] = all_lanes_u32,
              [TN_GEMM_I64] = all_lanes_u64},
    .shared = {[TN_GEMM_F32] = all_shared_f32,
               [TN_GEMM_F64] = all_shared_f64,
               [TN_GEMM_I32] = all_shared_u32,
               [TN_GEMM_I64] = all_shared_u64},
};
