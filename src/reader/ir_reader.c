/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/ir_reader.h"

#include <inttypes.h>
#include <string.h>

#include "reader/properties.h"
#include "reader/replica_groups.h"
#include "reader/values.h"

enum {
    HAS_ATTRS = 0x01,
    HAS_RESULTS = 0x02,
    HAS_OPERANDS = 0x04,
    HAS_SUCCESSORS = 0x08,
    HAS_REGIONS = 0x10,
    HAS_USE_LISTS = 0x20,
    HAS_PROPERTIES = 0x40
};

/* An op whose replica groups are given by a mesh that may stand further on. */
typedef struct pending {
    struct pending *next;
    tn_op *op;
} pending;

/* A function without a body: nothing to call, but its attributes may hold a mesh. */
typedef struct declaration {
    struct declaration *next;
    const char *name;
    const tn_attr *attrs; /* DICT or NULL */
} declaration;

typedef struct {
    tn_bytecode *b;
    tn_module *m;
    tn_value_scopes values;
    /* the result types and operands of the op being read */
    const tn_type **types;
    tn_value **operands;
    size_t types_capacity, operands_capacity;
    size_t symbols_capacity;
    pending *pending;
    declaration *declarations;
} ir;

/* What stands before an op's regions. */
typedef struct {
    const tn_op_name *name;
    uint32_t location;
    const tn_attr *attrs; /* DICT or NULL */
    bool has_record;
    tn_cursor record;        /* when has_record */
    const tn_attr *inherent; /* the dictionary of properties of an unregistered op, or NULL */
    size_t n_results, n_operands, n_regions;
    bool isolated;
} head;

static tn_status *read_region(ir *r, tn_cursor *c, tn_region *region, tn_function *f, tn_op *parent,
                              const tn_op_name *name);

/* --- heads --- */

/* Orders of uses mean nothing here. */
static tn_status *skip_use_lists(tn_cursor *c, size_t n_values)
{
    uint64_t n = n_values > 1 ? tn_cursor_varint(c) : 1;
    for (uint64_t i = 0; i < n && !c->expected; i++) {
        bool pairs;
        if (n_values > 1) tn_cursor_varint(c);
        uint64_t k = tn_cursor_flagged(c, &pairs);
        for (uint64_t j = 0; j < k && !c->expected; j++) tn_cursor_varint(c);
    }
    return tn_cursor_check(c);
}

static const tn_type **room_for_types(ir *r, size_t n)
{
    if (n > r->types_capacity) {
        r->types_capacity = n * 2 + 16;
        r->types = TN_NEW_ARRAY(r->b->arena, const tn_type *, r->types_capacity);
    }
    return r->types;
}

static tn_value **room_for_operands(ir *r, size_t n)
{
    if (n > r->operands_capacity) {
        r->operands_capacity = n * 2 + 16;
        r->operands = TN_NEW_ARRAY(r->b->arena, tn_value *, r->operands_capacity);
    }
    return r->operands;
}

static tn_status *read_name(ir *r, tn_cursor *c, head *h)
{
    uint64_t i = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (i >= r->b->n_ops) return tn_cursor_error(c, "op name %" PRIu64 " of %zu", i, r->b->n_ops);
    h->name = &r->b->ops[i];
    if (h->name->form) return NULL;
    if (!strcmp(h->name->dialect, "stablehlo") || !strcmp(h->name->dialect, "func"))
        return tn_cursor_unsupported(c,
                                     "op %s.%s: only portable artifacts (VHLO) are read, not plain "
                                     "StableHLO bytecode",
                                     h->name->dialect, h->name->name);
    return tn_cursor_unsupported(c, "op %s.%s is not supported", h->name->dialect, h->name->name);
}

static tn_status *read_properties_ref(ir *r, tn_cursor *c, head *h)
{
    if (h->name->registered) {
        uint64_t i = tn_cursor_varint(c);
        TN_TRY(tn_cursor_check(c));
        h->has_record = true;
        return tn_properties_record(r->b, c, i, &h->record);
    }
    TN_TRY(tn_entry_read_attr(r->b, c, &h->inherent));
    if (h->inherent->kind != TN_ATTR_KIND_DICT)
        return tn_cursor_error(c, "the properties of %s.%s should be a dictionary",
                               h->name->dialect, h->name->name);
    return NULL;
}

