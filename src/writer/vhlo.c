/* SPDX-License-Identifier: Apache-2.0 */
/* VHLO's types and attributes by their codes. */
#include <string.h>

#include "writer/tables.h"

enum {
    ARRAY = 1,
    BOOLEAN = 2,
    DICTIONARY = 6,
    FLOAT = 8,
    INTEGER = 9,
    STRING = 14,
    TENSOR = 15,
    TYPE = 17,
    EXTENSIONS = 18
};

/* Codes of the types of elements; 0 is i1's own. */
static const uint8_t element_codes[TN_ELEMENT_TYPE_COUNT] = {[TN_BF16] = 2,
                                                             [TN_F16] = 3,
                                                             [TN_F32] = 4,
                                                             [TN_F64] = 5,
                                                             [TN_F8E4M3FN] = 6,
                                                             [TN_F8E5M2] = 7,
                                                             [TN_I4] = 10,
                                                             [TN_I8] = 11,
                                                             [TN_I16] = 12,
                                                             [TN_I32] = 13,
                                                             [TN_I64] = 14,
                                                             [TN_U4] = 15,
                                                             [TN_U8] = 16,
                                                             [TN_U16] = 17,
                                                             [TN_U32] = 18,
                                                             [TN_U64] = 19,
                                                             [TN_F8E4M3FNUZ] = 27,
                                                             [TN_F8E5M2FNUZ] = 28,
                                                             [TN_F8E4M3B11FNUZ] = 29,
                                                             [TN_I2] = 31,
                                                             [TN_U2] = 32,
                                                             [TN_F8E4M3] = 35,
                                                             [TN_F8E3M4] = 36,
                                                             [TN_F4E2M1FN] = 37,
                                                             [TN_F6E2M3FN] = 38,
                                                             [TN_F6E3M2FN] = 39,
                                                             [TN_F8E8M0FNU] = 40};

/* Bytes of one entry under way. */
static tn_bytes begin(tn_tables *t, uint64_t code)
{
    tn_bytes b = {.arena = t->arena};
    tn_bytes_varint(&b, code);
    return b;
}
static size_t end_type(tn_tables *t, const tn_bytes *b)
{
    return tn_intern_add(t, &t->types, TN_WRITE_VHLO, b->data, b->size);
}
static size_t end_attr(tn_tables *t, const tn_bytes *b)
{
    return tn_intern_add(t, &t->attrs, TN_WRITE_VHLO, b->data, b->size);
}

/* --- types --- */

tn_status *tn_write_element(tn_tables *t, tn_element_type e, size_t *out)
{
    tn_bytes b;
    size_t part;
    if (tn_is_complex(e)) {
        TN_TRY(tn_write_element(t, tn_real_type(e), &part));
        b = begin(t, 1);
        tn_bytes_varint(&b, part);
    } else if (e == TN_I1 || element_codes[e]) {
        b = begin(t, element_codes[e]);
    } else {
        return TN_ERROR(UNIMPLEMENTED, "element type %s has no VHLO form", tn_element_type_text(e));
    }
    *out = end_type(t, &b);
    return NULL;
}

static tn_status *write_float64(tn_bytes *b, double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tn_bytes_signed(b, bits);
    return NULL;
}

static tn_status *write_quantized(tn_tables *t, const tn_quantization *q, size_t *out)
{
    size_t storage, expressed;
    TN_TRY(tn_write_element(t, q->storage, &storage));
    TN_TRY(tn_write_element(t, q->expressed, &expressed));
    tn_bytes b = begin(t, q->axis < 0 ? 24 : 30);
    tn_bytes_varint(&b, tn_element_type_class(q->storage) == TN_CLASS_SINT); /* flags: signed */
    tn_bytes_varint(&b, storage);
    tn_bytes_varint(&b, expressed);
    if (q->axis < 0) {
        TN_TRY(write_float64(&b, q->scales[0]));
        tn_bytes_signed(&b, q->zero_points[0]);
        tn_bytes_signed(&b, q->min);
        tn_bytes_signed(&b, q->max);
    } else {
        tn_bytes_varint(&b, (uint64_t)q->axis);
        tn_bytes_signed(&b, q->min);
        tn_bytes_signed(&b, q->max);
        tn_bytes_varint(&b, q->n);
        for (uint32_t i = 0; i < q->n; i++) TN_TRY(write_float64(&b, q->scales[i]));
        tn_bytes_varint(&b, q->n);
        for (uint32_t i = 0; i < q->n; i++) tn_bytes_signed(&b, q->zero_points[i]);
    }
    *out = end_type(t, &b);
    return NULL;
}

