/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/storage.h"

#include <stdlib.h>

#include "runtime/client_internal.h"

static tn_client *client_of(const tn_memory *m)
{
    return m->device->client;
}

/* A new storage for a memory, or NULL. */
static tn_storage *new_storage(tn_memory *m)
{
    tn_storage *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    tn_ref_init(&s->ref);
    atomic_init(&s->shares, 1);
    s->memory = m;
    return s;
}

static tn_status *no_memory(void)
{
    return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a storage");
}

static void end_block(tn_storage *s)
{
    tn_memory_free(s->memory, s->size, s->mem, s->host);
    free(s);
}

/* False: there was none. */
static bool end_blocks(tn_storage *chain)
{
    bool some = chain != NULL;
    while (chain) {
        tn_storage *next = chain->links.class_next;
        end_block(chain);
        chain = next;
    }
    return some;
}

bool tn_storage_trim(tn_memory *m)
{
    bool some = false;
    for (int k = 0; k < TN_MEMORY_KINDS; k++)
        some |= end_blocks(tn_pool_trim(&m->device->memories[k].pool));
    return some;
}

/* A fresh block of `size` bytes; gives kept ones back if there is no room. */
static tn_status *fresh_block(tn_memory *m, size_t size, tn_storage **out)
{
    tn_storage *s = new_storage(m);
    if (!s) return no_memory();
    tn_status *e = tn_memory_alloc(m, size, &s->mem, &s->host);
    if (tn_status_code(e) == TN_RESOURCE_EXHAUSTED && tn_storage_trim(m)) {
        tn_status_free(e);
        e = tn_memory_alloc(m, size, &s->mem, &s->host);
    }
    if (e) {
        free(s);
        return e;
    }
    s->size = size;
    *out = s;
    return NULL;
}

tn_status *tn_storage_create(tn_memory *m, size_t size, tn_storage **out)
{
    tn_storage *s = NULL;
    if (size == 0) {
        s = new_storage(m);
        if (!s) return no_memory();
    } else {
        if (size > PTRDIFF_MAX / 2)
            return TN_ERROR(RESOURCE_EXHAUSTED, "%zu bytes are more than any memory has", size);
        size_t rounded;
        unsigned size_class = tn_pool_class(size, &rounded);
        s = tn_pool_take(&m->pool, size_class, rounded);
        if (s) {
            tn_ref_init(&s->ref);
            atomic_init(&s->shares, 1);
        } else {
            tn_status *e = fresh_block(m, rounded, &s);
            if (e) {
                tn_pool_forget(&m->pool, rounded);
                return tn_status_annotate(e, "allocating %zu bytes in %s", size, m->debug_string);
            }
            s->size_class = size_class;
            s->pooled = true;
        }
    }
    tn_client_retain(client_of(m));
    *out = s;
    return NULL;
}

tn_status *tn_storage_create_foreign(tn_memory *m, void *data, size_t size, bool read_only,
                                     void (*on_delete)(void *data, void *arg), void *arg,
                                     tn_storage **out)
{
    tn_device *d = m->device;
    const tn_driver *driver = &d->client->driver;
    if (m->on_device && !driver->wrap)
        return TN_ERROR(UNIMPLEMENTED, "driver %s can't use foreign memory", driver->name);
    tn_storage *s = new_storage(m);
    if (!s) return no_memory();
    if (m->on_device && size > 0) {
        tn_status *e = driver->wrap(d->handle, data, size, &s->mem);
        if (e) {
            free(s);
            return e;
        }
    }
    s->size = size;
    if (m->addressable) s->host = data;
    s->read_only = read_only;
    s->on_delete = on_delete;
    s->data = data;
    s->arg = arg;
    tn_client_retain(d->client);
    *out = s;
    return NULL;
}

tn_status *tn_storage_create_unplaced(tn_memory *m, tn_storage **out)
{
    tn_storage *s = new_storage(m);
    if (!s) return no_memory();
    s->unplaced = true;
    tn_client_retain(client_of(m));
    *out = s;
    return NULL;
}

void tn_storage_place(tn_storage *s, tn_storage *base)
{
    s->base = tn_storage_retain(base);
    s->mem = base->mem;
    s->host = base->host;
    s->size = base->size;
}

tn_storage *tn_storage_retain(tn_storage *s)
{
    tn_ref_retain(&s->ref);
    return s;
}

static void end_foreign(tn_storage *s)
{
    tn_device *d = s->memory->device;
    if (s->mem && !s->unplaced) d->client->driver.free(d->handle, s->mem);
    if (s->base) {
        atomic_fetch_sub_explicit(&s->base->shares, 1, memory_order_release);
        tn_storage_release(s->base);
    }
    if (s->on_delete) s->on_delete(s->data, s->arg);
    if (s->released) {
        tn_event_set(s->released, NULL);
        tn_event_release(s->released);
    }
    free(s);
}

void tn_storage_release(tn_storage *s)
{
    if (!s || !tn_ref_release(&s->ref)) return;
    tn_client *c = client_of(s->memory);
    if (tn_is_forked(c->fork_generation)) return; /* its locks and threads are the parent's */
    if (s->pooled) end_blocks(tn_pool_keep(&s->memory->pool, s));
    else end_foreign(s);
    tn_client_release(c);
}
