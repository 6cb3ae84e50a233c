/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/layout.h"

#include <inttypes.h>

/* Bit d of a set is for dimension d. */
enum { MOST_ORDERED = 64 };

static tn_status *check(const tn_layout *layout, const tn_type *type)
{
    if (layout->n_tiles > 0)
        return TN_ERROR(INVALID_ARGUMENT, "layout with %" PRIu32 " tiles: tiles are not supported",
                        layout->n_tiles);
    if (layout->rank != type->rank)
        return TN_ERROR(INVALID_ARGUMENT,
                        "layout of %" PRIu32 " dimensions for an array of %" PRIu32, layout->rank,
                        type->rank);
    if (layout->kind == TN_LAYOUT_STRIDES) return NULL;

    if (type->rank > MOST_ORDERED)
        return TN_ERROR(INVALID_ARGUMENT, "layout of an array with %" PRIu32 " dimensions",
                        type->rank);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t d = layout->values[i];
        if (d < 0 || d >= type->rank || (seen >> d & 1))
            return TN_ERROR(INVALID_ARGUMENT,
                            "layout: minor_to_major[%" PRIu32 "] = %" PRId64
                            " does not make a permutation of %" PRIu32 " dimensions",
                            i, d, type->rank);
        seen |= (uint64_t)1 << d;
    }
    return NULL;
}

tn_status *tn_layout_strides(const tn_layout *layout, const tn_type *type, int64_t *out)
{
    if (layout) TN_TRY(check(layout, type));
    int64_t stride = tn_element_type_bytes(type->element);
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t d = layout && layout->kind == TN_LAYOUT_ORDER ? layout->values[i]
                                                              : (int64_t)type->rank - 1 - i;
        bool given = layout && layout->kind == TN_LAYOUT_STRIDES;
        out[d] = given ? layout->values[d] : stride;
        /* An array without elements may have any other dimension. */
        if (__builtin_mul_overflow(stride, type->dims[d] > 0 ? type->dims[d] : 1, &stride))
            stride = 0;
    }
    return NULL;
}

tn_status *tn_layout_check_device(const tn_layout *layout, const tn_type *type)
{
    if (!layout) return NULL;
    TN_TRY(check(layout, type));
    if (layout->kind == TN_LAYOUT_STRIDES) {
        if (tn_strides_are_dense(layout->values, type)) return NULL;
    } else {
        uint32_t i = 0;
        while (i < type->rank && layout->values[i] == (int64_t)type->rank - 1 - i) i++;
        if (i == type->rank) return NULL;
    }
    return TN_ERROR(UNIMPLEMENTED, "device layouts other than row-major");
}

bool tn_strides_are_dense(const int64_t *strides, const tn_type *type)
{
    int64_t stride = tn_element_type_bytes(type->element);
    for (uint32_t d = type->rank; d-- > 0;) {
        if (type->dims[d] == 0) return true;
        if (type->dims[d] != 1 && strides[d] != stride) return false;
        stride *= type->dims[d];
    }
    return true;
}

bool tn_element_is_padded(tn_element_type e)
{
    return tn_element_type_bits(e) < 8 && tn_element_type_class(e) != TN_CLASS_BOOL &&
           tn_element_type_bytes(e) > 0;
}

void tn_normalize_padding(tn_element_type e, void *data, size_t n)
{
    uint8_t *bytes = data;
    unsigned bits = tn_element_type_bits(e), spare = 8 - bits;
    if (tn_element_type_class(e) == TN_CLASS_SINT) {
        uint8_t sign = (uint8_t)(1u << (bits - 1)), mask = (uint8_t)(0xffu >> spare);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(((bytes[i] & mask) ^ sign) - sign);
    } else {
        for (size_t i = 0; i < n; i++) bytes[i] &= (uint8_t)(0xffu >> spare);
    }
}
