/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/named_value.h"
#include "pjrt/object.h"
#include "pjrt/shape.h"

static tn_status *fill(PJRT_TopologyDescription *t)
{
    const tn_named_value *values = tn_topology_attributes(t->it, &t->n_attributes);
    TN_TRY(tn_pjrt_give_values(values, t->n_attributes, &t->attributes));

    t->n_devices = tn_topology_device_count(t->it);
    t->devices = calloc(t->n_devices + 1, sizeof *t->devices);
    t->device_list = calloc(t->n_devices + 1, sizeof(PJRT_DeviceDescription *));
    if (!t->devices || !t->device_list)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu device descriptions", t->n_devices);
    for (size_t i = 0; i < t->n_devices; i++) {
        const tn_device_description *d = tn_topology_device(t->it, i);
        t->devices[i].it = d;
        t->device_list[i] = &t->devices[i];
        TN_TRY(tn_pjrt_give_values(d->attributes, d->n_attributes, &t->devices[i].attributes));
    }
    return NULL;
}

tn_status *tn_pjrt_topology_make(tn_topology *it, PJRT_TopologyDescription **out)
{
    PJRT_TopologyDescription *t = calloc(1, sizeof *t);
    if (!t) {
        tn_topology_release(it);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a topology");
    }
    t->it = it;
    tn_status *s = fill(t);
    if (s) tn_pjrt_topology_free(t);
    else *out = t;
    return s;
}

void tn_pjrt_topology_free(PJRT_TopologyDescription *t)
{
    if (!t) return;
    for (size_t i = 0; t->devices && i < t->n_devices; i++) free(t->devices[i].attributes);
    free(t->devices);
    free(t->device_list);
    free(t->attributes);
    tn_topology_release(t->it);
    free(t);
}

PJRT_Error *tn_pjrt_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args *args)
{
    if (args->topology_name_size > 0) TN_PJRT_NEED(topology_name);
    char *name =
        strndup(args->topology_name_size ? args->topology_name : "", args->topology_name_size);
    if (!name) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a topology's name");

    tn_topology *it;
    tn_named_value *options;
    tn_status *s = tn_pjrt_take_values(args->create_options, args->num_options, &options);
    if (!s)
        s = tn_topology_create(name[0] ? name : tn_pjrt_default_driver(), options,
                               args->num_options, &it);
    free(options);
    free(name);
    if (!s) s = tn_pjrt_topology_make(it, &args->topology);
    return tn_pjrt_error(s);
}

PJRT_Error *tn_pjrt_TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args *args)
{
    if (args->topology && !args->topology->of_client) tn_pjrt_topology_free(args->topology);
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_PlatformName(
    PJRT_TopologyDescription_PlatformName_Args *args)
{
    TN_PJRT_NEED(topology);
    args->platform_name = tn_topology_platform_name(args->topology->it);
    args->platform_name_size = strlen(args->platform_name);
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_PlatformVersion(
    PJRT_TopologyDescription_PlatformVersion_Args *args)
{
    TN_PJRT_NEED(topology);
    args->platform_version = tn_topology_platform_version(args->topology->it);
    args->platform_version_size = strlen(args->platform_version);
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_GetDeviceDescriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args *args)
{
    TN_PJRT_NEED(topology);
    args->descriptions = args->topology->device_list;
    args->num_descriptions = args->topology->n_devices;
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args *args)
{
    TN_PJRT_NEED(topology);
    args->attributes = args->topology->attributes;
    args->num_attributes = args->topology->n_attributes;
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args *args)
{
    TN_PJRT_NEED(topology);
    args->fingerprint = tn_topology_fingerprint(args->topology->it);
    return NULL;
}

static void free_serialized(PJRT_SerializedTopology *holder)
{
    free(holder);
}

PJRT_Error *tn_pjrt_TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args *args)
{
    TN_PJRT_NEED(topology);
    size_t size;
    const char *bytes = tn_topology_serialize(args->topology->it, &size);
    char *copy = malloc(size + 1);
    if (!copy) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a topology's bytes");
    memcpy(copy, bytes, size);
    args->serialized_bytes = copy;
    args->serialized_bytes_size = size;
    args->serialized_topology = (PJRT_SerializedTopology *)copy;
    args->serialized_topology_deleter = free_serialized;
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args *args)
{
    TN_PJRT_NEED(serialized_topology);
    tn_topology *it;
    TN_PJRT_TRY(
        tn_topology_deserialize(args->serialized_topology, args->serialized_topology_size, &it));
    return tn_pjrt_error(tn_pjrt_topology_make(it, &args->topology));
}

static void free_shape(const char *bytes)
{
    free((void *)bytes);
}

PJRT_Error *tn_pjrt_TopologyDescription_MakeCanonicalShapeForMemorySpace(
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args)
{
    TN_PJRT_NEED(topology);
    if (args->memory_space_kind_id < 0 || args->memory_space_kind_id >= TN_MEMORY_KINDS)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "there is no kind of memory with id %d",
                             args->memory_space_kind_id);
    tn_pjrt_shape shape; /* all arrays are row-major here: what layout was asked for is moot */
    TN_PJRT_TRY(
        tn_pjrt_take_shape(args->element_type, args->dims, args->num_dims, args->layout, &shape));
    void *bytes;
    TN_PJRT_TRY(tn_pjrt_shape_proto(&shape.type, &bytes, &args->serialized_shape_size));
    args->serialized_shape = bytes;
    args->serialized_shape_deleter = free_shape;
    return NULL;
}

PJRT_Error *tn_pjrt_TopologyDescription_GetMemorySpaceKindIds(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *args)
{
    static const int ids[TN_MEMORY_KINDS] = {TN_MEMORY_DEVICE, TN_MEMORY_PINNED_HOST,
                                             TN_MEMORY_UNPINNED_HOST};
    TN_PJRT_NEED(topology);
    args->memory_space_kind_ids = ids;
    args->num_memory_space_kind_ids = TN_MEMORY_KINDS;
    return NULL;
}
