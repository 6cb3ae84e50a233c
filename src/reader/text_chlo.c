/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/text_chlo.h"

#include <inttypes.h>
#include <string.h>

/* --- what an op becomes --- */

static const struct {
    const char *name;
    tn_chlo_expand *expand; /* NULL: a custom call */
} known[] = {
    {"acos", tn_chlo_function},
    {"acosh", tn_chlo_function},
    {"asin", tn_chlo_function},
    {"asinh", tn_chlo_function},
    {"atan", tn_chlo_function},
    {"atanh", tn_chlo_function},
    {"bessel_i1e", NULL},
    {"broadcast_add", tn_chlo_broadcast},
    {"broadcast_and", tn_chlo_broadcast},
    {"broadcast_atan2", tn_chlo_broadcast},
    {"broadcast_compare", tn_chlo_broadcast},
    {"broadcast_complex", tn_chlo_broadcast},
    {"broadcast_divide", tn_chlo_broadcast},
    {"broadcast_maximum", tn_chlo_broadcast},
    {"broadcast_minimum", tn_chlo_broadcast},
    {"broadcast_multiply", tn_chlo_broadcast},
    {"broadcast_next_after", tn_chlo_broadcast},
    {"broadcast_or", tn_chlo_broadcast},
    {"broadcast_polygamma", tn_chlo_broadcast},
    {"broadcast_power", tn_chlo_broadcast},
    {"broadcast_remainder", tn_chlo_broadcast},
    {"broadcast_select", tn_chlo_broadcast},
    {"broadcast_shift_left", tn_chlo_broadcast},
    {"broadcast_shift_right_arithmetic", tn_chlo_broadcast},
    {"broadcast_shift_right_logical", tn_chlo_broadcast},
    {"broadcast_subtract", tn_chlo_broadcast},
    {"broadcast_xor", tn_chlo_broadcast},
    {"broadcast_zeta", tn_chlo_broadcast},
    {"conj", tn_chlo_conj},
    {"constant_like", tn_chlo_constant_like},
    {"cosh", tn_chlo_function},
    {"digamma", NULL},
    {"erf", tn_chlo_function},
    {"erf_inv", tn_chlo_function},
    {"erfc", tn_chlo_function},
    {"is_inf", tn_chlo_is_inf},
    {"is_neg_inf", tn_chlo_is_inf},
    {"is_pos_inf", tn_chlo_is_inf},
    {"lgamma", NULL},
    {"mulhi", NULL},
    {"next_after", NULL},
    {"polygamma", NULL},
    {"ragged_dot", tn_chlo_ragged_dot},
    {"scan", tn_chlo_scan},
    {"sinh", tn_chlo_function},
    {"square", tn_chlo_square},
    {"top_k", tn_chlo_top_k},
    {"zeta", NULL},
};

/* --- attributes and types --- */

const tn_attr *tn_chlo_attr(const tn_chlo_op *c, const char *key)
{
    const tn_attr *v = tn_attr_get(c->dict[0], key);
    return v ? v : tn_attr_get(c->dict[1], key);
}

int64_t tn_chlo_int(const tn_chlo_op *c, const char *key, int64_t otherwise)
{
    const tn_attr *v = tn_chlo_attr(c, key);
    if (v && v->kind == TN_ATTR_KIND_LIST && v->list.n == 1) v = v->list.items[0];
    if (v && v->kind == TN_ATTR_KIND_BOOL) return v->boolean;
    if (v && v->kind == TN_ATTR_KIND_UNIT) return 1;
    return v && v->kind == TN_ATTR_KIND_INT ? v->integer : otherwise;
}

const tn_type *tn_chlo_operand(const tn_parse_op *o, uint32_t i)
{
    return ((const tn_value *)o->operands.items[i])->type;
}

tn_status *tn_chlo_check_static(tn_parser *p, const tn_parse_op *o, const tn_chlo_op *c,
                                const tn_type *t)
{
    if (t->kind == TN_TYPE_TENSOR && tn_type_is_static(t) && !t->quantization) return NULL;
    char text[128];
    return tn_parse_unsupported(p, o->where, "chlo.%s of %s is not supported", c->name,
                                tn_type_format(t, text, sizeof text));
}

const tn_type *tn_chlo_tensor(tn_parser *p, tn_element_type e, uint32_t rank, const int64_t *dims)
{
    return tn_type_tensor(p->arena, e, rank, dims);
}

/* --- functions that are written --- */

