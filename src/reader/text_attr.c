/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/text_parser.h"
#include "reader/types.h"
#include "type/float_bits.h"

tn_attr *tn_parse_node(tn_parser *p, tn_attr_kind kind)
{
    tn_attr *x = TN_NEW(p->arena, tn_attr);
    x->kind = kind;
    return x;
}

tn_attr *tn_parse_list_node(tn_parser *p, const char *tag, uint32_t n, const tn_attr *const *items)
{
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_LIST);
    x->list.tag = tag;
    x->list.n = n;
    const tn_attr **copy = TN_NEW_ARRAY(p->arena, const tn_attr *, n);
    for (uint32_t i = 0; i < n; i++) copy[i] = items[i];
    x->list.items = copy;
    return x;
}

const tn_attr *tn_parse_ints_node(tn_parser *p, const int64_t *v, uint32_t n, uint32_t rows)
{
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_INTS);
    x->ints.data = v;
    x->ints.n = n;
    x->ints.rows = rows;
    return x;
}

/* --- numbers --- */

static tn_status *parse_number(tn_parser *p, const tn_attr **out)
{
    tn_parse_number v;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_read_number(p, &v));
    const tn_type *type = tn_scalar_type(v.is_float ? TN_F64 : TN_I64);
    if (tn_parse_accept(p, ":")) TN_TRY(tn_parse_scalar(p, &type));
    const char *behind = p->at;
    uint64_t bits[2] = {0};
    tn_element_class class = tn_element_type_class(type->element);
    if (class == TN_CLASS_NONE || class == TN_CLASS_COMPLEX || type->quantization)
        return tn_parse_error(p, where, "a number of type %s", tn_element_type_text(type->element));
    if (class == TN_CLASS_FLOAT && !v.is_float && !v.is_hex)
        return tn_parse_error(p, where, "expected a float, found an integer");
    /* Again, now that it is known as what. */
    p->at = where;
    TN_TRY(tn_parse_element(p, type->element, bits));
    p->at = behind;
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_INT);
    *out = x;
    x->type = type;
    if (class == TN_CLASS_FLOAT) {
        x->kind = TN_ATTR_KIND_FLOAT;
        x->real = tn_float_from_bits(type->element, bits[0]);
    } else if (class == TN_CLASS_BOOL) {
        x->kind = TN_ATTR_KIND_BOOL;
        x->type = NULL;
        x->boolean = bits[0] & 1;
    } else {
        unsigned bytes = tn_element_type_bytes(type->element);
        uint64_t sign = class == TN_CLASS_SINT ? UINT64_C(1) << (bytes * 8 - 1) : 0;
        x->integer = (int64_t)((bits[0] ^ sign) - sign);
    }
    return NULL;
}

/* array<i64: 1, 2>, behind "array" */
static tn_status *parse_array(tn_parser *p, const tn_attr **out)
{
    const tn_type *element;
    TN_TRY(tn_parse_expect(p, "<"));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_scalar(p, &element));
    tn_element_type e = element->element;
    size_t unit = tn_element_type_bytes(e), n = 0, capacity = 0;
    if (!unit || tn_is_complex(e) || element->quantization)
        return tn_parse_error(p, where, "an array of %s", tn_element_type_text(e));
    uint8_t *data = NULL;
    if (tn_parse_accept(p, ":")) {
        do {
            if (n == capacity) {
                capacity = capacity ? capacity * 2 : 16;
                uint8_t *larger = tn_alloc_array(p->arena, capacity < 64 ? 64 : capacity, unit);
                if (n) memcpy(larger, data, n * unit);
                data = larger;
            }
            TN_TRY(tn_parse_element(p, e, data + n++ * unit));
        } while (tn_parse_accept(p, ","));
    }
    TN_TRY(tn_parse_expect(p, ">"));
    if (n > UINT32_MAX) return tn_parse_error(p, where, "an array of %zu elements", n);
    if (!data) data = tn_alloc(p->arena, 64);
    if (e == TN_I64) {
        *out = tn_parse_ints_node(p, (const int64_t *)(const void *)data, (uint32_t)n, 1);
        return NULL;
    }
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_BOOLS);
    *out = x;
    if (e == TN_I1) {
        bool *v = TN_NEW_ARRAY(p->arena, bool, n);
        for (size_t i = 0; i < n; i++) v[i] = data[i] != 0;
        x->bools.data = v;
        x->bools.n = (uint32_t)n;
    } else {
        int64_t dims[1] = {(int64_t)n};
        x->kind = TN_ATTR_KIND_TENSOR;
        x->type = tn_type_tensor(p->arena, e, 1, dims);
        x->tensor = (tn_literal){.type = x->type, .data = data, .size = n * unit};
    }
    return NULL;
}

