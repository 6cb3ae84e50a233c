/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/object.h"

static void *get_user_data(PJRT_Memory *memory, const void *key)
{
    return tn_memory_user_data(tn_of_memory(memory)->it, key);
}

static void set_user_data(PJRT_Memory *memory, const void *key, void *data, void (*dtor)(void *))
{
    /* The table has no way to say that there was no memory. */
    tn_status_free(tn_memory_set_user_data(tn_of_memory(memory)->it, key, data, dtor));
}

const PJRT_Memory_FunctionTable tn_pjrt_memory_table = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .instance_struct_size = sizeof(tn_pjrt_memory),
    .get_user_data = get_user_data,
    .set_user_data = set_user_data,
};

PJRT_Error *tn_pjrt_Memory_Id(PJRT_Memory_Id_Args *args)
{
    TN_PJRT_NEED(memory);
    args->id = tn_memory_id(tn_of_memory(args->memory)->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Memory_Kind(PJRT_Memory_Kind_Args *args)
{
    TN_PJRT_NEED(memory);
    args->kind = tn_memory_kind(tn_of_memory(args->memory)->it);
    args->kind_size = strlen(args->kind);
    return NULL;
}

PJRT_Error *tn_pjrt_Memory_Kind_Id(PJRT_Memory_Kind_Id_Args *args)
{
    TN_PJRT_NEED(memory);
    args->kind_id = tn_memory_kind_id(tn_of_memory(args->memory)->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Memory_DebugString(PJRT_Memory_DebugString_Args *args)
{
    TN_PJRT_NEED(memory);
    args->debug_string = tn_memory_debug_string(tn_of_memory(args->memory)->it);
    args->debug_string_size = strlen(args->debug_string);
    return NULL;
}

PJRT_Error *tn_pjrt_Memory_ToString(PJRT_Memory_ToString_Args *args)
{
    TN_PJRT_NEED(memory);
    args->to_string = tn_memory_to_string(tn_of_memory(args->memory)->it);
    args->to_string_size = strlen(args->to_string);
    return NULL;
}

PJRT_Error *tn_pjrt_Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args *args)
{
    TN_PJRT_NEED(memory);
    args->devices = &tn_of_memory(args->memory)->device;
    args->num_devices = 1;
    return NULL;
}
