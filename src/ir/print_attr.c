/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/print_attr.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Constants with more elements than this are printed as their bytes. */
enum { LARGEST_LIST = 64 };

/* --- constants --- */

static void print_hex(tn_text *t, const tn_literal *v)
{
    static const char digits[] = "0123456789ABCDEF";
    const uint8_t *data = v->data;
    /* Types narrower than a byte are sign extended in memory and not in the text. */
    unsigned bits = tn_element_type_bits(v->type->element);
    uint8_t mask = bits < 8 ? (uint8_t)((1u << bits) - 1) : 0xFF;
    tn_text_put(t, "\"0x");
    for (size_t i = 0; i < v->size; i++) {
        char pair[2] = {digits[(data[i] & mask) >> 4], digits[data[i] & mask & 15]};
        tn_text_add(t, pair, 2);
    }
    tn_text_put(t, "\"");
}

static const uint8_t *print_nested(tn_text *t, const tn_type *type, uint32_t dim,
                                   const uint8_t *data)
{
    if (dim == type->rank) {
        tn_text_element(t, type->element, data);
        return data + tn_element_type_bytes(type->element);
    }
    tn_text_put(t, "[");
    for (int64_t i = 0; i < type->dims[dim]; i++) {
        if (i) tn_text_put(t, ", ");
        data = print_nested(t, type, dim + 1, data);
    }
    tn_text_put(t, "]");
    return data;
}

void tn_print_literal(tn_text *t, const tn_literal *v)
{
    tn_type type = *v->type;
    type.quantization = NULL; /* constants hold stored values */
    int64_t n = tn_type_elements(&type);
    tn_text_put(t, "dense<");
    if (n > LARGEST_LIST && !v->splat) print_hex(t, v);
    else if (v->splat) tn_text_element(t, type.element, v->data);
    else if (n > 0) print_nested(t, &type, 0, v->data);
    tn_text_put(t, "> : ");
    tn_text_type(t, &type);
}

void tn_print_dense_ints(tn_text *t, const tn_attr *v, uint32_t least, const char *element)
{
    uint32_t rows = v->ints.rows, n = v->ints.n, columns = rows && n ? n / rows : least;
    bool two_dimensional = least != TN_PRINT_LIST;
    if (!n) rows = 0;
    tn_text_put(t, "dense<");
    if (n && !two_dimensional) {
        tn_text_numbers(t, v->ints.data, n);
    } else if (n) {
        for (uint32_t i = 0; i < rows; i++) {
            tn_text_put(t, i ? ", " : "[");
            tn_text_numbers(t, v->ints.data + (size_t)i * columns, columns);
        }
        tn_text_put(t, "]");
    }
    tn_text_put(t, "> : tensor<");
    if (two_dimensional) tn_text_put(t, "%" PRIu32 "x%" PRIu32 "x%s>", rows, columns, element);
    else tn_text_put(t, "%" PRIu32 "x%s>", n, element);
}

/* --- enumerations --- */

void tn_print_enum(tn_text *t, const char *table, int64_t value)
{
    static const struct {
        const char *table;
        int64_t value;
        const char *text;
    } names[] = {
#define X(table, value, name, text) {#table, value, text},
#include "ir/enums.def"
#undef X
        {"precision", 0, "DEFAULT"},
        {"precision", 1, "HIGH"},
        {"precision", 2, "HIGHEST"},
        {"result_accuracy_mode", 0, "DEFAULT"},
        {"result_accuracy_mode", 1, "HIGHEST"},
        {"result_accuracy_mode", 2, "TOLERANCE"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].table, table) && names[i].value == value) {
            tn_text_put(t, "#stablehlo<%s %s>", table, names[i].text);
            return;
        }
    tn_text_put(t, "#stablehlo<%s %" PRId64 ">", table, value);
}

/* --- attributes --- */

static void print_number_type(tn_text *t, const tn_type *type, const char *otherwise)
{
    tn_text_put(t, " : %s", type ? tn_element_type_text(type->element) : otherwise);
}

