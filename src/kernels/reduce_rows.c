/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce_rows.h"

tn_line_folds tn_line_folds_of(tn_isa isa, tn_op_kind op, tn_element_type from)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return tn_find_line_folds_avx512(op, from);
    if (isa == TN_ISA_AVX2) return tn_find_line_folds_avx2(op, from);
#endif
    (void)isa;
    return tn_find_line_folds_baseline(op, from);
}
