/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/text_pieces.h"

#include <ctype.h>
#include <string.h>

/* --- helpers --- */

static tn_status *set_ints(tn_parser *p, tn_parse_op *o, const char *key)
{
    const tn_attr *v;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_ints(p, &v));
    return tn_parse_set(p, o, where, key, v, true);
}

tn_status *tn_parse_type_list(tn_parser *p, tn_parse_list *types)
{
    char c = tn_parse_peek(p);
    if (!types->n && !isalpha((unsigned char)c) && c != '!') return NULL;
    do {
        const tn_type *t;
        TN_TRY(tn_parse_type(p, &t));
        tn_parse_push(p, types, t);
    } while (tn_parse_accept(p, ","));
    return NULL;
}

/* --- slices, precisions --- */

/* [0:2, 1:4:2] */
static tn_status *parse_ranges(tn_parser *p, tn_parse_op *o)
{
    static const char *const keys[] = {"start_indices", "limit_indices", "strides"};
    enum { MOST = 64 };
    int64_t v[3][MOST];
    uint32_t n = 0;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_expect(p, "["));
    while (!tn_parse_accept(p, "]")) {
        if (n) TN_TRY(tn_parse_expect(p, ","));
        if (n == MOST) return tn_parse_error(p, p->at, "more than %d ranges", MOST);
        TN_TRY(tn_parse_int(p, &v[0][n]));
        TN_TRY(tn_parse_expect(p, ":"));
        TN_TRY(tn_parse_int(p, &v[1][n]));
        v[2][n] = 1;
        if (tn_parse_accept(p, ":")) TN_TRY(tn_parse_int(p, &v[2][n]));
        n++;
    }
    for (int i = 0; i < 3; i++)
        TN_TRY(tn_parse_set(p, o, where, keys[i], tn_attr_ints(p->arena, v[i], n), true));
    return NULL;
}

/* e5m10 */
static tn_status *parse_format(tn_parser *p, tn_parse_op *o)
{
    const char *s;
    size_t n;
    int64_t v[2] = {-1, -1};
    tn_parse_peek(p);
    const char *where = p->at;
    if (!tn_parse_word(p, &s, &n)) return tn_parse_expected(p, "a format like e5m10");
    size_t i = 0;
    for (int k = 0; k < 2; k++) {
        if (i >= n || s[i] != "em"[k]) break;
        for (i++; i < n && isdigit((unsigned char)s[i]) && v[k] < 1000000; i++)
            v[k] = (v[k] < 0 ? 0 : v[k]) * 10 + (s[i] - '0');
    }
    if (i != n || v[0] < 0 || v[1] < 0) {
        p->at = where;
        return tn_parse_expected(p, "a format like e5m10");
    }
    TN_TRY(tn_parse_set(p, o, where, "exponent_bits", tn_attr_int(p->arena, v[0]), true));
    return tn_parse_set(p, o, where, "mantissa_bits", tn_attr_int(p->arena, v[1]), true);
}

/* batching_dims = [0] x [0], contracting_dims = [1] x [0] */
static tn_status *parse_dot(tn_parser *p, tn_parse_op *o)
{
    if (tn_parse_accept(p, "batching_dims")) {
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(set_ints(p, o, "lhs_batching_dimensions"));
        TN_TRY(tn_parse_expect(p, "x"));
        TN_TRY(set_ints(p, o, "rhs_batching_dimensions"));
        TN_TRY(tn_parse_expect(p, ","));
    }
    TN_TRY(tn_parse_expect(p, "contracting_dims"));
    TN_TRY(tn_parse_expect(p, "="));
    TN_TRY(set_ints(p, o, "lhs_contracting_dimensions"));
    TN_TRY(tn_parse_expect(p, "x"));
    return set_ints(p, o, "rhs_contracting_dimensions");
}

/* precision = [DEFAULT, HIGHEST], algorithm = <...>; either may lack */
static tn_status *parse_precision(tn_parser *p, tn_parse_op *o)
{
    tn_parse_peek(p);
    const char *where = p->at;
    if (tn_parse_accept(p, "precision")) {
        tn_parse_list items = {0};
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(tn_parse_expect(p, "["));
        while (!tn_parse_accept(p, "]")) {
            int64_t v;
            if (items.n) TN_TRY(tn_parse_expect(p, ","));
            TN_TRY(tn_parse_enum(p, "precision", &v));
            tn_parse_push(p, &items, tn_attr_int(p->arena, v));
        }
        const tn_attr *list =
            tn_parse_list_node(p, NULL, items.n, (const tn_attr *const *)items.items);
        TN_TRY(tn_parse_set(p, o, where, "precision_config", list, true));
        if (o->kind != TN_OP_dot_general || !tn_parse_accept(p, ",")) return NULL;
    }
    tn_parse_peek(p);
    where = p->at;
    if (o->kind != TN_OP_dot_general) return tn_parse_expected(p, "'precision'");
    if (!tn_parse_accept(p, "algorithm")) return tn_parse_expected(p, "'precision' or 'algorithm'");
    TN_TRY(tn_parse_expect(p, "="));
    const tn_attr *fields;
    TN_TRY(tn_parse_fields(p, &fields));
    return tn_parse_set(p, o, where, "algorithm",
                        tn_parse_list_node(p, "dot_algorithm", 1, &fields), true);
}

