/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/op_reader.h"

#include <inttypes.h>
#include <string.h>

#include "reader/properties.h"
#include "reader/replica_groups.h"

enum {
    HAS_ATTRS = 0x01,
    HAS_RESULTS = 0x02,
    HAS_OPERANDS = 0x04,
    HAS_SUCCESSORS = 0x08,
    HAS_REGIONS = 0x10,
    HAS_USE_LISTS = 0x20,
    HAS_PROPERTIES = 0x40
};

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

static const tn_type **room_for_types(tn_reader *r, size_t n)
{
    if (n > r->types_capacity) {
        r->types_capacity = n * 2 + 16;
        r->types = TN_NEW_ARRAY(r->b->arena, const tn_type *, r->types_capacity);
    }
    return r->types;
}

static tn_value **room_for_operands(tn_reader *r, size_t n)
{
    if (n > r->operands_capacity) {
        r->operands_capacity = n * 2 + 16;
        r->operands = TN_NEW_ARRAY(r->b->arena, tn_value *, r->operands_capacity);
    }
    return r->operands;
}

static tn_status *read_name(tn_reader *r, tn_cursor *c, tn_reader_head *h)
{
    uint64_t i = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (i >= r->b->n_ops) return tn_cursor_error(c, "op name %" PRIu64 " of %zu", i, r->b->n_ops);
    h->name = &r->b->ops[i];
    const tn_op_form *form = h->name->form;
    if (!form)
        return tn_cursor_unsupported(c, "op %s.%s is not supported", h->name->dialect,
                                     h->name->name);
    bool is_plain = form->role == TN_ROLE_PLAIN || form->role == TN_ROLE_CHLO ||
                    !strcmp(h->name->dialect, "func");
    if (is_plain && r->b->version >= 5)
        return tn_cursor_unsupported(
            c,
            "op %s.%s: beside portable artifacts (VHLO), StableHLO is read from bytecode of "
            "versions "
            "up to 4, in which attributes have their names; this is version %" PRIu64,
            h->name->dialect, h->name->name, r->b->version);
    return NULL;
}

static tn_status *read_properties_ref(tn_reader *r, tn_cursor *c, tn_reader_head *h)
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

tn_status *tn_reader_read_head(tn_reader *r, tn_cursor *c, tn_reader_head *h)
{
    *h = (tn_reader_head){0};
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
tn_status *tn_reader_open_regions(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                  tn_cursor *body, unsigned *scope)
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

tn_status *tn_reader_close_regions(tn_reader *r, tn_cursor *c, const tn_reader_head *h,
                                   tn_cursor *body, unsigned scope)
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

tn_status *tn_reader_make_op(tn_reader *r, tn_cursor *c, const tn_reader_head *h, tn_op **out)
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
    if (name->form->role == TN_ROLE_PLAIN) return tn_reader_take_plain_attrs(r, c, h, op);
    if (h->has_record) {
        tn_cursor record = h->record;
        return tn_properties_read(r->b, name, &record, op);
    }
    if (r->b->version < 5) return tn_properties_from_dict(r->b, name, c, h->attrs, true, op);
    return tn_properties_from_dict(r->b, name, c, h->inherent, false, op);
}

static void note_replica_groups(tn_reader *r, tn_op *op)
{
    if (!tn_op_has_trait(op, TN_TRAIT_COLLECTIVE)) return;
    const tn_attr *groups = tn_op_attr(op, TN_ATTR_replica_groups);
    if (!groups || !tn_replica_groups_by_axes(groups)) return;
    tn_reader_pending *p = TN_NEW(r->b->arena, tn_reader_pending);
    *p = (tn_reader_pending){r->pending, op};
    r->pending = p;
}

static tn_status *read_op(tn_reader *r, tn_cursor *c, tn_region *region)
{
    tn_reader_head h;
    TN_TRY(tn_reader_read_head(r, c, &h));
    tn_op_role role = h.name->form->role;
    if (role == TN_ROLE_MODULE || role == TN_ROLE_FUNCTION)
        return tn_cursor_unsupported(c, "%s.%s inside of a function", h.name->dialect,
                                     h.name->name);
    tn_op *op;
    if (role == TN_ROLE_CHLO) TN_TRY(tn_reader_read_chlo(r, c, &h, region, &op));
    else TN_TRY(tn_reader_make_op(r, c, &h, &op));
    if (tn_op_has_trait(op, TN_TRAIT_SYMBOL))
        return tn_cursor_error(c, "%s inside of a function", tn_op_text(op));
    tn_op_append(region, op);
    note_replica_groups(r, op);
    for (uint32_t i = 0; i < op->n_results; i++)
        TN_TRY(tn_values_define(&r->values, c, &op->results[i]));
    if (!op->n_regions) return NULL;
    tn_cursor body;
    unsigned scope;
    TN_TRY(tn_reader_open_regions(r, c, &h, &body, &scope));
    for (uint32_t i = 0; i < op->n_regions; i++)
        TN_TRY(tn_reader_read_region(r, &body, &op->regions[i], region->function, op, h.name));
    return tn_reader_close_regions(r, c, &h, &body, scope);
}

static tn_status *read_args(tn_reader *r, tn_cursor *c, tn_region *region, tn_function *f,
                            tn_op *parent)
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
tn_status *tn_reader_open_region(tn_reader *r, tn_cursor *c, const tn_op_name *name)
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

tn_status *tn_reader_read_region(tn_reader *r, tn_cursor *c, tn_region *region, tn_function *f,
                                 tn_op *parent, const tn_op_name *name)
{
    TN_TRY(tn_reader_open_region(r, c, name));
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
