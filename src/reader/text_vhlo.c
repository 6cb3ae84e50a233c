/* SPDX-License-Identifier: Apache-2.0 */
/* VHLO as MLIR prints it: its types and attributes, which become the nodes that bytecode's reader
 * makes of them (vhlo.c). Names end in the version, which is 1 for all of them. */
#include <inttypes.h>
#include <string.h>

#include "reader/text_parser.h"
#include "reader/types.h"

/* "f32_v1" to the length of "f32", or 0. */
static size_t without_version(const char *s, size_t n)
{
    return n > 3 && !memcmp(s + n - 3, "_v1", 3) ? n - 3 : 0;
}

/* --- types --- */

/* A, B up to `close`; none at all is written (). */
static tn_status *parse_types(tn_parser *p, tn_parse_list *parts, const char *close)
{
    if (tn_parse_accept(p, "(")) TN_TRY(tn_parse_expect(p, ")"));
    return tn_parse_types_to(p, parts, close);
}

/* <(A, B) -> C, D>: results have no parentheses. */
static tn_status *parse_function(tn_parser *p, const tn_type **out)
{
    tn_parse_list parts = {0};
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(tn_parse_expect(p, "("));
    TN_TRY(parse_types(p, &parts, ")"));
    uint32_t n_inputs = parts.n;
    TN_TRY(tn_parse_expect(p, "->"));
    TN_TRY(parse_types(p, &parts, ">"));
    *out = tn_parse_type_of_parts(p, TN_TYPE_FUNCTION, &parts, n_inputs);
    return NULL;
}

static tn_status *parse_unranked(tn_parser *p, const tn_type **out)
{
    const tn_type *element;
    tn_type *t = TN_NEW(p->arena, tn_type);
    TN_TRY(tn_parse_expect(p, "<"));
    TN_TRY(tn_parse_scalar(p, &element));
    *t = (tn_type){.kind = TN_TYPE_UNRANKED,
                   .element = element->element,
                   .quantization = element->quantization};
    *out = t;
    return tn_parse_expect(p, ">");
}

/* [1.0, 2.0], [0, -3] */
static tn_status *parse_axis_scales(tn_parser *p, double **scales, int64_t **zeros, uint32_t *n)
{
    enum { MOST = 1 << 20 };
    tn_parse_list list = {0};
    const tn_attr *points;
    TN_TRY(tn_parse_expect(p, "["));
    const char *where = p->at;
    if (!tn_parse_accept(p, "]")) {
        do {
            tn_parse_number *v = TN_NEW(p->arena, tn_parse_number);
            TN_TRY(tn_parse_read_number(p, v));
            tn_parse_push(p, &list, v);
            if (list.n > MOST) return tn_parse_error(p, where, "more than %d scales", MOST);
        } while (tn_parse_accept(p, ","));
        TN_TRY(tn_parse_expect(p, "]"));
    }
    TN_TRY(tn_parse_expect(p, ","));
    TN_TRY(tn_parse_ints(p, &points));
    *n = list.n;
    if (points->ints.n != *n)
        return tn_parse_error(p, where, "%" PRIu32 " scales and %" PRIu32 " zero points", *n,
                              points->ints.n);
    *scales = TN_NEW_ARRAY(p->arena, double, *n);
    for (uint32_t i = 0; i < *n; i++) (*scales)[i] = ((const tn_parse_number *)list.items[i])->real;
    *zeros = (int64_t *)(uintptr_t)points->ints.data;
    return NULL;
}

/* <storage:expressed, scale:zero, min:max, flags> or, by an axis,
 * <storage:expressed, axis, [scales], [zeros], min:max, flags> */
static tn_status *parse_quantized(tn_parser *p, bool per_axis, const tn_type **out)
{
    const tn_type *storage, *expressed;
    tn_quantization *q = TN_NEW(p->arena, tn_quantization);
    double *scales = TN_NEW(p->arena, double);
    int64_t *zeros = TN_NEW(p->arena, int64_t), flags;
    q->axis = -1;
    q->n = 1;
    TN_TRY(tn_parse_expect(p, "<"));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_scalar(p, &storage));
    TN_TRY(tn_parse_expect(p, ":"));
    TN_TRY(tn_parse_scalar(p, &expressed));
    TN_TRY(tn_parse_expect(p, ","));
    if (per_axis) {
        TN_TRY(tn_parse_int(p, &q->axis));
        if (q->axis < 0 || q->axis >= TN_MAX_RANK)
            return tn_parse_error(p, where, "quantization axis %" PRId64, q->axis);
        TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(parse_axis_scales(p, &scales, &zeros, &q->n));
    } else {
        tn_parse_number v;
        TN_TRY(tn_parse_read_number(p, &v));
        *scales = v.real;
        TN_TRY(tn_parse_expect(p, ":"));
        TN_TRY(tn_parse_int(p, zeros));
    }
    TN_TRY(tn_parse_expect(p, ","));
    TN_TRY(tn_parse_int(p, &q->min));
    TN_TRY(tn_parse_expect(p, ":"));
    TN_TRY(tn_parse_int(p, &q->max));
    TN_TRY(tn_parse_expect(p, ","));
    TN_TRY(tn_parse_int(p, &flags));
    TN_TRY(tn_parse_expect(p, ">"));
    q->storage = tn_quantized_storage(storage->element, flags & 1);
    q->expressed = expressed->element;
    if (q->storage == TN_INVALID || !tn_is_float(q->expressed))
        return tn_parse_unsupported(p, where, "quantization of %s as %s",
                                    tn_element_type_text(expressed->element),
                                    tn_element_type_text(storage->element));
    q->scales = scales;
    q->zero_points = zeros;
    tn_type *t = TN_NEW(p->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_TENSOR, .element = q->storage, .quantization = q};
    *out = t;
    return NULL;
}

