/* SPDX-License-Identifier: Apache-2.0 */
/* sweep PLUGIN DATA - plays callers built at several minors of the API.
 *
 * Each goes through every call that its minor has, from the client over transfers, programs and
 * events to their ends, with args of the sizes of its time. They stand at the end of a page, before
 * one that nobody may touch, so that a plugin that reads or writes a field that the caller does not
 * have dies; bytes between the end of a struct and the page's end must stay as they were. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenon/pjrt.h"

static const PJRT_Api *api;
static int minor; /* of the caller that is played */
static const char *data;

enum {
#define X(name, since) SLOT_##name,
    PJRT_API_SLOTS(X)
#undef X
        SLOTS
};
static const struct {
    const char *name;
    int since;
} slots[] = {
#define X(name, since) {#name, since},
    PJRT_API_SLOTS(X)
#undef X
};
static bool called[SLOTS];

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: minor %d: ", __FILE__, __LINE__, minor);                           \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        exit(1);                                                                                   \
    } while (0)
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) FAIL("%s", #condition);                                                  \
    } while (0)

/* ---- Sizes of the time ---- */

static size_t size_at(const char *type, size_t ours)
{
    static const struct {
        const char *type;
        int since;
        size_t size;
    } rows[] = {
#define GREW(type, since, last) {#type, since, PJRT_STRUCT_SIZE(type, last)},
#include "test/abi/growth.def"
    };
    size_t size = ours;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].type, type) && rows[i].since <= minor) size = rows[i].size;
    return size;
}

/* ---- Calls ---- */

enum { ROOM = 7 }; /* guard bytes at most: structs are aligned to 8 */

static char *pages[2]; /* for args, and for a struct inside of them */
static size_t page_size;

static void map_pages(void)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < 2; i++) {
        pages[i] =
            mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(pages[i] != MAP_FAILED);
        CHECK(!mprotect(pages[i] + page_size, page_size, PROT_NONE));
    }
}

/* Puts a struct of `size` bytes at the end of a page. */
static void *place(size_t page, const void *from, size_t size)
{
    size_t room = (size + ROOM) / 8 * 8;
    char *to = pages[page] + page_size - room;
    memset(to, 0xa5, room);
    memcpy(to, from, size);
    memcpy(to, &size, sizeof size);
    return to;
}

static void check_guard(const void *at, size_t size, const char *what)
{
    const unsigned char *bytes = at;
    for (size_t i = size; i < (size + ROOM) / 8 * 8; i++)
        if (bytes[i] != 0xa5) FAIL("%s: byte %zu behind %zu was written", what, i - size, size);
}

/* Every call of the table under one type. With void, what comes back is no error. */
#define CALL_error(name)   return api->name(args);
#define CALL_nothing(name) return api->name(args), NULL;
#define IN(returns, implemented, name, ...)                                                        \
    static PJRT_Error *call_PJRT_##name(void *args)                                                \
    {                                                                                              \
        CALL_##returns(PJRT_##name)                                                                \
    }
#define OUT(returns, implemented, name, ...) IN(returns, implemented, name, )
#include "src/pjrt/slots.def"

static PJRT_Error *run(int slot, PJRT_Error *(*fn)(void *), void *args, size_t ours)
{
    char type[128];
    snprintf(type, sizeof type, "%s_Args", slots[slot].name);
    const size_t size = size_at(type, ours);
    if (slots[slot].since > minor) FAIL("%s is not of this minor", slots[slot].name);
    void *at = place(0, args, size);
    PJRT_Error *e = fn(at);
    check_guard(at, size, type);
    CHECK(*(size_t *)at == size);
    memcpy(args, at, size);
    called[slot] = true;
    return e;
}

#define ARGS(name, var, ...) PJRT_##name##_Args var = {.struct_size = sizeof var, __VA_ARGS__}
#define RUN(name, var)       run(SLOT_PJRT_##name, call_PJRT_##name, &var, PJRT_##name##_Args_STRUCT_SIZE)
#define OK(name, var)        check_ok(__LINE__, "PJRT_" #name, RUN(name, var))
#define HAS(name)            (slots[SLOT_PJRT_##name].since <= minor)

static void end_error(PJRT_Error *e)
{
    ARGS(Error_Destroy, d, .error = e);
    CHECK(!RUN(Error_Destroy, d));
}

static PJRT_Error_Message_Args message_of(PJRT_Error *e)
{
    ARGS(Error_Message, m, .error = e);
    CHECK(!RUN(Error_Message, m));
    return m;
}

static void check_ok(int line, const char *what, PJRT_Error *e)
{
    if (!e) return;
    PJRT_Error_Message_Args m = message_of(e);
    FAIL("line %d: %s: %.*s", line, what, (int)m.message_size, m.message);
}

static size_t payloads_seen;

static void count_payload(const char *key, size_t key_size, const char *value, size_t value_size,
                          void *user_arg)
{
    payloads_seen++;
}

/* Ends the error, which must have this code and a message. */
static void expect(PJRT_Error *e, PJRT_Error_Code code, const char *part)
{
    CHECK(e);
    PJRT_Error_Message_Args m = message_of(e);
    if (!memmem(m.message, m.message_size, part, strlen(part)))
        FAIL("no \"%s\" in \"%.*s\"", part, (int)m.message_size, m.message);
    ARGS(Error_GetCode, c, .error = e);
    OK(Error_GetCode, c);
    CHECK(c.code == code);
    if (HAS(Error_ForEachPayload)) {
        ARGS(Error_ForEachPayload, p, .error = e, .visitor = count_payload);
        OK(Error_ForEachPayload, p);
    }
    end_error(e);
}

/* ---- Plugin, client, devices ---- */

