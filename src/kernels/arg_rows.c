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

#define WIDEN(T)                                                                                   \
    for (int64_t l = 0; l < n; l++) to[l] = ((const T *)x)[l]
static void widen(size_t width, const void *x, int64_t n, int64_t *to)
{
    switch (width) {
    case 1: WIDEN(int8_t); break;
    case 2: WIDEN(int16_t); break;
    case 4: WIDEN(int32_t); break;
    default: WIDEN(int64_t); break;
    }
}

void tn_arg_few(const tn_arg_kernels *a, size_t width, const void *x, int64_t step, int64_t rows,
                int64_t n, int32_t *index)
{
    _Alignas(64) int64_t key[TN_ARG_COLUMNS], narrow[TN_ARG_COLUMNS], wide[TN_ARG_COLUMNS];
    a->block(x, step, rows, n, key, width == 4 ? (void *)index : narrow);
    if (width == 4) return;
    widen(width, narrow, n, wide);
    for (int64_t l = 0; l < n; l++) index[l] = (int32_t)wide[l];
}

void tn_arg_columns(const tn_arg_kernels *a, size_t width, const void *x, int64_t step,
                    int64_t rows, int64_t n, tn_arg *best)
{
    _Alignas(64) int64_t key[TN_ARG_COLUMNS], index[TN_ARG_COLUMNS];
    int64_t keys[TN_ARG_COLUMNS], indices[TN_ARG_COLUMNS];
    for (int64_t r = 0; r < rows; r += TN_ARG_ROWS) {
        int64_t some = rows - r < TN_ARG_ROWS ? rows - r : TN_ARG_ROWS;
        a->block((const char *)x + (size_t)(r * step) * width, step, some, n, key, index);
        widen(width, key, n, keys);
        widen(width, index, n, indices);
        for (int64_t l = 0; l < n; l++)
            if (r == 0 || keys[l] > best[l].key) best[l] = (tn_arg){keys[l], r + indices[l]};
    }
}
