/* SPDX-License-Identifier: Apache-2.0 */
/* op_names.h - from an op's name in a file to its row of ops.def and the wire order of its
 * attributes in that version. */
#ifndef TN_READER_OP_NAMES_H
#define TN_READER_OP_NAMES_H

#include "ir/ir.h"

typedef enum {
    TN_DIALECT_OTHER,
    TN_DIALECT_BUILTIN,
    TN_DIALECT_VHLO,
    TN_DIALECT_SDY,
    TN_DIALECT_STABLEHLO,
    TN_DIALECT_CHLO,
    TN_DIALECT_FUNC,
    TN_DIALECT_QUANT
} tn_dialect;

tn_dialect tn_dialect_find(const char *name, size_t size);

#define TN_MAX_WIRE_ATTRS 20

/* An attribute of a property record. */
typedef struct {
    int16_t position; /* in tn_op_infos[kind].attrs, or -1: read and dropped */
    int16_t name;     /* tn_attr_name; its text is the key in a dictionary (before version 5) */
    bool optional;    /* in the record's optional form */
} tn_wire_attr;

typedef enum {
    TN_ROLE_OP,       /* a row of ops.def */
    TN_ROLE_MODULE,   /* builtin.module */
    TN_ROLE_FUNCTION, /* vhlo.func_v1 and func.func */
    TN_ROLE_PLAIN,    /* a row of ops.def as StableHLO or func has it; no wire order */
    TN_ROLE_CHLO      /* any op of CHLO, see text_chlo.h */
} tn_op_role;

/* How one version of an op is written. */
typedef struct tn_op_form {
    tn_op_role role;
    tn_op_kind kind;
    uint32_t absent; /* attributes of the row that this version lacks: bit i for position i */
    uint32_t n_wire;
    tn_wire_attr wire[TN_MAX_WIRE_ATTRS];
} tn_op_form;

/* An entry of a file's table of op names. */
typedef struct {
    const char *dialect, *name; /* NUL terminated, as in the file */
    const tn_op_form *form; /* NULL: not an op that is read, which is an error once it is used */
    bool registered;        /* its properties are a record, not a dictionary */
} tn_op_name;

/* The form of an op, or NULL. */
const tn_op_form *tn_op_form_find(const char *dialect, size_t dialect_size, const char *name,
                                  size_t name_size);

#endif
