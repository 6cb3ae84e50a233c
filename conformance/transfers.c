/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "conformance/check.h"
#include "tenon/pjrt_calls.h"

#define DURING PJRT_HostBufferSemantics_kImmutableOnlyDuringCall

static const char *type_name(const check_row *row, int i)
{
    /* PRED is 1; a token is no array. */
    int type = i + 1;
    if (type >= PJRT_Buffer_Type_TOKEN) type++;
    return type <= PJRT_Buffer_Type_F6E3M2FN ? tn_pjrt_element_name((PJRT_Buffer_Type)type) : NULL;
}

/* Bits of an element that count: those of types narrower than a byte are the low ones. */
static unsigned char low_bits(PJRT_Buffer_Type t)
{
    switch (t) {
    case PJRT_Buffer_Type_S4:
    case PJRT_Buffer_Type_U4:
    case PJRT_Buffer_Type_F4E2M1FN: return 15;
    case PJRT_Buffer_Type_S2:
    case PJRT_Buffer_Type_U2: return 3;
    case PJRT_Buffer_Type_S1:
    case PJRT_Buffer_Type_U1:
    case PJRT_Buffer_Type_PRED: return 1;
    case PJRT_Buffer_Type_F6E2M3FN:
    case PJRT_Buffer_Type_F6E3M2FN: return 63;
    default: return 255;
    }
}

/* The minor that added the type. */
static int since(PJRT_Buffer_Type t)
{
    if (t >= PJRT_Buffer_Type_F6E2M3FN) return 114;
    if (t >= PJRT_Buffer_Type_S1) return 94;
    if (t >= PJRT_Buffer_Type_F8E8M0FNU) return 63;
    return t >= PJRT_Buffer_Type_F8E4M3 ? 55 : 0;
}

static void every_type(context *c)
{
    int number = c->variant + 1;
    PJRT_Buffer_Type t = (PJRT_Buffer_Type)(number >= PJRT_Buffer_Type_TOKEN ? number + 1 : number);
    if (c->api->pjrt_api_version.minor_version < since(t))
        skip("the type is newer than the plugin");
    size_t width = tn_pjrt_element_size(t);
    unsigned char data[3 * 5 * 16], mask = low_bits(t);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11) & mask;
    /* No NaN whose payload a copy through a float register could change. */
    for (size_t i = width - 1; width > 1 && i < sizeof data; i += width) data[i] &= 0x3F;
    int64_t dims[] = {3, 5};
    PJRT_Client_BufferFromHostBuffer_Args put = host_buffer(c, data, t, dims, 2, DURING);
    if (!OPTIONAL(Client_BufferFromHostBuffer, &put)) skip("the type is not implemented");
    check_ok(c, __FILE__, __LINE__, await(c, put.done_with_host_buffer));
    ARGS(Buffer_ElementType, type, .buffer = put.buffer);
    OK(Buffer_ElementType, &type);
    CHECK_EQ(type.type, t);
    tn_array got = read_buffer(c, put.buffer);
    CHECK_EQ(got.size, 15 * width);
    for (size_t i = 0; i < got.size; i++)
        if ((((unsigned char *)got.data)[i] & mask) != data[i])
            fail(__FILE__, __LINE__, "byte %zu came back as 0x%02x, was 0x%02x", i,
                 ((unsigned char *)got.data)[i], data[i]);
    tn_array_free(&got);
    destroy_buffer(c, put.buffer);
}

static const char *const semantics_names[] = {"ImmutableOnlyDuringCall",
                                              "ImmutableUntilTransferCompletes",
                                              "ImmutableZeroCopy", "MutableZeroCopy"};
static const char *semantics_name(const check_row *row, int i)
{
    return i < 4 ? semantics_names[i] : NULL;
}

