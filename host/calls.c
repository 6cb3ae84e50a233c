/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tenon/pjrt_calls.h"

#define ROW(type, name_, kind_, class_, direction_, minor_, count_)                                \
    {.name = #name_,                                                                               \
     .offset = offsetof(type, name_),                                                              \
     .size = sizeof(((type *)0)->name_),                                                           \
     .kind = TN_FIELD_##kind_,                                                                     \
     .direction = TN_FIELD_##direction_,                                                           \
     .cls = TN_CLASS_##class_,                                                                     \
     .minor = minor_,                                                                              \
     .count_offset = offsetof(type, count_),                                                       \
     .count_size = sizeof(((type *)0)->count_)},

#define STRUCT_BEGIN(type) static const tn_field fields_##type[] = {
#define FIELD(...)         ROW(__VA_ARGS__)
#define STRUCT_END(type)                                                                           \
    }                                                                                              \
    ;
#include "tenon/pjrt_fields.def"

#define STRUCT_OF(type)                                                                            \
    {.name = #type,                                                                                \
     .fields = fields_##type,                                                                      \
     .n_fields = sizeof fields_##type / sizeof(tn_field),                                          \
     .size = type##_STRUCT_SIZE}

#define TYPE_OF(extension) PJRT_Extension_Type_##extension

const tn_call_info tn_calls[TN_CALL_COUNT] = {
#define CALL(function, minor_)                                                                     \
    [TN_CALL_##function] = {#function, minor_, -1, offsetof(PJRT_Api, function),                   \
                            STRUCT_OF(function##_Args)},
#include "tenon/pjrt_fields.def"
#define EXTENSION_CALL(type, table, function, slot)                                                \
    [TN_CALL_##function] = {#function, 0, TYPE_OF(type), offsetof(table, slot),                    \
                            STRUCT_OF(function##_Args)},
#include "tenon/pjrt_fields.def"
};

const tn_struct tn_struct_program = STRUCT_OF(PJRT_Program),
                tn_struct_execute_options = STRUCT_OF(PJRT_ExecuteOptions),
                tn_struct_load_options = STRUCT_OF(PJRT_LoadOptions);

int tn_call_find(const char *name)
{
    for (int i = 0; i < TN_CALL_COUNT; i++)
        if (!strcmp(tn_calls[i].name, name) || !strcmp(tn_calls[i].name + strlen("PJRT_"), name))
            return i;
    return -1;
}

const char *tn_class_name(tn_class c)
{
    static const char *const names[] = {
        "object",
#define CLASS(name) #name,
#include "tenon/pjrt_fields.def"
    };
    return names[c < TN_CLASS_COUNT ? c : 0];
}

size_t tn_struct_size_at(const tn_struct *s, int minor)
{
    size_t size = s->n_fields ? 0 : s->size;
    for (size_t i = 0; i < s->n_fields; i++) {
        const tn_field *f = &s->fields[i];
        if (f->minor <= minor && (size_t)f->offset + f->size > size)
            size = (size_t)f->offset + f->size;
    }
    return size;
}

bool tn_field_covered(const tn_field *f, const void *args)
{
    size_t size;
    memcpy(&size, args, sizeof size);
    return (size_t)f->offset + f->size <= size;
}

static int64_t integer(const char *at, size_t size)
{
    switch (size) {
    case 1: return *(const uint8_t *)at;
    case 4: return *(const int32_t *)at;
    case 8: return *(const int64_t *)at;
    }
    return 0;
}

int64_t tn_field_int(const tn_field *f, const void *args)
{
    return integer((const char *)args + f->offset, f->size);
}

size_t tn_field_count(const tn_field *f, const void *args)
{
    if (f->count_offset == f->offset) return 0;
    return (size_t)integer((const char *)args + f->count_offset, f->count_size);
}

void *tn_field_pointer(const tn_field *f, const void *args)
{
    void *p = NULL;
    if (f->size == sizeof p) memcpy(&p, (const char *)args + f->offset, sizeof p);
    return p;
}

/* By number of PJRT_Buffer_Type. */
static const struct {
    const char *name;
    size_t size;
} elements[] = {
    {"invalid", 0},    {"pred", 1},   {"s8", 1},       {"s16", 2},           {"s32", 4},
    {"s64", 8},        {"u8", 1},     {"u16", 2},      {"u32", 4},           {"u64", 8},
    {"f16", 2},        {"f32", 4},    {"f64", 8},      {"bf16", 2},          {"c64", 8},
    {"c128", 16},      {"f8e5m2", 1}, {"f8e4m3fn", 1}, {"f8e4m3b11fnuz", 1}, {"f8e5m2fnuz", 1},
    {"f8e4m3fnuz", 1}, {"s4", 1},     {"u4", 1},       {"token", 0},         {"s2", 1},
    {"u2", 1},         {"f8e4m3", 1}, {"f8e3m4", 1},   {"f8e8m0fnu", 1},     {"f4e2m1fn", 1},
    {"s1", 1},         {"u1", 1},     {"f6e2m3fn", 1}, {"f6e3m2fn", 1}};
#define ELEMENTS (sizeof elements / sizeof *elements)

size_t tn_pjrt_element_size(PJRT_Buffer_Type type)
{
    return (size_t)type < ELEMENTS ? elements[type].size : 0;
}

const char *tn_pjrt_element_name(PJRT_Buffer_Type type)
{
    return (size_t)type < ELEMENTS ? elements[type].name : "?";
}

bool tn_host_data_span(PJRT_Buffer_Type type, const int64_t *dims, size_t n_dims,
                       const int64_t *strides, size_t n_strides, int64_t *first, size_t *length)
{
    int64_t width = (int64_t)tn_pjrt_element_size(type), low = 0, high = width, dense = width;
    *first = 0;
    *length = 0;
    if (n_dims > 64 || (n_dims && !dims)) return false;
    for (size_t i = 0; i < n_dims; i++)
        if (dims[i] <= 0) return dims[i] == 0;
    for (size_t i = n_dims; i--;) {
        int64_t reach, stride = strides && n_strides == n_dims ? strides[i] : dense;
        if (__builtin_mul_overflow(dims[i] - 1, stride, &reach)) return false;
        if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
        if (__builtin_mul_overflow(dense, dims[i], &dense)) return false;
    }
    *first = low;
    *length = (size_t)(high - low);
    return true;
}
