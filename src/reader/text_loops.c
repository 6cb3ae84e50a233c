/* SPDX-License-Identifier: Apache-2.0 */
/* The own forms of stablehlo.reduce and stablehlo.while, whose regions are written in ways of their
 * own. */
#include <string.h>

#include "reader/text_pieces.h"

/* --- reduce --- */

/* (%a init: %b), (%c init: %d): the inputs, then their initial values. */
static tn_status *parse_inputs(tn_parser *p, tn_parse_op *o)
{
    tn_parse_op inits = {0};
    do {
        TN_TRY(tn_parse_expect(p, "("));
        TN_TRY(tn_parse_operand(p, o));
        TN_TRY(tn_parse_expect(p, "init"));
        TN_TRY(tn_parse_expect(p, ":"));
        TN_TRY(tn_parse_operand(p, &inits));
        TN_TRY(tn_parse_expect(p, ")"));
    } while (tn_parse_accept(p, ","));
    for (uint32_t i = 0; i < inits.operands.n; i++) {
        tn_parse_push(p, &o->operands, inits.operands.items[i]);
        tn_parse_push(p, &o->operand_places, inits.operand_places.items[i]);
    }
    return NULL;
}

/* across dimensions = [0] {..} : types */
static tn_status *parse_rest(tn_parser *p, tn_parse_op *o)
{
    const tn_attr *v;
    TN_TRY(tn_parse_expect(p, "across"));
    TN_TRY(tn_parse_expect(p, "dimensions"));
    TN_TRY(tn_parse_expect(p, "="));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_ints(p, &v));
    TN_TRY(tn_parse_set(p, o, where, "dimensions", v, true));
    TN_TRY(tn_parse_op_dict(p, o));
    return tn_parse_take_function_type(p, o);
}

/* The region of two scalars and one op that `applies` stands for. */
static tn_status *make_body(tn_parser *p, tn_parse_op *o, const char *where, tn_op_kind kind)
{
    tn_module *m = p->module;
    const tn_op_info *info = &tn_op_infos[kind];
    const tn_type *operand = ((const tn_value *)o->operands.items[0])->type;
    if (info->operands != 2 || info->results != 1 || info->regions || info->n_attrs ||
        o->operands.n != 2)
        return tn_parse_error(p, where, "%s can't be applied here", info->text);
    if (operand->kind != TN_TYPE_TENSOR)
        return tn_parse_error(p, where, "a reduction of what is no tensor");
    tn_type *scalar = TN_NEW(p->arena, tn_type);
    *scalar = (tn_type){.kind = TN_TYPE_TENSOR,
                        .element = operand->element,
                        .dims = TN_NEW(p->arena, int64_t),
                        .quantization = operand->quantization};
    tn_region *r = tn_parse_new_region(p, o);
    tn_region_init(m, r, p->function, NULL, 2);
    tn_op *op = tn_op_new(m, kind, 2, 1, 0), *end = tn_op_new(m, TN_OP_return, 1, 0, 0);
    for (int i = 0; i < 2; i++) {
        r->args[i].type = scalar;
        op->operands[i] = &r->args[i];
    }
    op->results[0].type = scalar;
    end->operands[0] = &op->results[0];
    op->location = end->location = tn_parse_location(p, where);
    tn_op_append(r, op);
    tn_op_append(r, end);
    return NULL;
}

/* reducer(%a: t, %b: t) (%c: u, %d: u) {..}: pairs in the text, lists in the region. */
static tn_status *parse_reducer(tn_parser *p, tn_parse_op *o)
{
    tn_parse_list names[2] = {0}, types[2] = {0};
    TN_TRY(tn_parse_expect(p, "reducer"));
    while (tn_parse_accept(p, "(")) {
        for (int i = 0; i < 2; i++) {
            if (i) TN_TRY(tn_parse_expect(p, ","));
            TN_TRY(tn_parse_arg(p, &names[i], &types[i]));
            TN_TRY(tn_parse_skip_location(p));
        }
        TN_TRY(tn_parse_expect(p, ")"));
    }
    for (uint32_t i = 0; i < names[1].n; i++) {
        tn_parse_push(p, &names[0], names[1].items[i]);
        tn_parse_push(p, &types[0], types[1].items[i]);
    }
    return tn_parse_region(p, "stablehlo.reduce", tn_parse_new_region(p, o), &names[0], &types[0]);
}

tn_status *tn_parse_reduce(tn_parser *p, tn_parse_op *o)
{
    TN_TRY(parse_inputs(p, o));
    if (!tn_parse_accept(p, "applies")) {
        TN_TRY(parse_rest(p, o));
        return parse_reducer(p, o);
    }
    const char *s;
    size_t n;
    tn_parse_peek(p);
    const char *where = p->at;
    if (!tn_parse_word(p, &s, &n)) return tn_parse_expected(p, "an op");
    const tn_parse_name *known = tn_parse_names_find(&p->ops, s, n);
    if (!known)
        return tn_parse_error(p, where, "expected an op, found '%.*s'", (int)(n < 64 ? n : 64), s);
    TN_TRY(parse_rest(p, o));
    return make_body(p, o, where, (tn_op_kind)known->n);
}

/* --- while --- */

tn_status *tn_parse_while(tn_parser *p, tn_parse_op *o)
{
    static const char *const words[] = {"cond", "do"};
    tn_parse_list names = {0}, types = {0};
    TN_TRY(tn_parse_expect(p, "("));
    while (!tn_parse_accept(p, ")")) {
        tn_parse_slice *name = TN_NEW(p->arena, tn_parse_slice);
        if (names.n) TN_TRY(tn_parse_expect(p, ","));
        if (tn_parse_peek(p) != '%') return tn_parse_expected(p, "a value");
        p->at++;
        if (!tn_parse_suffix(p, &name->text, &name->size))
            return tn_parse_expected(p, "the name of a value");
        tn_parse_push(p, &names, name);
        TN_TRY(tn_parse_expect(p, "="));
        TN_TRY(tn_parse_operand(p, o));
    }
    if (names.n) {
        TN_TRY(tn_parse_expect(p, ":"));
        TN_TRY(tn_parse_type_list(p, &types));
    }
    const tn_type *const *t = (const tn_type *const *)types.items;
    TN_TRY(tn_parse_take_types(p, o, t, types.n, t, types.n));
    if (tn_parse_accept(p, "attributes")) TN_TRY(tn_parse_op_dict(p, o));
    for (int i = 0; i < 2; i++) {
        TN_TRY(tn_parse_expect(p, words[i]));
        TN_TRY(tn_parse_region(p, "stablehlo.while", tn_parse_new_region(p, o), &names, &types));
    }
    return NULL;
}
