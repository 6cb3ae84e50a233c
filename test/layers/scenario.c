/* SPDX-License-Identifier: Apache-2.0 */
/* scenario PLUGIN DATA NAME - a client that behaves well, or breaks one rule. For
 * test/layers/run.py. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/host.h"

static tn_plugin *plugin;
static tn_host_client *client;
static const PJRT_Api *api;
static const char *data_folder;

#define ARGS(name, var, ...)                                                                       \
    PJRT_##name##_Args var = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}

static void must(tn_status *s)
{
    if (!s) return;
    printf("error %s: %s\n", tn_code_name(tn_status_code(s)), tn_status_message(s));
    fflush(stdout);
    exit(3);
}
#define OK(name, args) must(TN_PLUGIN_CALL(plugin, PJRT_##name, args))

static tn_host_executable *load(const char *name)
{
    char path[4096];
    void *code;
    size_t size;
    tn_host_executable *e;
    snprintf(path, sizeof path, "%s/%s.mlirbc", data_folder, name);
    must(tn_read_file(path, &code, &size));
    must(tn_host_executable_compile(client, code, size, "mlir", 1, 1, &e));
    free(code);
    return e;
}

static PJRT_Client_BufferFromHostBuffer_Args put(const void *data, int64_t n,
                                                 PJRT_HostBufferSemantics semantics)
{
    static int64_t dims[1];
    dims[0] = n;
    ARGS(Client_BufferFromHostBuffer, a, .client = tn_host_client_handle(client), .data = data,
         .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
         .host_buffer_semantics = semantics, .device = tn_host_client_device(client, 0));
    OK(Client_BufferFromHostBuffer, &a);
    return a;
}

static PJRT_Buffer *four(void)
{
    static const float data[4] = {1, 2, 3, 4};
    PJRT_Client_BufferFromHostBuffer_Args a =
        put(data, 4, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    must(tn_host_event_wait(client, a.done_with_host_buffer));
    return a.buffer;
}

static void run(tn_host_executable *e, PJRT_Buffer *in, PJRT_Buffer **out)
{
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_Buffer *const row[] = {in}, *const * rows[] = {row}, **outs[] = {out};
    PJRT_Event *done;
    ARGS(LoadedExecutable_Execute, a, .executable = tn_host_executable_handle(e),
         .options = &options, .argument_lists = rows, .num_devices = 1, .num_args = 1,
         .output_lists = outs, .device_complete_events = &done);
    OK(LoadedExecutable_Execute, &a);
    must(tn_host_event_wait(client, done));
}

static atomic_int came;
static void on_ready(PJRT_Error *error, void *user)
{
    must(tn_plugin_status(plugin, error, "OnReady"));
    atomic_fetch_add(&came, 1);
}

static void clean(void)
{
    tn_host_executable *e = load("donate");
    PJRT_Buffer *in = four(), *out;
    run(e, in, &out);
    tn_host_buffer_destroy(client, in);
    ARGS(Buffer_ReadyEvent, ready, .buffer = out);
    OK(Buffer_ReadyEvent, &ready);
    ARGS(Event_OnReady, on, .event = ready.event, .callback = on_ready);
    OK(Event_OnReady, &on);
    must(tn_host_event_wait(client, ready.event));
    for (int i = 0; i < 1000 && !came; i++) usleep(1000);
    tn_array got;
    must(tn_host_buffer_to_array(client, out, &got));
    printf("got %g\n", (double)*(float *)got.data);
    tn_array_free(&got);
    tn_host_buffer_destroy(client, out);
    tn_host_executable_free(e);
}

static void use_after_destroy(void)
{
    PJRT_Buffer *b = four();
    tn_host_buffer_destroy(client, b);
    ARGS(Buffer_Dimensions, d, .buffer = b);
    tn_status_free(TN_PLUGIN_CALL(plugin, PJRT_Buffer_Dimensions, &d));
}

static void double_free(void)
{
    PJRT_Buffer *b = four();
    tn_host_buffer_destroy(client, b);
    ARGS(Buffer_Destroy, d, .buffer = b);
    tn_status_free(TN_PLUGIN_CALL(plugin, PJRT_Buffer_Destroy, &d));
}

static void leak(void)
{
    four();
}

static void error_before_ready(void)
{
    ARGS(Event_Create, make, .event = NULL);
    OK(Event_Create, &make);
    ARGS(Event_Error, error, .event = make.event);
    tn_status_free(TN_PLUGIN_CALL(plugin, PJRT_Event_Error, &error));
    ARGS(Event_Set, set, .event = make.event);
    OK(Event_Set, &set);
    must(tn_host_event_wait(client, make.event));
}

static void use_after_donation(void)
{
    tn_host_executable *e = load("donate");
    PJRT_Buffer *in = four(), *out;
    run(e, in, &out);
    tn_array got;
    tn_status_free(tn_host_buffer_to_array(client, in, &got));
    tn_host_buffer_destroy(client, in);
    tn_host_buffer_destroy(client, out);
    tn_host_executable_free(e);
}

static void use_after_delete(void)
{
    PJRT_Buffer *b = four();
    ARGS(Buffer_Delete, d, .buffer = b);
    OK(Buffer_Delete, &d);
    ARGS(Buffer_UnsafePointer, p, .buffer = b);
    tn_status_free(TN_PLUGIN_CALL(plugin, PJRT_Buffer_UnsafePointer, &p));
    tn_host_buffer_destroy(client, b);
}

static void host_memory_changed(void)
{
    static float data[1 << 16] __attribute__((aligned(64)));
    PJRT_Client_BufferFromHostBuffer_Args a =
        put(data, 1 << 16, PJRT_HostBufferSemantics_kImmutableZeroCopy);
    memset(data, 1, sizeof data);
    ARGS(Event_Destroy, d, .event = a.done_with_host_buffer);
    OK(Event_Destroy, &d);
    tn_host_buffer_destroy(client, a.buffer);
}

static void use_after_client(void)
{
    PJRT_Device *device = tn_host_client_device(client, 0); /* the list ends with the client */
    ARGS(Client_Destroy, d, .client = tn_host_client_handle(client));
    OK(Client_Destroy, &d);
    ARGS(Device_IsAddressable, is, .device = device);
    tn_status_free(TN_PLUGIN_CALL(plugin, PJRT_Device_IsAddressable, &is));
}

