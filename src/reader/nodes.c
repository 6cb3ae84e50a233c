/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the common shapes of attribute entries into nodes. */
#include <inttypes.h>
#include <string.h>

#include "reader/entries.h"
#include "type/float_bits.h"

tn_attr *tn_entry_node_new(tn_bytecode *b, tn_attr_kind kind)
{
    tn_attr *v = &TN_NEW(b->arena, tn_entry_node)->attr;
    v->kind = kind;
    return v;
}

tn_attr *tn_entry_int(tn_bytecode *b, int64_t v)
{
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_INT);
    x->integer = v;
    return x;
}

tn_attr *tn_entry_list(tn_bytecode *b, const char *tag, size_t n, const tn_attr ***items)
{
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_LIST);
    *items = TN_NEW_ARRAY(b->arena, const tn_attr *, n);
    x->list.tag = tag;
    x->list.items = *items;
    x->list.n = (uint32_t)n;
    return x;
}

tn_status *tn_entry_read_array(tn_bytecode *b, tn_cursor *c, const char *tag, const tn_attr **out)
{
    const tn_attr **items;
    size_t n = tn_cursor_count(c);
    *out = tn_entry_list(b, tag, n, &items);
    for (size_t i = 0; i < n; i++) TN_TRY(tn_entry_read_attr(b, c, &items[i]));
    return tn_cursor_check(c);
}

tn_status *tn_entry_read_dict(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    size_t n = tn_cursor_count(c);
    tn_named_attr *pairs = TN_NEW_ARRAY(b->arena, tn_named_attr, n);
    for (size_t i = 0; i < n; i++) {
        const tn_attr *key;
        TN_TRY(tn_entry_read_attr(b, c, &key));
        if (key->kind != TN_ATTR_KIND_STRING || strlen(key->string.data) != key->string.size)
            return tn_cursor_error(c, "the key of a dictionary should be a string without zeros");
        pairs[i].key = key->string.data;
        TN_TRY(tn_entry_read_attr(b, c, &pairs[i].value));
    }
    TN_TRY(tn_cursor_check(c));
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_DICT);
    x->dict.pairs = pairs;
    x->dict.n = (uint32_t)n;
    *out = x;
    return NULL;
}

tn_status *tn_entry_read_string(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    tn_bytecode_string text;
    TN_TRY(tn_bytecode_read_string(b, c, &text));
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_STRING);
    x->string.data = text.data;
    x->string.size = text.size;
    *out = x;
    return NULL;
}

tn_status *tn_entry_read_type_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_TYPE);
    *out = x;
    return tn_entry_read_type(b, c, &x->type);
}

tn_status *tn_entry_read_tensor(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    const tn_type *type;
    TN_TRY(tn_entry_read_type(b, c, &type));
    uint64_t size = tn_cursor_varint(c);
    const uint8_t *data = tn_cursor_bytes(c, size);
    TN_TRY(tn_cursor_check(c));
    return tn_entry_dense(b, c, type, data, size, out);
}

tn_status *tn_entry_read_integer(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    const tn_type *type;
    TN_TRY(tn_entry_read_scalar(b, c, &type));
    tn_element_class class = tn_element_type_class(type->element);
    unsigned width = tn_element_type_bits(type->element);
    if (class != TN_CLASS_BOOL && class != TN_CLASS_SINT && class != TN_CLASS_UINT)
        return tn_cursor_error(c, "an integer of type %s", tn_element_type_text(type->element));
    uint64_t bits = tn_cursor_apint(c, width);
    tn_attr *x;
    if (class == TN_CLASS_BOOL) {
        x = tn_entry_node_new(b, TN_ATTR_KIND_BOOL);
        x->boolean = bits & 1;
    } else {
        uint64_t sign = class == TN_CLASS_SINT ? UINT64_C(1) << (width - 1) : 0;
        x = tn_entry_int(b, (int64_t)((bits ^ sign) - sign));
        x->type = type;
    }
    *out = x;
    return tn_cursor_check(c);
}