static PJRT_Client *client;
static PJRT_Device *device, *second;
static PJRT_Memory *memory;

static bool is(const char *text, size_t size, const char *want)
{
    return size == strlen(want) && !memcmp(text, want, size);
}

static void open_client(void)
{
    ARGS(Plugin_Initialize, i, 0);
    OK(Plugin_Initialize, i);
    ARGS(Plugin_Attributes, a, 0);
    OK(Plugin_Attributes, a);
    CHECK(a.num_attributes >= 3 &&
          is(a.attributes[0].name, a.attributes[0].name_size, "xla_version"));

    PJRT_NamedValue count = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = "cpu_device_count",
                             .name_size = 16,
                             .type = PJRT_NamedValue_kInt64,
                             .int64_value = 2,
                             .value_size = 1};
    void *garbage = (void *)(uintptr_t)0x5a5a5a5a5a5a5a5a;
    ARGS(Client_Create, c, .create_options = &count, .num_options = 1, .kv_get_user_arg = garbage,
         .kv_put_user_arg = garbage, .kv_try_get_user_arg = garbage);
    memcpy(&c.kv_get_callback, &garbage, sizeof garbage);
    memcpy(&c.kv_put_callback, &garbage, sizeof garbage);
    memcpy(&c.kv_try_get_callback, &garbage, sizeof garbage);
    OK(Client_Create, c);
    client = c.client;
}

static void ask_client(void)
{
    ARGS(Client_PlatformName, name, .client = client);
    OK(Client_PlatformName, name);
    CHECK(name.platform_name_size > 0);
    ARGS(Client_PlatformVersion, version, .client = client);
    OK(Client_PlatformVersion, version);
    CHECK(memmem(version.platform_version, version.platform_version_size, "tenon", 5));
    ARGS(Client_ProcessIndex, process, .client = client, .process_index = 7);
    OK(Client_ProcessIndex, process);
    CHECK(process.process_index == 0);

    ARGS(Client_Devices, devices, .client = client);
    OK(Client_Devices, devices);
    CHECK(devices.num_devices == 2);
    device = devices.devices[0];
    second = devices.devices[1];
    ARGS(Client_AddressableDevices, mine, .client = client);
    OK(Client_AddressableDevices, mine);
    CHECK(mine.num_addressable_devices == 2 && mine.addressable_devices[1] == second);
    ARGS(Client_LookupDevice, by_id, .client = client, .id = 1);
    OK(Client_LookupDevice, by_id);
    CHECK(by_id.device == second);
    ARGS(Client_LookupAddressableDevice, local, .client = client, .local_hardware_id = 1);
    OK(Client_LookupAddressableDevice, local);
    CHECK(local.addressable_device == second);
    by_id.id = 77;
    expect(RUN(Client_LookupDevice, by_id), PJRT_Error_Code_INVALID_ARGUMENT, "77");

    ARGS(Client_AddressableMemories, memories, .client = client);
    OK(Client_AddressableMemories, memories);
    CHECK(memories.num_addressable_memories == 6);
    int places[2] = {9, 9};
    ARGS(Client_DefaultDeviceAssignment, assignment, .client = client, .num_replicas = 2,
         .num_partitions = 1, .default_assignment_size = 2, .default_assignment = places);
    OK(Client_DefaultDeviceAssignment, assignment);
    CHECK(places[0] == 0 && places[1] == 1);

    if (HAS(Client_DmaMap)) {
        char block[64];
        ARGS(Client_DmaMap, map, .client = client, .data = block, .size = sizeof block);
        OK(Client_DmaMap, map);
        ARGS(Client_DmaUnmap, unmap, .client = client, .data = block);
        OK(Client_DmaUnmap, unmap);
    }
    if (HAS(Client_UpdateGlobalProcessInfo)) {
        ARGS(Client_UpdateGlobalProcessInfo, info, .client = client);
        OK(Client_UpdateGlobalProcessInfo, info);
    }
}

static void ask_description(PJRT_DeviceDescription *d, int want)
{
    ARGS(DeviceDescription_Id, id, .device_description = d);
    OK(DeviceDescription_Id, id);
    CHECK(id.id == want);
    ARGS(DeviceDescription_ProcessIndex, process, .device_description = d, .process_index = 3);
    OK(DeviceDescription_ProcessIndex, process);
    CHECK(process.process_index == 0);
    ARGS(DeviceDescription_Attributes, attributes, .device_description = d);
    OK(DeviceDescription_Attributes, attributes);
    ARGS(DeviceDescription_Kind, kind, .device_description = d);
    OK(DeviceDescription_Kind, kind);
    CHECK(kind.device_kind_size > 0);
    ARGS(DeviceDescription_DebugString, debug, .device_description = d);
    OK(DeviceDescription_DebugString, debug);
    ARGS(DeviceDescription_ToString, text, .device_description = d);
    OK(DeviceDescription_ToString, text);
    CHECK(memmem(text.to_string, text.to_string_size, "(id=", 4));
}

