/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/window_shape.h"

static int64_t value_or(const tn_op *op, tn_attr_name name, uint32_t i, int64_t otherwise)
{
    uint32_t n;
    const int64_t *v = tn_op_ints(op, name, &n);
    return i < n ? v[i] : otherwise;
}

void tn_window_dims_read(const tn_op *op, uint32_t rank, tn_window_dim *out)
{
    for (uint32_t i = 0; i < rank; i++)
        out[i] = (tn_window_dim){.size = value_or(op, TN_ATTR_window_dimensions, i, 1),
                                 .stride = value_or(op, TN_ATTR_window_strides, i, 1),
                                 .dilation = value_or(op, TN_ATTR_window_dilations, i, 1),
                                 .base_dilation = value_or(op, TN_ATTR_base_dilations, i, 1),
                                 .low = value_or(op, TN_ATTR_padding, 2 * i, 0),
                                 .high = value_or(op, TN_ATTR_padding, 2 * i + 1, 0)};
}

static tn_status *check_optional(const tn_op *op, tn_attr_name name, uint32_t rank)
{
    tn_ints v;
    v.v = tn_op_ints(op, name, &v.n);
    return v.n ? tn_check_ints(op, name, rank, 1, &v) : NULL;
}

tn_status *tn_window_dims_of(const tn_op *op, tn_arena *a, uint32_t rank, tn_window_dim **out)
{
    tn_ints v;
    TN_TRY(tn_check_ints(op, TN_ATTR_window_dimensions, rank, 1, &v));
    TN_TRY(check_optional(op, TN_ATTR_window_strides, rank));
    TN_TRY(check_optional(op, TN_ATTR_window_dilations, rank));
    TN_TRY(check_optional(op, TN_ATTR_base_dilations, rank));
    v.v = tn_op_ints(op, TN_ATTR_padding, &v.n);
    if (v.n && v.n != 2 * rank)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "padding should have %u values, 2 for each dimension, and has %u",
                           2 * rank, v.n);
    *out = TN_NEW_ARRAY(a, tn_window_dim, rank);
    tn_window_dims_read(op, rank, *out);
    return NULL;
}

bool tn_window_count(const tn_window_dim *w, int64_t n, int64_t *out)
{
    *out = TN_DYNAMIC;
    if (n == TN_DYNAMIC) return true;
    __int128 padded = (n ? (__int128)(n - 1) * w->base_dilation + 1 : 0) + w->low + w->high;
    __int128 span = (__int128)(w->size - 1) * w->dilation + 1;
    if (padded < 0 || padded > INT64_MAX) return false;
    *out = padded == 0 || span > padded ? 0 : (int64_t)((padded - span) / w->stride + 1);
    return true;
}
