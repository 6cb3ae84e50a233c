/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <unistd.h>

#include "conformance/check.h"

#define DURING    PJRT_HostBufferSemantics_kImmutableOnlyDuringCall
#define UNTIL     PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes
#define ZERO_COPY PJRT_HostBufferSemantics_kImmutableZeroCopy

static const int64_t four[] = {4};

/* Memory that a plugin would like to keep: large and aligned. It must not, if it has to copy. */
static void large_source(context *c, PJRT_HostBufferSemantics semantics)
{
    enum { N = 1 << 16 };
    static float data[N] __attribute__((aligned(64)));
    for (int i = 0; i < N; i++) data[i] = (float)i;
    int64_t dims[] = {N};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_F32, dims, 1, semantics);
    OK(Client_BufferFromHostBuffer, &args);
    if (semantics == UNTIL) check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    memset(data, 0xFF, sizeof data);
    tn_array got;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, args.buffer, &got));
    for (int i = 0; i < N; i++)
        if (((float *)got.data)[i] != (float)i)
            fail(__FILE__, __LINE__, "element %d of %d changed with the source", i, N);
    tn_array_free(&got);
    if (semantics != UNTIL) check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
}

static void source_reused_after_call(context *c)
{
    large_source(c, DURING);
    float data[] = {1, 2, 3, 4};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_F32, four, 1, DURING);
    OK(Client_BufferFromHostBuffer, &args);
    memset(data, 0xFF, sizeof data);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    expect_floats(c, args.buffer, 1, 2, 3, 4);
}

static void source_reused_after_event(context *c)
{
    large_source(c, UNTIL);
    float data[] = {1, 2, 3, 4};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_F32, four, 1, UNTIL);
    OK(Client_BufferFromHostBuffer, &args);
    CHECK(args.done_with_host_buffer);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    memset(data, 0xFF, sizeof data);
    expect_floats(c, args.buffer, 1, 2, 3, 4);
}

static void count(PJRT_Error *error, void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void zero_copy_event(context *c)
{
    static float data[1024] __attribute__((aligned(64)));
    for (int i = 0; i < 1024; i++) data[i] = (float)i;
    int64_t dims[] = {1024};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_F32, dims, 1, ZERO_COPY);
    OK(Client_BufferFromHostBuffer, &args);
    atomic_int done = 0;
    ARGS(Event_OnReady, on, .event = args.done_with_host_buffer, .callback = count,
         .user_arg = &done);
    OK(Event_OnReady, &on);
    tn_array got;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, args.buffer, &got));
    CHECK(!memcmp(got.data, data, sizeof data));
    destroy_buffer(c, args.buffer);
    for (int i = 0; i < 5000 && !done; i++) usleep(1000);
    CHECK_EQ(done, 1);
}

static void memory_wins(context *c)
{
    float data[] = {1, 2, 3, 4};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_F32, four, 1, DURING);
    args.device = NULL;
    args.memory = c->memory;
    OK(Client_BufferFromHostBuffer, &args);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    ARGS(Buffer_Device, d, .buffer = args.buffer);
    OK(Buffer_Device, &d);
    CHECK(d.device == c->device);
    expect_floats(c, args.buffer, 1, 2, 3, 4);
}

static void strided(context *c, const void *data, const int64_t *dims, size_t n,
                    const int64_t *strides, const float *want, size_t n_want)
{
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_F32, dims, n, DURING);
    args.byte_strides = strides;
    args.num_byte_strides = n;
    if (!OPTIONAL(Client_BufferFromHostBuffer, &args)) return;
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    tn_array got;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, args.buffer, &got));
    CHECK_EQ(got.size, n_want * sizeof *want);
    for (size_t i = 0; i < n_want; i++)
        if (((float *)got.data)[i] != want[i])
            fail(__FILE__, __LINE__, "element %zu is %g, expected %g", i,
                 (double)((float *)got.data)[i], (double)want[i]);
    tn_array_free(&got);
}