static void ask_device(void)
{
    ARGS(Device_GetDescription, description, .device = second);
    OK(Device_GetDescription, description);
    ask_description(description.device_description, 1);
    ARGS(Device_IsAddressable, addressable, .device = second);
    OK(Device_IsAddressable, addressable);
    CHECK(addressable.is_addressable);
    ARGS(Device_LocalHardwareId, local, .device = second);
    OK(Device_LocalHardwareId, local);
    CHECK(local.local_hardware_id == 1);
    ARGS(Device_AddressableMemories, memories, .device = device);
    OK(Device_AddressableMemories, memories);
    CHECK(memories.num_memories == 3);
    ARGS(Device_DefaultMemory, main_memory, .device = device);
    OK(Device_DefaultMemory, main_memory);
    memory = main_memory.memory;
    CHECK(memory == memories.memories[0]);

    ARGS(Memory_Id, id, .memory = memories.memories[1], .id = -1);
    OK(Memory_Id, id);
    CHECK(id.id == 1);
    ARGS(Memory_Kind, kind, .memory = memories.memories[1]);
    OK(Memory_Kind, kind);
    CHECK(is(kind.kind, kind.kind_size, "pinned_host"));
    ARGS(Memory_Kind_Id, kind_id, .memory = memories.memories[1]);
    OK(Memory_Kind_Id, kind_id);
    CHECK(kind_id.kind_id == 1);
    ARGS(Memory_DebugString, debug, .memory = memory);
    OK(Memory_DebugString, debug);
    ARGS(Memory_ToString, text, .memory = memory);
    OK(Memory_ToString, text);
    CHECK(debug.debug_string_size > 0 && text.to_string_size > 0);
    ARGS(Memory_AddressableByDevices, users, .memory = memory);
    OK(Memory_AddressableByDevices, users);
    CHECK(users.num_devices == 1 && users.devices[0] == device);

    ARGS(Device_MemoryStats, stats, .device = device, .bytes_in_use = -7, .bytes_limit = -7);
    OK(Device_MemoryStats, stats);
    CHECK(stats.bytes_in_use >= 0 && stats.bytes_limit > 0 && stats.bytes_limit_is_set);
    CHECK(!stats.bytes_reserved_is_set);
    if (HAS(Device_ClearMemoryStats)) {
        ARGS(Device_ClearMemoryStats, clear, .device = device);
        OK(Device_ClearMemoryStats, clear);
    }
    if (HAS(Device_GetAttributes)) {
        ARGS(Device_GetAttributes, attributes, .device = device);
        OK(Device_GetAttributes, attributes);
        attributes.attributes_deleter(attributes.device_attributes);
    }
    if (HAS(Device_CreateAsyncTrackingEvent)) {
        ARGS(Device_CreateAsyncTrackingEvent, track, .device = device, .description = "work",
             .description_size = 4);
        OK(Device_CreateAsyncTrackingEvent, track);
        ARGS(AsyncTrackingEvent_Destroy, end, .event = track.event);
        OK(AsyncTrackingEvent_Destroy, end);
    }
    if (HAS(Device_PoisonExecution)) {
        PJRT_NamedValue why = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                               .name = "why",
                               .name_size = 3,
                               .type = PJRT_NamedValue_kString,
                               .string_value = "x",
                               .value_size = 1};
        ARGS(Device_PoisonExecution, poison, .device = device, .launch_id = 12345,
             .error_code = PJRT_Error_Code_ABORTED, .error_message = "x", .error_message_size = 1,
             .poisoned = true, .payload = &why, .num_payload = 1);
        OK(Device_PoisonExecution, poison);
        CHECK(!poison.poisoned);
    }
}

static void ask_topology(void)
{
    ARGS(Client_TopologyDescription, of_client, .client = client);
    OK(Client_TopologyDescription, of_client);
    PJRT_TopologyDescription *t = of_client.topology;
    ARGS(TopologyDescription_PlatformName, name, .topology = t);
    OK(TopologyDescription_PlatformName, name);
    ARGS(TopologyDescription_PlatformVersion, version, .topology = t);
    OK(TopologyDescription_PlatformVersion, version);
    CHECK(name.platform_name_size > 0 && version.platform_version_size > 0);
    ARGS(TopologyDescription_Attributes, attributes, .topology = t);
    OK(TopologyDescription_Attributes, attributes);
    ARGS(TopologyDescription_GetDeviceDescriptions, descriptions, .topology = t);
    OK(TopologyDescription_GetDeviceDescriptions, descriptions);
    CHECK(descriptions.num_descriptions == 2);
    ask_description(descriptions.descriptions[0], 0);

    ARGS(TopologyDescription_Create, made, .topology_name = "", .topology_name_size = 0);
    OK(TopologyDescription_Create, made);
    ARGS(TopologyDescription_Serialize, bytes, .topology = t);
    OK(TopologyDescription_Serialize, bytes);
    CHECK(bytes.serialized_bytes_size > 0);
    if (HAS(TopologyDescription_Deserialize)) {
        ARGS(TopologyDescription_Deserialize, again, .serialized_topology = bytes.serialized_bytes,
             .serialized_topology_size = bytes.serialized_bytes_size);
        OK(TopologyDescription_Deserialize, again);
        descriptions.topology = again.topology;
        OK(TopologyDescription_GetDeviceDescriptions, descriptions);
        CHECK(descriptions.num_descriptions == 2);
        if (HAS(TopologyDescription_Fingerprint)) {
            ARGS(TopologyDescription_Fingerprint, x, .topology = t);
            OK(TopologyDescription_Fingerprint, x);
            ARGS(TopologyDescription_Fingerprint, y, .topology = again.topology);
            OK(TopologyDescription_Fingerprint, y);
            ARGS(TopologyDescription_Fingerprint, z, .topology = made.topology);
            OK(TopologyDescription_Fingerprint, z);
            CHECK(x.fingerprint == y.fingerprint && x.fingerprint != z.fingerprint);
        }
        ARGS(TopologyDescription_Destroy, end, .topology = again.topology);
        OK(TopologyDescription_Destroy, end);
    }
    bytes.serialized_topology_deleter(bytes.serialized_topology);
    ARGS(TopologyDescription_Destroy, end, .topology = made.topology);
    OK(TopologyDescription_Destroy, end);

    if (HAS(TopologyDescription_MakeCanonicalShapeForMemorySpace)) {
        const int64_t dims[] = {2, 3};
        ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace, shape, .topology = t,
             .dims = dims, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32);
        OK(TopologyDescription_MakeCanonicalShapeForMemorySpace, shape);
        static const char want[] =
            "\x10\x0b\x1a\x02\x02\x03\x2a\x07\x0a\x02\x01\x00\x80\x01\x01\x32\x02\x00\x00";
        CHECK(shape.serialized_shape_size == sizeof want - 1 &&
              !memcmp(shape.serialized_shape, want, sizeof want - 1));
        shape.serialized_shape_deleter(shape.serialized_shape);
    }
    if (HAS(TopologyDescription_GetMemorySpaceKindIds)) {
        ARGS(TopologyDescription_GetMemorySpaceKindIds, ids, .topology = t);
        OK(TopologyDescription_GetMemorySpaceKindIds, ids);
        CHECK(ids.num_memory_space_kind_ids == 3 && ids.memory_space_kind_ids[2] == 2);
    }
}

