/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/entries.h"

#include <inttypes.h>
#include <string.h>

#include "reader/types.h"

/* --- asking for an entry --- */

static tn_status *assembly_attr(tn_bytecode *b, tn_cursor *c)
{
    size_t size;
    const char *text = tn_cursor_text(c, &size);
    TN_TRY(tn_cursor_finish(c, "an attribute"));
    return tn_cursor_unsupported(c, "attribute in assembly form, %.100s", text);
}

static tn_status *assembly_type(tn_bytecode *b, tn_cursor *c, const tn_type **out, bool *scalar)
{
    size_t size;
    const char *text = tn_cursor_text(c, &size);
    TN_TRY(tn_cursor_finish(c, "a type"));
    tn_element_type e = tn_element_type_parse(text, size);
    if (e == TN_INVALID || e == TN_TOKEN)
        return tn_cursor_unsupported(c, "type in assembly form, %.100s", text);
    *out = tn_scalar_type(e);
    *scalar = true;
    return NULL;
}

static tn_status *decode_attr(tn_bytecode *b, tn_bytecode_entry *e, const tn_attr **out)
{
    tn_cursor c = tn_cursor_make(b->file, e->data, e->size);
    if (!e->binary && e->dialect == TN_DIALECT_CHLO) return tn_chlo_read_text(b, &c, out);
    if (!e->binary) return assembly_attr(b, &c);
    switch ((tn_dialect)e->dialect) {
    case TN_DIALECT_BUILTIN: TN_TRY(tn_builtin_read_attr(b, &c, out)); break;
    case TN_DIALECT_VHLO: TN_TRY(tn_vhlo_read_attr(b, &c, out)); break;
    case TN_DIALECT_SDY: TN_TRY(tn_sdy_read_attr(b, &c, out)); break;
    case TN_DIALECT_STABLEHLO: TN_TRY(tn_stablehlo_read_attr(b, &c, out)); break;
    case TN_DIALECT_CHLO: TN_TRY(tn_chlo_read_attr(b, &c, out)); break;
    case TN_DIALECT_FUNC:
    case TN_DIALECT_QUANT:
    case TN_DIALECT_OTHER: return tn_cursor_unsupported(&c, "an attribute of an unknown dialect");
    }
    return tn_cursor_finish(&c, "an attribute");
}

static tn_status *decode_type(tn_bytecode *b, tn_bytecode_entry *e, const tn_type **out)
{
    tn_cursor c = tn_cursor_make(b->file, e->data, e->size);
    if (!e->binary) return assembly_type(b, &c, out, &e->scalar);
    switch ((tn_dialect)e->dialect) {
    case TN_DIALECT_BUILTIN: TN_TRY(tn_builtin_read_type(b, &c, out, &e->scalar)); break;
    case TN_DIALECT_VHLO: TN_TRY(tn_vhlo_read_type(b, &c, out, &e->scalar)); break;
    case TN_DIALECT_QUANT: TN_TRY(tn_quant_read_type(b, &c, out, &e->scalar)); break;
    case TN_DIALECT_STABLEHLO: TN_TRY(tn_stablehlo_read_type(b, &c, out)); break;
    case TN_DIALECT_SDY:
    case TN_DIALECT_CHLO:
    case TN_DIALECT_FUNC:
    case TN_DIALECT_OTHER: return tn_cursor_unsupported(&c, "a type of an unknown dialect");
    }
    return tn_cursor_finish(&c, "a type");
}

static const tn_attr *unsupported(tn_bytecode *b, tn_status *s)
{
    const tn_attr **items;
    tn_attr *node = tn_entry_list(b, "unsupported", 1, &items);
    const char *message = tn_status_message(s);
    items[0] = tn_attr_string(b->arena, message, strlen(message));
    return node;
}

/* Opens an entry that is not decoded yet; what is added to b->weight until it is closed is its own.
 */
static tn_status *enter(tn_bytecode *b, tn_bytecode_entry *e, const tn_cursor *from,
                        uint64_t *outer_weight)
{
    if (e->state == TN_ENTRY_IN_PROGRESS)
        return tn_cursor_error(from, "an attribute or type contains itself");
    if (b->depth >= TN_ENTRY_DEPTH)
        return tn_cursor_error(from, "attributes or types are nested more than %d deep",
                               TN_ENTRY_DEPTH);
    b->depth++;
    e->state = TN_ENTRY_IN_PROGRESS;
    *outer_weight = b->weight;
    b->weight = 1;
    return NULL;
}

