/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/extensions.h"
#include "pjrt/named_value.h"
#include "pjrt/object.h"

static void free_client(void *arg)
{
    PJRT_Client *c = arg;
    tn_pjrt_topology_free(c->topology);
    free(c->devices);
    free(c->device_list);
    free(c->memories);
    free(c->memory_list);
    free(c);
}

/* Of a client whose first memory holds its memories array, which stands for all of it. */
static void free_client_of(void *memories)
{
    tn_pjrt_memory *first = memories;
    free_client(first->device->client);
}

static void fill_device(PJRT_Client *c, size_t i, tn_device *it)
{
    PJRT_Device *d = &c->devices[i];
    *d = (PJRT_Device){.it = it, .client = c};
    const PJRT_TopologyDescription *t = c->topology;
    for (size_t k = 0; k < t->n_devices; k++)
        if (t->devices[k].it->id == tn_device_id(it)) d->description = &t->devices[k];
    c->device_list[i] = d;
}

static void fill_memory(PJRT_Client *c, size_t i, tn_memory *it)
{
    tn_pjrt_memory *m = &c->memories[i];
    *m = (tn_pjrt_memory){.base.vtable = &tn_pjrt_memory_table, .it = it};
    c->memory_list[i] = &m->base;
    for (size_t k = 0; k < c->n_devices; k++) {
        PJRT_Device *d = &c->devices[k];
        if (d->it != tn_memory_device(it)) continue;
        m->device = d;
        d->memories[d->n_memories++] = &m->base;
    }
}

static tn_status *fill(PJRT_Client *c)
{
    TN_TRY(tn_pjrt_topology_make(tn_topology_retain(tn_client_topology(c->it)), &c->topology));
    c->topology->of_client = true;

    tn_device *const *devices = tn_client_devices(c->it, &c->n_devices);
    tn_memory *const *memories = tn_client_memories(c->it, &c->n_memories);
    c->devices = calloc(c->n_devices + 1, sizeof *c->devices);
    c->device_list = calloc(c->n_devices + 1, sizeof(PJRT_Device *));
    c->memories = calloc(c->n_memories + 1, sizeof *c->memories);
    c->memory_list = calloc(c->n_memories + 1, sizeof(PJRT_Memory *));
    if (!c->devices || !c->device_list || !c->memories || !c->memory_list)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu devices", c->n_devices);
    for (size_t i = 0; i < c->n_devices; i++) fill_device(c, i, devices[i]);
    for (size_t i = 0; i < c->n_memories; i++) fill_memory(c, i, memories[i]);
    /* The first comes last: from then on the object ends with the memory. */
    for (size_t i = c->n_memories; i-- > 0;)
        TN_TRY(tn_pjrt_memory_attach(memories[i], &c->memories[i], i ? NULL : free_client_of));
    return NULL;
}

PJRT_Error *tn_pjrt_Client_Create(PJRT_Client_Create_Args *args)
{
    /* The key-value callbacks serve jobs of several processes only, and hold garbage without. */
    PJRT_Client *c = calloc(1, sizeof *c);
    if (!c) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a client");
    tn_named_value *options;
    tn_status *s = tn_pjrt_take_values(args->create_options, args->num_options, &options);
    if (!s) s = tn_client_create(tn_pjrt_default_driver(), options, args->num_options, &c->it);
    free(options);
    if (!s) {
        tn_pjrt_claim_stablehlo(tn_client_stablehlo_version(c->it));
        tn_pjrt_profiler_set_size(tn_client_profiler_api_size(c->it));
        s = fill(c);
        if (s) tn_client_close(c->it);
    }
    if (s) {
        free_client(c);
        return tn_pjrt_error(s);
    }
    args->client = c;
    return NULL;
}

PJRT_Error *tn_pjrt_Client_Destroy(PJRT_Client_Destroy_Args *args)
{
    if (args->client) tn_client_close(args->client->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_PlatformName(PJRT_Client_PlatformName_Args *args)
{
    TN_PJRT_NEED(client);
    args->platform_name = tn_client_platform_name(args->client->it);
    args->platform_name_size = strlen(args->platform_name);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_PlatformVersion(PJRT_Client_PlatformVersion_Args *args)
{
    TN_PJRT_NEED(client);
    args->platform_version = tn_client_platform_version(args->client->it);
    args->platform_version_size = strlen(args->platform_version);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_ProcessIndex(PJRT_Client_ProcessIndex_Args *args)
{
    TN_PJRT_NEED(client);
    args->process_index = tn_client_process_index(args->client->it);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_TopologyDescription(PJRT_Client_TopologyDescription_Args *args)
{
    TN_PJRT_NEED(client);
    args->topology = args->client->topology;
    return NULL;
}

PJRT_Error *tn_pjrt_Client_Devices(PJRT_Client_Devices_Args *args)
{
    TN_PJRT_NEED(client);
    args->devices = args->client->device_list;
    args->num_devices = args->client->n_devices;
    return NULL;
}

PJRT_Error *tn_pjrt_Client_AddressableDevices(PJRT_Client_AddressableDevices_Args *args)
{
    TN_PJRT_NEED(client);
    args->addressable_devices = args->client->device_list;
    args->num_addressable_devices = args->client->n_devices;
    return NULL;
}

PJRT_Error *tn_pjrt_Client_AddressableMemories(PJRT_Client_AddressableMemories_Args *args)
{
    TN_PJRT_NEED(client);
    args->addressable_memories = args->client->memory_list;
    args->num_addressable_memories = args->client->n_memories;
    return NULL;
}

PJRT_Error *tn_pjrt_Client_LookupDevice(PJRT_Client_LookupDevice_Args *args)
{
    TN_PJRT_NEED(client);
    tn_device *d;
    TN_PJRT_TRY(tn_client_lookup_device(args->client->it, args->id, &d));
    args->device = tn_pjrt_device_find(d);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args *args)
{
    TN_PJRT_NEED(client);
    tn_device *d;
    TN_PJRT_TRY(tn_client_lookup_local_device(args->client->it, args->local_hardware_id, &d));
    args->addressable_device = tn_pjrt_device_find(d);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args *args)
{
    TN_PJRT_NEED(client);
    if (args->default_assignment_size > 0) TN_PJRT_NEED(default_assignment);
    return tn_pjrt_error(
        tn_client_default_assignment(args->client->it, args->num_replicas, args->num_partitions,
                                     args->default_assignment, args->default_assignment_size));
}

PJRT_Error *tn_pjrt_Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args *args)
{
    TN_PJRT_NEED(client);
    return NULL; /* a job of one process has no others to hear of */
}

PJRT_Error *tn_pjrt_Client_DmaMap(PJRT_Client_DmaMap_Args *args)
{
    TN_PJRT_NEED(client);
    return tn_pjrt_error(tn_client_dma_map(args->client->it, args->data, args->size));
}

PJRT_Error *tn_pjrt_Client_DmaUnmap(PJRT_Client_DmaUnmap_Args *args)
{
    TN_PJRT_NEED(client);
    return tn_pjrt_error(tn_client_dma_unmap(args->client->it, args->data));
}
