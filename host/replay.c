/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/replay.h"

typedef enum { NOTHING, CLIENT, EXECUTABLE, BUFFER } what;

typedef struct {
    what kind;
    void *handle;
    tn_host_client *client;
    size_t n_outputs;
} object;

typedef struct {
    tn_plugin *plugin;
    const tn_session *session;
    const tn_replay_options *options;
    tn_replay_result *result;
    object *objects; /* by number */
    size_t n_objects;
} replay;

#define ARGS(name, var, ...)                                                                       \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}
#define CALL(name, args) TN_PLUGIN_CALL(r->plugin, PJRT_##name, args)

static object *find(replay *r, uint64_t id, what kind)
{
    return id < r->n_objects && r->objects[id].kind == kind ? &r->objects[id] : NULL;
}

static void keep(replay *r, uint64_t id, what kind, void *handle, tn_host_client *client)
{
    if (id && id < r->n_objects) r->objects[id] = (object){kind, handle, client, 0};
}

/* What went otherwise, if it is the first such thing. */
static void note(replay *r, size_t i, const char *signature, const char *text)
{
    if (r->options->verbose) printf("#%zu: %s\n", i, text);
    if (r->result->first != SIZE_MAX) return;
    r->result->first = i;
    snprintf(r->result->signature, sizeof r->result->signature, "%s", signature);
    snprintf(r->result->what, sizeof r->result->what, "call #%zu: %.360s", i, text);
}

/* Compares what a call gave with what was recorded; takes `s`. True: it worked. */
static bool settle(replay *r, size_t i, uint32_t kind, uint32_t recorded, tn_status *s)
{
    uint32_t code = s ? (uint32_t)tn_status_code(s) : 0;
    char text[600], signature[64];
    if (code || recorded != code) {
        snprintf(signature, sizeof signature, "%s %s", tn_session_kind_name(kind),
                 tn_code_name((tn_code)code));
        snprintf(text, sizeof text, "%s gave %s%s%s%s%s", tn_session_kind_name(kind),
                 tn_code_name((tn_code)code),
                 recorded != code ? ", recorded was " : ", as recorded",
                 recorded != code ? tn_code_name((tn_code)recorded) : "", s ? ": " : "",
                 s ? tn_status_message(s) : "");
        r->result->other_codes += recorded != code;
        note(r, i, signature, text);
    }
    tn_status_free(s);
    return !code;
}

/* --- the calls --- */

static void make_client(replay *r, size_t i, const tn_session_call *c)
{
    const char *options[32];
    size_t n = 0;
    char *text = calloc(1, c->text.size + 1), *rest;
    if (!text) return;
    if (c->text.size) memcpy(text, c->text.at, c->text.size);
    for (char *at = strtok_r(text, "\n", &rest); at && n < 32; at = strtok_r(NULL, "\n", &rest))
        options[n++] = at;
    tn_host_client *client = NULL;
    tn_status *s = tn_host_client_create(r->plugin, options, n, &client);
    if (s && !c->code && n) { /* options are each plugin's own */
        tn_status_free(s);
        s = tn_host_client_create(r->plugin, NULL, 0, &client);
    }
    if (settle(r, i, c->kind, c->code, s)) keep(r, c->made, CLIENT, client, client);
    free(text);
}

static tn_status *compile(replay *r, const tn_session_call *c, tn_host_client *client,
                          PJRT_LoadedExecutable **out)
{
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = c->data.at,
                            .code_size = c->data.size,
                            .format = c->text.at,
                            .format_size = c->text.size};
    ARGS(Client_Compile, a, .client = tn_host_client_handle(client), .program = &program,
         .compile_options = c->more.at, .compile_options_size = c->more.size);
    TN_TRY(CALL(Client_Compile, &a));
    *out = a.executable;
    return NULL;
}

static tn_status *load(replay *r, const tn_session_call *c, tn_host_client *client,
                       PJRT_LoadedExecutable **out)
{
    ARGS(Executable_DeserializeAndLoad, a, .client = tn_host_client_handle(client),
         .serialized_executable = c->data.at, .serialized_executable_size = c->data.size,
         .overridden_serialized_compile_options = c->more.at,
         .overridden_serialized_compile_options_size = c->more.size);
    TN_TRY(CALL(Executable_DeserializeAndLoad, &a));
    *out = a.loaded_executable;
    return NULL;
}