static void print_float(tn_text *t, const tn_attr *v)
{
    tn_element_type e = v->type ? v->type->element : TN_F64;
    if (isfinite(v->real)) {
        tn_text_float(t, e, v->real);
    } else {
        /* Only the wide types are printed as they were; they are the ones that come. */
        float single = (float)v->real;
        if (e == TN_F64) tn_text_element(t, e, &v->real);
        else tn_text_element(t, TN_F32, &single);
        if (e != TN_F64) e = TN_F32;
    }
    tn_text_put(t, " : %s", tn_element_type_text(e));
}

static void print_list(tn_text *t, const tn_attr *v)
{
    tn_text_put(t, "[");
    for (uint32_t i = 0; i < v->list.n; i++) {
        if (i) tn_text_put(t, ", ");
        tn_print_attr(t, v->list.items[i]);
    }
    tn_text_put(t, "]");
}

static void print_node(tn_text *t, const tn_attr *v)
{
    if (!strncmp(v->list.tag, "sdy.", 4) && tn_print_sdy(t, v)) return;
    if (v->list.n == 1 && v->list.items[0]->kind == TN_ATTR_KIND_INT) {
        tn_print_enum(t, v->list.tag, v->list.items[0]->integer);
        return;
    }
    /* No syntax of its own: a dictionary keeps it readable. */
    tn_text_put(t, "{tag = \"%s\", items = ", v->list.tag);
    print_list(t, v);
    tn_text_put(t, "}");
}

static void print_bools(tn_text *t, const tn_attr *v)
{
    tn_text_put(t, "array<i1%s", v->bools.n ? ": " : "");
    for (uint32_t i = 0; i < v->bools.n; i++)
        tn_text_put(t, "%s%s", i ? ", " : "", v->bools.data[i] ? "true" : "false");
    tn_text_put(t, ">");
}

static void print_ints(tn_text *t, const tn_attr *v)
{
    tn_text_put(t, "array<i64%s", v->ints.n ? ": " : "");
    for (uint32_t i = 0; i < v->ints.n; i++)
        tn_text_put(t, "%s%" PRId64, i ? ", " : "", v->ints.data[i]);
    tn_text_put(t, ">");
}

void tn_print_attr(tn_text *t, const tn_attr *v)
{
    switch (v->kind) {
    case TN_ATTR_KIND_BOOL: tn_text_put(t, "%s", v->boolean ? "true" : "false"); return;
    case TN_ATTR_KIND_INT:
        if (v->type && tn_element_type_class(v->type->element) == TN_CLASS_UINT)
            tn_text_put(t, "%" PRIu64, (uint64_t)v->integer);
        else tn_text_put(t, "%" PRId64, v->integer);
        print_number_type(t, v->type, "i64");
        return;
    case TN_ATTR_KIND_FLOAT: print_float(t, v); return;
    case TN_ATTR_KIND_STRING: tn_text_string(t, v->string.data, v->string.size); return;
    case TN_ATTR_KIND_INTS: print_ints(t, v); return;
    case TN_ATTR_KIND_BOOLS: print_bools(t, v); return;
    case TN_ATTR_KIND_TENSOR: tn_print_literal(t, &v->tensor); return;
    case TN_ATTR_KIND_TYPE:
        /* A type of rank 0 stands for its element: tensors do not occur as attributes. */
        if (v->type->kind == TN_TYPE_TENSOR && !v->type->rank && !v->type->quantization)
            tn_text_put(t, "%s",
                        v->type->alias ? v->type->alias : tn_element_type_text(v->type->element));
        else tn_text_type(t, v->type);
        return;
    case TN_ATTR_KIND_LIST:
        if (v->list.tag) print_node(t, v);
        else print_list(t, v);
        return;
    case TN_ATTR_KIND_DICT: tn_print_dict(t, v->dict.pairs, v->dict.n); return;
    case TN_ATTR_KIND_UNIT: tn_text_put(t, "unit"); return;
    }
}

void tn_print_dict(tn_text *t, const tn_named_attr *pairs, uint32_t n)
{
    tn_text_put(t, "{");
    for (uint32_t i = 0; i < n; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_word(t, pairs[i].key);
        if (pairs[i].value->kind == TN_ATTR_KIND_UNIT) continue;
        tn_text_put(t, " = ");
        tn_print_attr(t, pairs[i].value);
    }
    tn_text_put(t, "}");
}
