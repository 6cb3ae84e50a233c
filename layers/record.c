/* SPDX-License-Identifier: Apache-2.0 */
/* record - writes the session to a file (tenon/session.h) that `tenon replay` runs on any plugin.
 *
 *   TENON_RECORD=file   default tenon-<pid>.session
 *
 * Where the client reads an array, the layer reads it too, and waits: a client under this layer may
 * take longer, but gives and gets the same values. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layers/layer.h"
#include "tenon/session.h"

static int depth;
static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- numbers of objects --- */

typedef struct numbered {
    struct numbered *next;
    const void *handle;
    uint64_t id, client; /* client: the number of its client */
    size_t n_outputs;    /* of an executable */
} numbered;

enum { BUCKETS = 4096 };
static numbered *buckets[BUCKETS]; /* under `lock` */
static uint64_t last_id;

static numbered **place_of(const void *handle)
{
    numbered **at = &buckets[((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 52];
    while (*at && (*at)->handle != handle) at = &(*at)->next;
    return at;
}

static uint64_t number_new(const void *handle, uint64_t client, size_t n_outputs)
{
    pthread_mutex_lock(&lock);
    numbered **at = place_of(handle);
    if (!*at) *at = calloc(1, sizeof **at);
    uint64_t id = ++last_id;
    if (*at) {
        (*at)->handle = handle;
        (*at)->id = id;
        (*at)->client = client ? client : id;
        (*at)->n_outputs = n_outputs;
    }
    pthread_mutex_unlock(&lock);
    return id;
}

static numbered number_of(const void *handle)
{
    pthread_mutex_lock(&lock);
    numbered *n = *place_of(handle), found = {.id = 0};
    if (n) found = *n;
    pthread_mutex_unlock(&lock);
    return found;
}

static void put(const tn_session_call *c)
{
    pthread_mutex_lock(&lock);
    if (file) tn_session_write(file, c);
    pthread_mutex_unlock(&lock);
}

static uint32_t code_of(PJRT_Error *e)
{
    return e ? (uint32_t)tn_layers_describe(depth, e, NULL, 0) : 0;
}

/* --- places --- */

static int64_t device_index(PJRT_Client *client, PJRT_Device *device)
{
    ARGS(Client_AddressableDevices, all, .client = client);
    if (!device || BELOW(depth, Client_AddressableDevices, &all)) return 0;
    for (size_t i = 0; i < all.num_addressable_devices; i++)
        if (all.addressable_devices[i] == device) return (int64_t)i;
    return 0;
}

/* The place of a memory: a device that has it, and its kind. */
static void place_of_memory(PJRT_Client *client, PJRT_Memory *memory, tn_session_call *c)
{
    ARGS(Memory_AddressableByDevices, by, .memory = memory);
    if (!BELOW(depth, Memory_AddressableByDevices, &by) && by.num_devices)
        c->a = device_index(client, by.devices[0]);
    ARGS(Memory_Kind, kind, .memory = memory);
    if (!BELOW(depth, Memory_Kind, &kind))
        c->text = (tn_session_bytes){kind.kind_size, (void *)(uintptr_t)kind.kind};
}

/* --- content --- */

/* Row-major bytes of strided host data, in new memory. */
static void *dense(const PJRT_Client_BufferFromHostBuffer_Args *a, size_t *size)
{
    size_t width = tn_pjrt_element_size(a->type), n = 1;
    for (size_t i = 0; i < a->num_dims; i++)
        if (a->dims[i] < 0 || __builtin_mul_overflow(n, (size_t)a->dims[i], &n)) return NULL;
    *size = n * width;
    char *out = malloc(*size + 1);
    if (!out) return NULL;
    if (!a->byte_strides) {
        memcpy(out, a->data, *size);
        return out;
    }
    int64_t at[64] = {0};
    if (a->num_dims > 64) return out;
    for (size_t k = 0; k < n; k++) {
        int64_t offset = 0;
        for (size_t i = 0; i < a->num_dims; i++) offset += at[i] * a->byte_strides[i];
        memcpy(out + k * width, (const char *)a->data + offset, width);
        for (size_t i = a->num_dims; i-- && ++at[i] == a->dims[i];) at[i] = 0;
    }
    return out;
}

/* Reads a buffer as the client would, and writes that down. */
static void note_get(PJRT_Buffer *buffer)
{
    numbered n = number_of(buffer);
    if (!n.id) return;
    tn_session_call c = {.kind = TN_SESSION_GET, .subject = n.id};
    ARGS(Buffer_ElementType, type, .buffer = buffer);
    ARGS(Buffer_Dimensions, dims, .buffer = buffer);
    if (BELOW(depth, Buffer_ElementType, &type) || BELOW(depth, Buffer_Dimensions, &dims)) return;
    c.b = type.type;
    c.n_numbers = dims.num_dims;
    c.numbers = (int64_t *)(uintptr_t)dims.dims;
    size_t size = tn_pjrt_element_size(type.type);
    int64_t order[64];
    if (dims.num_dims > 64) return;
    for (size_t i = 0; i < dims.num_dims; i++) {
        size *= (size_t)dims.dims[i];
        order[i] = (int64_t)(dims.num_dims - 1 - i);
    }
    void *data = calloc(1, size + 1);
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                       .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    layout.tiled =
        (PJRT_Buffer_MemoryLayout_Tiled){.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                                         .minor_to_major = order,
                                         .minor_to_major_size = dims.num_dims};
    ARGS(Buffer_ToHostBuffer, to, .src = buffer, .host_layout = &layout, .dst = data,
         .dst_size = size);
    PJRT_Error *e = BELOW(depth, Buffer_ToHostBuffer, &to);
    if (!e && to.event) {
        ARGS(Event_Await, wait, .event = to.event);
        e = BELOW(depth, Event_Await, &wait);
        ARGS(Event_Destroy, destroy, .event = to.event);
        tn_layers_end_error(depth, BELOW(depth, Event_Destroy, &destroy));
    }
    c.code = code_of(e);
    tn_layers_end_error(depth, e);
    if (!c.code) c.data = (tn_session_bytes){size, data};
    put(&c);
    free(data);
}

/* --- calls --- */

static void note_client(const PJRT_Client_Create_Args *a, PJRT_Error *e)
{
    char text[4096] = "";
    size_t n = 0;
    const char *at = (const char *)a->create_options;
    for (size_t i = 0; i < a->num_options && n < sizeof text; i++) {
        const PJRT_NamedValue *v = (const PJRT_NamedValue *)at;
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s=", (int)v->name_size, v->name);
        if (n >= sizeof text) break;
        if (v->type == PJRT_NamedValue_kString)
            n += (size_t)snprintf(text + n, sizeof text - n, "%.*s\n", (int)v->value_size,
                                  v->string_value);
        else if (v->type == PJRT_NamedValue_kInt64)
            n += (size_t)snprintf(text + n, sizeof text - n, "%lld\n", (long long)v->int64_value);
        else if (v->type == PJRT_NamedValue_kBool)
            n += (size_t)snprintf(text + n, sizeof text - n, v->bool_value ? "true\n" : "false\n");
        else n += (size_t)snprintf(text + n, sizeof text - n, "\n");
        at += (v->struct_size + 7) & ~(size_t)7;
    }
    tn_session_call c = {.kind = TN_SESSION_CLIENT,
                         .code = code_of(e),
                         .made = e ? 0 : number_new(a->client, 0, 0),
                         .text = {strlen(text), text}};
    put(&c);
}

static size_t count_outputs(PJRT_LoadedExecutable *loaded)
{
    ARGS(LoadedExecutable_GetExecutable, get, .loaded_executable = loaded);
    if (BELOW(depth, LoadedExecutable_GetExecutable, &get)) return 0;
    ARGS(Executable_NumOutputs, n, .executable = get.executable);
    if (BELOW(depth, Executable_NumOutputs, &n)) n.num_outputs = 0;
    ARGS(Executable_Destroy, d, .executable = get.executable);
    tn_layers_end_error(depth, BELOW(depth, Executable_Destroy, &d));
    return n.num_outputs;
}

static void note_compile(const PJRT_Client_Compile_Args *a, PJRT_Error *e)
{
    numbered client = number_of(a->client);
    tn_session_call c = {.kind = TN_SESSION_COMPILE,
                         .code = code_of(e),
                         .subject = client.id,
                         .text = {a->program->format_size, (void *)(uintptr_t)a->program->format},
                         .data = {a->program->code_size, a->program->code},
                         .more = {a->compile_options_size, (void *)(uintptr_t)a->compile_options}};
    if (!e) c.made = number_new(a->executable, client.id, count_outputs(a->executable));
    put(&c);
}

static void note_load(const PJRT_Executable_DeserializeAndLoad_Args *a, PJRT_Error *e)
{
    numbered client = number_of(a->client);
    tn_session_call c = {
        .kind = TN_SESSION_LOAD,
        .code = code_of(e),
        .subject = client.id,
        .data = {a->serialized_executable_size, (void *)(uintptr_t)a->serialized_executable}};
    if (a->struct_size >= PJRT_STRUCT_SIZE(PJRT_Executable_DeserializeAndLoad_Args,
                                           overridden_serialized_compile_options_size) &&
        a->overridden_serialized_compile_options)
        c.more = (tn_session_bytes){a->overridden_serialized_compile_options_size,
                                    (void *)(uintptr_t)a->overridden_serialized_compile_options};
    if (!e)
        c.made = number_new(a->loaded_executable, client.id, count_outputs(a->loaded_executable));
    put(&c);
}

static void note_put(const PJRT_Client_BufferFromHostBuffer_Args *a, void *data, size_t size,
                     PJRT_Error *e)
{
    numbered client = number_of(a->client);
    tn_session_call c = {.kind = TN_SESSION_PUT,
                         .code = code_of(e),
                         .subject = client.id,
                         .b = a->type,
                         .n_numbers = a->num_dims,
                         .numbers = (int64_t *)(uintptr_t)a->dims,
                         .data = {size, data}};
    if (a->memory) place_of_memory(a->client, a->memory, &c);
    else c.a = device_index(a->client, a->device);
    if (!e) c.made = number_new(a->buffer, client.id, 0);
    put(&c);
}

static void note_error_buffer(const PJRT_Client_CreateErrorBuffer_Args *a, PJRT_Error *e)
{
    numbered client = number_of(a->client);
    tn_session_call c = {.kind = TN_SESSION_ERROR,
                         .code = code_of(e),
                         .subject = client.id,
                         .a = a->error_code,
                         .b = a->shape_element_type,
                         .n_numbers = a->shape_num_dims,
                         .numbers = (int64_t *)(uintptr_t)a->shape_dims,
                         .text = {a->error_message_size, (void *)(uintptr_t)a->error_message}};
    if (!e) c.made = number_new(a->buffer, client.id, 0);
    put(&c);
}

static void note_copy(PJRT_Buffer *from, PJRT_Buffer *to, PJRT_Device *device, PJRT_Memory *memory,
                      PJRT_Error *e)
{
    numbered source = number_of(from);
    tn_session_call c = {.kind = TN_SESSION_COPY, .code = code_of(e), .subject = source.id};
    /* The client's handle is not at hand; a device's local id is its place. */
    if (memory) {
        ARGS(Memory_Kind, kind, .memory = memory);
        if (!BELOW(depth, Memory_Kind, &kind))
            c.text = (tn_session_bytes){kind.kind_size, (void *)(uintptr_t)kind.kind};
        ARGS(Memory_AddressableByDevices, by, .memory = memory);
        if (!BELOW(depth, Memory_AddressableByDevices, &by) && by.num_devices)
            device = by.devices[0];
    }
    ARGS(Device_LocalHardwareId, id, .device = device);
    if (device && !BELOW(depth, Device_LocalHardwareId, &id)) c.a = id.local_hardware_id;
    if (!e) c.made = number_new(to, source.client, 0);
    put(&c);
}

typedef struct {
    uint64_t run;
} running;

static void run_ended(PJRT_Error *error, void *user)
{
    running *r = user;
    tn_session_call c = {.kind = TN_SESSION_RUN_END, .code = code_of(error), .subject = r->run};
    /* A run that ended well is no news. */
    if (c.code) put(&c);
    tn_layers_end_error(depth, error);
    free(r);
}

static void note_run(const PJRT_LoadedExecutable_Execute_Args *a, const uint64_t *arguments,
                     PJRT_Error *e)
{
    numbered x = number_of(a->executable);
    size_t n_in = a->num_devices * a->num_args, n_out = a->num_devices * x.n_outputs;
    uint64_t *ids = calloc(n_in + n_out + 1, sizeof *ids);
    if (!ids) return;
    memcpy(ids, arguments, n_in * sizeof *ids);
    uint64_t run;
    pthread_mutex_lock(&lock);
    run = ++last_id;
    pthread_mutex_unlock(&lock);
    for (size_t d = 0; !e && d < a->num_devices; d++)
        for (size_t k = 0; k < x.n_outputs; k++)
            ids[n_in + d * x.n_outputs + k] = number_new(a->output_lists[d][k], x.client, 0);
    tn_session_call c = {.kind = TN_SESSION_RUN,
                         .code = code_of(e),
                         .subject = x.id,
                         .made = run,
                         .a = (int64_t)a->num_devices,
                         .b = (int64_t)a->num_args,
                         .n_ids = e ? n_in : n_in + n_out,
                         .ids = ids};
    if (a->options && a->options->struct_size >=
                          PJRT_STRUCT_SIZE(PJRT_ExecuteOptions, num_non_donatable_input_indices)) {
        c.n_numbers = a->options->num_non_donatable_input_indices;
        c.numbers = (int64_t *)(uintptr_t)a->options->non_donatable_input_indices;
    }
    put(&c);
    free(ids);
    for (size_t d = 0; !e && a->device_complete_events && d < a->num_devices; d++) {
        running *r = malloc(sizeof *r);
        if (!r) return;
        r->run = run;
        ARGS(Event_OnReady, on, .event = a->device_complete_events[d], .callback = run_ended,
             .user_arg = r);
        PJRT_Error *bad = BELOW(depth, Event_OnReady, &on);
        if (bad) free(r);
        tn_layers_end_error(depth, bad);
    }
}

static void note_simple(uint32_t kind, const void *handle)
{
    numbered n = number_of(handle);
    tn_session_call c = {.kind = kind, .subject = n.id};
    if (n.id) put(&c);
}

static PJRT_Error *call(const tn_call *c)
{
    void *data = NULL;
    uint64_t *arguments = NULL;
    size_t size = 0;
    /* What may be gone, or somebody else's, when the call returns. */
    switch (c->fn) {
    case TN_CALL_PJRT_Client_BufferFromHostBuffer: data = dense(c->args, &size); break;
    case TN_CALL_PJRT_Buffer_ToHostBuffer: {
        const PJRT_Buffer_ToHostBuffer_Args *a = c->args;
        if (a->dst) note_get(a->src);
        break;
    }
    case TN_CALL_PJRT_Buffer_CopyRawToHost:
    case TN_CALL_PJRT_Buffer_OpaqueDeviceMemoryDataPointer:
        note_get(((PJRT_Buffer_CopyRawToHost_Args *)c->args)->buffer);
        break;
    case TN_CALL_PJRT_Buffer_Delete:
        note_simple(TN_SESSION_DELETE, ((PJRT_Buffer_Delete_Args *)c->args)->buffer);
        break;
    case TN_CALL_PJRT_Buffer_Destroy:
        note_simple(TN_SESSION_DROP, ((PJRT_Buffer_Destroy_Args *)c->args)->buffer);
        break;
    case TN_CALL_PJRT_LoadedExecutable_Destroy:
        note_simple(TN_SESSION_UNLOAD, ((PJRT_LoadedExecutable_Destroy_Args *)c->args)->executable);
        break;
    case TN_CALL_PJRT_Client_Destroy:
        note_simple(TN_SESSION_END, ((PJRT_Client_Destroy_Args *)c->args)->client);
        pthread_mutex_lock(&lock);
        if (file) fflush(file);
        pthread_mutex_unlock(&lock);
        break;
    case TN_CALL_PJRT_LoadedExecutable_Execute: {
        const PJRT_LoadedExecutable_Execute_Args *a = c->args;
        arguments = calloc(a->num_devices * a->num_args + 1, sizeof *arguments);
        for (size_t d = 0; arguments && d < a->num_devices; d++)
            for (size_t k = 0; k < a->num_args; k++)
                arguments[d * a->num_args + k] = number_of(a->argument_lists[d][k]).id;
        break;
    }
    }
    PJRT_Error *e = tn_call_next(c);
    switch (c->fn) {
    case TN_CALL_PJRT_Client_Create: note_client(c->args, e); break;
    case TN_CALL_PJRT_Client_Compile: note_compile(c->args, e); break;
    case TN_CALL_PJRT_Executable_DeserializeAndLoad: note_load(c->args, e); break;
    case TN_CALL_PJRT_Client_BufferFromHostBuffer:
        if (data) note_put(c->args, data, size, e);
        break;
    case TN_CALL_PJRT_Client_CreateErrorBuffer: note_error_buffer(c->args, e); break;
    case TN_CALL_PJRT_Buffer_CopyToDevice: {
        const PJRT_Buffer_CopyToDevice_Args *a = c->args;
        note_copy(a->buffer, a->dst_buffer, a->dst_device, NULL, e);
        break;
    }
    case TN_CALL_PJRT_Buffer_CopyToMemory: {
        const PJRT_Buffer_CopyToMemory_Args *a = c->args;
        note_copy(a->buffer, a->dst_buffer, NULL, a->dst_memory, e);
        break;
    }
    case TN_CALL_PJRT_LoadedExecutable_Execute:
        if (arguments) note_run(c->args, arguments, e);
        break;
    }
    free(data);
    free(arguments);
    return e;
}

static const char *open_record(int my_depth)
{
    static char own[64], wrong[512];
    depth = my_depth;
    const char *path = getenv("TENON_RECORD");
    snprintf(own, sizeof own, "tenon-%d.session", (int)getpid());
    tn_status *s = tn_session_begin(path && *path ? path : own, &file);
    if (!s) return NULL;
    snprintf(wrong, sizeof wrong, "TENON_RECORD: %s", tn_status_message(s));
    tn_status_free(s);
    return wrong;
}

static void close_record(void)
{
    pthread_mutex_lock(&lock);
    if (file) fclose(file);
    file = NULL;
    pthread_mutex_unlock(&lock);
}

const tn_layer tn_layer_record = {"record", open_record, call, close_record};
