/* SPDX-License-Identifier: Apache-2.0 */
/* client_internal.h - what a client, its devices and memories are made of. */
#ifndef TN_RUNTIME_CLIENT_INTERNAL_H
#define TN_RUNTIME_CLIENT_INTERNAL_H

#include "base/ref.h"
#include "base/thread_pool.h"
#include "driver/kit.h"
#include "driver/registry.h"
#include "runtime/client.h"
#include "runtime/event_internal.h"
#include "runtime/fork.h"
#include "runtime/pool.h"
#include "runtime/queue.h"
#include "runtime/stream.h"

typedef struct tn_user_data {
    struct tn_user_data *next;
    const void *key;
    _Atomic(void *) data;
    void (*destroy)(void *data);
} tn_user_data;

struct tn_memory {
    tn_device *device;
    int id, kind;
    bool on_device;   /* blocks come from the driver, else from the host */
    bool addressable; /* by the host */
    tn_pool pool;
    char debug_string[64], to_string[64];
    pthread_mutex_t lock; /* for who writes user_data */
    _Atomic(tn_user_data *) user_data;
};

struct tn_tracking_event {
    tn_tracking_event *next, **link;
    tn_device *device;
    size_t size;
    char description[];
};

struct tn_device {
    tn_client *client;
    const tn_device_description *description;
    tn_driver_device *handle;
    tn_device_info info;
    bool synchronous;
    bool concurrent; /* launches may overlap */
    bool mapped;     /* the host can address its memory */
    tn_memory memories[TN_MEMORY_KINDS];
    tn_memory *memory_list[TN_MEMORY_KINDS];
    tn_queue *launches; /* runs, in order */
    tn_stream *stream;
    pthread_mutex_t lock; /* all that follows */
    tn_tracking_event *tracked;
    struct tn_launch_record *in_flight;
};

/* An event that a user has to set: cancelled when the client closes. */
typedef struct tn_promise {
    struct tn_promise *next, **link; /* link NULL: not in the list */
    tn_client *client;
    tn_event *event;
} tn_promise;

struct tn_client {
    tn_ref ref; /* the owner, buffers, storages, loaded executables, work in flight */
    unsigned fork_generation;
    size_t profiler_api_size;
    char stablehlo_version[32];
    bool asynchronous;
    uint64_t collective_timeout_ns; /* 0: none */
    size_t alias_bytes;             /* see options.def */
    atomic_bool closed;
    tn_driver driver;
    tn_kit *kit;
    tn_thread_pool *pool;
    tn_topology *topology;
    size_t n_devices, n_memories;
    tn_device *devices;
    tn_device **device_list;
    tn_memory **memory_list;
    pthread_mutex_t launch_lock; /* held while a launch enters the queues of several devices */
    tn_queue *transfers;         /* copies that wait for their source, or that nobody waits for */
    atomic_int in_flight;        /* runs and transfers */
    pthread_cond_t idle;         /* with lock: nothing is in flight any more */
    pthread_mutex_t lock;        /* all that follows */
    tn_promise *promises;
    struct tn_dma_region *dma;
};

tn_client *tn_client_retain(tn_client *c);
void tn_client_release(tn_client *c);

/* FAILED_PRECONDITION: after a fork or tn_client_close. To be asked before any lock is taken. */
tn_status *tn_client_check(const tn_client *c) TN_MUST_USE;

/* A run or a transfer begins, and ends, just before its event is set. */
static inline void tn_work_begin(tn_client *c)
{
    atomic_fetch_add_explicit(&c->in_flight, 1, memory_order_relaxed);
}
void tn_work_end(tn_client *c);
/* The client whose run has ended on this thread, which tells others of it; NULL: none. */
extern _Thread_local const tn_client *tn_work_ending;

/* Enters p->event (borrowed) into the list, and takes it out. */
void tn_promise_add(tn_promise *p, tn_client *c, tn_event *event);
void tn_promise_remove(tn_promise *p);

void tn_dma_release(tn_client *c); /* dma.c: forgets what is still mapped */

/* A block of a memory straight from driver or host, not from the pool, and its end. */
tn_status *tn_memory_alloc(tn_memory *m, size_t size, tn_mem **mem, void **host) TN_MUST_USE;
void tn_memory_free(tn_memory *m, size_t size, tn_mem *mem, void *host);

void tn_memory_init(tn_memory *m, tn_device *d, int kind, size_t pool_limit);
void tn_memory_destroy(tn_memory *m);

#endif
