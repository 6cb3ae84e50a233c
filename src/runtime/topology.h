/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h - which devices there are, without the devices: what a program is compiled for.
 *
 * Immutable after making; any thread. All strings and arrays live with the topology. */
#ifndef TN_RUNTIME_TOPOLOGY_H
#define TN_RUNTIME_TOPOLOGY_H

#include "base/named_value.h"
#include "tenon/status.h"

typedef struct tn_topology tn_topology;

/* One device, there or not. */
typedef struct {
    int id;            /* unique among the devices of the topology: 0, 1, ... */
    int process_index; /* the process that can use it */
    const char *kind;  /* the model: "cpu", "sim" */
    const char *debug_string;
    const char *to_string; /* "CpuDevice(id=0)" */
    const tn_named_value *attributes;
    size_t n_attributes;
} tn_device_description;

/* Kinds of memory that every device has, "device" (the default) first. A kind's id is its index. */
enum { TN_MEMORY_DEVICE, TN_MEMORY_PINNED_HOST, TN_MEMORY_UNPINNED_HOST, TN_MEMORY_KINDS };
extern const char *const tn_memory_kind_names[TN_MEMORY_KINDS];

/* The devices that a client of the same driver and options would have. driver: name of a driver, as
 * in tn_client_create. Errors: those of tn_client_create. */
tn_status *tn_topology_create(const char *driver, const tn_named_value *options, size_t n_options,
                              tn_topology **out) TN_MUST_USE;

tn_topology *tn_topology_retain(tn_topology *t);
void tn_topology_release(tn_topology *t); /* NULL is fine */

const char *tn_topology_platform_name(const tn_topology *t);
const char *tn_topology_platform_version(const tn_topology *t);
size_t tn_topology_device_count(const tn_topology *t);
const tn_device_description *tn_topology_device(const tn_topology *t, size_t i);
const tn_named_value *tn_topology_attributes(const tn_topology *t, size_t *n);

/* Equal for equal topologies in any process. */
uint64_t tn_topology_fingerprint(const tn_topology *t);
/* Bytes for tn_topology_deserialize; they live with the topology. */
const char *tn_topology_serialize(const tn_topology *t, size_t *size);
/* INVALID_ARGUMENT for bytes that are not a topology of this version. */
tn_status *tn_topology_deserialize(const char *bytes, size_t size, tn_topology **out) TN_MUST_USE;

#endif
