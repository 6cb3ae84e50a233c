/* SPDX-License-Identifier: Apache-2.0 */
/* Ops in generic form, what all forms share, and regions. */
#include <inttypes.h>
#include <string.h>

#include "reader/op_names.h"
#include "reader/text_parser.h"

/* --- values --- */

tn_status *tn_parse_define(tn_parser *p, const char *where, const char *s, size_t n,
                           const tn_value *values, uint32_t count)
{
    if (tn_parse_names_find(&p->values, s, n))
        return tn_parse_error(p, where, "value %%%.*s is defined twice", (int)(n < 64 ? n : 64), s);
    tn_parse_names_add(p, &p->values, s, n, values, count);
    return NULL;
}

static tn_status *parse_value_name(tn_parser *p, const char **s, size_t *n)
{
    if (tn_parse_peek(p) != '%') return tn_parse_expected(p, "a value");
    p->at++;
    if (!tn_parse_suffix(p, s, n)) return tn_parse_expected(p, "the name of a value");
    return NULL;
}

tn_status *tn_parse_operand(tn_parser *p, tn_parse_op *o)
{
    const char *s;
    size_t n;
    int64_t index = 0;
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(parse_value_name(p, &s, &n));
    const tn_parse_name *name = tn_parse_names_find(&p->values, s, n);
    if (!name)
        return tn_parse_error(p, where, "value %%%.*s is not defined", (int)(n < 64 ? n : 64), s);
    if (p->at < p->end && *p->at == '#') {
        p->at++;
        TN_TRY(tn_parse_int(p, &index));
    }
    if (index < 0 || index >= name->n)
        return tn_parse_error(p, where, "value %%%.*s#%" PRId64 " of %" PRIu32,
                              (int)(n < 64 ? n : 64), s, index, name->n);
    tn_parse_push(p, &o->operands, (const tn_value *)name->data + index);
    tn_parse_push(p, &o->operand_places, where);
    return NULL;
}

tn_status *tn_parse_operands(tn_parser *p, tn_parse_op *o)
{
    while (tn_parse_peek(p) == '%') {
        TN_TRY(tn_parse_operand(p, o));
        if (!tn_parse_accept(p, ",")) return NULL;
    }
    return NULL;
}

tn_status *tn_parse_operand_list(tn_parser *p, tn_parse_op *o)
{
    TN_TRY(tn_parse_expect(p, "("));
    if (tn_parse_accept(p, ")")) return NULL;
    do TN_TRY(tn_parse_operand(p, o));
    while (tn_parse_accept(p, ","));
    return tn_parse_expect(p, ")");
}

/* --- types --- */

tn_status *tn_parse_take_types(tn_parser *p, tn_parse_op *o, const tn_type *const *operands,
                               uint32_t n_operands, const tn_type *const *results,
                               uint32_t n_results)
{
    char want[128], got[128];
    const char *text = tn_op_text(o->op);
    if (n_operands != o->operands.n)
        return tn_parse_error(p, o->where, "%s has %" PRIu32 " operands and types for %" PRIu32,
                              text, o->operands.n, n_operands);
    for (uint32_t i = 0; i < n_operands; i++) {
        const tn_value *v = o->operands.items[i];
        if (tn_type_equal(v->type, operands[i])) continue;
        return tn_parse_error(p, o->operand_places.items[i],
                              "operand %" PRIu32 " of %s is %s and its type says %s", i, text,
                              tn_type_format(v->type, got, sizeof got),
                              tn_type_format(operands[i], want, sizeof want));
    }
    o->op->n_results = n_results;
    o->op->results = TN_NEW_ARRAY(p->arena, tn_value, n_results);
    for (uint32_t i = 0; i < n_results; i++)
        o->op->results[i] = (tn_value){.type = results[i], .op = o->op, .index = i};
    return NULL;
}

