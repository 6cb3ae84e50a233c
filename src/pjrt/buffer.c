/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/object.h"
#include "runtime/execute.h"

PJRT_Error *tn_pjrt_Buffer_Destroy(PJRT_Buffer_Destroy_Args *args)
{
    tn_buffer_release(tn_of_buffer(args->buffer));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_ElementType(PJRT_Buffer_ElementType_Args *args)
{
    TN_PJRT_NEED(buffer);
    args->type = (PJRT_Buffer_Type)tn_buffer_type(tn_of_buffer(args->buffer))->element;
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_Dimensions(PJRT_Buffer_Dimensions_Args *args)
{
    TN_PJRT_NEED(buffer);
    const tn_type *type = tn_buffer_type(tn_of_buffer(args->buffer));
    args->dims = type->dims;
    args->num_dims = type->rank;
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args *args)
{
    TN_PJRT_NEED(buffer);
    const tn_type *type = tn_buffer_type(tn_of_buffer(args->buffer));
    args->unpadded_dims = type->dims;
    args->num_dims = type->rank;
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args *args)
{
    TN_PJRT_NEED(buffer);
    static const size_t none[1];
    args->dynamic_dim_indices = none;
    args->num_dynamic_dims = 0;
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args *args)
{
    TN_PJRT_NEED(buffer);
    const tn_buffer *b = tn_of_buffer(args->buffer);
    args->layout = (PJRT_Buffer_MemoryLayout){
        .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
        .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
        .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                  .minor_to_major = tn_buffer_minor_to_major(b),
                  .minor_to_major_size = tn_buffer_type(b)->rank}};
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args *args)
{
    TN_PJRT_NEED(buffer);
    args->on_device_size_in_bytes = tn_buffer_bytes(tn_of_buffer(args->buffer));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_Device(PJRT_Buffer_Device_Args *args)
{
    TN_PJRT_NEED(buffer);
    args->device = tn_pjrt_device_find(tn_buffer_device(tn_of_buffer(args->buffer)));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_Memory(PJRT_Buffer_Memory_Args *args)
{
    TN_PJRT_NEED(buffer);
    args->memory = tn_pjrt_memory_find(tn_buffer_memory(tn_of_buffer(args->buffer)));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_Delete(PJRT_Buffer_Delete_Args *args)
{
    TN_PJRT_NEED(buffer);
    tn_buffer_delete(tn_of_buffer(args->buffer));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args *args)
{
    TN_PJRT_NEED(buffer);
    args->is_deleted = tn_buffer_is_deleted(tn_of_buffer(args->buffer));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args *args)
{
    TN_PJRT_NEED(buffer);
    args->is_on_cpu = tn_buffer_is_on_host(tn_of_buffer(args->buffer));
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args *args)
{
    TN_PJRT_NEED(buffer);
    PJRT_Event *event;
    tn_execute_note_wait();
    TN_PJRT_TRY(tn_pjrt_event_new(&event));
    return tn_pjrt_event_give(tn_buffer_ready_event(tn_of_buffer(args->buffer), &event->it), event,
                              &args->event);
}

PJRT_Error *tn_pjrt_Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args *args)
{
    TN_PJRT_NEED(buffer);
    void *address;
    TN_PJRT_TRY(tn_buffer_pointer(tn_of_buffer(args->buffer), &address));
    args->buffer_pointer = (uintptr_t)address;
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_OpaqueDeviceMemoryDataPointer(
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args)
{
    TN_PJRT_NEED(buffer);
    return tn_pjrt_error(tn_buffer_pointer(tn_of_buffer(args->buffer), &args->device_memory_ptr));
}

PJRT_Error *tn_pjrt_Buffer_IncreaseExternalReferenceCount(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args *args)
{
    TN_PJRT_NEED(buffer);
    return tn_pjrt_error(tn_buffer_add_external_reference(tn_of_buffer(args->buffer)));
}

PJRT_Error *tn_pjrt_Buffer_DecreaseExternalReferenceCount(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args *args)
{
    TN_PJRT_NEED(buffer);
    return tn_pjrt_error(tn_buffer_drop_external_reference(tn_of_buffer(args->buffer)));
}