static size_t count_outputs(replay *r, PJRT_LoadedExecutable *e)
{
    ARGS(LoadedExecutable_GetExecutable, get, .loaded_executable = e);
    tn_status *s = CALL(LoadedExecutable_GetExecutable, &get);
    ARGS(Executable_NumOutputs, n, .executable = get.executable);
    if (!s) {
        s = CALL(Executable_NumOutputs, &n);
        ARGS(Executable_Destroy, d, .executable = get.executable);
        tn_status_free(CALL(Executable_Destroy, &d));
    }
    size_t found = s ? 0 : n.num_outputs;
    tn_status_free(s);
    return found;
}

static bool make_executable(replay *r, size_t i, const tn_session_call *c)
{
    object *client = find(r, c->subject, CLIENT);
    if (!client) return false;
    PJRT_LoadedExecutable *e = NULL;
    tn_status *s = c->kind == TN_SESSION_COMPILE ? compile(r, c, client->client, &e)
                                                 : load(r, c, client->client, &e);
    if (!settle(r, i, c->kind, c->code, s)) return true;
    keep(r, c->made, EXECUTABLE, e, client->client);
    if (c->made < r->n_objects) r->objects[c->made].n_outputs = count_outputs(r, e);
    return true;
}

static PJRT_Device *device_at(tn_host_client *client, int64_t i)
{
    size_t n = tn_host_client_device_count(client);
    return n ? tn_host_client_device(client, i >= 0 && (size_t)i < n ? (size_t)i : 0) : NULL;
}

/* The memory of this kind; NULL: the device's default will do. */
static PJRT_Memory *memory_at(replay *r, PJRT_Device *device, const tn_session_bytes *kind)
{
    if (!kind->size) return NULL;
    ARGS(Device_AddressableMemories, all, .device = device);
    tn_status *s = CALL(Device_AddressableMemories, &all);
    for (size_t i = 0; !s && i < all.num_memories; i++) {
        ARGS(Memory_Kind, k, .memory = all.memories[i]);
        tn_status *bad = CALL(Memory_Kind, &k);
        bool same = !bad && k.kind_size == kind->size && !memcmp(k.kind, kind->at, kind->size);
        tn_status_free(bad);
        if (same) return all.memories[i];
    }
    tn_status_free(s);
    return NULL;
}

static bool array_fits(const tn_session_call *c)
{
    size_t n = tn_element_size((PJRT_Buffer_Type)c->b);
    for (size_t i = 0; i < c->n_numbers; i++)
        if (c->numbers[i] < 0 || __builtin_mul_overflow(n, (size_t)c->numbers[i], &n)) return false;
    return n == c->data.size;
}

static bool make_buffer(replay *r, size_t i, const tn_session_call *c)
{
    object *client = find(r, c->subject, CLIENT);
    if (!client || !array_fits(c)) return false;
    static const char nothing[1];
    PJRT_Device *device = device_at(client->client, c->a);
    ARGS(Client_BufferFromHostBuffer, a, .client = tn_host_client_handle(client->client),
         .data = c->data.at ? c->data.at : nothing, .type = (PJRT_Buffer_Type)c->b,
         .dims = c->numbers, .num_dims = c->n_numbers,
         .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
         .device = device, .memory = memory_at(r, device, &c->text));
    tn_status *s = CALL(Client_BufferFromHostBuffer, &a);
    if (!settle(r, i, c->kind, c->code, s)) return true;
    keep(r, c->made, BUFFER, a.buffer, client->client);
    tn_status_free(tn_host_event_wait(client->client, a.done_with_host_buffer));
    return true;
}

static bool make_error(replay *r, size_t i, const tn_session_call *c)
{
    object *client = find(r, c->subject, CLIENT);
    if (!client) return false;
    ARGS(Device_DefaultMemory, memory, .device = device_at(client->client, 0));
    tn_status *s = CALL(Device_DefaultMemory, &memory);
    ARGS(Client_CreateErrorBuffer, a, .client = tn_host_client_handle(client->client),
         .error_code = (PJRT_Error_Code)c->a, .error_message = c->text.at,
         .error_message_size = c->text.size, .shape_dims = c->numbers,
         .shape_num_dims = c->n_numbers, .shape_element_type = (PJRT_Buffer_Type)c->b,
         .memory = memory.memory);
    if (!s) s = CALL(Client_CreateErrorBuffer, &a);
    if (settle(r, i, c->kind, c->code, s)) keep(r, c->made, BUFFER, a.buffer, client->client);
    return true;
}

