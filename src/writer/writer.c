/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/writer.h"

#include <stdio.h>
#include <string.h>

#include "writer/tables.h"

enum {
    SECTION_STRING,
    SECTION_DIALECT,
    SECTION_ATTR_TYPE,
    SECTION_ATTR_TYPE_OFFSET,
    SECTION_IR,
    SECTION_PROPERTIES = 8
};
enum {
    HAS_ATTRS = 0x01,
    HAS_RESULTS = 0x02,
    HAS_OPERANDS = 0x04,
    HAS_REGIONS = 0x10,
    HAS_PROPERTIES = 0x40
};

typedef struct {
    tn_tables t;
    tn_value_map *numbers; /* a value's number is kept in the id of a stand-in */
    uint32_t next;         /* number of the next value of this region */
    uint32_t scope; /* values of the open regions together: each takes its numbers at once when it
                       opens */
} writer;

/* --- ops --- */

/* The version of an op that 1.17.0 has: 2 for those that were changed before. */
static int version_of(tn_op_kind kind)
{
    switch (kind) {
    case TN_OP_all_gather:
    case TN_OP_all_reduce:
    case TN_OP_all_to_all:
    case TN_OP_cbrt:
    case TN_OP_composite:
    case TN_OP_cosine:
    case TN_OP_dot_general:
    case TN_OP_dynamic_conv:
    case TN_OP_dynamic_gather:
    case TN_OP_exponential:
    case TN_OP_exponential_minus_one:
    case TN_OP_gather:
    case TN_OP_log:
    case TN_OP_log_plus_one:
    case TN_OP_logistic:
    case TN_OP_recv:
    case TN_OP_rsqrt:
    case TN_OP_scatter:
    case TN_OP_send:
    case TN_OP_sine:
    case TN_OP_sqrt:
    case TN_OP_tan:
    case TN_OP_tanh: return 2;
    default: return 1;
    }
}

/* Attributes of the newest version that the written one lacks. */
static bool is_written(tn_op_kind kind, tn_attr_name name)
{
    if (kind == TN_OP_custom_call) return name != TN_ATTR_result_tilings;
    if (kind == TN_OP_collective_broadcast) return name != TN_ATTR_has_dynamic_root;
    return true;
}

static size_t op_name(writer *w, uint8_t dialect, const char *text)
{
    return tn_intern_add(&w->t, &w->t.ops, dialect, text, strlen(text));
}

static size_t define(writer *w, const tn_value *v)
{
    tn_value *number = TN_NEW(w->t.arena, tn_value);
    number->id = w->next++;
    tn_value_map_set(w->numbers, v, number);
    return number->id;
}

static size_t record(writer *w, const size_t *attrs, size_t n)
{
    tn_bytes b = {.arena = w->t.arena};
    for (size_t i = 0; i < n; i++) tn_bytes_varint(&b, attrs[i]);
    return tn_intern_add(&w->t, &w->t.properties, 0, b.data, b.size);
}

static tn_status *properties(writer *w, const tn_op *op, size_t *n, size_t *out)
{
    const tn_op_info *info = &tn_op_infos[op->kind];
    size_t *attrs = TN_NEW_ARRAY(w->t.arena, size_t, info->n_attrs);
    *n = 0;
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        if (!is_written(op->kind, info->attrs[i])) continue;
        tn_status *s = tn_write_inherent(&w->t, info->attrs[i], op->attrs[i], &attrs[*n]);
        if (s) return tn_status_annotate(s, "%s", tn_op_text(op));
        ++*n;
    }
    if (*n) *out = record(w, attrs, *n);
    return NULL;
}

