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

/* Sorts the dimensions by stride, minor first; those of size 1 may be anywhere and keep to
 * row-major order. Insertion, since arrays have few dimensions. */
static void order_of_strides(const int64_t *strides, const tn_type *type, int64_t *out)
{
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t d = (int64_t)type->rank - 1 - i;
        uint32_t at = i;
        while (at > 0 && type->dims[d] != 1 && type->dims[out[at - 1]] != 1 &&
               strides[out[at - 1]] > strides[d]) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = d;
    }
}

tn_status *tn_layout_order(const tn_layout *layout, const tn_type *type, int64_t *out)
{
    if (layout) TN_TRY(check(layout, type));
    for (uint32_t i = 0; i < type->rank; i++)
        out[i] = layout && layout->kind == TN_LAYOUT_ORDER ? layout->values[i]
                                                           : (int64_t)type->rank - 1 - i;
    if (!layout || layout->kind == TN_LAYOUT_ORDER || tn_strides_are_dense(layout->values, type))
        return NULL;
    int64_t dense[MOST_ORDERED];
    if (type->rank <= MOST_ORDERED) {
        order_of_strides(layout->values, type, out);
        const tn_layout found = {.rank = type->rank, .values = out};
        TN_TRY(tn_layout_strides(&found, type, dense));
        if (tn_strides_agree(dense, layout->values, type)) return NULL;
    }
    return TN_ERROR(UNIMPLEMENTED, "device arrays with gaps between their elements");
}

tn_status *tn_layout_check_device(const tn_layout *layout, const tn_type *type)
{
    int64_t order[MOST_ORDERED];
    if (!layout) return NULL;
    TN_TRY(check(layout, type));
    return type->rank <= MOST_ORDERED
               ? tn_layout_order(layout, type, order)
               : TN_ERROR(UNIMPLEMENTED, "layout of an array of %" PRIu32 " dimensions",
                          type->rank);
}

bool tn_strides_agree(const int64_t *x, const int64_t *y, const tn_type *type)
{
    for (uint32_t d = 0; d < type->rank; d++)
        if (type->dims[d] == 0) return true;
    for (uint32_t d = 0; d < type->rank; d++)
        if (type->dims[d] != 1 && x[d] != y[d]) return false;
    return true;
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
