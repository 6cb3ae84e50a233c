/* SPDX-License-Identifier: Apache-2.0 */
/* execute.h - executables loaded onto the devices of a client, and their runs.
 *
 * Threads: any function from any thread; runs of one executable may overlap. */
#ifndef TN_RUNTIME_EXECUTE_H
#define TN_RUNTIME_EXECUTE_H

#include "executable/executable.h"
#include "runtime/buffer.h"
#include "runtime/client.h"

typedef struct tn_loaded_executable tn_loaded_executable;

/* Loads `e` (retained) onto devices: device_ids[replica * num_partitions + partition], counts from
 * the executable's info; NULL: the default assignment if that fits, and with one replica and one
 * partition the first device. n_ids is checked against the counts: INVALID_ARGUMENT, as is a device
 * that does not exist or appears twice. */
tn_status *tn_loaded_executable_create(tn_client *c, tn_executable *e, const int *device_ids,
                                       size_t n_ids, tn_loaded_executable **out) TN_MUST_USE;
/* The same without devices of its own: each run names one with tn_execute_options.device. */
tn_status *tn_loaded_executable_create_portable(tn_client *c, tn_executable *e,
                                                tn_loaded_executable **out) TN_MUST_USE;

tn_loaded_executable *tn_loaded_executable_retain(tn_loaded_executable *l);
void tn_loaded_executable_release(tn_loaded_executable *l); /* NULL is fine; runs go on */

tn_executable *tn_loaded_executable_get(const tn_loaded_executable *l); /* borrowed */
tn_client *tn_loaded_executable_client(const tn_loaded_executable *l);

typedef struct {
    int replica, partition;
} tn_logical_id;
/* The devices it runs on, in the order of the argument lists, and what each runs; live with it.
 * Portable: none. */
tn_device *const *tn_loaded_executable_devices(const tn_loaded_executable *l, size_t *n);
const tn_logical_id *tn_loaded_executable_logical_ids(const tn_loaded_executable *l, size_t *n);
/* The device ids, [replica * num_partitions + partition]; portable: *n = 0. */
const int *tn_loaded_executable_assignment(const tn_loaded_executable *l, size_t *n);

/* Lets go of the program; runs in flight go on, further ones fail with FAILED_PRECONDITION. */
void tn_loaded_executable_delete(tn_loaded_executable *l);
bool tn_loaded_executable_is_deleted(const tn_loaded_executable *l);

/* Says that the calling thread is about to wait for a result. Threads that wait for each run before
 * they start the next do short ones themselves. */
void tn_execute_note_wait(void);

typedef struct {
    int launch_id;                /* 0: none; see tn_device_poison */
    const int64_t *non_donatable; /* [n_non_donatable]: parameters not to take, donated or not */
    size_t n_non_donatable;
    tn_device *device; /* NULL: those of the assignment; else it alone, n_devices 1 */
    /* What custom calls see. release(custom_calls) is called once (may be NULL): after the run, or
     * at once if the program has no such calls, also when tn_execute fails. */
    const struct tn_custom_call_context *custom_calls;
    void (*release_custom_calls)(const struct tn_custom_call_context *context);
    /* Where sends to the host and receives go (ops/host_channel.h); released likewise. */
    const struct tn_host_channels *host_channels;
    void (*release_host_channels)(const struct tn_host_channels *channels);
} tn_execute_options;

/* Starts a run on each device and returns; its failure shows in the events.
 *
 * A dynamic program (tn_executable_info.is_dynamic) is compiled for the sizes of the arguments when
 * they come for the first time, and results have the sizes that follow. Where sizes depend on
 * values, the call blocks until the arguments that they are computed from are ready, and returns
 * their error if there is one.
 * args[d][a]: n_devices lists of n_args buffers, borrowed; outs[d][r]: room for the results, each a
 * reference of the caller's; done: NULL, or room for n_devices events.
 * Donated parameters are deleted on return, unless an external reference is held or they are named
 * as not donatable. A buffer that is in error gives results in the same error.
 * On an error return nothing is written and no buffer is deleted. INVALID_ARGUMENT names the
 * argument: wrong number, type or device; deleted or donated before; donated twice, or donated and
 * used, in this call. FAILED_PRECONDITION: deleted executable. RESOURCE_EXHAUSTED: no memory for
 * results. */
tn_status *tn_execute(tn_loaded_executable *l, const tn_execute_options *options,
                      tn_buffer *const *const *args, size_t n_devices, size_t n_args,
                      tn_buffer **const *outs, tn_event **done) TN_MUST_USE;

#endif
