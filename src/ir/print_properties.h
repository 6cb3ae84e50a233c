/* SPDX-License-Identifier: Apache-2.0 */
/* print_properties.h - an op's inherent attributes as StableHLO's text has them. */
#ifndef TN_IR_PRINT_PROPERTIES_H
#define TN_IR_PRINT_PROPERTIES_H

#include "ir/ir.h"
#include "ir/text.h"

/* Prints " <{...}>", or nothing for an op without. */
void tn_print_properties(tn_text *t, const tn_op *op);
/* The dictionary that StableHLO has as the backend_config of a typed FFI call, and we as a
 * discardable attribute; NULL for every other op. */
const tn_attr *tn_print_typed_config(const tn_op *op);

#endif