static tn_status *write_tensor_type(tn_tables *t, const tn_type *type, size_t *out)
{
    size_t element, encoding = 0;
    if (type->quantization) TN_TRY(write_quantized(t, type->quantization, &element));
    else TN_TRY(tn_write_element(t, type->element, &element));
    if (type->bounds) {
        tn_bytes e = begin(t, EXTENSIONS);
        tn_bytes_varint(&e, type->rank);
        for (uint32_t i = 0; i < type->rank; i++) tn_bytes_signed(&e, type->bounds[i]);
        encoding = end_attr(t, &e);
    }
    tn_bytes b = begin(t, type->bounds ? 21 : 20);
    if (type->bounds) tn_bytes_varint(&b, encoding);
    tn_bytes_varint(&b, type->rank);
    for (uint32_t i = 0; i < type->rank; i++) tn_bytes_signed(&b, type->dims[i]);
    tn_bytes_varint(&b, element);
    *out = end_type(t, &b);
    return NULL;
}

/* A type made of lists of types: `inputs` of them in the first, the rest in a second where `two`.
 */
static tn_status *write_parts(tn_tables *t, uint64_t code, const tn_type *type, uint32_t inputs,
                              bool two, size_t *out)
{
    size_t *parts = TN_NEW_ARRAY(t->arena, size_t, type->n_parts);
    for (uint32_t i = 0; i < type->n_parts; i++)
        TN_TRY(tn_write_type(t, type->parts[i], &parts[i]));
    tn_bytes b = begin(t, code);
    tn_bytes_varint(&b, inputs);
    for (uint32_t i = 0; i < type->n_parts; i++) {
        if (two && i == inputs) tn_bytes_varint(&b, type->n_parts - inputs);
        tn_bytes_varint(&b, parts[i]);
    }
    if (two && inputs == type->n_parts) tn_bytes_varint(&b, 0);
    *out = end_type(t, &b);
    return NULL;
}

tn_status *tn_write_type(tn_tables *t, const tn_type *type, size_t *out)
{
    tn_bytes b;
    if (type->alias && !strcmp(type->alias, "tf32")) {
        b = begin(t, 34);
        *out = end_type(t, &b);
        return NULL;
    }
    switch (type->kind) {
    case TN_TYPE_TENSOR: return write_tensor_type(t, type, out);
    case TN_TYPE_TUPLE: return write_parts(t, 23, type, type->n_parts, false, out);
    case TN_TYPE_FUTURE: return write_parts(t, 42, type, type->n_parts, false, out);
    case TN_TYPE_FUNCTION: return write_parts(t, 8, type, type->n_inputs, true, out);
    case TN_TYPE_TOKEN: b = begin(t, 22); break;
    case TN_TYPE_NONE: b = begin(t, 33); break;
    case TN_TYPE_UNRANKED: return TN_ERROR(UNIMPLEMENTED, "unranked tensors are not written");
    }
    *out = end_type(t, &b);
    return NULL;
}

/* --- attributes --- */

tn_status *tn_write_type_attr(tn_tables *t, const tn_type *type, size_t *out)
{
    size_t index;
    TN_TRY(tn_write_type(t, type, &index));
    tn_bytes b = begin(t, TYPE);
    tn_bytes_varint(&b, index);
    *out = end_attr(t, &b);
    return NULL;
}

size_t tn_write_string_attr(tn_tables *t, const char *text, size_t size)
{
    size_t index = tn_write_string(t, text, size);
    tn_bytes b = begin(t, STRING);
    tn_bytes_varint(&b, index);
    return end_attr(t, &b);
}

