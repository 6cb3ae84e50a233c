/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arg_rows.h"

tn_arg_kernels tn_arg_find(tn_isa isa, bool largest, tn_element_type e)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return tn_find_arg_avx512(largest, e);
    if (isa == TN_ISA_AVX2) return tn_find_arg_avx2(largest, e);
#endif
    (void)isa;
    return tn_find_arg_baseline(largest, e);
}
