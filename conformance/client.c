/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "conformance/check.h"

static void default_assignment(context *c)
{
    int ids[4];
    ARGS(Client_DefaultDeviceAssignment, args, .client = c->client, .num_replicas = 2,
         .num_partitions = 1, .default_assignment_size = 4, .default_assignment = ids);
    OK(Client_DefaultDeviceAssignment, &args);
    CHECK(ids[0] != ids[1]);
    args.default_assignment_size = 1;
    FAILS(FAILED_PRECONDITION, Client_DefaultDeviceAssignment, &args);
    args.num_replicas = 0;
    FAILS(INVALID_ARGUMENT, Client_DefaultDeviceAssignment, &args);
    args.num_replicas = args.num_partitions = 65536;
    args.default_assignment_size = 4;
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Client_DefaultDeviceAssignment, &args);
    CHECK(s);
}

static void lookup(context *c)
{
    ARGS(Device_GetDescription, get, .device = c->second);
    OK(Device_GetDescription, &get);
    ARGS(DeviceDescription_Id, id, .device_description = get.device_description);
    OK(DeviceDescription_Id, &id);
    ARGS(Client_LookupDevice, args, .client = c->client, .id = id.id);
    OK(Client_LookupDevice, &args);
    CHECK(args.device == c->second);
    ARGS(Device_LocalHardwareId, local, .device = c->second);
    OK(Device_LocalHardwareId, &local);
    ARGS(Client_LookupAddressableDevice, addressable, .client = c->client,
         .local_hardware_id = local.local_hardware_id);
    OK(Client_LookupAddressableDevice, &addressable);
    CHECK(addressable.addressable_device == c->second);
    const int bad[] = {-1, 12345678};
    for (int i = 0; i < 2; i++) {
        args.id = bad[i];
        FAILS(INVALID_ARGUMENT, Client_LookupDevice, &args);
        addressable.local_hardware_id = bad[i];
        FAILS(INVALID_ARGUMENT, Client_LookupAddressableDevice, &addressable);
    }
}

static void memories(context *c)
{
    CHECK(memory_of_kind(c, c->device, "device") == c->memory);
    CHECK(memory_of_kind(c, c->device, "pinned_host"));
    ARGS(Memory_AddressableByDevices, by, .memory = c->memory);
    OK(Memory_AddressableByDevices, &by);
    bool found = false;
    for (size_t i = 0; i < by.num_devices; i++) found |= by.devices[i] == c->device;
    CHECK(found);
}

static void topology(context *c)
{
    ARGS(Client_TopologyDescription, get, .client = c->client);
    if (!OPTIONAL(Client_TopologyDescription, &get))
        skip("Client_TopologyDescription is not implemented");
    ARGS(TopologyDescription_PlatformName, name, .topology = get.topology);
    OK(TopologyDescription_PlatformName, &name);
    ARGS(Client_PlatformName, mine, .client = c->client);
    OK(Client_PlatformName, &mine);
    CHECK(name.platform_name_size == mine.platform_name_size &&
          !memcmp(name.platform_name, mine.platform_name, mine.platform_name_size));
    ARGS(TopologyDescription_GetDeviceDescriptions, devices, .topology = get.topology);
    OK(TopologyDescription_GetDeviceDescriptions, &devices);
    CHECK_EQ(devices.num_descriptions, tn_host_client_device_count(c->host));
}

static void topology_bytes(context *c)
{
    ARGS(Client_TopologyDescription, get, .client = c->client);
    if (!OPTIONAL(Client_TopologyDescription, &get))
        skip("Client_TopologyDescription is not implemented");
    ARGS(TopologyDescription_Serialize, out, .topology = get.topology);
    if (!OPTIONAL(TopologyDescription_Serialize, &out))
        skip("TopologyDescription_Serialize is not implemented");
    ARGS(TopologyDescription_Deserialize, in, .serialized_topology = out.serialized_bytes,
         .serialized_topology_size = out.serialized_bytes_size);
    if (!OPTIONAL(TopologyDescription_Deserialize, &in))
        skip("TopologyDescription_Deserialize is not implemented");
    ARGS(TopologyDescription_Fingerprint, a, .topology = get.topology);
    ARGS(TopologyDescription_Fingerprint, b, .topology = in.topology);
    if (OPTIONAL(TopologyDescription_Fingerprint, &a)) {
        OK(TopologyDescription_Fingerprint, &b);
        CHECK(a.fingerprint == b.fingerprint);
    }
    ARGS(TopologyDescription_Destroy, destroy, .topology = in.topology);
    OK(TopologyDescription_Destroy, &destroy);
    out.serialized_topology_deleter(out.serialized_topology);
}

static void foreign_topology(context *c)
{
    const char garbage[] = "\x0a\x03xyz\xff\xff\xff\xff\xff";
    ARGS(TopologyDescription_Deserialize, in, .serialized_topology = garbage,
         .serialized_topology_size = sizeof garbage - 1);
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_TopologyDescription_Deserialize, &in);
    CHECK(s);
    if (tn_status_code(s) == TN_UNIMPLEMENTED)
        skip("TopologyDescription_Deserialize is not implemented");
    CHECK_EQ(tn_status_code(s), TN_INVALID_ARGUMENT);
}

