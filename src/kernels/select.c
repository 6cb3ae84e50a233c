/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/select.h"

#if defined(__x86_64__)
#define CHOOSE(name, ...)                                                                          \
    if (isa == TN_ISA_AVX512) return name##_avx512(__VA_ARGS__);                                   \
    if (isa == TN_ISA_AVX2) return name##_avx2(__VA_ARGS__);                                       \
    return name##_baseline(__VA_ARGS__)
#else
#define CHOOSE(name, ...) return name##_baseline(__VA_ARGS__)
#endif

int64_t tn_select_u32(tn_isa isa, const uint32_t *x, int64_t n, uint32_t limit, uint32_t at,
                      uint32_t *out)
{
    CHOOSE(tn_select_u32, x, n, limit, at, out);
}

int64_t tn_select_u64(tn_isa isa, const uint64_t *x, int64_t n, uint64_t limit, uint32_t at,
                      uint32_t *out)
{
    CHOOSE(tn_select_u64, x, n, limit, at, out);
}

#undef CHOOSE
void tn_order_keys(tn_isa isa, tn_element_type e, bool total, bool descending, const void *x,
                   int64_t n, void *out)
{
#if defined(__x86_64__)
    if (isa == TN_ISA_AVX512) {
        tn_order_keys_avx512(e, total, descending, x, n, out);
        return;
    }
    if (isa == TN_ISA_AVX2) {
        tn_order_keys_avx2(e, total, descending, x, n, out);
        return;
    }
#endif
    tn_order_keys_baseline(e, total, descending, x, n, out);
}
