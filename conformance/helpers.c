/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include "conformance/check.h"

void check_ok(context *c, const char *file, int line, tn_status *s)
{
    if (s) fail(file, line, "%s: %s", tn_code_name(tn_status_code(s)), tn_status_message(s));
}

void check_fails(context *c, const char *file, int line, tn_code code, tn_status *s)
{
    if (!s) fail(file, line, "the call succeeded, expected %s", tn_code_name(code));
    if (tn_status_code(s) != code)
        fail(file, line, "expected %s, got %s: %s", tn_code_name(code),
             tn_code_name(tn_status_code(s)), tn_status_message(s));
    if (!*tn_status_message(s)) fail(file, line, "%s comes without a message", tn_code_name(code));
    tn_status_free(s);
}

void check_error(const char *file, int line, tn_status *s, tn_code code, const char *text)
{
    if (tn_status_code(s) != code || !strstr(tn_status_message(s), text))
        fail(file, line, "expected %s with '%s', got %s: %s", tn_code_name(code), text,
             tn_code_name(tn_status_code(s)), tn_status_message(s));
    tn_status_free(s);
}

bool check_optional(context *c, const char *file, int line, tn_status *s)
{
    if (s && tn_status_code(s) != TN_UNIMPLEMENTED) check_ok(c, file, line, s);
    bool ok = !s;
    tn_status_free(s);
    return ok;
}

static tn_status *compile(context *c, const void *code, size_t size, int replicas,
                          PJRT_LoadedExecutable **out)
{
    PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                            .code = (char *)code,
                            .code_size = size,
                            .format = "mlir",
                            .format_size = 4};
    /* executable_build_options { num_replicas = replicas, num_partitions = 1 } */
    char options[] = {3 << 3 | 2, 4, 4 << 3, (char)replicas, 5 << 3, 1};
    ARGS(Client_Compile, args, .client = c->client, .program = &program, .compile_options = options,
         .compile_options_size = sizeof options);
    TN_TRY(TN_PLUGIN_CALL(c->plugin, PJRT_Client_Compile, &args));
    *out = args.executable;
    return NULL;
}

PJRT_LoadedExecutable *load(context *c, const char *name, int replicas)
{
    size_t size;
    const void *data = program_data(name, &size);
    void *code = malloc(size);
    memcpy(code, data, size);
    PJRT_LoadedExecutable *e;
    check_ok(c, __FILE__, __LINE__, compile(c, code, size, replicas, &e));
    memset(code, 0xEE, size); /* only valid during the call */
    free(code);
    return e;
}

tn_status *try_text(context *c, const char *text, PJRT_LoadedExecutable **out)
{
    return compile(c, text, strlen(text), 1, out);
}

PJRT_LoadedExecutable *load_text(context *c, const char *text)
{
    PJRT_LoadedExecutable *e;
    check_ok(c, __FILE__, __LINE__, try_text(c, text, &e));
    return e;
}

PJRT_Buffer *array(context *c, const void *data, PJRT_Buffer_Type type, const int64_t *dims,
                   size_t n)
{
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, type, dims, n, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    OK(Client_BufferFromHostBuffer, &args);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    return args.buffer;
}

tn_array read_buffer(context *c, PJRT_Buffer *b)
{
    tn_array a;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, b, &a));
    return a;
}

void end_executable(context *c, PJRT_Executable *e)
{
    ARGS(Executable_Destroy, args, .executable = e);
    OK(Executable_Destroy, &args);
}

void end_event(context *c, PJRT_Event *e)
{
    ARGS(Event_Destroy, args, .event = e);
    OK(Event_Destroy, &args);
}

bool has(context *c, size_t slot)
{
    return tn_plugin_has(c->plugin, slot);
}

