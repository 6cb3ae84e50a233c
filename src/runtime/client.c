/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crew.h"
#include "base/log.h"
#include "base/trace.h"
#include "runtime/client_internal.h"
#include "runtime/options.h"
#include "runtime/storage.h"
#include "runtime/topology_internal.h"

/* ---- Making ---- */

static size_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
}

static size_t pool_limit(const tn_client_options *o, uint64_t memory_bytes)
{
    if (o->pool_limit_bytes >= 0) return (size_t)o->pool_limit_bytes;
    return (size_t)(memory_bytes ? memory_bytes : physical_memory()) / 4;
}

/* Whether the host can address the device's memory: tries it on a block. */
static tn_status *probe_map(const tn_client *c, tn_device *d)
{
    if (!c->driver.map) return NULL;
    tn_mem *mem;
    void *host = NULL;
    TN_ANNOTATE(c->driver.alloc(d->handle, 64, &mem), "opening device %d", d->description->id);
    tn_status *s = c->driver.map(d->handle, mem, &host);
    c->driver.free(d->handle, mem);
    if (s) return s;
    d->mapped = host != NULL;
    return NULL;
}

static tn_status *open_device(tn_client *c, const tn_client_options *o, uint32_t i)
{
    tn_device *d = &c->devices[i];
    c->device_list[i] = d;
    d->client = c;
    pthread_mutex_init(&d->lock, NULL);
    TN_TRY(c->driver.open(c->kit, i, &d->handle));
    TN_TRY(tn_driver_device_info(&c->driver, d->handle, &d->info));
    d->synchronous = d->info.flags & TN_DEVICE_SYNCHRONOUS;
    d->concurrent = d->synchronous && d->info.flags & TN_DEVICE_CONCURRENT;

    char name[32];
    snprintf(name, sizeof name, "tn-launch-%" PRIu32, i);
    TN_TRY(tn_queue_create(name, &d->launches));
    snprintf(name, sizeof name, "tn-stream-%" PRIu32, i);
    return tn_stream_create(&c->driver, d->handle, d->synchronous, name, &d->stream);
}

static tn_status *open_memories(tn_client *c, const tn_client_options *o, uint32_t i)
{
    tn_device *d = &c->devices[i];
    d->description = tn_topology_device(c->topology, i);
    TN_TRY(probe_map(c, d));
    size_t of_device = pool_limit(o, d->info.memory_bytes), of_host = pool_limit(o, 0);
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        size_t limit = d->mapped || k == TN_MEMORY_DEVICE ? of_device : of_host;
        tn_memory_init(&d->memories[k], d, k, limit);
        d->memory_list[k] = c->memory_list[i * TN_MEMORY_KINDS + k] = &d->memories[k];
    }
    return NULL;
}

static tn_status *open_all(tn_client *c, const tn_client_options *o, const tn_named_value *options,
                           size_t n_options)
{
    TN_TRY(tn_thread_pool_create((int)o->num_threads, &c->pool));
    TN_TRY(tn_kit_create(&c->driver, options, n_options, c->pool, &c->kit));
    TN_TRY(tn_queue_create("tn-transfer", &c->transfers));
    uint32_t n = 0;
    TN_TRY(c->driver.count(c->kit, &n));
    if (n == 0) return TN_ERROR(NOT_FOUND, "driver %s has no device", c->driver.name);

    c->devices = calloc(n, sizeof *c->devices);
    c->device_list = calloc(n, sizeof *c->device_list);
    c->memory_list = calloc((size_t)n * TN_MEMORY_KINDS, sizeof *c->memory_list);
    if (!c->devices || !c->device_list || !c->memory_list)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %" PRIu32 " devices", n);
    for (uint32_t i = 0; i < n; i++) {
        c->n_devices = i + 1;
        TN_ANNOTATE(open_device(c, o, i), "opening device %" PRIu32 " of driver %s", i,
                    c->driver.name);
    }

    char version[256];
    tn_platform_version(c->driver.name, version, sizeof version);
    TN_TRY(tn_topology_make(o->platform_name ? o->platform_name : c->driver.name, version,
                            c->devices[0].info.kind, n, &c->topology));
    for (uint32_t i = 0; i < n; i++) TN_TRY(open_memories(c, o, i));
    c->n_memories = (size_t)n * TN_MEMORY_KINDS;
    return NULL;
}

