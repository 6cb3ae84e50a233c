/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/internal.h"

struct tn_host_executable {
    tn_host_client *client;
    PJRT_LoadedExecutable *executable;
    size_t n_devices, n_outputs;
    PJRT_Device *const *devices; /* the executable's */
};

/* CompileOptionsProto { 3: executable_build_options { 1: device_ordinal = -1, 4: num_replicas, 5:
 * num_partitions } } */
static size_t put_varint(unsigned char *at, uint64_t v)
{
    size_t n = 0;
    for (; v > 127; v >>= 7) at[n++] = (unsigned char)(v | 128);
    at[n++] = (unsigned char)v;
    return n;
}

static size_t encode_options(unsigned char out[64], int replicas, int partitions)
{
    unsigned char inner[48];
    size_t n = 0;
    inner[n++] = 1 << 3;
    n += put_varint(inner + n, UINT64_MAX); /* -1 */
    inner[n++] = 4 << 3;
    n += put_varint(inner + n, (uint64_t)replicas);
    inner[n++] = 5 << 3;
    n += put_varint(inner + n, (uint64_t)partitions);
    inner[n++] = 6 << 3;
    inner[n++] = partitions > 1;
    out[0] = 3 << 3 | 2;
    out[1] = (unsigned char)n;
    memcpy(out + 2, inner, n);
    return n + 2;
}

static tn_status *compile(tn_host_executable *p, const void *code, size_t size, const char *format,
                          int replicas, int partitions)
{
    tn_plugin *plugin = p->client->plugin;
    unsigned char options[64];
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)code,
                            .code_size = size,
                            .format = format,
                            .format_size = strlen(format)};
    PJRT_Client_Compile_Args args = {.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE,
                                     .client = p->client->client,
                                     .program = &program,
                                     .compile_options = (const char *)options,
                                     .compile_options_size =
                                         encode_options(options, replicas, partitions)};
    TN_TRY(TN_PLUGIN_CALL(plugin, PJRT_Client_Compile, &args));
    p->executable = args.executable;
    PJRT_LoadedExecutable_AddressableDevices_Args devices = {
        .struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE,
        .executable = p->executable};
    TN_TRY(TN_PLUGIN_CALL(plugin, PJRT_LoadedExecutable_AddressableDevices, &devices));
    p->devices = devices.addressable_devices;
    p->n_devices = devices.num_addressable_devices;
    PJRT_LoadedExecutable_GetExecutable_Args get = {
        .struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
        .loaded_executable = p->executable};
    TN_TRY(TN_PLUGIN_CALL(plugin, PJRT_LoadedExecutable_GetExecutable, &get));
    PJRT_Executable_NumOutputs_Args outputs = {
        .struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE, .executable = get.executable};
    tn_status *s = TN_PLUGIN_CALL(plugin, PJRT_Executable_NumOutputs, &outputs);
    p->n_outputs = s ? 0 : outputs.num_outputs;
    PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                            .executable = get.executable};
    tn_status *d = TN_PLUGIN_CALL(plugin, PJRT_Executable_Destroy, &destroy);
    if (!s) return d;
    tn_status_free(d);
    return s;
}

tn_status *tn_host_executable_compile(tn_host_client *c, const void *code, size_t size,
                                      const char *format, int replicas, int partitions,
                                      tn_host_executable **out)
{
    tn_host_executable *p = calloc(1, sizeof *p);
    if (!p) return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    p->client = c;
    tn_status *s = compile(p, code, size, format, replicas, partitions);
    if (s) tn_host_executable_free(p);
    else *out = p;
    return s;
}

void tn_host_executable_free(tn_host_executable *p)
{
    if (!p) return;
    if (p->executable) {
        PJRT_LoadedExecutable_Destroy_Args args = {
            .struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE,
            .executable = p->executable};
        tn_status_free(TN_PLUGIN_CALL(p->client->plugin, PJRT_LoadedExecutable_Destroy, &args));
    }
    free(p);
}

