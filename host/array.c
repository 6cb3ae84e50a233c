/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tenon/host.h"

static const struct {
    const char *name;
    size_t size;
} elements[] = {[PJRT_Buffer_Type_PRED] = {"i1", 1},
                [PJRT_Buffer_Type_S8] = {"i8", 1},
                [PJRT_Buffer_Type_S16] = {"i16", 2},
                [PJRT_Buffer_Type_S32] = {"i32", 4},
                [PJRT_Buffer_Type_S64] = {"i64", 8},
                [PJRT_Buffer_Type_U8] = {"ui8", 1},
                [PJRT_Buffer_Type_U16] = {"ui16", 2},
                [PJRT_Buffer_Type_U32] = {"ui32", 4},
                [PJRT_Buffer_Type_U64] = {"ui64", 8},
                [PJRT_Buffer_Type_F16] = {"f16", 2},
                [PJRT_Buffer_Type_F32] = {"f32", 4},
                [PJRT_Buffer_Type_F64] = {"f64", 8},
                [PJRT_Buffer_Type_BF16] = {"bf16", 2},
                [PJRT_Buffer_Type_C64] = {"complex<f32>", 8},
                [PJRT_Buffer_Type_C128] = {"complex<f64>", 16},
                [PJRT_Buffer_Type_F8E5M2] = {"f8E5M2", 1},
                [PJRT_Buffer_Type_F8E4M3FN] = {"f8E4M3FN", 1},
                [PJRT_Buffer_Type_F8E4M3B11FNUZ] = {"f8E4M3B11FNUZ", 1},
                [PJRT_Buffer_Type_F8E5M2FNUZ] = {"f8E5M2FNUZ", 1},
                [PJRT_Buffer_Type_F8E4M3FNUZ] = {"f8E4M3FNUZ", 1},
                [PJRT_Buffer_Type_S4] = {"i4", 1},
                [PJRT_Buffer_Type_U4] = {"ui4", 1},
                [PJRT_Buffer_Type_TOKEN] = {"token", 0},
                [PJRT_Buffer_Type_S2] = {"i2", 1},
                [PJRT_Buffer_Type_U2] = {"ui2", 1},
                [PJRT_Buffer_Type_F8E4M3] = {"f8E4M3", 1},
                [PJRT_Buffer_Type_F8E3M4] = {"f8E3M4", 1},
                [PJRT_Buffer_Type_F8E8M0FNU] = {"f8E8M0FNU", 1},
                [PJRT_Buffer_Type_F4E2M1FN] = {"f4E2M1FN", 1},
                [PJRT_Buffer_Type_S1] = {"si1", 1},
                [PJRT_Buffer_Type_U1] = {"ui1", 1},
                [PJRT_Buffer_Type_F6E2M3FN] = {"f6E2M3FN", 1},
                [PJRT_Buffer_Type_F6E3M2FN] = {"f6E3M2FN", 1}};

#define COUNT (sizeof elements / sizeof *elements)

size_t tn_element_size(PJRT_Buffer_Type type)
{
    return (size_t)type < COUNT ? elements[type].size : 0;
}

const char *tn_element_name(PJRT_Buffer_Type type)
{
    return (size_t)type < COUNT && elements[type].name ? elements[type].name : "?";
}

PJRT_Buffer_Type tn_element_from_name(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (elements[i].name && !strcmp(elements[i].name, name)) return (PJRT_Buffer_Type)i;
    return PJRT_Buffer_Type_INVALID;
}

tn_status *tn_array_make(PJRT_Buffer_Type type, size_t rank, const int64_t *dims, tn_array *out)
{
    size_t size = tn_element_size(type);
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(size, (size_t)dims[i], &size))
            return TN_ERROR(INVALID_ARGUMENT, "dimension %zu of an array is %lld", i,
                            (long long)dims[i]);
    tn_array a = {.type = type, .rank = rank, .size = size};
    a.dims = malloc((rank + 1) * sizeof *a.dims);
    a.data = size < SIZE_MAX - 64 ? aligned_alloc(64, (size + 64) & ~(size_t)63) : NULL;
    if (!a.dims || !a.data) {
        tn_array_free(&a);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an array of %zu bytes", size);
    }
    if (rank) memcpy(a.dims, dims, rank * sizeof *dims);
    memset(a.data, 0, size);
    *out = a;
    return NULL;
}

void tn_array_free(tn_array *a)
{
    free(a->dims);
    free(a->data);
    *a = (tn_array){0};
}
