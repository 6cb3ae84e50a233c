/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the runtime's side of a call: the functions that handlers call back, and what they act
 * on. */
#ifndef TN_FFI_API_H
#define TN_FFI_API_H

#include "base/thread_pool.h"
#include "ffi/context.h"
#include "ffi/registry.h"

/* What a stage left for later ones. */
typedef struct {
    int64_t type_id; /* 0: nothing yet */
    void *object;
} tn_ffi_state;
void tn_ffi_state_end(tn_ffi_state *s);

struct XLA_FFI_ExecutionContext {
    const tn_custom_call_context *user; /* NULL while instantiating */
    tn_thread_pool *pool;
    tn_ffi_state *states[3]; /* by stage; NULL: none can be had */
    int64_t run_id;
    int32_t device;
};

extern const XLA_FFI_Api tn_ffi_api;

/* Asks a handler about itself. */
tn_status *tn_ffi_ask_metadata(XLA_FFI_Handler *handler, XLA_FFI_Metadata *metadata) TN_MUST_USE;

/* Takes an error; NULL stays NULL. */
tn_status *tn_ffi_take_error(XLA_FFI_Error *e) TN_MUST_USE;
/* Blocks until the future is set, and ends it. */
tn_status *tn_ffi_await(XLA_FFI_Future *f) TN_MUST_USE;

#endif