tn_status *tn_client_create(const char *driver, const tn_named_value *options, size_t n_options,
                            tn_client **out)
{
    tn_client_options o;
    tn_driver found;
    TN_TRY(tn_client_options_read(driver, options, n_options, &o, &found));
    tn_client *c = calloc(1, sizeof *c);
    if (!c) {
        tn_client_options_release(&o);
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a client");
    }
    tn_ref_init(&c->ref);
    c->fork_generation = tn_fork_generation();
    c->driver = found;
    c->asynchronous = o.asynchronous;
    c->collective_timeout_ns = (uint64_t)o.collective_timeout_s * 1000000000u;
    c->alias_bytes = (size_t)o.alias_bytes;
    c->profiler_api_size = (size_t)o.profiler_api_size;
    if (o.stablehlo_version)
        snprintf(c->stablehlo_version, sizeof c->stablehlo_version, "%s", o.stablehlo_version);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->launch_lock, NULL);
    pthread_cond_init(&c->idle, NULL);
    tn_status *s = open_all(c, &o, options, n_options);
    tn_client_options_release(&o);
    if (s) {
        tn_client_release(c);
        return s;
    }
    tn_trace_file_start();
    tn_log(TN_LOG_INFO, "runtime", "client with %zu devices of driver %s", c->n_devices,
           c->driver.name);
    *out = c;
    return NULL;
}

/* ---- Ending ---- */

static void close_device(tn_client *c, tn_device *d)
{
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        if (!d->memory_list[k]) continue;
        if (k == 0) tn_storage_trim(&d->memories[k]);
        tn_memory_destroy(&d->memories[k]);
    }
    tn_queue_destroy(d->launches);
    tn_stream_destroy(d->stream);
    if (d->handle) c->driver.close(d->handle);
    pthread_mutex_destroy(&d->lock);
}

static void *destroy(void *client)
{
    tn_client *c = client;
    tn_queue_stop(c->transfers);
    for (size_t i = 0; i < c->n_devices; i++) {
        tn_queue_stop(c->devices[i].launches);
        tn_stream_stop(c->devices[i].stream);
    }
    for (size_t i = 0; i < c->n_devices; i++) close_device(c, &c->devices[i]);
    tn_queue_destroy(c->transfers);
    tn_dma_release(c);
    tn_kit_destroy(c->kit);
    tn_thread_pool_destroy(c->pool);
    tn_crew_settle();
    tn_topology_release(c->topology);
    free(c->devices);
    free(c->device_list);
    free(c->memory_list);
    pthread_cond_destroy(&c->idle);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->launch_lock);
    free(c);
    return NULL;
}

_Thread_local const tn_client *tn_work_ending;

static bool is_on_own_thread(const tn_client *c)
{
    if (tn_work_ending == c) return true;
    if (c->transfers && tn_queue_is_mine(c->transfers)) return true;
    for (size_t i = 0; i < c->n_devices; i++) {
        const tn_device *d = &c->devices[i];
        if (d->launches && tn_queue_is_mine(d->launches)) return true;
        if (d->stream && tn_stream_is_mine(d->stream)) return true;
    }
    return false;
}

tn_client *tn_client_retain(tn_client *c)
{
    tn_ref_retain(&c->ref);
    return c;
}

void tn_client_release(tn_client *c)
{
    if (!c || !tn_ref_release(&c->ref)) return;
    if (tn_is_forked(c->fork_generation)) return;
    if (!is_on_own_thread(c)) {
        destroy(c);
        return;
    }
    /* A thread can't join itself: somebody else does. Without memory for that the client leaks. */
    pthread_t other;
    if (pthread_create(&other, NULL, destroy, c) == 0) pthread_detach(other);
}

static void cancel_promises(tn_client *c)
{
    for (;;) {
        pthread_mutex_lock(&c->lock);
        tn_promise *p = c->promises;
        tn_event *e = p ? tn_event_retain(p->event) : NULL;
        if (p) {
            c->promises = p->next;
            if (p->next) p->next->link = &c->promises;
            p->link = NULL;
        }
        pthread_mutex_unlock(&c->lock);
        if (!e) return;
        tn_event_set(e, TN_ERROR(CANCELLED, "the client was closed"));
        tn_event_release(e);
    }
}

void tn_work_end(tn_client *c)
{
    if (atomic_fetch_sub_explicit(&c->in_flight, 1, memory_order_seq_cst) > 1) return;
    if (!atomic_load_explicit(&c->closed, memory_order_seq_cst)) return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
}

