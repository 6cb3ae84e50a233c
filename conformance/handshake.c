/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "conformance/check.h"

static void same_table(context *c)
{
    set_up(c); /* the plugin's own table, whatever layers others have in front of it */
    void *library = dlopen(tn_plugin_path(c->plugin), RTLD_NOW | RTLD_LOCAL);
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    CHECK(get && get() == c->api && get() == c->api);
}

static void version(context *c)
{
    CHECK_EQ(c->api->pjrt_api_version.major_version, 0);
    CHECK(c->api->pjrt_api_version.minor_version >= 29);
    CHECK(c->api->struct_size >=
          offsetof(PJRT_Api, PJRT_Executable_OutputDimensions) + sizeof(void *));
    if (c->api->pjrt_api_version.minor_version >= 110)
        CHECK_EQ(c->api->struct_size, PJRT_Api_STRUCT_SIZE);
}

static void larger_structs(context *c)
{
    struct {
        PJRT_Client_PlatformName_Args args;
        char beyond[256];
    } big;
    memset(&big, 0xAB, sizeof big);
    big.args = (PJRT_Client_PlatformName_Args){.struct_size = sizeof big, .client = c->client};
    OK(Client_PlatformName, &big.args);
    CHECK(big.args.platform_name_size > 0);
    for (size_t i = 0; i < sizeof big.beyond; i++) CHECK_EQ((unsigned char)big.beyond[i], 0xAB);
}

static void smaller_structs(context *c)
{
    /* A caller of API minor 75: MemoryStats of 185 bytes and ExecuteOptions of 80 or less. */
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)},
                *out = NULL;
    PJRT_ExecuteOptions options;
    memset(&options, 0xCD,
           sizeof options); /* what lies beyond the caller's size must not be read */
    memset(&options, 0, 80);
    options.struct_size = 72;
    PJRT_Buffer *const *in_rows[] = {in};
    PJRT_Buffer **out_rows[] = {&out};
    ARGS(LoadedExecutable_Execute, args, .executable = e, .options = &options,
         .argument_lists = in_rows, .num_devices = 1, .num_args = 2, .output_lists = out_rows);
    OK(LoadedExecutable_Execute, &args);
    expect_floats(c, out, 6, 8, 10, 12);
}

static void out_fields_written(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    PJRT_Buffer_Dimensions_Args dims;
    memset(&dims, 0xEE, sizeof dims);
    dims.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE;
    dims.extension_start = NULL;
    dims.buffer = b;
    OK(Buffer_Dimensions, &dims);
    CHECK_EQ(dims.num_dims, 1);
    CHECK_EQ(dims.dims[0], 4);
    PJRT_Buffer_IsDeleted_Args deleted;
    memset(&deleted, 0xEE, sizeof deleted);
    deleted.struct_size = PJRT_Buffer_IsDeleted_Args_STRUCT_SIZE;
    deleted.extension_start = NULL;
    deleted.buffer = b;
    OK(Buffer_IsDeleted, &deleted);
    CHECK(deleted.is_deleted == false);
}

static void garbage_callbacks(context *c)
{
    PJRT_Client_Create_Args args;
    memset(&args, 0x5A,
           sizeof args); /* key-value callbacks are garbage where num_nodes is not given */
    args.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
    args.extension_start = NULL;
    args.create_options = NULL;
    args.num_options = 0;
    OK(Client_Create, &args);
    ARGS(Client_Destroy, destroy, .client = args.client);
    OK(Client_Destroy, &destroy);
}

static void unknown_option(context *c)
{
    PJRT_NamedValue v = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                         .name = "no_such_option",
                         .name_size = 14,
                         .type = PJRT_NamedValue_kInt64,
                         .int64_value = 1,
                         .value_size = 1};
    ARGS(Client_Create, args, .create_options = &v, .num_options = 1);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_Create, &args);
    expect_error(s, TN_INVALID_ARGUMENT, "no_such_option");
    v.name = "cpu_device_count";
    v.name_size = 16;
    v.type = PJRT_NamedValue_kString;
    v.string_value = "two";
    v.value_size = 3;
    FAILS(INVALID_ARGUMENT, Client_Create, &args);
}

