/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - a look into a StableHLO program, as bytecode or as text.
 *
 * Threads: any. Errors: those of the readers. */
#ifndef TN_PROGRAM_H
#define TN_PROGRAM_H

#include <stdint.h>

#include "tenon/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The program as MLIR prints it; the caller frees *out with free(). */
tn_status *tn_program_text(const void *code, size_t size, char **out) TN_MUST_USE;

/* Calls `visit` for each parameter of @main, in order: its element type, as PJRT numbers it (0: no
 * array), and its shape; dimensions of unknown size are negative. */
typedef void tn_program_parameter(void *user, int element_type, size_t rank, const int64_t *dims);
tn_status *tn_program_parameters(const void *code, size_t size, tn_program_parameter *visit,
                                 void *user) TN_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
