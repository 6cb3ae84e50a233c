/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/context.h"

#include <stdlib.h>

#include "base/ref.h"

typedef struct entry {
    struct entry *next;
    int64_t type_id;
    void *data;
} entry;

/* Entries are only ever added, at the front, so runs read them without a lock. */
struct tn_custom_call_context {
    tn_ref ref;
    _Atomic(entry *) entries;
};

static tn_custom_call_context *mutable(const tn_custom_call_context *c)
{
    return (tn_custom_call_context *)c;
}

tn_status *tn_ffi_context_create(tn_custom_call_context **out)
{
    tn_custom_call_context *c = malloc(sizeof *c);
    if (!c) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an execute context");
    tn_ref_init(&c->ref);
    atomic_init(&c->entries, NULL);
    *out = c;
    return NULL;
}

const tn_custom_call_context *tn_ffi_context_retain(const tn_custom_call_context *c)
{
    if (c) tn_ref_retain(&mutable(c)->ref);
    return c;
}

void tn_ffi_context_release(const tn_custom_call_context *context)
{
    tn_custom_call_context *c = mutable(context);
    if (!c || !tn_ref_release(&c->ref)) return;
    for (entry *e = atomic_load_explicit(&c->entries, memory_order_acquire), *next; e; e = next) {
        next = e->next;
        free(e);
    }
    free(c);
}

static const entry *find(const tn_custom_call_context *c, int64_t type_id)
{
    const entry *e = atomic_load_explicit(&mutable(c)->entries, memory_order_acquire);
    while (e && e->type_id != type_id) e = e->next;
    return e;
}

tn_status *tn_ffi_context_add(tn_custom_call_context *c, int64_t type_id, void *data)
{
    if (find(c, type_id))
        return TN_ERROR(ALREADY_EXISTS, "the context has data of type %lld already",
                        (long long)type_id);
    entry *e = malloc(sizeof *e);
    if (!e) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for user data");
    *e = (entry){atomic_load_explicit(&c->entries, memory_order_relaxed), type_id, data};
    while (!atomic_compare_exchange_weak_explicit(&c->entries, &e->next, e, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    return NULL;
}

void *tn_ffi_context_find(const tn_custom_call_context *c, int64_t type_id)
{
    const entry *e = c ? find(c, type_id) : NULL;
    return e ? e->data : NULL;
}