static void lifetimes(context *c)
{
    ARGS(Plugin_Attributes, a, .attributes = NULL);
    OK(Plugin_Attributes, &a);
    ARGS(Plugin_Attributes, b, .attributes = NULL);
    OK(Plugin_Attributes, &b);
    CHECK(a.attributes == b.attributes && a.num_attributes == b.num_attributes);
    ARGS(Client_PlatformName, x, .client = c->client);
    OK(Client_PlatformName, &x);
    ARGS(Client_PlatformName, y, .client = c->client);
    OK(Client_PlatformName, &y);
    CHECK(x.platform_name == y.platform_name);
    ARGS(Client_Devices, d, .client = c->client);
    OK(Client_Devices, &d);
    ARGS(Client_Devices, f, .client = c->client);
    OK(Client_Devices, &f);
    CHECK(d.devices == f.devices && d.num_devices == f.num_devices);
}

static void attribute_types(context *c)
{
    ARGS(Device_GetDescription, get, .device = c->device);
    OK(Device_GetDescription, &get);
    ARGS(DeviceDescription_Attributes, a, .device_description = get.device_description);
    OK(DeviceDescription_Attributes, &a);
    for (size_t i = 0; i < a.num_attributes; i++)
        CHECK(a.attributes[i].type == PJRT_NamedValue_kString ||
              a.attributes[i].type == PJRT_NamedValue_kInt64 ||
              a.attributes[i].type == PJRT_NamedValue_kInt64List);
}

static PJRT_Error *an_error(context *c)
{
    ARGS(Client_LookupDevice, args, .client = c->client, .id = -7);
    PJRT_Error *e = c->api->PJRT_Client_LookupDevice(&args);
    CHECK(e);
    return e;
}

static void errors(context *c)
{
    PJRT_Error *e = an_error(c);
    ARGS(Error_Message, message, .error = e);
    c->api->PJRT_Error_Message(&message);
    CHECK(message.message && message.message_size > 0);
    ARGS(Error_GetCode, code, .error = e);
    CHECK(!c->api->PJRT_Error_GetCode(&code));
    CHECK_EQ(code.code, PJRT_Error_Code_INVALID_ARGUMENT);
    ARGS(Error_Destroy, destroy, .error = e);
    c->api->PJRT_Error_Destroy(&destroy);
    destroy.error = NULL;
    c->api->PJRT_Error_Destroy(&destroy);
}

static void count_payload(const char *key, size_t key_size, const char *value, size_t value_size,
                          void *user)
{
    ++*(int *)user;
}

static void payloads(context *c)
{
    if (!tn_plugin_has(c->plugin, offsetof(PJRT_Api, PJRT_Error_ForEachPayload)))
        skip("older than 0.99");
    PJRT_Error *e = an_error(c);
    int n = 0;
    ARGS(Error_ForEachPayload, args, .error = e, .visitor = count_payload, .user_arg = &n);
    OK(Error_ForEachPayload, &args);
    CHECK_EQ(n, 0);
    args.visitor = NULL;
    FAILS(INVALID_ARGUMENT, Error_ForEachPayload, &args);
}

const check_row handshake_checks[] = {
    {1, "GetPjrtApi returns the same table each time", same_table, NULL, NULL, true},
    {2, "major version is 0, minor at least 29, and the table has the size of its minor", version},
    {4, "a larger argument struct is accepted and not written beyond the plugin's fields",
     larger_structs},
    {4, "a smaller argument struct is served and nothing beyond it is read", smaller_structs},
    {6, "every out field is written, whatever it held", out_fields_written},
    {7, "key-value callbacks are not trusted without num_nodes", garbage_callbacks},
    {9, "an unknown create option or one of the wrong type is INVALID_ARGUMENT and named",
     unknown_option},
    {10, "names, lists and attributes live with their owner", lifetimes},
    {11, "device attributes are strings, int64 or lists of them", attribute_types},
    {12, "errors have a code and a message; destroying NULL is fine", errors},
    {14, "ForEachPayload visits nothing for a plain error; a NULL visitor is INVALID_ARGUMENT",
     payloads},
    {0}};
