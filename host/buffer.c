/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "host/internal.h"

static void drop_event(tn_host_client *c, PJRT_Event *event)
{
    if (!event) return;
    PJRT_Event_Destroy_Args args = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE,
                                    .event = event};
    tn_status_free(TN_PLUGIN_CALL(c->plugin, PJRT_Event_Destroy, &args));
}

void tn_host_client_allow_aliases(tn_host_client *c)
{
    c->aliases = true;
}

tn_status *tn_host_buffer_from_array(tn_host_client *c, PJRT_Device *device, const tn_array *a,
                                     PJRT_Buffer **out)
{
    PJRT_Client_BufferFromHostBuffer_Args args = {
        .struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE,
        .client = c->client,
        .data = a->data,
        .type = a->type,
        .dims = a->dims,
        .num_dims = a->rank,
        .host_buffer_semantics = c->aliases
                                     ? PJRT_HostBufferSemantics_kImmutableZeroCopy
                                     : PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
        .device = device};
    TN_TRY(TN_PLUGIN_CALL(c->plugin, PJRT_Client_BufferFromHostBuffer, &args));
    tn_status *s = NULL;
    if (c->aliases) drop_event(c, args.done_with_host_buffer); /* done when the buffer is gone */
    else s = tn_host_event_wait(c, args.done_with_host_buffer);
    if (s) tn_host_buffer_destroy(c, args.buffer);
    else *out = args.buffer;
    return s;
}

/* A row-major layout for `rank` dimensions in order[rank]. */
static PJRT_Buffer_MemoryLayout row_major(size_t rank, int64_t *order)
{
    for (size_t i = 0; i < rank; i++) order[i] = (int64_t)(rank - 1 - i);
    PJRT_Buffer_MemoryLayout layout = {.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                       .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = order;
    layout.tiled.minor_to_major_size = rank;
    return layout;
}

tn_status *tn_host_buffer_to_array(tn_host_client *c, PJRT_Buffer *buffer, tn_array *out)
{
    PJRT_Buffer_ElementType_Args type = {.struct_size = PJRT_Buffer_ElementType_Args_STRUCT_SIZE,
                                         .buffer = buffer};
    TN_TRY(TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_ElementType, &type));
    PJRT_Buffer_Dimensions_Args dims = {.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE,
                                        .buffer = buffer};
    TN_TRY(TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_Dimensions, &dims));
    tn_array a;
    TN_TRY(tn_array_make(type.type, dims.num_dims, dims.dims, &a));
    int64_t *order = malloc((a.rank + 1) * sizeof *order);
    if (!order) {
        tn_array_free(&a);
        return TN_ERROR(RESOURCE_EXHAUSTED, "out of memory");
    }
    PJRT_Buffer_MemoryLayout layout = row_major(a.rank, order);
    PJRT_Buffer_ToHostBuffer_Args args = {.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE,
                                          .src = buffer,
                                          .host_layout = &layout,
                                          .dst = a.data,
                                          .dst_size = a.size};
    tn_status *s = TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_ToHostBuffer, &args);
    if (!s) s = tn_host_event_wait(c, args.event);
    free(order);
    if (s) tn_array_free(&a);
    else *out = a;
    return s;
}

void tn_host_buffer_destroy(tn_host_client *c, PJRT_Buffer *buffer)
{
    if (!buffer) return;
    PJRT_Buffer_Destroy_Args args = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE,
                                     .buffer = buffer};
    tn_status_free(TN_PLUGIN_CALL(c->plugin, PJRT_Buffer_Destroy, &args));
}