tn_status *tn_parse_take_function_type(tn_parser *p, tn_parse_op *o)
{
    const tn_type *t;
    TN_TRY(tn_parse_expect(p, ":"));
    TN_TRY(tn_parse_function_type(p, &t));
    return tn_parse_take_types(p, o, t->parts, t->n_inputs, t->parts + t->n_inputs,
                               t->n_parts - t->n_inputs);
}

/* --- regions --- */

tn_status *tn_parse_arg(tn_parser *p, tn_parse_list *names, tn_parse_list *types)
{
    const tn_type *type;
    tn_parse_slice *name = TN_NEW(p->arena, tn_parse_slice);
    TN_TRY(parse_value_name(p, &name->text, &name->size));
    TN_TRY(tn_parse_expect(p, ":"));
    TN_TRY(tn_parse_type(p, &type));
    tn_parse_push(p, names, name);
    tn_parse_push(p, types, type);
    return NULL;
}

/* ^bb0(%a: type): if it comes next. */
static tn_status *parse_label(tn_parser *p, tn_parse_list *names, tn_parse_list *types)
{
    const char *s;
    size_t n;
    if (!tn_parse_accept(p, "^")) return NULL;
    if (!tn_parse_suffix(p, &s, &n)) return tn_parse_expected(p, "the name of a block");
    if (tn_parse_accept(p, "(") && !tn_parse_accept(p, ")")) {
        do {
            TN_TRY(tn_parse_arg(p, names, types));
            TN_TRY(tn_parse_skip_location(p));
        } while (tn_parse_accept(p, ","));
        TN_TRY(tn_parse_expect(p, ")"));
    }
    return tn_parse_expect(p, ":");
}

static tn_status *parse_body(tn_parser *p, const char *what, tn_region *r)
{
    while (!tn_parse_accept(p, "}")) {
        char c = tn_parse_peek(p);
        if (c == '^')
            return tn_parse_unsupported(p, p->at, "%s with a region of several blocks", what);
        if (!c) return tn_parse_expected(p, "'}'");
        if (r->last && tn_op_has_trait(r->last, TN_TRAIT_TERMINATOR))
            return tn_parse_error(p, p->at, "an op behind %s, which ends a block",
                                  tn_op_text(r->last));
        TN_TRY(tn_parse_one_op(p, r));
    }
    if (r->last && tn_op_has_trait(r->last, TN_TRAIT_TERMINATOR)) return NULL;
    return tn_parse_error(p, p->at - 1, "a region of %s does not end with a terminator", what);
}

tn_status *tn_parse_region(tn_parser *p, const char *what, tn_region *r, const tn_parse_list *names,
                           const tn_parse_list *types)
{
    tn_parse_list own_names = {0}, own_types = {0};
    const tn_parse_name *last = p->values.last;
    TN_TRY(tn_parse_enter(p));
    tn_parse_peek(p);
    const char *where = p->at;
    TN_TRY(tn_parse_expect(p, "{"));
    if (!names) {
        names = &own_names;
        types = &own_types;
        TN_TRY(parse_label(p, &own_names, &own_types));
    }
    tn_region_init(p->module, r, p->function, NULL, names->n);
    for (uint32_t i = 0; i < names->n; i++) {
        const tn_parse_slice *name = names->items[i];
        r->args[i].type = types->items[i];
        TN_TRY(tn_parse_define(p, where, name->text, name->size, &r->args[i], 1));
    }
    TN_TRY(parse_body(p, what, r));
    tn_parse_names_cut(&p->values, last);
    p->depth--;
    return NULL;
}

tn_region *tn_parse_new_region(tn_parser *p, tn_parse_op *o)
{
    tn_region *r = TN_NEW(p->arena, tn_region);
    tn_parse_push(p, &o->regions, r);
    return r;
}

