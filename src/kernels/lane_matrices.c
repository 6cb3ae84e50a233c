/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/lane_matrices.h"

#include "base/cpu_features.h"

#if defined(__x86_64__)
extern const tn_lane_matrices tn_lane_matrices_avx512, tn_lane_matrices_avx2;
#endif
extern const tn_lane_matrices tn_lane_matrices_baseline;

const tn_lane_matrices *tn_lane_matrices_get(void)
{
#if defined(__x86_64__)
    if (tn_cpu_has(TN_ISA_AVX512)) return &tn_lane_matrices_avx512;
    if (tn_cpu_has(TN_ISA_AVX2)) return &tn_lane_matrices_avx2;
#endif
    return &tn_lane_matrices_baseline;
}
