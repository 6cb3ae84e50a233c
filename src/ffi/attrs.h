/* SPDX-License-Identifier: Apache-2.0 */
/* attrs.h - types and attributes as handlers see them. */
#ifndef TN_FFI_ATTRS_H
#define TN_FFI_ATTRS_H

#include "ir/ir.h"
#include "tenon/ffi.h"

/* XLA's number for an element type; INVALID where it has none. */
XLA_FFI_DataType tn_ffi_type(tn_element_type e);

/* The attributes of a call, from a dictionary (or NULL: none); all of it lives in `a`.
 * UNIMPLEMENTED names an attribute that the FFI has no form for. */
tn_status *tn_ffi_attrs(const tn_op *op, const tn_attr *dict, tn_arena *a,
                        XLA_FFI_Attrs *out) TN_MUST_USE;

#endif