/* Sources of any alignment and size, for each promise about the host's memory. */
static void every_semantics(context *c)
{
    static char room[(1 << 16) + 64] __attribute__((aligned(64)));
    const int64_t sizes[] = {0, 1, 4, 63, 1000, 16000};
    for (size_t shift = 0; shift < 8; shift += 4)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            float *data = (float *)(room + shift);
            for (int64_t i = 0; i < sizes[k]; i++) data[i] = (float)i + 0.5f;
            PJRT_Client_BufferFromHostBuffer_Args put = host_buffer(
                c, data, PJRT_Buffer_Type_F32, &sizes[k], 1, (PJRT_HostBufferSemantics)c->variant);
            if (!OPTIONAL(Client_BufferFromHostBuffer, &put)) skip("not implemented");
            CHECK(put.done_with_host_buffer);
            tn_array got = read_buffer(c, put.buffer);
            CHECK_EQ(got.size, (size_t)sizes[k] * 4);
            for (int64_t i = 0; i < sizes[k]; i++)
                if (((float *)got.data)[i] != (float)i + 0.5f)
                    fail(__FILE__, __LINE__, "%lld elements from alignment %zu: element %lld is %g",
                         (long long)sizes[k], shift, (long long)i, (double)((float *)got.data)[i]);
            tn_array_free(&got);
            destroy_buffer(c, put.buffer);
            check_ok(c, __FILE__, __LINE__, await(c, put.done_with_host_buffer));
        }
}

static const int strided_widths[] = {1, 2, 4, 8, 16};
static const PJRT_Buffer_Type strided_types[] = {PJRT_Buffer_Type_U8, PJRT_Buffer_Type_U16,
                                                 PJRT_Buffer_Type_U32, PJRT_Buffer_Type_U64,
                                                 PJRT_Buffer_Type_C128};
static const char *width_name(const check_row *row, int i)
{
    static const char *const names[] = {"1", "2", "4", "8", "16"};
    return i < 5 ? names[i] : NULL;
}

/* Every order of three dimensions, each forwards and backwards. */
static void every_stride(context *c)
{
    int width = strided_widths[c->variant];
    enum { A = 3, B = 4, D = 5 };
    unsigned char data[A * B * D * 16];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i % (size_t)width == (size_t)width - 1 ? i % 60 : i * 7);
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++)
        for (int back = 0; back < 8; back++) {
            const int64_t all[] = {A, B, D}, dense[] = {B * D * width, D * width, width};
            int64_t dims[3], strides[3];
            unsigned char *start = data;
            for (int k = 0; k < 3; k++) {
                dims[k] = all[orders[o][k]];
                strides[k] = dense[orders[o][k]];
                if (!(back >> k & 1)) continue;
                start += strides[k] * (dims[k] - 1);
                strides[k] = -strides[k];
            }
            PJRT_Client_BufferFromHostBuffer_Args put =
                host_buffer(c, start, strided_types[c->variant], dims, 3, DURING);
            put.byte_strides = strides;
            put.num_byte_strides = 3;
            if (!OPTIONAL(Client_BufferFromHostBuffer, &put)) continue;
            check_ok(c, __FILE__, __LINE__, await(c, put.done_with_host_buffer));
            tn_array got = read_buffer(c, put.buffer);
            const unsigned char *at = got.data;
            for (int64_t x = 0; x < dims[0]; x++)
                for (int64_t y = 0; y < dims[1]; y++)
                    for (int64_t z = 0; z < dims[2]; z++, at += width)
                        if (memcmp(at, start + x * strides[0] + y * strides[1] + z * strides[2],
                                   (size_t)width))
                            fail(__FILE__, __LINE__,
                                 "strides [%lld,%lld,%lld]: element [%lld,%lld,%lld] is another",
                                 (long long)strides[0], (long long)strides[1],
                                 (long long)strides[2], (long long)x, (long long)y, (long long)z);
            tn_array_free(&got);
            destroy_buffer(c, put.buffer);
        }
}

static void large(context *c)
{
    int64_t n = 4 << 20;
    uint32_t *data = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) data[i] = (uint32_t)i * 2654435761u;
    PJRT_Buffer *b = array(c, data, PJRT_Buffer_Type_U32, &n, 1);
    char *room = malloc((size_t)n * 4 + 1); /* and to an odd address */
    ARGS(Buffer_ToHostBuffer, to, .src = b, .dst = room + 1, .dst_size = (size_t)n * 4);
    OK(Buffer_ToHostBuffer, &to);
    check_ok(c, __FILE__, __LINE__, await(c, to.event));
    CHECK(!memcmp(room + 1, data, (size_t)n * 4));
}

