/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/execute_context.h"

PJRT_Error *tn_pjrt_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args *args)
{
    tn_custom_call_context *c;
    TN_PJRT_TRY(tn_ffi_context_create(&c));
    args->context = tn_pjrt_context(c);
    return NULL;
}

PJRT_Error *tn_pjrt_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args *args)
{
    tn_ffi_context_release(tn_of_context(args->context));
    return NULL;
}