/* Regions were read alone; here they come into the op's array. */
static void adopt_regions(tn_parser *p, tn_parse_op *o)
{
    tn_op *op = o->op;
    op->n_regions = o->regions.n;
    op->regions = TN_NEW_ARRAY(p->arena, tn_region, op->n_regions);
    for (uint32_t i = 0; i < op->n_regions; i++) {
        tn_region *r = &op->regions[i];
        *r = *(const tn_region *)o->regions.items[i];
        r->parent = op;
        for (uint32_t k = 0; k < r->n_args; k++) r->args[k].region = r;
        for (tn_op *inner = r->first; inner; inner = inner->next) {
            inner->region = r;
            for (uint32_t k = 0; k < inner->n_results; k++) inner->results[k].region = r;
        }
    }
}

/* --- ops --- */

uint32_t tn_parse_location(const tn_parser *p, const char *where)
{
    size_t place = (size_t)(where - p->begin) + 1;
    if (p->place) return p->place;
    return place <= UINT32_MAX ? (uint32_t)place : 0;
}

static tn_status *check_count(tn_parser *p, const tn_parse_op *o, const char *what, int expected,
                              uint32_t got)
{
    if (expected < 0 || got == (uint32_t)expected) return NULL;
    return tn_parse_error(p, o->where, "%s should have %d %s%s and has %" PRIu32, tn_op_text(o->op),
                          expected, what, expected == 1 ? "" : "s", got);
}

static tn_status *finish_op(tn_parser *p, tn_parse_op *o)
{
    tn_op *op = o->op;
    const tn_op_info *info = &tn_op_infos[op->kind];
    TN_TRY(check_count(p, o, "operand", info->operands, o->operands.n));
    TN_TRY(check_count(p, o, "result", info->results, op->n_results));
    TN_TRY(check_count(p, o, "region", info->regions, o->regions.n));
    TN_TRY(tn_parse_settle(p, o));
    op->n_operands = o->operands.n;
    op->operands = TN_NEW_ARRAY(p->arena, tn_value *, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++)
        op->operands[i] = (tn_value *)(uintptr_t)o->operands.items[i];
    adopt_regions(p, o);
    tn_parse_take_extra(p, o);
    op->location = tn_parse_location(p, o->where);
    return NULL;
}

static tn_status *find_op(tn_parser *p, const char *where, const char *s, size_t n, tn_parse_op *o)
{
    int shown = n < 100 ? (int)n : 100;
    const tn_parse_name *known = tn_parse_names_find(&p->ops, s, n);
    if (known) {
        o->kind = (tn_op_kind)known->n;
        return NULL;
    }
    if (n > 5 && !memcmp(s, "vhlo.", 5)) {
        o->form = tn_op_form_find(s, 4, s + 5, n - 5);
        if (!o->form || o->form->role != TN_ROLE_OP)
            return tn_parse_unsupported(p, where, "op %.*s is not supported", shown, s);
        o->kind = o->form->kind;
        return NULL;
    }
    if (n > 10 && !memcmp(s, "stablehlo.", 10))
        return tn_parse_error(p, where, "%.*s is no op of StableHLO", shown, s);
    if (!memchr(s, '.', n))
        return tn_parse_error(p, where, "expected an op, found '%.*s'", shown, s);
    return tn_parse_unsupported(p, where, "op %.*s is not supported", shown, s);
}

/* Behind the name: (%a) <{..}> ({..}) {..} : (types) -> types */
static tn_status *parse_generic(tn_parser *p, tn_parse_op *o)
{
    TN_TRY(tn_parse_operand_list(p, o));
    if (tn_parse_peek(p) == '[')
        return tn_parse_unsupported(
            p, p->at, "%s branches to blocks; regions of one block are read", tn_op_text(o->op));
    if (tn_parse_accept(p, "<")) {
        const tn_attr *dict;
        tn_parse_peek(p);
        const char *where = p->at;
        TN_TRY(tn_parse_dict(p, &dict));
        TN_TRY(tn_parse_set_all(p, o, where, dict, true));
        TN_TRY(tn_parse_expect(p, ">"));
    }
    if (tn_parse_accept(p, "(")) {
        do TN_TRY(tn_parse_region(p, tn_op_text(o->op), tn_parse_new_region(p, o), NULL, NULL));
        while (tn_parse_accept(p, ","));
        TN_TRY(tn_parse_expect(p, ")"));
    }
    TN_TRY(tn_parse_op_dict(p, o));
    return tn_parse_take_function_type(p, o);
}

