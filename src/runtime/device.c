/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/client_internal.h"

const tn_device_description *tn_device_get_description(const tn_device *d)
{
    return d->description;
}

tn_client *tn_device_client(const tn_device *d)
{
    return d->client;
}

int tn_device_id(const tn_device *d)
{
    return d->description->id;
}

int tn_device_local_hardware_id(const tn_device *d)
{
    return d->description->id;
}

tn_memory *const *tn_device_memories(const tn_device *d, size_t *n)
{
    *n = TN_MEMORY_KINDS;
    return d->memory_list;
}

tn_memory *tn_device_default_memory(const tn_device *d)
{
    return d->memory_list[TN_MEMORY_DEVICE];
}

void tn_device_memory_stats(const tn_device *d, tn_memory_stats *out)
{
    tn_pool *p = &d->memory_list[TN_MEMORY_DEVICE]->pool;
    pthread_mutex_lock(&p->lock);
    *out = (tn_memory_stats){
        .bytes_in_use = (int64_t)p->in_use,
        .peak_bytes_in_use = (int64_t)p->peak_in_use,
        .num_allocs = (int64_t)p->n_allocs,
        .largest_alloc_size = (int64_t)p->largest,
        .bytes_limit = d->info.memory_bytes ? (int64_t)d->info.memory_bytes : -1,
        .pool_bytes = (int64_t)(p->in_use + p->kept),
        .peak_pool_bytes = (int64_t)p->peak_total,
        .peak_allocated_bytes = (int64_t)p->peak_in_use,
    };
    pthread_mutex_unlock(&p->lock);
}

void tn_device_clear_memory_stats(tn_device *d)
{
    tn_pool_clear_peaks(&d->memories[TN_MEMORY_DEVICE].pool);
}

tn_status *tn_device_check(const tn_device *d)
{
    return tn_is_forked(d->client->fork_generation) ? tn_fork_error() : NULL;
}

tn_status *tn_device_attributes(const tn_device *d, tn_named_value **out, size_t *n)
{
    tn_device *mutable = (tn_device *)d;
    tn_named_value *v = calloc(1, sizeof *v);
    if (!v) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for attributes");
    *v = (tn_named_value){.name = "tracked_work",
                          .name_size = strlen("tracked_work"),
                          .kind = TN_VALUE_INT,
                          .size = 1};
    pthread_mutex_lock(&mutable->lock);
    for (const tn_tracking_event *e = d->tracked; e; e = e->next) v->integer++;
    pthread_mutex_unlock(&mutable->lock);
    *out = v;
    *n = 1;
    return NULL;
}

tn_status *tn_tracking_event_create(tn_device *d, const char *description, size_t size,
                                    tn_tracking_event **out)
{
    TN_TRY(tn_client_check(d->client));
    tn_tracking_event *e = malloc(sizeof *e + size);
    if (!e) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a tracking event");
    e->device = d;
    e->size = size;
    if (size > 0) memcpy(e->description, description, size);
    tn_client_retain(d->client);
    pthread_mutex_lock(&d->lock);
    e->next = d->tracked;
    e->link = &d->tracked;
    if (e->next) e->next->link = &e->next;
    d->tracked = e;
    pthread_mutex_unlock(&d->lock);
    *out = e;
    return NULL;
}

void tn_tracking_event_destroy(tn_tracking_event *e)
{
    if (!e) return;
    tn_device *d = e->device;
    if (tn_is_forked(d->client->fork_generation)) return;
    pthread_mutex_lock(&d->lock);
    *e->link = e->next;
    if (e->next) e->next->link = e->link;
    pthread_mutex_unlock(&d->lock);
    free(e);
    tn_client_release(d->client);
}
