/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/window_rows.h"

tn_window_rows_fn *tn_window_rows_find(tn_isa isa, tn_op_kind op, tn_element_type e)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return tn_find_window_rows_avx512(op, e);
    if (isa == TN_ISA_AVX2) return tn_find_window_rows_avx2(op, e);
#endif
    return tn_find_window_rows_baseline(op, e);
}