static tn_status *read_head(ir *r, tn_cursor *c, head *h)
{
    *h = (head){0};
    TN_TRY(read_name(r, c, h));
    unsigned mask = tn_cursor_byte(c);
    TN_TRY(tn_entry_read_index(r->b, c, &h->location));
    h->location++;
    if (mask & 0x80) return tn_cursor_error(c, "unknown bit in an op's mask %#x", mask);
    if (mask & HAS_ATTRS) {
        TN_TRY(tn_entry_read_attr(r->b, c, &h->attrs));
        if (h->attrs->kind != TN_ATTR_KIND_DICT)
            return tn_cursor_error(c, "the attributes of %s.%s should be a dictionary",
                                   h->name->dialect, h->name->name);
    }
    if (mask & HAS_PROPERTIES) {
        if (r->b->version < 5) return tn_cursor_error(c, "properties in bytecode before version 5");
        TN_TRY(read_properties_ref(r, c, h));
    }
    if (mask & HAS_RESULTS) {
        h->n_results = tn_cursor_count(c);
        const tn_type **types = room_for_types(r, h->n_results);
        for (size_t i = 0; i < h->n_results; i++) TN_TRY(tn_entry_read_type(r->b, c, &types[i]));
    }
    if (mask & HAS_OPERANDS) {
        h->n_operands = tn_cursor_count(c);
        tn_value **operands = room_for_operands(r, h->n_operands);
        for (size_t i = 0; i < h->n_operands; i++) {
            uint64_t number = tn_cursor_varint(c);
            TN_TRY(tn_cursor_check(c));
            TN_TRY(tn_values_find(&r->values, c, number, &operands[i]));
        }
    }
    if (mask & HAS_SUCCESSORS)
        return tn_cursor_unsupported(c, "%s.%s branches to blocks; regions of one block are read",
                                     h->name->dialect, h->name->name);
    if ((mask & HAS_USE_LISTS) && r->b->version >= 3) TN_TRY(skip_use_lists(c, h->n_results));
    if (mask & HAS_REGIONS) {
        uint64_t n = tn_cursor_flagged(c, &h->isolated);
        if (n > tn_cursor_left(c))
            return tn_cursor_error(c, "%" PRIu64 " regions in %zu bytes", n, tn_cursor_left(c));
        h->n_regions = n;
    }
    return tn_cursor_check(c);
}

/* Regions of an isolated op number their values anew, and stand in a section of their own. */
static tn_status *open_regions(ir *r, tn_cursor *c, const head *h, tn_cursor *body, unsigned *scope)
{
    enum { SECTION_IR = 4 };
    *scope = r->values.scope;
    *body = *c;
    if (!h->isolated || !h->n_regions) return NULL;
    r->values.scope = r->values.depth;
    if (r->b->version < 2) return NULL;
    unsigned id;
    TN_TRY(tn_bytecode_section(c, &id, body));
    if (id != SECTION_IR) return tn_cursor_error(c, "expected an IR section, found section %u", id);
    return NULL;
}

static tn_status *close_regions(ir *r, tn_cursor *c, const head *h, tn_cursor *body, unsigned scope)
{
    r->values.scope = scope;
    if (h->isolated && h->n_regions && r->b->version >= 2)
        return tn_cursor_finish(body, "the regions of an op");
    TN_TRY(tn_cursor_check(body));
    *c = *body;
    return NULL;
}

/* --- ops in regions --- */

static tn_status *check_count(const tn_cursor *c, const tn_op_name *name, const char *what,
                              int expected, size_t got)
{
    if (got > UINT32_MAX) return tn_cursor_error(c, "%zu %ss", got, what);
    if (expected < 0 || got == (size_t)expected) return NULL;
    return tn_cursor_error(c, "%s.%s should have %d %s%s and has %zu", name->dialect, name->name,
                           expected, what, expected == 1 ? "" : "s", got);
}

