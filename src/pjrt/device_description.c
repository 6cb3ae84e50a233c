/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/object.h"

PJRT_Error *tn_pjrt_DeviceDescription_Id(PJRT_DeviceDescription_Id_Args *args)
{
    TN_PJRT_NEED(device_description);
    args->id = args->device_description->it->id;
    return NULL;
}

PJRT_Error *tn_pjrt_DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args *args)
{
    TN_PJRT_NEED(device_description);
    args->process_index = args->device_description->it->process_index;
    return NULL;
}

PJRT_Error *tn_pjrt_DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args *args)
{
    TN_PJRT_NEED(device_description);
    args->num_attributes = args->device_description->it->n_attributes;
    args->attributes = args->device_description->attributes;
    return NULL;
}

PJRT_Error *tn_pjrt_DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args *args)
{
    TN_PJRT_NEED(device_description);
    args->device_kind = args->device_description->it->kind;
    args->device_kind_size = strlen(args->device_kind);
    return NULL;
}

PJRT_Error *tn_pjrt_DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args *args)
{
    TN_PJRT_NEED(device_description);
    args->debug_string = args->device_description->it->debug_string;
    args->debug_string_size = strlen(args->debug_string);
    return NULL;
}

PJRT_Error *tn_pjrt_DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args *args)
{
    TN_PJRT_NEED(device_description);
    args->to_string = args->device_description->it->to_string;
    args->to_string_size = strlen(args->to_string);
    return NULL;
}
