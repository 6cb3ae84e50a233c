/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/attrs.h"

#include <stdlib.h>
#include <string.h>

XLA_FFI_DataType tn_ffi_type(tn_element_type e)
{
#define SAME(name)                                                                                 \
    case TN_##name: return XLA_FFI_DataType_##name
    switch (e) {
    case TN_I1: return XLA_FFI_DataType_PRED;
    case TN_I2: return XLA_FFI_DataType_S2;
    case TN_I4: return XLA_FFI_DataType_S4;
    case TN_I8: return XLA_FFI_DataType_S8;
    case TN_I16: return XLA_FFI_DataType_S16;
    case TN_I32: return XLA_FFI_DataType_S32;
    case TN_I64:
        return XLA_FFI_DataType_S64;
        SAME(U2);
        SAME(U4);
        SAME(U8);
        SAME(U16);
        SAME(U32);
        SAME(U64);
        SAME(F16);
        SAME(F32);
        SAME(F64);
        SAME(BF16);
        SAME(C64);
        SAME(C128);
        SAME(TOKEN);
        SAME(F8E5M2);
        SAME(F8E4M3FN);
        SAME(F8E4M3B11FNUZ);
        SAME(F8E5M2FNUZ);
        SAME(F8E4M3FNUZ);
        SAME(F8E4M3);
        SAME(F8E3M4);
        SAME(F8E8M0FNU);
        SAME(F4E2M1FN);
    default: return XLA_FFI_DataType_INVALID;
    }
#undef SAME
}

typedef struct {
    const tn_op *op;
    tn_arena *arena;
} maker;

static tn_element_type element_of(const tn_attr *v, tn_element_type otherwise)
{
    return v->type && v->type->element != TN_INVALID ? v->type->element : otherwise;
}

/* `n` integers or floats of element type `e`, from the wide form of an attribute. */
static void narrow(tn_element_type e, const int64_t *wide, uint32_t n, void *out)
{
    for (uint32_t i = 0; i < n; i++) switch (tn_element_type_bytes(e)) {
        case 1: ((int8_t *)out)[i] = (int8_t)wide[i]; break;
        case 2: ((int16_t *)out)[i] = (int16_t)wide[i]; break;
        case 4: ((int32_t *)out)[i] = (int32_t)wide[i]; break;
        default: ((int64_t *)out)[i] = wide[i]; break;
        }
}

static void *scalar(const maker *m, tn_element_type e, const void *value, size_t size)
{
    XLA_FFI_Scalar *s = TN_NEW(m->arena, XLA_FFI_Scalar);
    *s = (XLA_FFI_Scalar){tn_ffi_type(e), tn_dup(m->arena, value, size)};
    return s;
}

static void *array(const maker *m, tn_element_type e, size_t n, void *data)
{
    XLA_FFI_Array *x = TN_NEW(m->arena, XLA_FFI_Array);
    *x = (XLA_FFI_Array){tn_ffi_type(e), n, data};
    return x;
}

