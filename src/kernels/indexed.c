/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/indexed.h"

static const tn_indexed_build *build_of(tn_isa isa)
{
#if defined __x86_64__
    if (isa == TN_ISA_AVX512) return &tn_indexed_build_avx512;
    if (isa == TN_ISA_AVX2) return &tn_indexed_build_avx2;
#endif
    return &tn_indexed_build_baseline;
}

tn_indexed_fn *tn_indexed_gather(tn_isa isa, tn_element_type index, size_t width)
{
    return build_of(isa)->gather(index, width);
}

tn_indexed_fn *tn_indexed_scatter(tn_isa isa, tn_element_type index, tn_op_kind combiner,
                                  tn_element_type e)
{
    return build_of(isa)->scatter(index, combiner, e);
}