void tn_chlo_begin(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c, tn_text *t, const char **name)
{
    *t = (tn_text){.arena = p->arena};
    *name = tn_printf(p->arena, "chlo.%s.expanded_%" PRIu32, c->name, p->written.n);
    tn_text_put(t, "func.func private @%s(", *name);
    for (uint32_t i = 0; i < o->operands.n; i++) {
        tn_text_put(t, "%s%%a%" PRIu32 ": ", i ? ", " : "", i);
        tn_text_type(t, tn_chlo_operand(o, i));
    }
    tn_text_put(t, ") -> (");
    for (uint32_t i = 0; i < o->op->n_results; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, o->op->results[i].type);
    }
    tn_text_put(t, ") {\n");
}

tn_status *tn_chlo_end(tn_parser *p, tn_parse_op *o, tn_text *t, const char *name,
                       const char *returned)
{
    tn_text_put(t, "return %s : ", returned);
    for (uint32_t i = 0; i < o->op->n_results; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, o->op->results[i].type);
    }
    tn_text_put(t, "\n}\n");
    tn_parse_write(p, o, tn_text_end(t));
    return tn_parse_set(p, o, o->where, "callee", tn_attr_string(p->arena, name, strlen(name)),
                        true);
}

void tn_chlo_signature(tn_text *t, const tn_type *const *in, uint32_t n, const tn_type *out)
{
    tn_text_put(t, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) tn_text_put(t, ", ");
        tn_text_type(t, in[i]);
    }
    tn_text_put(t, ") -> ");
    tn_text_type(t, out);
    tn_text_put(t, "\n");
}

/* --- the forms --- */

static tn_status *parse_optional_dict(tn_parser *p, const tn_attr **out)
{
    return tn_parse_peek(p) == '{' ? tn_parse_dict(p, out) : NULL;
}

const tn_attr *tn_chlo_pair(tn_parser *p, const char *key, int64_t value)
{
    tn_named_attr *pair = TN_NEW(p->arena, tn_named_attr);
    *pair = (tn_named_attr){key, tn_attr_int(p->arena, value)};
    tn_attr *dict = tn_parse_node(p, TN_ATTR_KIND_DICT);
    dict->dict.pairs = pair;
    dict->dict.n = 1;
    return dict;
}

/* A region that sees nothing of what is around it. */
static tn_status *parse_isolated(tn_parser *p, const tn_chlo_op *c, tn_region *r)
{
    const tn_parse_names outer = p->values;
    p->values = (tn_parse_names){0};
    TN_TRY(tn_parse_region(p, tn_printf(p->arena, "chlo.%s", c->name), r, NULL, NULL));
    p->values = outer;
    return NULL;
}

void tn_chlo_count_inputs(tn_chlo_op *c, uint32_t n_operands)
{
    const tn_attr *segments = tn_chlo_attr(c, "operandSegmentSizes");
    c->n_inputs = n_operands;
    if (segments && segments->kind == TN_ATTR_KIND_INTS && segments->ints.n &&
        segments->ints.data[0] >= 0 && segments->ints.data[0] <= n_operands)
        c->n_inputs = (uint32_t)segments->ints.data[0];
}

/* (%a) <{..}> ({..}) {..} : (types) -> types */
static tn_status *parse_generic(tn_parser *p, tn_parse_op *o, tn_chlo_op *c)
{
    TN_TRY(tn_parse_operand_list(p, o));
    if (tn_parse_accept(p, "<")) {
        TN_TRY(tn_parse_dict(p, &c->dict[0]));
        TN_TRY(tn_parse_expect(p, ">"));
    }
    if (tn_parse_accept(p, "(")) {
        c->region = TN_NEW(p->arena, tn_region);
        TN_TRY(parse_isolated(p, c, c->region));
        TN_TRY(tn_parse_expect(p, ")"));
    }
    TN_TRY(parse_optional_dict(p, &c->dict[1]));
    tn_chlo_count_inputs(c, o->operands.n);
    return tn_parse_take_function_type(p, o);
}

/* (%a) inits (%b) dimension=0 attributes {..} {..} : (types) -> types */
static tn_status *parse_scan(tn_parser *p, tn_parse_op *o, tn_chlo_op *c)
{
    int64_t dimension;
    TN_TRY(tn_parse_operand_list(p, o));
    c->n_inputs = o->operands.n;
    TN_TRY(tn_parse_expect(p, "inits"));
    TN_TRY(tn_parse_operand_list(p, o));
    TN_TRY(tn_parse_expect(p, "dimension"));
    TN_TRY(tn_parse_expect(p, "="));
    TN_TRY(tn_parse_int(p, &dimension));
    c->dict[0] = tn_chlo_pair(p, "dimension", dimension);
    if (tn_parse_accept(p, "attributes")) TN_TRY(tn_parse_dict(p, &c->dict[1]));
    c->region = TN_NEW(p->arena, tn_region);
    TN_TRY(parse_isolated(p, c, c->region));
    return tn_parse_take_function_type(p, o);
}

