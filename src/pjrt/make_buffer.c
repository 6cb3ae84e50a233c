/* SPDX-License-Identifier: Apache-2.0 */
/* make_buffer.c - calls that make a buffer out of something else than an array of the host's. */
#include "pjrt/named_value.h"
#include "pjrt/object.h"
#include "pjrt/shape.h"

PJRT_Error *tn_pjrt_Client_CreateUninitializedBuffer(
    PJRT_Client_CreateUninitializedBuffer_Args *args)
{
    TN_PJRT_NEED(client);
    tn_memory *m;
    tn_pjrt_shape shape;
    tn_buffer *b;
    TN_PJRT_TRY(tn_pjrt_target(args->client, args->device, args->memory, &m));
    TN_PJRT_TRY(tn_pjrt_take_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                                   args->shape_layout, &shape));
    TN_PJRT_TRY(tn_buffer_create_uninitialized(m, &shape.type, shape.layout, &b));
    args->buffer = tn_pjrt_buffer(b);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args *args)
{
    TN_PJRT_NEED(client);
    tn_memory *m;
    tn_pjrt_shape shape;
    tn_buffer *b;
    TN_PJRT_TRY(tn_pjrt_target(args->client, args->device, args->memory, &m));
    TN_PJRT_TRY(
        tn_pjrt_take_shape(args->element_type, args->dims, args->num_dims, args->layout, &shape));
    TN_PJRT_TRY(tn_buffer_create_view(m, &shape.type, shape.layout, args->device_buffer_ptr,
                                      args->on_delete_callback, args->on_delete_callback_arg, &b));
    args->buffer = tn_pjrt_buffer(b);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args *args)
{
    TN_PJRT_NEED(client);
    tn_memory *m;
    tn_pjrt_shape shape;
    tn_buffer *b;
    TN_PJRT_TRY(tn_pjrt_target(args->client, NULL, args->memory, &m));
    TN_PJRT_TRY(tn_pjrt_take_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                                   args->shape_layout, &shape));
    tn_status *s =
        tn_pjrt_status_of(args->error_code, args->error_message, args->error_message_size);
    if (!s) return TN_PJRT_ERROR(INVALID_ARGUMENT, "PJRT_Client_CreateErrorBuffer: the code is OK");
    TN_PJRT_TRY(tn_pjrt_take_payload(args->payload, args->num_payload, &s));
    TN_PJRT_TRY(tn_buffer_create_error(m, &shape.type, shape.layout, s, &b));
    args->buffer = tn_pjrt_buffer(b);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args *args)
{
    TN_PJRT_NEED(client);
    tn_memory *m;
    tn_pjrt_shape shape;
    tn_buffer *b;
    tn_buffer_promise *promise;
    TN_PJRT_TRY(tn_pjrt_target(args->client, NULL, args->memory, &m));
    TN_PJRT_TRY(tn_pjrt_take_shape(args->shape_element_type, args->shape_dims, args->shape_num_dims,
                                   args->shape_layout, &shape));
    TN_PJRT_TRY(tn_buffer_create_alias(m, &shape.type, shape.layout, &b, &promise));
    args->alias_buffer = tn_pjrt_buffer(b);
    args->fulfill_alias_buffer_cb = tn_pjrt_promise(promise);
    return NULL;
}

PJRT_Error *tn_pjrt_Client_FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args *args)
{
    TN_PJRT_NEED(fulfill_alias_buffer_cb);
    tn_status *s =
        tn_pjrt_status_of(args->status_code, args->error_message, args->error_message_size);
    if (!s && !args->buffer) s = TN_ERROR(INVALID_ARGUMENT, "an alias was fulfilled with nothing");
    return tn_pjrt_error(tn_buffer_promise_fulfill(tn_of_promise(args->fulfill_alias_buffer_cb),
                                                   s ? NULL : tn_of_buffer(args->buffer), s));
}

PJRT_Error *tn_pjrt_Buffer_Bitcast(PJRT_Buffer_Bitcast_Args *args)
{
    TN_PJRT_NEED(buffer);
    tn_pjrt_shape shape;
    tn_buffer *b;
    TN_PJRT_TRY(tn_pjrt_take_shape(args->element_type, args->dims, args->num_dims,
                                   args->device_layout, &shape));
    TN_PJRT_TRY(tn_buffer_bitcast(tn_of_buffer(args->buffer), &shape.type, shape.layout, &b));
    args->out_buffer = tn_pjrt_buffer(b);
    return NULL;
}

static void dependency_ready(PJRT_Buffer_DonateWithControlDependency_Callback_Args *args)
{
    PJRT_Buffer_DonateWithControlDependency_Callback_Args a;
    tn_status *s =
        TN_PJRT_TAKE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_code, args, &a);
    if (s) { /* nothing says which dependency was meant, and nobody listens */
        tn_status_free(s);
        return;
    }
    tn_event *dependency = a.callback_data;
    tn_event_set(dependency,
                 tn_pjrt_status_of(a.error_code, a.error_message, a.error_message_size));
    tn_event_release(dependency);
}

PJRT_Error *tn_pjrt_Buffer_DonateWithControlDependency(
    PJRT_Buffer_DonateWithControlDependency_Args *args)
{
    TN_PJRT_NEED(buffer);
    tn_buffer *b;
    tn_event *dependency;
    TN_PJRT_TRY(tn_buffer_donate_after(tn_of_buffer(args->buffer), &dependency, &b));
    args->callback_data = dependency;
    args->dependency_ready_callback = dependency_ready;
    args->out_buffer = tn_pjrt_buffer(b);
    return NULL;
}