static void any_strides(context *c)
{
    float data[] = {1, 2, 3, 4, 5, 6};
    strided(c, data, (int64_t[]){3, 2}, 2, (int64_t[]){4, 12}, (float[]){1, 4, 2, 5, 3, 6},
            6); /* transposed */
    strided(c, data, (int64_t[]){2, 3}, 2, (int64_t[]){0, 4}, (float[]){1, 2, 3, 1, 2, 3},
            6);                                                                 /* broadcast */
    strided(c, data, (int64_t[]){3}, 1, (int64_t[]){8}, (float[]){1, 3, 5}, 3); /* every other */
    strided(c, data, (int64_t[]){2, 3}, 2, (int64_t[]){12, 4}, (float[]){1, 2, 3, 4, 5, 6},
            6);                                                         /* dense */
    strided(c, data, (int64_t[]){0, 3}, 2, (int64_t[]){0, 0}, NULL, 0); /* empty */
}

static void narrow_types(context *c)
{
    signed char data[] = {-8, -1, 0, 7};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, data, PJRT_Buffer_Type_S4, four, 1, DURING);
    OK(Client_BufferFromHostBuffer, &args);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    tn_array got;
    check_ok(c, __FILE__, __LINE__, tn_host_buffer_to_array(c->host, args.buffer, &got));
    CHECK_EQ(got.size, 4);
    for (int i = 0; i < 4; i++) CHECK_EQ(((unsigned char *)got.data)[i] & 15, data[i] & 15);
}

static void to_host_size_query(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    ARGS(Buffer_ToHostBuffer, args, .src = b, .event = (PJRT_Event *)&args);
    OK(Buffer_ToHostBuffer, &args);
    CHECK_EQ(args.dst_size, 16);
    CHECK(!args.event);
}

static void to_host_too_small(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    float dst[4];
    ARGS(Buffer_ToHostBuffer, args, .src = b, .dst = dst, .dst_size = 15);
    FAILS(INVALID_ARGUMENT, Buffer_ToHostBuffer, &args);
}

static void to_host_layouts(context *c)
{
    float data[] = {1, 2, 3, 4, 5, 6}, dst[6] = {0};
    PJRT_Client_BufferFromHostBuffer_Args put =
        host_buffer(c, data, PJRT_Buffer_Type_F32, (int64_t[]){2, 3}, 2, DURING);
    OK(Client_BufferFromHostBuffer, &put);
    check_ok(c, __FILE__, __LINE__, await(c, put.done_with_host_buffer));
    int64_t column_major[] = {0, 1};
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                       .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    layout.tiled =
        (PJRT_Buffer_MemoryLayout_Tiled){.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                                         .minor_to_major = column_major,
                                         .minor_to_major_size = 2};
    ARGS(Buffer_ToHostBuffer, args, .src = put.buffer, .host_layout = &layout, .dst = dst,
         .dst_size = sizeof dst);
    OK(Buffer_ToHostBuffer, &args);
    CHECK(args.event);
    check_ok(c, __FILE__, __LINE__, await(c, args.event));
    const float want[] = {1, 4, 2, 5, 3, 6};
    CHECK(!memcmp(dst, want, sizeof want));
}

static PJRT_Buffer *error_buffer(context *c, const int64_t *dims, size_t n)
{
    if (!tn_plugin_has(c->plugin, offsetof(PJRT_Api, PJRT_Client_CreateErrorBuffer)))
        skip("older than 0.82");
    ARGS(Client_CreateErrorBuffer, args, .client = c->client,
         .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "planted",
         .error_message_size = 7, .shape_dims = dims, .shape_num_dims = n,
         .shape_element_type = PJRT_Buffer_Type_F32, .memory = c->memory);
    if (!OPTIONAL(Client_CreateErrorBuffer, &args)) skip("CreateErrorBuffer is not implemented");
    return args.buffer;
}

static void errored_to_host(context *c)
{
    for (int k = 0; k < 2; k++) {
        int64_t dims[] = {k ? 0 : 4};
        PJRT_Buffer *b = error_buffer(c, dims, 1);
        float dst[4];
        ARGS(Buffer_ToHostBuffer, args, .src = b, .dst = dst, .dst_size = sizeof dst);
        OK(Buffer_ToHostBuffer, &args);
        CHECK(args.event);
        tn_status *s = await(c, args.event);
        expect_error(s, TN_DATA_LOSS, "planted");
    }
}

