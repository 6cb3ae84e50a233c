/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/error.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt/entry.h"

typedef struct {
    PJRT_Error base;
    tn_status *status; /* NULL in the static error only */
} error;

static void destroy(PJRT_Error *e);
static void message(const PJRT_Error *e, const char **text, size_t *size);
static PJRT_Error_Code get_code(const PJRT_Error *e);
static void for_each_payload(const PJRT_Error *e, PJRT_Error_PayloadVisitor visitor,
                             void *user_arg);

static const PJRT_Error_FunctionTable table = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = sizeof(error),
    .destroy = destroy,
    .message = message,
    .get_code = get_code,
    .for_each_payload = for_each_payload,
};

static error out_of_memory = {.base.vtable = &table};

PJRT_Error *tn_pjrt_error(tn_status *s)
{
    if (!s) return NULL;
    error *e = malloc(sizeof *e);
    if (!e) {
        tn_status_free(s);
        return &out_of_memory.base;
    }
    *e = (error){.base.vtable = &table, .status = s};
    return &e->base;
}

/* Of an error that this library made; NULL for others. */
static const error *ours(const PJRT_Error *e)
{
    return e && e->vtable == &table ? (const error *)e : NULL;
}

static void destroy(PJRT_Error *e)
{
    error *own = (error *)ours(e);
    if (!own || own == &out_of_memory) return;
    tn_status_free(own->status);
    free(own);
}

void tn_pjrt_error_free(PJRT_Error *e)
{
    destroy(e);
}

static void message(const PJRT_Error *e, const char **text, size_t *size)
{
    const error *own = ours(e);
    if (!e) *text = "";
    else if (!own) *text = "an error of another library";
    else if (!own->status) *text = "out of memory while reporting an error";
    else *text = tn_status_message(own->status);
    *size = strlen(*text);
}

static PJRT_Error_Code get_code(const PJRT_Error *e)
{
    const error *own = ours(e);
    if (!e) return PJRT_Error_Code_OK;
    if (!own) return PJRT_Error_Code_UNKNOWN;
    if (!own->status) return PJRT_Error_Code_RESOURCE_EXHAUSTED;
    return (PJRT_Error_Code)tn_status_code(own->status);
}

static void for_each_payload(const PJRT_Error *e, PJRT_Error_PayloadVisitor visitor, void *user_arg)
{
    const error *own = ours(e);
    if (!own || !visitor) return;
    for (size_t i = 0, n = tn_status_payload_count(own->status); i < n; i++) {
        const char *key, *value;
        size_t key_size, value_size;
        tn_status_payload(own->status, i, &key, &key_size, &value, &value_size);
        visitor(key, key_size, value, value_size, user_arg);
    }
}

static void add_payload(const char *key, size_t key_size, const char *value, size_t value_size,
                        void *status)
{
    tn_status **s = status;
    *s = tn_status_add_payload(*s, key, key_size, value, value_size);
}

tn_status *tn_pjrt_status_of(PJRT_Error_Code code, const char *text, size_t size)
{
    if (code == PJRT_Error_Code_OK) return NULL;
    unsigned known = (unsigned)code <= PJRT_Error_Code_UNAUTHENTICATED ? code : TN_UNKNOWN;
    int length = !text ? 0 : size > INT_MAX ? INT_MAX : (int)size;
    return tn_status_make((tn_code)known, __FILE__, __LINE__, "%.*s", length, text ? text : "");
}

tn_status *tn_pjrt_status(PJRT_Error *e)
{
    if (!e) return NULL;
    error *own = (error *)ours(e);
    if (own && own->status) {
        tn_status *s = own->status;
        free(own);
        return s;
    }
    const PJRT_Error_FunctionTable *t = e->vtable;
    if (!t || t->struct_size < PJRT_Error_FunctionTable_STRUCT_SIZE)
        return TN_ERROR(UNKNOWN, "a callback gave an error that this library did not make");
    const char *text;
    size_t size;
    t->message(e, &text, &size);
    tn_status *s = tn_pjrt_status_of(t->get_code(e), text, size);
    if (!s) s = TN_ERROR(UNKNOWN, "a callback gave an error with code OK");
    t->for_each_payload(e, add_payload, &s);
    t->destroy(e);
    return s;
}

PJRT_Error *tn_pjrt_callback_error(PJRT_Error_Code code, const char *text, size_t size)
{
    return tn_pjrt_error(tn_pjrt_status_of(code, text, size));
}

PJRT_Error *tn_pjrt_Error_Destroy(PJRT_Error_Destroy_Args *args)
{
    destroy(args->error);
    return NULL;
}

PJRT_Error *tn_pjrt_Error_Message(PJRT_Error_Message_Args *args)
{
    message(args->error, &args->message, &args->message_size);
    return NULL;
}

PJRT_Error *tn_pjrt_Error_GetCode(PJRT_Error_GetCode_Args *args)
{
    args->code = get_code(args->error);
    return NULL;
}

PJRT_Error *tn_pjrt_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args *args)
{
    if (!args->visitor)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "PJRT_Error_ForEachPayload: visitor is NULL");
    for_each_payload(args->error, args->visitor, args->user_arg);
    return NULL;
}