static void *tensor(const maker *m, const tn_literal *t)
{
    size_t n = (size_t)tn_type_elements(t->type), unit = tn_element_type_bytes(t->type->element);
    char *data = tn_alloc(m->arena, n * unit + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(data + i * unit, (const char *)t->data + (t->splat ? 0 : i * unit), unit);
    return array(m, t->type->element, n, data);
}

static tn_status *make_dict(const maker *m, const tn_named_attr *pairs, uint32_t n,
                            XLA_FFI_Attrs *out);

static tn_status *no_form(const maker *m, const char *name, const char *what)
{
    return TN_OP_ERROR(UNIMPLEMENTED, m->op, "attribute \"%s\", %s, has no form in the FFI", name,
                       what);
}

/* Numbers of one kind become an array. */
static tn_status *make_list(const maker *m, const char *name, const tn_attr *v, void **out)
{
    uint32_t n = v->list.n;
    const tn_attr *first = n ? v->list.items[0] : NULL;
    bool floats = first && first->kind == TN_ATTR_KIND_FLOAT;
    tn_element_type e = !first ? TN_I64 : element_of(first, floats ? TN_F64 : TN_I64);
    if (first && first->kind == TN_ATTR_KIND_BOOL) e = TN_I1;
    if (floats && e != TN_F32 && e != TN_F64) return no_form(m, name, "a list of narrow floats");
    char *data = tn_alloc(m->arena, (size_t)n * 8 + 1);
    for (uint32_t i = 0; i < n; i++) {
        const tn_attr *x = v->list.items[i];
        if (x->kind != first->kind) return no_form(m, name, "a list of mixed values");
        if (x->kind == TN_ATTR_KIND_INT) {
            narrow(e, &x->integer, 1, data + i * tn_element_type_bytes(e));
        } else if (x->kind == TN_ATTR_KIND_BOOL) {
            data[i] = x->boolean;
        } else if (floats && e == TN_F32) {
            ((float *)data)[i] = (float)x->real;
        } else if (floats) {
            ((double *)data)[i] = x->real;
        } else {
            return no_form(m, name, "a list of other things than numbers");
        }
    }
    *out = array(m, e, n, data);
    return NULL;
}

static uint16_t half_bits(double v, tn_element_type e)
{
    if (e == TN_F16) {
        _Float16 h = (_Float16)v;
        uint16_t bits;
        memcpy(&bits, &h, sizeof bits);
        return bits;
    }
    float f = (float)v; /* the value is a bf16 already: its low bits are 0 */
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static tn_status *make_float(const maker *m, const char *name, const tn_attr *v, void **out)
{
    tn_element_type e = element_of(v, TN_F64);
    float f = (float)v->real;
    uint16_t h;
    switch (e) {
    case TN_F64: *out = scalar(m, e, &v->real, 8); return NULL;
    case TN_F32: *out = scalar(m, e, &f, 4); return NULL;
    case TN_F16:
    case TN_BF16:
        h = half_bits(v->real, e);
        *out = scalar(m, e, &h, 2);
        return NULL;
    default: return no_form(m, name, "a float of eight bits or less");
    }
}

static tn_status *make_value(const maker *m, const char *name, const tn_attr *v,
                             XLA_FFI_AttrType *type, void **out)
{
    *type = XLA_FFI_AttrType_SCALAR;
    switch (v->kind) {
    case TN_ATTR_KIND_BOOL: *out = scalar(m, TN_I1, &(uint8_t){v->boolean}, 1); return NULL;
    case TN_ATTR_KIND_INT: {
        tn_element_type e = element_of(v, TN_I64);
        uint64_t low;
        narrow(e, &v->integer, 1, &low);
        *out = scalar(m, e, &low, sizeof low);
        return NULL;
    }
    case TN_ATTR_KIND_FLOAT: return make_float(m, name, v, out);
    case TN_ATTR_KIND_STRING: {
        *type = XLA_FFI_AttrType_STRING;
        XLA_FFI_ByteSpan *s = TN_NEW(m->arena, XLA_FFI_ByteSpan);
        *s = (XLA_FFI_ByteSpan){v->string.data, v->string.size};
        *out = s;
        return NULL;
    }
    case TN_ATTR_KIND_INTS: {
        *type = XLA_FFI_AttrType_ARRAY;
        tn_element_type e = element_of(v, TN_I64);
        void *data = tn_alloc(m->arena, (size_t)v->ints.n * 8 + 1);
        narrow(e, v->ints.data, v->ints.n, data);
        *out = array(m, e, v->ints.n, data);
        return NULL;
    }
    case TN_ATTR_KIND_BOOLS:
        *type = XLA_FFI_AttrType_ARRAY;
        *out = array(m, TN_I1, v->bools.n, (void *)v->bools.data);
        return NULL;
    case TN_ATTR_KIND_TENSOR:
        *type = XLA_FFI_AttrType_ARRAY;
        *out = tensor(m, &v->tensor);
        return NULL;
    case TN_ATTR_KIND_LIST: *type = XLA_FFI_AttrType_ARRAY; return make_list(m, name, v, out);
    case TN_ATTR_KIND_DICT: {
        *type = XLA_FFI_AttrType_DICTIONARY;
        XLA_FFI_Attrs *d = TN_NEW(m->arena, XLA_FFI_Attrs);
        *out = d;
        return make_dict(m, v->dict.pairs, v->dict.n, d);
    }
    case TN_ATTR_KIND_TYPE: return no_form(m, name, "a type");
    case TN_ATTR_KIND_UNIT: break;
    }
    return no_form(m, name, "a unit attribute");
}

static int by_key(const void *x, const void *y)
{
    return strcmp(((const tn_named_attr *)x)->key, ((const tn_named_attr *)y)->key);
}

static tn_status *make_dict(const maker *m, const tn_named_attr *pairs, uint32_t n,
                            XLA_FFI_Attrs *out)
{
    tn_arena *a = m->arena;
    tn_named_attr *sorted = TN_NEW_ARRAY(a, tn_named_attr, n + 1);
    if (n) memcpy(sorted, pairs, n * sizeof *pairs);
    qsort(sorted, n, sizeof *sorted, by_key);
    *out = (XLA_FFI_Attrs){.struct_size = XLA_FFI_Attrs_STRUCT_SIZE,
                           .size = n,
                           .types = TN_NEW_ARRAY(a, XLA_FFI_AttrType, n + 1),
                           .names = TN_NEW_ARRAY(a, XLA_FFI_ByteSpan *, n + 1),
                           .attrs = TN_NEW_ARRAY(a, void *, n + 1)};
    for (uint32_t i = 0; i < n; i++) {
        out->names[i] = TN_NEW(a, XLA_FFI_ByteSpan);
        *out->names[i] = (XLA_FFI_ByteSpan){sorted[i].key, strlen(sorted[i].key)};
        TN_TRY(make_value(m, sorted[i].key, sorted[i].value, &out->types[i], &out->attrs[i]));
    }
    return NULL;
}

tn_status *tn_ffi_attrs(const tn_op *op, const tn_attr *dict, tn_arena *a, XLA_FFI_Attrs *out)
{
    const maker m = {op, a};
    bool given = dict && dict->kind == TN_ATTR_KIND_DICT;
    return make_dict(&m, given ? dict->dict.pairs : NULL, given ? dict->dict.n : 0, out);
}