/* --- convolutions --- */

static tn_status *parse_conv_numbers(tn_parser *p, tn_parse_op *o)
{
    const tn_attr *dict;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_conv(p, &dict));
    return tn_parse_set_all(p, o, where, dict, true);
}

/* [[0, 1], [2, 3]] */
static tn_status *parse_pairs(tn_parser *p, const tn_attr **out)
{
    enum { MOST = 64 };
    int64_t v[2 * MOST];
    uint32_t n = 0;
    TN_TRY(tn_parse_expect(p, "["));
    while (!tn_parse_accept(p, "]")) {
        if (n) TN_TRY(tn_parse_expect(p, ","));
        if (n == MOST) return tn_parse_error(p, p->at, "more than %d paddings", MOST);
        TN_TRY(tn_parse_expect(p, "["));
        TN_TRY(tn_parse_int(p, &v[2 * n]));
        TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_int(p, &v[2 * n + 1]));
        TN_TRY(tn_parse_expect(p, "]"));
        n++;
    }
    *out = tn_parse_ints_node(p, tn_dup(p->arena, v, 2 * n * sizeof *v), 2 * n, n);
    return NULL;
}

static tn_status *parse_reverse(tn_parser *p, const tn_attr **out)
{
    enum { MOST = 64 };
    bool v[MOST];
    uint32_t n = 0;
    TN_TRY(tn_parse_expect(p, "["));
    while (!tn_parse_accept(p, "]")) {
        if (n) TN_TRY(tn_parse_expect(p, ","));
        if (n == MOST) return tn_parse_error(p, p->at, "more than %d reversals", MOST);
        uint8_t yes;
        TN_TRY(tn_parse_element(p, TN_I1, &yes));
        v[n++] = yes != 0;
    }
    tn_attr *x = tn_parse_node(p, TN_ATTR_KIND_BOOLS);
    x->bools.data = tn_dup(p->arena, v, n * sizeof *v);
    x->bools.n = n;
    *out = x;
    return NULL;
}

/* {stride = [2, 1], pad = [[0, 1], [0, 0]], lhs_dilate = .., rhs_dilate = .., reverse = ..} */
static tn_status *parse_window(tn_parser *p, tn_parse_op *o)
{
    static const struct {
        const char *text, *key;
        tn_status *(*parse)(tn_parser *p, const tn_attr **out);
    } parts[] = {{"stride", "window_strides", tn_parse_ints},
                 {"pad", "padding", parse_pairs},
                 {"lhs_dilate", "lhs_dilation", tn_parse_ints},
                 {"rhs_dilate", "rhs_dilation", tn_parse_ints},
                 {"reverse", "window_reversal", parse_reverse}};
    enum { N_PARTS = sizeof parts / sizeof *parts };
    bool any = false;
    TN_TRY(tn_parse_expect(p, "{"));
    while (!tn_parse_accept(p, "}")) {
        if (any) TN_TRY(tn_parse_expect(p, ","));
        any = true;
        size_t i = 0;
        tn_parse_peek(p);
        const char *where = p->at;
        while (i < N_PARTS && !tn_parse_accept(p, parts[i].text)) i++;
        if (i == N_PARTS)
            return tn_parse_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
        const tn_attr *v;
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(parts[i].parse(p, &v));
        TN_TRY(tn_parse_set(p, o, where, parts[i].key, v, true));
    }
    return NULL;
}

/* --- constants, calls, casts --- */

static tn_status *parse_constant(tn_parser *p, tn_parse_op *o)
{
    const tn_attr *v;
    const tn_type *t;
    if (tn_parse_accept(p, "(")) { /* an older form, with the value among the attributes */
        TN_TRY(tn_parse_expect(p, ")"));
        if (tn_parse_accept(p, "<")) {
            TN_TRY(tn_parse_op_dict(p, o));
            TN_TRY(tn_parse_expect(p, ">"));
        }
        TN_TRY(tn_parse_op_dict(p, o));
        return tn_parse_take_function_type(p, o);
    }
    TN_TRY(tn_parse_op_dict(p, o));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_attr(p, &v));
    if (v->kind != TN_ATTR_KIND_TENSOR) return tn_parse_error(p, where, "expected dense<...>");
    TN_TRY(tn_parse_set(p, o, where, "value", v, true));
    t = v->tensor.type;
    return tn_parse_take_types(p, o, NULL, 0, &t, 1);
}

static tn_status *parse_target(tn_parser *p, tn_parse_op *o)
{
    const char *name;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_symbol(p, &name));
    return tn_parse_set(p, o, where, "call_target_name",
                        tn_attr_string(p->arena, name, strlen(name)), true);
}

