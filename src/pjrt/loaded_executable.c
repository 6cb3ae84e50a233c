/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/executable.h"

static tn_status *load_devices(tn_client *client, tn_executable *e,
                               const tn_compile_options *options, tn_loaded_executable **out)
{
    if (options->compile_portable) return tn_loaded_executable_create_portable(client, e, out);

    const tn_device_assignment *a = &options->device_assignment;
    const size_t n = (size_t)(a->replicas * a->partitions);
    const int ordinal = (int)options->device_ordinal;
    const tn_executable_info *info = tn_executable_get_info(e);
    if (n == 0 && ordinal >= 0 && info->num_replicas == 1 && info->num_partitions == 1)
        return tn_loaded_executable_create(client, e, &ordinal, 1, out);
    if (n == 0) return tn_loaded_executable_create(client, e, NULL, 0, out);

    int *ids = malloc(n * sizeof *ids);
    if (!ids) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu device ids", n);
    tn_status *s = NULL;
    for (size_t i = 0; i < n && !s; i++) {
        ids[i] = (int)a->ids[i];
        if (ids[i] != a->ids[i])
            s = TN_ERROR(INVALID_ARGUMENT, "device assignment: there is no device %lld",
                         (long long)a->ids[i]);
    }
    if (!s) s = tn_loaded_executable_create(client, e, ids, n, out);
    free(ids);
    return s;
}

static void release(PJRT_LoadedExecutable *l)
{
    if (!l) return;
    tn_loaded_executable_release(l->it);
    tn_pjrt_executable_release(l->executable);
    free(l->devices);
    free(l->logical_ids);
    free(l);
}

static tn_status *fill(PJRT_LoadedExecutable *l)
{
    tn_device *const *devices = tn_loaded_executable_devices(l->it, &l->n_devices);
    TN_TRY(tn_pjrt_device_list(devices, l->n_devices, &l->devices));
    const tn_logical_id *ids = tn_loaded_executable_logical_ids(l->it, &l->n_devices);
    l->logical_ids = malloc((l->n_devices + 1) * sizeof *l->logical_ids);
    if (!l->logical_ids)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu device ids", l->n_devices);
    for (size_t i = 0; i < l->n_devices; i++)
        l->logical_ids[i] = (PJRT_LogicalDeviceIds){ids[i].replica, ids[i].partition};
    return NULL;
}

tn_status *tn_pjrt_load(const PJRT_Client *client, PJRT_Executable *e,
                        const tn_compile_options *options, PJRT_LoadedExecutable **out)
{
    PJRT_LoadedExecutable *l = calloc(1, sizeof *l);
    if (!l) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a loaded executable");
    l->executable = tn_pjrt_executable_retain(e);
    tn_status *s = load_devices(client->it, e->it, options, &l->it);
    if (!s) s = fill(l);
    if (s) release(l);
    else *out = l;
    return s;
}

PJRT_Error *tn_pjrt_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args *args)
{
    release(args->executable);
    return NULL;
}

PJRT_Error *tn_pjrt_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args)
{
    TN_PJRT_NEED(loaded_executable);
    args->executable = tn_pjrt_executable_retain(args->loaded_executable->executable);
    return NULL;
}

PJRT_Error *tn_pjrt_LoadedExecutable_AddressableDevices(
    PJRT_LoadedExecutable_AddressableDevices_Args *args)
{
    TN_PJRT_NEED(executable);
    args->addressable_devices = args->executable->devices;
    args->num_addressable_devices = args->executable->n_devices;
    return NULL;
}

PJRT_Error *tn_pjrt_LoadedExecutable_AddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *args)
{
    TN_PJRT_NEED(executable);
    args->addressable_device_logical_ids = args->executable->logical_ids;
    args->num_addressable_device_logical_ids = args->executable->n_devices;
    return NULL;
}

static void free_assignment(PJRT_DeviceAssignmentSerialized *holder)
{
    free(holder);
}

static tn_status *assignment_bytes(const PJRT_LoadedExecutable *l, void **bytes, size_t *size)
{
    const tn_executable_info *info = l->executable->info;
    size_t n;
    const int *ids = tn_loaded_executable_assignment(l->it, &n);
    if (n == 0) { /* portable */
        *size = 0;
        *bytes = malloc(1);
        return *bytes ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "no memory");
    }
    int64_t *wide = malloc(n * sizeof *wide);
    if (!wide) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu device ids", n);
    for (size_t i = 0; i < n; i++) wide[i] = ids[i];
    const tn_device_assignment a = {
        .replicas = info->num_replicas, .partitions = info->num_partitions, .ids = wide};
    tn_status *s = tn_device_assignment_encode(&a, bytes, size);
    free(wide);
    return s;
}

PJRT_Error *tn_pjrt_LoadedExecutable_GetDeviceAssignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args *args)
{
    TN_PJRT_NEED(executable);
    void *bytes;
    TN_PJRT_TRY(assignment_bytes(args->executable, &bytes, &args->serialized_bytes_size));
    args->serialized_bytes = bytes;
    args->serialized_device_assignment = bytes;
    args->serialized_device_assignment_deleter = free_assignment;
    return NULL;
}

PJRT_Error *tn_pjrt_LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args *args)
{
    TN_PJRT_NEED(executable);
    tn_loaded_executable_delete(args->executable->it);
    return NULL;
}

PJRT_Error *tn_pjrt_LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args *args)
{
    TN_PJRT_NEED(executable);
    args->is_deleted = tn_loaded_executable_is_deleted(args->executable->it);
    return NULL;
}

PJRT_Error *tn_pjrt_LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args *args)
{
    return TN_PJRT_ERROR(UNIMPLEMENTED,
                         "PJRT_LoadedExecutable_Fingerprint is not implemented: it is deprecated "
                         "in favour of PJRT_Executable_Fingerprint");
}