static void device_layouts(context *c)
{
    float data[6] = {1, 2, 3, 4, 5, 6};
    int64_t dims[] = {2, 3}, column_major[] = {0, 1};
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                       .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    layout.tiled =
        (PJRT_Buffer_MemoryLayout_Tiled){.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                                         .minor_to_major = column_major,
                                         .minor_to_major_size = 2};
    PJRT_Client_BufferFromHostBuffer_Args put =
        host_buffer(c, data, PJRT_Buffer_Type_F32, dims, 2, DURING);
    put.device_layout = &layout;
    if (!OPTIONAL(Client_BufferFromHostBuffer, &put)) skip("device layouts are not implemented");
    check_ok(c, __FILE__, __LINE__, await(c, put.done_with_host_buffer));
    int64_t row_major[] = {1, 0};
    layout.tiled.minor_to_major = row_major;
    float got[6];
    ARGS(Buffer_ToHostBuffer, to, .src = put.buffer, .host_layout = &layout, .dst = got,
         .dst_size = sizeof got);
    OK(Buffer_ToHostBuffer, &to);
    check_ok(c, __FILE__, __LINE__, await(c, to.event));
    for (int i = 0; i < 6; i++) CHECK(got[i] == data[i]);
}

static PJRT_AsyncHostToDeviceTransferManager *manager(context *c, int64_t *dims)
{
    if (!HAS(Client_CreateBuffersForAsyncHostToDevice)) skip("older than 0.60");
    static PJRT_ShapeSpec shapes[2];
    for (int i = 0; i < 2; i++)
        shapes[i] = (PJRT_ShapeSpec){.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                                     .dims = dims,
                                     .num_dims = 1,
                                     .element_type = PJRT_Buffer_Type_F32};
    ARGS(Client_CreateBuffersForAsyncHostToDevice, make, .client = c->client, .shape_specs = shapes,
         .num_shape_specs = 2, .memory = c->memory);
    if (!OPTIONAL(Client_CreateBuffersForAsyncHostToDevice, &make)) skip("not implemented");
    return make.transfer_manager;
}

static PJRT_Buffer *retrieve(context *c, PJRT_AsyncHostToDeviceTransferManager *m, int i)
{
    ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, get, .transfer_manager = m,
         .buffer_index = i);
    OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &get);
    return get.buffer_out;
}

static void in_pieces(context *c)
{
    int64_t dims[] = {4};
    PJRT_AsyncHostToDeviceTransferManager *m = manager(c, dims);
    ARGS(AsyncHostToDeviceTransferManager_BufferCount, n, .transfer_manager = m);
    OK(AsyncHostToDeviceTransferManager_BufferCount, &n);
    CHECK_EQ(n.buffer_count, 2);
    ARGS(AsyncHostToDeviceTransferManager_BufferSize, size, .transfer_manager = m,
         .buffer_index = 1);
    OK(AsyncHostToDeviceTransferManager_BufferSize, &size);
    CHECK(size.buffer_size >= 16);
    PJRT_Buffer *b = retrieve(c, m, 0), *bad = retrieve(c, m, 1);
    PJRT_Event *ready = ready_event(c, b);
    float data[] = {1, 2, 3, 4};
    for (int k = 1; k >= 0; k--) { /* the end first */
        ARGS(Event_IsReady, is, .event = ready);
        OK(Event_IsReady, &is);
        CHECK(!is.is_ready);
        ARGS(AsyncHostToDeviceTransferManager_TransferData, put, .transfer_manager = m,
             .buffer_index = 0, .data = data + 2 * k, .offset = 8 * k, .transfer_size = 8,
             .is_last_transfer = k == 0);
        OK(AsyncHostToDeviceTransferManager_TransferData, &put);
        check_ok(c, __FILE__, __LINE__, await(c, put.done_with_h2d_transfer));
    }
    check_ok(c, __FILE__, __LINE__, await(c, ready));
    expect_floats(c, b, 1, 2, 3, 4);
    ARGS(AsyncHostToDeviceTransferManager_SetBufferError, set, .transfer_manager = m,
         .buffer_index = 1, .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "planted",
         .error_message_size = 7);
    OK(AsyncHostToDeviceTransferManager_SetBufferError, &set);
    tn_status *s = await_buffer(c, bad);
    expect_error(s, TN_DATA_LOSS, "planted");
    ARGS(AsyncHostToDeviceTransferManager_Destroy, destroy, .transfer_manager = m);
    OK(AsyncHostToDeviceTransferManager_Destroy, &destroy);
}