size_t tn_write_array(tn_tables *t, const size_t *items, size_t n)
{
    tn_bytes b = begin(t, ARRAY);
    tn_bytes_varint(&b, n);
    for (size_t i = 0; i < n; i++) tn_bytes_varint(&b, items[i]);
    return end_attr(t, &b);
}

static tn_status *write_tensor(tn_tables *t, const tn_type *type, const void *data, size_t size,
                               size_t *out)
{
    size_t index;
    TN_TRY(tn_write_type(t, type, &index));
    tn_bytes b = begin(t, TENSOR);
    tn_bytes_varint(&b, index);
    tn_bytes_varint(&b, size);
    tn_bytes_put(&b, data, size);
    *out = end_attr(t, &b);
    return NULL;
}

/* Booleans are packed eight to a byte from the lowest bit up; a splat is one byte of all or no
 * ones. */
static tn_status *write_bools(tn_tables *t, const tn_type *type, const uint8_t *data, size_t n,
                              bool splat, size_t *out)
{
    if (splat) return write_tensor(t, type, data[0] ? "\xff" : "\0", 1, out);
    uint8_t *packed = tn_alloc(t->arena, n / 8 + 1);
    for (size_t i = 0; i < n; i++) packed[i / 8] |= (uint8_t)((data[i] & 1) << (i % 8));
    return write_tensor(t, type, packed, (n + 7) / 8, out);
}

static tn_status *write_literal(tn_tables *t, const tn_literal *l, size_t *out)
{
    if (l->type->element == TN_I1) return write_bools(t, l->type, l->data, l->size, l->splat, out);
    unsigned bits = tn_element_type_bits(l->type->element);
    if (bits >= 8) return write_tensor(t, l->type, l->data, l->size, out);
    uint8_t *masked = tn_dup(t->arena, l->data, l->size);
    for (size_t i = 0; i < l->size; i++) masked[i] &= (uint8_t)((1u << bits) - 1);
    return write_tensor(t, l->type, masked, l->size, out);
}

/* columns: of a matrix without rows, whose width its values do not tell; 0 for a list. */
static tn_status *write_ints(tn_tables *t, const tn_attr *a, int64_t columns, size_t *out)
{
    int64_t rows = a->ints.rows, dims[2] = {a->ints.n, 0};
    uint32_t rank = 1;
    if (columns) {
        rank = 2;
        dims[0] = a->ints.n ? rows : 0;
        dims[1] = a->ints.n ? (int64_t)a->ints.n / rows : columns;
    }
    return write_tensor(t, tn_type_tensor(t->arena, TN_I64, rank, dims), a->ints.data,
                        a->ints.n * sizeof(int64_t), out);
}

static tn_status *write_integer(tn_tables *t, const tn_attr *a, size_t *out)
{
    tn_element_type e = a->type && a->type->kind == TN_TYPE_TENSOR ? a->type->element : TN_I64;
    size_t type;
    TN_TRY(tn_write_element(t, e, &type));
    tn_bytes b = begin(t, INTEGER);
    tn_bytes_varint(&b, type);
    unsigned bits = tn_element_type_bits(e);
    if (bits <= 8)
        tn_bytes_byte(&b, (uint8_t)(bits == 8 ? a->integer : a->integer & ((1 << bits) - 1)));
    else
        tn_bytes_signed(&b, bits == 64
                                ? a->integer
                                : (int64_t)((uint64_t)a->integer << (64 - bits)) >> (64 - bits));
    *out = end_attr(t, &b);
    return NULL;
}

static tn_status *write_float(tn_tables *t, const tn_attr *a, size_t *out)
{
    bool wide = a->type && a->type->kind == TN_TYPE_TENSOR && a->type->element == TN_F64;
    if (!wide && a->type && a->type->kind == TN_TYPE_TENSOR && a->type->element != TN_F32)
        return TN_ERROR(UNIMPLEMENTED, "a float attribute of %s is not written",
                        tn_element_type_text(a->type->element));
    size_t type;
    TN_TRY(tn_write_element(t, wide ? TN_F64 : TN_F32, &type));
    tn_bytes b = begin(t, FLOAT);
    tn_bytes_varint(&b, type);
    float single = (float)a->real;
    int32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (wide) TN_TRY(write_float64(&b, a->real));
    else tn_bytes_signed(&b, bits);
    *out = end_attr(t, &b);
    return NULL;
}

