/* SPDX-License-Identifier: Apache-2.0 */
/* entries.h - attributes and types of a bytecode file, decoded when first asked for and once.
 *
 * Entries may refer to each other in any order; nesting is bounded by TN_ENTRY_DEPTH, a cycle is an
 * error, and so is a value that would have more than TN_ENTRY_WEIGHT nodes when written out (shared
 * parts count each time). What is well formed but not supported (another dialect's attribute, a
 * type of 128 bits) becomes a LIST node with tag "unsupported" and a STRING that says why: as a
 * discardable attribute it does no harm. An unsupported type is an UNIMPLEMENTED error. */
#ifndef TN_READER_ENTRIES_H
#define TN_READER_ENTRIES_H

#include "reader/container.h"

enum { TN_ENTRY_DEPTH = 128, TN_ENTRY_WEIGHT = 1 << 20 };

/* Attributes that are made here have room for one converted form, see convert.c. */
typedef struct {
    tn_attr attr;
    const tn_attr *converted;
} tn_entry_node;

/* Each reads an index from `c` and gives the entry that it names. */
tn_status *tn_entry_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_entry_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out) TN_MUST_USE;
tn_status *tn_entry_type_at(tn_bytecode *b, tn_cursor *c, uint64_t index,
                            const tn_type **out) TN_MUST_USE;
/* A type that may be the element of a tensor: a TENSOR type of rank 0, perhaps quantized. */
tn_status *tn_entry_read_scalar(tn_bytecode *b, tn_cursor *c, const tn_type **out) TN_MUST_USE;
/* NULL when the optional form says that it is absent. */
tn_status *tn_entry_read_optional(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
/* An attribute index, checked, of an entry that is not decoded (locations). */
tn_status *tn_entry_read_index(const tn_bytecode *b, tn_cursor *c, uint32_t *out) TN_MUST_USE;

/* Nodes. */
tn_attr *tn_entry_node_new(tn_bytecode *b, tn_attr_kind kind);
tn_attr *tn_entry_int(tn_bytecode *b, int64_t v);
/* A LIST with room for n items, which are written through *items. */
tn_attr *tn_entry_list(tn_bytecode *b, const char *tag, size_t n, const tn_attr ***items);

/* Reads a node of a dialect's own: a LIST with `tag` and one item for each letter of `fields`.
 *   a attribute            s string index (STRING)     i signed number (INT)   d 64-bit float
 * (FLOAT) L list of attributes   I list of numbers (INTS)    b boolean byte (BOOL)   t type (TYPE)
 *   E nothing: an empty LIST
 *   o attribute in the optional form, h attribute behind a 0/1 number, B behind a boolean byte, p
 *   number in the optional form: no item when absent
 *   l (alone) list of attributes as the node's own items */
tn_status *tn_entry_read_fields(tn_bytecode *b, tn_cursor *c, const char *tag, const char *fields,
                                const tn_attr **out) TN_MUST_USE;
tn_status *tn_entry_read_array(tn_bytecode *b, tn_cursor *c, const char *tag,
                               const tn_attr **out) TN_MUST_USE;
tn_status *tn_entry_read_dict(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_entry_read_string(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_entry_read_type_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
/* A LIST with `tag` that holds a number, which must be first..last. */
tn_status *tn_entry_read_enumeration(tn_bytecode *b, tn_cursor *c, const char *tag, unsigned first,
                                     unsigned last, const tn_attr **out) TN_MUST_USE;
/* A type and the elements of a constant of that type. */
tn_status *tn_entry_read_tensor(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
/* A number or float of a type that is read first. */
tn_status *tn_entry_read_integer(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_entry_read_float(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;

/* What each dialect's decoder reads: its code first. */
tn_status *tn_builtin_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_vhlo_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_sdy_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_stablehlo_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
tn_status *tn_chlo_read_attr(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
/* CHLO has attributes without an encoding of their own, which come as text. */
tn_status *tn_chlo_read_text(tn_bytecode *b, tn_cursor *c, const tn_attr **out) TN_MUST_USE;
/* *scalar is set for types that may be elements. */
tn_status *tn_builtin_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out,
                                bool *scalar) TN_MUST_USE;
tn_status *tn_vhlo_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out,
                             bool *scalar) TN_MUST_USE;
tn_status *tn_quant_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out,
                              bool *scalar) TN_MUST_USE;
tn_status *tn_stablehlo_read_type(tn_bytecode *b, tn_cursor *c, const tn_type **out) TN_MUST_USE;

/* Elements of a constant as the file has them, to a TENSOR node; see dense.c. */
tn_status *tn_entry_dense(tn_bytecode *b, const tn_cursor *c, const tn_type *type,
                          const uint8_t *data, size_t size, const tn_attr **out) TN_MUST_USE;

#endif