/* ---- Events ---- */

/* Ends the event, which must come out well. */
static void finish(PJRT_Event *event)
{
    CHECK(event);
    ARGS(Event_Await, await, .event = event);
    OK(Event_Await, await);
    ARGS(Event_IsReady, ready, .event = event);
    OK(Event_IsReady, ready);
    CHECK(ready.is_ready);
    ARGS(Event_Error, error, .event = event);
    OK(Event_Error, error);
    ARGS(Event_Destroy, end, .event = event);
    OK(Event_Destroy, end);
}

static void expect_bad(PJRT_Event *event, PJRT_Error_Code code, const char *part)
{
    ARGS(Event_Await, await, .event = event);
    expect(RUN(Event_Await, await), code, part);
    ARGS(Event_Destroy, end, .event = event);
    OK(Event_Destroy, end);
}

static PJRT_Error *came;
static int comings;

static void on_ready(PJRT_Error *error, void *user_arg)
{
    came = error;
    ++*(int *)user_arg;
}

static void play_events(void)
{
    if (!HAS(Event_Create)) return;
    ARGS(Event_Create, make, 0);
    OK(Event_Create, make);
    comings = 0;
    ARGS(Event_OnReady, listen, .event = make.event, .callback = on_ready, .user_arg = &comings);
    OK(Event_OnReady, listen);
    ARGS(Event_IsReady, ready, .event = make.event, .is_ready = true);
    OK(Event_IsReady, ready);
    CHECK(!ready.is_ready && comings == 0);
    ARGS(Event_Set, set, .event = make.event, .error_code = PJRT_Error_Code_ABORTED,
         .error_message = "so it is", .error_message_size = 8);
    OK(Event_Set, set);
    CHECK(comings == 1);
    expect(came, PJRT_Error_Code_ABORTED, "so it is");
    expect_bad(make.event, PJRT_Error_Code_ABORTED, "so it is");
}

/* ---- Buffers ---- */

static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static const int64_t shape[2] = {2, 3};

static void end_buffer(PJRT_Buffer *b)
{
    ARGS(Buffer_Destroy, end, .buffer = b);
    OK(Buffer_Destroy, end);
}

static PJRT_Buffer *put(const float *values, PJRT_Device *where)
{
    ARGS(Client_BufferFromHostBuffer, from, .client = client, .data = values,
         .type = PJRT_Buffer_Type_F32, .dims = shape, .num_dims = 2, .device = where);
    OK(Client_BufferFromHostBuffer, from);
    finish(from.done_with_host_buffer);
    return from.buffer;
}

/* Ends the buffer, which must hold these. */
static void expect_numbers(PJRT_Buffer *b, const float *want)
{
    float got[6] = {0};
    ARGS(Buffer_ToHostBuffer, to, .src = b, .event = (PJRT_Event *)1);
    OK(Buffer_ToHostBuffer, to);
    CHECK(to.dst_size == sizeof got && !to.event);
    to.dst = got;
    OK(Buffer_ToHostBuffer, to);
    finish(to.event);
    CHECK(!memcmp(got, want, sizeof got));
    end_buffer(b);
}

static void ask_buffer(PJRT_Buffer *b)
{
    ARGS(Buffer_ElementType, type, .buffer = b);
    OK(Buffer_ElementType, type);
    CHECK(type.type == PJRT_Buffer_Type_F32);
    ARGS(Buffer_Dimensions, dims, .buffer = b);
    OK(Buffer_Dimensions, dims);
    CHECK(dims.num_dims == 2 && dims.dims[1] == 3);
    ARGS(Buffer_UnpaddedDimensions, unpadded, .buffer = b);
    OK(Buffer_UnpaddedDimensions, unpadded);
    CHECK(unpadded.num_dims == 2 && unpadded.unpadded_dims[0] == 2);
    ARGS(Buffer_DynamicDimensionIndices, dynamic, .buffer = b, .num_dynamic_dims = 5);
    OK(Buffer_DynamicDimensionIndices, dynamic);
    CHECK(dynamic.num_dynamic_dims == 0);
    ARGS(Buffer_GetMemoryLayout, layout, .buffer = b);
    OK(Buffer_GetMemoryLayout, layout);
    CHECK(layout.layout.tiled.minor_to_major[0] == 1 && layout.layout.tiled.num_tiles == 0);
    ARGS(Buffer_OnDeviceSizeInBytes, size, .buffer = b);
    OK(Buffer_OnDeviceSizeInBytes, size);
    CHECK(size.on_device_size_in_bytes == sizeof numbers);
    ARGS(Buffer_Device, where, .buffer = b);
    OK(Buffer_Device, where);
    CHECK(where.device == device);
    ARGS(Buffer_Memory, in, .buffer = b);
    OK(Buffer_Memory, in);
    CHECK(in.memory == memory);
    ARGS(Buffer_IsOnCpu, on_cpu, .buffer = b);
    OK(Buffer_IsOnCpu, on_cpu);
    ARGS(Buffer_UnsafePointer, address, .buffer = b);
    OK(Buffer_UnsafePointer, address);
    ARGS(Buffer_IncreaseExternalReferenceCount, more, .buffer = b);
    OK(Buffer_IncreaseExternalReferenceCount, more);
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, pointer, .buffer = b);
    OK(Buffer_OpaqueDeviceMemoryDataPointer, pointer);
    CHECK((uintptr_t)pointer.device_memory_ptr == address.buffer_pointer);
    if (on_cpu.is_on_cpu) CHECK(!memcmp(pointer.device_memory_ptr, numbers, sizeof numbers));
    ARGS(Buffer_DecreaseExternalReferenceCount, less, .buffer = b);
    OK(Buffer_DecreaseExternalReferenceCount, less);
    ARGS(Buffer_ReadyEvent, ready, .buffer = b);
    OK(Buffer_ReadyEvent, ready);
    ARGS(Event_Await, await, .event = ready.event);
    OK(Event_Await, await);
    comings = 0;
    ARGS(Event_OnReady, listen, .event = ready.event, .callback = on_ready, .user_arg = &comings);
    OK(Event_OnReady, listen);
    CHECK(comings == 1 && !came);
    finish(ready.event);
}

