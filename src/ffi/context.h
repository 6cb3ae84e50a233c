/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - what a caller hands to the custom calls of a run: data under the ids of its types.
 *
 * One object for the caller and all its runs. Threads: any. */
#ifndef TN_FFI_CONTEXT_H
#define TN_FFI_CONTEXT_H

#include <stdint.h>

#include "tenon/status.h"

typedef struct tn_custom_call_context tn_custom_call_context;

tn_status *tn_ffi_context_create(tn_custom_call_context **out) TN_MUST_USE;
const tn_custom_call_context *tn_ffi_context_retain(const tn_custom_call_context *c); /* or NULL */
void tn_ffi_context_release(const tn_custom_call_context *c); /* NULL is fine */

/* Adds data (borrowed) under its type. ALREADY_EXISTS: the context has data of this type. */
tn_status *tn_ffi_context_add(tn_custom_call_context *c, int64_t type_id, void *data) TN_MUST_USE;
/* The data under a type, or NULL; c may be NULL. */
void *tn_ffi_context_find(const tn_custom_call_context *c, int64_t type_id);

#endif
