/* SPDX-License-Identifier: Apache-2.0 */
/* The module and its functions, in MLIR's own and generic form. */
#include <inttypes.h>
#include <string.h>

#include "reader/ir_reader.h"
#include "reader/reader.h"
#include "reader/text_parser.h"

/* --- functions --- */

typedef struct {
    tn_parse_list names, types, dicts; /* of the arguments; dicts may be NULL */
    tn_parse_list result_types, result_dicts;
    const char *name;
    bool is_public;
    const tn_attr *attrs; /* DICT or NULL */
} signature;

/* {..} behind an argument or result; an empty one counts as none. */
static tn_status *parse_value_attrs(tn_parser *p, tn_parse_list *dicts)
{
    const tn_attr *dict = NULL;
    if (tn_parse_peek(p) == '{') TN_TRY(tn_parse_dict(p, &dict));
    if (dict && !dict->dict.n) dict = NULL;
    tn_parse_push(p, dicts, dict);
    return tn_parse_skip_location(p);
}

static tn_status *parse_args(tn_parser *p, signature *s)
{
    TN_TRY(tn_parse_expect(p, "("));
    while (!tn_parse_accept(p, ")")) {
        if (s->types.n) TN_TRY(tn_parse_expect(p, ","));
        if (tn_parse_peek(p) == '%') {
            TN_TRY(tn_parse_arg(p, &s->names, &s->types));
        } else { /* of a declaration */
            const tn_type *t;
            TN_TRY(tn_parse_type(p, &t));
            tn_parse_push(p, &s->types, t);
        }
        TN_TRY(parse_value_attrs(p, &s->dicts));
    }
    return NULL;
}

static tn_status *parse_results(tn_parser *p, signature *s)
{
    const tn_type *t;
    if (!tn_parse_accept(p, "->")) return NULL;
    if (!tn_parse_accept(p, "(")) {
        TN_TRY(tn_parse_type(p, &t));
        tn_parse_push(p, &s->result_types, t);
        tn_parse_push(p, &s->result_dicts, NULL);
        return NULL;
    }
    while (!tn_parse_accept(p, ")")) {
        if (s->result_types.n) TN_TRY(tn_parse_expect(p, ","));
        TN_TRY(tn_parse_type(p, &t));
        tn_parse_push(p, &s->result_types, t);
        TN_TRY(parse_value_attrs(p, &s->result_dicts));
    }
    return NULL;
}

static const tn_type *type_of(tn_parser *p, const signature *s)
{
    uint32_t n = s->types.n, n_results = s->result_types.n;
    const tn_type **parts = TN_NEW_ARRAY(p->arena, const tn_type *, n + n_results);
    for (uint32_t i = 0; i < n; i++) parts[i] = s->types.items[i];
    for (uint32_t i = 0; i < n_results; i++) parts[n + i] = s->result_types.items[i];
    tn_type *t = TN_NEW(p->arena, tn_type);
    *t = (tn_type){
        .kind = TN_TYPE_FUNCTION, .n_parts = n + n_results, .n_inputs = n, .parts = parts};
    return t;
}

static const tn_attr **dicts_of(tn_parser *p, const tn_parse_list *list)
{
    const tn_attr **dicts = TN_NEW_ARRAY(p->arena, const tn_attr *, list->n);
    for (uint32_t i = 0; i < list->n; i++) dicts[i] = list->items[i];
    return dicts;
}

static tn_function *add_function(tn_parser *p, const char *where, const signature *s)
{
    tn_function *f = tn_module_add_function(p->module, s->name, type_of(p, s));
    f->location = tn_parse_location(p, where);
    f->is_public = s->is_public;
    f->arg_attrs = dicts_of(p, &s->dicts);
    f->result_attrs = dicts_of(p, &s->result_dicts);
    if (s->attrs) {
        f->attrs = s->attrs->dict.pairs;
        f->n_attrs = s->attrs->dict.n;
    }
    p->function = f;
    return f;
}

/* A declaration is read and forgotten, as in bytecode, but for a mesh that it may hold. */
static tn_status *declare(tn_parser *p, const signature *s)
{
    tn_parse_declaration *d = TN_NEW(p->arena, tn_parse_declaration);
    *d = (tn_parse_declaration){s->name, s->attrs};
    tn_parse_push(p, &p->declarations, d);
    return tn_parse_skip_location(p);
}

