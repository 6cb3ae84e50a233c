/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/process_groups.h"

static const tn_module *module_of(const tn_op *op)
{
    return op->region->function->module;
}

static const char *const strategy_texts[] = {
    [TN_CROSS_REPLICA] = "replicas",
    [TN_CROSS_PARTITION] = "partitions",
    [TN_CROSS_REPLICA_AND_PARTITION] = "replicas",
    [TN_FLATTENED_IDS] = "devices",
};

int64_t tn_id_count(const tn_op *op, tn_group_strategy how)
{
    const tn_module *m = module_of(op);
    switch (how) {
    case TN_FLATTENED_IDS: return (int64_t)m->num_replicas * m->num_partitions;
    case TN_CROSS_PARTITION: return m->num_partitions;
    case TN_CROSS_REPLICA:
    case TN_CROSS_REPLICA_AND_PARTITION: break;
    }
    return m->num_replicas;
}

tn_status *tn_reduce_strategy(const tn_op *op, tn_group_strategy *out)
{
    bool channel = tn_op_int(op, TN_ATTR_channel_id, 0) > 0;
    bool global = tn_op_bool(op, TN_ATTR_use_global_device_ids, false);
    if (global && !channel)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "use_global_device_ids should come with a positive channel_id, which is "
                           "%" PRId64,
                           tn_op_int(op, TN_ATTR_channel_id, 0));
    *out = global ? TN_FLATTENED_IDS : channel ? TN_CROSS_REPLICA_AND_PARTITION : TN_CROSS_REPLICA;
    return NULL;
}

tn_group_strategy tn_channel_strategy(const tn_op *op)
{
    return tn_op_int(op, TN_ATTR_channel_id, 0) > 0 ? TN_CROSS_PARTITION : TN_CROSS_REPLICA;
}

tn_group_strategy tn_rooted_strategy(const tn_op *op)
{
    tn_group_strategy how = tn_channel_strategy(op);
    if (op->kind != TN_OP_collective_reduce || how == TN_CROSS_REPLICA) return how;
    return tn_op_bool(op, TN_ATTR_use_global_device_ids, false) ? TN_FLATTENED_IDS : how;
}

/* replica_groups: rows of `columns` ids. */
typedef struct {
    const int64_t *ids;
    uint32_t rows, columns;
} groups;

static groups groups_of(const tn_op *op)
{
    const tn_attr *a = tn_op_attr(op, TN_ATTR_replica_groups);
    if (!a || !a->ints.n) return (groups){0};
    uint32_t rows = a->ints.rows ? a->ints.rows : 1;
    return (groups){a->ints.data, rows, a->ints.n / rows};
}

static tn_status *check_sizes(const tn_op *op, groups g)
{
    for (uint32_t i = 0; i < g.rows * g.columns; i++)
        if (g.ids[i] == -1)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "replica_groups should be of one size, but group %u has fewer than "
                               "%u members",
                               i / g.columns, g.columns);
    return NULL;
}

tn_status *tn_check_groups(const tn_op *op, tn_group_strategy how, unsigned flags, int64_t *size)
{
    const tn_attr *a = tn_op_attr(op, TN_ATTR_replica_groups);
    if (a && a->ints.rows && a->ints.n % a->ints.rows)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "replica_groups has %u values in %u rows",
                           a->ints.n, a->ints.rows);
    groups g = groups_of(op);
    int64_t count = tn_id_count(op, how), named = 0;
    for (uint32_t i = 0; i < g.rows * g.columns; i++) {
        int64_t id = g.ids[i];
        if (id == -1) continue;
        if (id < 0 || id >= count)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "replica_groups names %" PRId64 ", but there are %" PRId64 " %s", id,
                               count, strategy_texts[how]);
        if (tn_ints_have((tn_ints){g.ids, i}, id))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "replica_groups names %" PRId64 " twice", id);
        named++;
    }
    if ((flags & TN_GROUPS_OF_ALL) && named && named != count)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "replica_groups should name all %" PRId64 " %s and names %" PRId64,
                           count, strategy_texts[how], named);
    if (named && (flags & TN_GROUPS_OF_A_SIZE)) TN_TRY(check_sizes(op, g));
    *size = named ? g.columns : count; /* no groups: one of all */
    if (how == TN_CROSS_REPLICA_AND_PARTITION) *size *= module_of(op)->num_partitions;
    return NULL;
}

