/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/entry.h"

PJRT_Error *tn_pjrt_refuse(const char *call, size_t least, size_t got)
{
    return TN_PJRT_ERROR(INVALID_ARGUMENT,
                         "%s: expected args with a struct_size of at least %zu, got %zu", call,
                         least, got);
}

tn_status *tn_pjrt_take(const void *array, size_t i, size_t least, size_t ours, void *local,
                        const char *type)
{
    size_t first, size;
    if (!array) return TN_ERROR(INVALID_ARGUMENT, "%s: expected a struct, got NULL", type);
    memcpy(&first, array, sizeof first);
    /* Elements of an array are padded to the alignment of pointers. */
    const size_t stride = (first + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    const char *src = (const char *)array + i * stride;
    if (first >= least) memcpy(&size, src, sizeof size);
    else size = first;
    if (size < least)
        return TN_ERROR(INVALID_ARGUMENT, "%s: expected a struct_size of at least %zu, got %zu",
                        type, least, size);
    if (size != first)
        return TN_ERROR(INVALID_ARGUMENT,
                        "%s: element %zu has a struct_size of %zu, the first one of %zu", type, i,
                        size, first);
    if (size < ours) memset((char *)local + size, 0, ours - size);
    memcpy(local, src, size < ours ? size : ours);
    memcpy(local, &ours, sizeof ours);
    return NULL;
}
