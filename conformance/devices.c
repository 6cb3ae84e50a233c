/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check.h"
#include "tenon/pjrt_calls.h"

static const PJRT_NamedValue *next_value(const PJRT_NamedValue *v)
{
    size_t step = v->struct_size ? (v->struct_size + 7) & ~(size_t)7 : sizeof *v;
    return (const PJRT_NamedValue *)((const char *)v + step);
}

static void plugin_attributes(context *c)
{
    ARGS(Plugin_Attributes, a, .attributes = NULL);
    OK(Plugin_Attributes, &a);
    bool found = false;
    const PJRT_NamedValue *v = a.attributes;
    for (size_t i = 0; i < a.num_attributes; i++, v = next_value(v)) {
        CHECK(v->name && v->name_size);
        if (v->name_size == 25 && !memcmp(v->name, "stablehlo_current_version", 25)) {
            found = true;
            CHECK_EQ(v->type, PJRT_NamedValue_kInt64List);
            CHECK_EQ(v->value_size, 3);
            CHECK(v->int64_array_value[0] >= 0 && v->int64_array_value[1] >= 0);
        }
    }
    if (!found) fail(__FILE__, __LINE__, "there is no attribute stablehlo_current_version");
}

static void devices(context *c)
{
    ARGS(Client_Devices, all, .client = c->client);
    OK(Client_Devices, &all);
    CHECK(all.num_devices >= 1);
    int ids[256];
    for (size_t i = 0; i < all.num_devices && i < 256; i++) {
        ARGS(Device_GetDescription, get, .device = all.devices[i]);
        OK(Device_GetDescription, &get);
        CHECK(get.device_description);
        ARGS(DeviceDescription_Id, id, .device_description = get.device_description);
        OK(DeviceDescription_Id, &id);
        ids[i] = id.id;
        for (size_t k = 0; k < i; k++)
            if (ids[k] == id.id) fail(__FILE__, __LINE__, "two devices have the id %d", id.id);
        ARGS(DeviceDescription_Kind, kind, .device_description = get.device_description);
        OK(DeviceDescription_Kind, &kind);
        CHECK(kind.device_kind && kind.device_kind_size > 0);
        ARGS(DeviceDescription_DebugString, debug, .device_description = get.device_description);
        OK(DeviceDescription_DebugString, &debug);
        CHECK(debug.debug_string && debug.debug_string_size > 0);
        ARGS(DeviceDescription_ToString, text, .device_description = get.device_description);
        OK(DeviceDescription_ToString, &text);
        CHECK(text.to_string && text.to_string_size > 0);
    }
}

static void addressable(context *c)
{
    ARGS(Client_Devices, all, .client = c->client);
    OK(Client_Devices, &all);
    ARGS(Client_ProcessIndex, index, .client = c->client);
    OK(Client_ProcessIndex, &index);
    for (size_t i = 0; i < tn_host_client_device_count(c->host); i++) {
        PJRT_Device *d = tn_host_client_device(c->host, i);
        bool found = false;
        for (size_t k = 0; k < all.num_devices; k++) found |= all.devices[k] == d;
        CHECK(found);
        ARGS(Device_IsAddressable, is, .device = d);
        OK(Device_IsAddressable, &is);
        CHECK(is.is_addressable);
        ARGS(Device_GetDescription, get, .device = d);
        OK(Device_GetDescription, &get);
        ARGS(DeviceDescription_ProcessIndex, mine, .device_description = get.device_description);
        OK(DeviceDescription_ProcessIndex, &mine);
        CHECK_EQ(mine.process_index, index.process_index);
    }
}

static void memories(context *c)
{
    ARGS(Client_AddressableMemories, all, .client = c->client);
    OK(Client_AddressableMemories, &all);
    CHECK(all.num_addressable_memories >= 1);
    int ids[256];
    for (size_t i = 0; i < all.num_addressable_memories && i < 256; i++) {
        PJRT_Memory *m = all.addressable_memories[i];
        ARGS(Memory_Id, id, .memory = m);
        OK(Memory_Id, &id);
        ids[i] = id.id;
        for (size_t k = 0; k < i; k++)
            if (ids[k] == id.id) fail(__FILE__, __LINE__, "two memories have the id %d", id.id);
        ARGS(Memory_Kind, kind, .memory = m);
        OK(Memory_Kind, &kind);
        CHECK(kind.kind && kind.kind_size > 0);
        ARGS(Memory_DebugString, debug, .memory = m);
        OK(Memory_DebugString, &debug);
        CHECK(debug.debug_string_size > 0);
        ARGS(Memory_AddressableByDevices, by, .memory = m);
        OK(Memory_AddressableByDevices, &by);
        CHECK(by.num_devices >= 1);
    }
    for (size_t i = 0; i < tn_host_client_device_count(c->host); i++) {
        ARGS(Device_DefaultMemory, memory, .device = tn_host_client_device(c->host, i));
        OK(Device_DefaultMemory, &memory);
        ARGS(Device_AddressableMemories, of, .device = tn_host_client_device(c->host, i));
        OK(Device_AddressableMemories, &of);
        bool mine = false, clients = false;
        for (size_t k = 0; k < of.num_memories; k++) mine |= of.memories[k] == memory.memory;
        for (size_t k = 0; k < all.num_addressable_memories; k++)
            clients |= all.addressable_memories[k] == memory.memory;
        CHECK(mine);
        CHECK(clients);
    }
}

static void platform(context *c)
{
    ARGS(Client_PlatformName, name, .client = c->client);
    OK(Client_PlatformName, &name);
    CHECK(name.platform_name_size > 0);
    for (size_t i = 0; i < name.platform_name_size; i++)
        CHECK(name.platform_name[i] > ' ' && name.platform_name[i] < 127 &&
              !(name.platform_name[i] >= 'A' && name.platform_name[i] <= 'Z'));
    ARGS(Client_PlatformVersion, version, .client = c->client);
    OK(Client_PlatformVersion, &version);
    CHECK(version.platform_version && version.platform_version_size > 0);
}

static void slots(context *c)
{
    int minor = c->api->pjrt_api_version.minor_version;
    for (int i = 0; i < TN_SLOT_COUNT; i++)
        if (tn_calls[i].minor <= minor && !tn_plugin_has(c->plugin, tn_calls[i].slot))
            fail(__FILE__, __LINE__, "%s is NULL in a table of minor %d", tn_calls[i].name, minor);
}

static void device_attributes(context *c)
{
    if (!HAS(Device_GetAttributes)) skip("older than 0.92");
    ARGS(Device_GetAttributes, a, .device = c->device);
    if (!OPTIONAL(Device_GetAttributes, &a)) skip("Device_GetAttributes is not implemented");
    CHECK(a.attributes_deleter);
    const PJRT_NamedValue *v = a.attributes;
    for (size_t i = 0; i < a.num_attributes; i++, v = next_value(v)) CHECK(v->name_size > 0);
    a.attributes_deleter(a.device_attributes);
}

const check_row device_checks[] = {
    {3, "no slot of the plugin's own minor is NULL", slots},
    {100, "the plugin says which StableHLO it takes", plugin_attributes},
    {101, "every device has its own id, a kind and texts", devices},
    {102, "every memory has its own id, a kind and devices; default memories are among them",
     memories},
    {103, "addressable devices are devices of the client and of its process", addressable},
    {104, "the platform has a name in lower case and a version", platform},
    {105, "Device_GetAttributes comes with a deleter", device_attributes},
    {0}};
