/* SPDX-License-Identifier: Apache-2.0 */
/* ir_reader.h - the IR section: regions, ops, values and functions. */
#ifndef TN_READER_IR_READER_H
#define TN_READER_IR_READER_H

#include "reader/container.h"

/* Reads the one builtin.module of an opened file into `m`. op->location is the index of the
 * location's attribute entry plus one. */
tn_status *tn_ir_read(tn_bytecode *b, tn_module *m) TN_MUST_USE;

/* What is known once a module is read whole: counts of devices, that symbols are unique, `main`. */
tn_status *tn_reader_finish(tn_module *m) TN_MUST_USE;

#endif
