/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/host_memory.h"
#include "runtime/client_internal.h"

const char *const tn_memory_kind_names[TN_MEMORY_KINDS] = {"device", "pinned_host",
                                                           "unpinned_host"};

void tn_memory_init(tn_memory *m, tn_device *d, int kind, size_t pool_limit)
{
    const tn_client *c = d->client;
    m->device = d;
    m->kind = kind;
    m->id = d->description->id * TN_MEMORY_KINDS + kind;
    m->on_device = d->mapped || kind == TN_MEMORY_DEVICE;
    m->addressable = d->mapped || kind != TN_MEMORY_DEVICE;
    const char *name = tn_memory_kind_names[kind];
    snprintf(m->debug_string, sizeof m->debug_string, "%s:%d %s", tn_client_platform_name(c),
             d->description->id, name);
    snprintf(m->to_string, sizeof m->to_string, "%s(id=%d)", name, m->id);
    pthread_mutex_init(&m->lock, NULL);
    tn_pool_init(&m->pool, pool_limit);
}

void tn_memory_destroy(tn_memory *m)
{
    while (m->user_data) {
        tn_user_data *u = m->user_data;
        m->user_data = u->next;
        if (u->destroy) u->destroy(u->data);
        free(u);
    }
    tn_pool_destroy(&m->pool);
    pthread_mutex_destroy(&m->lock);
}

tn_status *tn_memory_alloc(tn_memory *m, size_t size, tn_mem **mem, void **host)
{
    tn_device *d = m->device;
    const tn_driver *driver = &d->client->driver;
    *mem = NULL;
    *host = NULL;
    if (!m->on_device) {
        *host = tn_host_memory_alloc(size);
        return *host ? NULL : TN_ERROR(RESOURCE_EXHAUSTED, "no host memory for %zu bytes", size);
    }
    TN_TRY(driver->alloc(d->handle, size, mem));
    if (!m->addressable) return NULL;
    tn_status *e = driver->map(d->handle, *mem, host);
    if (e) driver->free(d->handle, *mem);
    return e;
}

void tn_memory_free(tn_memory *m, size_t size, tn_mem *mem, void *host)
{
    if (m->on_device) m->device->client->driver.free(m->device->handle, mem);
    else tn_host_memory_free(host, size);
}

int tn_memory_id(const tn_memory *m)
{
    return m->id;
}

const char *tn_memory_kind(const tn_memory *m)
{
    return tn_memory_kind_names[m->kind];
}

int tn_memory_kind_id(const tn_memory *m)
{
    return m->kind;
}

const char *tn_memory_debug_string(const tn_memory *m)
{
    return m->debug_string;
}

const char *tn_memory_to_string(const tn_memory *m)
{
    return m->to_string;
}

tn_device *tn_memory_device(const tn_memory *m)
{
    return m->device;
}

bool tn_memory_is_host_addressable(const tn_memory *m)
{
    return m->addressable;
}

/* Entries stay until the memory is gone, so finding one needs no lock. */
static tn_user_data *find(const tn_memory *m, const void *key)
{
    tn_user_data *u = atomic_load_explicit(&m->user_data, memory_order_acquire);
    while (u && u->key != key) u = u->next;
    return u;
}

void *tn_memory_user_data(const tn_memory *m, const void *key)
{
    const tn_user_data *u = find(m, key);
    return u ? atomic_load_explicit(&u->data, memory_order_acquire) : NULL;
}

tn_status *tn_memory_set_user_data(tn_memory *m, const void *key, void *data,
                                   void (*destroy)(void *data))
{
    tn_user_data *fresh = malloc(sizeof *fresh);
    void *old = NULL;
    void (*destroy_old)(void *data) = NULL;
    if (!fresh) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for user data");
    *fresh = (tn_user_data){.key = key, .data = data, .destroy = destroy};

    pthread_mutex_lock(&m->lock);
    tn_user_data *u = find(m, key);
    if (u) {
        old = atomic_exchange_explicit(&u->data, data, memory_order_acq_rel);
        destroy_old = u->destroy;
        u->destroy = destroy;
    } else {
        fresh->next = m->user_data;
        atomic_store_explicit(&m->user_data, fresh, memory_order_release);
        fresh = NULL;
    }
    pthread_mutex_unlock(&m->lock);

    free(fresh);
    if (destroy_old) destroy_old(old);
    return NULL;
}
