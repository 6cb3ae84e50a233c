/* SPDX-License-Identifier: Apache-2.0 */
/* properties.h - an op's inherent attributes: from the wire to the kinds of attrs.def. */
#ifndef TN_READER_PROPERTIES_H
#define TN_READER_PROPERTIES_H

#include "reader/entries.h"

/* The property record `index`. */
tn_status *tn_properties_record(const tn_bytecode *b, const tn_cursor *from, uint64_t index,
                                tn_cursor *out) TN_MUST_USE;

/* Fills op->attrs from a record: every attribute of the form in wire order, then what this version
 * lacks gets its default. A backend_config that is a dictionary (typed FFI) becomes the discardable
 * attribute mhlo.backend_config, as JAX sends it, and the STRING is empty. */
tn_status *tn_properties_read(tn_bytecode *b, const tn_op_name *name, tn_cursor *record,
                              tn_op *op) TN_MUST_USE;
/* The same from a dictionary (bytecode before version 5 has no records). What is no inherent
 * attribute becomes op->extra when `take_rest`. */
tn_status *tn_properties_from_dict(tn_bytecode *b, const tn_op_name *name, const tn_cursor *from,
                                   const tn_attr *dict, bool take_rest, tn_op *op) TN_MUST_USE;

/* Converts one attribute to the kind that attrs.def gives for `name`:
 *   tensors of integers of rank 1 or 2 to INTS, of booleans to BOOLS, enumerations to INT (of the
 *   right enumeration), the type `none` to NULL (absent), and in lists tensors to INTS and
 *   enumerations to INT. Replica groups by the axes of a mesh stay a LIST node; the reader of the
 *   module expands them once it has all meshes. */
tn_status *tn_properties_convert(tn_bytecode *b, const tn_cursor *from, tn_attr_name name,
                                 const tn_attr *in, const tn_attr **out) TN_MUST_USE;

/* The rank that a tensor must have to be this attribute where its rows count; 0: any. */
uint32_t tn_property_rank(tn_attr_name name);

/* What attrs.def asks for: a kind of tn_attr, and for enumerations the node's tag. */
typedef struct {
    tn_attr_kind kind;
    const char *enumeration;
} tn_property_target;
extern const tn_property_target tn_property_targets[TN_ATTR_COUNT];
/* "an integer", by tn_attr_kind. */
extern const char *const tn_property_kind_texts[];
/* Is it the node of an enumeration, as it stands outside of inherent attributes? */
bool tn_property_is_enumeration(const tn_attr *v);
/* The result_accuracy that stands for none. */
extern const tn_attr tn_default_accuracy;

#endif
