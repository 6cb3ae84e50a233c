/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - building the types that both the builtin dialect and VHLO have. */
#ifndef TN_READER_TYPES_H
#define TN_READER_TYPES_H

#include "reader/entries.h"

/* The type of one element: TENSOR of rank 0. */
const tn_type *tn_scalar_type(tn_element_type e);
/* Stands for tf32, which only the precision of a dot is given in: computed as f32. */
extern const tn_type tn_tf32_type;
extern const tn_type tn_none_type;

enum { TN_MAX_RANK = 64 };

/* The dimension at which a tensor type takes more than 2^47 bytes, or its rank. */
uint32_t tn_type_too_large(const tn_type *t);

/* Reads a shape (and its element type behind it) into a tensor type. `encoding` is NULL or a
 * "bounds" node, `alias` the type's alias or NULL. Refuses more than 2^47 bytes or elements. */
tn_status *tn_types_read_tensor(tn_bytecode *b, tn_cursor *c, const tn_attr *encoding,
                                const char *alias, const tn_type **out) TN_MUST_USE;
tn_status *tn_types_read_unranked(tn_bytecode *b, tn_cursor *c, const tn_type **out) TN_MUST_USE;
tn_status *tn_types_read_complex(tn_bytecode *b, tn_cursor *c, const tn_type **out) TN_MUST_USE;
/* Reads a list of types into a tuple or future. */
tn_status *tn_types_read_parts(tn_bytecode *b, tn_cursor *c, tn_type_kind kind,
                               const tn_type **out) TN_MUST_USE;
tn_status *tn_types_read_function(tn_bytecode *b, tn_cursor *c, const tn_type **out) TN_MUST_USE;
tn_status *tn_types_read_quantized(tn_bytecode *b, tn_cursor *c, bool per_axis,
                                   const tn_type **out) TN_MUST_USE;

/* The storage type of a quantized element: files write it without sign and the sign in the flags.
 * TN_INVALID where it is no integer. */
tn_element_type tn_quantized_storage(tn_element_type e, bool is_signed);

#endif
