/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - custom calls whose handlers come from outside: typed ones of the XLA FFI, and functions
 * of the older interface.
 *
 * A handler sees each buffer in the layout that the op gives for it; where that is not row-major it
 * works on copies. A result that aliases an operand starts as a copy of it, and both have one
 * address. */
#ifndef TN_FFI_CALL_H
#define TN_FFI_CALL_H

#include "ffi/registry.h"
#include "ops/custom_call.h"

/* Makes all registered handlers known to the compiler, Python's callbacks among them. Any number of
 * times. */
void tn_ffi_init(void);

/* ---- For the files of this folder ---- */

/* Physical buffers of one call. */
typedef struct {
    void **args, **rets;
} tn_ffi_buffers;

/* What the older interface calls, by the op's api_version; `b` as above. */
tn_status *tn_ffi_call_untyped(const tn_op *op, const tn_ffi_handler *h,
                               const tn_ffi_buffers *b) TN_MUST_USE;
/* Whether a program may ask for this function of the older interface. */
tn_status *tn_ffi_check_untyped(const tn_op *op) TN_MUST_USE;

#endif
