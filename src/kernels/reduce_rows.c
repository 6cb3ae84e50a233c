/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce_rows.h"

tn_row_fold_fn *tn_row_fold(tn_isa isa, tn_op_kind op, tn_element_type from)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return tn_find_row_fold_avx512(op, from);
    if (isa == TN_ISA_AVX2) return tn_find_row_fold_avx2(op, from);
#endif
    return tn_find_row_fold_baseline(op, from);
}
