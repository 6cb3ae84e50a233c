/* SPDX-License-Identifier: Apache-2.0 */
/* `tenon info --json`: one object, for programs. */
#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"

static void string(const char *text, size_t n)
{
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < 32 || c > 126) printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

static void value(const PJRT_NamedValue *v)
{
    switch (v->type) {
    case PJRT_NamedValue_kString: string(v->string_value, v->value_size); return;
    case PJRT_NamedValue_kInt64: printf("%lld", (long long)v->int64_value); return;
    case PJRT_NamedValue_kFloat: printf("%.9g", (double)v->float_value); return;
    case PJRT_NamedValue_kBool: printf(v->bool_value ? "true" : "false"); return;
    case PJRT_NamedValue_kInt64List:
        for (size_t i = 0; i < v->value_size; i++)
            printf("%s%lld", i ? ", " : "[", (long long)v->int64_array_value[i]);
        printf(v->value_size ? "]" : "[]");
        return;
    }
    printf("null");
}

static void values(const char *name, const PJRT_NamedValue *first, size_t n)
{
    const char *at = (const char *)first;
    printf(",\n\"%s\": {", name);
    for (size_t i = 0; i < n; i++) {
        const PJRT_NamedValue *v = (const PJRT_NamedValue *)at;
        if (i) printf(", ");
        string(v->name, v->name_size);
        printf(": ");
        value(v);
        at += v->struct_size ? (v->struct_size + 7) & ~(size_t)7 : sizeof *v;
    }
    printf("}");
}

static tn_status *plugin(tn_plugin *p)
{
    const PJRT_Api *api = tn_plugin_api(p);
    printf("{\"plugin\": ");
    string(tn_plugin_path(p), strlen(tn_plugin_path(p)));
    printf(",\n\"api\": {\"major\": %d, \"minor\": %d, \"bytes\": %zu},\n\"missing\": [",
           api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version,
           api->struct_size);
    size_t missing = 0;
#define X(name, minor)                                                                             \
    if (!tn_plugin_has(p, offsetof(PJRT_Api, name)))                                               \
        printf("%s\"%s\"", missing++ ? ", " : "", #name);
    PJRT_API_SLOTS(X)
#undef X
    printf("],\n\"extensions\": [");
    for (const PJRT_Extension_Base *e = api->extension_start; e; e = e->next)
        printf("%s{\"type\": %d, \"name\": \"%s\", \"bytes\": %zu}",
               e == api->extension_start ? "" : ", ", (int)e->type, tn_cli_extension_name(e->type),
               e->struct_size);
    printf("]");
    PJRT_Plugin_Attributes_Args args = {.struct_size = PJRT_Plugin_Attributes_Args_STRUCT_SIZE};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Plugin_Attributes, &args));
    values("attributes", args.attributes, args.num_attributes);
    return NULL;
}

static tn_status *device(tn_plugin *p, PJRT_Device *d)
{
    PJRT_Device_GetDescription_Args get = {
        .struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE, .device = d};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Device_GetDescription, &get));
    PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE,
                                         .device_description = get.device_description};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_DeviceDescription_Id, &id));
    PJRT_DeviceDescription_Kind_Args kind = {.struct_size =
                                                 PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE,
                                             .device_description = get.device_description};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_DeviceDescription_Kind, &kind));
    printf("{\"id\": %d, \"kind\": ", id.id);
    string(kind.device_kind, kind.device_kind_size);
    printf(", \"memories\": [");
    PJRT_Device_AddressableMemories_Args all = {
        .struct_size = PJRT_Device_AddressableMemories_Args_STRUCT_SIZE, .device = d};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Device_AddressableMemories, &all));
    for (size_t i = 0; i < all.num_memories; i++) {
        PJRT_Memory_Kind_Args k = {.struct_size = PJRT_Memory_Kind_Args_STRUCT_SIZE,
                                   .memory = all.memories[i]};
        TN_TRY(TN_PLUGIN_CALL(p, PJRT_Memory_Kind, &k));
        if (i) printf(", ");
        string(k.kind, k.kind_size);
    }
    printf("]");
    PJRT_Device_MemoryStats_Args stats = {.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE,
                                          .device = d};
    tn_status *s = TN_PLUGIN_CALL(p, PJRT_Device_MemoryStats, &stats);
    if (!s) printf(", \"bytes_in_use\": %lld", (long long)stats.bytes_in_use);
    tn_status_free(s);
    printf("}");
    return NULL;
}

static tn_status *client(tn_plugin *p, tn_host_client *c)
{
    PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                          .client = tn_host_client_handle(c)};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Client_PlatformName, &name));
    PJRT_Client_PlatformVersion_Args version = {.struct_size =
                                                    PJRT_Client_PlatformVersion_Args_STRUCT_SIZE,
                                                .client = tn_host_client_handle(c)};
    TN_TRY(TN_PLUGIN_CALL(p, PJRT_Client_PlatformVersion, &version));
    printf(",\n\"platform\": {\"name\": ");
    string(name.platform_name, name.platform_name_size);
    printf(", \"version\": ");
    string(version.platform_version, version.platform_version_size);
    printf("},\n\"devices\": [");
    for (size_t i = 0; i < tn_host_client_device_count(c); i++) {
        if (i) printf(", ");
        TN_TRY(device(p, tn_host_client_device(c, i)));
    }
    printf("]");
    return NULL;
}

/* What could not be asked is left out, and said under "error". */
tn_status *tn_cli_info_json(tn_plugin *p, const tn_cli_client *options)
{
    tn_host_client *c = NULL;
    tn_status *s = plugin(p);
    if (!s) s = tn_host_client_create(p, options->options, options->n_options, &c);
    if (!s) s = client(p, c);
    if (s) {
        printf(",\n\"error\": ");
        string(tn_status_message(s), strlen(tn_status_message(s)));
    }
    printf("}\n");
    tn_host_client_destroy(c);
    return s;
}
