/* SPDX-License-Identifier: Apache-2.0 */
#include "ffi/api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/crew.h"
#include "base/ref.h"

/* Whether the caller's arguments reach as far as `last`. */
#define HAS(args, last)                                                                            \
    ((args)->struct_size >= offsetof(__typeof__(*(args)), last) + sizeof((args)->last))
#define NEED(args, last)                                                                           \
    do {                                                                                           \
        if (!HAS(args, last)) return too_small(__func__, (args)->struct_size);                     \
    } while (0)

/* ---- Errors ---- */

struct XLA_FFI_Error {
    tn_status *status;
};

static struct XLA_FFI_Error no_memory; /* of an error: its status is NULL */

/* Takes the status. */
static XLA_FFI_Error *error_of(tn_status *s)
{
    if (!s) return NULL;
    XLA_FFI_Error *e = malloc(sizeof *e);
    if (!e) {
        tn_status_free(s);
        return &no_memory;
    }
    e->status = s;
    return e;
}

static XLA_FFI_Error *too_small(const char *function, size_t size)
{
    return error_of(
        TN_ERROR(INVALID_ARGUMENT, "%s: arguments of %zu bytes are too short", function, size));
}

tn_status *tn_ffi_take_error(XLA_FFI_Error *e)
{
    if (!e) return NULL;
    if (e == &no_memory) return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for an error");
    tn_status *s = e->status;
    free(e);
    return s;
}

static XLA_FFI_Error *error_create(XLA_FFI_Error_Create_Args *args)
{
    const char *text = args->message ? args->message : "";
    int code = args->errc > 0 && args->errc <= TN_UNAUTHENTICATED ? args->errc : TN_UNKNOWN;
    return error_of(tn_status_make((tn_code)code, __FILE__, __LINE__, "%s", text));
}

static void error_message(XLA_FFI_Error_GetMessage_Args *args)
{
    args->message = tn_status_message(args->error ? args->error->status : NULL);
}

static void error_destroy(XLA_FFI_Error_Destroy_Args *args)
{
    tn_status_free(tn_ffi_take_error(args->error));
}

/* ---- Registration ---- */

static XLA_FFI_Error *handler_register(XLA_FFI_Handler_Register_Args *args)
{
    NEED(args, bundle);
    return error_of(tn_ffi_register(args->name.ptr, args->name.len, args->platform.ptr,
                                    args->platform.len, &args->bundle, true));
}

/* Before the struct had a head its first word was the deleter, and no function is at such a low
 * address. */
static void (*deleter_of(const XLA_FFI_TypeInfo *info))(void *)
{
    if (!info) return NULL;
    if (info->struct_size > 4096) {
        void (*first)(void *);
        memcpy(&first, info, sizeof first);
        return first;
    }
    return HAS(info, deleter) ? info->deleter : NULL;
}

static XLA_FFI_Error *type_register(XLA_FFI_Type_Register_Args *args)
{
    NEED(args, type_id);
    return error_of(tn_ffi_register_type(args->name.ptr, args->name.len,
                                         deleter_of(args->type_info), &args->type_id->type_id));
}

/* ---- State ---- */

void tn_ffi_state_end(tn_ffi_state *s)
{
    if (s->type_id) tn_ffi_delete(s->type_id, s->object);
    *s = (tn_ffi_state){0};
}

static XLA_FFI_Error *find_state(XLA_FFI_ExecutionContext *ctx, int stage, tn_ffi_state **out)
{
    if (stage >= 0 && stage < 3 && ctx->states[stage]) {
        *out = ctx->states[stage];
        return NULL;
    }
    return error_of(
        TN_ERROR(INVALID_ARGUMENT, "there is no state of stage %d in this call", stage));
}

/* The arguments of both calls as they were before they had a stage. */
typedef struct {
    size_t struct_size;
    XLA_FFI_Extension_Base *extension_start;
    XLA_FFI_ExecutionContext *ctx;
    XLA_FFI_TypeId *type_id;
    void *state;
} old_state_args;

static XLA_FFI_Error *set_state(XLA_FFI_ExecutionContext *ctx, int stage, int64_t type,
                                void *object)
{
    tn_ffi_state *s;
    XLA_FFI_Error *e = find_state(ctx, stage, &s);
    if (e) return e;
    if (s->type_id)
        return error_of(
            TN_ERROR(FAILED_PRECONDITION, "the state of stage %d is set already", stage));
    if (!type)
        return error_of(TN_ERROR(INVALID_ARGUMENT, "the type of the state is not registered"));
    *s = (tn_ffi_state){type, object};
    return NULL;
}