/* --- attributes of attributes --- */

static tn_status *parse_list(tn_parser *p, const tn_attr **out)
{
    tn_parse_list items = {0};
    TN_TRY(tn_parse_expect(p, "["));
    while (!tn_parse_accept(p, "]")) {
        const tn_attr *v;
        if (items.n) TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_attr(p, &v));
        tn_parse_push(p, &items, v);
    }
    *out = tn_parse_list_node(p, NULL, items.n, (const tn_attr *const *)items.items);
    return NULL;
}

static int by_key(const void *x, const void *y)
{
    return strcmp(((const tn_named_attr *)x)->key, ((const tn_named_attr *)y)->key);
}

/* Pairs up to `close`. */
static tn_status *parse_pairs(tn_parser *p, const char *open, const char *close, bool sorted,
                              const tn_attr **out)
{
    tn_parse_list keys = {0}, values = {0};
    tn_parse_peek(p);
    const char *where = p->at;
    if (open) TN_TRY(tn_parse_expect(p, open));
    while (!tn_parse_accept(p, close)) {
        const char *key;
        const tn_attr *v;
        if (keys.n) TN_TRY(tn_parse_expect(p, ","));
        if (*close == '>' && keys.n && tn_parse_accept(p, close)) break; /* MLIR allows a comma */
        TN_TRY(tn_parse_word_or_string(p, "the name of an attribute", &key));
        if (tn_parse_accept(p, "=")) TN_TRY(tn_parse_attr(p, &v));
        else v = tn_parse_node(p, TN_ATTR_KIND_UNIT);
        tn_parse_push(p, &keys, key);
        tn_parse_push(p, &values, v);
    }
    tn_named_attr *pairs = TN_NEW_ARRAY(p->arena, tn_named_attr, keys.n);
    for (uint32_t i = 0; i < keys.n; i++)
        pairs[i] = (tn_named_attr){keys.items[i], values.items[i]};
    if (sorted && keys.n) {
        qsort(pairs, keys.n, sizeof *pairs, by_key);
        for (uint32_t i = 1; i < keys.n; i++)
            if (!strcmp(pairs[i - 1].key, pairs[i].key))
                return tn_parse_error(p, where, "attribute %.100s is given twice", pairs[i].key);
    }
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_DICT);
    x->dict.pairs = pairs;
    x->dict.n = keys.n;
    *out = x;
    return NULL;
}

tn_status *tn_parse_dict(tn_parser *p, const tn_attr **out)
{
    return parse_pairs(p, "{", "}", true, out);
}

tn_status *tn_parse_fields(tn_parser *p, const tn_attr **out)
{
    return parse_pairs(p, "<", ">", true, out);
}

tn_status *tn_parse_raw_fields(tn_parser *p, const tn_attr **out)
{
    return parse_pairs(p, NULL, ">", true, out);
}

