/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/shape.h"

#include <inttypes.h>

tn_status *tn_pjrt_take_layout(const PJRT_Buffer_MemoryLayout *layout, size_t rank,
                               tn_layout *storage, const tn_layout **out)
{
    *out = NULL;
    if (!layout) return NULL;
    /* It never grew, and jaxlib leaves struct_size unset where it copies from one client to
     * another: it is not looked at. */
    const PJRT_Buffer_MemoryLayout l = *layout;

    size_t n;
    switch (l.type) {
    case PJRT_Buffer_MemoryLayout_Type_Tiled:
        n = l.tiled.minor_to_major_size;
        *storage = (tn_layout){.kind = TN_LAYOUT_ORDER,
                               .values = l.tiled.minor_to_major,
                               .n_tiles = l.tiled.num_tiles > 0};
        break;
    case PJRT_Buffer_MemoryLayout_Type_Strides:
        n = l.strides.num_byte_strides;
        *storage = (tn_layout){.kind = TN_LAYOUT_STRIDES, .values = l.strides.byte_strides};
        break;
    default: return TN_ERROR(INVALID_ARGUMENT, "there is no layout type %d", (int)l.type);
    }
    if (n != rank)
        return TN_ERROR(INVALID_ARGUMENT, "a layout of %zu dimensions for an array of %zu", n,
                        rank);
    if (n > 0 && !storage->values) return TN_ERROR(INVALID_ARGUMENT, "a layout without numbers");
    storage->rank = (uint32_t)n;
    *out = storage;
    return NULL;
}

tn_status *tn_pjrt_take_shape(PJRT_Buffer_Type element, const int64_t *dims, size_t n_dims,
                              const PJRT_Buffer_MemoryLayout *layout, tn_pjrt_shape *out)
{
    tn_element_type e = (tn_element_type)element;
    if (element == PJRT_Buffer_Type_S1 || element == PJRT_Buffer_Type_U1)
        return TN_ERROR(UNIMPLEMENTED, "arrays of element type %d", (int)element);
    if ((unsigned)element >= TN_ELEMENT_TYPE_COUNT ||
        (tn_element_type_bytes(e) == 0 && e != TN_TOKEN))
        return TN_ERROR(INVALID_ARGUMENT, "there is no element type %d", (int)element);
    if (n_dims > INT32_MAX || (n_dims > 0 && !dims))
        return TN_ERROR(INVALID_ARGUMENT, "an array of %zu dimensions at %p", n_dims,
                        (const void *)dims);
    if (e == TN_TOKEN && n_dims > 0)
        return TN_ERROR(INVALID_ARGUMENT, "a token with %zu dimensions", n_dims);
    for (size_t i = 0; i < n_dims; i++)
        if (dims[i] < 0) return TN_ERROR(INVALID_ARGUMENT, "dimension %zu is %" PRId64, i, dims[i]);

    out->type = (tn_type){.kind = e == TN_TOKEN ? TN_TYPE_TOKEN : TN_TYPE_TENSOR,
                          .element = e,
                          .rank = (uint32_t)n_dims,
                          .dims = dims};
    return tn_pjrt_take_layout(layout, n_dims, &out->storage, &out->layout);
}
