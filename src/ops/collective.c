/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives are made of and give; collective_eval.c computes them. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/process_groups.h"

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

/* --- the ops --- */

tn_status *tn_infer_all_reduce(const tn_op *op, tn_arena *a, const tn_type **out)
{
    tn_group_strategy how;
    int64_t size;
    TN_TRY(tn_reduce_strategy(op, &how));
    TN_TRY(tn_check_groups(op, how, TN_GROUPS_OF_ALL, &size));
    if (!op->n_operands) return TN_OP_ERROR(INVALID_ARGUMENT, op, "expected operands, got none");
    return infer_reduced(op, a, op->n_operands, out);
}

tn_status *tn_infer_cross_replica_sum(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size;
    TN_TRY(tn_check_groups(op, TN_CROSS_REPLICA, TN_GROUPS_OF_ALL, &size));
    TN_TRY(tn_check_tensor(op, 0));
    out[0] = tn_operand_type(op, 0);
    return NULL;
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
    tn_group_strategy how;
    int64_t size, dim;
    TN_TRY(tn_reduce_strategy(op, &how));
    TN_TRY(tn_check_groups(op, how, TN_GROUPS_OF_ALL | TN_GROUPS_OF_A_SIZE, &size));
    TN_TRY(tn_check_count(op, "number of results", op->n_operands, op->n_results));
    for (uint32_t i = 0; i < op->n_operands; i++) {
        TN_TRY(tn_check_tensor(op, i));
        TN_TRY(tn_check_dim(op, TN_ATTR_all_gather_dim, tn_operand_type(op, i)->rank, &dim));
        TN_TRY(scaled(op, a, tn_operand_type(op, i), dim, size, 1, &out[i]));
    }
    return NULL;
}

tn_status *tn_infer_reduce_scatter(const tn_op *op, tn_arena *a, const tn_type **out)
{
    tn_group_strategy how;
    int64_t size, dim;
    TN_TRY(tn_reduce_strategy(op, &how));
    TN_TRY(tn_check_groups(op, how, TN_GROUPS_OF_ALL | TN_GROUPS_OF_A_SIZE, &size));
    TN_TRY(infer_reduced(op, a, 1, out));
    TN_TRY(tn_check_dim(op, TN_ATTR_scatter_dimension, out[0]->rank, &dim));
    return scaled(op, a, out[0], dim, 1, size, &out[0]);
}

tn_status *tn_infer_all_to_all(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size, split, concat, parts = tn_op_int(op, TN_ATTR_split_count, 0);
    TN_TRY(tn_check_groups(op, tn_channel_strategy(op), TN_GROUPS_OF_ALL | TN_GROUPS_OF_A_SIZE,
                           &size));
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
    return NULL;
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
    TN_TRY(tn_check_groups(op, tn_rooted_strategy(op), 0, &size));
    TN_TRY(data_operands(op, &n));
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_tensor(op, i));
        out[i] = tn_operand_type(op, i);
    }
    return NULL;
}

tn_status *tn_infer_collective_reduce(const tn_op *op, tn_arena *a, const tn_type **out)
{
    int64_t size;
    uint32_t n;
    TN_TRY(tn_check_groups(op, tn_rooted_strategy(op), 0, &size));
    TN_TRY(data_operands(op, &n));
    return infer_reduced(op, a, n, out);
}

tn_status *tn_infer_collective_permute(const tn_op *op, tn_arena *a, const tn_type **out)
{
    tn_ints pairs;
    TN_TRY(tn_check_tensor(op, 0));
    out[0] = tn_operand_type(op, 0);
    return tn_check_pairs(op, tn_id_count(op, tn_channel_strategy(op)), &pairs);
}

tn_status *tn_infer_device_index(const tn_op *op, tn_arena *a, const tn_type **out)
{
    out[0] = tn_type_tensor(a, TN_U32, 0, NULL);
    return NULL;
}
