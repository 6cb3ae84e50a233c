/* SPDX-License-Identifier: Apache-2.0 */
/* host_channels.h - the send and receive callbacks of an execution, as its program calls them. */
#ifndef TN_PJRT_HOST_CHANNELS_H
#define TN_PJRT_HOST_CHANNELS_H

#include "ops/host_channel.h"
#include "pjrt/object.h"

/* Of a run of `l` on n_devices devices; device: the one that the caller chose, or NULL. The lists
 * are copied. *out is NULL where there are no callbacks. INVALID_ARGUMENT: a list or callback is
 * NULL. */
tn_status *tn_pjrt_host_channels_make(const PJRT_ExecuteOptions *o, tn_loaded_executable *l,
                                      tn_device *device, size_t n_devices,
                                      const tn_host_channels **out) TN_MUST_USE;
void tn_pjrt_host_channels_release(const tn_host_channels *c);

#endif
