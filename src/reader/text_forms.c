/* SPDX-License-Identifier: Apache-2.0 */
/* Ops in their own form: a small language of formats (text_forms.def) and its interpreter. Pieces
 * with a function of their own stand in text_pieces.c. */
#include <stdio.h>
#include <string.h>

#include "reader/properties.h"
#include "reader/text_pieces.h"
#include "reader/types.h"

typedef enum {
    NO_FORM,
    SAME,
    FUNCTION,
    RESULT,
    PAIRS,
    RETURNED,
    SELECT,
    COMPLEX,
    TUPLE,
    OPERAND,
    NOTHING
} type_form;

typedef struct {
    const char *format;
    type_form types;
} form;

static const form elementwise_forms[4] = {
    {NULL, NO_FORM}, {"%", SAME}, {"% , %", SAME}, {"% , % , %", SAME}};
static const form forms[TN_OP_COUNT] = {
#define FORM(op, format, types) [TN_OP_##op] = {format, types},
#include "reader/text_forms.def"
};

/* --- types --- */

/* One type for each operand and for the one result. */
static tn_status *take_same(tn_parser *p, tn_parse_op *o, const tn_type *t)
{
    const tn_type **types = TN_NEW_ARRAY(p->arena, const tn_type *, o->operands.n);
    for (uint32_t i = 0; i < o->operands.n; i++) types[i] = t;
    return tn_parse_take_types(p, o, types, o->operands.n, &t, 1);
}

static tn_status *take_list(tn_parser *p, tn_parse_op *o, bool as_results)
{
    tn_parse_list types = {0};
    TN_TRY(tn_parse_type_list(p, &types));
    const tn_type *const *t = (const tn_type *const *)types.items;
    return tn_parse_take_types(p, o, t, types.n, t, as_results ? types.n : 0);
}

static tn_status *take_complex(tn_parser *p, tn_parse_op *o, const char *where, const tn_type *t)
{
    if (t->kind != TN_TYPE_TENSOR || !tn_is_complex(t->element))
        return tn_parse_error(p, where, "expected a tensor of complex numbers");
    tn_type *part = TN_NEW(p->arena, tn_type);
    *part = *t;
    part->element = tn_real_type(t->element);
    const tn_type *parts[2] = {part, part};
    return tn_parse_take_types(p, o, parts, 2, &t, 1);
}

static tn_status *parse_types(tn_parser *p, tn_parse_op *o, type_form types)
{
    const tn_type *t, *second[3];
    if (types == NOTHING) return NULL;
    if (types == RETURNED && !o->operands.n) return tn_parse_take_types(p, o, NULL, 0, NULL, 0);
    if (types == PAIRS && !o->operands.n && tn_parse_accept(p, "(")) {
        TN_TRY(tn_parse_expect(p, ")"));
        return tn_parse_take_types(p, o, NULL, 0, NULL, 0);
    }
    TN_TRY(tn_parse_expect(p, ":"));
    if (types == PAIRS || types == RETURNED) return take_list(p, o, types == PAIRS);
    char c = tn_parse_peek(p);
    const char *where = p->at;
    if (types == FUNCTION || c == '(') {
        TN_TRY(tn_parse_function_type(p, &t));
        return tn_parse_take_types(p, o, t->parts, t->n_inputs, t->parts + t->n_inputs,
                                   t->n_parts - t->n_inputs);
    }
    TN_TRY(tn_parse_type(p, &t));
    switch (types) {
    case RESULT: return tn_parse_take_types(p, o, NULL, 0, &t, 1);
    case SELECT:
        TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_type(p, &second[1]));
        second[0] = t;
        second[2] = second[1];
        return tn_parse_take_types(p, o, second, 3, &second[1], 1);
    case COMPLEX: return take_complex(p, o, where, t);
    case TUPLE:
        if (t->kind != TN_TYPE_TUPLE) return tn_parse_error(p, where, "expected a tuple type");
        return tn_parse_take_types(p, o, t->parts, t->n_parts, &t, 1);
    case OPERAND: return tn_parse_take_types(p, o, &t, 1, NULL, 0);
    default: return take_same(p, o, t);
    }
}

/* --- formats --- */

static tn_status *parse_bool(tn_parser *p, const tn_attr **out)
{
    bool yes = tn_parse_accept(p, "true");
    if (!yes && !tn_parse_accept(p, "false")) return tn_parse_expected(p, "'true' or 'false'");
    *out = tn_attr_bool(p->arena, yes);
    return NULL;
}

/* The attribute called `key` by its kind. */
static tn_status *parse_attr_by_kind(tn_parser *p, tn_parse_op *o, const char *key)
{
    const tn_op_info *info = &tn_op_infos[o->kind];
    const tn_property_target *want = NULL;
    const tn_attr *v;
    int64_t number;
    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (!strcmp(tn_attr_name_text(info->attrs[i]), key))
            want = &tn_property_targets[info->attrs[i]];
    if (!want) return TN_ERROR(INTERNAL, "the form of %s names %s", info->text, key);
    tn_parse_peek(p);
    const char *where = p->at;
    if (want->enumeration) {
        TN_TRY(tn_parse_enum(p, want->enumeration, &number));
        const tn_attr *item = tn_attr_int(p->arena, number);
        v = tn_parse_list_node(p, want->enumeration, 1, &item);
    } else if (want->kind == TN_ATTR_KIND_INTS) {
        TN_TRY(tn_parse_ints(p, &v));
    } else if (want->kind == TN_ATTR_KIND_INT) {
        TN_TRY(tn_parse_int(p, &number));
        v = tn_attr_int(p->arena, number);
    } else if (want->kind == TN_ATTR_KIND_BOOL) {
        TN_TRY(parse_bool(p, &v));
    } else {
        TN_TRY(tn_parse_attr(p, &v)); /* a string or symbol */
    }
    return tn_parse_set(p, o, where, key, v, true);
}

/* One word of a format; *stop when the rest is not there. */
static tn_status *parse_piece(tn_parser *p, tn_parse_op *o, const char *piece, bool *stop)
{
    if (!strcmp(piece, "%")) return tn_parse_operand(p, o);
    if (!strcmp(piece, "%*")) return tn_parse_operands(p, o);
    if (!strcmp(piece, "(%*)")) return tn_parse_operand_list(p, o);
    if (!strcmp(piece, "?,")) {
        *stop = !tn_parse_accept(p, ",");
        return NULL;
    }
    if (*piece == '$') return parse_attr_by_kind(p, o, piece + 1);
    if (*piece == '=' && piece[1]) return tn_parse_piece(p, o, piece + 1);
    return tn_parse_expect(p, piece);
}

tn_status *tn_parse_form(tn_parser *p, tn_parse_op *o)
{
    const tn_op_info *info = &tn_op_infos[o->kind];
    form f = forms[o->kind];
    if (!f.format && (info->traits & TN_TRAIT_ELEMENTWISE) && info->operands > 0)
        f = elementwise_forms[info->operands];
    if (!f.format)
        return tn_parse_error(p, o->where, "%s has no form of its own; expected \"%s\"(...)",
                              info->text, info->text);
    bool stop = false;
    for (const char *at = f.format; *at && !stop;) {
        char piece[40];
        size_t n = strcspn(at, " ");
        snprintf(piece, sizeof piece, "%.*s", (int)n, at);
        TN_TRY(parse_piece(p, o, piece, &stop));
        at += n;
        at += strspn(at, " ");
    }
    if (f.types == NOTHING) return NULL;
    TN_TRY(tn_parse_op_dict(p, o));
    return parse_types(p, o, f.types);
}
