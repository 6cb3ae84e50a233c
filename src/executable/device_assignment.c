/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/device_assignment.h"

/* Numbers of replicas and of partitions are int32 in the proto. */
#define MOST INT32_MAX

/* The devices of one partition. */
static tn_status *one_list(const tn_proto_reader *r, tn_arena *a, tn_proto_list *ids)
{
    tn_proto_reader list;
    TN_TRY(tn_proto_message(r, "computation_devices", "ComputationDevice", &list));
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(&list, &more));
        if (!more) return NULL;
        if (list.field == 1) TN_TRY(tn_proto_append(&list, "replica_device_ids", a, ids));
    }
}

tn_status *tn_device_assignment_decode(tn_proto_reader *r, tn_arena *a, tn_device_assignment *out)
{
    int64_t replicas = 0, partitions = 0, lists = 0, length = 0;
    tn_proto_list ids = {0}; /* the lists one after the other: [partitions][replicas] */
    for (;;) {
        bool more;
        TN_TRY(tn_proto_next(r, &more));
        if (!more) break;
        switch (r->field) {
        case 1: TN_TRY(tn_proto_int64_in(r, "replica_count", 1, MOST, &replicas)); break;
        case 2: TN_TRY(tn_proto_int64_in(r, "computation_count", 1, MOST, &partitions)); break;
        case 3: {
            size_t before = ids.n;
            TN_TRY(one_list(r, a, &ids));
            if (lists++ == 0) length = (int64_t)ids.n;
            if ((int64_t)(ids.n - before) != length)
                return TN_ERROR(INVALID_ARGUMENT,
                                "DeviceAssignmentProto.computation_devices: list 0 has %lld "
                                "devices, list %lld has %zu",
                                (long long)length, (long long)lists - 1, ids.n - before);
            break;
        }
        }
    }
    if (lists != partitions || length != replicas)
        return TN_ERROR(INVALID_ARGUMENT,
                        "DeviceAssignmentProto.computation_devices: expected %lld lists "
                        "(computation_count) of %lld devices (replica_count), got %lld of %lld",
                        (long long)partitions, (long long)replicas, (long long)lists,
                        (long long)length);
    int64_t *turned = TN_NEW_ARRAY(a, int64_t, ids.n);
    for (int64_t p = 0; p < partitions; p++)
        for (int64_t i = 0; i < replicas; i++)
            turned[i * partitions + p] = ids.at[p * replicas + i];
    *out = (tn_device_assignment){replicas, partitions, turned};
    return NULL;
}

tn_status *tn_device_assignment_encode(const tn_device_assignment *d, void **data, size_t *size)
{
    tn_proto_writer w = {0};
    tn_proto_put_int64(&w, 1, d->replicas);
    tn_proto_put_int64(&w, 2, d->partitions);
    for (int64_t p = 0; p < d->partitions; p++) {
        size_t list = tn_proto_begin(&w, 3), packed = tn_proto_begin(&w, 1);
        for (int64_t i = 0; i < d->replicas; i++)
            tn_proto_put_varint(&w, (uint64_t)d->ids[i * d->partitions + p]);
        tn_proto_end(&w, packed);
        tn_proto_end(&w, list);
    }
    return tn_proto_finish(&w, data, size);
}