/* The code with which the run was recorded to end. */
static uint32_t recorded_end(const replay *r, size_t i, uint64_t run)
{
    for (size_t k = i + 1; k < r->session->n; k++)
        if (r->session->calls[k].kind == TN_SESSION_RUN_END && r->session->calls[k].subject == run)
            return r->session->calls[k].code;
    return 0;
}

static bool run(replay *r, size_t i, const tn_session_call *c)
{
    object *e = find(r, c->subject, EXECUTABLE);
    size_t devices = (size_t)c->a, in = (size_t)c->b, n_in = devices * in;
    if (!e || !devices) return false;
    tn_host_client *client = e->client;
    size_t outs = e->n_outputs;
    if (!c->code && c->n_ids != n_in + devices * outs) return false;
    PJRT_Buffer **buffers = calloc(n_in + devices * outs + 1, sizeof *buffers);
    PJRT_Buffer *const **in_rows = calloc(devices, sizeof *in_rows);
    PJRT_Buffer ***out_rows = calloc(devices, sizeof *out_rows);
    PJRT_Event **events = calloc(devices, sizeof *events);
    bool ok = buffers && in_rows && out_rows && events;
    for (size_t k = 0; ok && k < n_in; k++) {
        object *b = find(r, c->ids[k], BUFFER);
        ok = b != NULL;
        if (b) buffers[k] = b->handle;
    }
    if (ok) {
        for (size_t d = 0; d < devices; d++) {
            in_rows[d] = buffers + d * in;
            out_rows[d] = buffers + n_in + d * outs;
        }
        PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                       .call_location = "",
                                       .non_donatable_input_indices = c->numbers,
                                       .num_non_donatable_input_indices = c->n_numbers};
        ARGS(LoadedExecutable_Execute, a, .executable = e->handle, .options = &options,
             .argument_lists = (PJRT_Buffer *const *const *)in_rows, .num_devices = devices,
             .num_args = in, .output_lists = (PJRT_Buffer * *const *)out_rows,
             .device_complete_events = events);
        tn_status *s = CALL(LoadedExecutable_Execute, &a);
        if (settle(r, i, c->kind, c->code, s)) {
            for (size_t k = n_in; k < n_in + devices * outs; k++) {
                if (k < c->n_ids) keep(r, c->ids[k], BUFFER, buffers[k], client);
                else tn_host_buffer_destroy(client, buffers[k]);
            }
            tn_status *first = NULL;
            for (size_t d = 0; d < devices; d++) {
                s = tn_host_event_wait(client, events[d]);
                if (first) tn_status_free(s);
                else first = s;
            }
            settle(r, i, TN_SESSION_RUN_END, recorded_end(r, i, c->made), first);
        }
    }
    free(buffers);
    free(in_rows);
    free(out_rows);
    free(events);
    return ok;
}

static bool get(replay *r, size_t i, const tn_session_call *c)
{
    object *b = find(r, c->subject, BUFFER);
    if (!b) return false;
    tn_array got;
    tn_status *s = tn_host_buffer_to_array(b->client, b->handle, &got);
    if (!settle(r, i, c->kind, c->code, s)) return true;
    if (c->code) {
        tn_array_free(&got);
        return true;
    }
    r->result->compared++;
    tn_array want = got;
    want.data = c->data.at;
    want.size = c->data.size;
    char text[300], x[80], y[80];
    if (got.type != (PJRT_Buffer_Type)c->b || got.size != c->data.size) {
        r->result->differ++;
        snprintf(text, sizeof text, "GET is %zu bytes of %s, recorded %zu of %s", got.size,
                 tn_element_name(got.type), c->data.size, tn_element_name((PJRT_Buffer_Type)c->b));
        note(r, i, "GET differs", text);
    } else {
        tn_array_difference d = tn_array_compare(&want, &got, r->options->tolerance);
        if (d.worst > r->result->worst) r->result->worst = d.worst;
        if (d.first != SIZE_MAX) {
            r->result->differ++;
            tn_array_element_text(&want, d.first, x, sizeof x);
            tn_array_element_text(&got, d.first, y, sizeof y);
            snprintf(text, sizeof text,
                     "GET differs in %zu elements, first in element %zu: %s, recorded %s", d.n,
                     d.first, y, x);
            note(r, i, "GET differs", text);
        }
    }
    tn_array_free(&got);
    return true;
}

