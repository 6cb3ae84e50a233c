/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/properties.h"

#include <inttypes.h>
#include <string.h>

tn_status *tn_properties_record(const tn_bytecode *b, const tn_cursor *from, uint64_t index,
                                tn_cursor *out)
{
    if (index >= b->n_properties)
        return tn_cursor_error(from, "property record %" PRIu64 " of %zu", index, b->n_properties);
    *out = tn_cursor_make(b->file, b->properties[index].data, b->properties[index].size);
    return NULL;
}

/* --- what old versions lack --- */

static const tn_attr no_ints = {.kind = TN_ATTR_KIND_INTS, .ints = {.rows = 1}};
static const tn_attr no_items = {.kind = TN_ATTR_KIND_LIST};
static const tn_attr false_attr = {.kind = TN_ATTR_KIND_BOOL};
static const tn_attr zero_float = {.kind = TN_ATTR_KIND_FLOAT}, zero = {.kind = TN_ATTR_KIND_INT};
static const tn_attr *const default_accuracy_items[] = {&zero_float, &zero_float, &zero, &zero};
const tn_attr tn_default_accuracy = {
    .kind = TN_ATTR_KIND_LIST,
    .list = {.tag = "result_accuracy", .items = default_accuracy_items, .n = 4}};

/* NULL: absent says it. */
static const tn_attr *default_of(tn_attr_name name)
{
    switch (name) {
    case TN_ATTR_operand_batching_dims:
    case TN_ATTR_input_batching_dims:
    case TN_ATTR_start_indices_batching_dims:
    case TN_ATTR_scatter_indices_batching_dims:
    case TN_ATTR_source_target_pairs: return &no_ints;
    case TN_ATTR_result_tilings: return &no_items;
    case TN_ATTR_has_dynamic_root: return &false_attr;
    case TN_ATTR_result_accuracy: return &tn_default_accuracy;
    default: return NULL;
    }
}

static void fill_in(const tn_op_form *form, tn_op *op)
{
    for (uint32_t i = 0; form->absent >> i; i++)
        if (form->absent >> i & 1) op->attrs[i] = default_of(tn_op_infos[form->kind].attrs[i]);
}

/* --- reading --- */

/* op->extra must be complete before. */
static void move_backend_config(tn_bytecode *b, const tn_attr **value, tn_op *op)
{
    static const tn_attr empty = {.kind = TN_ATTR_KIND_STRING, .string = {.data = ""}};
    tn_named_attr *extra = TN_NEW_ARRAY(b->arena, tn_named_attr, op->n_extra + 1);
    if (op->n_extra) memcpy(extra, op->extra, op->n_extra * sizeof *extra);
    extra[op->n_extra++] = (tn_named_attr){"mhlo.backend_config", *value};
    op->extra = extra;
    *value = &empty;
}

static tn_status *set(tn_bytecode *b, const tn_op_name *name, const tn_cursor *from,
                      const tn_wire_attr *wire, const tn_attr *value, tn_op *op)
{
    if (wire->position < 0) return NULL;
    const tn_attr *converted;
    if (wire->name == TN_ATTR_backend_config && value->kind == TN_ATTR_KIND_DICT)
        move_backend_config(b, &value, op);
    TN_ANNOTATE(tn_properties_convert(b, from, (tn_attr_name)wire->name, value, &converted),
                "%s.%s", name->dialect, name->name);
    op->attrs[wire->position] = converted;
    return NULL;
}

/* Newer writers of sdy.all_reduce add the reduction, absent for a sum. */
static tn_status *read_sdy_reduction(tn_bytecode *b, tn_cursor *record)
{
    const tn_attr *reduction;
    TN_TRY(tn_entry_read_optional(b, record, &reduction));
    if (reduction) return tn_cursor_unsupported(record, "sdy.all_reduce with a reduction_op");
    return NULL;
}

tn_status *tn_properties_read(tn_bytecode *b, const tn_op_name *name, tn_cursor *record, tn_op *op)
{
    const tn_op_form *form = name->form;
    for (uint32_t i = 0; i < form->n_wire; i++) {
        const tn_wire_attr *wire = &form->wire[i];
        const tn_attr *value;
        if (wire->optional) TN_TRY(tn_entry_read_optional(b, record, &value));
        else TN_TRY(tn_entry_read_attr(b, record, &value));
        if (value) TN_TRY(set(b, name, record, wire, value, op));
    }
    fill_in(form, op);
    if (form->kind == TN_OP_sdy_all_reduce && tn_cursor_left(record))
        TN_TRY(read_sdy_reduction(b, record));
    return tn_cursor_finish(record, "a property record");
}

static bool is_wire(const tn_op_form *form, const char *key)
{
    for (uint32_t i = 0; i < form->n_wire; i++)
        if (!strcmp(tn_attr_name_text((tn_attr_name)form->wire[i].name), key)) return true;
    return false;
}

static void take_extra(tn_bytecode *b, const tn_op_form *form, const tn_attr *dict, tn_op *op)
{
    op->extra = dict->dict.pairs;
    op->n_extra = dict->dict.n;
    if (!form->n_wire) return;
    tn_named_attr *rest = TN_NEW_ARRAY(b->arena, tn_named_attr, dict->dict.n);
    op->extra = rest;
    op->n_extra = 0;
    for (uint32_t i = 0; i < dict->dict.n; i++)
        if (!is_wire(form, dict->dict.pairs[i].key)) rest[op->n_extra++] = dict->dict.pairs[i];
}

tn_status *tn_properties_from_dict(tn_bytecode *b, const tn_op_name *name, const tn_cursor *from,
                                   const tn_attr *dict, bool take_rest, tn_op *op)
{
    const tn_op_form *form = name->form;
    if (take_rest && dict) take_extra(b, form, dict, op);
    for (uint32_t i = 0; i < form->n_wire; i++) {
        const tn_wire_attr *wire = &form->wire[i];
        const char *key = tn_attr_name_text((tn_attr_name)wire->name);
        const tn_attr *value = tn_attr_get(dict, key);
        if (!value && wire->optional) continue;
        if (!value)
            return tn_cursor_error(from, "%s.%s lacks the attribute %s", name->dialect, name->name,
                                   key);
        TN_TRY(set(b, name, from, wire, value, op));
    }
    fill_in(form, op);
    return NULL;
}
