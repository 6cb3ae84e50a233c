/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h - values of quantized tensors: real = (stored - zero point) * scale.
 *
 * Values pass as double, which holds every f16, bf16 and f32 exactly; they are rounded to the
 * expressed type where the specification computes in it. */
#ifndef TN_OPS_QUANTIZE_H
#define TN_OPS_QUANTIZE_H

#include "type/type.h"

/* Elements [begin, begin + n) of the quantized tensor `data` of type t, as values of the expressed
 * type. Elements count in row-major order, which is what per-axis scales go by. */
void tn_dequantize(const tn_type *t, const void *data, int64_t begin, int64_t n, double *out);
/* The nearest (ties to even) stored values, clamped to the range of the storage. */
void tn_quantize(const tn_type *t, const double *x, int64_t begin, int64_t n, void *data);

/* The nearest value of a float type. */
double tn_round_to(tn_element_type e, double x);

#endif
