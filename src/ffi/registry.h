/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - what callers have registered for custom calls: handlers, and types of user data.
 *
 * Both registries are the process's, and nothing is ever taken out of them. Threads: any. */
#ifndef TN_FFI_REGISTRY_H
#define TN_FFI_REGISTRY_H

#include <stdbool.h>

#include "tenon/ffi.h"
#include "tenon/status.h"

typedef struct {
    const char *target;
    bool typed;                    /* else stages.execute is a function of the older interface */
    XLA_FFI_Handler_Bundle stages; /* of Python's callbacks and all others */
    XLA_FFI_TypeId state_type;     /* of typed ones */
} tn_ffi_handler;

/* The handler that was registered last for this target, on any platform; NULL: none. Lives for
 * ever. */
const tn_ffi_handler *tn_ffi_find(const char *target);

/* Names are copied. A typed handler is asked for its version first: UNIMPLEMENTED, if it was built
 * for another major version. ALREADY_EXISTS: the target has another handler on this platform. */
tn_status *tn_ffi_register(const char *target, size_t target_size, const char *platform,
                           size_t platform_size, const XLA_FFI_Handler_Bundle *stages,
                           bool typed) TN_MUST_USE;

/* Gives a type its id, or takes the caller's if *id is not 0. `deleter` (or NULL) ends objects of
 * the type. INVALID_ARGUMENT: name or id stand for another type. */
tn_status *tn_ffi_register_type(const char *name, size_t name_size, void (*deleter)(void *object),
                                int64_t *id) TN_MUST_USE;
/* Ends `object`, if its type says how. */
void tn_ffi_delete(int64_t type_id, void *object);

#endif