/* Discardable attributes that VHLO can hold, as a builtin dictionary. False if there are none. */
static tn_status *extra(writer *w, const tn_named_attr *pairs, uint32_t n, bool *any, size_t *out)
{
    tn_bytes b = {.arena = w->t.arena}, body = {.arena = w->t.arena};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t value;
        if (!strncmp(pairs[i].key, "sdy.", 4)) continue;
        tn_status *s = tn_write_attr(&w->t, pairs[i].value, &value);
        if (s && tn_status_code(s) != TN_UNIMPLEMENTED) return s;
        tn_status_free(s);
        if (s) continue;
        tn_bytes_varint(&body, tn_write_builtin_string(&w->t, pairs[i].key));
        tn_bytes_varint(&body, value);
        kept++;
    }
    *any = kept != 0;
    tn_bytes_varint(&b, 1);
    tn_bytes_varint(&b, kept);
    tn_bytes_put(&b, body.data, body.size);
    if (kept) *out = tn_intern_add(&w->t, &w->t.attrs, TN_WRITE_BUILTIN, b.data, b.size);
    return NULL;
}

static tn_status *write_region(writer *w, const tn_region *r, tn_bytes *b);

static tn_status *write_op(writer *w, const tn_op *op, tn_bytes *b)
{
    char name[64];
    const char *text = strchr(tn_op_text(op), '.') + 1;
    if (!strncmp(tn_op_text(op), "sdy.", 4) || op->kind == TN_OP_cast)
        return TN_ERROR(UNIMPLEMENTED, "%s has no VHLO form", tn_op_text(op));
    snprintf(name, sizeof name, "%s_v%d", text, version_of(op->kind));
    size_t n_properties, property = 0, dict = 0;
    bool has_extra;
    TN_TRY(properties(w, op, &n_properties, &property));
    TN_TRY(extra(w, op->extra, op->n_extra, &has_extra, &dict));
    tn_bytes_varint(b, op_name(w, TN_WRITE_VHLO, name));
    tn_bytes_byte(b, (uint8_t)((has_extra ? HAS_ATTRS : 0) | (n_properties ? HAS_PROPERTIES : 0) |
                               (op->n_results ? HAS_RESULTS : 0) |
                               (op->n_operands ? HAS_OPERANDS : 0) |
                               (op->n_regions ? HAS_REGIONS : 0)));
    tn_bytes_varint(b, tn_write_unknown_location(&w->t));
    if (has_extra) tn_bytes_varint(b, dict);
    if (n_properties) tn_bytes_varint(b, property);
    if (op->n_results) tn_bytes_varint(b, op->n_results);
    for (uint32_t i = 0; i < op->n_results; i++) {
        size_t type;
        TN_TRY(tn_write_type(&w->t, op->results[i].type, &type));
        tn_bytes_varint(b, type);
    }
    if (op->n_operands) tn_bytes_varint(b, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_value *number = tn_value_map_get(w->numbers, tn_value_resolve(op->operands[i]));
        if (!number)
            return TN_ERROR(INTERNAL, "%s: operand %u is not defined before", tn_op_text(op), i);
        tn_bytes_varint(b, number->id);
    }
    for (uint32_t i = 0; i < op->n_results; i++) define(w, &op->results[i]);
    if (op->n_regions) tn_bytes_flagged(b, op->n_regions, 0);
    for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(write_region(w, &op->regions[i], b));
    return NULL;
}

static tn_status *write_region(writer *w, const tn_region *r, tn_bytes *b)
{
    uint32_t values = r->n_args, ops = 0, outer = w->next;
    for (const tn_op *op = r->first; op; op = op->next, ops++) values += op->n_results;
    w->next = w->scope;
    w->scope += values;
    tn_bytes_varint(b, 1); /* block */
    tn_bytes_varint(b, values);
    tn_bytes_flagged(b, ops, r->n_args != 0);
    if (r->n_args) {
        tn_bytes_varint(b, r->n_args);
        for (uint32_t i = 0; i < r->n_args; i++) {
            size_t type;
            TN_TRY(tn_write_type(&w->t, r->args[i].type, &type));
            tn_bytes_flagged(b, type, 0);
            define(w, &r->args[i]);
        }
        tn_bytes_byte(b, 0); /* no use lists */
    }
    for (const tn_op *op = r->first; op; op = op->next) TN_TRY(write_op(w, op, b));
    w->next = outer;
    w->scope -= values;
    return NULL;
}

