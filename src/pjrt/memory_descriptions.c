/* SPDX-License-Identifier: Apache-2.0 */
/* memory_descriptions.c - the extension that tells the memories of devices that are not there. */
#include "pjrt/extensions.h"
#include "pjrt/object.h"

struct PJRT_MemoryDescription {
    int kind; /* TN_MEMORY_* */
};

static PJRT_Error *DeviceDescription_MemoryDescriptions(
    PJRT_DeviceDescription_MemoryDescriptions_Args *args)
{
    static const PJRT_MemoryDescription rows[TN_MEMORY_KINDS] = {
        {TN_MEMORY_DEVICE}, {TN_MEMORY_PINNED_HOST}, {TN_MEMORY_UNPINNED_HOST}};
    static const PJRT_MemoryDescription *const list[TN_MEMORY_KINDS] = {&rows[0], &rows[1],
                                                                        &rows[2]};
    TN_PJRT_NEED(device_description);
    args->memory_descriptions = list;
    args->num_memory_descriptions = TN_MEMORY_KINDS;
    args->default_memory_index = TN_MEMORY_DEVICE;
    return NULL;
}

static PJRT_Error *MemoryDescription_Kind(PJRT_MemoryDescription_Kind_Args *args)
{
    TN_PJRT_NEED(memory_description);
    args->kind_id = args->memory_description->kind;
    args->kind = tn_memory_kind_names[args->kind_id];
    args->kind_size = strlen(args->kind);
    return NULL;
}

TN_PJRT_ENTRY_OUT(PJRT_DeviceDescription_MemoryDescriptions, DeviceDescription_MemoryDescriptions,
                  default_memory_index, memory_descriptions)
TN_PJRT_ENTRY_OUT(PJRT_MemoryDescription_Kind, MemoryDescription_Kind, kind_id, kind)

const PJRT_MemoryDescriptions_Extension tn_pjrt_memory_descriptions_extension = {
    .base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_MemoryDescriptions,
             .next = TN_PJRT_EXTENSION(profiler)},
    .PJRT_DeviceDescription_MemoryDescriptions = entry_PJRT_DeviceDescription_MemoryDescriptions,
    .PJRT_MemoryDescription_Kind = entry_PJRT_MemoryDescription_Kind,
};
