/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_kernels.h"

#include "base/cpu_features.h"

/* In order of preference; the last runs everywhere. */
#if defined(__x86_64__)
extern const tn_gemm_table tn_gemm_table_avx512, tn_gemm_table_avx2;
#endif
extern const tn_gemm_table tn_gemm_table_baseline;

const tn_gemm_table *tn_gemm_table_get(void)
{
#if defined(__x86_64__)
    if (tn_cpu_has(TN_ISA_AVX512)) return &tn_gemm_table_avx512;
    if (tn_cpu_has(TN_ISA_AVX2)) return &tn_gemm_table_avx2;
#endif
    return &tn_gemm_table_baseline;
}
