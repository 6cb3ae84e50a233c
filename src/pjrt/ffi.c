/* SPDX-License-Identifier: Apache-2.0 */
/* ffi.c - the extension through which callers bring handlers of custom calls and data for them. */
#include "pjrt/ffi.h"

#include <pthread.h>
#include <stdlib.h>

#include "ops/custom_call.h"
#include "pjrt/execute_context.h"
#include "pjrt/extensions.h"

typedef struct type_entry {
    struct type_entry *next;
    int64_t id;
    char name[];
} type_entry;

typedef struct handler_entry {
    struct handler_entry *next;
    void *handler;
    char *platform; /* behind target */
    char target[];
} handler_entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all that follows */
static type_entry *types;
static int64_t last_type_id; /* of those that we chose */
static handler_entry *handlers;

/* ---- Types ---- */

static const type_entry *find_type(const char *name)
{
    const type_entry *t = types;
    while (t && strcmp(t->name, name)) t = t->next;
    return t;
}

static bool id_is_taken(int64_t id)
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
    if (known || (*id && id_is_taken(*id))) {
        tn_status *s =
            known ? TN_ERROR(INVALID_ARGUMENT, "type %s has the id %lld, not %lld", fresh->name,
                             (long long)known->id, (long long)*id)
                  : TN_ERROR(INVALID_ARGUMENT, "the id %lld of type %s is that of another type",
                             (long long)*id, fresh->name);
        free(fresh);
        return s;
    }
    while (*id == 0)
        if (!id_is_taken(++last_type_id)) *id = last_type_id;
    fresh->id = *id;
    fresh->next = types;
    types = fresh;
    return NULL;
}

static PJRT_Error *FFI_Type_Register(PJRT_FFI_Type_Register_Args *args)
{
    TN_PJRT_NEED(type_name);
    type_entry *fresh = malloc(sizeof *fresh + args->type_name_size + 1);
    if (!fresh) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a type of user data");
    memcpy(fresh->name, args->type_name, args->type_name_size);
    fresh->name[args->type_name_size] = '\0';

    int64_t id = args->type_id;
    pthread_mutex_lock(&lock);
    tn_status *s = enter_type(fresh, &id);
    pthread_mutex_unlock(&lock);
    if (!s) args->type_id = id;
    return tn_pjrt_error(s);
}

/* ---- User data ---- */

static PJRT_Error *FFI_UserData_Add(PJRT_FFI_UserData_Add_Args *args)
{
    TN_PJRT_NEED(context);
    return tn_pjrt_error(tn_pjrt_context_add(args->context, &args->user_data));
}

/* ---- Handlers ---- */

void *tn_pjrt_ffi_handler(const char *target)
{
    pthread_mutex_lock(&lock);
    const handler_entry *h = handlers;
    while (h && strcmp(h->target, target)) h = h->next;
    void *handler = h ? h->handler : NULL;
    pthread_mutex_unlock(&lock);
    return handler;
}

/* Calling a handler takes a call frame of the XLA FFI, which is not built yet: so programs that
 * need one are refused when they are compiled. */
static tn_status *check(const tn_op *op)
{
    const char *target = tn_op_string(op, TN_ATTR_call_target_name);
    if (!tn_pjrt_ffi_handler(target))
        return TN_OP_ERROR(NOT_FOUND, op, "no handler for custom call target '%s'", target);
    return TN_OP_ERROR(UNIMPLEMENTED, op,
                       "target '%s' has a handler, but calls of XLA FFI handlers are not "
                       "implemented",
                       target);
}

static tn_status *eval(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                       tn_tensor *results)
{
    return check(op);
}

void tn_pjrt_ffi_init(void)
{
    static const tn_custom_call_provider provider = {.check = check, .eval = eval};
    tn_custom_call_set_provider(&provider);
}

static tn_status *enter_handler(handler_entry *fresh)
{
    for (const handler_entry *h = handlers; h; h = h->next) {
        if (strcmp(h->target, fresh->target) || strcmp(h->platform, fresh->platform)) continue;
        tn_status *s = NULL;
        if (h->handler != fresh->handler)
            s = TN_ERROR(ALREADY_EXISTS, "target %s has another handler for platform %s",
                         fresh->target, fresh->platform);
        free(fresh);
        return s;
    }
    fresh->next = handlers;
    handlers = fresh;
    return NULL;
}

static PJRT_Error *FFI_Register_Handler(PJRT_FFI_Register_Handler_Args *args)
{
    TN_PJRT_NEED(target_name);
    TN_PJRT_NEED(handler);
    const size_t target_size = args->target_name_size;
    const size_t platform_size = args->platform_name ? args->platform_name_size : 0;
    handler_entry *fresh = calloc(1, sizeof *fresh + target_size + platform_size + 2);
    if (!fresh) return TN_PJRT_ERROR(RESOURCE_EXHAUSTED, "no memory for a handler");
    fresh->handler = args->handler;
    fresh->platform = fresh->target + target_size + 1;
    memcpy(fresh->target, args->target_name, target_size);
    if (platform_size) memcpy(fresh->platform, args->platform_name, platform_size);

    pthread_mutex_lock(&lock);
    tn_status *s = enter_handler(fresh);
    pthread_mutex_unlock(&lock);
    return tn_pjrt_error(s);
}

TN_PJRT_ENTRY_OUT(PJRT_FFI_Type_Register, FFI_Type_Register, type_info, type_id)
TN_PJRT_ENTRY_IN(PJRT_FFI_UserData_Add, FFI_UserData_Add, user_data)
TN_PJRT_ENTRY_IN(PJRT_FFI_Register_Handler, FFI_Register_Handler, traits)

const PJRT_FFI_Extension tn_pjrt_ffi_extension = {
    .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_FFI,
             .next = TN_PJRT_EXTENSION(memory_descriptions)},
    .type_register = entry_PJRT_FFI_Type_Register,
    .user_data_add = entry_PJRT_FFI_UserData_Add,
    .register_handler = entry_PJRT_FFI_Register_Handler,
};
