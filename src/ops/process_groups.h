/* SPDX-License-Identifier: Apache-2.0 */
/* process_groups.h - which devices meet at an op: the strategies of the specification's process
 * grid, by channel_id and use_global_device_ids. */
#ifndef TN_OPS_PROCESS_GROUPS_H
#define TN_OPS_PROCESS_GROUPS_H

#include "ops/infer.h"

typedef enum {
    TN_CROSS_REPLICA,               /* groups of replicas, each partition for itself */
    TN_CROSS_PARTITION,             /* groups of partitions, each replica for itself */
    TN_CROSS_REPLICA_AND_PARTITION, /* groups of replicas with all their partitions */
    TN_FLATTENED_IDS                /* groups of devices */
} tn_group_strategy;

/* Of all_reduce, all_gather and reduce_scatter. */
tn_status *tn_reduce_strategy(const tn_op *op, tn_group_strategy *out) TN_MUST_USE;
/* Of all_to_all and collective_permute; and of collective_broadcast and collective_reduce, of which
 * the latter may use global ids as well. */
tn_group_strategy tn_channel_strategy(const tn_op *op);
tn_group_strategy tn_rooted_strategy(const tn_op *op);

/* Ids that an op may name under a strategy. */
int64_t tn_id_count(const tn_op *op, tn_group_strategy how);

enum {
    TN_GROUPS_OF_ALL = 1,   /* replica_groups should name everybody */
    TN_GROUPS_OF_A_SIZE = 2 /* groups should have as many members each */
};
/* Ids of replica_groups are in range and named once; rows may be filled up with -1. *size is the
 * number of members of the largest group. */
tn_status *tn_check_groups(const tn_op *op, tn_group_strategy how, unsigned flags,
                           int64_t *size) TN_MUST_USE;

/* Pairs of [source, target] ids below `count`, no source and no target twice. */
tn_status *tn_check_pairs(const tn_op *op, int64_t count, tn_ints *out) TN_MUST_USE;

/* The group that a device is in, as devices (meeting.h) in the order of the specification. */
typedef struct {
    uint32_t *members, n; /* n = 0: in none */
    uint32_t me;          /* members[me] is the device itself */
} tn_group;
/* By replica_groups; memory comes from ctx->scratch. */
tn_status *tn_find_group(const tn_op *op, const tn_eval_context *ctx, tn_group_strategy how,
                         tn_group *out) TN_MUST_USE;
/* All that source_target_pairs names, in the order of the pairs. *source and *target: the members
 * from which and to which the device gets and sends; n: none. */
tn_status *tn_find_pairs(const tn_op *op, const tn_eval_context *ctx, tn_group_strategy how,
                         tn_group *out, uint32_t *source, uint32_t *target) TN_MUST_USE;

#endif
