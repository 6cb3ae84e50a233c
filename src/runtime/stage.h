/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h - runs a stage of a dynamic program (executable.h). */
#ifndef TN_RUNTIME_STAGE_H
#define TN_RUNTIME_STAGE_H

#include "runtime/execute_internal.h"

/* For whom it runs. */
typedef struct {
    uint32_t replica, partition;
    const struct tn_custom_call_context *custom_calls;
} tn_stage_device;

/* Runs `stage` on the calling thread, on arguments of the program that it is of, and gives its
 * results end to end in *values (free()). Blocks until the arguments that it takes are ready; their
 * errors are returned. */
tn_status *tn_stage_run(tn_client *c, const tn_executable *stage, tn_buffer *const *args,
                        const tn_stage_device *device, void **values, size_t *size) TN_MUST_USE;

#endif
