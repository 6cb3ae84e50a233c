/* SPDX-License-Identifier: Apache-2.0 */
/* pool_grad.h - the inner loop of select_and_scatter: one window of many channels, which stand next
 * to each other. Threads: no state. Every build gives the same bits. */
#ifndef TN_KERNELS_POOL_GRAD_H
#define TN_KERNELS_POOL_GRAD_H

#include <stdint.h>

#include "base/cpu_features.h"

typedef enum { TN_KEEP_GE, TN_KEEP_GT, TN_KEEP_LE, TN_KEEP_LT } tn_pool_keep;

typedef struct {
    tn_pool_keep keep; /* an earlier place stays selected while it compares so with a later one */
    int64_t channels;
    int64_t n;             /* places of the window that are inside, at least 1 */
    const int64_t *places; /* elements from `operand` and `result`, in order */
    const void *operand, *source;
    void *result; /* source is added at the selected places */
} tn_pool_window;

typedef void tn_pool_fn(const tn_pool_window *w);
tn_pool_fn tn_pool_f32_baseline, tn_pool_f32_avx2, tn_pool_f32_avx512;
tn_pool_fn tn_pool_f64_baseline, tn_pool_f64_avx2, tn_pool_f64_avx512;

static inline tn_pool_fn *tn_pool_function(tn_isa isa, bool wide)
{
#if defined(__x86_64__)
    if (isa == TN_ISA_AVX512) return wide ? tn_pool_f64_avx512 : tn_pool_f32_avx512;
    if (isa == TN_ISA_AVX2) return wide ? tn_pool_f64_avx2 : tn_pool_f32_avx2;
#endif
    return wide ? tn_pool_f64_baseline : tn_pool_f32_baseline;
}

#endif
