/* SPDX-License-Identifier: Apache-2.0 */
/* execute_context.h - a PJRT_ExecuteContext is the context of src/ffi under another name. */
#ifndef TN_PJRT_EXECUTE_CONTEXT_H
#define TN_PJRT_EXECUTE_CONTEXT_H

#include "ffi/context.h"
#include "pjrt/object.h"

TN_PJRT_ALIAS(PJRT_ExecuteContext, tn_custom_call_context, tn_of_context, tn_pjrt_context)

#endif
