/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - clusters while they are formed; for the files of this folder alone. */
#ifndef TN_CODEGEN_GROUPS_H
#define TN_CODEGEN_GROUPS_H

#include "codegen/cluster.h"

/* A tile program to be, or one op that is none. */
typedef struct {
    const tn_op *single;
    tn_group_op *ops;
    uint32_t n_ops, capacity;
    uint32_t weight; /* micro-ops and registers that it may take: tn_group_limit at most */
    uint32_t reads;  /* operands of its ops that it doesn't make */
    uint32_t last;   /* when an op joined it */
    int64_t n;       /* elements */
} tn_group;

/* The groups of a region in the order in which they run. The mark of an op is `first` plus the
 * index of its group. */
typedef struct {
    tn_cluster_context *c;
    const tn_region *region;
    tn_group *groups;
    uint32_t n_groups, capacity;
    uint32_t first;
    uint32_t recent[4]; /* groups of several ops that were worked on last, plus 1 */
    uint32_t clock;     /* counts ops */
} tn_groups;

static inline bool tn_is_mapped(const tn_cluster_context *c, const tn_value *v)
{
    return c->flags[v->id] & TN_VALUE_MAPPED;
}

uint32_t tn_group_weight(const tn_groups *f, const tn_op *op);
static inline uint32_t tn_group_limit(const tn_groups *f)
{
    return f->c->jit ? TN_TILE_OPS : TN_TILE_FEW_OPS;
}

/* Lets groups compute cheap values again that they would otherwise have to find in memory, where
 * that makes memory free: what goes in is kept for others anyway. */
void tn_groups_recompute(tn_groups *f);

#endif
