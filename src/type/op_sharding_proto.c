/* SPDX-License-Identifier: Apache-2.0 */
#include "type/op_sharding_proto.h"

#include <stdlib.h>

#include "base/proto.h"

/* Fields of OpSharding in xla/xla_data.proto. */
enum {
    TYPE = 1,
    TILE_ASSIGNMENT_DIMENSIONS = 3,
    TILE_ASSIGNMENT_DEVICES = 4,
    REPLICATE_ON_LAST_TILE_DIM = 6,
    LAST_TILE_DIMS = 8
};

static tn_status *put_tiles(tn_proto_writer *w, const tn_op_sharding *s)
{
    size_t devices = 1;
    if (!s->n_dims || s->n_subgroups > s->n_dims)
        return TN_ERROR(INVALID_ARGUMENT,
                        "OpSharding: expected at least 1 dimension, %zu of them subgroups; got %zu",
                        s->n_subgroups, s->n_dims);
    for (size_t i = 0; i < s->n_dims; i++)
        if (s->dims[i] < 1 || __builtin_mul_overflow(devices, (size_t)s->dims[i], &devices) ||
            devices > PTRDIFF_MAX / sizeof(int64_t))
            return TN_ERROR(INVALID_ARGUMENT, "OpSharding: dimension %zu of the grid is %lld", i,
                            (long long)s->dims[i]);
    /* Readers refuse tiles of one device; the array is then whole. */
    if (devices == 1) return NULL;
    tn_proto_put_int64(w, TYPE, TN_SHARDING_TILED);
    tn_proto_put_packed(w, TILE_ASSIGNMENT_DIMENSIONS, s->dims, s->n_dims);
    tn_proto_put_packed(w, TILE_ASSIGNMENT_DEVICES, s->devices, devices);
    if (s->n_subgroups == 1 && s->subgroup[0] == TN_SHARDING_REPLICATED) {
        tn_proto_put_int64(w, REPLICATE_ON_LAST_TILE_DIM, 1);
    } else if (s->n_subgroups) {
        size_t list = tn_proto_begin(w, LAST_TILE_DIMS);
        for (size_t i = 0; i < s->n_subgroups; i++)
            tn_proto_put_varint(w, (uint64_t)s->subgroup[i]);
        tn_proto_end(w, list);
    }
    return NULL;
}

tn_status *tn_op_sharding_encode(const tn_op_sharding *s, void **data, size_t *size)
{
    tn_proto_writer w = {0};
    tn_status *status = NULL;
    switch (s->kind) {
    case TN_SHARDING_REPLICATED: break; /* the default of every field */
    case TN_SHARDING_MANUAL:
    case TN_SHARDING_UNREDUCED: tn_proto_put_int64(&w, TYPE, s->kind); break;
    case TN_SHARDING_MAXIMAL: {
        const int64_t one = 1;
        tn_proto_put_int64(&w, TYPE, s->kind);
        tn_proto_put_packed(&w, TILE_ASSIGNMENT_DIMENSIONS, &one, 1);
        tn_proto_put_packed(&w, TILE_ASSIGNMENT_DEVICES, &s->device, 1);
        break;
    }
    case TN_SHARDING_TILED: status = put_tiles(&w, s); break;
    }
    tn_status *ended = tn_proto_finish(&w, data, size);
    if (!status) return ended;
    if (ended) tn_status_free(ended);
    else free(*data);
    return status;
}
