/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pjrt/named_value.h"
#include "pjrt/object.h"
#include "pjrt/shape.h"

typedef struct {
    tn_pjrt_shape *shapes;
    const tn_type **types;
    const tn_layout **layouts;
} request;

static tn_status *take_specs(const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args,
                             request *r)
{
    size_t n = args->num_shape_specs;
    r->shapes = calloc(n + 1, sizeof *r->shapes);
    r->types = calloc(n + 1, sizeof(tn_type *));
    r->layouts = calloc(n + 1, sizeof(tn_layout *));
    if (!r->shapes || !r->types || !r->layouts)
        return TN_ERROR(RESOURCE_EXHAUSTED, "no memory for %zu buffers", n);
    for (size_t i = 0; i < n; i++) {
        PJRT_ShapeSpec spec;
        TN_TRY(TN_PJRT_TAKE_AT(PJRT_ShapeSpec, element_type, args->shape_specs, i, &spec));
        TN_ANNOTATE(tn_pjrt_take_shape(spec.element_type, spec.dims, spec.num_dims,
                                       args->device_layouts ? args->device_layouts[i] : NULL,
                                       &r->shapes[i]),
                    "shape %zu", i);
        r->types[i] = &r->shapes[i].type;
        r->layouts[i] = r->shapes[i].layout;
    }
    return NULL;
}

PJRT_Error *tn_pjrt_Client_CreateBuffersForAsyncHostToDevice(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args)
{
    TN_PJRT_NEED(client);
    if (args->device_layouts && args->num_device_layouts != args->num_shape_specs)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "%zu layouts for %zu shapes",
                             args->num_device_layouts, args->num_shape_specs);
    tn_memory *m;
    TN_PJRT_TRY(tn_pjrt_target(args->client, NULL, args->memory, &m));
    request r = {0};
    tn_transfer_manager *t;
    tn_status *s = take_specs(args, &r);
    if (!s) s = tn_transfer_manager_create(m, args->num_shape_specs, r.types, r.layouts, &t);
    if (!s) args->transfer_manager = tn_pjrt_transfer_manager(t);
    free(r.shapes);
    free(r.types);
    free(r.layouts);
    return tn_pjrt_error(s);
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_Destroy(
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args)
{
    tn_transfer_manager_destroy(tn_of_transfer_manager(args->transfer_manager));
    return NULL;
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    if (args->transfer_size > 0) TN_PJRT_NEED(data);
    PJRT_Event *done;
    TN_PJRT_TRY(tn_pjrt_event_new(&done));
    return tn_pjrt_event_give(
        tn_transfer_manager_write(tn_of_transfer_manager(args->transfer_manager),
                                  args->buffer_index, args->data, args->offset, args->transfer_size,
                                  args->is_last_transfer, &done->it),
        done, &args->done_with_h2d_transfer);
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    tn_pjrt_shape shape;
    TN_PJRT_TRY(tn_pjrt_take_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                                   args->shape_layout, &shape));
    tn_host_array array = {.data = args->data, .type = &shape.type, .layout = shape.layout};
    PJRT_Event *done;
    TN_PJRT_TRY(tn_pjrt_event_new(&done));
    return tn_pjrt_event_give(
        tn_transfer_manager_write_array(tn_of_transfer_manager(args->transfer_manager),
                                        args->buffer_index, &array, &done->it),
        done, &args->done_with_h2d_transfer);
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    tn_buffer *b;
    TN_PJRT_TRY(tn_transfer_manager_retrieve(tn_of_transfer_manager(args->transfer_manager),
                                             args->buffer_index, &b));
    args->buffer_out = tn_pjrt_buffer(b);
    return NULL;
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_Device(
    PJRT_AsyncHostToDeviceTransferManager_Device_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    args->device_out = tn_pjrt_device_find(
        tn_transfer_manager_device(tn_of_transfer_manager(args->transfer_manager)));
    return NULL;
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_BufferCount(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    args->buffer_count = tn_transfer_manager_count(tn_of_transfer_manager(args->transfer_manager));
    return NULL;
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    return tn_pjrt_error(tn_transfer_manager_bytes(tn_of_transfer_manager(args->transfer_manager),
                                                   args->buffer_index, &args->buffer_size));
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    tn_status *s =
        tn_pjrt_status_of(args->error_code, args->error_message, args->error_message_size);
    if (!s)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "the error of buffer %d has the code OK",
                             args->buffer_index);
    return tn_pjrt_error(tn_transfer_manager_set_error(
        tn_of_transfer_manager(args->transfer_manager), args->buffer_index, s));
}

PJRT_Error *tn_pjrt_AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *args)
{
    TN_PJRT_NEED(transfer_manager);
    tn_named_value *values;
    TN_PJRT_TRY(tn_pjrt_take_values(args->transfer_metadata, args->num_metadata, &values));
    tn_transfer_manager_add_metadata(tn_of_transfer_manager(args->transfer_manager), values,
                                     args->num_metadata);
    free(values);
    return NULL;
}
