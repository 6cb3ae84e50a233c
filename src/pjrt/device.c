/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/named_value.h"
#include "pjrt/object.h"

PJRT_Error *tn_pjrt_Device_GetDescription(PJRT_Device_GetDescription_Args *args)
{
    TN_PJRT_NEED(device);
    args->device_description = args->device->description;
    return NULL;
}

PJRT_Error *tn_pjrt_Device_IsAddressable(PJRT_Device_IsAddressable_Args *args)
{
    TN_PJRT_NEED(device);
    args->is_addressable = true;
    return NULL;
}

PJRT_Error *tn_pjrt_Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args *args)
{
    TN_PJRT_NEED(device);
    args->local_hardware_id = tn_device_local_hardware_id(args->device->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Device_AddressableMemories(PJRT_Device_AddressableMemories_Args *args)
{
    TN_PJRT_NEED(device);
    args->memories = args->device->memories;
    args->num_memories = args->device->n_memories;
    return NULL;
}

PJRT_Error *tn_pjrt_Device_DefaultMemory(PJRT_Device_DefaultMemory_Args *args)
{
    TN_PJRT_NEED(device);
    args->memory = tn_pjrt_memory_find(tn_device_default_memory(args->device->it));
    return NULL;
}

PJRT_Error *tn_pjrt_Device_MemoryStats(PJRT_Device_MemoryStats_Args *args)
{
    TN_PJRT_NEED(device);
    TN_PJRT_TRY(tn_device_check(args->device->it));
    tn_memory_stats stats;
    tn_device_memory_stats(args->device->it, &stats);
    args->bytes_in_use = stats.bytes_in_use;
#define GIVE(field)                                                                                \
    args->field = stats.field;                                                                     \
    args->field##_is_set = stats.field >= 0;
    GIVE(peak_bytes_in_use)
    GIVE(num_allocs)
    GIVE(largest_alloc_size)
    GIVE(bytes_limit)
    GIVE(pool_bytes)
    GIVE(peak_pool_bytes)
    GIVE(peak_allocated_bytes)
#undef GIVE
#define UNKNOWN(field)                                                                             \
    args->field = 0;                                                                               \
    args->field##_is_set = false;
    UNKNOWN(bytes_reserved)
    UNKNOWN(peak_bytes_reserved)
    UNKNOWN(bytes_reservable_limit)
    UNKNOWN(largest_free_block_bytes)
#undef UNKNOWN
    return NULL;
}

PJRT_Error *tn_pjrt_Device_ClearMemoryStats(PJRT_Device_ClearMemoryStats_Args *args)
{
    TN_PJRT_NEED(device);
    tn_device_clear_memory_stats(args->device->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Device_PoisonExecution(PJRT_Device_PoisonExecution_Args *args)
{
    TN_PJRT_NEED(device);
    tn_status *s =
        tn_pjrt_status_of(args->error_code, args->error_message, args->error_message_size);
    if (!s) return TN_PJRT_ERROR(INVALID_ARGUMENT, "PJRT_Device_PoisonExecution: the code is OK");
    TN_PJRT_TRY(tn_pjrt_take_payload(args->payload, args->num_payload, &s));
    tn_device_poison(args->device->it, args->launch_id, s, &args->poisoned);
    return NULL;
}

/* What PJRT_Device_GetAttributes hands out. */
struct PJRT_Device_Attributes {
    tn_named_value *ours;
    PJRT_NamedValue *values;
};

static void free_attributes(PJRT_Device_Attributes *a)
{
    free(a->ours);
    free(a->values);
    free(a);
}

PJRT_Error *tn_pjrt_Device_GetAttributes(PJRT_Device_GetAttributes_Args *args)
{
    TN_PJRT_NEED(device);
    PJRT_Device_Attributes *a = calloc(1, sizeof *a);
    if (!a) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for device attributes");
    size_t n;
    tn_status *s = tn_device_attributes(args->device->it, &a->ours, &n);
    if (!s) s = tn_pjrt_give_values(a->ours, n, &a->values);
    if (s) {
        free_attributes(a);
        return tn_pjrt_error(s);
    }
    args->attributes = a->values;
    args->num_attributes = n;
    args->device_attributes = a;
    args->attributes_deleter = free_attributes;
    return NULL;
}

PJRT_Error *tn_pjrt_Device_CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args *args)
{
    TN_PJRT_NEED(device);
    if (args->description_size > 0) TN_PJRT_NEED(description);
    tn_tracking_event *event;
    TN_PJRT_TRY(tn_tracking_event_create(args->device->it, args->description,
                                         args->description_size, &event));
    args->event = tn_pjrt_tracking(event);
    return NULL;
}

PJRT_Error *tn_pjrt_AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args *args)
{
    tn_tracking_event_destroy(tn_of_tracking(args->event));
    return NULL;
}
