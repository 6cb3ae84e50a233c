/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/object.h"

#include <stdlib.h>

PJRT_Error *tn_pjrt_missing(const char *function, const char *field)
{
    static const char prefix[] = "tn_pjrt_";
    const size_t size = sizeof prefix - 1;
    return TN_PJRT_ERROR(INVALID_ARGUMENT, "PJRT_%s: %s is NULL",
                         function + (strncmp(function, prefix, size) ? 0 : size), field);
}

/* Its address is the key under which a memory holds its object. */
static const char key;

PJRT_Memory *tn_pjrt_memory_find(const tn_memory *m)
{
    tn_pjrt_memory *object = tn_memory_user_data(m, &key);
    return &object->base;
}

tn_status *tn_pjrt_memory_attach(tn_memory *m, tn_pjrt_memory *object, void (*destroy)(void *))
{
    return tn_memory_set_user_data(m, &key, object, destroy);
}

PJRT_Device *tn_pjrt_device_find(const tn_device *d)
{
    return tn_of_memory(tn_pjrt_memory_find(tn_device_default_memory(d)))->device;
}

tn_status *tn_pjrt_device_list(tn_device *const *devices, size_t n, PJRT_Device ***out)
{
    PJRT_Device **list = malloc((n ? n : 1) * sizeof *list);
    if (!list) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a list of %zu devices", n);
    for (size_t i = 0; i < n; i++) list[i] = tn_pjrt_device_find(devices[i]);
    *out = list;
    return NULL;
}

tn_status *tn_pjrt_target(const PJRT_Client *client, const PJRT_Device *device,
                          const PJRT_Memory *memory, tn_memory **out)
{
    const PJRT_Device *owner = memory ? tn_of_memory(memory)->device : device;
    if (!owner) return TN_ERROR(INVALID_ARGUMENT, "neither a device nor a memory is named");
    if (owner->client != client)
        return TN_ERROR(INVALID_ARGUMENT, "the %s is one of another client",
                        memory ? "memory" : "device");
    *out = memory ? tn_of_memory(memory)->it : tn_device_default_memory(owner->it);
    return NULL;
}
