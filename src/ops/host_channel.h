/* SPDX-License-Identifier: Apache-2.0 */
/* host_channel.h - where sends to the host and receives from it go: to the caller of the run. */
#ifndef TN_OPS_HOST_CHANNEL_H
#define TN_OPS_HOST_CHANNEL_H

#include "ops/ops.h"

typedef struct tn_host_channels tn_host_channels;
struct tn_host_channels {
    /* Hands `bytes` bytes of device `part` of the run to the host; they are read before it returns.
     * NOT_FOUND: nobody serves the channel. */
    tn_status *(*send)(const tn_host_channels *c, uint32_t part, int64_t channel, const void *data,
                       size_t bytes)TN_MUST_USE;
    /* Waits until the host has filled `bytes` bytes. */
    tn_status *(*receive)(const tn_host_channels *c, uint32_t part, int64_t channel, void *data,
                          const tn_type *type)TN_MUST_USE;
};

#endif
