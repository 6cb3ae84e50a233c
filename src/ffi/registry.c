/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ffi/api.h"

typedef struct type_entry {
    struct type_entry *next;
    int64_t id;
    void (*deleter)(void *object);
    char name[];
} type_entry;

typedef struct handler_entry {
    struct handler_entry *next;
    tn_ffi_handler handler;
    const char *platform;
    char names[];
} handler_entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all that follows */
static type_entry *types;
/* Of those that we chose. Another runtime in the process (jaxlib) numbers the same types, which may
 * reach us with its small numbers. */
static int64_t last_type_id = INT64_C(1) << 40;
static handler_entry *handlers;

/* ---- Types ---- */

static const type_entry *find_type(const char *name)
{
    const type_entry *t = types;
    while (t && strcmp(t->name, name)) t = t->next;
    return t;
}

static const type_entry *find_id(int64_t id)
{
    const type_entry *t = types;
    while (t && t->id != id) t = t->next;
    return t;
}

/* Takes `fresh`, which has a name; *id is 0 or what the caller wants. */
static tn_status *enter_type(type_entry *fresh, int64_t *id)
{
    const type_entry *known = find_type(fresh->name);
    if (known && (*id == 0 || *id == known->id)) {
        *id = known->id;
        free(fresh);
        return NULL;
    }
    if (known || (*id && find_id(*id))) {
        tn_status *s =
            known ? TN_ERROR(INVALID_ARGUMENT, "type %s has the id %lld, not %lld", fresh->name,
                             (long long)known->id, (long long)*id)
                  : TN_ERROR(INVALID_ARGUMENT, "the id %lld of type %s is that of another type",
                             (long long)*id, fresh->name);
        free(fresh);
        return s;
    }
    while (*id == 0)
        if (!find_id(++last_type_id)) *id = last_type_id;
    fresh->id = *id;
    fresh->next = types;
    types = fresh;
    return NULL;
}

tn_status *tn_ffi_register_type(const char *name, size_t name_size, void (*deleter)(void *object),
                                int64_t *id)
{
    type_entry *fresh = malloc(sizeof *fresh + name_size + 1);
    if (!fresh) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a type of user data");
    memcpy(fresh->name, name, name_size);
    fresh->name[name_size] = '\0';
    fresh->deleter = deleter;
    pthread_mutex_lock(&lock);
    tn_status *s = enter_type(fresh, id);
    pthread_mutex_unlock(&lock);
    return s;
}

void tn_ffi_delete(int64_t type_id, void *object)
{
    pthread_mutex_lock(&lock);
    const type_entry *t = find_id(type_id);
    void (*deleter)(void *) = t ? t->deleter : NULL;
    pthread_mutex_unlock(&lock);
    if (deleter && object) deleter(object);
}

/* ---- Handlers ---- */

const tn_ffi_handler *tn_ffi_find(const char *target)
{
    pthread_mutex_lock(&lock);
    const handler_entry *h = handlers;
    while (h && strcmp(h->handler.target, target)) h = h->next;
    pthread_mutex_unlock(&lock);
    return h ? &h->handler : NULL;
}

static tn_status *enter_handler(handler_entry *fresh)
{
    for (const handler_entry *h = handlers; h; h = h->next) {
        if (strcmp(h->handler.target, fresh->handler.target) ||
            strcmp(h->platform, fresh->platform))
            continue;
        tn_status *s = NULL;
        if (h->handler.stages.execute != fresh->handler.stages.execute)
            s = TN_ERROR(ALREADY_EXISTS, "target %s has another handler for platform %s",
                         fresh->handler.target, fresh->platform);
        free(fresh);
        return s;
    }
    fresh->next = handlers;
    handlers = fresh;
    return NULL;
}

static tn_status *check_version(tn_ffi_handler *h)
{
    XLA_FFI_Metadata metadata = {
        .struct_size = sizeof metadata,
        .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE},
    };
    tn_status *s = tn_ffi_ask_metadata(
        h->stages.instantiate ? h->stages.instantiate : h->stages.execute, &metadata);
    if (s) return s;
    if (metadata.api_version.major_version != XLA_FFI_API_MAJOR)
        return TN_ERROR(UNIMPLEMENTED,
                        "the handler of target %s was built for version %d.%d of the FFI, and %d.x "
                        "is what there is",
                        h->target, metadata.api_version.major_version,
                        metadata.api_version.minor_version, XLA_FFI_API_MAJOR);
    h->state_type = metadata.state_type_id;
    return NULL;
}

tn_status *tn_ffi_register(const char *target, size_t target_size, const char *platform,
                           size_t platform_size, const XLA_FFI_Handler_Bundle *stages, bool typed)
{
    handler_entry *fresh = calloc(1, sizeof *fresh + target_size + platform_size + 2);
    if (!fresh) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a handler");
    memcpy(fresh->names, target, target_size);
    if (platform_size) memcpy(fresh->names + target_size + 1, platform, platform_size);
    fresh->platform = fresh->names + target_size + 1;
    fresh->handler = (tn_ffi_handler){.target = fresh->names, .typed = typed, .stages = *stages};
    tn_status *s = NULL;
    if (!stages->execute)
        s = TN_ERROR(INVALID_ARGUMENT, "target %s: there is no handler to execute",
                     fresh->handler.target);
    if (!s && typed) s = check_version(&fresh->handler);
    if (s) {
        free(fresh);
        return s;
    }
    pthread_mutex_lock(&lock);
    s = enter_handler(fresh);
    pthread_mutex_unlock(&lock);
    return s;
}
