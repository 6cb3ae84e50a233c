/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/execute_context.h"

#include <stdlib.h>

typedef struct entry {
    struct entry *next;
    PJRT_FFI_UserData data;
} entry;

/* One object for the caller and all its runs. Entries are only ever added, at the front, so runs
 * read them without a lock. */
struct PJRT_ExecuteContext {
    tn_ref ref;
    _Atomic(entry *) entries;
};

static PJRT_ExecuteContext *mutable(const struct tn_custom_call_context *context)
{
    return (PJRT_ExecuteContext *)context;
}

static const entry *find(PJRT_ExecuteContext *c, int64_t type_id)
{
    const entry *e = atomic_load_explicit(&c->entries, memory_order_acquire);
    while (e && e->data.type_id != type_id) e = e->next;
    return e;
}

tn_status *tn_pjrt_context_add(PJRT_ExecuteContext *c, const PJRT_FFI_UserData *data)
{
    if (find(c, data->type_id))
        return TN_ERROR(ALREADY_EXISTS, "the context has data of type %lld already",
                        (long long)data->type_id);
    entry *e = malloc(sizeof *e);
    if (!e) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for user data");
    *e = (entry){.next = atomic_load_explicit(&c->entries, memory_order_relaxed), .data = *data};
    while (!atomic_compare_exchange_weak_explicit(&c->entries, &e->next, e, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    return NULL;
}

void *tn_pjrt_context_find(const struct tn_custom_call_context *context, int64_t type_id)
{
    const entry *e = context ? find(mutable(context), type_id) : NULL;
    return e ? e->data.data : NULL;
}

const struct tn_custom_call_context *tn_pjrt_context_retain(PJRT_ExecuteContext *c)
{
    if (c) tn_ref_retain(&c->ref);
    return (const struct tn_custom_call_context *)c;
}

void tn_pjrt_context_release(const struct tn_custom_call_context *context)
{
    PJRT_ExecuteContext *c = mutable(context);
    if (!c || !tn_ref_release(&c->ref)) return;
    for (entry *e = atomic_load_explicit(&c->entries, memory_order_acquire), *next; e; e = next) {
        next = e->next;
        free(e);
    }
    free(c);
}

PJRT_Error *tn_pjrt_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args *args)
{
    PJRT_ExecuteContext *c = malloc(sizeof *c);
    if (!c) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for an execute context");
    tn_ref_init(&c->ref);
    atomic_init(&c->entries, NULL);
    args->context = c;
    return NULL;
}

PJRT_Error *tn_pjrt_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args *args)
{
    tn_pjrt_context_release((const struct tn_custom_call_context *)args->context);
    return NULL;
}