/* (%a, k = 3) {..} : type -> (types) */
static tn_status *parse_top_k(tn_parser *p, tn_parse_op *o, tn_chlo_op *c)
{
    const tn_type *in, *results;
    tn_parse_list types = {0};
    int64_t k;
    TN_TRY(tn_parse_expect(p, "("));
    TN_TRY(tn_parse_operand(p, o));
    TN_TRY(tn_parse_expect(p, ","));
    TN_TRY(tn_parse_expect(p, "k"));
    TN_TRY(tn_parse_expect(p, "="));
    TN_TRY(tn_parse_int(p, &k));
    c->dict[0] = tn_chlo_pair(p, "k", k);
    if (tn_parse_accept(p, ",")) { /* the sort is stable in any case */
        TN_TRY(tn_parse_expect(p, "is_stable"));
        TN_TRY(tn_parse_expect(p, "="));
        if (!tn_parse_accept(p, "true")) TN_TRY(tn_parse_expect(p, "false"));
    }
    TN_TRY(tn_parse_expect(p, ")"));
    TN_TRY(parse_optional_dict(p, &c->dict[1]));
    TN_TRY(tn_parse_expect(p, ":"));
    TN_TRY(tn_parse_type(p, &in));
    TN_TRY(tn_parse_expect(p, "->"));
    TN_TRY(tn_parse_expect(p, "("));
    do {
        TN_TRY(tn_parse_type(p, &results));
        tn_parse_push(p, &types, results);
    } while (tn_parse_accept(p, ","));
    TN_TRY(tn_parse_expect(p, ")"));
    return tn_parse_take_types(p, o, &in, 1, (const tn_type *const *)types.items, types.n);
}

/* %a, %b {..} : type, type -> type, or : (type, type) -> type */
static tn_status *parse_elementwise(tn_parser *p, tn_parse_op *o, tn_chlo_op *c)
{
    const tn_type *t;
    tn_parse_list types = {0};
    TN_TRY(tn_parse_operands(p, o));
    TN_TRY(parse_optional_dict(p, &c->dict[1]));
    if (tn_parse_accept(p, ":") && tn_parse_peek(p) == '(') {
        TN_TRY(tn_parse_function_type(p, &t));
        return tn_parse_take_types(p, o, t->parts, t->n_inputs, t->parts + t->n_inputs,
                                   t->n_parts - t->n_inputs);
    }
    do {
        TN_TRY(tn_parse_type(p, &t));
        tn_parse_push(p, &types, t);
    } while (tn_parse_accept(p, ","));
    TN_TRY(tn_parse_expect(p, "->"));
    TN_TRY(tn_parse_type(p, &t));
    return tn_parse_take_types(p, o, (const tn_type *const *)types.items, types.n, &t, 1);
}

bool tn_chlo_open(tn_parser *p, tn_parse_op *o, const char *name, size_t n, tn_chlo_op *c)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!tn_parse_is(name, n, known[i].name)) continue;
        *c = (tn_chlo_op){.name = known[i].name, .expand = known[i].expand};
        o->kind = !c->expand                   ? TN_OP_custom_call
                  : c->expand == tn_chlo_top_k ? TN_OP_composite
                                               : TN_OP_call;
        return true;
    }
    return false;
}

tn_status *tn_chlo_close(tn_parser *p, tn_parse_op *o, const tn_chlo_op *c)
{
    if (c->expand) return c->expand(p, o, c);
    const char *target = tn_printf(p->arena, "chlo.%s", c->name);
    return tn_parse_set(p, o, o->where, "call_target_name",
                        tn_attr_string(p->arena, target, strlen(target)), true);
}

tn_status *tn_parse_chlo(tn_parser *p, tn_parse_op *o, const char *s, size_t n, bool generic,
                         bool *done)
{
    tn_chlo_op c = {.name = "tan"};
    *done = false;
    if (n < 5 || memcmp(s, "chlo.", 5)) return NULL;
    bool tan = tn_parse_is(s, n, "chlo.tan") && !generic;
    if (tan) o->kind = TN_OP_tan;
    else if (!tn_chlo_open(p, o, s + 5, n - 5, &c))
        return NULL; /* one that is StableHLO's under another name, or none */
    *done = true;
    o->op = tn_op_new(p->module, o->kind, 0, 0, 0);
    if (tan) return parse_elementwise(p, o, &c);
    if (generic) TN_TRY(parse_generic(p, o, &c));
    else if (c.expand == tn_chlo_scan) TN_TRY(parse_scan(p, o, &c));
    else if (c.expand == tn_chlo_top_k) TN_TRY(parse_top_k(p, o, &c));
    else TN_TRY(parse_elementwise(p, o, &c));
    return tn_chlo_close(p, o, &c);
}