static void delete_buffer(PJRT_Buffer *b)
{
    ARGS(Buffer_Delete, delete, .buffer = b);
    OK(Buffer_Delete, delete);
    ARGS(Buffer_IsDeleted, is_deleted, .buffer = b);
    OK(Buffer_IsDeleted, is_deleted);
    CHECK(is_deleted.is_deleted);
    end_buffer(b);
}

static void copy_buffer(PJRT_Buffer *b)
{
    ARGS(Buffer_CopyToDevice, to_device, .buffer = b, .dst_device = second);
    OK(Buffer_CopyToDevice, to_device);
    expect_numbers(to_device.dst_buffer, numbers);
    ARGS(Device_DefaultMemory, there, .device = second);
    OK(Device_DefaultMemory, there);
    ARGS(Buffer_CopyToMemory, to_memory, .buffer = b, .dst_memory = there.memory);
    OK(Buffer_CopyToMemory, to_memory);
    expect_numbers(to_memory.dst_buffer, numbers);
    if (HAS(Buffer_CopyRawToHost)) {
        float got[2];
        ARGS(Buffer_CopyRawToHost, raw, .buffer = b, .dst = got, .offset = 4, .transfer_size = 8);
        OK(Buffer_CopyRawToHost, raw);
        finish(raw.event);
        CHECK(got[0] == 2 && got[1] == 3);
    }
    if (HAS(Buffer_CopyRawToHostFuture)) {
        float got[2];
        ARGS(Buffer_CopyRawToHostFuture, raw, .buffer = b, .offset = 8, .transfer_size = 8);
        OK(Buffer_CopyRawToHostFuture, raw);
        PJRT_Buffer_CopyRawToHostFuture_Callback_Args to = {
            .struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
            .callback_data = raw.callback_data,
            .dst = got};
        raw.future_ready_callback(place(1, &to, to.struct_size));
        finish(raw.event);
        CHECK(got[0] == 3 && got[1] == 4);
    }
    if (HAS(Buffer_Bitcast)) {
        ARGS(Buffer_Bitcast, cast, .buffer = b, .element_type = PJRT_Buffer_Type_F32, .dims = shape,
             .num_dims = 2);
        OK(Buffer_Bitcast, cast);
        expect_numbers(cast.out_buffer, numbers);
    }
}

static int views_ended;

static void end_view(void *address, void *arg)
{
    views_ended++;
}

static void make_buffers(void)
{
    _Alignas(64) static float own[16];
    memcpy(own, numbers, sizeof numbers);
    views_ended = 0;
    ARGS(Client_CreateViewOfDeviceBuffer, view, .client = client, .device_buffer_ptr = own,
         .dims = shape, .num_dims = 2, .element_type = PJRT_Buffer_Type_F32, .device = device,
         .on_delete_callback = end_view);
    PJRT_Error *e = RUN(Client_CreateViewOfDeviceBuffer, view);
    if (e) { /* the simulated accelerator can't see memory of the host's */
        expect(e, PJRT_Error_Code_UNIMPLEMENTED, "");
    } else {
        expect_numbers(view.buffer, numbers);
        CHECK(views_ended == 1);
    }
    if (HAS(Client_CreateUninitializedBuffer)) {
        ARGS(Client_CreateUninitializedBuffer, make, .client = client, .shape_dims = shape,
             .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32, .device = device);
        OK(Client_CreateUninitializedBuffer, make);
        end_buffer(make.buffer);
    }
    if (HAS(Client_CreateErrorBuffer)) {
        PJRT_NamedValue why = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                               .name = "why",
                               .name_size = 3,
                               .type = PJRT_NamedValue_kString,
                               .string_value = "x",
                               .value_size = 1};
        ARGS(Client_CreateErrorBuffer, make, .client = client,
             .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "lost",
             .error_message_size = 4, .shape_dims = shape, .shape_num_dims = 2,
             .shape_element_type = PJRT_Buffer_Type_F32, .memory = memory, .payload = &why,
             .num_payload = 1);
        OK(Client_CreateErrorBuffer, make);
        ARGS(Buffer_ReadyEvent, ready, .buffer = make.buffer);
        OK(Buffer_ReadyEvent, ready);
        payloads_seen = 0;
        expect_bad(ready.event, PJRT_Error_Code_DATA_LOSS, "lost");
        CHECK(payloads_seen == (minor >= 103)); /* which came only with that minor */
        end_buffer(make.buffer);
    }
    if (HAS(Client_CreateAliasBuffer)) {
        ARGS(Client_CreateAliasBuffer, make, .client = client, .memory = memory,
             .shape_dims = shape, .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32);
        OK(Client_CreateAliasBuffer, make);
        PJRT_Buffer *source = put(numbers, device);
        ARGS(Client_FulfillAliasBuffer, fulfill, .client = client, .buffer = source,
             .fulfill_alias_buffer_cb = make.fulfill_alias_buffer_cb);
        OK(Client_FulfillAliasBuffer, fulfill);
        end_buffer(source);
        expect_numbers(make.alias_buffer, numbers);
    }
    if (HAS(Buffer_DonateWithControlDependency)) {
        PJRT_Buffer *source = put(numbers, device);
        ARGS(Buffer_DonateWithControlDependency, donate, .buffer = source);
        OK(Buffer_DonateWithControlDependency, donate);
        PJRT_Buffer_DonateWithControlDependency_Callback_Args now = {
            .struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE,
            .callback_data = donate.callback_data};
        donate.dependency_ready_callback(place(1, &now, now.struct_size));
        expect_numbers(donate.out_buffer, numbers);
        end_buffer(source);
    }
}