tn_status *tn_entry_read_float(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    const tn_type *type;
    TN_TRY(tn_entry_read_scalar(b, c, &type));
    if (!tn_is_float(type->element))
        return tn_cursor_error(c, "a float of type %s", tn_element_type_text(type->element));
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_FLOAT);
    x->type = type;
    x->real =
        tn_float_from_bits(type->element, tn_cursor_apint(c, tn_element_type_bits(type->element)));
    *out = x;
    return tn_cursor_check(c);
}

tn_status *tn_entry_read_enumeration(tn_bytecode *b, tn_cursor *c, const char *tag, unsigned first,
                                     unsigned last, const tn_attr **out)
{
    uint64_t v = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (v < first || v > last)
        return tn_cursor_error(c, "%s %" PRIu64 ", expected %u to %u", tag, v, first, last);
    const tn_attr **items;
    *out = tn_entry_list(b, tag, 1, &items);
    items[0] = tn_entry_int(b, (int64_t)v);
    return NULL;
}

static const tn_attr *read_numbers(tn_bytecode *b, tn_cursor *c)
{
    size_t n = tn_cursor_count(c);
    int64_t *v = TN_NEW_ARRAY(b->arena, int64_t, n);
    for (size_t i = 0; i < n; i++) v[i] = tn_cursor_svarint(c);
    tn_attr *x = tn_entry_node_new(b, TN_ATTR_KIND_INTS);
    x->ints.data = v;
    x->ints.n = (uint32_t)n;
    x->ints.rows = 1;
    return x;
}

/* One field; *out stays NULL for an absent one. */
static tn_status *read_field(tn_bytecode *b, tn_cursor *c, char field, const tn_attr **out)
{
    const tn_attr **none;
    tn_attr *x;
    bool present = true;
    switch (field) {
    case 'a': return tn_entry_read_attr(b, c, out);
    case 'o': return tn_entry_read_optional(b, c, out);
    case 'h': return tn_cursor_varint(c) ? tn_entry_read_attr(b, c, out) : NULL;
    case 'B': return tn_cursor_byte(c) ? tn_entry_read_attr(b, c, out) : NULL;
    case 't': return tn_entry_read_type_attr(b, c, out);
    case 'L': return tn_entry_read_array(b, c, NULL, out);
    case 'E': *out = tn_entry_list(b, NULL, 0, &none); return NULL;
    case 'I': *out = read_numbers(b, c); return NULL;
    case 'i': *out = tn_entry_int(b, tn_cursor_svarint(c)); return NULL;
    case 's': return tn_entry_read_string(b, c, out);
    case 'b':
        x = tn_entry_node_new(b, TN_ATTR_KIND_BOOL);
        x->boolean = tn_cursor_byte(c) != 0;
        break;
    case 'd':
        x = tn_entry_node_new(b, TN_ATTR_KIND_FLOAT);
        x->real = tn_float_from_bits(TN_F64, tn_cursor_apint(c, 64));
        break;
    case 'p': x = tn_entry_int(b, (int64_t)tn_cursor_flagged(c, &present)); break;
    default: return TN_ERROR(INTERNAL, "unknown field '%c'", field);
    }
    if (present) *out = x;
    return NULL;
}

tn_status *tn_entry_read_fields(tn_bytecode *b, tn_cursor *c, const char *tag, const char *fields,
                                const tn_attr **out)
{
    if (*fields == 'l') return tn_entry_read_array(b, c, tag, out);
    const tn_attr **items;
    tn_attr *x = tn_entry_list(b, tag, strlen(fields), &items);
    x->list.n = 0;
    for (; *fields; fields++) {
        TN_TRY(read_field(b, c, *fields, &items[x->list.n]));
        if (items[x->list.n]) x->list.n++;
    }
    b->weight += x->list.n;
    *out = x;
    return tn_cursor_check(c);
}
