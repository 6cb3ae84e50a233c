/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/sort_lines.h"

#if defined(__x86_64__)
#define CHOOSE(name, ...)                                                                          \
    (isa == TN_ISA_AVX512 ? name##_avx512(__VA_ARGS__)                                             \
     : isa == TN_ISA_AVX2 ? name##_avx2(__VA_ARGS__)                                               \
                          : name##_baseline(__VA_ARGS__))
#else
#define CHOOSE(name, ...) name##_baseline(__VA_ARGS__)
#endif

void tn_sort_u32(tn_isa isa, uint32_t *x, int64_t n)
{
    CHOOSE(tn_sort_u32, x, n);
}

void tn_sort_u64(tn_isa isa, uint64_t *x, int64_t n)
{
    CHOOSE(tn_sort_u64, x, n);
}

uint32_t tn_sort_pivot_u32(tn_isa isa, const uint32_t *x, int64_t n)
{
    return CHOOSE(tn_sort_pivot_u32, x, n);
}

uint64_t tn_sort_pivot_u64(tn_isa isa, const uint64_t *x, int64_t n)
{
    return CHOOSE(tn_sort_pivot_u64, x, n);
}

int64_t tn_sort_divide_u32(tn_isa isa, uint32_t *x, int64_t n, uint32_t pivot, bool equal)
{
    return CHOOSE(tn_sort_divide_u32, x, n, pivot, equal);
}

int64_t tn_sort_divide_u64(tn_isa isa, uint64_t *x, int64_t n, uint64_t pivot, bool equal)
{
    return CHOOSE(tn_sort_divide_u64, x, n, pivot, equal);
}

void tn_restore_keys(tn_isa isa, tn_element_type e, bool descending, const void *keys, int64_t n,
                     void *out)
{
    CHOOSE(tn_restore_keys, e, descending, keys, n, out);
}

bool tn_keys_are_elements(tn_element_type e)
{
    switch ((int)e) {
    case TN_I8:
    case TN_I16:
    case TN_I32:
    case TN_I64:
    case TN_U8:
    case TN_U16:
    case TN_U32:
    case TN_U64:
    case TN_F32:
    case TN_F64: return true;
    default: return false;
    }
}
