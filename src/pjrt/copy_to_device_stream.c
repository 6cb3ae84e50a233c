/* SPDX-License-Identifier: Apache-2.0 */
#include "pjrt/object.h"

PJRT_Error *tn_pjrt_CopyToDeviceStream_Destroy(PJRT_CopyToDeviceStream_Destroy_Args *args)
{
    if (args->stream) tn_copy_stream_destroy(tn_of_stream(args->stream));
    return NULL;
}

PJRT_Error *tn_pjrt_CopyToDeviceStream_AddChunk(PJRT_CopyToDeviceStream_AddChunk_Args *args)
{
    TN_PJRT_NEED(stream);
    TN_PJRT_NEED(chunk);
    const PJRT_Chunk *c = args->chunk;
    PJRT_Event *done;
    TN_PJRT_TRY(tn_pjrt_event_new(&done));
    return tn_pjrt_event_give(tn_copy_stream_add(tn_of_stream(args->stream), c->data, c->size,
                                                 c->deleter, c->deleter_arg, &done->it),
                              done, &args->transfer_complete);
}

PJRT_Error *tn_pjrt_CopyToDeviceStream_TotalBytes(PJRT_CopyToDeviceStream_TotalBytes_Args *args)
{
    TN_PJRT_NEED(stream);
    args->total_bytes = tn_copy_stream_total(tn_of_stream(args->stream));
    return NULL;
}

PJRT_Error *tn_pjrt_CopyToDeviceStream_GranuleSize(PJRT_CopyToDeviceStream_GranuleSize_Args *args)
{
    TN_PJRT_NEED(stream);
    args->granule_size_in_bytes = tn_copy_stream_granule(tn_of_stream(args->stream));
    return NULL;
}

PJRT_Error *tn_pjrt_CopyToDeviceStream_CurrentBytes(PJRT_CopyToDeviceStream_CurrentBytes_Args *args)
{
    TN_PJRT_NEED(stream);
    args->current_bytes = tn_copy_stream_current(tn_of_stream(args->stream));
    return NULL;
}