static tn_status *write_dict(tn_tables *t, const tn_attr *a, size_t *out)
{
    size_t *values = TN_NEW_ARRAY(t->arena, size_t, a->dict.n);
    for (uint32_t i = 0; i < a->dict.n; i++)
        TN_TRY(tn_write_attr(t, a->dict.pairs[i].value, &values[i]));
    size_t *keys = TN_NEW_ARRAY(t->arena, size_t, a->dict.n);
    for (uint32_t i = 0; i < a->dict.n; i++)
        keys[i] = tn_write_string_attr(t, a->dict.pairs[i].key, strlen(a->dict.pairs[i].key));
    tn_bytes b = begin(t, DICTIONARY);
    tn_bytes_varint(&b, a->dict.n);
    for (uint32_t i = 0; i < a->dict.n; i++) {
        tn_bytes_varint(&b, keys[i]);
        tn_bytes_varint(&b, values[i]);
    }
    *out = end_attr(t, &b);
    return NULL;
}

static size_t write_enum(tn_tables *t, uint64_t code, int64_t value)
{
    tn_bytes b = begin(t, code);
    tn_bytes_varint(&b, (uint64_t)value);
    return end_attr(t, &b);
}

/* Nodes that the reader leaves with a tag. */
static tn_status *write_node(tn_tables *t, const tn_attr *a, size_t *out)
{
    static const struct {
        const char *tag;
        uint64_t code;
    } enums[] = {{"comparison_direction", 3}, {"comparison_type", 4},
                 {"api_version", 5},          {"fft_type", 7},
                 {"precision", 11},           {"rng_algorithm", 12},
                 {"transpose", 16},           {"result_accuracy_mode", 19}};
    const tn_attr *const *item = a->list.items;
    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++) {
        if (strcmp(a->list.tag, enums[i].tag) || a->list.n != 1) continue;
        *out = write_enum(t, enums[i].code, item[0]->integer);
        return NULL;
    }
    if (!strcmp(a->list.tag, "result_accuracy") && a->list.n == 4) {
        size_t mode =
            write_enum(t, 19,
                       item[3]->kind == TN_ATTR_KIND_LIST ? item[3]->list.items[0]->integer
                                                          : item[3]->integer);
        tn_bytes b = begin(t, 20);
        TN_TRY(write_float64(&b, item[0]->real));
        TN_TRY(write_float64(&b, item[1]->real));
        tn_bytes_signed(&b, item[2]->integer);
        tn_bytes_varint(&b, mode);
        *out = end_attr(t, &b);
        return NULL;
    }
    if (!strcmp(a->list.tag, "output_operand_alias") && a->list.n == 3) {
        tn_bytes b = begin(t, 10);
        tn_bytes_varint(&b, item[0]->ints.n);
        for (uint32_t i = 0; i < item[0]->ints.n; i++) tn_bytes_signed(&b, item[0]->ints.data[i]);
        tn_bytes_signed(&b, item[1]->integer);
        tn_bytes_varint(&b, item[2]->ints.n);
        for (uint32_t i = 0; i < item[2]->ints.n; i++) tn_bytes_signed(&b, item[2]->ints.data[i]);
        *out = end_attr(t, &b);
        return NULL;
    }
    return TN_ERROR(UNIMPLEMENTED, "attribute %s has no VHLO form", a->list.tag);
}