static void raw_copy_range(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    float dst[2] = {0};
    ARGS(Buffer_CopyRawToHost, args, .buffer = b, .dst = dst, .offset = 4, .transfer_size = 8);
    if (!OPTIONAL(Buffer_CopyRawToHost, &args)) skip("CopyRawToHost is not implemented");
    CHECK(args.event);
    check_ok(c, __FILE__, __LINE__, await(c, args.event));
    CHECK(dst[0] == 2 && dst[1] == 3);
    const int64_t bad[][2] = {{12, 8}, {-4, 4}, {0, 17}, {INT64_MAX, 8}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        args.offset = bad[i][0];
        args.transfer_size = bad[i][1];
        tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_CopyRawToHost, &args);
        if (!s) s = await(c, args.event);
        if (!s || tn_status_code(s) != TN_INVALID_ARGUMENT)
            fail(__FILE__, __LINE__, "offset %lld, size %lld: expected INVALID_ARGUMENT, got %s",
                 (long long)bad[i][0], (long long)bad[i][1], s ? tn_status_message(s) : "success");
        tn_status_free(s);
    }
}

static void after_delete(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    CHECK(!is_deleted(c, b));
    delete_buffer(c, b);
    delete_buffer(c, b);
    CHECK(is_deleted(c, b));
    ARGS(Buffer_Dimensions, dims, .buffer = b);
    OK(Buffer_Dimensions, &dims);
    CHECK_EQ(dims.num_dims, 1);
    ARGS(Buffer_Memory, memory, .buffer = b);
    OK(Buffer_Memory, &memory);
    CHECK(memory.memory == c->memory);
    ARGS(Buffer_OnDeviceSizeInBytes, size, .buffer = b);
    OK(Buffer_OnDeviceSizeInBytes, &size);
    tn_status *s = await_buffer(c, b);
    expect_error(s, TN_INVALID_ARGUMENT, "");
    float dst[4];
    ARGS(Buffer_ToHostBuffer, to, .src = b, .dst = dst, .dst_size = sizeof dst);
    OK(Buffer_ToHostBuffer, &to);
    s = await(c, to.event);
    expect_error(s, TN_INVALID_ARGUMENT, "");
    ARGS(Buffer_IncreaseExternalReferenceCount, increase, .buffer = b);
    FAILS(INVALID_ARGUMENT, Buffer_IncreaseExternalReferenceCount, &increase);
}

static void destroyed_in_use(context *c)
{
    PJRT_LoadedExecutable *e = load(c, "busy", 1);
    PJRT_Buffer *in = scalar_u32(c, c->device, 1), *out, *again;
    check_ok(c, __FILE__, __LINE__, execute(c, e, &in, 1, &out, NULL));
    destroy_buffer(c, in);
    check_ok(c, __FILE__, __LINE__, execute(c, e, &out, 1, &again, NULL));
    PJRT_Event *event = ready_event(c, out);
    destroy_buffer(c, out); /* with a pending event and a run that reads it */
    check_ok(c, __FILE__, __LINE__, await(c, event));
    check_ok(c, __FILE__, __LINE__, await_buffer(c, again));
}

static void external_references(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    ARGS(Buffer_IsOnCpu, on, .buffer = b);
    OK(Buffer_IsOnCpu, &on);
    ARGS(Buffer_IncreaseExternalReferenceCount, increase, .buffer = b);
    OK(Buffer_IncreaseExternalReferenceCount, &increase);
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, pointer, .buffer = b);
    OK(Buffer_OpaqueDeviceMemoryDataPointer, &pointer);
    delete_buffer(c, b);
    CHECK(is_deleted(c, b));
    if (on.is_on_cpu) CHECK(((float *)pointer.device_memory_ptr)[3] == 4);
    ARGS(Buffer_DecreaseExternalReferenceCount, decrease, .buffer = b);
    OK(Buffer_DecreaseExternalReferenceCount, &decrease);
    FAILS(INVALID_ARGUMENT, Buffer_DecreaseExternalReferenceCount, &decrease);
    PJRT_Buffer *held = floats(c, c->device, 1, 2, 3, 4);
    increase.buffer = held;
    OK(Buffer_IncreaseExternalReferenceCount, &increase);
    destroy_buffer(c, held);
}

