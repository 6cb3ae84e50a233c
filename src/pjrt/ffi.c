/* SPDX-License-Identifier: Apache-2.0 */
/* ffi.c - the extensions through which callers bring handlers of custom calls and data for them. */
#include "ffi/registry.h"

#include "pjrt/execute_context.h"
#include "pjrt/extensions.h"

static PJRT_Error *FFI_Type_Register(PJRT_FFI_Type_Register_Args *args)
{
    TN_PJRT_NEED(type_name);
    int64_t id = args->type_id;
    TN_PJRT_TRY(tn_ffi_register_type(args->type_name, args->type_name_size,
                                     args->type_info ? args->type_info->deleter : NULL, &id));
    args->type_id = id;
    return NULL;
}

static PJRT_Error *FFI_UserData_Add(PJRT_FFI_UserData_Add_Args *args)
{
    TN_PJRT_NEED(context);
    return tn_pjrt_error(tn_ffi_context_add(tn_of_context(args->context), args->user_data.type_id,
                                            args->user_data.data));
}

static PJRT_Error *FFI_Register_Handler(PJRT_FFI_Register_Handler_Args *args)
{
    TN_PJRT_NEED(target_name);
    TN_PJRT_NEED(handler);
    const XLA_FFI_Handler_Bundle stages = {.execute = (XLA_FFI_Handler *)args->handler};
    return tn_pjrt_error(
        tn_ffi_register(args->target_name, args->target_name_size, args->platform_name,
                        args->platform_name ? args->platform_name_size : 0, &stages, true));
}

TN_PJRT_ENTRY_OUT(PJRT_FFI_Type_Register, FFI_Type_Register, type_info, type_id)
TN_PJRT_ENTRY_IN(PJRT_FFI_UserData_Add, FFI_UserData_Add, user_data)
TN_PJRT_ENTRY_IN(PJRT_FFI_Register_Handler, FFI_Register_Handler, traits)

const PJRT_FFI_Extension tn_pjrt_ffi_extension = {
    .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_FFI,
             .next = TN_PJRT_EXTENSION(memory_descriptions)},
    .type_register = entry_PJRT_FFI_Type_Register,
    .user_data_add = entry_PJRT_FFI_UserData_Add,
    .register_handler = entry_PJRT_FFI_Register_Handler,
};

/* ---- An extension of our own: handlers of all stages, and functions of the untyped interface ----
 */

static PJRT_Error *Gpu_Register_Custom_Call(PJRT_Gpu_Register_Custom_Call_Args *args)
{
    TN_PJRT_NEED(function_name);
    if (args->api_version != 0 && args->api_version != 1)
        return TN_PJRT_ERROR(UNIMPLEMENTED,
                             "version %d of the custom call interface; 0 (untyped) and 1 (typed) "
                             "are known",
                             args->api_version);
    const XLA_FFI_Handler_Bundle stages = {
        .instantiate = (XLA_FFI_Handler *)args->handler_instantiate,
        .prepare = (XLA_FFI_Handler *)args->handler_prepare,
        .initialize = (XLA_FFI_Handler *)args->handler_initialize,
        .execute = (XLA_FFI_Handler *)args->handler_execute};
    return tn_pjrt_error(tn_ffi_register(args->function_name, args->function_name_size, NULL, 0,
                                         &stages, args->api_version == 1));
}

TN_PJRT_ENTRY_IN(PJRT_Gpu_Register_Custom_Call, Gpu_Register_Custom_Call, handler_execute)

const PJRT_Gpu_Custom_Call_Extension tn_pjrt_custom_call_extension = {
    .base = {.struct_size = PJRT_Gpu_Custom_Call_Extension_STRUCT_SIZE,
             .type = TN_PJRT_CUSTOM_CALL_TYPE,
             .next = TN_PJRT_EXTENSION(ffi)},
    .custom_call = entry_PJRT_Gpu_Register_Custom_Call,
};
