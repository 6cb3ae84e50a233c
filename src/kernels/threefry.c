/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/threefry.h"

#include "kernels/elementwise.h"

void tn_threefry(tn_isa isa, const tn_threefry_blocks *b)
{
#if defined(__x86_64__)
    if (isa == TN_ISA_AVX512) {
        tn_threefry_avx512(b);
        return;
    }
    if (isa == TN_ISA_AVX2) {
        tn_threefry_avx2(b);
        return;
    }
#endif
    tn_threefry_baseline(b);
}

static void run_bits(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    tn_threefry_blocks b = {
        .n = (int64_t)n, .k0 = in[0], .k1 = in[1], .one_key = true, .x1 = in[2], .y0 = out};
    tn_threefry((tn_isa)k->bits[0], &b);
}

bool tn_kernel_threefry_bits(tn_isa isa, tn_kernel *out)
{
    *out = (tn_kernel){.run = run_bits, .n_operands = 3, .in_step = {0, 0, 4}, .out_step = 4};
    out->bits[0] = (int32_t)isa;
    return true;
}

void tn_philox(tn_isa isa, const tn_philox_blocks *b)
{
#if defined(__x86_64__)
    if (isa == TN_ISA_AVX512) {
        tn_philox_avx512(b);
        return;
    }
    if (isa == TN_ISA_AVX2) {
        tn_philox_avx2(b);
        return;
    }
#endif
    tn_philox_baseline(b);
}
