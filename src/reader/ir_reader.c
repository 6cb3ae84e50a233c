/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/ir_reader.h"

#include <inttypes.h>
#include <string.h>

#include "reader/op_reader.h"
#include "reader/properties.h"
#include "reader/replica_groups.h"

/* --- functions --- */

enum { ARG_ATTRS, FUNCTION_TYPE, RES_ATTRS, SYM_NAME, SYM_VISIBILITY, N_FUNCTION_ATTRS };

static const struct {
    const char *key;
    tn_attr_kind kind;
} wanted[N_FUNCTION_ATTRS] = {{"arg_attrs", TN_ATTR_KIND_LIST},
                              {"function_type", TN_ATTR_KIND_TYPE},
                              {"res_attrs", TN_ATTR_KIND_LIST},
                              {"sym_name", TN_ATTR_KIND_STRING},
                              {"sym_visibility", TN_ATTR_KIND_STRING}};

/* What func.func may lack, and vhlo.func_v1 has in any case. */
static const tn_attr *default_of(unsigned i)
{
    static const tn_attr none = {.kind = TN_ATTR_KIND_LIST},
                         no_text = {.kind = TN_ATTR_KIND_STRING, .string = {.data = ""}};
    if (i == ARG_ATTRS || i == RES_ATTRS) return &none;
    return i == SYM_VISIBILITY ? &no_text : NULL;
}

static tn_status *read_function_attrs(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                      const tn_attr **attrs)
{
    tn_cursor record = h->record;
    const tn_attr *dict = r->b->version < 5 ? h->attrs : h->inherent;
    for (unsigned i = 0; i < N_FUNCTION_ATTRS; i++) {
        if (h->has_record) TN_TRY(tn_entry_read_attr(r->b, &record, &attrs[i]));
        else attrs[i] = tn_attr_get(dict, wanted[i].key);
        if (!attrs[i] && !strcmp(h->name->dialect, "func")) attrs[i] = default_of(i);
        if (!attrs[i]) return tn_cursor_error(c, "a function lacks its %s", wanted[i].key);
        if (attrs[i]->kind == wanted[i].kind) continue;
        if (attrs[i]->kind == TN_ATTR_KIND_LIST && attrs[i]->list.tag &&
            !strcmp(attrs[i]->list.tag, "unsupported"))
            return tn_cursor_unsupported(c, "a function's %s: %.300s", wanted[i].key,
                                         attrs[i]->list.items[0]->string.data);
        return tn_cursor_error(c, "a function's %s is of the wrong kind", wanted[i].key);
    }
    if (h->has_record) TN_TRY(tn_cursor_finish(&record, "a property record"));
    return NULL;
}

/* What else stands in the dictionary of a function. */
static void take_function_extra(tn_reader *r, const tn_attr *dict, tn_function *f)
{
    if (!dict) return;
    tn_named_attr *rest = TN_NEW_ARRAY(r->b->arena, tn_named_attr, dict->dict.n);
    for (uint32_t i = 0; i < dict->dict.n; i++) {
        bool inherent = false;
        for (unsigned k = 0; r->b->version < 5 && k < N_FUNCTION_ATTRS; k++)
            inherent = inherent || !strcmp(dict->dict.pairs[i].key, wanted[k].key);
        if (!inherent) rest[f->n_attrs++] = dict->dict.pairs[i];
    }
    f->attrs = rest;
}

/* One dictionary for each argument or result; an empty list stands for empty ones. */
static tn_status *spread(tn_reader *r, tn_cursor *c, const tn_attr *list, uint32_t n,
                         const char *function, const tn_attr ***out)
{
    *out = TN_NEW_ARRAY(r->b->arena, const tn_attr *, n);
    if (!list->list.n) return NULL;
    if (list->list.n != n || list->list.tag)
        return tn_cursor_error(
            c, "function %.200s: %" PRIu32 " dictionaries of attributes for %" PRIu32, function,
            list->list.n, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_attr *dict = list->list.items[i];
        if (dict->kind != TN_ATTR_KIND_DICT)
            return tn_cursor_error(c, "function %.200s: attributes that are no dictionary",
                                   function);
        if (dict->dict.n) (*out)[i] = dict;
    }
    return NULL;
}

static tn_status *check_signature(const tn_cursor *c, const tn_function *f)
{
    if (f->body.n_args != f->type->n_inputs)
        return tn_cursor_error(c, "function %.200s has %" PRIu32 " arguments and its type %" PRIu32,
                               f->name, f->body.n_args, f->type->n_inputs);
    for (uint32_t i = 0; i < f->body.n_args; i++) {
        char got[128], want[128];
        if (tn_type_equal(f->body.args[i].type, f->type->parts[i])) continue;
        return tn_cursor_error(c, "argument %" PRIu32 " of function %.200s is %s and should be %s",
                               i, f->name, tn_type_format(f->body.args[i].type, got, sizeof got),
                               tn_type_format(f->type->parts[i], want, sizeof want));
    }
    return NULL;
}

