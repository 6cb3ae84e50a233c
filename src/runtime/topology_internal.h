/* SPDX-License-Identifier: Apache-2.0 */
/* topology_internal.h - how the runtime makes topologies. */
#ifndef TN_RUNTIME_TOPOLOGY_INTERNAL_H
#define TN_RUNTIME_TOPOLOGY_INTERNAL_H

#include "runtime/topology.h"

/* `n` devices of one kind, all of process 0. Strings are copied. */
tn_status *tn_topology_make(const char *platform_name, const char *platform_version,
                            const char *kind, uint32_t n, tn_topology **out) TN_MUST_USE;

/* The version that clients of a driver report; `buf` has room for `size` bytes. */
void tn_platform_version(const char *driver, char *buf, size_t size);

#endif