/* %a, %b : types to types */
static tn_status *parse_cast(tn_parser *p, tn_parse_op *o)
{
    tn_parse_list from = {0}, to = {0};
    TN_TRY(tn_parse_operands(p, o));
    TN_TRY(tn_parse_op_dict(p, o));
    if (o->operands.n) {
        TN_TRY(tn_parse_expect(p, ":"));
        TN_TRY(tn_parse_type_list(p, &from));
    }
    TN_TRY(tn_parse_expect(p, "to"));
    TN_TRY(tn_parse_type_list(p, &to));
    TN_TRY(tn_parse_take_types(p, o, (const tn_type *const *)from.items, from.n,
                               (const tn_type *const *)to.items, to.n));
    return tn_parse_op_dict(p, o);
}

/* --- sdy --- */

/* The attribute `key` in the form of `kind`. */
static tn_status *set_sdy(tn_parser *p, tn_parse_op *o, const char *key, const char *kind)
{
    const tn_attr *v;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_sdy(p, kind, strlen(kind), &v));
    return tn_parse_set(p, o, where, key, v, true);
}

static tn_status *parse_direction(tn_parser *p, tn_parse_op *o)
{
    static const char *const names[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
    tn_parse_peek(p);
    const char *where = p->at;
    for (int i = 0; i < 4; i++)
        if (tn_parse_accept(p, names[i]))
            return tn_parse_set(p, o, where, "allowed_direction", tn_attr_int(p->arena, i), true);
    return tn_parse_expected(p, "NONE, FORWARD, BACKWARD or BOTH");
}

/* in_shardings=[..] and so on, if it comes next. */
static tn_status *parse_setting(tn_parser *p, tn_parse_op *o, const char *key, const char *kind)
{
    if (!tn_parse_accept(p, key)) return NULL;
    TN_TRY(tn_parse_expect(p, "="));
    return set_sdy(p, o, key, kind);
}

/* (%arg1: type, ...) {...} {attributes} : (types) -> types */
static tn_status *parse_computation(tn_parser *p, tn_parse_op *o)
{
    tn_parse_list names = {0}, types = {0};
    TN_TRY(parse_setting(p, o, "in_shardings", "shardings"));
    TN_TRY(parse_setting(p, o, "out_shardings", "shardings"));
    if (o->kind == TN_OP_sdy_manual_computation)
        TN_TRY(parse_setting(p, o, "manual_axes", "manual_axes"));
    TN_TRY(tn_parse_expect(p, "("));
    while (!tn_parse_accept(p, ")")) {
        if (names.n) TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_arg(p, &names, &types));
        TN_TRY(tn_parse_skip_location(p));
    }
    TN_TRY(tn_parse_region(p, tn_op_text(o->op), tn_parse_new_region(p, o), &names, &types));
    TN_TRY(tn_parse_op_dict(p, o));
    return tn_parse_take_function_type(p, o);
}

static tn_status *parse_manual(tn_parser *p, tn_parse_op *o)
{
    TN_TRY(tn_parse_operand_list(p, o));
    return parse_computation(p, o);
}

static tn_status *parse_named(tn_parser *p, tn_parse_op *o)
{
    const char *s;
    size_t n;
    TN_TRY(tn_parse_expect(p, "<"));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_string(p, &s, &n));
    TN_TRY(tn_parse_set(p, o, where, "name", tn_attr_string(p->arena, s, n), true));
    TN_TRY(tn_parse_expect(p, ">"));
    return parse_manual(p, o);
}

static tn_status *parse_mesh(tn_parser *p, tn_parse_op *o)
{
    TN_TRY(set_sdy(p, o, "mesh", "mesh"));
    TN_TRY(tn_parse_op_dict(p, o));
    return tn_parse_take_types(p, o, NULL, 0, NULL, 0);
}

/* --- by name --- */

tn_status *tn_parse_piece(tn_parser *p, tn_parse_op *o, const char *name)
{
    static const struct {
        const char *name;
        tn_status *(*parse)(tn_parser *p, tn_parse_op *o);
    } pieces[] = {{"ranges", parse_ranges},     {"format", parse_format},
                  {"dot", parse_dot},           {"precision", parse_precision},
                  {"conv", parse_conv_numbers}, {"window", parse_window},
                  {"constant", parse_constant}, {"target", parse_target},
                  {"cast", parse_cast},         {"reduce", tn_parse_reduce},
                  {"while", tn_parse_while},    {"direction", parse_direction},
                  {"manual", parse_manual},     {"named", parse_named},
                  {"mesh", parse_mesh}};
    static const struct {
        const char *key, *kind;
    } attrs[] = {{"sharding", "sharding"},
                 {"out_sharding", "sharding"},
                 {"gathering_axes", "list_of_axis_ref_lists"},
                 {"slicing_axes", "list_of_axis_ref_lists"},
                 {"reduction_axes", "axis_ref_list"}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (!strcmp(pieces[i].name, name)) return pieces[i].parse(p, o);
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        if (!strcmp(attrs[i].key, name)) return set_sdy(p, o, name, attrs[i].kind);
    return TN_ERROR(INTERNAL, "the form of %s names the piece %s", tn_op_text(o->op), name);
}
