/* SPDX-License-Identifier: Apache-2.0 */
/* execute_context.h - what a caller hands to the custom calls of a run. */
#ifndef TN_PJRT_EXECUTE_CONTEXT_H
#define TN_PJRT_EXECUTE_CONTEXT_H

#include "pjrt/object.h"
#include "tenon/pjrt_extensions.h"

struct tn_custom_call_context;

/* Adds data under its type. ALREADY_EXISTS: the context has data of this type. */
tn_status *tn_pjrt_context_add(PJRT_ExecuteContext *context,
                               const PJRT_FFI_UserData *data) TN_MUST_USE;
/* The data under a type, or NULL. */
void *tn_pjrt_context_find(const struct tn_custom_call_context *context, int64_t type_id);

/* A run's reference to a context (NULL gives NULL), which outlives the caller's, and its end. */
const struct tn_custom_call_context *tn_pjrt_context_retain(PJRT_ExecuteContext *context);
void tn_pjrt_context_release(const struct tn_custom_call_context *context);

#endif
