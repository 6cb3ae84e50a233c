/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that know of other devices. Whatever meets nobody else is computed here; groups of several
 * participants are refused when the program is compiled. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/strided.h"

/* --- who takes part --- */

typedef enum { CROSS_REPLICA, CROSS_PARTITION, CROSS_BOTH, FLATTENED } strategy;

static const tn_module *module_of(const tn_op *op)
{
    return op->region->function->module;
}

static const char *const strategy_texts[] = {
    [CROSS_REPLICA] = "replicas",
    [CROSS_PARTITION] = "partitions",
    [CROSS_BOTH] = "replicas",
    [FLATTENED] = "devices",
};

/* Ids that replica_groups may name under a strategy. */
static int64_t id_count(const tn_op *op, strategy how)
{
    const tn_module *m = module_of(op);
    int64_t all = (int64_t)m->num_replicas * m->num_partitions;
    return how == FLATTENED ? all : how == CROSS_PARTITION ? m->num_partitions : m->num_replicas;
}

/* By channel_id and use_global_device_ids, as all_reduce and its like have it. */
static tn_status *reduce_strategy(const tn_op *op, strategy *out)
{
    bool channel = tn_op_int(op, TN_ATTR_channel_id, 0) > 0;
    bool global = tn_op_bool(op, TN_ATTR_use_global_device_ids, false);
    if (global && !channel)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "use_global_device_ids should come with a positive channel_id, which is "
                           "%" PRId64,
                           tn_op_int(op, TN_ATTR_channel_id, 0));
    *out = global ? FLATTENED : channel ? CROSS_BOTH : CROSS_REPLICA;
    return NULL;
}

static strategy channel_strategy(const tn_op *op)
{
    return tn_op_int(op, TN_ATTR_channel_id, 0) > 0 ? CROSS_PARTITION : CROSS_REPLICA;
}

/* Ids of replica_groups are in range and named once; rows may be filled up with -1. *size is the
 * number of participants of the largest group. */
static tn_status *check_groups(const tn_op *op, strategy how, bool all, int64_t *size)
{
    const tn_attr *groups = tn_op_attr(op, TN_ATTR_replica_groups);
    uint32_t n = groups ? groups->ints.n : 0, rows = groups ? groups->ints.rows : 0;
    const int64_t *ids = groups ? groups->ints.data : NULL;
    int64_t count = id_count(op, how), named = 0;
    if (rows && n % rows)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "replica_groups has %u values in %u rows", n,
                           rows);
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] == -1) continue;
        if (ids[i] < 0 || ids[i] >= count)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "replica_groups names %" PRId64 ", but there are %" PRId64 " %s",
                               ids[i], count, strategy_texts[how]);
        if (tn_ints_have((tn_ints){ids, i}, ids[i]))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "replica_groups names %" PRId64 " twice",
                               ids[i]);
        named++;
    }
    if (all && named && named != count)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "replica_groups should name all %" PRId64 " %s and names %" PRId64,
                           count, strategy_texts[how], named);
    *size = named ? (rows ? n / rows : n) : count; /* no groups: one of all */
    if (how == CROSS_BOTH) *size *= module_of(op)->num_partitions;
    return NULL;
}

static tn_status *check_alone(const tn_op *op, int64_t size)
{
    if (size <= 1) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "%s between %" PRId64 " devices is not supported",
                       tn_op_text(op), size);
}

/* Is this device's id named by replica_groups? */
static bool takes_part(const tn_op *op, const tn_eval_context *ctx, strategy how)
{
    tn_ints ids;
    ids.v = tn_op_ints(op, TN_ATTR_replica_groups, &ids.n);
    return !ids.n ||
           tn_ints_have(ids, how == CROSS_PARTITION ? ctx->partition_id : ctx->replica_id);
}

/* --- the body of a reduction: (E, E) -> E, where operands may be promoted to E --- */

static tn_status *infer_reduced(const tn_op *op, tn_arena *a, uint32_t n, const tn_type **out)
{
    const tn_region *r = &op->regions[0];
    tn_element_type e = r->n_args ? r->args[0].type->element : TN_INVALID;
    tn_element_type args[] = {e, e};
    TN_TRY(tn_check_region(op, 0, 2, args, 1, args));
    TN_TRY(tn_check_count(op, "number of results", n, op->n_results));
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_tensor(op, i));
        const tn_type *t = tn_operand_type(op, i);
        if (!tn_is_promotable(t->element, e))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u is %s, which can't become %s", i,
                               TN_TYPE_IN_MESSAGE(t), tn_element_type_text(e));
        out[i] = t->element == e ? t : tn_type_tensor(a, e, t->rank, t->dims);
    }
    return NULL;
}