static XLA_FFI_Error *get_state(XLA_FFI_ExecutionContext *ctx, int stage, int64_t type, void **out)
{
    tn_ffi_state *s;
    XLA_FFI_Error *e = find_state(ctx, stage, &s);
    if (e) return e;
    if (!s->type_id) return error_of(TN_ERROR(NOT_FOUND, "no state was set in stage %d", stage));
    if (s->type_id != type)
        return error_of(TN_ERROR(INVALID_ARGUMENT,
                                 "the state of stage %d is of type %lld, not of type %lld", stage,
                                 (long long)s->type_id, (long long)type));
    *out = s->object;
    return NULL;
}

static XLA_FFI_Error *state_set(XLA_FFI_State_Set_Args *args)
{
    if (HAS(args, state))
        return set_state(args->ctx, args->stage, args->type_id->type_id, args->state);
    NEED((old_state_args *)args, state);
    const old_state_args *old = (const old_state_args *)args;
    return set_state(old->ctx, XLA_FFI_ExecutionStage_INSTANTIATE, old->type_id->type_id,
                     old->state);
}

static XLA_FFI_Error *state_get(XLA_FFI_State_Get_Args *args)
{
    if (HAS(args, state))
        return get_state(args->ctx, args->stage, args->type_id->type_id, &args->state);
    NEED((old_state_args *)args, state);
    old_state_args *old = (old_state_args *)args;
    return get_state(old->ctx, XLA_FFI_ExecutionStage_INSTANTIATE, old->type_id->type_id,
                     &old->state);
}

static XLA_FFI_Error *context_get(XLA_FFI_ExecutionContext_Get_Args *args)
{
    NEED(args, data);
    args->data = tn_ffi_context_find(args->ctx->user, args->type_id->type_id);
    if (args->data) return NULL;
    return error_of(TN_ERROR(NOT_FOUND, "the run has no user data of type %lld",
                             (long long)args->type_id->type_id));
}

/* ---- The device ---- */

static XLA_FFI_Error *stream_get(XLA_FFI_Stream_Get_Args *args)
{
    return error_of(TN_ERROR(UNIMPLEMENTED, "the device has no stream: calls run on the host"));
}

static XLA_FFI_Error *memory_allocate(XLA_FFI_DeviceMemory_Allocate_Args *args)
{
    NEED(args, data);
    size_t alignment = args->alignment < 64 ? 64 : args->alignment;
    if (alignment & (alignment - 1))
        return error_of(TN_ERROR(INVALID_ARGUMENT, "an alignment of %zu bytes", args->alignment));
    void *data = NULL;
    if (posix_memalign(&data, alignment, args->size ? args->size : 1))
        return error_of(TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu bytes", args->size));
    args->data = data;
    return NULL;
}

static XLA_FFI_Error *memory_free(XLA_FFI_DeviceMemory_Free_Args *args)
{
    NEED(args, data);
    free(args->data);
    return NULL;
}

static XLA_FFI_Error *run_id_get(XLA_FFI_RunId_Get_Args *args)
{
    NEED(args, run_id);
    args->run_id = args->ctx->run_id;
    return NULL;
}

static XLA_FFI_Error *device_get(XLA_FFI_DeviceOrdinal_Get_Args *args)
{
    NEED(args, device_ordinal);
    args->device_ordinal = args->ctx->device;
    return NULL;
}

/* ---- Threads ---- */

typedef struct {
    tn_crew_task as_task;
    XLA_FFI_Task *fn;
    void *data;
} scheduled;

static void run_scheduled(tn_crew_task *t)
{
    scheduled *s = (scheduled *)t;
    s->fn(s->data);
    free(s);
}

/* Not on the pool's own threads: those never wait, and a task may. */
static XLA_FFI_Error *schedule(XLA_FFI_ThreadPool_Schedule_Args *args)
{
    static tn_lane lane = TN_LANE_INIT(lane, 0);
    NEED(args, data);
    scheduled *s = malloc(sizeof *s);
    if (!s) return error_of(TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a task"));
    *s = (scheduled){{.run = run_scheduled}, args->task, args->data};
    pthread_mutex_lock(&lane.lock);
    lane.limit = tn_thread_pool_size(args->ctx->pool);
    pthread_mutex_unlock(&lane.lock);
    tn_lane_push(&lane, &s->as_task, false);
    return NULL;
}

static XLA_FFI_Error *num_threads(XLA_FFI_ThreadPool_NumThreads_Args *args)
{
    NEED(args, num_threads);
    *args->num_threads = tn_thread_pool_size(args->ctx->pool);
    return NULL;
}

/* ---- Futures: one reference is the runtime's, one the setter's ---- */

struct XLA_FFI_Future {
    tn_ref ref;
    pthread_mutex_t lock;
    pthread_cond_t set;
    bool is_set;
    tn_status *error;
};

static void release_future(XLA_FFI_Future *f)
{
    if (!tn_ref_release(&f->ref)) return;
    tn_status_free(f->error);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->set);
    free(f);
}

static XLA_FFI_Error *future_create(XLA_FFI_Future_Create_Args *args)
{
    XLA_FFI_Future *f = calloc(1, sizeof *f);
    if (!f) return error_of(TN_ERROR(RESOURCE_EXHAUSTED, "no memory for a future"));
    tn_ref_init(&f->ref);
    tn_ref_retain(&f->ref);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->set, NULL);
    args->future = f;
    return NULL;
}

