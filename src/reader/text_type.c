/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "reader/text_parser.h"
#include "reader/types.h"

/* --- elements --- */

/* i<-127:127>:f32:0, {0.1:-30,0.5} behind !quant.uniform< */
static tn_status *parse_quantized(tn_parser *p, const tn_type **out)
{
    const char *s;
    size_t n;
    char text[16];
    tn_quantization *q = TN_NEW(p->arena, tn_quantization);
    q->axis = -1;
    q->n = 1;
    TN_TRY(tn_parse_expect(p, "<"));
    if (!tn_parse_word(p, &s, &n)) return tn_parse_expected(p, "a storage type");
    const char *where = s;
    /* There an unsigned type is u8 and not ui8. */
    size_t at = 0;
    for (size_t i = 0; i < n && at < sizeof text - 1; i++) {
        text[at++] = s[i];
        if (i == 0 && s[i] == 'u') text[at++] = 'i';
    }
    q->storage = tn_element_type_parse(text, at);
    if (!tn_is_integer(q->storage))
        return tn_parse_unsupported(p, where, "quantization as %.*s", (int)(n < 32 ? n : 32), s);
    unsigned bits = tn_element_type_bits(q->storage);
    bool has_sign = tn_element_type_class(q->storage) == TN_CLASS_SINT;
    q->max = (int64_t)(UINT64_MAX >> (64 - bits + has_sign) & INT64_MAX);
    q->min = has_sign ? -q->max - 1 : 0;
    if (tn_parse_accept(p, "<")) {
        TN_TRY(tn_parse_int(p, &q->min));
        TN_TRY(tn_parse_expect(p, ":"));
        TN_TRY(tn_parse_int(p, &q->max));
        TN_TRY(tn_parse_expect(p, ">"));
    }
    TN_TRY(tn_parse_expect(p, ":"));
    const tn_type *expressed;
    tn_parse_peek(p);
    where = p->at;
    TN_TRY(tn_parse_scalar(p, &expressed));
    q->expressed = expressed->element;
    if (!tn_is_float(q->expressed) || expressed->quantization)
        return tn_parse_unsupported(p, where, "quantization of what is no float");
    bool per_axis = tn_parse_accept(p, ":");
    if (per_axis) {
        tn_parse_peek(p);
        where = p->at;
        TN_TRY(tn_parse_int(p, &q->axis));
        if (q->axis < 0 || q->axis >= TN_MAX_RANK)
            return tn_parse_error(p, where, "quantization axis %" PRId64, q->axis);
    }
    TN_TRY(tn_parse_expect(p, ","));
    if (per_axis) TN_TRY(tn_parse_expect(p, "{"));
    double *scales = NULL;
    int64_t *zeros = NULL;
    uint32_t count = 0, capacity = 0;
    do {
        tn_parse_number v;
        TN_TRY(tn_parse_read_number(p, &v));
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 4;
            double *more_scales = TN_NEW_ARRAY(p->arena, double, capacity);
            int64_t *more_zeros = TN_NEW_ARRAY(p->arena, int64_t, capacity);
            if (count) {
                memcpy(more_scales, scales, count * sizeof *scales);
                memcpy(more_zeros, zeros, count * sizeof *zeros);
            }
            scales = more_scales;
            zeros = more_zeros;
        }
        scales[count] = v.real;
        if (tn_parse_accept(p, ":")) TN_TRY(tn_parse_int(p, &zeros[count]));
        count++;
    } while (per_axis && tn_parse_accept(p, ","));
    if (per_axis) TN_TRY(tn_parse_expect(p, "}"));
    TN_TRY(tn_parse_expect(p, ">"));
    q->n = count;
    q->scales = scales;
    q->zero_points = zeros;
    tn_type *t = TN_NEW(p->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_TENSOR, .element = q->storage, .quantization = q};
    *out = t;
    return NULL;
}

