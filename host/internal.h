/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of the host library share. */
#ifndef TN_HOST_INTERNAL_H
#define TN_HOST_INTERNAL_H

#include "tenon/host.h"

struct tn_host_client {
    tn_plugin *plugin;
    PJRT_Client *client;
    PJRT_Device *const *devices; /* the client's */
    size_t n_devices;
    bool aliases;
};

#endif
