/* SPDX-License-Identifier: Apache-2.0 */
/* container.h - the outer form of MLIR bytecode: sections, strings, dialects and the tables of
 * entries, resources and property records. Nothing in an entry is decoded here. */
#ifndef TN_READER_CONTAINER_H
#define TN_READER_CONTAINER_H

#include "ir/ir.h"
#include "reader/cursor.h"
#include "reader/op_names.h"

typedef struct {
    const char *data; /* in the file, NUL terminated, may hold inner NULs */
    size_t size;
} tn_bytecode_string;

/* An attribute or a type: bytes in the file and, once decoded, its value. */
typedef struct {
    const uint8_t *data;
    size_t size;
    uint32_t weight; /* nodes of the value written out as a tree: bounds every walk over it */
    uint8_t dialect; /* tn_dialect */
    bool binary;     /* the dialect's own encoding; else assembly text */
    bool scalar;     /* a type that may be the element of a tensor */
    uint8_t state;   /* tn_entry_state */
    union {
        const tn_attr *attr;
        const tn_type *type;
        const char *reason; /* why it is unsupported */
    };
} tn_bytecode_entry;

typedef enum {
    TN_ENTRY_FRESH,
    TN_ENTRY_IN_PROGRESS,
    TN_ENTRY_DONE,
    TN_ENTRY_UNSUPPORTED
} tn_entry_state;

typedef struct {
    const uint8_t *data; /* the record's bytes */
    size_t size;
} tn_bytecode_record;

typedef struct {
    tn_arena *arena;
    const uint8_t *file;
    size_t size;
    uint64_t version;
    const char *producer;

    tn_bytecode_string *strings;
    size_t n_strings;
    tn_bytecode_record *properties;
    size_t n_properties;
    tn_op_name *ops;
    size_t n_ops;
    tn_bytecode_record *resources; /* blobs of dialect resources; NULL data: not a blob */
    size_t n_resources;
    tn_bytecode_entry *attrs, *types;
    size_t n_attrs, n_types;
    tn_cursor ir; /* the body of the IR section */

    /* state of decoding, see entries.h */
    unsigned depth;
    uint64_t weight;
    size_t expanded; /* bytes that splats were expanded to */
} tn_bytecode;

/* Finds all sections and tables of `data`. */
tn_status *tn_bytecode_open(tn_bytecode *b, tn_arena *a, const void *data, size_t size) TN_MUST_USE;

/* Reads the header of a section and gives its body. */
tn_status *tn_bytecode_section(tn_cursor *c, unsigned *id, tn_cursor *body) TN_MUST_USE;

/* Reads a string index. */
tn_status *tn_bytecode_read_string(const tn_bytecode *b, tn_cursor *c,
                                   tn_bytecode_string *out) TN_MUST_USE;

#endif
