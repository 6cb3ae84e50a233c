/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the devices of one driver, opened, with their memories, queues and threads.
 *
 * Threads: any function from any thread.
 * Lifetime: whoever created the client ends it with tn_client_close. Buffers and loaded executables
 * keep what they need of it, so they may be released afterwards.
 * Fork: in a forked child every call that would start or await work returns FAILED_PRECONDITION at
 * once; releasing objects there is safe and frees nothing. */
#ifndef TN_RUNTIME_CLIENT_H
#define TN_RUNTIME_CLIENT_H

#include "runtime/device.h"
#include "runtime/memory.h"
#include "base/named_value.h"
#include "runtime/topology.h"

typedef struct tn_client tn_client;

/* Opens the devices of a driver.
 * driver   name of a built-in driver, "cpu" or "sim"; NULL: "cpu". The option "driver" wins.
 * options  those of the table in options.def of this folder, and those of the driver; read only
 *          during the call.
 * INVALID_ARGUMENT names an unknown option, one of the wrong kind or out of range; NOT_FOUND an
 * unknown driver; UNIMPLEMENTED: a job of several processes (num_nodes > 1). */
tn_status *tn_client_create(const char *driver, const tn_named_value *options, size_t n_options,
                            tn_client **out) TN_MUST_USE;

/* Waits for work in flight, except that loops end at their next turn with CANCELLED; cancels what
 * waits for events that nobody set, and ends the owner's reference. */
void tn_client_close(tn_client *c);

/* What the options of these names say; NULL: nothing. */
const char *tn_client_stablehlo_version(const tn_client *c);
size_t tn_client_profiler_api_size(const tn_client *c);
const char *tn_client_platform_name(const tn_client *c);
const char *tn_client_platform_version(const tn_client *c);
int tn_client_process_index(const tn_client *c);
tn_topology *tn_client_topology(const tn_client *c); /* lives with the client */
const char *tn_client_driver_name(const tn_client *c);
struct tn_thread_pool *tn_client_pool(const tn_client *c);

/* In the order of their ids. All are addressable: there is one process. The arrays live with the
 * client. */
tn_device *const *tn_client_devices(const tn_client *c, size_t *n);
tn_memory *const *tn_client_memories(const tn_client *c, size_t *n);

/* INVALID_ARGUMENT if no device has it. */
tn_status *tn_client_lookup_device(const tn_client *c, int id, tn_device **out) TN_MUST_USE;
tn_status *tn_client_lookup_local_device(const tn_client *c, int local_hardware_id,
                                         tn_device **out) TN_MUST_USE;

/* Which device runs which replica and partition unless somebody says otherwise: fills
 * out[replica * num_partitions + partition] with device ids; `room` is the number of ints in out.
 * INVALID_ARGUMENT for counts below 1 or more places than devices, FAILED_PRECONDITION for too
 * little room. */
tn_status *tn_client_default_assignment(const tn_client *c, int num_replicas, int num_partitions,
                                        int *out, size_t room) TN_MUST_USE;

/* Host memory that will often be a source or target of transfers. Nothing needs to be done for it
 * today; INVALID_ARGUMENT for NULL, and NOT_FOUND for unmapping what is not mapped. */
tn_status *tn_client_dma_map(tn_client *c, void *data, size_t size) TN_MUST_USE;
tn_status *tn_client_dma_unmap(tn_client *c, void *data) TN_MUST_USE;

#endif