tn_status *tn_write_attr(tn_tables *t, const tn_attr *a, size_t *out)
{
    tn_bytes b;
    switch (a->kind) {
    case TN_ATTR_KIND_BOOL:
        b = begin(t, BOOLEAN);
        tn_bytes_varint(&b, a->boolean);
        *out = end_attr(t, &b);
        return NULL;
    case TN_ATTR_KIND_INT: return write_integer(t, a, out);
    case TN_ATTR_KIND_FLOAT: return write_float(t, a, out);
    case TN_ATTR_KIND_STRING:
        *out = tn_write_string_attr(t, a->string.data, a->string.size);
        return NULL;
    case TN_ATTR_KIND_INTS: return write_ints(t, a, 0, out);
    case TN_ATTR_KIND_BOOLS:
        return write_bools(t, tn_type_tensor(t->arena, TN_I1, 1, (int64_t[]){a->bools.n}),
                           (const uint8_t *)a->bools.data, a->bools.n, false, out);
    case TN_ATTR_KIND_TENSOR: return write_literal(t, &a->tensor, out);
    case TN_ATTR_KIND_TYPE: return tn_write_type_attr(t, a->type, out);
    case TN_ATTR_KIND_DICT: return write_dict(t, a, out);
    case TN_ATTR_KIND_UNIT: return TN_ERROR(UNIMPLEMENTED, "a unit attribute has no VHLO form");
    case TN_ATTR_KIND_LIST: break;
    }
    if (a->list.tag) return write_node(t, a, out);
    size_t *items = TN_NEW_ARRAY(t->arena, size_t, a->list.n);
    for (uint32_t i = 0; i < a->list.n; i++) TN_TRY(tn_write_attr(t, a->list.items[i], &items[i]));
    *out = tn_write_array(t, items, a->list.n);
    return NULL;
}

/* --- attributes of ops --- */

/* Code of the enumeration that an attribute is, or 0. */
static uint64_t enum_code(tn_attr_name name)
{
    switch (name) {
    case TN_ATTR_comparison_direction: return 3;
    case TN_ATTR_compare_type: return 4;
    case TN_ATTR_api_version: return 5;
    case TN_ATTR_fft_type: return 7;
    case TN_ATTR_rng_algorithm: return 12;
    case TN_ATTR_rng_distribution: return 13;
    case TN_ATTR_transpose_a: return 16;
    default: return 0;
    }
}

static tn_status *write_absent(tn_tables *t, tn_attr_name name, size_t *out)
{
    static const tn_attr zero = {.kind = TN_ATTR_KIND_INT}, no = {.kind = TN_ATTR_KIND_BOOL},
                         nothing = {.kind = TN_ATTR_KIND_LIST},
                         empty = {.kind = TN_ATTR_KIND_STRING, .string = {.data = ""}},
                         no_ints = {.kind = TN_ATTR_KIND_INTS, .ints = {.rows = 1}},
                         no_dict = {.kind = TN_ATTR_KIND_DICT},
                         exact = {.kind = TN_ATTR_KIND_FLOAT};
    static const tn_attr *const accuracy_items[] = {&exact, &exact, &zero, &zero};
    static const tn_attr accuracy = {
        .kind = TN_ATTR_KIND_LIST,
        .list = {.tag = "result_accuracy", .items = accuracy_items, .n = 4}};
    static const tn_type none = {.kind = TN_TYPE_NONE};
    switch (name) {
    case TN_ATTR_accumulation_type:
    case TN_ATTR_allow_imprecise_accumulation:
    case TN_ATTR_lhs_component_count:
    case TN_ATTR_lhs_precision_type:
    case TN_ATTR_num_primitive_operations:
    case TN_ATTR_rhs_component_count:
    case TN_ATTR_rhs_precision_type: return tn_write_type_attr(t, &none, out);
    case TN_ATTR_compare_type: *out = write_enum(t, 4, TN_comparison_type_NOTYPE); return NULL;
    case TN_ATTR_api_version: *out = write_enum(t, 5, TN_api_version_ORIGINAL); return NULL;
    case TN_ATTR_result_accuracy: return tn_write_attr(t, &accuracy, out);
    case TN_ATTR_backend_config: return tn_write_attr(t, &empty, out);
    case TN_ATTR_composite_attributes: return tn_write_attr(t, &no_dict, out);
    case TN_ATTR_channel_id:
    case TN_ATTR_version: return tn_write_attr(t, &zero, out);
    case TN_ATTR_known_expanding_dimensions:
    case TN_ATTR_known_nonexpanding_dimensions: return tn_write_attr(t, &no_ints, out);
    case TN_ATTR_has_dynamic_root:
    case TN_ATTR_has_side_effect:
    case TN_ATTR_indices_are_sorted:
    case TN_ATTR_is_stable:
    case TN_ATTR_unique_indices:
    case TN_ATTR_use_global_device_ids: return tn_write_attr(t, &no, out);
    default: return tn_write_attr(t, &nothing, out);
    }
}