/* --- functions and the module --- */

static tn_status *value_attrs(writer *w, const tn_attr *const *dicts, uint32_t n, size_t *out)
{
    static const tn_attr empty = {.kind = TN_ATTR_KIND_DICT};
    size_t *items = TN_NEW_ARRAY(w->t.arena, size_t, n);
    bool any = false;
    for (uint32_t i = 0; i < n && dicts; i++) any |= dicts[i] != NULL;
    for (uint32_t i = 0; i < n && any; i++) {
        tn_attr kept = dicts[i] ? *dicts[i] : empty;
        tn_named_attr *pairs = TN_NEW_ARRAY(w->t.arena, tn_named_attr, kept.dict.n);
        uint32_t k = 0;
        for (uint32_t j = 0; j < kept.dict.n; j++)
            if (strncmp(kept.dict.pairs[j].key, "sdy.", 4)) pairs[k++] = kept.dict.pairs[j];
        kept.dict.pairs = pairs;
        kept.dict.n = k;
        TN_TRY(tn_write_attr(&w->t, &kept, &items[i]));
    }
    *out = tn_write_array(&w->t, items, any ? n : 0);
    return NULL;
}

static tn_status *write_function(writer *w, const tn_function *f, tn_bytes *b)
{
    size_t attrs[5];
    const char *visibility = f->is_public ? "public" : "private";
    TN_TRY(value_attrs(w, f->arg_attrs, f->type->n_inputs, &attrs[0]));
    TN_TRY(tn_write_type_attr(&w->t, f->type, &attrs[1]));
    TN_TRY(value_attrs(w, f->result_attrs, f->type->n_parts - f->type->n_inputs, &attrs[2]));
    attrs[3] = tn_write_string_attr(&w->t, f->name, strlen(f->name));
    attrs[4] = tn_write_string_attr(&w->t, visibility, strlen(visibility));
    size_t property = record(w, attrs, 5);
    tn_bytes_varint(b, op_name(w, TN_WRITE_VHLO, "func_v1"));
    tn_bytes_byte(b, HAS_PROPERTIES | HAS_REGIONS);
    tn_bytes_varint(b, tn_write_unknown_location(&w->t));
    tn_bytes_varint(b, property);
    tn_bytes_flagged(b, 1, 0);
    return write_region(w, &f->body, b);
}

/* The module op, with its functions in a nested section, as for every op that is isolated from
 * above. */
static tn_status *write_module(writer *w, const tn_module *m, tn_bytes *b)
{
    tn_bytes region = {.arena = w->t.arena}, names = {.arena = w->t.arena};
    size_t n = 0;
    for (const tn_function *f = m->functions; f; f = f->next) n++;
    tn_bytes_varint(&region, 1);
    tn_bytes_varint(&region, 0);
    tn_bytes_flagged(&region, n, 0);
    for (const tn_function *f = m->functions; f; f = f->next)
        TN_ANNOTATE(write_function(w, f, &region), "in @%s", f->name);
    bool named = m->name && *m->name;
    tn_bytes_flagged(&names, named ? tn_write_builtin_string(&w->t, m->name) : 0, named);
    tn_bytes_flagged(&names, 0, 0); /* no sym_visibility */
    size_t property = tn_intern_add(&w->t, &w->t.properties, 0, names.data, names.size);
    tn_bytes_flagged(b, 1, 0); /* a block of one op */
    tn_bytes_varint(b, op_name(w, TN_WRITE_BUILTIN, "module"));
    tn_bytes_byte(b, HAS_PROPERTIES | HAS_REGIONS);
    tn_bytes_varint(b, tn_write_unknown_location(&w->t));
    tn_bytes_varint(b, property);
    tn_bytes_flagged(b, 1, 1);
    tn_bytes_section(b, SECTION_IR, &region);
    return NULL;
}

/* --- sections --- */