static tn_status *make_op(ir *r, tn_cursor *c, const head *h, tn_op **out)
{
    const tn_op_name *name = h->name;
    const tn_op_info *info = &tn_op_infos[name->form->kind];
    TN_TRY(check_count(c, name, "operand", info->operands, h->n_operands));
    TN_TRY(check_count(c, name, "result", info->results, h->n_results));
    TN_TRY(check_count(c, name, "region", info->regions, h->n_regions));
    tn_op *op = tn_op_new(r->m, name->form->kind, (uint32_t)h->n_operands, (uint32_t)h->n_results,
                          (uint32_t)h->n_regions);
    op->location = h->location;
    if (h->n_operands) memcpy(op->operands, r->operands, h->n_operands * sizeof *r->operands);
    for (size_t i = 0; i < h->n_results; i++) op->results[i].type = r->types[i];
    if (h->attrs && r->b->version >= 5) {
        op->extra = h->attrs->dict.pairs;
        op->n_extra = h->attrs->dict.n;
    }
    *out = op;
    if (h->has_record) {
        tn_cursor record = h->record;
        return tn_properties_read(r->b, name, &record, op);
    }
    if (r->b->version < 5) return tn_properties_from_dict(r->b, name, c, h->attrs, true, op);
    return tn_properties_from_dict(r->b, name, c, h->inherent, false, op);
}

static void note_replica_groups(ir *r, tn_op *op)
{
    if (!tn_op_has_trait(op, TN_TRAIT_COLLECTIVE)) return;
    const tn_attr *groups = tn_op_attr(op, TN_ATTR_replica_groups);
    if (!groups || !tn_replica_groups_by_axes(groups)) return;
    pending *p = TN_NEW(r->b->arena, pending);
    *p = (pending){r->pending, op};
    r->pending = p;
}

static tn_status *read_op(ir *r, tn_cursor *c, tn_region *region)
{
    head h;
    TN_TRY(read_head(r, c, &h));
    if (h.name->form->role != TN_ROLE_OP)
        return tn_cursor_unsupported(c, "%s.%s inside of a function", h.name->dialect,
                                     h.name->name);
    tn_op *op;
    TN_TRY(make_op(r, c, &h, &op));
    if (tn_op_has_trait(op, TN_TRAIT_SYMBOL))
        return tn_cursor_error(c, "%s inside of a function", tn_op_text(op));
    tn_op_append(region, op);
    note_replica_groups(r, op);
    for (uint32_t i = 0; i < op->n_results; i++)
        TN_TRY(tn_values_define(&r->values, c, &op->results[i]));
    if (!h.n_regions) return NULL;
    tn_cursor body;
    unsigned scope;
    TN_TRY(open_regions(r, c, &h, &body, &scope));
    for (uint32_t i = 0; i < op->n_regions; i++)
        TN_TRY(read_region(r, &body, &op->regions[i], region->function, op, h.name));
    return close_regions(r, c, &h, &body, scope);
}

static tn_status *read_args(ir *r, tn_cursor *c, tn_region *region, tn_function *f, tn_op *parent)
{
    size_t n = tn_cursor_count(c);
    TN_TRY(tn_cursor_check(c));
    tn_region_init(r->m, region, f, parent, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        tn_value *arg = &region->args[i];
        bool located = true;
        uint32_t location;
        if (r->b->version >= 4) {
            /* The flag sits in the type's index: read it as the tables do. */
            uint64_t index = tn_cursor_flagged(c, &located);
            TN_TRY(tn_entry_type_at(r->b, c, index, &arg->type));
        } else {
            TN_TRY(tn_entry_read_type(r->b, c, &arg->type));
        }
        if (located) TN_TRY(tn_entry_read_index(r->b, c, &location));
        TN_TRY(tn_values_define(&r->values, c, arg));
    }
    if (r->b->version >= 3 && tn_cursor_byte(c)) TN_TRY(skip_use_lists(c, n));
    return tn_cursor_check(c);
}

