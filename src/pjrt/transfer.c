/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - calls that bring the content of a buffer in, out or elsewhere. */
#include "pjrt/object.h"
#include "pjrt/shape.h"
#include "runtime/execute.h"

PJRT_Error *tn_pjrt_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args *args)
{
    TN_PJRT_NEED(client);
    tn_memory *m;
    tn_pjrt_shape shape;
    TN_PJRT_TRY(tn_pjrt_target(args->client, args->device, args->memory, &m));
    TN_PJRT_TRY(
        tn_pjrt_take_shape(args->type, args->dims, args->num_dims, args->device_layout, &shape));
    if ((unsigned)args->host_buffer_semantics > PJRT_HostBufferSemantics_kMutableZeroCopy)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "there are no host buffer semantics %d",
                             (int)args->host_buffer_semantics);
    tn_layout strides = {
        .kind = TN_LAYOUT_STRIDES, .rank = shape.type.rank, .values = args->byte_strides};
    if (args->byte_strides && args->num_byte_strides != args->num_dims)
        return TN_PJRT_ERROR(INVALID_ARGUMENT, "%zu strides for %zu dimensions",
                             args->num_byte_strides, args->num_dims);

    tn_host_array array = {
        .data = args->data, .type = &shape.type, .layout = args->byte_strides ? &strides : NULL};
    PJRT_Event *done;
    TN_PJRT_TRY(tn_pjrt_event_new(&done));
    tn_buffer *b;
    tn_status *s = tn_buffer_from_host(m, &array, (tn_host_semantics)args->host_buffer_semantics,
                                       shape.layout, &done->it, &b);
    if (!s) args->buffer = tn_pjrt_buffer(b);
    return tn_pjrt_event_give(s, done, &args->done_with_host_buffer);
}

PJRT_Error *tn_pjrt_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args *args)
{
    TN_PJRT_NEED(src);
    tn_buffer *b = tn_of_buffer(args->src);
    tn_layout storage;
    const tn_layout *layout;
    TN_PJRT_TRY(tn_pjrt_take_layout(args->host_layout, tn_buffer_type(b)->rank, &storage, &layout));
    if (!args->dst) {
        size_t size;
        TN_PJRT_TRY(tn_buffer_host_bytes(b, layout, &size));
        args->dst_size = size;
        args->event = NULL;
        return NULL;
    }
    PJRT_Event *event;
    tn_execute_note_wait();
    TN_PJRT_TRY(tn_pjrt_event_new(&event));
    return tn_pjrt_event_give(tn_buffer_to_host(b, layout, args->dst, args->dst_size, &event->it),
                              event, &args->event);
}

PJRT_Error *tn_pjrt_Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args *args)
{
    TN_PJRT_NEED(buffer);
    if (args->transfer_size > 0) TN_PJRT_NEED(dst);
    PJRT_Event *event;
    TN_PJRT_TRY(tn_pjrt_event_new(&event));
    return tn_pjrt_event_give(tn_buffer_copy_raw_to_host(tn_of_buffer(args->buffer), args->dst,
                                                         args->offset, args->transfer_size,
                                                         &event->it),
                              event, &args->event);
}

static void place_is_known(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args)
{
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args a;
    tn_status *s = TN_PJRT_TAKE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst, args, &a);
    if (s) { /* nothing says which copy was meant, and nobody listens */
        tn_status_free(s);
        return;
    }
    tn_raw_copy_start(a.callback_data, a.dst,
                      tn_pjrt_status_of(a.error_code, a.error_message, a.error_message_size));
}

PJRT_Error *tn_pjrt_Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args *args)
{
    TN_PJRT_NEED(buffer);
    PJRT_Event *event;
    TN_PJRT_TRY(tn_pjrt_event_new(&event));
    tn_raw_copy *copy;
    tn_status *s = tn_buffer_copy_raw_to_host_later(tn_of_buffer(args->buffer), args->offset,
                                                    args->transfer_size, &event->it, &copy);
    if (!s) {
        args->callback_data = copy;
        args->future_ready_callback = place_is_known;
    }
    return tn_pjrt_event_give(s, event, &args->event);
}

static tn_status *copy(PJRT_Buffer *from, tn_memory *to, PJRT_Buffer **out)
{
    tn_buffer *b;
    TN_TRY(tn_buffer_copy_to_memory(tn_of_buffer(from), to, &b));
    *out = tn_pjrt_buffer(b);
    return NULL;
}

PJRT_Error *tn_pjrt_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args *args)
{
    TN_PJRT_NEED(buffer);
    TN_PJRT_NEED(dst_device);
    return tn_pjrt_error(
        copy(args->buffer, tn_device_default_memory(args->dst_device->it), &args->dst_buffer));
}

PJRT_Error *tn_pjrt_Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args *args)
{
    TN_PJRT_NEED(buffer);
    TN_PJRT_NEED(dst_memory);
    return tn_pjrt_error(copy(args->buffer, tn_of_memory(args->dst_memory)->it, &args->dst_buffer));
}