/* The op that comes next, behind its results, up to its location. */
static tn_status *parse_op(tn_parser *p, const tn_region *r, tn_parse_op *o)
{
    const char *s;
    size_t n;
    bool generic = tn_parse_peek(p) == '"', done;
    o->where = p->at;
    if (generic) TN_TRY(tn_parse_string(p, &s, &n));
    else if (!tn_parse_word(p, &s, &n)) return tn_parse_expected(p, "an op");
    TN_TRY(tn_parse_chlo(p, o, s, n, generic, &done));
    if (done) {
        TN_TRY(tn_parse_skip_location(p));
        return finish_op(p, o);
    }
    TN_TRY(find_op(p, o->where, s, n, o));
    if (o->kind == TN_OP_return && r) {
        bool of_function = r == &r->function->body, says = n < 10 || !memcmp(s, "func.", 5);
        if (!of_function && says)
            return tn_parse_error(p, o->where, "expected stablehlo.return at the end of a region");
    }
    o->op = tn_op_new(p->module, o->kind, 0, 0, 0);
    if (generic) TN_TRY(parse_generic(p, o));
    else TN_TRY(tn_parse_form(p, o));
    TN_TRY(tn_parse_skip_location(p));
    return finish_op(p, o);
}

typedef struct {
    tn_parse_slice name;
    const char *where;
    int64_t count;
} result_name;

tn_status *tn_parse_one_op(tn_parser *p, tn_region *r)
{
    tn_parse_list names = {0};
    tn_parse_op o = {0};
    int64_t total = 0;
    if (tn_parse_peek(p) == '%') {
        do {
            result_name *x = TN_NEW(p->arena, result_name);
            tn_parse_peek(p);
            x->where = p->at;
            x->count = 1;
            TN_TRY(parse_value_name(p, &x->name.text, &x->name.size));
            if (tn_parse_accept(p, ":")) TN_TRY(tn_parse_int(p, &x->count));
            if (x->count < 1 || x->count > INT32_MAX)
                return tn_parse_error(p, x->where, "a value with %" PRId64 " results", x->count);
            total += x->count;
            tn_parse_push(p, &names, x);
        } while (tn_parse_accept(p, ","));
        TN_TRY(tn_parse_expect(p, "="));
    }
    TN_TRY(parse_op(p, r, &o));
    if (names.n && total != o.op->n_results)
        return tn_parse_error(p, o.where, "%s has %" PRIu32 " results and names for %" PRId64,
                              tn_op_text(o.op), o.op->n_results, total);
    tn_op_append(r, o.op);
    uint32_t at = 0;
    for (uint32_t i = 0; i < names.n; i++) {
        const result_name *x = names.items[i];
        TN_TRY(tn_parse_define(p, x->where, x->name.text, x->name.size, &o.op->results[at],
                               (uint32_t)x->count));
        at += (uint32_t)x->count;
    }
    return NULL;
}

tn_status *tn_parse_symbol_op(tn_parser *p)
{
    tn_parse_op o = {0};
    tn_module *m = p->module;
    TN_TRY(parse_op(p, NULL, &o));
    if (!tn_op_has_trait(o.op, TN_TRAIT_SYMBOL))
        return tn_parse_error(p, o.where, "%s stands outside of every function", tn_op_text(o.op));
    if (m->n_symbols == p->symbols_capacity) {
        p->symbols_capacity = p->symbols_capacity * 2 + 4;
        tn_op **symbols = TN_NEW_ARRAY(m->arena, tn_op *, p->symbols_capacity);
        if (m->n_symbols) memcpy(symbols, m->symbols, m->n_symbols * sizeof *symbols);
        m->symbols = symbols;
    }
    m->symbols[m->n_symbols++] = o.op;
    return NULL;
}