static void manage_transfers(void)
{
    if (!HAS(Client_CreateBuffersForAsyncHostToDevice)) return;
    PJRT_ShapeSpec specs[3];
    for (size_t i = 0; i < 3; i++)
        specs[i] = (PJRT_ShapeSpec){.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                                    .dims = shape,
                                    .num_dims = 2,
                                    .element_type = PJRT_Buffer_Type_F32};
    ARGS(Client_CreateBuffersForAsyncHostToDevice, make, .client = client, .shape_specs = specs,
         .num_shape_specs = 3, .memory = memory);
    OK(Client_CreateBuffersForAsyncHostToDevice, make);
    PJRT_AsyncHostToDeviceTransferManager *t = make.transfer_manager;
    ARGS(AsyncHostToDeviceTransferManager_TransferData, write, .transfer_manager = t,
         .data = numbers, .transfer_size = sizeof numbers, .is_last_transfer = true);
    OK(AsyncHostToDeviceTransferManager_TransferData, write);
    finish(write.done_with_h2d_transfer);
    if (HAS(AsyncHostToDeviceTransferManager_RetrieveBuffer)) {
        ARGS(AsyncHostToDeviceTransferManager_BufferCount, count, .transfer_manager = t);
        OK(AsyncHostToDeviceTransferManager_BufferCount, count);
        CHECK(count.buffer_count == 3);
        ARGS(AsyncHostToDeviceTransferManager_BufferSize, size, .transfer_manager = t);
        OK(AsyncHostToDeviceTransferManager_BufferSize, size);
        CHECK(size.buffer_size == sizeof numbers);
        ARGS(AsyncHostToDeviceTransferManager_Device, where, .transfer_manager = t);
        OK(AsyncHostToDeviceTransferManager_Device, where);
        CHECK(where.device_out == device);
        ARGS(AsyncHostToDeviceTransferManager_AddMetadata, meta, .transfer_manager = t);
        OK(AsyncHostToDeviceTransferManager_AddMetadata, meta);
        ARGS(AsyncHostToDeviceTransferManager_SetBufferError, error, .transfer_manager = t,
             .buffer_index = 1, .error_code = PJRT_Error_Code_ABORTED, .error_message = "torn",
             .error_message_size = 4);
        OK(AsyncHostToDeviceTransferManager_SetBufferError, error);
        ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, take, .transfer_manager = t);
        OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, take);
        expect_numbers(take.buffer_out, numbers);
        take.buffer_index = 1;
        OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, take);
        ARGS(Buffer_ReadyEvent, ready, .buffer = take.buffer_out);
        OK(Buffer_ReadyEvent, ready);
        expect_bad(ready.event, PJRT_Error_Code_ABORTED, "torn");
        end_buffer(take.buffer_out);
    }
    if (HAS(AsyncHostToDeviceTransferManager_TransferLiteral)) {
        ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, literal, .transfer_manager = t,
             .buffer_index = 2, .data = numbers, .shape_dims = shape, .shape_num_dims = 2,
             .shape_element_type = PJRT_Buffer_Type_F32);
        OK(AsyncHostToDeviceTransferManager_TransferLiteral, literal);
        finish(literal.done_with_h2d_transfer);
        ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, take, .transfer_manager = t,
             .buffer_index = 2);
        OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, take);
        expect_numbers(take.buffer_out, numbers);
    }
    ARGS(AsyncHostToDeviceTransferManager_Destroy, end, .transfer_manager = t);
    OK(AsyncHostToDeviceTransferManager_Destroy, end);
}

/* No call hands out a stream as yet: without one they must say so. */
static void refuse_streams(void)
{
    const char part[] = "stream is NULL";
    PJRT_Chunk chunk = {0};
    ARGS(CopyToDeviceStream_AddChunk, add, .chunk = &chunk);
    expect(RUN(CopyToDeviceStream_AddChunk, add), PJRT_Error_Code_INVALID_ARGUMENT, part);
    ARGS(CopyToDeviceStream_TotalBytes, total, 0);
    expect(RUN(CopyToDeviceStream_TotalBytes, total), PJRT_Error_Code_INVALID_ARGUMENT, part);
    ARGS(CopyToDeviceStream_GranuleSize, granule, 0);
    expect(RUN(CopyToDeviceStream_GranuleSize, granule), PJRT_Error_Code_INVALID_ARGUMENT, part);
    ARGS(CopyToDeviceStream_CurrentBytes, current, 0);
    expect(RUN(CopyToDeviceStream_CurrentBytes, current), PJRT_Error_Code_INVALID_ARGUMENT, part);
    ARGS(CopyToDeviceStream_Destroy, end, 0);
    OK(CopyToDeviceStream_Destroy, end);
}