static void empty_pointer(context *c)
{
    int64_t dims[] = {0};
    PJRT_Client_BufferFromHostBuffer_Args args =
        host_buffer(c, NULL, PJRT_Buffer_Type_F32, dims, 1, DURING);
    static float nothing[1];
    args.data = nothing;
    OK(Client_BufferFromHostBuffer, &args);
    check_ok(c, __FILE__, __LINE__, await(c, args.done_with_host_buffer));
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, pointer, .buffer = args.buffer);
    OK(Buffer_OpaqueDeviceMemoryDataPointer, &pointer);
}

static void on_cpu_is_readable(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    check_ok(c, __FILE__, __LINE__, await_buffer(c, b));
    ARGS(Buffer_IsOnCpu, on, .buffer = b);
    OK(Buffer_IsOnCpu, &on);
    if (!on.is_on_cpu) return;
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, pointer, .buffer = b);
    OK(Buffer_OpaqueDeviceMemoryDataPointer, &pointer);
    CHECK(((float *)pointer.device_memory_ptr)[0] == 1);
}

static void separate_events(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    PJRT_Event *x = ready_event(c, b), *y = ready_event(c, b);
    CHECK(x != y);
    check_ok(c, __FILE__, __LINE__, await(c, x));
    check_ok(c, __FILE__, __LINE__, await(c, y));
}

static void copies_between_memories(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    PJRT_Device *devices[] = {c->device, c->second};
    for (int d = 0; d < 2; d++) {
        ARGS(Device_AddressableMemories, all, .device = devices[d]);
        OK(Device_AddressableMemories, &all);
        CHECK(all.num_memories >= 1);
        for (size_t i = 0; i < all.num_memories; i++) {
            ARGS(Buffer_CopyToMemory, copy, .buffer = b, .dst_memory = all.memories[i]);
            OK(Buffer_CopyToMemory, &copy);
            check_ok(c, __FILE__, __LINE__, await_buffer(c, copy.dst_buffer));
            ARGS(Buffer_Memory, memory, .buffer = copy.dst_buffer);
            OK(Buffer_Memory, &memory);
            CHECK(memory.memory == all.memories[i]);
            expect_floats(c, copy.dst_buffer, 1, 2, 3, 4);
            destroy_buffer(c, copy.dst_buffer);
        }
    }
}

static void copy_to_own_place(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    ARGS(Buffer_CopyToDevice, device, .buffer = b, .dst_device = c->device);
    OK(Buffer_CopyToDevice, &device);
    ARGS(Buffer_CopyToMemory, memory, .buffer = b, .dst_memory = c->memory);
    OK(Buffer_CopyToMemory, &memory);
    CHECK(device.dst_buffer != b && memory.dst_buffer != b);
    delete_buffer(c, b);
    expect_floats(c, device.dst_buffer, 1, 2, 3, 4);
    expect_floats(c, memory.dst_buffer, 1, 2, 3, 4);
}

static void unpadded_dimensions(context *c)
{
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    ARGS(Buffer_UnpaddedDimensions, u, .buffer = b);
    OK(Buffer_UnpaddedDimensions, &u);
    CHECK_EQ(u.num_dims, 1);
    CHECK_EQ(u.unpadded_dims[0], 4);
    ARGS(Buffer_DynamicDimensionIndices, dynamic, .buffer = b);
    if (OPTIONAL(Buffer_DynamicDimensionIndices, &dynamic)) CHECK_EQ(dynamic.num_dynamic_dims, 0);
}

static atomic_int deletions;
static void on_delete(void *device_ptr, void *user)
{
    CHECK(device_ptr == user);
    atomic_fetch_add(&deletions, 1);
}