/* Behind func.func. */
static tn_status *parse_function(tn_parser *p, const char *where)
{
    signature s = {0};
    s.is_public = !tn_parse_accept(p, "private");
    if (s.is_public && !tn_parse_accept(p, "public")) s.is_public = !tn_parse_accept(p, "nested");
    TN_TRY(tn_parse_symbol(p, &s.name));
    if (!*s.name) return tn_parse_error(p, where, "a function without a name");
    TN_TRY(parse_args(p, &s));
    TN_TRY(parse_results(p, &s));
    if (tn_parse_accept(p, "attributes")) TN_TRY(tn_parse_dict(p, &s.attrs));
    if (tn_parse_peek(p) != '{') return declare(p, &s);
    if (s.names.n != s.types.n)
        return tn_parse_error(p, where, "function @%.200s has arguments without names", s.name);
    tn_function *f = add_function(p, where, &s);
    TN_TRY(tn_parse_region(p, "func.func", &f->body, &s.names, &s.types));
    return tn_parse_skip_location(p);
}

/* --- generic form --- */

/* What functions and modules have in generic form: () <{..}> ({ before the region's body. */
static tn_status *open_generic(tn_parser *p, const tn_attr **properties)
{
    *properties = NULL;
    TN_TRY(tn_parse_expect(p, "("));
    TN_TRY(tn_parse_expect(p, ")"));
    if (tn_parse_accept(p, "<")) {
        TN_TRY(tn_parse_dict(p, properties));
        TN_TRY(tn_parse_expect(p, ">"));
    }
    return tn_parse_expect(p, "(");
}

/* ) {..} : () -> () behind it; what is no property. */
static tn_status *close_generic(tn_parser *p, const tn_attr **attrs)
{
    const tn_type *t;
    *attrs = NULL;
    TN_TRY(tn_parse_expect(p, ")"));
    if (tn_parse_peek(p) == '{') TN_TRY(tn_parse_dict(p, attrs));
    TN_TRY(tn_parse_expect(p, ":"));
    TN_TRY(tn_parse_function_type(p, &t));
    if (t->n_parts) return tn_parse_error(p, p->at, "expected the type () -> ()");
    return tn_parse_skip_location(p);
}

static tn_status *spread(tn_parser *p, const char *where, const tn_attr *list, uint32_t n,
                         tn_parse_list *out)
{
    if (list &&
        (list->kind != TN_ATTR_KIND_LIST || list->list.tag || (list->list.n && list->list.n != n)))
        return tn_parse_error(p, where,
                              "expected one dictionary of attributes for each of %" PRIu32
                              " arguments or results",
                              n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_attr *dict = list && list->list.n ? list->list.items[i] : NULL;
        if (dict && dict->kind != TN_ATTR_KIND_DICT)
            return tn_parse_error(p, where, "expected a dictionary of attributes");
        tn_parse_push(p, out, dict && dict->dict.n ? dict : NULL);
    }
    return NULL;
}

static bool says_public(const tn_attr *visibility)
{
    if (!visibility) return true;
    if (visibility->kind != TN_ATTR_KIND_STRING) return false;
    return !*visibility->string.data || !strcmp(visibility->string.data, "public");
}

static tn_status *read_signature(tn_parser *p, const char *where, const tn_attr *dict, signature *s)
{
    const tn_attr *name = tn_attr_get(dict, "sym_name"), *type = tn_attr_get(dict, "function_type");
    const tn_attr *visibility = tn_attr_get(dict, "sym_visibility");
    if (!name || name->kind != TN_ATTR_KIND_STRING || !name->string.size ||
        strlen(name->string.data) != name->string.size)
        return tn_parse_error(p, where, "a function should have a sym_name");
    if (!type || type->kind != TN_ATTR_KIND_TYPE || type->type->kind != TN_TYPE_FUNCTION)
        return tn_parse_error(p, where, "a function should have a function_type");
    const tn_type *t = type->type;
    s->name = name->string.data;
    s->is_public = says_public(visibility);
    for (uint32_t i = 0; i < t->n_parts; i++)
        tn_parse_push(p, i < t->n_inputs ? &s->types : &s->result_types, t->parts[i]);
    TN_TRY(spread(p, where, tn_attr_get(dict, "arg_attrs"), t->n_inputs, &s->dicts));
    return spread(p, where, tn_attr_get(dict, "res_attrs"), t->n_parts - t->n_inputs,
                  &s->result_dicts);
}

