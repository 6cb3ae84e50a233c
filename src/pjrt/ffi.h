/* SPDX-License-Identifier: Apache-2.0 */
/* ffi.h - what callers have registered for custom calls: handlers, and types of user data.
 *
 * Both registries are the process's, and nothing is ever taken out of them. Threads: any. */
#ifndef TN_PJRT_FFI_H
#define TN_PJRT_FFI_H

#include <stdbool.h>
#include <stddef.h>

/* The handler (an XLA_FFI_Handler) that was registered last for this target, on any platform; NULL:
 * none. */
void *tn_pjrt_ffi_handler(const char *target);

/* Makes them known to the compiler. Once. */
void tn_pjrt_ffi_init(void);

#endif