static void views(context *c)
{
    ARGS(Client_CreateViewOfDeviceBuffer, args, .client = c->client, .dims = four, .num_dims = 1,
         .element_type = PJRT_Buffer_Type_F32, .on_delete_callback = on_delete);
    static float data[16] __attribute__((aligned(64))) = {1, 2, 3, 4};
    args.device_buffer_ptr = data;
    args.on_delete_callback_arg = data;
    FAILS(INVALID_ARGUMENT, Client_CreateViewOfDeviceBuffer, &args); /* neither device nor memory */
    CHECK_EQ(deletions, 0);
    PJRT_Buffer *probe = floats(c, c->device, 1, 2, 3, 4);
    ARGS(Buffer_IsOnCpu, on, .buffer = probe);
    OK(Buffer_IsOnCpu, &on);
    if (!on.is_on_cpu) skip("the host has no memory of the device to view");
    args.device = c->device;
    OK(Client_CreateViewOfDeviceBuffer, &args);
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {args.buffer, args.buffer}, *out;
    check_ok(c, __FILE__, __LINE__, execute(c, e, in, 2, &out, NULL));
    destroy_buffer(c, args.buffer);
    expect_floats(c, out, 2, 4, 6, 8);
    for (int i = 0; i < 5000 && !deletions; i++) usleep(1000);
    CHECK_EQ(deletions, 1);
}

static void error_buffers(context *c)
{
    PJRT_Buffer *b = error_buffer(c, four, 1);
    ARGS(Buffer_Dimensions, dims, .buffer = b);
    OK(Buffer_Dimensions, &dims);
    CHECK_EQ(dims.num_dims, 1);
    CHECK_EQ(dims.dims[0], 4);
    ARGS(Buffer_Memory, memory, .buffer = b);
    OK(Buffer_Memory, &memory);
    CHECK(memory.memory == c->memory);
    tn_status *s = await_buffer(c, b);
    expect_error(s, TN_DATA_LOSS, "planted");
    PJRT_LoadedExecutable *e = load(c, "add", 1);
    PJRT_Buffer *in[] = {b, floats(c, c->device, 1, 2, 3, 4)}, *out = NULL;
    s = execute(c, e, in, 2, &out, NULL);
    if (!s) s = await_buffer(c, out);
    expect_error(s, TN_DATA_LOSS, "planted");
}

const check_row buffer_checks[] = {
    {23, "ImmutableOnlyDuringCall: the source is not read after the call",
     source_reused_after_call},
    {24, "ImmutableUntilTransferCompletes: the source is free once the event is ready",
     source_reused_after_event},
    {24, "ImmutableZeroCopy: the event comes, at the latest when the buffer dies", zero_copy_event},
    {26, "memory wins over device", memory_wins},
    {27, "any byte strides give the right elements", any_strides},
    {28, "types narrower than a byte take one byte per element on the host", narrow_types},
    {29, "ToHostBuffer without dst gives the size and no event", to_host_size_query},
    {30, "ToHostBuffer into too little room is INVALID_ARGUMENT", to_host_too_small},
    {31, "ToHostBuffer with a permuted layout", to_host_layouts},
    {32, "ToHostBuffer of a buffer in error reports through the event, for empty ones too",
     errored_to_host},
    {34, "CopyRawToHost copies a range and refuses one outside of the buffer", raw_copy_range},
    {35, "what works and what fails after Delete", after_delete},
    {36, "a buffer may be destroyed while a run uses it or its event is pending", destroyed_in_use},
    {37, "external references keep the memory readable and are counted", external_references},
    {38, "OpaqueDeviceMemoryDataPointer works for an empty buffer", empty_pointer},
    {39, "IsOnCpu promises that the pointer is readable", on_cpu_is_readable},
    {40, "each ReadyEvent is an event of its own", separate_events},
    {42, "CopyToMemory works between any two memories", copies_between_memories},
    {43, "CopyToDevice and CopyToMemory to the buffer's own place make a new buffer",
     copy_to_own_place},
    {44, "UnpaddedDimensions of a static buffer are its dimensions", unpadded_dimensions},
    {45, "a view calls its deleter once, when its last user is gone", views},
    {84, "an error buffer has shape and memory, and every use gives its error", error_buffers},
    {0}};