static bool is_empty_region(tn_parser *p)
{
    const char *before = p->at;
    if (tn_parse_accept(p, "{") && tn_parse_accept(p, "}")) return true;
    p->at = before;
    return false;
}

/* Before MLIR had properties, all attributes stood behind the region. */
static tn_status *look_behind_region(tn_parser *p, const tn_attr **properties)
{
    const char *region = p->at;
    TN_TRY(tn_parse_skip_brackets(p));
    TN_TRY(tn_parse_expect(p, ")"));
    if (tn_parse_peek(p) == '{') TN_TRY(tn_parse_dict(p, properties));
    p->at = region;
    return NULL;
}

/* What the signature has said already. */
static void set_rest(tn_parser *p, tn_function *f, const tn_attr *dict)
{
    static const char *const said[] = {"sym_name", "function_type", "sym_visibility", "arg_attrs",
                                       "res_attrs"};
    tn_named_attr *rest = TN_NEW_ARRAY(p->arena, tn_named_attr, dict ? dict->dict.n : 0);
    f->attrs = rest;
    f->n_attrs = 0;
    for (uint32_t i = 0; dict && i < dict->dict.n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof said / sizeof *said; k++)
            known |= !strcmp(dict->dict.pairs[i].key, said[k]);
        if (!known) rest[f->n_attrs++] = dict->dict.pairs[i];
    }
}

static tn_status *parse_generic_function(tn_parser *p, const char *where)
{
    signature s = {0};
    const tn_attr *properties;
    char got[128], want[128];
    TN_TRY(open_generic(p, &properties));
    if (!properties) TN_TRY(look_behind_region(p, &properties));
    TN_TRY(read_signature(p, where, properties, &s));
    if (is_empty_region(p)) {
        TN_TRY(close_generic(p, &s.attrs));
        return declare(p, &s);
    }
    tn_function *f = add_function(p, where, &s);
    TN_TRY(tn_parse_region(p, "func.func", &f->body, NULL, NULL));
    TN_TRY(close_generic(p, &s.attrs));
    set_rest(p, f, s.attrs);
    if (f->body.n_args != f->type->n_inputs)
        return tn_parse_error(p, where,
                              "function @%.200s has %" PRIu32 " arguments and its type %" PRIu32,
                              s.name, f->body.n_args, f->type->n_inputs);
    for (uint32_t i = 0; i < f->body.n_args; i++)
        if (!tn_type_equal(f->body.args[i].type, f->type->parts[i]))
            return tn_parse_error(p, where,
                                  "argument %" PRIu32 " of function @%.200s is %s and "
                                  "should be %s",
                                  i, s.name, tn_type_format(f->body.args[i].type, got, sizeof got),
                                  tn_type_format(f->type->parts[i], want, sizeof want));
    return NULL;
}

/* --- VHLO's form --- */

/* Behind vhlo.func_v1: @main(%a: type) -> (type) {..} {arg_attrs = .., ..}. A declaration has an
 * empty region and does not show its arguments. */
static tn_status *parse_vhlo_function(tn_parser *p, const char *where)
{
    signature s = {0};
    tn_function *f = NULL;
    TN_TRY(tn_parse_symbol(p, &s.name));
    if (!*s.name) return tn_parse_error(p, where, "a function without a name");
    TN_TRY(parse_args(p, &s));
    TN_TRY(parse_results(p, &s));
    if (!is_empty_region(p)) {
        if (s.names.n != s.types.n)
            return tn_parse_error(p, where, "function @%.200s has arguments without names", s.name);
        f = add_function(p, where, &s);
        TN_TRY(tn_parse_region(p, "vhlo.func_v1", &f->body, &s.names, &s.types));
    }
    if (tn_parse_peek(p) == '{') TN_TRY(tn_parse_dict(p, &s.attrs));
    if (!f) return declare(p, &s);
    f->is_public = says_public(tn_attr_get(s.attrs, "sym_visibility"));
    s.dicts = s.result_dicts = (tn_parse_list){0};
    TN_TRY(spread(p, where, tn_attr_get(s.attrs, "arg_attrs"), s.types.n, &s.dicts));
    TN_TRY(spread(p, where, tn_attr_get(s.attrs, "res_attrs"), s.result_types.n, &s.result_dicts));
    f->arg_attrs = dicts_of(p, &s.dicts);
    f->result_attrs = dicts_of(p, &s.result_dicts);
    set_rest(p, f, s.attrs);
    return tn_parse_skip_location(p);
}