static void memory_stats(context *c)
{
    PJRT_Device_MemoryStats_Args before = {.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE,
                                           .device = c->device};
    if (!OPTIONAL(Device_MemoryStats, &before)) skip("MemoryStats is not implemented");
    CHECK(before.bytes_in_use >= 0);
    int64_t dims[] = {1 << 20};
    float *data = calloc(1 << 20, sizeof *data);
    PJRT_Client_BufferFromHostBuffer_Args put = host_buffer(
        c, data, PJRT_Buffer_Type_F32, dims, 1, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
    OK(Client_BufferFromHostBuffer, &put);
    check_ok(c, __FILE__, __LINE__, await(c, put.done_with_host_buffer));
    PJRT_Device_MemoryStats_Args after = before;
    OK(Device_MemoryStats, &after);
    CHECK(after.bytes_in_use >= before.bytes_in_use + (4 << 20));
    if (after.peak_bytes_in_use_is_set) CHECK(after.peak_bytes_in_use >= after.bytes_in_use);
    destroy_buffer(c, put.buffer);
    free(data);
}

static void process_info(context *c)
{
    if (!tn_plugin_has(c->plugin, offsetof(PJRT_Api, PJRT_Client_UpdateGlobalProcessInfo)))
        skip("older than 0.73");
    ARGS(Client_UpdateGlobalProcessInfo, args, .client = c->client, .process_infos = NULL,
         .num_process_infos = 0);
    OPTIONAL(Client_UpdateGlobalProcessInfo, &args);
}

static void *use_everything(void *user)
{
    context *c = user;
    for (int i = 0; i < 20; i++) {
        PJRT_LoadedExecutable *e = load(c, "add", 1);
        PJRT_Buffer *in[] = {floats(c, c->device, 1, 2, 3, 4), floats(c, c->device, 5, 6, 7, 8)},
                    *out;
        check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &out, NULL));
        delete_buffer(c, in[0]);
        expect_floats(c, out, 6, 8, 10, 12);
        for (int k = 0; k < 2; k++) destroy_buffer(c, in[k]);
        destroy_buffer(c, out);
        unload(c, e);
    }
    return NULL;
}

static void threads(context *c)
{
    pthread_t t[8];
    for (int i = 0; i < 8; i++) CHECK(!pthread_create(&t[i], NULL, use_everything, c));
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
}

static int ended[4];
static void end_value(void *data)
{
    ++*(int *)data;
}

static void memory_user_data(context *c)
{
    if (c->api->pjrt_api_version.minor_version < 105) skip("older than 0.105");
    const PJRT_Memory_FunctionTable *table = *(const PJRT_Memory_FunctionTable *const *)c->memory;
    if (!table) skip("the memory has no function table");
    char keys[2];
    for (int i = 0; i < 2; i++) {
        CHECK(!table->get_user_data(c->memory, &keys[i]));
        table->set_user_data(c->memory, &keys[i], &ended[i], end_value);
    }
    for (int i = 0; i < 2; i++) CHECK(table->get_user_data(c->memory, &keys[i]) == &ended[i]);
    table->set_user_data(c->memory, &keys[0], &ended[2], end_value);
    CHECK_EQ(ended[0], 1);
    CHECK(table->get_user_data(c->memory, &keys[0]) == &ended[2]);
    tn_host_client_destroy(c->host);
    c->host = NULL;
    CHECK_EQ(ended[0], 1);
    CHECK_EQ(ended[1], 1);
    CHECK_EQ(ended[2], 1);
}

static void error_table(context *c)
{
    if (c->api->pjrt_api_version.minor_version < 107) skip("older than 0.107");
    ARGS(Client_LookupDevice, args, .client = c->client, .id = -7);
    PJRT_Error *e = c->api->PJRT_Client_LookupDevice(&args);
    CHECK(e);
    const PJRT_Error_FunctionTable *table = *(const PJRT_Error_FunctionTable *const *)e;
    if (!table) skip("the error has no function table");
    CHECK(table->struct_size >= PJRT_STRUCT_SIZE(PJRT_Error_FunctionTable, get_code));
    table->destroy(e);
}

const check_row client_checks[] = {
    {74, "DefaultDeviceAssignment refuses bad counts and too little room", default_assignment},
    {75, "LookupDevice finds devices and refuses unknown ids", lookup},
    {41, "a device has its memories, and they know it", memories},
    {76, "the topology agrees with the client", topology},
    {76, "a topology survives serialization with its fingerprint", topology_bytes},
    {77, "memory statistics follow allocation", memory_stats},
    {79, "UpdateGlobalProcessInfo may come at any time", process_info},
    {80, "entry points work from eight threads at once", threads},
    {81, "user data of a memory: several keys, replaced and ended once each", memory_user_data},
    {82, "an error has a function table that ends it", error_table},
    {83, "a foreign topology is INVALID_ARGUMENT", foreign_topology},
    {0}};