static void declare(tn_reader *r, const char *name, const tn_attr *attrs)
{
    tn_reader_declaration *d = TN_NEW(r->b->arena, tn_reader_declaration);
    *d = (tn_reader_declaration){r->declarations, name, attrs};
    r->declarations = d;
}

static tn_status *read_function(tn_reader *r, tn_cursor *c, const tn_reader_head *h)
{
    const tn_attr *attrs[N_FUNCTION_ATTRS];
    TN_TRY(read_function_attrs(r, c, h, attrs));
    const tn_type *type = attrs[FUNCTION_TYPE]->type;
    const char *name = attrs[SYM_NAME]->string.data;
    const char *visibility = attrs[SYM_VISIBILITY]->string.data;
    if (type->kind != TN_TYPE_FUNCTION)
        return tn_cursor_error(c, "the type of function %.200s is no function type", name);
    if (!*name || strlen(name) != attrs[SYM_NAME]->string.size)
        return tn_cursor_error(c, "a function's name should be a string without zeros");
    if (h->n_regions != 1 || h->n_results || h->n_operands)
        return tn_cursor_error(c, "function %.200s should have one region alone", name);
    tn_cursor body;
    unsigned scope;
    TN_TRY(tn_reader_open_regions(r, c, h, &body, &scope));
    tn_cursor ahead = body;
    if (tn_cursor_varint(&ahead) == 0 && !ahead.expected) {
        declare(r, name, h->attrs);
        body = ahead;
        return tn_reader_close_regions(r, c, h, &body, scope);
    }
    tn_function *f = tn_module_add_function(r->m, name, type);
    f->location = h->location;
    take_function_extra(r, h->attrs, f);
    f->is_public = !strcmp(visibility, "") || !strcmp(visibility, "public");
    TN_TRY(spread(r, c, attrs[ARG_ATTRS], type->n_inputs, name, &f->arg_attrs));
    TN_TRY(spread(r, c, attrs[RES_ATTRS], type->n_parts - type->n_inputs, name, &f->result_attrs));
    TN_ANNOTATE(tn_reader_read_region(r, &body, &f->body, f, NULL, h->name), "in function %.200s",
                name);
    TN_TRY(check_signature(&body, f));
    return tn_reader_close_regions(r, c, h, &body, scope);
}

/* --- the module --- */

static void add_symbol(tn_reader *r, tn_op *op)
{
    tn_module *m = r->m;
    if (m->n_symbols == r->symbols_capacity) {
        r->symbols_capacity = r->symbols_capacity * 2 + 4;
        tn_op **symbols = TN_NEW_ARRAY(m->arena, tn_op *, r->symbols_capacity);
        if (m->n_symbols) memcpy(symbols, m->symbols, m->n_symbols * sizeof *symbols);
        m->symbols = symbols;
    }
    m->symbols[m->n_symbols++] = op;
}

static tn_status *read_module_op(tn_reader *r, tn_cursor *c)
{
    tn_reader_head h;
    TN_TRY(tn_reader_read_head(r, c, &h));
    const tn_op_form *form = h.name->form;
    if (form->role == TN_ROLE_FUNCTION) return read_function(r, c, &h);
    if (form->role == TN_ROLE_MODULE) return tn_cursor_unsupported(c, "a module in a module");
    if (!(tn_op_infos[form->kind].traits & TN_TRAIT_SYMBOL))
        return tn_cursor_error(c, "%s.%s stands outside of every function", h.name->dialect,
                               h.name->name);
    tn_op *op;
    TN_TRY(tn_reader_make_op(r, c, &h, &op));
    add_symbol(r, op);
    return NULL;
}

static tn_status *read_module_name(tn_reader *r, const tn_reader_head *h)
{
    const tn_attr *name = NULL, *visibility;
    if (h->has_record) {
        tn_cursor record = h->record;
        TN_TRY(tn_entry_read_optional(r->b, &record, &name));
        TN_TRY(tn_entry_read_optional(r->b, &record, &visibility));
        TN_TRY(tn_cursor_finish(&record, "a property record"));
    } else {
        name = tn_attr_get(r->b->version < 5 ? h->attrs : h->inherent, "sym_name");
    }
    if (name && name->kind == TN_ATTR_KIND_STRING) r->m->name = name->string.data;
    return NULL;
}