/* ---- Programs ---- */

static PJRT_Program read_program(const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", data, file);
    FILE *f = fopen(path, "rb");
    if (!f) FAIL("%s can't be read", path);
    static char code[1 << 16];
    PJRT_Program p = {.struct_size = PJRT_Program_STRUCT_SIZE,
                      .code = code,
                      .code_size = fread(code, 1, sizeof code, f),
                      .format = "mlir",
                      .format_size = 4};
    fclose(f);
    return p;
}

/* Ends the loaded executable, which adds two arrays. */
static void run_add(PJRT_LoadedExecutable *loaded, PJRT_ExecuteContext *context)
{
    const float twice[6] = {2, 4, 6, 8, 10, 12};
    PJRT_Buffer *in = put(numbers, device), *args[2] = {in, in}, *out[1] = {0};
    PJRT_Buffer *const *arg_lists[1] = {args};
    PJRT_Buffer **out_lists[1] = {out};
    PJRT_Event *done[1] = {0};
    const int64_t keep[1] = {0};
    PJRT_ExecuteOptions options = {.launch_id = 3,
                                   .non_donatable_input_indices = keep,
                                   .num_non_donatable_input_indices = 1,
                                   .context = context,
                                   .call_location = "here",
                                   .use_major_to_minor_data_layout_for_callbacks = true};
    const size_t size = size_at("PJRT_ExecuteOptions", PJRT_ExecuteOptions_STRUCT_SIZE);
    ARGS(LoadedExecutable_Execute, execute, .executable = loaded,
         .options = place(1, &options, size), .argument_lists = arg_lists, .num_devices = 1,
         .num_args = 2, .output_lists = out_lists, .device_complete_events = done);
    OK(LoadedExecutable_Execute, execute);
    check_guard(execute.options, size, "PJRT_ExecuteOptions");
    finish(done[0]);
    expect_numbers(out[0], twice);
    end_buffer(in);
    ARGS(LoadedExecutable_Destroy, end, .executable = loaded);
    OK(LoadedExecutable_Destroy, end);
}

static void ask_executable(PJRT_Executable *e)
{
    ARGS(Executable_Name, name, .executable = e);
    OK(Executable_Name, name);
    CHECK(name.executable_name_size > 0);
    ARGS(Executable_NumReplicas, replicas, .executable = e);
    OK(Executable_NumReplicas, replicas);
    ARGS(Executable_NumPartitions, partitions, .executable = e);
    OK(Executable_NumPartitions, partitions);
    CHECK(replicas.num_replicas == 1 && partitions.num_partitions == 1);
    ARGS(Executable_NumOutputs, outputs, .executable = e);
    OK(Executable_NumOutputs, outputs);
    CHECK(outputs.num_outputs == 1);
    ARGS(Executable_SizeOfGeneratedCodeInBytes, code, .executable = e);
    OK(Executable_SizeOfGeneratedCodeInBytes, code);
    CHECK(code.size_in_bytes > 0);
    ARGS(Executable_Fingerprint, fingerprint, .executable = e);
    OK(Executable_Fingerprint, fingerprint);
    CHECK(fingerprint.executable_fingerprint_size > 0);
    ARGS(Executable_GetCostAnalysis, cost, .executable = e);
    OK(Executable_GetCostAnalysis, cost);
    CHECK(cost.num_properties > 0 && cost.properties[0].float_value == 6);
    ARGS(Executable_GetCompiledMemoryStats, stats, .executable = e, .output_size_in_bytes = -1,
         .peak_memory_in_bytes = -1, .total_size_in_bytes = -1, .total_allocation_bytes = -1);
    OK(Executable_GetCompiledMemoryStats, stats);
    CHECK(stats.argument_size_in_bytes == 48 && stats.output_size_in_bytes == 24);
    CHECK((stats.peak_memory_in_bytes == 72) == (minor >= 72));
    CHECK((stats.total_size_in_bytes == 72) == (minor >= 90));
    CHECK((stats.total_allocation_bytes == 72) == (minor >= 104));
    ARGS(Executable_OutputElementTypes, types, .executable = e);
    OK(Executable_OutputElementTypes, types);
    CHECK(types.num_output_types == 1 && types.output_types[0] == PJRT_Buffer_Type_F32);
    ARGS(Executable_OutputDimensions, dims, .executable = e);
    OK(Executable_OutputDimensions, dims);
    CHECK(dims.num_outputs == 1 && dims.dim_sizes[0] == 2 && dims.dims[1] == 3);
    ARGS(Executable_OutputMemoryKinds, kinds, .executable = e);
    OK(Executable_OutputMemoryKinds, kinds);
    CHECK(kinds.num_outputs == 1 &&
          is(kinds.memory_kinds[0], kinds.memory_kind_sizes[0], "device"));
    if (HAS(Executable_ParameterMemoryKinds)) {
        ARGS(Executable_ParameterMemoryKinds, in, .executable = e);
        OK(Executable_ParameterMemoryKinds, in);
        CHECK(in.num_parameters == 2 && is(in.memory_kinds[1], in.memory_kind_sizes[1], "device"));
    }
    if (HAS(Executable_GetCompileOptions)) {
        ARGS(Executable_GetCompileOptions, options, .executable = e, .serialized_bytes_size = 99);
        OK(Executable_GetCompileOptions, options);
        CHECK(options.serialized_bytes_size == 0);
        options.serialized_compile_options_deleter(options.serialized_compile_options);
    }

    PJRT_Program text = {.struct_size = PJRT_Program_STRUCT_SIZE};
    ARGS(Executable_OptimizedProgram, program, .executable = e, .program = &text);
    OK(Executable_OptimizedProgram, program);
    CHECK(text.code_size > 0 && is(text.format, text.format_size, "mlir"));
    text.code = malloc(text.code_size);
    OK(Executable_OptimizedProgram, program);
    CHECK(memmem(text.code, text.code_size, "stablehlo.add", 13));
    free(text.code);
}