size_t tn_host_executable_output_count(const tn_host_executable *p)
{
    return p->n_outputs;
}
size_t tn_host_executable_device_count(const tn_host_executable *p)
{
    return p->n_devices;
}
PJRT_LoadedExecutable *tn_host_executable_handle(const tn_host_executable *p)
{
    return p->executable;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The lists that one launch needs: [device] rows of buffers in one block each. */
typedef struct {
    size_t n_devices, n_in, n_out;
    PJRT_Buffer **in, **out;
    PJRT_Buffer *const **in_rows;
    PJRT_Buffer ***out_rows;
    PJRT_Event **events;
} launch;

static void end_launch(tn_host_client *c, launch *l)
{
    for (size_t i = 0; l->in && i < l->n_devices * l->n_in; i++)
        tn_host_buffer_destroy(c, l->in[i]);
    for (size_t i = 0; l->out && i < l->n_devices * l->n_out; i++)
        tn_host_buffer_destroy(c, l->out[i]);
    free(l->in);
    free(l->out);
    free(l->in_rows);
    free(l->out_rows);
    free(l->events);
}

static tn_status *prepare(tn_host_executable *p, const tn_array *inputs, size_t n_inputs, launch *l)
{
    *l = (launch){.n_devices = p->n_devices, .n_in = n_inputs, .n_out = p->n_outputs};
    l->in = calloc(l->n_devices * l->n_in + 1, sizeof *l->in);
    l->out = calloc(l->n_devices * l->n_out + 1, sizeof *l->out);
    l->in_rows = calloc(l->n_devices + 1, sizeof *l->in_rows);
    l->out_rows = calloc(l->n_devices + 1, sizeof *l->out_rows);
    l->events = calloc(l->n_devices + 1, sizeof *l->events);
    if (!l->in || !l->out || !l->in_rows || !l->out_rows || !l->events)
        return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    for (size_t d = 0; d < l->n_devices; d++) {
        l->in_rows[d] = l->in + d * l->n_in;
        l->out_rows[d] = l->out + d * l->n_out;
        for (size_t i = 0; i < n_inputs; i++) {
            size_t k = d * n_inputs + i;
            TN_ANNOTATE(tn_host_buffer_from_array(p->client, p->devices[d], &inputs[k], &l->in[k]),
                        "input %zu", i);
        }
    }
    return NULL;
}

static tn_status *launch_and_wait(tn_host_executable *p, launch *l, uint64_t *ns)
{
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_LoadedExecutable_Execute_Args args = {
        .struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
        .executable = p->executable,
        .options = &options,
        .argument_lists = (PJRT_Buffer *const *const *)l->in_rows,
        .num_devices = l->n_devices,
        .num_args = l->n_in,
        .output_lists = (PJRT_Buffer * *const *)l->out_rows,
        .device_complete_events = l->events};
    uint64_t start = now();
    TN_TRY(TN_PLUGIN_CALL(p->client->plugin, PJRT_LoadedExecutable_Execute, &args));
    tn_status *first = NULL;
    for (size_t d = 0; d < l->n_devices; d++) {
        tn_status *s = tn_host_event_wait(p->client, l->events[d]);
        if (first) tn_status_free(s);
        else first = s;
    }
    if (ns) *ns = now() - start;
    return first;
}

tn_status *tn_host_executable_run(tn_host_executable *p, const tn_array *inputs, size_t n_inputs,
                                  tn_array *outputs, uint64_t *ns)
{
    launch l;
    tn_status *s = prepare(p, inputs, n_inputs, &l);
    if (!s) s = launch_and_wait(p, &l, ns);
    size_t n = l.n_devices * l.n_out, done = 0;
    for (; done < n && !s; done++) {
        s = tn_host_buffer_to_array(p->client, l.out[done], &outputs[done]);
        if (s) break;
    }
    if (s)
        while (done) tn_array_free(&outputs[--done]);
    end_launch(p->client, &l);
    return s;
}