/* Runs of entries of one dialect: dialect, how many, and for each what `entry` writes. */
static void put_groups(const tn_intern *in, tn_bytes *b,
                       void (*entry)(tn_bytes *, const tn_bytes *, void *), void *ctx)
{
    for (size_t i = 0; i < in->n;) {
        size_t end = i;
        while (end < in->n && in->dialects[end] == in->dialects[i]) end++;
        tn_bytes_varint(b, in->dialects[i]);
        tn_bytes_varint(b, end - i);
        for (; i < end; i++) entry(b, &in->entries[i], ctx);
    }
}

static void put_size(tn_bytes *b, const tn_bytes *e, void *ctx)
{
    tn_bytes_flagged(b, e->size, 1);
}

static void put_op_name(tn_bytes *b, const tn_bytes *e, void *ctx)
{
    tn_bytes_flagged(b, tn_write_string(ctx, (const char *)e->data, e->size), 1);
}

static void put_strings(const tn_tables *t, tn_bytes *b)
{
    tn_bytes_varint(b, t->strings.n);
    for (size_t i = t->strings.n; i-- > 0;) tn_bytes_varint(b, t->strings.entries[i].size + 1);
    for (size_t i = 0; i < t->strings.n; i++) {
        tn_bytes_put(b, t->strings.entries[i].data, t->strings.entries[i].size);
        tn_bytes_byte(b, 0);
    }
}

tn_status *tn_write_bytecode(const tn_module *m, tn_arena *a, const void **out, size_t *size)
{
    writer w = {.t = {.arena = a}, .numbers = tn_value_map_new(a, 256)};
    tn_bytes ir = {.arena = a}, dialects = {.arena = a}, offsets = {.arena = a},
             data = {.arena = a}, strings = {.arena = a}, properties_section = {.arena = a},
             file = {.arena = a};
    TN_TRY(write_module(&w, m, &ir));
    tn_bytes_varint(&dialects, 2);
    tn_bytes_flagged(&dialects, tn_write_string(&w.t, "builtin", 7), 0);
    tn_bytes_flagged(&dialects, tn_write_string(&w.t, "vhlo", 4), 0);
    tn_bytes_varint(&dialects, w.t.ops.n);
    put_groups(&w.t.ops, &dialects, put_op_name, &w.t);
    tn_bytes_varint(&offsets, w.t.attrs.n);
    tn_bytes_varint(&offsets, w.t.types.n);
    put_groups(&w.t.attrs, &offsets, put_size, NULL);
    put_groups(&w.t.types, &offsets, put_size, NULL);
    for (size_t i = 0; i < w.t.attrs.n; i++)
        tn_bytes_put(&data, w.t.attrs.entries[i].data, w.t.attrs.entries[i].size);
    for (size_t i = 0; i < w.t.types.n; i++)
        tn_bytes_put(&data, w.t.types.entries[i].data, w.t.types.entries[i].size);
    tn_bytes_varint(&properties_section, w.t.properties.n);
    for (size_t i = 0; i < w.t.properties.n; i++) {
        tn_bytes_varint(&properties_section, w.t.properties.entries[i].size);
        tn_bytes_put(&properties_section, w.t.properties.entries[i].data,
                     w.t.properties.entries[i].size);
    }
    put_strings(&w.t, &strings);
    tn_bytes_put(&file, "ML\xefR", 4);
    tn_bytes_varint(&file, 6);
    tn_bytes_put(&file, "StableHLO_v1.17.0", 18);
    tn_bytes_section(&file, SECTION_DIALECT, &dialects);
    tn_bytes_section(&file, SECTION_ATTR_TYPE_OFFSET, &offsets);
    tn_bytes_section(&file, SECTION_ATTR_TYPE, &data);
    tn_bytes_section(&file, SECTION_IR, &ir);
    tn_bytes_section(&file, SECTION_STRING, &strings);
    tn_bytes_section(&file, SECTION_PROPERTIES, &properties_section);
    *out = file.data;
    *size = file.size;
    return NULL;
}