/* The number of blocks and of values before the one block that is read. */
static tn_status *open_region(ir *r, tn_cursor *c, const tn_op_name *name)
{
    uint64_t n_blocks = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (n_blocks == 0)
        return tn_cursor_unsupported(c, "%s.%s with an empty region", name->dialect, name->name);
    if (n_blocks > 1)
        return tn_cursor_unsupported(c, "%s.%s with a region of %" PRIu64 " blocks", name->dialect,
                                     name->name, n_blocks);
    uint64_t n_values = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    return tn_values_open(&r->values, c, n_values);
}

static tn_status *read_region(ir *r, tn_cursor *c, tn_region *region, tn_function *f, tn_op *parent,
                              const tn_op_name *name)
{
    TN_TRY(open_region(r, c, name));
    bool has_args;
    uint64_t n_ops = tn_cursor_flagged(c, &has_args);
    TN_TRY(tn_cursor_check(c));
    if (has_args) TN_TRY(read_args(r, c, region, f, parent));
    else tn_region_init(r->m, region, f, parent, 0);
    for (uint64_t i = 0; i < n_ops; i++) {
        if (region->last && tn_op_has_trait(region->last, TN_TRAIT_TERMINATOR))
            return tn_cursor_error(c, "an op behind %s, which ends a block",
                                   tn_op_text(region->last));
        TN_TRY(read_op(r, c, region));
    }
    if (!region->last || !tn_op_has_trait(region->last, TN_TRAIT_TERMINATOR))
        return tn_cursor_error(c, "a region of %s.%s does not end with a terminator", name->dialect,
                               name->name);
    return tn_values_close(&r->values, c);
}

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

static tn_status *read_function_attrs(ir *r, tn_cursor *c, const head *h, const tn_attr **attrs)
{
    tn_cursor record = h->record;
    const tn_attr *dict = r->b->version < 5 ? h->attrs : h->inherent;
    for (unsigned i = 0; i < N_FUNCTION_ATTRS; i++) {
        if (h->has_record) TN_TRY(tn_entry_read_attr(r->b, &record, &attrs[i]));
        else attrs[i] = tn_attr_get(dict, wanted[i].key);
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
static void take_function_extra(ir *r, const tn_attr *dict, tn_function *f)
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
static tn_status *spread(ir *r, tn_cursor *c, const tn_attr *list, uint32_t n, const char *function,
                         const tn_attr ***out)
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

static void declare(ir *r, const char *name, const tn_attr *attrs)
{
    declaration *d = TN_NEW(r->b->arena, declaration);
    *d = (declaration){r->declarations, name, attrs};
    r->declarations = d;
}

static tn_status *read_function(ir *r, tn_cursor *c, const head *h)
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
    TN_TRY(open_regions(r, c, h, &body, &scope));
    tn_cursor ahead = body;
    if (tn_cursor_varint(&ahead) == 0 && !ahead.expected) {
        declare(r, name, h->attrs);
        body = ahead;
        return close_regions(r, c, h, &body, scope);
    }
    tn_function *f = tn_module_add_function(r->m, name, type);
    f->location = h->location;
    take_function_extra(r, h->attrs, f);
    f->is_public = !strcmp(visibility, "") || !strcmp(visibility, "public");
    TN_TRY(spread(r, c, attrs[ARG_ATTRS], type->n_inputs, name, &f->arg_attrs));
    TN_TRY(spread(r, c, attrs[RES_ATTRS], type->n_parts - type->n_inputs, name, &f->result_attrs));
    TN_ANNOTATE(read_region(r, &body, &f->body, f, NULL, h->name), "in function %.200s", name);
    TN_TRY(check_signature(&body, f));
    return close_regions(r, c, h, &body, scope);
}

/* --- the module --- */

static void add_symbol(ir *r, tn_op *op)
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

static tn_status *read_module_op(ir *r, tn_cursor *c)
{
    head h;
    TN_TRY(read_head(r, c, &h));
    const tn_op_form *form = h.name->form;
    if (form->role == TN_ROLE_FUNCTION) return read_function(r, c, &h);
    if (form->role == TN_ROLE_MODULE) return tn_cursor_unsupported(c, "a module in a module");
    if (!(tn_op_infos[form->kind].traits & TN_TRAIT_SYMBOL))
        return tn_cursor_error(c, "%s.%s stands outside of every function", h.name->dialect,
                               h.name->name);
    tn_op *op;
    TN_TRY(make_op(r, c, &h, &op));
    add_symbol(r, op);
    return NULL;
}

static tn_status *read_module_name(ir *r, const head *h)
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

static tn_status *find_mesh(ir *r, const char *symbol, const tn_attr **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < r->m->n_symbols; i++)
        if (!strcmp(tn_op_string(r->m->symbols[i], TN_ATTR_sym_name), symbol))
            *out = tn_op_attr(r->m->symbols[i], TN_ATTR_mesh);
    for (const declaration *d = r->declarations; d && !*out; d = d->next) {
        if (strcmp(d->name, symbol)) continue;
        const tn_attr *mesh = tn_attr_get(d->attrs, "stablehlo.mesh");
        if (!mesh) mesh = tn_attr_get(d->attrs, "mesh");
        if (mesh) TN_TRY(tn_properties_convert(r->b, &r->b->ir, TN_ATTR_mesh, mesh, out));
    }
    return NULL;
}