tn_status *tn_parse_complex(tn_parser *p, const char *where, const tn_type **out)
{
    const tn_type *part;
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(tn_parse_scalar(p, &part));
    TN_TRY(tn_parse_expect(p, ">"));
    if (part == tn_scalar_type(TN_F32)) *out = tn_scalar_type(TN_C64);
    else if (part == tn_scalar_type(TN_F64)) *out = tn_scalar_type(TN_C128);
    else
        return tn_parse_unsupported(p, where, "complex numbers of %s",
                                    tn_element_type_text(part->element));
    return NULL;
}

bool tn_parse_scalar_name(const char *s, size_t n, const tn_type **out)
{
    if (tn_parse_is(s, n, "index")) {
        *out = tn_scalar_type(TN_I64);
    } else if (tn_parse_is(s, n, "tf32")) {
        *out = &tn_tf32_type;
    } else {
        if (n > 2 && s[0] == 's' && s[1] == 'i' && !tn_parse_is(s, n, "si1")) {
            s++;
            n--;
        }
        tn_element_type e = tn_element_type_parse(s, n);
        if (e == TN_INVALID || e == TN_TOKEN) return false;
        *out = tn_scalar_type(e);
    }
    return true;
}

/* --- types by their name --- */

/* 2x?x behind tensor<, up to the element. */
static tn_status *parse_dims(tn_parser *p, int64_t *dims, uint32_t *rank)
{
    for (*rank = 0;;) {
        char c = tn_parse_peek(p);
        const char *where = p->at;
        if (c != '?' && !isdigit((unsigned char)c)) return NULL;
        int64_t d = 0;
        if (c == '?') {
            d = TN_DYNAMIC;
            p->at++;
        } else {
            for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
                if (__builtin_mul_overflow(d, 10, &d) ||
                    __builtin_add_overflow(d, *p->at - '0', &d))
                    return tn_parse_error(p, where, "a dimension of more than 63 bits");
        }
        if (p->at == p->end || *p->at != 'x') return tn_parse_expected(p, "'x' of a shape");
        p->at++;
        if (*rank == TN_MAX_RANK)
            return tn_parse_unsupported(p, where,
                                        "a tensor type of rank more than %d; at most %d "
                                        "is supported",
                                        TN_MAX_RANK, TN_MAX_RANK);
        dims[(*rank)++] = d;
    }
}

static tn_status *parse_bounds(tn_parser *p, const char *open, const char *close,
                               const int64_t **out, uint32_t *n)
{
    int64_t bounds[TN_MAX_RANK];
    *n = 0;
    *out = NULL;
    TN_TRY(tn_parse_expect(p, open));
    if (tn_parse_accept(p, close)) return NULL;
    do {
        if (*n == TN_MAX_RANK) return tn_parse_error(p, p->at, "more than %d bounds", TN_MAX_RANK);
        if (tn_parse_accept(p, "?")) bounds[(*n)++] = TN_DYNAMIC;
        else TN_TRY(tn_parse_int(p, &bounds[(*n)++]));
    } while (tn_parse_accept(p, ","));
    *out = tn_dup(p->arena, bounds, *n * sizeof *bounds);
    return tn_parse_expect(p, close);
}

tn_status *tn_parse_bounds(tn_parser *p, const int64_t **out, uint32_t *n)
{
    return parse_bounds(p, "<", ">", out, n);
}

static tn_status *set_bounds(tn_parser *p, const char *where, tn_type *t, const int64_t *bounds,
                             uint32_t n)
{
    bool any = false;
    if (n != t->rank)
        return tn_parse_error(p, where, "%" PRIu32 " bounds for a tensor type of rank %" PRIu32, n,
                              t->rank);
    for (uint32_t i = 0; i < n; i++) {
        if (bounds[i] == TN_DYNAMIC) continue;
        if (bounds[i] < 0 || t->dims[i] != TN_DYNAMIC)
            return tn_parse_error(
                p, where, "bound %" PRId64 " in dimension %" PRIu32 ", whose size is %" PRId64,
                bounds[i], i, t->dims[i]);
        any = true;
    }
    if (any) t->bounds = bounds;
    return NULL;
}

static tn_status *take_bounds(tn_parser *p, const char *where, tn_type *t)
{
    const int64_t *bounds;
    uint32_t n;
    TN_TRY(tn_parse_bounds(p, &bounds, &n));
    return set_bounds(p, where, t, bounds, n);
}

