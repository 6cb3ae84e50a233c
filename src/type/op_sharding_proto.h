/* SPDX-License-Identifier: Apache-2.0 */
/* op_sharding_proto.h - how an array is divided among devices, in the bytes of xla's OpSharding,
 * the form in which frameworks ask for the shardings of an executable. Threads: any. */
#ifndef TN_TYPE_OP_SHARDING_PROTO_H
#define TN_TYPE_OP_SHARDING_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/status.h"

/* Values are those of OpSharding.Type. */
typedef enum {
    TN_SHARDING_REPLICATED = 0, /* each device has all of it */
    TN_SHARDING_MAXIMAL = 1,    /* one device has all of it */
    TN_SHARDING_TILED = 3,      /* each device has one tile */
    TN_SHARDING_MANUAL = 4,     /* the program is already that of one device */
    TN_SHARDING_UNREDUCED = 6   /* each device has a part of the sum */
} tn_sharding_kind;

typedef struct tn_op_sharding {
    tn_sharding_kind kind;
    int64_t device; /* maximal */
    /* Tiled: the grid of devices. Its first dimensions are those of the array, each with the number
     * of tiles along it; the other n_subgroups dimensions run over devices that share a tile. */
    const int64_t *dims; /* [n_dims], each 1 or more */
    size_t n_dims;
    const int64_t *devices;           /* [product of dims], row-major, each device once */
    const tn_sharding_kind *subgroup; /* [n_subgroups]: replicated, manual or unreduced */
    size_t n_subgroups;
} tn_op_sharding;

/* The bytes of the message; the caller frees them with free(). INVALID_ARGUMENT if a tiled sharding
 * has no dimensions, one below 1, more devices than fit in memory, or more subgroups than
 * dimensions. */
tn_status *tn_op_sharding_encode(const tn_op_sharding *s, void **data, size_t *size) TN_MUST_USE;

#endif
