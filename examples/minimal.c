/* SPDX-License-Identifier: Apache-2.0 */
/* minimal.c - the whole way through the PJRT C API from a C program: load, compile, run, read back.
 *
 *   cc -Iinclude examples/minimal.c -o minimal -ldl
 *   ./minimal PLUGIN.so examples/axpy.mlirbc        prints a * x + y
 *
 * Works with any PJRT plugin, not only Tenon's. The program file is a StableHLO portable artifact;
 * make_program.py beside this file wrote it from a JAX function. */
#include "tenon/pjrt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const PJRT_Api *api;

/* Every argument struct starts with its size, so that plugin and program may differ in version. */
#define ARGS(call, ...)                                                                            \
    (call##_Args)                                                                                  \
    {                                                                                              \
        .struct_size = call##_Args_STRUCT_SIZE, __VA_ARGS__                                        \
    }
/* CALL(f, args): calls a slot; an error ends the program with its message. */
#define CALL(call, args) check(#call, api->call(args))

static void check(const char *what, PJRT_Error *error)
{
    if (!error) return;
    PJRT_Error_Message_Args m = ARGS(PJRT_Error_Message, .error = error);
    api->PJRT_Error_Message(&m);
    fprintf(stderr, "%s: %.*s\n", what, (int)m.message_size, m.message);
    api->PJRT_Error_Destroy(&ARGS(PJRT_Error_Destroy, .error = error));
    exit(1);
}

/* Waits for an event, reports its error, ends it. */
static void await(const char *what, PJRT_Event *event)
{
    check(what, api->PJRT_Event_Await(&ARGS(PJRT_Event_Await, .event = event)));
    CALL(PJRT_Event_Destroy, &ARGS(PJRT_Event_Destroy, .event = event));
}

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) || (long)(*size = (size_t)ftell(f)) < 0) {
        perror(path);
        exit(1);
    }
    rewind(f);
    char *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, f) != *size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return bytes;
}

static PJRT_LoadedExecutable *compile(PJRT_Client *client, const char *path)
{
    /* CompileOptionsProto in wire format: build options (field 3) with one replica and one
     * partition. */
    static const char options[] = {0x1a, 4, 0x20, 1, 0x28, 1};
    PJRT_Program program = {
        .struct_size = PJRT_Program_STRUCT_SIZE, .format = "mlir", .format_size = 4};
    program.code = read_file(path, &program.code_size);

    PJRT_Client_Compile_Args args =
        ARGS(PJRT_Client_Compile, .client = client, .program = &program, .compile_options = options,
             .compile_options_size = sizeof options);
    CALL(PJRT_Client_Compile, &args);
    free(program.code);
    return args.executable;
}

/* An f32 array of n elements, or a scalar for n = 0, on the device. */
static PJRT_Buffer *send(PJRT_Client *client, PJRT_Device *device, const float *data, int64_t n)
{
    PJRT_Client_BufferFromHostBuffer_Args args =
        ARGS(PJRT_Client_BufferFromHostBuffer, .client = client, .device = device, .data = data,
             .type = PJRT_Buffer_Type_F32, .dims = &n, .num_dims = n ? 1 : 0,
             .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    CALL(PJRT_Client_BufferFromHostBuffer, &args);
    await("sending", args.done_with_host_buffer);
    return args.buffer;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s PLUGIN.so axpy.mlirbc\n", argv[0]);
        return 2;
    }

    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const PJRT_Api *(*get_api)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    if (!get_api || !(api = get_api())) {
        fprintf(stderr, "%s is no PJRT plugin\n", argv[1]);
        return 1;
    }
    CALL(PJRT_Plugin_Initialize, &ARGS(PJRT_Plugin_Initialize, .extension_start = NULL));

    PJRT_Client_Create_Args created = ARGS(PJRT_Client_Create, .create_options = NULL);
    CALL(PJRT_Client_Create, &created);
    PJRT_Client *client = created.client;
    PJRT_Client_PlatformVersion_Args version = ARGS(PJRT_Client_PlatformVersion, .client = client);
    CALL(PJRT_Client_PlatformVersion, &version);
    printf("%.*s, PJRT %d.%d\n", (int)version.platform_version_size, version.platform_version,
           api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version);

    PJRT_Client_AddressableDevices_Args devices =
        ARGS(PJRT_Client_AddressableDevices, .client = client);
    CALL(PJRT_Client_AddressableDevices, &devices);
    PJRT_Device *device = devices.addressable_devices[0];

    PJRT_LoadedExecutable *program = compile(client, argv[2]);

    float a = 2, x[8], y[8], result[8];
    for (int i = 0; i < 8; i++) {
        x[i] = (float)i;
        y[i] = 100;
    }
    PJRT_Buffer *arguments[] = {send(client, device, &a, 0), send(client, device, x, 8),
                                send(client, device, y, 8)};

    /* One list of arguments and one of outputs for each device that the program runs on. */
    PJRT_Buffer *output = NULL, **outputs = &output;
    PJRT_Event *done = NULL;
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
    CALL(PJRT_LoadedExecutable_Execute,
         &ARGS(PJRT_LoadedExecutable_Execute, .executable = program, .options = &options,
               .argument_lists = (PJRT_Buffer *const *const[]){arguments}, .num_devices = 1,
               .num_args = 3, .output_lists = &outputs, .device_complete_events = &done));

    /* Execute returned before the work was done; what uses the output waits by itself. */
    PJRT_Buffer_ToHostBuffer_Args back =
        ARGS(PJRT_Buffer_ToHostBuffer, .src = output, .dst = result, .dst_size = sizeof result);
    CALL(PJRT_Buffer_ToHostBuffer, &back);
    await("reading back", back.event);
    await("running", done);

    int wrong = 0;
    for (int i = 0; i < 8; i++) {
        printf("%g%s", result[i], i < 7 ? " " : "\n");
        wrong += result[i] != a * x[i] + y[i];
    }

    for (int i = 0; i < 3; i++)
        CALL(PJRT_Buffer_Destroy, &ARGS(PJRT_Buffer_Destroy, .buffer = arguments[i]));
    CALL(PJRT_Buffer_Destroy, &ARGS(PJRT_Buffer_Destroy, .buffer = output));
    CALL(PJRT_LoadedExecutable_Destroy,
         &ARGS(PJRT_LoadedExecutable_Destroy, .executable = program));
    CALL(PJRT_Client_Destroy, &ARGS(PJRT_Client_Destroy, .client = client));
    return wrong != 0;
}