/* <bounds = [3, ?]>: how bounds were written once. */
static tn_status *take_extensions(tn_parser *p, const char *where, tn_type *t)
{
    const int64_t *bounds;
    uint32_t n;
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(tn_parse_expect(p, "bounds"));
    TN_TRY(tn_parse_expect(p, "="));
    TN_TRY(parse_bounds(p, "[", "]", &bounds, &n));
    TN_TRY(set_bounds(p, where, t, bounds, n));
    return tn_parse_expect(p, ">");
}

static tn_status *check_tensor(tn_parser *p, const char *where, const tn_type *t)
{
    const tn_quantization *q = t->quantization;
    if (q && q->axis >= (int64_t)t->rank)
        return tn_parse_error(p, where,
                              "quantization axis %" PRId64 " of a tensor type of rank "
                              "%" PRIu32,
                              q->axis, t->rank);
    if (q && q->axis >= 0 && t->dims[q->axis] != TN_DYNAMIC && t->dims[q->axis] != q->n)
        return tn_parse_error(p, where,
                              "%" PRIu32 " scales for dimension %" PRId64 " of size %" PRId64, q->n,
                              q->axis, t->dims[q->axis]);
    uint32_t large = tn_type_too_large(t);
    if (large < t->rank)
        return tn_parse_error(p, where,
                              "a tensor type takes more than 2^47 bytes (dimension "
                              "%" PRIu32 " is too large)",
                              large);
    return NULL;
}

tn_status *tn_parse_tensor(tn_parser *p, const char *where, bool memref, const tn_type **out)
{
    int64_t dims[TN_MAX_RANK];
    const tn_type *element;
    tn_type *t = TN_NEW(p->arena, tn_type);
    TN_TRY(tn_parse_expect(p, "<"));
    if (tn_parse_peek(p) == '*') {
        p->at++;
        if (p->at == p->end || *p->at != 'x') return tn_parse_expected(p, "'x' of a shape");
        p->at++;
        t->kind = TN_TYPE_UNRANKED;
    } else {
        TN_TRY(parse_dims(p, dims, &t->rank));
        t->dims = tn_dup(p->arena, dims, t->rank * sizeof *dims);
    }
    TN_TRY(tn_parse_scalar(p, &element));
    if (element == &tn_tf32_type)
        return tn_parse_unsupported(p, where, "a tensor type with element tf32");
    t->element = element->element;
    t->quantization = element->quantization;
    if (memref) t->alias = "memref";
    if (tn_parse_accept(p, ",")) {
        tn_parse_peek(p);
        where = p->at;
        bool old = tn_parse_accept(p, "#stablehlo.type_extensions") ||
                   tn_parse_accept(p, "#vhlo.type_extensions_v1");
        if ((!old && !tn_parse_accept(p, "#stablehlo.bounds")) || t->kind != TN_TYPE_TENSOR)
            return tn_parse_unsupported(p, where,
                                        "a tensor type with an encoding other than bounds");
        if (old) TN_TRY(take_extensions(p, where, t));
        else TN_TRY(take_bounds(p, where, t));
    }
    *out = t;
    TN_TRY(tn_parse_expect(p, ">"));
    return t->kind == TN_TYPE_TENSOR ? check_tensor(p, where, t) : NULL;
}

tn_status *tn_parse_types_to(tn_parser *p, tn_parse_list *parts, const char *close)
{
    uint32_t before = parts->n;
    while (!tn_parse_accept(p, close)) {
        const tn_type *t;
        if (parts->n > before) TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_type(p, &t));
        tn_parse_push(p, parts, t);
    }
    return NULL;
}

const tn_type *tn_parse_type_of_parts(tn_parser *p, tn_type_kind kind, const tn_parse_list *parts,
                                      uint32_t n_inputs)
{
    tn_type *t = TN_NEW(p->arena, tn_type);
    const tn_type **types = TN_NEW_ARRAY(p->arena, const tn_type *, parts->n);
    for (uint32_t i = 0; i < parts->n; i++) types[i] = parts->items[i];
    *t = (tn_type){.kind = kind, .n_parts = parts->n, .n_inputs = n_inputs, .parts = types};
    return t;
}

