/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/threefry.h"

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
