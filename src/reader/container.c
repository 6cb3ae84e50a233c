/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/container.h"

#include "reader/reader.h"

#include <stdio.h>
#include <string.h>

static const uint8_t magic[4] = {'M', 'L', 0xEF, 'R'};

enum { NEWEST_BYTECODE = 6 };

enum {
    SECTION_STRING,
    SECTION_DIALECT,
    SECTION_ENTRY,
    SECTION_ENTRY_OFFSET,
    SECTION_IR,
    SECTION_RESOURCE,
    SECTION_RESOURCE_OFFSET,
    SECTION_DIALECT_VERSIONS,
    SECTION_PROPERTIES,
    SECTION_COUNT
};

static const char *const section_names[SECTION_COUNT] = {"the string section",
                                                         "the dialect section",
                                                         "the attribute and type section",
                                                         "the offset section",
                                                         "the IR section",
                                                         "the resource section",
                                                         "the resource offset section",
                                                         "the dialect version section",
                                                         "the properties section"};

bool tn_is_bytecode(const void *data, size_t size)
{
    return size >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

tn_status *tn_bytecode_section(tn_cursor *c, unsigned *id, tn_cursor *body)
{
    unsigned head = tn_cursor_byte(c);
    uint64_t size = tn_cursor_varint(c);
    *id = head & 0x7F;
    if (head & 0x80) {
        uint64_t alignment = tn_cursor_varint(c);
        TN_TRY(tn_cursor_check(c));
        if (!alignment || (alignment & (alignment - 1)))
            return tn_cursor_error(c, "a section's alignment should be a power of two, got %llu",
                                   (unsigned long long)alignment);
        while ((size_t)(c->at - c->file) & (alignment - 1))
            if (tn_cursor_byte(c) != 0xCB) return tn_cursor_error(c, "expected padding 0xCB");
    }
    const uint8_t *data = tn_cursor_bytes(c, size);
    TN_TRY(tn_cursor_check(c));
    *body = tn_cursor_make(c->file, data, size);
    return NULL;
}

tn_status *tn_bytecode_read_string(const tn_bytecode *b, tn_cursor *c, tn_bytecode_string *out)
{
    uint64_t i = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (i >= b->n_strings)
        return tn_cursor_error(c, "string %llu of %zu", (unsigned long long)i, b->n_strings);
    *out = b->strings[i];
    return NULL;
}

/* Sizes with the final NUL, last string first; then the strings, first one first. */
static tn_status *read_strings(tn_bytecode *b, tn_cursor *c)
{
    size_t n = b->n_strings = tn_cursor_count(c);
    b->strings = TN_NEW_ARRAY(b->arena, tn_bytecode_string, n);
    for (size_t i = n; i-- > 0;) b->strings[i].size = tn_cursor_varint(c);
    for (size_t i = 0; i < n; i++) {
        size_t size = b->strings[i].size;
        const uint8_t *data = tn_cursor_bytes(c, size);
        TN_TRY(tn_cursor_check(c));
        if (!size || data[size - 1])
            return tn_cursor_error(c, "string %zu should end in a zero byte", i);
        b->strings[i] = (tn_bytecode_string){(const char *)data, size - 1};
    }
    return tn_cursor_finish(c, section_names[SECTION_STRING]);
}

static tn_status *read_records(tn_bytecode *b, tn_cursor *c)
{
    size_t n = b->n_properties = tn_cursor_count(c);
    b->properties = TN_NEW_ARRAY(b->arena, tn_bytecode_record, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t size = tn_cursor_varint(c);
        b->properties[i] = (tn_bytecode_record){tn_cursor_bytes(c, size), size};
    }
    return tn_cursor_finish(c, section_names[SECTION_PROPERTIES]);
}

typedef struct {
    tn_bytecode_string *names;
    size_t n;
} dialects;

static tn_status *read_dialect(const dialects *d, tn_cursor *c, tn_bytecode_string *out)
{
    uint64_t i = tn_cursor_varint(c);
    TN_TRY(tn_cursor_check(c));
    if (i >= d->n) return tn_cursor_error(c, "dialect %llu of %zu", (unsigned long long)i, d->n);
    *out = d->names[i];
    return NULL;
}

static tn_status *read_string_flagged(const tn_bytecode *b, tn_cursor *c, bool *flag,
                                      tn_bytecode_string *out)
{
    uint64_t i = tn_cursor_flagged(c, flag);
    TN_TRY(tn_cursor_check(c));
    if (i >= b->n_strings)
        return tn_cursor_error(c, "string %llu of %zu", (unsigned long long)i, b->n_strings);
    *out = b->strings[i];
    return NULL;
}

static tn_status *read_op_names(tn_bytecode *b, tn_cursor *c, const dialects *d)
{
    /* Each name takes at least a byte, so the section's size bounds them all. */
    size_t room = tn_cursor_left(c), n = 0;
    uint64_t total = b->version >= 4 ? tn_cursor_varint(c) : room;
    if (b->version >= 4 && total > room)
        return tn_cursor_error(c, "%llu op names do not fit into %zu bytes",
                               (unsigned long long)total, room);
    b->ops = TN_NEW_ARRAY(b->arena, tn_op_name, total);
    while (tn_cursor_left(c)) {
        tn_bytecode_string dialect, name;
        TN_TRY(read_dialect(d, c, &dialect));
        size_t k = tn_cursor_count(c);
        if (k > total - n) return tn_cursor_error(c, "more op names than the total says");
        for (size_t i = 0; i < k; i++) {
            tn_op_name *op = &b->ops[n++];
            if (b->version >= 5) TN_TRY(read_string_flagged(b, c, &op->registered, &name));
            else TN_TRY(tn_bytecode_read_string(b, c, &name));
            op->dialect = dialect.data;
            op->name = name.data;
            op->form = tn_op_form_find(dialect.data, dialect.size, name.data, name.size);
        }
    }
    b->n_ops = n;
    TN_TRY(tn_cursor_check(c));
    if (b->version >= 4 && n != total)
        return tn_cursor_error(c, "expected %llu op names, found %zu", (unsigned long long)total,
                               n);
    return NULL;
}

static tn_status *read_dialects(tn_bytecode *b, tn_cursor *c, dialects *d)
{
    d->n = tn_cursor_count(c);
    d->names = TN_NEW_ARRAY(b->arena, tn_bytecode_string, d->n);
    for (size_t i = 0; i < d->n; i++) {
        bool versioned = false;
        if (b->version < 1) TN_TRY(tn_bytecode_read_string(b, c, &d->names[i]));
        else TN_TRY(read_string_flagged(b, c, &versioned, &d->names[i]));
        if (!versioned) continue;
        unsigned id;
        tn_cursor body;
        TN_TRY(tn_bytecode_section(c, &id, &body));
        if (id != SECTION_DIALECT_VERSIONS)
            return tn_cursor_error(c, "expected a dialect version section, found section %u", id);
    }
    return read_op_names(b, c, d);
}

/* --- resources --- */

static tn_status *read_blob(const tn_cursor *data, const tn_bytecode_record *entry,
                            tn_bytecode_record *out)
{
    tn_cursor c = tn_cursor_make(data->file, entry->data, entry->size);
    uint64_t alignment = tn_cursor_varint(&c), size = tn_cursor_varint(&c);
    TN_TRY(tn_cursor_check(&c));
    if (!alignment || (alignment & (alignment - 1)))
        return tn_cursor_error(&c, "a resource's alignment should be a power of two");
    while ((size_t)(c.at - c.file) & (alignment - 1)) {
        tn_cursor_byte(&c);
        TN_TRY(tn_cursor_check(&c));
    }
    *out = (tn_bytecode_record){tn_cursor_bytes(&c, size), size};
    return tn_cursor_finish(&c, "a resource");
}

/* `out` NULL: external resources, which nothing refers to. */
static tn_status *read_resource_group(tn_bytecode *b, tn_cursor *c, tn_cursor *data,
                                      tn_bytecode_record *out)
{
    enum { BLOB, BOOL, STRING };
    size_t n = tn_cursor_count(c);
    for (size_t i = 0; i < n; i++) {
        tn_bytecode_string key;
        TN_TRY(tn_bytecode_read_string(b, c, &key));
        uint64_t size = tn_cursor_varint(c);
        unsigned kind = tn_cursor_byte(c);
        tn_bytecode_record entry = {tn_cursor_bytes(data, size), size};
        TN_TRY(tn_cursor_check(c));
        TN_TRY(tn_cursor_check(data));
        if (kind > STRING) return tn_cursor_error(c, "resource kind %u", kind);
        if (!out) continue;
        tn_bytecode_record *slot = &out[b->n_resources++];
        if (kind == BLOB && size) TN_TRY(read_blob(data, &entry, slot));
    }
    return NULL;
}

static tn_status *read_resources(tn_bytecode *b, tn_cursor *c, tn_cursor *data, const dialects *d)
{
    /* An entry takes three bytes at least. */
    b->resources = TN_NEW_ARRAY(b->arena, tn_bytecode_record, tn_cursor_left(c) / 3 + 1);
    size_t external = tn_cursor_count(c);
    for (size_t i = 0; i < external; i++) {
        tn_bytecode_string key;
        TN_TRY(tn_bytecode_read_string(b, c, &key));
        TN_TRY(read_resource_group(b, c, data, NULL));
    }
    while (tn_cursor_left(c)) {
        tn_bytecode_string dialect;
        TN_TRY(read_dialect(d, c, &dialect));
        TN_TRY(read_resource_group(b, c, data, b->resources));
    }
    TN_TRY(tn_cursor_finish(c, section_names[SECTION_RESOURCE_OFFSET]));
    return tn_cursor_finish(data, section_names[SECTION_RESOURCE]);
}

/* --- attributes and types --- */

static tn_status *read_entries(tn_cursor *c, tn_cursor *data, const dialects *d,
                               tn_bytecode_entry *entries, size_t total)
{
    for (size_t n = 0; n < total;) {
        tn_bytecode_string name;
        TN_TRY(read_dialect(d, c, &name));
        uint8_t dialect = (uint8_t)tn_dialect_find(name.data, name.size);
        size_t k = tn_cursor_count(c);
        TN_TRY(tn_cursor_check(c));
        if (k > total - n) return tn_cursor_error(c, "more entries than the total says");
        for (size_t i = 0; i < k; i++) {
            tn_bytecode_entry *e = &entries[n++];
            e->size = tn_cursor_flagged(c, &e->binary);
            e->data = tn_cursor_bytes(data, e->size);
            e->dialect = dialect;
        }
        TN_TRY(tn_cursor_check(c));
        TN_TRY(tn_cursor_check(data));
    }
    return NULL;
}

static tn_status *read_tables(tn_bytecode *b, tn_cursor *c, tn_cursor *data, const dialects *d)
{
    b->n_attrs = tn_cursor_count(c);
    b->n_types = tn_cursor_count(c);
    TN_TRY(tn_cursor_check(c));
    b->attrs = TN_NEW_ARRAY(b->arena, tn_bytecode_entry, b->n_attrs);
    b->types = TN_NEW_ARRAY(b->arena, tn_bytecode_entry, b->n_types);
    TN_TRY(read_entries(c, data, d, b->attrs, b->n_attrs));
    TN_TRY(read_entries(c, data, d, b->types, b->n_types));
    TN_TRY(tn_cursor_finish(c, section_names[SECTION_ENTRY_OFFSET]));
    return tn_cursor_finish(data, section_names[SECTION_ENTRY]);
}

/* --- the whole --- */

static tn_status *check_producer(const tn_cursor *c, const char *producer)
{
    static const int newest[3] = TN_STABLEHLO_CURRENT;
    int major, minor;
    if (sscanf(producer, "StableHLO_v%9d.%9d", &major, &minor) != 2) return NULL;
    if (major < newest[0] || (major == newest[0] && minor <= newest[1])) return NULL;
    return tn_cursor_unsupported(c,
                                 "the program was written for StableHLO %d.%d; the newest version "
                                 "that is read is %d.%d",
                                 major, minor, newest[0], newest[1]);
}

tn_status *tn_bytecode_open(tn_bytecode *b, tn_arena *a, const void *data, size_t size)
{
    *b = (tn_bytecode){.arena = a, .file = data, .size = size};
    tn_cursor c = tn_cursor_make(data, data, size), sections[SECTION_COUNT];
    bool present[SECTION_COUNT] = {false};
    size_t producer_size;
    if (!tn_is_bytecode(data, size))
        return tn_cursor_error(&c, "expected MLIR bytecode, which starts with 4D 4C EF 52");
    tn_cursor_bytes(&c, sizeof magic);
    b->version = tn_cursor_varint(&c);
    TN_TRY(tn_cursor_check(&c));
    if (b->version > NEWEST_BYTECODE)
        return tn_cursor_unsupported(&c,
                                     "bytecode version %llu; the newest version that is read is %d",
                                     (unsigned long long)b->version, NEWEST_BYTECODE);
    b->producer = tn_cursor_text(&c, &producer_size);
    TN_TRY(tn_cursor_check(&c));
    TN_TRY(check_producer(&c, b->producer));
    while (tn_cursor_left(&c)) {
        unsigned id;
        tn_cursor body;
        TN_TRY(tn_bytecode_section(&c, &id, &body));
        if (id >= SECTION_COUNT || id == SECTION_DIALECT_VERSIONS)
            return tn_cursor_error(&c, "unknown section %u", id);
        if (present[id]) return tn_cursor_error(&c, "%s stands twice", section_names[id]);
        present[id] = true;
        sections[id] = body;
    }
    for (unsigned id = 0; id <= SECTION_IR; id++)
        if (!present[id]) return tn_cursor_error(&c, "%s is missing", section_names[id]);
    if (present[SECTION_RESOURCE] != present[SECTION_RESOURCE_OFFSET])
        return tn_cursor_error(&c, "of the two resource sections one is missing");
    if (b->version >= 5 && !present[SECTION_PROPERTIES])
        return tn_cursor_error(&c, "%s is missing", section_names[SECTION_PROPERTIES]);

    dialects d;
    TN_TRY(read_strings(b, &sections[SECTION_STRING]));
    if (present[SECTION_PROPERTIES]) TN_TRY(read_records(b, &sections[SECTION_PROPERTIES]));
    TN_TRY(read_dialects(b, &sections[SECTION_DIALECT], &d));
    if (present[SECTION_RESOURCE])
        TN_TRY(
            read_resources(b, &sections[SECTION_RESOURCE_OFFSET], &sections[SECTION_RESOURCE], &d));
    TN_TRY(read_tables(b, &sections[SECTION_ENTRY_OFFSET], &sections[SECTION_ENTRY], &d));
    b->ir = sections[SECTION_IR];
    return NULL;
}