/* --- replica groups by mesh --- */

static tn_status *find_mesh(tn_reader *r, const char *symbol, const tn_attr **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < r->m->n_symbols; i++)
        if (!strcmp(tn_op_string(r->m->symbols[i], TN_ATTR_sym_name), symbol))
            *out = tn_op_attr(r->m->symbols[i], TN_ATTR_mesh);
    for (const tn_reader_declaration *d = r->declarations; d && !*out; d = d->next) {
        if (strcmp(d->name, symbol)) continue;
        const tn_attr *mesh = tn_attr_get(d->attrs, "stablehlo.mesh");
        if (!mesh) mesh = tn_attr_get(d->attrs, "mesh");
        if (mesh) TN_TRY(tn_properties_convert(r->b, &r->b->ir, TN_ATTR_mesh, mesh, out));
    }
    return NULL;
}

static tn_status *expand_replica_groups(tn_reader *r)
{
    for (const tn_reader_pending *p = r->pending; p; p = p->next) {
        const tn_attr *axes = tn_op_attr(p->op, TN_ATTR_replica_groups), *mesh = NULL, *groups;
        const char *symbol = tn_replica_groups_symbol(axes);
        if (symbol) TN_TRY(find_mesh(r, symbol, &mesh));
        if (symbol && !mesh)
            return TN_OP_ERROR(INVALID_ARGUMENT, p->op,
                               "replica groups over the mesh @%.100s, which "
                               "is not defined",
                               symbol);
        tn_replica_groups_budget budget = {r->b->size, &r->b->expanded};
        TN_ANNOTATE(tn_replica_groups_expand(r->b->arena, axes, mesh, &budget, &groups), "%s",
                    tn_op_text(p->op));
        tn_op_set_attr(r->m, p->op, TN_ATTR_replica_groups, groups);
    }
    return NULL;
}

/* Before version 5 the module's name stands among its attributes. */
static void take_module_attrs(tn_reader *r, const tn_attr *dict)
{
    if (!dict) return;
    tn_named_attr *rest = TN_NEW_ARRAY(r->b->arena, tn_named_attr, dict->dict.n);
    for (uint32_t i = 0; i < dict->dict.n; i++) {
        const char *key = dict->dict.pairs[i].key;
        bool inherent = !strcmp(key, "sym_name") || !strcmp(key, "sym_visibility");
        if (r->b->version >= 5 || !inherent) rest[r->m->n_attrs++] = dict->dict.pairs[i];
    }
    r->m->attrs = rest;
}

tn_status *tn_ir_read(tn_bytecode *b, tn_module *m)
{
    tn_reader *r = TN_NEW(b->arena, tn_reader);
    const char *file = (const char *)b->file;
    *r = (tn_reader){.b = b, .m = m, .values = {.arena = b->arena}};
    r->text = (tn_parser){.begin = file,
                          .at = file,
                          .end = file + b->size,
                          .is_binary = true,
                          .arena = b->arena,
                          .module = m};
    tn_cursor c = b->ir;
    bool has_args;
    uint64_t n_ops = tn_cursor_flagged(&c, &has_args);
    TN_TRY(tn_cursor_check(&c));
    if (n_ops != 1 || has_args)
        return tn_cursor_error(&c, "expected one builtin.module, found %" PRIu64 " ops", n_ops);
    tn_reader_head h;
    TN_TRY(tn_reader_read_head(r, &c, &h));
    if (h.name->form->role != TN_ROLE_MODULE || h.n_regions != 1 || h.n_results || h.n_operands)
        return tn_cursor_error(&c, "expected builtin.module with one region, found %s.%s",
                               h.name->dialect, h.name->name);
    TN_TRY(read_module_name(r, &h));
    take_module_attrs(r, h.attrs);
    tn_cursor body;
    unsigned scope;
    TN_TRY(tn_reader_open_regions(r, &c, &h, &body, &scope));
    TN_TRY(tn_reader_open_region(r, &body, h.name));
    n_ops = tn_cursor_flagged(&body, &has_args);
    TN_TRY(tn_cursor_check(&body));
    if (has_args) return tn_cursor_error(&body, "a module with block arguments");
    for (uint64_t i = 0; i < n_ops; i++) TN_TRY(read_module_op(r, &body));
    TN_TRY(tn_values_close(&r->values, &body));
    TN_TRY(tn_reader_close_regions(r, &c, &h, &body, scope));
    TN_TRY(tn_cursor_finish(&c, "the IR section"));
    TN_TRY(tn_parse_read_written(&r->text));
    return expand_replica_groups(r);
}