tn_status *tn_parse_vhlo_type(tn_parser *p, const char *s, size_t n, const tn_type **out)
{
    const char *where = s;
    size_t known = without_version(s, n);
    if (tn_parse_is(s, known, "tensor")) return tn_parse_tensor(p, where, false, out);
    if (tn_parse_is(s, known, "buffer")) return tn_parse_tensor(p, where, true, out);
    if (tn_parse_is(s, known, "unranked_tensor")) return parse_unranked(p, out);
    if (tn_parse_is(s, known, "complex")) return tn_parse_complex(p, where, out);
    if (tn_parse_is(s, known, "func")) return parse_function(p, out);
    if (tn_parse_is(s, known, "tuple")) return tn_parse_parts(p, TN_TYPE_TUPLE, out);
    if (tn_parse_is(s, known, "future")) return tn_parse_parts(p, TN_TYPE_FUTURE, out);
    if (tn_parse_is(s, known, "quant")) return parse_quantized(p, false, out);
    if (tn_parse_is(s, known, "quant_per_axis")) return parse_quantized(p, true, out);
    /* VHLO prints tf32 so. */
    if (tn_parse_is(s, known, "tf31")) *out = &tn_tf32_type;
    else if (tn_parse_is(s, known, "token")) *out = tn_type_token();
    else if (tn_parse_is(s, known, "none")) *out = &tn_none_type;
    else if (tn_parse_is(s, known, "bool")) *out = tn_scalar_type(TN_I1);
    else if (!tn_parse_scalar_name(s, known, out) || *out == tn_scalar_type(TN_I1))
        return tn_parse_unsupported(p, where, "type !vhlo.%.*s is not supported",
                                    (int)(n < 64 ? n : 64), s);
    return NULL;
}

/* --- attributes --- */

/* {#vhlo.string_v1<"a"> = #vhlo.integer_v1<1 : i32>} */
static tn_status *parse_dict(tn_parser *p, const tn_attr **out)
{
    tn_parse_list keys = {0}, values = {0};
    TN_TRY(tn_parse_expect(p, "{"));
    while (!tn_parse_accept(p, "}")) {
        const tn_attr *key, *value;
        if (keys.n) TN_TRY(tn_parse_expect(p, ","));
        tn_parse_peek(p);
        const char *where = p->at;
        TN_TRY(tn_parse_attr(p, &key));
        if (key->kind != TN_ATTR_KIND_STRING || strlen(key->string.data) != key->string.size)
            return tn_parse_error(p, where,
                                  "the key of a dictionary should be a string without zeros");
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(tn_parse_attr(p, &value));
        tn_parse_push(p, &keys, key->string.data);
        tn_parse_push(p, &values, value);
    }
    tn_named_attr *pairs = TN_NEW_ARRAY(p->arena, tn_named_attr, keys.n);
    for (uint32_t i = 0; i < keys.n; i++)
        pairs[i] = (tn_named_attr){keys.items[i], values.items[i]};
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_DICT);
    x->dict.pairs = pairs;
    x->dict.n = keys.n;
    *out = x;
    return NULL;
}

/* Attributes that only wrap one of MLIR's own, and the kinds it may have. */
static const struct {
    const char *name;
    tn_attr_kind kinds[3];
} wrappers[] = {{"array", {TN_ATTR_KIND_LIST, TN_ATTR_KIND_LIST, TN_ATTR_KIND_LIST}},
                {"bool", {TN_ATTR_KIND_BOOL, TN_ATTR_KIND_BOOL, TN_ATTR_KIND_BOOL}},
                {"float", {TN_ATTR_KIND_FLOAT, TN_ATTR_KIND_FLOAT, TN_ATTR_KIND_FLOAT}},
                {"integer", {TN_ATTR_KIND_INT, TN_ATTR_KIND_BOOL, TN_ATTR_KIND_INT}},
                {"string", {TN_ATTR_KIND_STRING, TN_ATTR_KIND_STRING, TN_ATTR_KIND_STRING}},
                {"tensor", {TN_ATTR_KIND_TENSOR, TN_ATTR_KIND_BOOLS, TN_ATTR_KIND_INTS}},
                {"type", {TN_ATTR_KIND_TYPE, TN_ATTR_KIND_TYPE, TN_ATTR_KIND_TYPE}}};
enum { N_WRAPPERS = sizeof wrappers / sizeof *wrappers };

static tn_status *parse_wrapped(tn_parser *p, const char *where, size_t which, const tn_attr **out)
{
    TN_TRY(tn_parse_attr(p, out));
    for (int k = 0; k < 3; k++)
        if ((*out)->kind == wrappers[which].kinds[k]) return NULL;
    return tn_parse_error(p, where, "#vhlo.%s_v1 of another kind", wrappers[which].name);
}

tn_status *tn_parse_vhlo_attr(tn_parser *p, const char *s, size_t n, bool bare, const tn_attr **out)
{
    const char *where = s;
    size_t known = without_version(s, n);
    for (size_t i = 0; i <= N_WRAPPERS; i++) {
        bool dict = i == N_WRAPPERS;
        if (!tn_parse_is(s, known, dict ? "dict" : wrappers[i].name)) continue;
        TN_TRY(tn_parse_expect(p, "<"));
        if (dict) TN_TRY(parse_dict(p, out));
        else TN_TRY(parse_wrapped(p, where, i, out));
        TN_TRY(tn_parse_expect(p, ">"));
        return bare ? tn_parse_expect(p, ">") : NULL;
    }
    /* The rest is written as StableHLO's attribute of that name is. */
    return tn_parse_stablehlo_attr(p, where, s, known, bare, out);
}
