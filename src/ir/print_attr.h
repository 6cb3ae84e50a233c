/* SPDX-License-Identifier: Apache-2.0 */
/* print_attr.h - attributes in MLIR's syntax. */
#ifndef TN_IR_PRINT_ATTR_H
#define TN_IR_PRINT_ATTR_H

#include "ir/ir.h"
#include "ir/text.h"

/* An attribute as it stands in a dictionary. */
void tn_print_attr(tn_text *t, const tn_attr *v);
/* {a = 1 : i32, b} */
void tn_print_dict(tn_text *t, const tn_named_attr *pairs, uint32_t n);
/* dense<...> : tensor<...> */
void tn_print_literal(tn_text *t, const tn_literal *v);
/* dense<[[0, 1]]> : tensor<1x2xi64>; `element` is how the element type is spelled,
 * `columns` what a matrix without rows has, or TN_PRINT_LIST for dense<[0, 1]> : tensor<2xi64>. */
#define TN_PRINT_LIST UINT32_MAX
void tn_print_dense_ints(tn_text *t, const tn_attr *v, uint32_t columns, const char *element);
/* #stablehlo<TABLE NAME> by enums.def, for precision and the mode of result_accuracy too. */
void tn_print_enum(tn_text *t, const char *table, int64_t value);
/* A node whose tag starts with "sdy."; false if it is not one that is known. */
bool tn_print_sdy(tn_text *t, const tn_attr *v);

#endif
