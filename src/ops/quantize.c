/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/quantize.h"

#include <math.h>

#include "kernels/elementwise.h"

#define TILE 256

double tn_round_to(tn_element_type e, double x)
{
    if (e == TN_F64) return x;
    if (e == TN_F32) return (float)x;
    tn_kernel down, up;
    uint64_t narrow = 0;
    const void *in = &x, *middle = &narrow;
    if (!tn_kernel_convert(TN_ISA_BASELINE, TN_F64, e, &down) ||
        !tn_kernel_convert(TN_ISA_BASELINE, e, TN_F64, &up))
        return x;
    tn_kernel_run(&down, 1, &in, &narrow);
    tn_kernel_run(&up, 1, &middle, &x);
    return x;
}

/* Which scale element i has. */
static uint32_t channel_of(const tn_type *t, int64_t i)
{
    const tn_quantization *q = t->quantization;
    if (q->axis < 0) return 0;
    int64_t inner = 1;
    for (uint32_t d = (uint32_t)q->axis + 1; d < t->rank; d++) inner *= t->dims[d];
    return (uint32_t)(i / inner % q->n);
}

void tn_dequantize(const tn_type *t, const void *data, int64_t begin, int64_t n, double *out)
{
    const tn_quantization *q = t->quantization;
    tn_kernel widen;
    if (!tn_kernel_convert(tn_cpu_isa(), t->element, TN_F64, &widen)) return;
    const void *in = (const char *)data + (size_t)begin * tn_element_type_bytes(t->element);
    tn_kernel_run(&widen, (size_t)n, &in, out);
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = channel_of(t, begin + i);
        double scale = tn_round_to(q->expressed, q->scales[c]);
        out[i] = tn_round_to(q->expressed,
                             tn_round_to(q->expressed, out[i] - (double)q->zero_points[c]) * scale);
    }
}

void tn_quantize(const tn_type *t, const double *x, int64_t begin, int64_t n, void *data)
{
    const tn_quantization *q = t->quantization;
    tn_kernel narrow;
    if (!tn_kernel_convert(tn_cpu_isa(), TN_F64, t->element, &narrow)) return;
    size_t bytes = tn_element_type_bytes(t->element);
    double tile[TILE];
    for (int64_t at = 0; at < n; at += TILE) {
        int64_t size = n - at < TILE ? n - at : TILE;
        for (int64_t i = 0; i < size; i++) {
            uint32_t c = channel_of(t, begin + at + i);
            double scale = tn_round_to(q->expressed, q->scales[c]);
            double v = tn_round_to(q->expressed, x[at + i] / scale);
            v = tn_round_to(q->expressed, v + (double)q->zero_points[c]);
            v = v<(double)q->min ? (double)q->min : v>(double) q->max ? (double)q->max : v;
            tile[i] = rint(v);
        }
        const void *in = tile;
        tn_kernel_run(&narrow, (size_t)size, &in, (char *)data + (size_t)(begin + at) * bytes);
    }
}