tn_status *tn_parse_parts(tn_parser *p, tn_type_kind kind, const tn_type **out)
{
    tn_parse_list parts = {0};
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(tn_parse_types_to(p, &parts, ">"));
    *out = tn_parse_type_of_parts(p, kind, &parts, 0);
    return NULL;
}

tn_status *tn_parse_function_type(tn_parser *p, const tn_type **out)
{
    tn_parse_list parts = {0};
    TN_TRY(tn_parse_enter(p));
    TN_TRY(tn_parse_expect(p, "("));
    TN_TRY(tn_parse_types_to(p, &parts, ")"));
    uint32_t n_inputs = parts.n;
    TN_TRY(tn_parse_expect(p, "->"));
    if (tn_parse_accept(p, "(")) {
        TN_TRY(tn_parse_types_to(p, &parts, ")"));
    } else {
        const tn_type *t;
        TN_TRY(tn_parse_type(p, &t));
        tn_parse_push(p, &parts, t);
    }
    *out = tn_parse_type_of_parts(p, TN_TYPE_FUNCTION, &parts, n_inputs);
    p->depth--;
    return NULL;
}

static tn_status *parse_dialect_type(tn_parser *p, const char *where, const tn_type **out)
{
    const char *s;
    size_t n;
    p->at++;
    if (!tn_parse_suffix(p, &s, &n)) return tn_parse_expected(p, "the name of a type");
    if (n > 5 && !memcmp(s, "vhlo.", 5)) return tn_parse_vhlo_type(p, s + 5, n - 5, out);
    if (tn_parse_is(s, n, "stablehlo.token")) {
        *out = tn_type_token();
    } else if (tn_parse_is(s, n, "stablehlo.future")) {
        return tn_parse_parts(p, TN_TYPE_FUTURE, out);
    } else if (tn_parse_is(s, n, "quant.uniform")) {
        return parse_quantized(p, out);
    } else {
        const tn_parse_name *alias = tn_parse_names_find(&p->type_aliases, s, n);
        int shown = n < 64 ? (int)n : 64;
        if (!alias && memchr(s, '.', n))
            return tn_parse_unsupported(p, where, "type !%.*s is not supported", shown, s);
        if (!alias) return tn_parse_error(p, where, "type !%.*s is not defined", shown, s);
        *out = alias->data;
    }
    return NULL;
}

static tn_status *parse_type(tn_parser *p, const tn_type **out)
{
    const char *s;
    size_t n;
    char c = tn_parse_peek(p);
    const char *where = p->at;
    if (c == '!') return parse_dialect_type(p, where, out);
    if (c == '(') return tn_parse_function_type(p, out);
    if (!tn_parse_word(p, &s, &n)) return tn_parse_expected(p, "a type");
    if (tn_parse_is(s, n, "tensor")) return tn_parse_tensor(p, where, false, out);
    if (tn_parse_is(s, n, "memref")) return tn_parse_tensor(p, where, true, out);
    if (tn_parse_is(s, n, "tuple")) return tn_parse_parts(p, TN_TYPE_TUPLE, out);
    if (tn_parse_is(s, n, "complex")) return tn_parse_complex(p, where, out);
    if (tn_parse_is(s, n, "none")) {
        *out = &tn_none_type;
        return NULL;
    }
    if (tn_parse_scalar_name(s, n, out)) return NULL;
    p->at = where;
    return tn_parse_expected(p, "a type");
}

tn_status *tn_parse_type(tn_parser *p, const tn_type **out)
{
    TN_TRY(tn_parse_enter(p));
    TN_TRY(parse_type(p, out));
    p->depth--;
    return NULL;
}

tn_status *tn_parse_scalar(tn_parser *p, const tn_type **out)
{
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_type(p, out));
    if ((*out)->kind == TN_TYPE_TENSOR && !(*out)->rank && !(*out)->dims) return NULL;
    return tn_parse_error(p, where, "expected the type of an element");
}