static tn_status *pass_on(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *from,
                          tn_tensor *to)
{
    tn_element_type e = from->type->element, f = to->type->element;
    int64_t n = tn_type_elements(to->type);
    bool same = tn_type_elements(from->type) == n;
    if (same && e == f) tn_copy_bytes(ctx->pool, to->data, from->data, tn_type_bytes(to->type));
    if (same && (e == f || tn_convert_elements(e, from->data, f, to->data, n))) return NULL;
    return TN_OP_ERROR(UNIMPLEMENTED, op, "%s can't become %s on one device",
                       TN_TYPE_IN_MESSAGE(from->type), TN_TYPE_IN_MESSAGE(to->type));
}

static tn_status *pass_all_on(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        TN_TRY(pass_on(op, ctx, &operands[i], &results[i]));
    return NULL;
}

static tn_status *clear(const tn_op *op, tn_tensor *results)
{
    for (uint32_t i = 0; i < op->n_results; i++)
        if (results[i].data) memset(results[i].data, 0, tn_type_bytes(results[i].type));
    return NULL;
}

/* --- the ops --- */

tn_status *tn_infer_all_reduce(const tn_op *op, tn_arena *a, const tn_type **out)
{
    strategy how;
    int64_t size;
    TN_TRY(reduce_strategy(op, &how));
    TN_TRY(check_groups(op, how, true, &size));
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    TN_TRY(infer_reduced(op, a, op->n_operands, out));
    return check_alone(op, size);
}

tn_status *tn_eval_all_reduce(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    return pass_all_on(op, ctx, operands, results);
}

tn_status *tn_infer_cross_replica_sum(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size;
    TN_TRY(check_groups(op, CROSS_REPLICA, true, &size));
    TN_TRY(tn_check_tensor(op, 0));
    out[0] = tn_operand_type(op, 0);
    return check_alone(op, size);
}

/* Dimension `dim` of operand i multiplied and divided. */
static tn_status *scaled(const tn_op *op, tn_arena *a, const tn_type *t, int64_t dim, int64_t times,
                         int64_t by, const tn_type **out)
{
    int64_t *dims = tn_dup(a, t->dims, t->rank * sizeof *dims), *d = &dims[dim];
    if (*d != TN_DYNAMIC) {
        if (*d % by)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %" PRId64 " of %s can't be split into %" PRId64 " parts",
                               dim, TN_TYPE_IN_MESSAGE(t), by);
        if (__builtin_mul_overflow(*d / by, times, d))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "dimension %" PRId64 " of the result overflows", dim);
    }
    *out = tn_type_like(a, t, t->rank, dims);
    return NULL;
}

tn_status *tn_infer_all_gather(const tn_op *op, tn_arena *a, const tn_type **out)
{
    strategy how;
    int64_t size, dim;
    TN_TRY(reduce_strategy(op, &how));
    TN_TRY(check_groups(op, how, true, &size));
    TN_TRY(tn_check_count(op, "number of results", op->n_operands, op->n_results));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_dim(op, TN_ATTR_all_gather_dim, tn_operand_type(op, i)->rank, &dim));
        TN_TRY(scaled(op, a, tn_operand_type(op, i), dim, size, 1, &out[i]));
    }
    return check_alone(op, size);
}

tn_status *tn_eval_all_gather(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    return pass_all_on(op, ctx, operands, results);
}

tn_status *tn_infer_reduce_scatter(const tn_op *op, tn_arena *a, const tn_type **out)
{
    strategy how;
    int64_t size, dim;
    TN_TRY(reduce_strategy(op, &how));
    TN_TRY(check_groups(op, how, true, &size));
    TN_TRY(infer_reduced(op, a, 1, out));
    TN_TRY(tn_check_dim(op, TN_ATTR_scatter_dimension, out[0]->rank, &dim));
    TN_TRY(scaled(op, a, out[0], dim, 1, size ? size : 1, &out[0]));
    return check_alone(op, size);
}