/* Takes the error. */
static XLA_FFI_Error *set_future(XLA_FFI_Future *f, tn_status *s)
{
    pthread_mutex_lock(&f->lock);
    bool was_set = f->is_set;
    if (!was_set) f->error = s;
    f->is_set = true;
    pthread_cond_broadcast(&f->set);
    pthread_mutex_unlock(&f->lock);
    if (was_set) {
        tn_status_free(s);
        return error_of(TN_ERROR(FAILED_PRECONDITION, "the future is set already"));
    }
    release_future(f);
    return NULL;
}

static XLA_FFI_Error *future_set(XLA_FFI_Future_SetAvailable_Args *args)
{
    NEED(args, future);
    return set_future(args->future, NULL);
}

static XLA_FFI_Error *future_fail(XLA_FFI_Future_SetError_Args *args)
{
    NEED(args, error);
    tn_status *s = tn_ffi_take_error(args->error);
    return set_future(args->future, s ? s : TN_ERROR(UNKNOWN, "a future failed without an error"));
}

tn_status *tn_ffi_await(XLA_FFI_Future *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->is_set) pthread_cond_wait(&f->set, &f->lock);
    tn_status *s = f->error;
    f->error = NULL;
    pthread_mutex_unlock(&f->lock);
    release_future(f);
    return s;
}

/* ---- The table ---- */

tn_status *tn_ffi_ask_metadata(XLA_FFI_Handler *handler, XLA_FFI_Metadata *metadata)
{
    XLA_FFI_Metadata_Extension extension = {
        .extension_base = {.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE,
                           .type = XLA_FFI_Extension_Metadata},
        .metadata = metadata,
    };
    XLA_FFI_CallFrame frame = {
        .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
        .extension_start = &extension.extension_base,
        .api = &tn_ffi_api,
        .stage = XLA_FFI_ExecutionStage_EXECUTE,
        .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE},
        .rets = {.struct_size = XLA_FFI_Rets_STRUCT_SIZE},
        .attrs = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE},
    };
    return tn_ffi_take_error(handler(&frame));
}

const XLA_FFI_Api tn_ffi_api = {
    .struct_size = XLA_FFI_Api_STRUCT_SIZE,
    .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
                    .major_version = XLA_FFI_API_MAJOR,
                    .minor_version = XLA_FFI_API_MINOR},
    .XLA_FFI_Error_Create = error_create,
    .XLA_FFI_Error_GetMessage = error_message,
    .XLA_FFI_Error_Destroy = error_destroy,
    .XLA_FFI_Handler_Register = handler_register,
    .XLA_FFI_Stream_Get = stream_get,
    .XLA_FFI_Type_Register = type_register,
    .XLA_FFI_ExecutionContext_Get = context_get,
    .XLA_FFI_State_Set = state_set,
    .XLA_FFI_State_Get = state_get,
    .XLA_FFI_DeviceMemory_Allocate = memory_allocate,
    .XLA_FFI_DeviceMemory_Free = memory_free,
    .XLA_FFI_ThreadPool_Schedule = schedule,
    .XLA_FFI_ThreadPool_NumThreads = num_threads,
    .XLA_FFI_Future_Create = future_create,
    .XLA_FFI_Future_SetAvailable = future_set,
    .XLA_FFI_Future_SetError = future_fail,
    .XLA_FFI_RunId_Get = run_id_get,
    .XLA_FFI_DeviceOrdinal_Get = device_get,
};