static bool copy(replay *r, size_t i, const tn_session_call *c)
{
    object *b = find(r, c->subject, BUFFER);
    if (!b) return false;
    PJRT_Device *device = device_at(b->client, c->a);
    PJRT_Memory *memory = memory_at(r, device, &c->text);
    PJRT_Buffer *made = NULL;
    tn_status *s;
    if (memory) {
        ARGS(Buffer_CopyToMemory, a, .buffer = b->handle, .dst_memory = memory);
        s = CALL(Buffer_CopyToMemory, &a);
        made = a.dst_buffer;
    } else {
        ARGS(Buffer_CopyToDevice, a, .buffer = b->handle, .dst_device = device);
        s = CALL(Buffer_CopyToDevice, &a);
        made = a.dst_buffer;
    }
    if (settle(r, i, c->kind, c->code, s)) keep(r, c->made, BUFFER, made, b->client);
    return true;
}

static void end_object(replay *r, object *o)
{
    if (o->kind == BUFFER) tn_host_buffer_destroy(o->client, o->handle);
    if (o->kind == EXECUTABLE) {
        ARGS(LoadedExecutable_Destroy, d, .executable = o->handle);
        tn_status_free(CALL(LoadedExecutable_Destroy, &d));
    }
    if (o->kind == CLIENT) {
        /* What is left goes first: a client that is cut down may not have cleaned up. */
        for (size_t k = 0; k < r->n_objects; k++)
            if (&r->objects[k] != o && r->objects[k].kind != NOTHING &&
                r->objects[k].client == o->client)
                end_object(r, &r->objects[k]);
        tn_host_client_destroy(o->client);
    }
    o->kind = NOTHING;
}

static bool end(replay *r, const tn_session_call *c, what kind)
{
    object *o = find(r, c->subject, kind);
    if (o) end_object(r, o);
    return o != NULL;
}

static bool delete_buffer(replay *r, size_t i, const tn_session_call *c)
{
    object *b = find(r, c->subject, BUFFER);
    if (!b) return false;
    ARGS(Buffer_Delete, d, .buffer = b->handle);
    settle(r, i, c->kind, c->code, CALL(Buffer_Delete, &d));
    return true;
}

static bool make_call(replay *r, size_t i, const tn_session_call *c)
{
    switch ((tn_session_kind)c->kind) {
    case TN_SESSION_CLIENT: make_client(r, i, c); return true;
    case TN_SESSION_END: return end(r, c, CLIENT);
    case TN_SESSION_COMPILE:
    case TN_SESSION_LOAD: return make_executable(r, i, c);
    case TN_SESSION_UNLOAD: return end(r, c, EXECUTABLE);
    case TN_SESSION_PUT: return make_buffer(r, i, c);
    case TN_SESSION_ERROR: return make_error(r, i, c);
    case TN_SESSION_RUN: return run(r, i, c);
    case TN_SESSION_RUN_END: return true; /* compared where the run is */
    case TN_SESSION_GET: return get(r, i, c);
    case TN_SESSION_COPY: return copy(r, i, c);
    case TN_SESSION_DELETE: return delete_buffer(r, i, c);
    case TN_SESSION_DROP: return end(r, c, BUFFER);
    }
    return false;
}

static uint64_t greatest_id(const tn_session *s)
{
    uint64_t most = 0;
    for (size_t i = 0; i < s->n; i++) {
        const tn_session_call *c = &s->calls[i];
        if (c->made > most) most = c->made;
        for (size_t k = 0; k < c->n_ids; k++)
            if (c->ids[k] > most) most = c->ids[k];
    }
    return most;
}