/* Waits until all work has ended, then for its threads to be done with it, events included. */
static void drain(tn_client *c)
{
    pthread_mutex_lock(&c->lock);
    while (atomic_load_explicit(&c->in_flight, memory_order_seq_cst) > 0)
        pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->n_devices; i++) {
        tn_queue_drain(c->devices[i].launches);
        tn_stream_drain(c->devices[i].stream);
    }
    tn_queue_drain(c->transfers);
}

void tn_client_close(tn_client *c)
{
    if (!c) return;
    if (tn_is_forked(c->fork_generation)) return;
    atomic_store(&c->closed, true);
    cancel_promises(c);
    if (!is_on_own_thread(c)) drain(c); /* there it would wait for itself */
    tn_trace_file_write();
    tn_client_release(c);
}

/* ---- Promises ---- */

void tn_promise_add(tn_promise *p, tn_client *c, tn_event *event)
{
    *p = (tn_promise){.client = c, .event = event};
    pthread_mutex_lock(&c->lock);
    p->next = c->promises;
    p->link = &c->promises;
    if (p->next) p->next->link = &p->next;
    c->promises = p;
    pthread_mutex_unlock(&c->lock);
}

void tn_promise_remove(tn_promise *p)
{
    if (!p->client) return;
    pthread_mutex_lock(&p->client->lock);
    if (p->link) {
        *p->link = p->next;
        if (p->next) p->next->link = p->link;
        p->link = NULL;
    }
    pthread_mutex_unlock(&p->client->lock);
}

/* ---- Getters ---- */

tn_status *tn_client_check(const tn_client *c)
{
    if (tn_is_forked(c->fork_generation)) return tn_fork_error();
    if (atomic_load_explicit(&c->closed, memory_order_relaxed))
        return TN_ERROR(FAILED_PRECONDITION, "the client is closed");
    return NULL;
}

size_t tn_client_profiler_api_size(const tn_client *c)
{
    return c->profiler_api_size;
}

const char *tn_client_stablehlo_version(const tn_client *c)
{
    return c->stablehlo_version[0] ? c->stablehlo_version : NULL;
}

const char *tn_client_platform_name(const tn_client *c)
{
    return tn_topology_platform_name(c->topology);
}

const char *tn_client_platform_version(const tn_client *c)
{
    return tn_topology_platform_version(c->topology);
}

int tn_client_process_index(const tn_client *c)
{
    return 0;
}

tn_topology *tn_client_topology(const tn_client *c)
{
    return c->topology;
}

const char *tn_client_driver_name(const tn_client *c)
{
    return c->driver.name;
}

tn_thread_pool *tn_client_pool(const tn_client *c)
{
    return c->pool;
}

tn_device *const *tn_client_devices(const tn_client *c, size_t *n)
{
    *n = c->n_devices;
    return c->device_list;
}

tn_memory *const *tn_client_memories(const tn_client *c, size_t *n)
{
    *n = c->n_memories;
    return c->memory_list;
}

tn_status *tn_client_lookup_device(const tn_client *c, int id, tn_device **out)
{
    if (id < 0 || (size_t)id >= c->n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "no device has id %d; there are %zu", id, c->n_devices);
    *out = c->device_list[id];
    return NULL;
}

tn_status *tn_client_lookup_local_device(const tn_client *c, int local_hardware_id, tn_device **out)
{
    if (local_hardware_id < 0 || (size_t)local_hardware_id >= c->n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "no device has local hardware id %d; there are %zu",
                        local_hardware_id, c->n_devices);
    *out = c->device_list[local_hardware_id];
    return NULL;
}

tn_status *tn_client_default_assignment(const tn_client *c, int num_replicas, int num_partitions,
                                        int *out, size_t room)
{
    if (num_replicas < 1 || num_partitions < 1)
        return TN_ERROR(INVALID_ARGUMENT, "%d replicas of %d partitions: both must be at least 1",
                        num_replicas, num_partitions);
    size_t n = (size_t)num_replicas * (size_t)num_partitions;
    if (n > c->n_devices)
        return TN_ERROR(INVALID_ARGUMENT, "%d replicas of %d partitions need %zu devices, have %zu",
                        num_replicas, num_partitions, n, c->n_devices);
    if (room < n)
        return TN_ERROR(FAILED_PRECONDITION, "room for %zu device ids, %zu are needed", room, n);
    for (size_t i = 0; i < n; i++) out[i] = (int)i;
    return NULL;
}