static tn_status *expand_replica_groups(ir *r)
{
    for (const pending *p = r->pending; p; p = p->next) {
        const tn_attr *axes = tn_op_attr(p->op, TN_ATTR_replica_groups), *mesh = NULL, *groups;
        const char *symbol = tn_replica_groups_symbol(axes);
        if (symbol) TN_TRY(find_mesh(r, symbol, &mesh));
        if (symbol && !mesh)
            return TN_OP_ERROR(INVALID_ARGUMENT, p->op,
                               "replica groups over the mesh @%.100s, which "
                               "is not defined",
                               symbol);
        TN_ANNOTATE(tn_replica_groups_expand(r->b, axes, mesh, &groups), "%s", tn_op_text(p->op));
        tn_op_set_attr(r->m, p->op, TN_ATTR_replica_groups, groups);
    }
    return NULL;
}

/* Before version 5 the module's name stands among its attributes. */
static void take_module_attrs(ir *r, const tn_attr *dict)
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
    ir *r = TN_NEW(b->arena, ir);
    *r = (ir){.b = b, .m = m, .values = {.arena = b->arena}};
    tn_cursor c = b->ir;
    bool has_args;
    uint64_t n_ops = tn_cursor_flagged(&c, &has_args);
    TN_TRY(tn_cursor_check(&c));
    if (n_ops != 1 || has_args)
        return tn_cursor_error(&c, "expected one builtin.module, found %" PRIu64 " ops", n_ops);
    head h;
    TN_TRY(read_head(r, &c, &h));
    if (h.name->form->role != TN_ROLE_MODULE || h.n_regions != 1 || h.n_results || h.n_operands)
        return tn_cursor_error(&c, "expected builtin.module with one region, found %s.%s",
                               h.name->dialect, h.name->name);
    TN_TRY(read_module_name(r, &h));
    take_module_attrs(r, h.attrs);
    tn_cursor body;
    unsigned scope;
    TN_TRY(open_regions(r, &c, &h, &body, &scope));
    TN_TRY(open_region(r, &body, h.name));
    n_ops = tn_cursor_flagged(&body, &has_args);
    TN_TRY(tn_cursor_check(&body));
    if (has_args) return tn_cursor_error(&body, "a module with block arguments");
    for (uint64_t i = 0; i < n_ops; i++) TN_TRY(read_module_op(r, &body));
    TN_TRY(tn_values_close(&r->values, &body));
    TN_TRY(close_regions(r, &c, &h, &body, scope));
    TN_TRY(tn_cursor_finish(&c, "the IR section"));
    return expand_replica_groups(r);
}
