/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"

const char tn_cli_info_help[] = "usage: tenon info PLUGIN [--json] [--option name=value ...]\n"
                                "Prints the plugin's API version, attributes, extensions and "
                                "missing slots, and the client's devices and memories.\n"
                                "The options are given to PJRT_Client_Create. A plugin whose "
                                "client can't be made still gets its first part.\n";

const char *tn_cli_extension_name(PJRT_Extension_Type type)
{
    static const char *const names[] = {"Gpu_Custom_Call",
                                        "Profiler",
                                        "Custom_Partitioner",
                                        "Stream",
                                        "Layouts",
                                        "FFI",
                                        "MemoryDescriptions",
                                        "Triton",
                                        "RawBuffer",
                                        "PhaseCompile",
                                        "Example",
                                        "Unknown",
                                        "CrossHostTransfers",
                                        "ExecutableMetadata",
                                        "Callback",
                                        "HostAllocator",
                                        "TpuTopology",
                                        "TpuExecutable",
                                        "Megascale",
                                        "Shardings",
                                        "AbiVersion",
                                        "Collectives",
                                        "MultiSlice",
                                        "HostMemoryAllocator",
                                        "XlaTransform",
                                        "ExecuteChain"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "?";
}

static void print_value(const PJRT_NamedValue *v)
{
    printf("  %.*s = ", (int)v->name_size, v->name);
    switch (v->type) {
    case PJRT_NamedValue_kString: printf("\"%.*s\"\n", (int)v->value_size, v->string_value); return;
    case PJRT_NamedValue_kInt64: printf("%lld\n", (long long)v->int64_value); return;
    case PJRT_NamedValue_kFloat: printf("%g\n", (double)v->float_value); return;
    case PJRT_NamedValue_kBool: puts(v->bool_value ? "true" : "false"); return;
    case PJRT_NamedValue_kInt64List:
        for (size_t i = 0; i < v->value_size; i++)
            printf("%s%lld", i ? ", " : "[", (long long)v->int64_array_value[i]);
        puts(v->value_size ? "]" : "[]");
        return;
    }
    puts("?");
}

/* Plugins built with another header lay NamedValues out at their own size. */
static void print_values(const PJRT_NamedValue *values, size_t n)
{
    const char *at = (const char *)values;
    for (size_t i = 0; i < n; i++) {
        const PJRT_NamedValue *v = (const PJRT_NamedValue *)at;
        print_value(v);
        at += v->struct_size ? v->struct_size : sizeof *v;
    }
}

static void print_slots(const tn_plugin *p)
{
    size_t missing = 0, total = 0;
#define X(name, minor)                                                                             \
    total++;                                                                                       \
    if (!tn_plugin_has(p, offsetof(PJRT_Api, name)))                                               \
        printf("%s%s", missing++ ? ", " : "missing slots: ", #name);
    PJRT_API_SLOTS(X)
#undef X
    if (missing) printf(" (%zu of %zu)\n", missing, total);
    else printf("missing slots: none of %zu\n", total);
}

static tn_status *print_plugin(tn_plugin *p)
{
    const PJRT_Api *api = tn_plugin_api(p);
    printf("plugin: %s\nPJRT API: %d.%d, table of %zu bytes\n", tn_plugin_path(p),
           api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version,
           api->struct_size);
    print_slots(p);
    printf("extensions:");
    for (const PJRT_Extension_Base *e = api->extension_start; e; e = e->next)
        printf(" %s(%d, %zu bytes)", tn_cli_extension_name(e->type), (int)e->type, e->struct_size);
    puts(api->extension_start ? "" : " none");
    PJRT_Plugin_Attributes_Args args = {.struct_size = PJRT_Plugin_Attributes_Args_STRUCT_SIZE};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Plugin_Attributes, &args));
    puts("attributes:");
    print_values(args.attributes, args.num_attributes);
    return NULL;
}

static tn_status *print_memories(tn_plugin *p, PJRT_Device *device)
{
    PJRT_Device_AddressableMemories_Args all = {
        .struct_size = PJRT_Device_AddressableMemories_Args_STRUCT_SIZE, .device = device};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Device_AddressableMemories, &all));
    for (size_t i = 0; i < all.num_memories; i++) {
        PJRT_Memory_Kind_Args kind = {.struct_size = PJRT_Memory_Kind_Args_STRUCT_SIZE,
                                      .memory = all.memories[i]};
        TN_TRY(TN_PLUGIN_CALL(p, PJRT_Memory_Kind, &kind));
        printf("%s%.*s", i ? ", " : "  memories: ", (int)kind.kind_size, kind.kind);
    }
    PJRT_Device_MemoryStats_Args stats = {.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE,
                                          .device = device};
    tn_status *s = TN_PLUGIN_CALL(p, PJRT_Device_MemoryStats, &stats);
    if (!s) printf("; %lld bytes in use", (long long)stats.bytes_in_use);
    tn_status_free(s);
    puts("");
    return NULL;
}

static tn_status *print_device(tn_plugin *p, PJRT_Device *device)
{
    PJRT_Device_GetDescription_Args get = {
        .struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE, .device = device};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Device_GetDescription, &get));
    PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE,
                                         .device_description = get.device_description};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_DeviceDescription_Id, &id));
    PJRT_DeviceDescription_Kind_Args kind = {.struct_size =
                                                 PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE,
                                             .device_description = get.device_description};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_DeviceDescription_Kind, &kind));
    PJRT_DeviceDescription_DebugString_Args text = {
        .struct_size = PJRT_DeviceDescription_DebugString_Args_STRUCT_SIZE,
        .device_description = get.device_description};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_DeviceDescription_DebugString, &text));
    printf("device %d: %.*s (%.*s)\n", id.id, (int)kind.device_kind_size, kind.device_kind,
           (int)text.debug_string_size, text.debug_string);
    return print_memories(p, device);
}

static tn_status *print_client(tn_plugin *p, tn_host_client *c)
{
    PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                          .client = tn_host_client_handle(c)};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Client_PlatformName, &name));
    PJRT_Client_PlatformVersion_Args version = {.struct_size =
                                                    PJRT_Client_PlatformVersion_Args_STRUCT_SIZE,
                                                .client = tn_host_client_handle(c)};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Client_PlatformVersion, &version));
    printf("platform: %.*s, %.*s\n", (int)name.platform_name_size, name.platform_name,
           (int)version.platform_version_size, version.platform_version);
    for (size_t i = 0; i < tn_host_client_device_count(c); i++)
        TN_TRY(print_device(p, tn_host_client_device(c, i)));
    return NULL;
}

int tn_cli_info(int argc, char **argv, tn_status **error)
{
    tn_cli_client options = {0};
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (tn_cli_take_option(&options, argc, argv, &i)) continue;
        if (!strcmp(argv[i], "--json")) {
            json = true;
            continue;
        }
        *error =
            TN_ERROR(INVALID_ARGUMENT, "'%s' is not understood; see tenon info --help", argv[i]);
        return 2;
    }
    tn_plugin *p = NULL;
    tn_host_client *c = NULL;
    *error = tn_plugin_open(argv[0], &p);
    if (!*error && json) {
        *error = tn_cli_info_json(p, &options);
        tn_plugin_close(p);
        return 0;
    }
    if (!*error) *error = print_plugin(p);
    if (!*error) *error = tn_host_client_create(p, options.options, options.n_options, &c);
    if (!*error) *error = print_client(p, c);
    tn_host_client_destroy(c);
    tn_plugin_close(p);
    return 0;
}
