/* SPDX-License-Identifier: Apache-2.0 */
/* device_assignment.h - which device runs which replica and partition, in the bytes of xla's
 * DeviceAssignmentProto. Threads: any. */
#ifndef TN_EXECUTABLE_DEVICE_ASSIGNMENT_H
#define TN_EXECUTABLE_DEVICE_ASSIGNMENT_H

#include "base/proto.h"

typedef struct {
    int64_t replicas, partitions; /* 0, 0: no assignment */
    const int64_t *ids;           /* device ids, [replicas][partitions] */
} tn_device_assignment;

/* Reads the message that `r` is at the start of; the ids live in `a`. INVALID_ARGUMENT if the
 * numbers of replicas and partitions do not fit the lists of ids. */
tn_status *tn_device_assignment_decode(tn_proto_reader *r, tn_arena *a,
                                       tn_device_assignment *out) TN_MUST_USE;

/* The bytes of the message; the caller frees them with free(). */
tn_status *tn_device_assignment_encode(const tn_device_assignment *d, void **data,
                                       size_t *size) TN_MUST_USE;

#endif
