/* SPDX-License-Identifier: Apache-2.0 */
/* Constants. Their type stands behind their elements, so the elements are stepped over first. */
#include <inttypes.h>
#include <string.h>

#include "reader/text_parser.h"

typedef struct {
    tn_element_type element;
    const tn_type *type;
    uint8_t *data;
    size_t n, unit;
} dense;

/* A list of the elements of dimension `dim` and below. Depth is bounded by the rank. */
static tn_status *parse_nested(tn_parser *p, dense *d, uint32_t dim)
{
    if (dim == d->type->rank) {
        TN_TRY(tn_parse_element(p, d->element, d->data + d->n * d->unit));
        d->n++;
        return NULL;
    }
    tn_parse_peek(p);
    const char *where = p->at;
    int64_t n = 0;
    TN_TRY(tn_parse_expect(p, "["));
    while (!tn_parse_accept(p, "]")) {
        if (n == d->type->dims[dim])
            return tn_parse_error(p, where,
                                  "expected %" PRId64 " elements in dimension %" PRIu32
                                  " of a constant, found more",
                                  n, dim);
        if (n++) TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(parse_nested(p, d, dim + 1));
    }
    if (n == d->type->dims[dim]) return NULL;
    return tn_parse_error(p, where,
                          "expected %" PRId64 " elements in dimension %" PRIu32
                          " of a constant, found %" PRId64,
                          d->type->dims[dim], dim, n);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* "0x..": bytes, as they lie in memory but for numbers narrower than a byte, whose high bits are
 * open. */
static tn_status *parse_bytes(tn_parser *p, dense *d, bool *splat)
{
    const char *where = p->at, *s;
    size_t n, total = (size_t)tn_type_elements(d->type);
    TN_TRY(tn_parse_string(p, &s, &n));
    if (n < 2 || s[0] != '0' || s[1] != 'x' || n % 2)
        return tn_parse_error(p, where, "expected bytes \"0x..\" of a constant");
    size_t bytes = n / 2 - 1;
    *splat = bytes == d->unit && total != 1;
    if (!*splat && bytes != total * d->unit)
        return tn_parse_error(p, where, "expected %zu bytes of a constant, found %zu",
                              total * d->unit, bytes);
    d->data = tn_alloc(p->arena, bytes < 64 ? 64 : bytes);
    unsigned bits = tn_element_type_bits(d->element);
    uint8_t mask = (uint8_t)(bits < 8 ? (1u << bits) - 1 : 0xFF);
    uint8_t sign = bits < 8 && tn_element_type_class(d->element) == TN_CLASS_SINT
                       ? (uint8_t)(1u << (bits - 1))
                       : 0;
    for (size_t i = 0; i < bytes; i++) {
        int high = digit(s[2 + 2 * i]), low = digit(s[3 + 2 * i]);
        if (high < 0 || low < 0)
            return tn_parse_error(p, where, "a byte of a constant is not hexadecimal");
        d->data[i] = (uint8_t)((((high * 16 + low) & mask) ^ sign) - sign);
    }
    return NULL;
}

static bool all_equal(const dense *d)
{
    return d->n > 0 && !memcmp(d->data, d->data + d->unit, (d->n - 1) * d->unit);
}

static tn_status *parse_elements(tn_parser *p, dense *d, bool *splat)
{
    size_t n = (size_t)tn_type_elements(d->type);
    *splat = false;
    TN_TRY(tn_parse_expect(p, "<"));
    char c = tn_parse_peek(p);
    if (c == '"') {
        TN_TRY(parse_bytes(p, d, splat));
    } else if (c == '>') {
        if (n) return tn_parse_expected(p, "the elements of a constant");
    } else if (c == '[') {
        /* Every element takes a character at least, so what is allocated is bounded by the text. */
        if (n > (size_t)(p->end - p->at))
            return tn_parse_error(p, p->at, "a constant lacks elements: its type has %zu", n);
        d->data = tn_alloc(p->arena, n * d->unit < 64 ? 64 : n * d->unit);
        TN_TRY(parse_nested(p, d, 0));
        *splat = n > 1 && all_equal(d);
    } else {
        d->data = tn_alloc(p->arena, 64);
        TN_TRY(tn_parse_element(p, d->element, d->data));
        *splat = n != 1;
    }
    return tn_parse_expect(p, ">");
}

tn_status *tn_parse_dense(tn_parser *p, const tn_attr **out)
{
    char text[128];
    const tn_type *type;
    if (tn_parse_peek(p) != '<') return tn_parse_expected(p, "'<' of a constant");
    const char *start = p->at;
    TN_TRY(tn_parse_skip_brackets(p));
    TN_TRY(tn_parse_expect(p, ":"));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_type(p, &type));
    if (type->kind != TN_TYPE_TENSOR || !type->dims || !tn_type_is_static(type))
        return tn_parse_error(p, where, "a constant of type %s",
                              tn_type_format(type, text, sizeof text));
    const char *behind = p->at;
    dense d = {
        .element = type->element, .type = type, .unit = tn_element_type_bytes(type->element)};
    bool splat;
    p->at = start;
    TN_TRY(parse_elements(p, &d, &splat));
    p->at = behind;
    size_t n = (size_t)tn_type_elements(type), size = (splat ? 1 : n) * d.unit;
    if (!n) size = splat = 0;
    if (!d.data) d.data = tn_alloc(p->arena, 64);
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_TENSOR);
    x->type = type;
    x->tensor = (tn_literal){.type = type, .data = d.data, .size = size, .splat = splat};
    *out = x;
    return NULL;
}