static tn_status *leave(tn_bytecode *b, tn_bytecode_entry *e, const tn_cursor *from,
                        uint64_t outer_weight)
{
    b->depth--;
    e->state = TN_ENTRY_DONE;
    e->weight = (uint32_t)b->weight;
    b->weight = outer_weight;
    if (e->weight <= TN_ENTRY_WEIGHT) return NULL;
    return tn_cursor_error(from, "an attribute or type has more than %d parts", TN_ENTRY_WEIGHT);
}

static tn_status *find(tn_bytecode_entry *entries, size_t n, tn_cursor *c, uint64_t index,
                       const char *what, tn_bytecode_entry **out)
{
    TN_TRY(tn_cursor_check(c));
    if (index >= n) return tn_cursor_error(c, "%s %" PRIu64 " of %zu", what, index, n);
    *out = &entries[index];
    return NULL;
}

static tn_status *get_attr(tn_bytecode *b, tn_cursor *c, uint64_t index, const tn_attr **out)
{
    tn_bytecode_entry *e = NULL;
    TN_TRY(find(b->attrs, b->n_attrs, c, index, "attribute", &e));
    if (e->state != TN_ENTRY_DONE) {
        uint64_t outer = 0;
        const tn_attr *value;
        TN_TRY(enter(b, e, c, &outer));
        tn_status *s = decode_attr(b, e, &value);
        if (tn_status_code(s) == TN_UNIMPLEMENTED) {
            value = unsupported(b, s);
            tn_status_free(s);
            s = NULL;
        }
        if (s) return s;
        TN_TRY(leave(b, e, c, outer));
        e->attr = value;
    }
    b->weight += e->weight;
    *out = e->attr;
    return NULL;
}

static tn_status *get_type(tn_bytecode *b, tn_cursor *c, uint64_t index, bool *scalar,
                           const tn_type **out)
{
    tn_bytecode_entry *e = NULL;
    TN_TRY(find(b->types, b->n_types, c, index, "type", &e));
    if (e->state == TN_ENTRY_UNSUPPORTED) return TN_ERROR(UNIMPLEMENTED, "%s", e->reason);
    if (e->state != TN_ENTRY_DONE) {
        uint64_t outer = 0;
        const tn_type *value;
        TN_TRY(enter(b, e, c, &outer));
        tn_status *s = decode_type(b, e, &value);
        if (tn_status_code(s) == TN_UNIMPLEMENTED) {
            /* The caller may go on without it; the next one to ask gets the same answer. */
            b->depth--;
            b->weight = outer;
            e->state = TN_ENTRY_UNSUPPORTED;
            e->reason = tn_strdup(b->arena, tn_status_message(s));
        }
        if (s) return s;
        TN_TRY(leave(b, e, c, outer));
        e->type = value;
    }
    b->weight += e->weight;
    *scalar = e->scalar;
    *out = e->type;
    return NULL;
}

tn_status *tn_entry_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    return get_attr(b, c, tn_cursor_varint(c), out);
}

tn_status *tn_entry_read_optional(tn_bytecode *b, tn_cursor *c, const tn_attr **out)
{
    bool present;
    uint64_t index = tn_cursor_flagged(c, &present);
    TN_TRY(tn_cursor_check(c));
    *out = NULL;
    return present ? get_attr(b, c, index, out) : NULL;
}

tn_status *tn_entry_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    bool scalar;
    return get_type(b, c, tn_cursor_varint(c), &scalar, out);
}

tn_status *tn_entry_type_at(tn_bytecode *b, tn_cursor *c, uint64_t index, const tn_type **out)
{
    bool scalar;
    return get_type(b, c, index, &scalar, out);
}

tn_status *tn_entry_read_scalar(tn_bytecode *b, tn_cursor *c, const tn_type **out)
{
    bool scalar;
    TN_TRY(get_type(b, c, tn_cursor_varint(c), &scalar, out));
    return scalar ? NULL : tn_cursor_error(c, "expected an element type");
}

tn_status *tn_entry_read_index(const tn_bytecode *b, tn_cursor *c, uint32_t *out)
{
    uint64_t index = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (index >= b->n_attrs || index >= UINT32_MAX)
        return tn_cursor_error(c, "attribute %" PRIu64 " of %zu", index, b->n_attrs);
    *out = (uint32_t)index;
    return NULL;
}
