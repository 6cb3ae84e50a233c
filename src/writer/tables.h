/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h - the strings, attributes, types, op names and property records of an artifact under
 * way, each once. */
#ifndef TN_WRITER_TABLES_H
#define TN_WRITER_TABLES_H

#include "ir/ir.h"
#include "writer/bytes.h"

enum { TN_WRITE_BUILTIN, TN_WRITE_VHLO }; /* dialects by their index in the artifact */

/* Entries in order of their making; equal bytes of one dialect are one entry. */
typedef struct {
    tn_bytes *entries;
    uint8_t *dialects;
    size_t n, room;
    uint32_t *slots; /* hash: entry + 1, 0 when empty */
    size_t capacity;
} tn_intern;

typedef struct {
    tn_arena *arena;
    tn_intern strings, attrs, types, ops, properties;
} tn_tables;

size_t tn_intern_add(tn_tables *t, tn_intern *in, uint8_t dialect, const void *data, size_t size);

size_t tn_write_string(tn_tables *t, const char *data, size_t size);
/* Indices in the type and attribute tables. */
tn_status *tn_write_type(tn_tables *t, const tn_type *type, size_t *out) TN_MUST_USE;
tn_status *tn_write_element(tn_tables *t, tn_element_type e, size_t *out) TN_MUST_USE;
/* An attribute as VHLO has it, by its kind. */
tn_status *tn_write_attr(tn_tables *t, const tn_attr *a, size_t *out) TN_MUST_USE;
/* One that a row of ops.def names; NULL stands for what VHLO writes when it is absent. */
tn_status *tn_write_inherent(tn_tables *t, tn_attr_name name, const tn_attr *a,
                             size_t *out) TN_MUST_USE;
size_t tn_write_string_attr(tn_tables *t, const char *text, size_t size); /* VHLO's StringV1 */
size_t tn_write_builtin_string(tn_tables *t, const char *text);
size_t tn_write_unknown_location(tn_tables *t);
tn_status *tn_write_type_attr(tn_tables *t, const tn_type *type, size_t *out) TN_MUST_USE;
/* A node of `code` with the attributes items[n] as a list. */
size_t tn_write_array(tn_tables *t, const size_t *items, size_t n);

#endif