tn_status *tn_eval_reduce_scatter(const tn_op *op, const tn_eval_context *ctx,
                                  const tn_tensor *operands, tn_tensor *results)
{
    return pass_all_on(op, ctx, operands, results);
}

tn_status *tn_infer_all_to_all(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size, split, concat, parts = tn_op_int(op, TN_ATTR_split_count, 0);
    TN_TRY(check_groups(op, channel_strategy(op), true, &size));
    TN_TRY(tn_check_count(op, "number of results", op->n_operands, op->n_results));
    if (parts < 1)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "split_count should be positive and is %" PRId64,
                           parts);
    TN_TRY(tn_check_count(op, "split_count, the size of the groups", size, parts));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        const tn_type *t = tn_operand_type(op, i);
        TN_TRY(tn_check_dim(op, TN_ATTR_split_dimension, t->rank, &split));
        TN_TRY(tn_check_dim(op, TN_ATTR_concat_dimension, t->rank, &concat));
        TN_TRY(scaled(op, a, t, split, split == concat ? parts : 1, parts, &out[i]));
        if (split != concat) TN_TRY(scaled(op, a, out[i], concat, parts, 1, &out[i]));
    }
    return check_alone(op, size);
}

tn_status *tn_eval_all_to_all(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    return pass_all_on(op, ctx, operands, results);
}

/* Operands that carry data: all, or all but the roots. */
static tn_status *data_operands(const tn_op *op, uint32_t *n)
{
    bool rooted = tn_op_bool(op, TN_ATTR_has_dynamic_root, false);
    if (op->n_operands < 1u + rooted)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected at least %u operands, got %u",
                           1u + rooted, op->n_operands);
    *n = op->n_operands - rooted;
    TN_TRY(tn_check_count(op, "number of results", *n, op->n_results));
    if (!rooted) return NULL;
    TN_TRY(tn_check_shape_operand(op, *n, *n));
    const tn_type *roots = tn_operand_type(op, *n);
    if (roots->element == TN_I32) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u, the roots, should be of i32 and is %s",
                       *n, TN_TYPE_IN_MESSAGE(roots));
}

tn_status *tn_infer_collective_broadcast(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size;
    uint32_t n;
    TN_TRY(check_groups(op, channel_strategy(op), false, &size));
    TN_TRY(data_operands(op, &n));
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_tensor(op, i));
        out[i] = tn_operand_type(op, i);
    }
    return check_alone(op, size);
}

tn_status *tn_eval_collective_broadcast(const tn_op *op, const tn_eval_context *ctx,
                                        const tn_tensor *operands, tn_tensor *results)
{
    if (!takes_part(op, ctx, channel_strategy(op))) return clear(op, results);
    return pass_all_on(op, ctx, operands, results);
}

tn_status *tn_infer_collective_reduce(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size;
    uint32_t n;
    TN_TRY(check_groups(op, channel_strategy(op), false, &size));
    TN_TRY(data_operands(op, &n));
    TN_TRY(infer_reduced(op, a, n, out));
    return check_alone(op, size);
}

tn_status *tn_eval_collective_reduce(const tn_op *op, const tn_eval_context *ctx,
                                     const tn_tensor *operands, tn_tensor *results)
{
    if (!takes_part(op, ctx, channel_strategy(op))) return clear(op, results);
    return pass_all_on(op, ctx, operands, results);
}

/* Pairs of [source, target] ids below `count`, no source and no target twice. */
static tn_status *check_pairs(const tn_op *op, int64_t count, const int64_t **pairs, uint32_t *rows)
{
    const tn_attr *x = tn_op_attr(op, TN_ATTR_source_target_pairs);
    *rows = x ? x->ints.n / 2 : 0;
    *pairs = x ? x->ints.data : NULL;
    if (x && x->ints.n && x->ints.n != 2 * x->ints.rows)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "source_target_pairs should have 2 columns and has %u values in %u rows",
                           x->ints.n, x->ints.rows);
    for (uint32_t i = 0; i < 2 * *rows; i++) {
        int64_t id = (*pairs)[i];
        if (id < 0 || id >= count)
            return TN_OP_ERROR(
                INVALID_ARGUMENT, op,
                "source_target_pairs names %" PRId64 ", but there are %" PRId64 " ids", id, count);
        for (uint32_t j = i % 2; j < i; j += 2)
            if ((*pairs)[j] == id)
                return TN_OP_ERROR(INVALID_ARGUMENT, op,
                                   "source_target_pairs names %s %" PRId64 " twice",
                                   i % 2 ? "target" : "source", id);
    }
    return NULL;
}