static void uninitialized(context *c)
{
    if (!HAS(Client_CreateUninitializedBuffer)) skip("older than 0.69");
    int64_t dims[] = {2, 8};
    ARGS(Client_CreateUninitializedBuffer, make, .client = c->client, .shape_dims = dims,
         .shape_num_dims = 2, .shape_element_type = PJRT_Buffer_Type_F32, .device = c->device,
         .memory = c->memory);
    if (!OPTIONAL(Client_CreateUninitializedBuffer, &make)) skip("not implemented");
    ARGS(Buffer_OnDeviceSizeInBytes, size, .buffer = make.buffer);
    OK(Buffer_OnDeviceSizeInBytes, &size);
    CHECK(size.on_device_size_in_bytes >= 64);
    check_ok(c, __FILE__, __LINE__, await_buffer(c, make.buffer));
    destroy_buffer(c, make.buffer);
}

static void raw_future(context *c)
{
    if (!HAS(Buffer_CopyRawToHostFuture)) skip("older than 0.84");
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    float dst[4] = {0};
    ARGS(Buffer_CopyRawToHostFuture, get, .buffer = b, .transfer_size = 16);
    if (!OPTIONAL(Buffer_CopyRawToHostFuture, &get)) skip("not implemented");
    CHECK(get.event && get.future_ready_callback);
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args now = {
        .struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
        .callback_data = get.callback_data,
        .dst = dst};
    get.future_ready_callback(&now);
    check_ok(c, __FILE__, __LINE__, await(c, get.event));
    CHECK(dst[0] == 1 && dst[3] == 4);
}

static void alias(context *c)
{
    if (!HAS(Client_CreateAliasBuffer)) skip("older than 0.77");
    int64_t dims[] = {4}, order[] = {0};
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                       .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    layout.tiled =
        (PJRT_Buffer_MemoryLayout_Tiled){.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                                         .minor_to_major = order,
                                         .minor_to_major_size = 1};
    ARGS(Client_CreateAliasBuffer, make, .client = c->client, .memory = c->memory,
         .shape_dims = dims, .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32,
         .shape_layout = &layout);
    if (!OPTIONAL(Client_CreateAliasBuffer, &make)) skip("not implemented");
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    ARGS(Client_FulfillAliasBuffer, fulfil, .client = c->client, .buffer = b,
         .fulfill_alias_buffer_cb = make.fulfill_alias_buffer_cb);
    OK(Client_FulfillAliasBuffer, &fulfil);
    expect_floats(c, make.alias_buffer, 1, 2, 3, 4);
}

static void bitcast(context *c)
{
    if (!HAS(Buffer_Bitcast)) skip("older than 0.98");
    PJRT_Buffer *b = floats(c, c->device, 1, 2, 3, 4);
    int64_t dims[] = {2, 2};
    ARGS(Buffer_Bitcast, cast, .buffer = b, .element_type = PJRT_Buffer_Type_U32, .dims = dims,
         .num_dims = 2);
    if (!OPTIONAL(Buffer_Bitcast, &cast)) skip("not implemented");
    tn_array got = read_buffer(c, cast.out_buffer);
    CHECK_EQ(got.rank, 2);
    CHECK_EQ(((uint32_t *)got.data)[0], 0x3f800000);
    tn_array_free(&got);
    dims[0] = 3;
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_Bitcast, &cast);
    CHECK(s);
    tn_status_free(s);
}

static void dma(context *c)
{
    if (!HAS(Client_DmaMap)) skip("older than 0.67");
    static char room[8192] __attribute__((aligned(4096)));
    ARGS(Client_DmaMap, map, .client = c->client, .data = room, .size = sizeof room);
    if (!OPTIONAL(Client_DmaMap, &map)) skip("not implemented");
    ARGS(Client_DmaUnmap, unmap, .client = c->client, .data = room);
    OK(Client_DmaUnmap, &unmap);
}

const check_row transfer_checks[] = {
    {110, "arrays of every element type come back bit for bit", every_type, type_name},
    {111, "every promise about host memory works for any size and alignment", every_semantics,
     semantics_name},
    {112, "any order and direction of strides, by bytes of an element", every_stride, width_name},
    {113, "16 MB come back whole, to an odd address", large},
    {115, "a device layout does not change what an array holds", device_layouts},
    {116, "a transfer manager takes pieces in any order, and errors", in_pieces},
    {117, "an uninitialized buffer is ready and has its size", uninitialized},
    {118, "CopyRawToHostFuture copies where the caller says later", raw_future},
    {120, "an alias buffer becomes what it is fulfilled with", alias},
    {121, "Bitcast shows the same bits, and refuses another size", bitcast},
    {122, "DmaMap and DmaUnmap", dma},
    {0}};
