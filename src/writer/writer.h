/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - IR to a portable artifact: MLIR bytecode version 6 holding VHLO 1.17.0 ops.
 *
 * What tn_read_bytecode reads back as the same module, but for locations and Shardy's attributes,
 * which are left out. */
#ifndef TN_WRITER_WRITER_H
#define TN_WRITER_WRITER_H

#include "ir/ir.h"

/* The bytes live in `a`. Call inside tn_arena_run. UNIMPLEMENTED for what has no VHLO form (sdy
 * ops, casts). */
tn_status *tn_write_bytecode(const tn_module *m, tn_arena *a, const void **out,
                             size_t *size) TN_MUST_USE;

#endif