size_t resident_bytes(void)
{
    /* AddressSanitizer keeps what is freed. */
    if (dlsym(RTLD_DEFAULT, "__asan_init")) return 0;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long all = 0, resident = 0;
    if (!f || fscanf(f, "%lu %lu", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

size_t count_threads(void)
{
    return count_entries("/proc/self/task");
}

size_t count_files(void)
{
    return count_entries("/proc/self/fd");
}

PJRT_Executable *executable_of(context *c, PJRT_LoadedExecutable *loaded)
{
    ARGS(LoadedExecutable_GetExecutable, args, .loaded_executable = loaded);
    OK(LoadedExecutable_GetExecutable, &args);
    CHECK(args.executable);
    return args.executable;
}

void unload(context *c, PJRT_LoadedExecutable *loaded)
{
    ARGS(LoadedExecutable_Destroy, args, .executable = loaded);
    OK(LoadedExecutable_Destroy, &args);
}

PJRT_Client_BufferFromHostBuffer_Args host_buffer(context *c, const void *data,
                                                  PJRT_Buffer_Type type, const int64_t *dims,
                                                  size_t n, PJRT_HostBufferSemantics semantics)
{
    ARGS(Client_BufferFromHostBuffer, args, .client = c->client, .data = data, .type = type,
         .dims = dims, .num_dims = n, .host_buffer_semantics = semantics, .device = c->device);
    return args;
}

static PJRT_Buffer *put(context *c, PJRT_Device *device, const void *data, PJRT_Buffer_Type type,
                        const int64_t *dims, size_t n)
{
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, type, dims, n, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    args.device = device;
    OK(Client_BufferFromHostBuffer, &args);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    return args.buffer;
}

PJRT_Buffer *floats(context *c, PJRT_Device *device, float a, float b, float d, float e)
{
    float data[] = {a, b, d, e};
    return put(c, device, data, PJRT_Buffer_Type_F32, (int64_t[]){4}, 1);
}

PJRT_Buffer *scalar_u32(context *c, PJRT_Device *device, uint32_t v)
{
    return put(c, device, &v, PJRT_Buffer_Type_U32, NULL, 0);
}

void expect_floats(context *c, PJRT_Buffer *b, float a, float d, float e, float f)
{
    tn_array got;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, b, &got));
    const float want[] = {a, d, e, f}, *x = got.data;
    CHECK_EQ(got.size, sizeof want);
    for (int i = 0; i < 4; i++)
        if (x[i] != want[i])
            fail(__FILE__, __LINE__, "element %d is %g, expected %g", i, x[i], want[i]);
    tn_array_free(&got);
}

void destroy_buffer(context *c, PJRT_Buffer *b)
{
    ARGS(Buffer_Destroy, args, .buffer = b);
    OK(Buffer_Destroy, &args);
}

void delete_buffer(context *c, PJRT_Buffer *b)
{
    ARGS(Buffer_Delete, args, .buffer = b);
    OK(Buffer_Delete, &args);
}

bool is_deleted(context *c, PJRT_Buffer *b)
{
    ARGS(Buffer_IsDeleted, args, .buffer = b);
    OK(Buffer_IsDeleted, &args);
    return args.is_deleted;
}

tn_status *await(context *c, PJRT_Event *e)
{
    return tn_host_event_wait(c->host, e);
}

PJRT_Event *ready_event(context *c, PJRT_Buffer *b)
{
    ARGS(Buffer_ReadyEvent, args, .buffer = b);
    OK(Buffer_ReadyEvent, &args);
    CHECK(args.event);
    return args.event;
}

tn_status *await_buffer(context *c, PJRT_Buffer *b)
{
    return await(c, ready_event(c, b));
}

tn_status *execute(context *c, PJRT_LoadedExecutable *e, PJRT_Buffer *const *in, size_t n,
                   PJRT_Buffer **outs, PJRT_Event **done)
{
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                   .call_location = ""};
    PJRT_Buffer *const *in_rows[] = {in};
    PJRT_Buffer **out_rows[] = {outs};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 1, .num_args = n, .output_lists = out_rows,
         .device_complete_events = done);
    return TN_PLUGIN_CALL(c->plugin, PJRT_LoadedExecutable_Execute, &args);
}

PJRT_Memory *memory_of_kind(context *c, PJRT_Device *device, const char *kind)
{
    ARGS(Device_AddressableMemories, all, .device = device);
    OK(Device_AddressableMemories, &all);
    for (size_t i = 0; i < all.num_memories; i++) {
        ARGS(Memory_Kind, k, .memory = all.memories[i]);
        OK(Memory_Kind, &k);
        if (k.kind_size == strlen(kind) && !memcmp(k.kind, kind, k.kind_size))
            return all.memories[i];
    }
    return NULL;
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