/* --- the module --- */

static tn_status *parse_alias(tn_parser *p)
{
    const char *s, *where = p->at;
    size_t n;
    bool is_type = *p->at++ == '!';
    if (!tn_parse_suffix(p, &s, &n)) return tn_parse_expected(p, "the name of an alias");
    TN_TRY(tn_parse_expect(p, "="));
    tn_parse_peek(p);
    const char *before = p->at;
    TN_TRY(tn_parse_skip_location(p));
    if (p->at != before) return NULL; /* locations are those in this text */
    tn_parse_names *names = is_type ? &p->type_aliases : &p->attr_aliases;
    if (tn_parse_names_find(names, s, n))
        return tn_parse_error(p, where, "alias %.*s is defined twice", (int)(n < 64 ? n : 64), s);
    const tn_type *t;
    const tn_attr *v;
    if (is_type) TN_TRY(tn_parse_type(p, &t));
    else TN_TRY(tn_parse_attr(p, &v));
    tn_parse_names_add(p, names, s, n, is_type ? (const void *)t : v, 1);
    return NULL;
}

static tn_status *parse_module_op(tn_parser *p)
{
    tn_parse_peek(p);
    const char *where = p->at;
    if (tn_parse_accept(p, "func.func")) return parse_function(p, where);
    if (tn_parse_accept(p, "vhlo.func_v1")) return parse_vhlo_function(p, where);
    if (tn_parse_accept(p, "\"func.func\"") || tn_parse_accept(p, "\"vhlo.func_v1\""))
        return parse_generic_function(p, where);
    if (tn_parse_accept(p, "module") || tn_parse_accept(p, "builtin.module") ||
        tn_parse_accept(p, "\"builtin.module\""))
        return tn_parse_unsupported(p, where, "a module in a module");
    return tn_parse_symbol_op(p);
}

static tn_status *parse_module_body(tn_parser *p)
{
    TN_TRY(tn_parse_expect(p, "{"));
    while (!tn_parse_accept(p, "}")) {
        if (!tn_parse_peek(p)) return tn_parse_expected(p, "'}'");
        TN_TRY(parse_module_op(p));
    }
    return NULL;
}

static void take_attrs(tn_module *m, const tn_attr *dict)
{
    if (!dict) return;
    m->attrs = dict->dict.pairs;
    m->n_attrs = dict->dict.n;
}

static tn_status *parse_module(tn_parser *p)
{
    const tn_attr *attrs = NULL;
    if (tn_parse_peek(p) == '@') TN_TRY(tn_parse_symbol(p, &p->module->name));
    if (tn_parse_accept(p, "attributes")) TN_TRY(tn_parse_dict(p, &attrs));
    take_attrs(p->module, attrs);
    TN_TRY(parse_module_body(p));
    return tn_parse_skip_location(p);
}

static tn_status *parse_generic_module(tn_parser *p)
{
    const tn_attr *properties, *attrs;
    TN_TRY(open_generic(p, &properties));
    const tn_attr *name = tn_attr_get(properties, "sym_name");
    if (name && name->kind == TN_ATTR_KIND_STRING) p->module->name = name->string.data;
    TN_TRY(tn_parse_expect(p, "{"));
    if (tn_parse_accept(p, "^bb0")) TN_TRY(tn_parse_expect(p, ":"));
    while (!tn_parse_accept(p, "}")) {
        if (!tn_parse_peek(p)) return tn_parse_expected(p, "'}'");
        TN_TRY(parse_module_op(p));
    }
    TN_TRY(close_generic(p, &attrs));
    take_attrs(p->module, attrs);
    return NULL;
}

