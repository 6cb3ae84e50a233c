/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.c - the extension through which jax.profiler records what Tenon does. */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "pjrt/error.h"
#include "pjrt/extensions.h"

/* What was recorded is made into bytes when it stops, since the next recording may begin before
 * they are asked for. */
struct PLUGIN_Profiler {
    bool is_running;
    uint64_t start_ns;
    void *bytes;
    size_t size;
};

struct PLUGIN_Profiler_ConsumeResult {
    size_t size;
    uint8_t bytes[];
};

/* An error is a status under another name. */
static PLUGIN_Profiler_Error *error_of(tn_status *s)
{
    return (PLUGIN_Profiler_Error *)s;
}

static void error_destroy(PLUGIN_Profiler_Error_Destroy_Args *args)
{
    tn_status_free((tn_status *)args->error);
}

static void error_message(PLUGIN_Profiler_Error_Message_Args *args)
{
    args->message = tn_status_message((tn_status *)args->error);
    args->message_size = strlen(args->message);
}

static PLUGIN_Profiler_Error *error_get_code(PLUGIN_Profiler_Error_GetCode_Args *args)
{
    args->code = (int32_t)tn_status_code((tn_status *)args->error);
    return NULL;
}

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *args)
{
    args->profiler = calloc(1, sizeof *args->profiler);
    return args->profiler ? NULL
                          : error_of(TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a profiler"));
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Start_Args *args)
{
    PLUGIN_Profiler *p = args->profiler;
    if (p->is_running)
        return error_of(TN_ERROR(FAILED_PRECONDITION, "the profiler is running already"));
    free(p->bytes);
    *p = (PLUGIN_Profiler){.is_running = true};
    p->start_ns = tn_trace_start();
    return NULL;
}

static tn_status *take_bytes(PLUGIN_Profiler *p)
{
    tn_trace_snapshot s;
    TN_TRY(tn_trace_take(p->start_ns, &s));
    tn_status *e = tn_trace_to_xspace(&s, &p->bytes, &p->size);
    tn_trace_snapshot_free(&s);
    return e;
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Stop_Args *args)
{
    PLUGIN_Profiler *p = args->profiler;
    if (!p->is_running) return NULL;
    p->is_running = false;
    tn_status *s = take_bytes(p);
    tn_trace_stop();
    return error_of(s);
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Destroy_Args *args)
{
    PLUGIN_Profiler *p = args->profiler;
    if (!p) return NULL;
    if (p->is_running) tn_trace_stop();
    free(p->bytes);
    free(p);
    return NULL;
}

static tn_status *check_stopped(const PLUGIN_Profiler *p)
{
    if (!p->is_running) return NULL;
    return TN_ERROR(FAILED_PRECONDITION, "the profiler is still running; stop it first");
}

static PLUGIN_Profiler_Error *collect_data(PLUGIN_Profiler_CollectData_Args *args)
{
    PLUGIN_Profiler *p = args->profiler;
    tn_status *s = check_stopped(p);
    args->buffer_size_in_bytes = s ? 0 : p->size;
    if (s) return error_of(s);
    if (!args->buffer) args->buffer = p->bytes;
    else if (p->size) memcpy(args->buffer, p->bytes, p->size);
    return NULL;
}

static PLUGIN_Profiler_Error *consume(PLUGIN_Profiler_Consume_Args *args)
{
    const PLUGIN_Profiler *p = args->profiler;
    args->result = NULL;
    tn_status *s = check_stopped(p);
    if (s) return error_of(s);
    args->result = malloc(sizeof *args->result + p->size);
    if (!args->result)
        return error_of(
            TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu bytes of a profile", p->size));
    args->result->size = p->size;
    if (p->size) memcpy(args->result->bytes, p->bytes, p->size);
    return NULL;
}

static void consume_result_destroy(PLUGIN_Profiler_ConsumeResult_Destroy_Args *args)
{
    free(args->consume_result);
}

static PLUGIN_Profiler_Error *serialize(PLUGIN_Profiler_Serialize_Args *args)
{
    args->serialized_bytes = args->consume_result->bytes;
    args->serialized_size = args->consume_result->size;
    return NULL;
}

/* Its size is what the caller expects, see the client option profiler_api_size. */
static PLUGIN_Profiler_Api profiler_api = {
    .struct_size = offsetof(PLUGIN_Profiler_Api, consume),
    .error_destroy = error_destroy,
    .error_message = error_message,
    .error_get_code = error_get_code,
    .create = create,
    .destroy = destroy,
    .start = start,
    .stop = stop,
    .collect_data = collect_data,
    .consume = consume,
    .consume_result_destroy = consume_result_destroy,
    .serialize = serialize,
};

void tn_pjrt_profiler_set_size(size_t size)
{
    profiler_api.struct_size = size < sizeof profiler_api ? size : sizeof profiler_api;
}

const PJRT_Profiler_Extension tn_pjrt_profiler_extension = {
    .base = {.struct_size = PJRT_Profiler_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Profiler,
             .next = NULL},
    .profiler_api = &profiler_api,
    .traceme_context_id = -1,
};