/* custom_call's layouts are tensors of index, which is a code of its own. */
static tn_status *write_layouts(tn_tables *t, const tn_attr *a, size_t *out)
{
    size_t *items = TN_NEW_ARRAY(t->arena, size_t, a->list.n);
    tn_bytes index = begin(t, 9);
    size_t element = end_type(t, &index);
    for (uint32_t i = 0; i < a->list.n; i++) {
        const tn_attr *layout = a->list.items[i];
        if (layout->kind != TN_ATTR_KIND_INTS && layout->kind != TN_ATTR_KIND_TENSOR)
            return TN_ERROR(UNIMPLEMENTED, "a layout of this form is not written");
        bool ints = layout->kind == TN_ATTR_KIND_INTS;
        size_t size = ints ? layout->ints.n * sizeof(int64_t) : layout->tensor.size;
        tn_bytes type = begin(t, 20);
        tn_bytes_varint(&type, 1);
        tn_bytes_signed(&type, (int64_t)(size / sizeof(int64_t)));
        tn_bytes_varint(&type, element);
        size_t type_index = end_type(t, &type);
        tn_bytes b = begin(t, TENSOR);
        tn_bytes_varint(&b, type_index);
        tn_bytes_varint(&b, size);
        tn_bytes_put(&b, ints ? (const void *)layout->ints.data : layout->tensor.data, size);
        items[i] = end_attr(t, &b);
    }
    *out = tn_write_array(t, items, a->list.n);
    return NULL;
}

/* A list of enumerators, which the IR keeps as plain numbers. */
static size_t write_precisions(tn_tables *t, const tn_attr *a)
{
    size_t *items = TN_NEW_ARRAY(t->arena, size_t, a->list.n);
    for (uint32_t i = 0; i < a->list.n; i++) {
        const tn_attr *item = a->list.items[i];
        items[i] = write_enum(
            t, 11, item->kind == TN_ATTR_KIND_LIST ? item->list.items[0]->integer : item->integer);
    }
    return tn_write_array(t, items, a->list.n);
}

tn_status *tn_write_inherent(tn_tables *t, tn_attr_name name, const tn_attr *a, size_t *out)
{
    if (!a) return write_absent(t, name, out);
    if (enum_code(name)) {
        *out = write_enum(t, enum_code(name), a->integer);
        return NULL;
    }
    switch (name) {
    case TN_ATTR_padding:
    case TN_ATTR_source_target_pairs: return write_ints(t, a, 2, out);
    case TN_ATTR_precision_config: *out = write_precisions(t, a); return NULL;
    case TN_ATTR_replica_groups: return write_ints(t, a, 1, out);
    case TN_ATTR_operand_layouts:
    case TN_ATTR_result_layouts: return write_layouts(t, a, out);
    default: return tn_write_attr(t, a, out);
    }
}

/* --- builtin: what stands around VHLO --- */

size_t tn_write_builtin_string(tn_tables *t, const char *text)
{
    size_t index = tn_write_string(t, text, strlen(text));
    tn_bytes b = begin(t, 2);
    tn_bytes_varint(&b, index);
    return tn_intern_add(t, &t->attrs, TN_WRITE_BUILTIN, b.data, b.size);
}

size_t tn_write_unknown_location(tn_tables *t)
{
    tn_bytes b = begin(t, 15);
    return tn_intern_add(t, &t->attrs, TN_WRITE_BUILTIN, b.data, b.size);
}