tn_status *tn_infer_collective_permute(const tn_op *op, tn_arena *a, const tn_type **out)
{
    const int64_t *pairs;
    uint32_t rows;
    TN_TRY(tn_check_tensor(op, 0));
    TN_TRY(check_pairs(op, id_count(op, channel_strategy(op)), &pairs, &rows));
    out[0] = tn_operand_type(op, 0);
    for (uint32_t i = 0; i < rows; i++)
        if (pairs[2 * i] != pairs[2 * i + 1])
            return TN_OP_ERROR(UNIMPLEMENTED, op,
                               "sending from device %" PRId64 " to %" PRId64 " is not supported",
                               pairs[2 * i], pairs[2 * i + 1]);
    return NULL;
}

tn_status *tn_eval_collective_permute(const tn_op *op, const tn_eval_context *ctx,
                                      const tn_tensor *operands, tn_tensor *results)
{
    bool partition = channel_strategy(op) == CROSS_PARTITION;
    tn_ints ids;
    ids.v = tn_op_ints(op, TN_ATTR_source_target_pairs, &ids.n);
    if (!tn_ints_have(ids, partition ? ctx->partition_id : ctx->replica_id))
        return clear(op, results);
    return pass_all_on(op, ctx, operands, results);
}

tn_status *tn_infer_device_index(const tn_op *op, tn_arena *a, const tn_type **out)
{
    out[0] = tn_type_tensor(a, TN_U32, 0, NULL);
    return NULL;
}

tn_status *tn_eval_partition_id(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    *(uint32_t *)results[0].data = ctx->partition_id;
    return NULL;
}

tn_status *tn_eval_replica_id(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    *(uint32_t *)results[0].data = ctx->replica_id;
    return NULL;
}

/* --- channels and feeds: checked, then refused --- */

static tn_status *check_token(const tn_op *op, const tn_type *t, const char *what)
{
    if (t->kind == TN_TYPE_TOKEN) return NULL;
    return TN_OP_ERROR(INVALID_ARGUMENT, op, "the last %s should be a token and is %s", what,
                       TN_TYPE_IN_MESSAGE(t));
}

static tn_status *check_payload(const tn_op *op, bool results)
{
    uint32_t n = results ? op->n_results : op->n_operands;
    const char *what = results ? "result" : "operand";
    if (!n) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected at least 1 %s, got none", what);
    for (uint32_t i = 0; i + 1 < n; i++)
        TN_TRY(results ? tn_check_result_tensor(op, i) : tn_check_tensor(op, i));
    return check_token(op, results ? tn_result_type(op, n - 1) : tn_operand_type(op, n - 1), what);
}

static tn_status *check_channel(const tn_op *op, int64_t host_type)
{
    bool host = tn_op_bool(op, TN_ATTR_is_host_transfer, false);
    int64_t type = tn_op_int(op, TN_ATTR_channel_type, 0);
    if (host != (type == host_type))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "channel type %" PRId64 " doesn't go with is_host_transfer = %s", type,
                           host ? "true" : "false");
    const int64_t *pairs;
    uint32_t rows;
    TN_TRY(check_pairs(op, id_count(op, FLATTENED), &pairs, &rows));
    return TN_OP_ERROR(UNIMPLEMENTED, op, "%s over channel %" PRId64 " is not supported",
                       tn_op_text(op), tn_op_int(op, TN_ATTR_channel_id, 0));
}

tn_status *tn_infer_send(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, false));
    return check_channel(op, 2);
}

tn_status *tn_infer_recv(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, true));
    return check_channel(op, 3);
}

tn_status *tn_infer_infeed(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, true));
    TN_TRY(check_token(op, tn_operand_type(op, 0), "operand"));
    return TN_OP_ERROR(UNIMPLEMENTED, op, "infeed is not supported");
}

tn_status *tn_infer_outfeed(const tn_op *op, tn_arena *a, const tn_type **out)
{
    TN_TRY(check_payload(op, false));
    return TN_OP_ERROR(UNIMPLEMENTED, op, "outfeed is not supported");
}