static void compile_twice(void)
{
    tn_host_executable *e = load("donate");
    tn_host_executable_free(e);
    e = load("donate");
    tn_host_executable_free(e);
    printf("compiled twice\n");
}

/* What the plugin says that it is. */
static void look(void)
{
    size_t n = 0;
#define X(name, minor) n += tn_plugin_has(plugin, offsetof(PJRT_Api, name));
    PJRT_API_SLOTS(X)
#undef X
    printf("minor %d, %zu slots\n", api->pjrt_api_version.minor_version, n);
    clean();
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"clean", clean},
    {"use-after-destroy", use_after_destroy},
    {"double-free", double_free},
    {"leak", leak},
    {"error-before-ready", error_before_ready},
    {"use-after-donation", use_after_donation},
    {"use-after-delete", use_after_delete},
    {"host-memory-changed", host_memory_changed},
    {"use-after-client", use_after_client},
    {"compile-twice", compile_twice},
    {"look", look},
};

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: scenario PLUGIN DATA NAME\n"), 2;
    data_folder = argv[2];
    must(tn_plugin_open(argv[1], &plugin));
    must(tn_host_client_create(plugin, NULL, 0, &client));
    api = tn_plugin_api(plugin);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, argv[3])) continue;
        scenarios[i].run();
        if (strcmp(argv[3], "use-after-client")) tn_host_client_destroy(client);
        tn_plugin_close(plugin);
        printf("end\n");
        return 0;
    }
    return 2;
}