static tn_status *parse_symbol(tn_parser *p, const tn_attr **out)
{
    const char *name;
    TN_TRY(tn_parse_symbol(p, &name));
    const tn_attr *root = tn_attr_string(p->arena, name, strlen(name));
    *out = root;
    tn_parse_list nested = {0};
    while (tn_parse_accept(p, "::")) {
        TN_TRY(tn_parse_symbol(p, &name));
        tn_parse_push(p, &nested, tn_attr_string(p->arena, name, strlen(name)));
    }
    if (!nested.n) return NULL;
    const tn_attr *items[2] = {
        root, tn_parse_list_node(p, NULL, nested.n, (const tn_attr *const *)nested.items)};
    *out = tn_parse_list_node(p, "symbol", 2, items);
    return NULL;
}

static tn_status *parse_hash(tn_parser *p, const tn_attr **out)
{
    const char *s, *where = p->at;
    size_t n;
    p->at++;
    if (!tn_parse_suffix(p, &s, &n)) return tn_parse_expected(p, "the name of an attribute");
    if (memchr(s, '.', n) || (p->at < p->end && *p->at == '<'))
        return tn_parse_dialect_attr(p, s, n, out);
    const tn_parse_name *alias = tn_parse_names_find(&p->attr_aliases, s, n);
    if (!alias)
        return tn_parse_error(p, where, "attribute #%.*s is not defined", (int)(n < 64 ? n : 64),
                              s);
    *out = alias->data;
    return NULL;
}

static tn_status *parse_word_attr(tn_parser *p, const tn_attr **out)
{
    const tn_type *type;
    const char *s;
    size_t n;
    tn_parse_peek(p);
    const char *where = p->at;
    bool yes = tn_parse_accept(p, "true");
    if (yes || tn_parse_accept(p, "false")) {
        *out = tn_attr_bool(p->arena, yes);
        return NULL;
    }
    if (tn_parse_accept(p, "dense")) return tn_parse_dense(p, out);
    if (tn_parse_accept(p, "array")) return parse_array(p, out);
    if (tn_parse_accept(p, "unit")) {
        *out = tn_parse_node(p, TN_ATTR_KIND_UNIT);
        return NULL;
    }
    static const char *const others[] = {"dense_resource", "affine_map", "affine_set", "loc",
                                         "sparse",         "opaque",     "distinct",   "strided"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tn_parse_accept(p, others[i]))
            return tn_parse_unsupported(p, where, "an attribute of kind %s", others[i]);
    if (tn_parse_word(p, &s, &n)) {
        p->at = where;
        TN_TRY(tn_parse_type(p, &type));
        tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_TYPE);
        x->type = type;
        *out = x;
        return NULL;
    }
    return tn_parse_expected(p, "an attribute");
}

static tn_status *parse_attr(tn_parser *p, const tn_attr **out)
{
    const char *s;
    size_t n;
    const tn_type *type;
    char c = tn_parse_peek(p);
    if (c == '-' || isdigit((unsigned char)c)) return parse_number(p, out);
    switch (c) {
    case '"':
        TN_TRY(tn_parse_string(p, &s, &n));
        *out = tn_attr_string(p->arena, s, n);
        if (tn_parse_accept(p, ":")) return tn_parse_type(p, &type);
        return NULL;
    case '@': return parse_symbol(p, out);
    case '[': return parse_list(p, out);
    case '{': return tn_parse_dict(p, out);
    case '#': return parse_hash(p, out);
    case '!':
    case '(': {
        TN_TRY(tn_parse_type(p, &type));
        tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_TYPE);
        x->type = type;
        *out = x;
        return NULL;
    }
    default: return parse_word_attr(p, out);
    }
}

tn_status *tn_parse_attr(tn_parser *p, const tn_attr **out)
{
    TN_TRY(tn_parse_enter(p));
    TN_TRY(parse_attr(p, out));
    p->depth--;
    return NULL;
}

tn_status *tn_parse_attr_of(tn_arena *a, const char *text, size_t n, const tn_attr **out)
{
    tn_parser p = {.begin = text, .at = text, .end = text + n, .arena = a};
    TN_TRY(tn_parse_attr(&p, out));
    return tn_parse_peek(&p) ? tn_parse_expected(&p, "the end of an attribute") : NULL;
}