tn_status *tn_check_pairs(const tn_op *op, int64_t count, tn_ints *out)
{
    const tn_attr *x = tn_op_attr(op, TN_ATTR_source_target_pairs);
    *out = x ? (tn_ints){x->ints.data, x->ints.n} : (tn_ints){0};
    if (out->n && out->n != 2 * x->ints.rows)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "source_target_pairs should have 2 columns and has %u values in %u rows",
                           x->ints.n, x->ints.rows);
    for (uint32_t i = 0; i < out->n; i++) {
        int64_t id = out->v[i];
        if (id < 0 || id >= count)
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op,
                "source_target_pairs names %" PRId64 ", but there are %" PRId64 " ids", id, count);
        for (uint32_t j = i % 2; j < i; j += 2)
            if (out->v[j] == id)
                return TN_OP_ERROR(INVALID_ARGUMENT, op,
                                   "source_target_pairs names %s %" PRId64 " twice",
                                   i % 2 ? "target" : "source", id);
    }
    return NULL;
}

/* --- groups of a run --- */

/* What a device is called under a strategy, and the device that is called `id` in its place. */
static int64_t own_id(const tn_op *op, const tn_eval_context *ctx, tn_group_strategy how)
{
    if (how == TN_CROSS_PARTITION) return ctx->partition_id;
    if (how != TN_FLATTENED_IDS) return ctx->replica_id;
    return (int64_t)ctx->replica_id * module_of(op)->num_partitions + ctx->partition_id;
}

static uint32_t device_of(const tn_op *op, const tn_eval_context *ctx, tn_group_strategy how,
                          int64_t id)
{
    uint32_t partitions = module_of(op)->num_partitions;
    if (how == TN_FLATTENED_IDS) return (uint32_t)id;
    if (how == TN_CROSS_PARTITION) return ctx->replica_id * partitions + (uint32_t)id;
    return (uint32_t)id * partitions + ctx->partition_id;
}

static tn_status *new_group(const tn_op *op, const tn_eval_context *ctx, size_t n, tn_group *out)
{
    *out = (tn_group){.members = tn_scratch_alloc(ctx->scratch, (n + 1) * sizeof *out->members)};
    return out->members ? NULL : TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for a group");
}

/* The row that names `id`: *first to *first + *n of g->ids; without groups all ids are one. */
static void find_row(groups g, int64_t id, uint32_t *first, uint32_t *n)
{
    *n = 0;
    for (uint32_t i = 0; i < g.rows * g.columns; i++) {
        if (g.ids[i] != id) continue;
        *first = i / g.columns * g.columns;
        *n = g.columns;
        return;
    }
}

tn_status *tn_find_group(const tn_op *op, const tn_eval_context *ctx, tn_group_strategy how,
                         tn_group *out)
{
    const tn_module *m = module_of(op);
    groups g = groups_of(op);
    bool all = true;
    for (uint32_t i = 0; i < g.rows * g.columns; i++) all = all && g.ids[i] == -1;
    uint32_t first = 0, n = (uint32_t)tn_id_count(op, how);
    if (!all) find_row(g, own_id(op, ctx, how), &first, &n);
    uint32_t inner = how == TN_CROSS_REPLICA_AND_PARTITION ? m->num_partitions : 1;
    TN_TRY(new_group(op, ctx, (size_t)n * inner, out));
    uint32_t self = ctx->replica_id * m->num_partitions + ctx->partition_id;
    for (uint32_t p = 0; p < inner; p++)
        for (uint32_t i = 0; i < n; i++) {
            int64_t id = all ? i : g.ids[first + i];
            if (id == -1) continue;
            uint32_t device = inner > 1 ? (uint32_t)id * inner + p : device_of(op, ctx, how, id);
            if (device == self) out->me = out->n;
            out->members[out->n++] = device;
        }
    return NULL;
}

/* The place of `device` in the group, which is made if there is none. */
static uint32_t add_member(tn_group *g, uint32_t device)
{
    uint32_t i = 0;
    while (i < g->n && g->members[i] != device) i++;
    if (i == g->n) g->members[g->n++] = device;
    return i;
}

tn_status *tn_find_pairs(const tn_op *op, const tn_eval_context *ctx, tn_group_strategy how,
                         tn_group *out, uint32_t *source, uint32_t *target)
{
    tn_ints pairs;
    pairs.v = tn_op_ints(op, TN_ATTR_source_target_pairs, &pairs.n);
    TN_TRY(new_group(op, ctx, pairs.n, out));
    int64_t self = own_id(op, ctx, how);
    bool named = tn_ints_have(pairs, self);
    *source = *target = UINT32_MAX;
    for (uint32_t i = 0; named && i + 1 < pairs.n; i += 2) {
        uint32_t from = add_member(out, device_of(op, ctx, how, pairs.v[i]));
        uint32_t to = add_member(out, device_of(op, ctx, how, pairs.v[i + 1]));
        if (pairs.v[i + 1] == self) *source = from;
        if (pairs.v[i] == self) *target = to;
        if (pairs.v[i] == self) out->me = from;
        else if (pairs.v[i + 1] == self) out->me = to;
    }
    if (*source == UINT32_MAX) *source = out->n;
    if (*target == UINT32_MAX) *target = out->n;
    return NULL;
}
