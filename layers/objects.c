/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "layers/objects.h"

/* Buckets are only ever added to, so that a search needs no lock. */
#define BUCKETS (1 << 16)
static _Atomic(tn_object *) buckets[BUCKETS];

static size_t bucket_of(const void *handle, tn_class cls)
{
    uint64_t h =
        ((uint64_t)(uintptr_t)handle >> 3) * 0x9e3779b97f4a7c15u + (uint64_t)cls * 0x51ed27u;
    return (size_t)(h >> 40) % BUCKETS;
}

static tn_object *search(tn_object *o, const void *handle, tn_class cls)
{
    while (o && (o->handle != handle || o->cls != cls)) o = o->next;
    return o;
}

tn_object *tn_object_find(void *handle, tn_class cls)
{
    return search(atomic_load_explicit(&buckets[bucket_of(handle, cls)], memory_order_acquire),
                  handle, cls);
}

tn_object *tn_object_get(void *handle, tn_class cls)
{
    _Atomic(tn_object *) *bucket = &buckets[bucket_of(handle, cls)];
    tn_object *head = atomic_load_explicit(bucket, memory_order_acquire);
    tn_object *o = search(head, handle, cls), *made;
    if (o) return o;
    made = calloc(1, sizeof *made);
    if (!made) abort();
    made->handle = handle;
    made->cls = cls;
    made->made.fn = made->ended.fn = made->deleted.fn = -1;
    do {
        made->next = head;
        if (atomic_compare_exchange_weak(bucket, &head, made)) return made;
        o = search(head, handle, cls);
    } while (!o);
    free(made);
    return o;
}

void tn_objects_each(void (*visit)(tn_object *, void *), void *user)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (tn_object *o = atomic_load(&buckets[i]); o; o = o->next) visit(o, user);
}
