/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - what stands behind the opaque objects of the ABI.
 *
 * Buffers and the like are the runtime's objects under another name, so that argument lists
 * go through as they are. Where the ABI wants arrays or strings in a form of its own, a struct
 * holds them beside the object. Those of a client are held by its first memory, as user data, and
 * so end when the last buffer or run lets go of the client, not before. */
#ifndef TN_PJRT_OBJECT_H
#define TN_PJRT_OBJECT_H

#include "base/ref.h"
#include "pjrt/entry.h"
#include "runtime/runtime.h"

/* In an implementation: leaves with INVALID_ARGUMENT if a field of args is NULL. */
#define TN_PJRT_NEED(field)                                                                        \
    do {                                                                                           \
        if (__builtin_expect(!args->field, 0)) return tn_pjrt_missing(__func__, #field);           \
    } while (0)
PJRT_Error *tn_pjrt_missing(const char *function, const char *field) TN_MUST_USE;

/* ---- The runtime's objects under another name ---- */

#define TN_PJRT_ALIAS(abi, runtime, from, to)                                                      \
    static inline runtime *from(abi *object)                                                       \
    {                                                                                              \
        return (runtime *)object;                                                                  \
    }                                                                                              \
    static inline abi *to(runtime *object)                                                         \
    {                                                                                              \
        return (abi *)object;                                                                      \
    }
TN_PJRT_ALIAS(PJRT_Buffer, tn_buffer, tn_of_buffer, tn_pjrt_buffer)
TN_PJRT_ALIAS(PJRT_FulfillAliasBufferCallback, tn_buffer_promise, tn_of_promise, tn_pjrt_promise)
TN_PJRT_ALIAS(PJRT_AsyncHostToDeviceTransferManager, tn_transfer_manager, tn_of_transfer_manager,
              tn_pjrt_transfer_manager)
TN_PJRT_ALIAS(PJRT_CopyToDeviceStream, tn_copy_stream, tn_of_stream, tn_pjrt_stream)
TN_PJRT_ALIAS(PJRT_AsyncTrackingEvent, tn_tracking_event, tn_of_tracking, tn_pjrt_tracking)

/* ---- Events ---- */

/* One handle: each that is handed out is ended for itself, so that no two are the same address. */
struct PJRT_Event {
    tn_event *it;
};

/* A handle for a call to fill, made before anything is started, so that there is no way to fail
 * afterwards:
 *     PJRT_Event *event;
 *     TN_PJRT_TRY(tn_pjrt_event_new(&event));
 *     return tn_pjrt_event_give(tn_start(..., &event->it), event, &args->event); */
tn_status *tn_pjrt_event_new(PJRT_Event **out) TN_MUST_USE;
/* Takes both: with `s` the handle ends and the error comes out, else *out is the handle. */
PJRT_Error *tn_pjrt_event_give(tn_status *s, PJRT_Event *event, PJRT_Event **out) TN_MUST_USE;

/* ---- Topologies and their devices ---- */

struct PJRT_DeviceDescription {
    const tn_device_description *it;
    PJRT_NamedValue *attributes;
};

struct PJRT_TopologyDescription {
    tn_topology *it;
    bool of_client; /* ends with the client, not with its own Destroy */
    size_t n_devices, n_attributes;
    PJRT_DeviceDescription *devices;
    PJRT_DeviceDescription **device_list;
    PJRT_NamedValue *attributes;
};

/* Takes `t`. */
tn_status *tn_pjrt_topology_make(tn_topology *t, PJRT_TopologyDescription **out) TN_MUST_USE;
void tn_pjrt_topology_free(PJRT_TopologyDescription *t); /* NULL is fine */

/* ---- Clients, devices, memories ---- */

struct PJRT_Device {
    tn_device *it;
    PJRT_Client *client;
    PJRT_DeviceDescription *description;
    PJRT_Memory *memories[TN_MEMORY_KINDS];
    size_t n_memories;
};

typedef struct {
    PJRT_Memory base; /* first */
    tn_memory *it;
    PJRT_Device *device; /* the array of those that can use it */
} tn_pjrt_memory;

struct PJRT_Client {
    tn_client *it;
    PJRT_TopologyDescription *topology;
    size_t n_devices, n_memories;
    PJRT_Device *devices;
    PJRT_Device **device_list;
    tn_pjrt_memory *memories;
    PJRT_Memory **memory_list;
};

extern const PJRT_Memory_FunctionTable tn_pjrt_memory_table;

static inline const tn_pjrt_memory *tn_of_memory(const PJRT_Memory *m)
{
    return (const tn_pjrt_memory *)m;
}

/* The ABI's objects of the runtime's. */
PJRT_Memory *tn_pjrt_memory_find(const tn_memory *m);
tn_status *tn_pjrt_memory_attach(tn_memory *m, tn_pjrt_memory *object,
                                 void (*destroy)(void *object)) TN_MUST_USE;
PJRT_Device *tn_pjrt_device_find(const tn_device *d);
/* In place: an array of n tn_device * becomes one of PJRT_Device * in *out, which ends with free.
 */
tn_status *tn_pjrt_device_list(tn_device *const *devices, size_t n, PJRT_Device ***out) TN_MUST_USE;

/* Where a call puts a buffer: `memory`, or if that is NULL the default memory of `device`. */
tn_status *tn_pjrt_target(const PJRT_Client *client, const PJRT_Device *device,
                          const PJRT_Memory *memory, tn_memory **out) TN_MUST_USE;

#endif