static void ask_loaded(PJRT_LoadedExecutable *loaded)
{
    ARGS(LoadedExecutable_AddressableDevices, devices, .executable = loaded);
    OK(LoadedExecutable_AddressableDevices, devices);
    CHECK(devices.num_addressable_devices == 1 && devices.addressable_devices[0] == device);
    if (HAS(LoadedExecutable_AddressableDeviceLogicalIds)) {
        ARGS(LoadedExecutable_AddressableDeviceLogicalIds, ids, .executable = loaded);
        OK(LoadedExecutable_AddressableDeviceLogicalIds, ids);
        CHECK(ids.num_addressable_device_logical_ids == 1 &&
              ids.addressable_device_logical_ids[0].replica == 0);
    }
    if (HAS(LoadedExecutable_GetDeviceAssignment)) {
        ARGS(LoadedExecutable_GetDeviceAssignment, assignment, .executable = loaded);
        OK(LoadedExecutable_GetDeviceAssignment, assignment);
        CHECK(assignment.serialized_bytes_size > 0);
        assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
    }
    ARGS(LoadedExecutable_Fingerprint, fingerprint, .executable = loaded);
    expect(RUN(LoadedExecutable_Fingerprint, fingerprint), PJRT_Error_Code_UNIMPLEMENTED,
           "PJRT_LoadedExecutable_Fingerprint");
    ARGS(LoadedExecutable_IsDeleted, is_deleted, .executable = loaded, .is_deleted = true);
    OK(LoadedExecutable_IsDeleted, is_deleted);
    CHECK(!is_deleted.is_deleted);
}

static void end_executable(PJRT_Executable *e)
{
    ARGS(Executable_Destroy, end, .executable = e);
    OK(Executable_Destroy, end);
}

static void play_programs(void)
{
    PJRT_Program program = read_program("add_2x3.mlirbc");
    ARGS(Client_Compile, compile, .client = client, .program = &program);
    OK(Client_Compile, compile);
    ask_loaded(compile.executable);
    ARGS(LoadedExecutable_GetExecutable, get, .loaded_executable = compile.executable);
    OK(LoadedExecutable_GetExecutable, get);
    ask_executable(get.executable);

    ARGS(ExecuteContext_Create, context, 0);
    OK(ExecuteContext_Create, context);
    run_add(compile.executable, context.context);
    ARGS(ExecuteContext_Destroy, end_context, .context = context.context);
    OK(ExecuteContext_Destroy, end_context);

    ARGS(Executable_Serialize, bytes, .executable = get.executable);
    OK(Executable_Serialize, bytes);
    ARGS(Executable_DeserializeAndLoad, again, .client = client,
         .serialized_executable = bytes.serialized_bytes,
         .serialized_executable_size = bytes.serialized_bytes_size);
    OK(Executable_DeserializeAndLoad, again);
    run_add(again.loaded_executable, NULL);
    bytes.serialized_executable_deleter(bytes.serialized_executable);
    if (HAS(Client_Load)) {
        ARGS(Client_Load, load, .client = client, .executable = get.executable);
        OK(Client_Load, load);
        run_add(load.loaded_executable, NULL);
    }
    end_executable(get.executable);

    ARGS(Client_TopologyDescription, topology, .client = client);
    OK(Client_TopologyDescription, topology);
    ARGS(Compile, alone, .topology = topology.topology, .program = &program);
    OK(Compile, alone);
    ask_executable(alone.executable);
    end_executable(alone.executable);

    OK(Client_Compile, compile);
    ARGS(LoadedExecutable_Delete, delete, .executable = compile.executable);
    OK(LoadedExecutable_Delete, delete);
    ARGS(LoadedExecutable_Destroy, end, .executable = compile.executable);
    OK(LoadedExecutable_Destroy, end);
}

/* ---- All of it ---- */

static void play(int of_minor)
{
    minor = of_minor;
    memset(called, 0, sizeof called);
    open_client();
    ask_client();
    ask_device();
    ask_topology();
    play_events();
    PJRT_Buffer *b = put(numbers, device);
    ask_buffer(b);
    copy_buffer(b);
    delete_buffer(b);
    make_buffers();
    manage_transfers();
    refuse_streams();
    play_programs();
    ARGS(Client_Destroy, end, .client = client);
    OK(Client_Destroy, end);

    int n = 0;
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].since > minor) continue;
        if (!called[i]) FAIL("%s was not called", slots[i].name);
        n++;
    }
    printf("minor %d: %d calls work\n", minor, n);
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: sweep PLUGIN DATA\n"), 2;
    void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!so) return fprintf(stderr, "%s\n", dlerror()), 2;
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(so, "GetPjrtApi");
    if (!get) return fprintf(stderr, "%s has no GetPjrtApi\n", argv[1]), 2;
    api = get();
    data = argv[2];
    map_pages();
    static const int minors[] = {54, 75, 83, 112, 115};
    for (size_t i = 0; i < sizeof minors / sizeof *minors; i++) play(minors[i]);
    return 0;
}
