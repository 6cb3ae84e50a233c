/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - foreign bytes to IR. Never trusts a length or an index; bad bytes give
 * INVALID_ARGUMENT that says where.
 *
 * Reads MLIR bytecode versions 0-6 holding VHLO 0.9.0-1.20.0, builtin and sdy, in which every VHLO
 * op version is upgraded to the newest one. */
#ifndef TN_READER_READER_H
#define TN_READER_READER_H

#include "ir/ir.h"

/* Newest and oldest StableHLO version that is read, as plugin attributes say. */
#define TN_STABLEHLO_CURRENT {1, 20, 0}
#define TN_STABLEHLO_MINIMUM {0, 9, 0}

/* `data` must stay valid as long as the module is used (locations are decoded from it when a
 * message needs one). Call inside tn_arena_run. */
tn_status *tn_read_bytecode(const void *data, size_t size, tn_arena *a,
                            tn_module **out) TN_MUST_USE;
/* Does it start as MLIR bytecode does? */
bool tn_is_bytecode(const void *data, size_t size);

#endif