/* --- freezing --- */

/* Which objects the calls from i on use. */
static bool *used_from(const replay *r, size_t i)
{
    bool *used = calloc(r->n_objects, 1);
    for (size_t k = i; used && k < r->session->n; k++) {
        const tn_session_call *c = &r->session->calls[k];
        if (r->options->keep && !r->options->keep[k]) continue;
        if (c->subject < r->n_objects) used[c->subject] = true;
        size_t in = c->kind == TN_SESSION_RUN ? (size_t)(c->a * c->b) : 0;
        for (size_t x = 0; x < in; x++)
            if (c->ids[x] < r->n_objects) used[c->ids[x]] = true;
    }
    return used;
}

static int64_t device_of(replay *r, object *b)
{
    ARGS(Buffer_Device, d, .buffer = b->handle);
    tn_status *s = CALL(Buffer_Device, &d);
    int64_t found = 0;
    for (size_t i = 0; !s && i < tn_host_client_device_count(b->client); i++)
        if (tn_host_client_device(b->client, i) == d.device) found = (int64_t)i;
    tn_status_free(s);
    return found;
}

/* The buffer as a call that puts it there. */
static void freeze_buffer(replay *r, uint64_t id)
{
    object *b = &r->objects[id];
    tn_array a;
    tn_status *s = tn_host_buffer_to_array(b->client, b->handle, &a);
    if (s) { /* deleted, or in error: the calls that use it are left out */
        tn_status_free(s);
        return;
    }
    uint64_t client = 0;
    for (size_t k = 0; k < r->n_objects; k++)
        if (r->objects[k].kind == CLIENT && r->objects[k].client == b->client) client = k;
    tn_session_call c = {.kind = TN_SESSION_PUT,
                         .subject = client,
                         .made = id,
                         .a = device_of(r, b),
                         .b = a.type,
                         .n_numbers = a.rank,
                         .numbers = a.dims,
                         .data = {a.size, a.data}};
    tn_session_write(r->options->freeze_to, &c);
    tn_array_free(&a);
}

static void freeze(replay *r, size_t i)
{
    bool *used = used_from(r, i);
    if (!used) return;
    for (size_t k = 0; k < i; k++) {
        const tn_session_call *c = &r->session->calls[k];
        bool program = c->kind == TN_SESSION_COMPILE || c->kind == TN_SESSION_LOAD;
        if (c->kind == TN_SESSION_CLIENT || (program && c->made < r->n_objects && used[c->made] &&
                                             r->objects[c->made].kind == EXECUTABLE))
            tn_session_write(r->options->freeze_to, c);
    }
    for (size_t id = 0; id < r->n_objects; id++)
        if (used[id] && r->objects[id].kind == BUFFER) freeze_buffer(r, id);
    for (size_t k = i; k < r->session->n; k++)
        if (!r->options->keep || r->options->keep[k])
            tn_session_write(r->options->freeze_to, &r->session->calls[k]);
    free(used);
}

tn_status *tn_replay(tn_plugin *p, const tn_session *s, const tn_replay_options *options,
                     tn_replay_result *out)
{
    *out = (tn_replay_result){.first = SIZE_MAX};
    uint64_t most = greatest_id(s);
    if (most > 1u << 28) return TN_ERROR(INVALID_ARGUMENT, "a session of more than 2^28 objects");
    replay r = {
        .plugin = p, .session = s, .options = options, .result = out, .n_objects = most + 1};
    r.objects = calloc(r.n_objects, sizeof *r.objects);
    if (!r.objects) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < s->n; i++) {
        if (options->freeze_to && i == options->freeze_at) {
            freeze(&r, i);
            break;
        }
        if (options->keep && !options->keep[i]) continue;
        if (make_call(&r, i, &s->calls[i])) out->made++;
        else out->left_out++;
    }
    for (size_t k = 0; k < r.n_objects; k++)
        if (r.objects[k].kind == BUFFER || r.objects[k].kind == EXECUTABLE)
            end_object(&r, &r.objects[k]);
    for (size_t k = 0; k < r.n_objects; k++)
        if (r.objects[k].kind == CLIENT) end_object(&r, &r.objects[k]);
    free(r.objects);
    return NULL;
}
