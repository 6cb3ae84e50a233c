/* SPDX-License-Identifier: Apache-2.0 */
/* access.h - where elements of dense tensors lie, index values of any integer type, conversion. */
#ifndef TN_OPS_ACCESS_H
#define TN_OPS_ACCESS_H

#include <string.h>

#include "kernels/elementwise.h"
#include "type/type.h"

static inline int64_t tn_width(const tn_type *t)
{
    return tn_element_type_bytes(t->element);
}

/* Elements after dimension `dim`: the distance in elements of one step along it. */
static inline int64_t tn_step(const tn_type *t, uint32_t dim)
{
    int64_t n = 1;
    for (uint32_t i = dim + 1; i < t->rank; i++) n *= t->dims[i];
    return n;
}
/* The same in bytes. Only for tensors that have elements. */
static inline int64_t tn_stride(const tn_type *t, uint32_t dim)
{
    return tn_step(t, dim) * tn_width(t);
}

static inline bool tn_is_empty(const tn_type *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] == 0) return true;
    return false;
}

static inline int64_t tn_clamp_index(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Element i of an integer array; unsigned values past INT64_MAX give INT64_MAX, which no index can
 * reach either. */
static inline int64_t tn_read_index(const void *data, tn_element_type e, int64_t i)
{
    switch (e) {
    case TN_I64: return ((const int64_t *)data)[i];
    case TN_I32: return ((const int32_t *)data)[i];
    case TN_I16: return ((const int16_t *)data)[i];
    case TN_I2:
    case TN_I4:
    case TN_I8: return ((const int8_t *)data)[i];
    case TN_U64: {
        uint64_t v = ((const uint64_t *)data)[i];
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    case TN_U32: return ((const uint32_t *)data)[i];
    case TN_U16: return ((const uint16_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

/* As `convert`. False where there is no conversion between the types. */
static inline bool tn_convert_elements(tn_element_type from, const void *src, tn_element_type to,
                                       void *dst, int64_t n)
{
    tn_kernel k;
    if (!tn_kernel_convert(tn_cpu_isa(), from, to, &k)) return false;
    tn_kernel_run(&k, (size_t)n, (const void *[]){src}, dst);
    return true;
}

#endif
