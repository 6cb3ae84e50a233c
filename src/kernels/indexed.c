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

bool tn_kernel_take(tn_isa isa, unsigned bytes, int64_t size, tn_kernel *out)
{
    tn_kernel_fn *run = build_of(isa)->take(bytes);
    if (!run || size < 1 || size > INT32_MAX) return false;
    *out = (tn_kernel){.run = run, .n_operands = 2, .out_step = (uint8_t)bytes};
    out->in_step[1] = 4;
    out->bits[0] = (int32_t)(size - 1);
    return true;
}