/* Aliases may stand before and behind the module; functions without one stand in a module that is
 * not written. */
static tn_status *parse_top(tn_parser *p)
{
    enum { NOTHING, MODULE, OPS } seen = NOTHING;
    for (char c = tn_parse_peek(p); c; c = tn_parse_peek(p)) {
        const char *where = p->at;
        if (c == '#' || c == '!') {
            TN_TRY(parse_alias(p));
        } else if (c == '{') {
            return tn_parse_unsupported(p, where, "resources behind the module");
        } else if (seen == MODULE) {
            return tn_parse_expected(p, "the end behind the module");
        } else if (seen == NOTHING &&
                   (tn_parse_accept(p, "module") || tn_parse_accept(p, "builtin.module"))) {
            seen = MODULE;
            TN_TRY(parse_module(p));
        } else if (seen == NOTHING && tn_parse_accept(p, "\"builtin.module\"")) {
            seen = MODULE;
            TN_TRY(parse_generic_module(p));
        } else {
            seen = OPS;
            TN_TRY(parse_module_op(p));
        }
    }
    return seen == NOTHING ? tn_parse_expected(p, "a module") : NULL;
}

/* --- functions that the reader wrote --- */

void tn_parse_write(tn_parser *p, const tn_parse_op *o, const char *text)
{
    tn_parse_written_function *w = TN_NEW(p->arena, tn_parse_written_function);
    *w = (tn_parse_written_function){text, tn_parse_location(p, o->where)};
    tn_parse_push(p, &p->written, w);
}

static void enter_ops(tn_parser *p)
{
    static const struct {
        const char *text;
        tn_op_kind kind;
    } others[] = {{"func.return", TN_OP_return},
                  {"return", TN_OP_return},
                  {"call", TN_OP_call},
                  {"chlo.constant", TN_OP_constant},
                  {"chlo.tan", TN_OP_tan}};
    for (unsigned i = 1; i < TN_OP_COUNT; i++) {
        const char *text = tn_op_infos[i].text;
        tn_parse_names_add(p, &p->ops, text, strlen(text), NULL, i);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tn_parse_names_add(p, &p->ops, others[i].text, strlen(others[i].text), NULL,
                           others[i].kind);
}

tn_status *tn_parse_read_written(tn_parser *p)
{
    const tn_parser outer = *p;
    if (p->written.n && !p->ops.n) enter_ops(p);
    p->is_binary = false;
    for (uint32_t i = 0; i < p->written.n; i++) {
        const tn_parse_written_function *w = p->written.items[i];
        p->place = w->location;
        p->begin = p->at = w->text;
        p->end = p->begin + strlen(p->begin);
        TN_TRY(parse_module_op(p));
    }
    p->is_binary = outer.is_binary;
    p->begin = p->at = outer.begin;
    p->end = outer.end;
    return NULL;
}

/* --- places --- */

typedef struct {
    tn_locator as_locator; /* first */
    const char *begin;
} text_locator;

static const char *text_of_place(const tn_locator *l, tn_arena *a, uint32_t location)
{
    size_t line, column;
    if (!location) return NULL;
    const char *begin = ((const text_locator *)l)->begin;
    tn_parse_place(begin, begin + location - 1, &line, &column);
    return tn_printf(a, "%zu:%zu", line, column);
}

tn_status *tn_read_text(const char *data, size_t size, tn_arena *a, tn_module **out)
{
    tn_parser *p = TN_NEW(a, tn_parser);
    *p = (tn_parser){.begin = data, .at = data, .end = data + size, .arena = a};
    p->module = tn_module_new(a);
    text_locator *l = TN_NEW(a, text_locator);
    *l = (text_locator){{text_of_place}, data};
    p->module->locator = &l->as_locator;
    enter_ops(p);
    TN_TRY(parse_top(p));
    TN_TRY(tn_parse_read_written(p));
    TN_TRY(tn_parse_expand_groups(p));
    TN_TRY(tn_reader_finish(p->module));
    *out = p->module;
    return NULL;
}
