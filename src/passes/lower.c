/* SPDX-License-Identifier: Apache-2.0 */
/* lower - leaves one way to say each thing, and less for the stages behind to know.
 *
 * Before:  %1 = unrealized_conversion_cast %0        After:  use %0
 *          %1 = sdy.sharding_constraint %0           use %0 (shardings of one device say nothing)
 *          %1 = dot %a, %b                           %1 = dot_general %a, %b
 *          %1 = broadcast %0                         %1 = broadcast_in_dim %0
 *          %1 = dynamic_reshape %0, %shape           %1 = reshape %0 (the result's type is static)
 *          %1 = all_reduce %0 (one device)           use %0
 *          %1 = batch_norm_... (quantized)           dequantized, batch_norm_..., quantized
 *          %f = async_start { %1 = ... }  async_done %f      %1 = ...
 * Source:  StableHLO spec and its compatibility notes on deprecated ops; a group of one device is
 * its own sum. */
#include <string.h>

#include "passes/rewrite.h"

static bool is_alone(const tn_module *m)
{
    return m->num_replicas == 1 && m->num_partitions == 1;
}

/* Results stand for the operands of the same number if their types are equal. */
static void forward(tn_op *op, bool *changed)
{
    if (op->n_operands < op->n_results) return;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!tn_type_equal(op->operands[i]->type, op->results[i].type)) return;
    for (uint32_t i = 0; i < op->n_results; i++) tn_value_replace(&op->results[i], op->operands[i]);
    tn_op_remove(op);
    *changed = true;
}

static void replace_by_op(tn_op *op, tn_op *by, bool *changed)
{
    tn_rewrite_by(op, &by->results[0]);
    *changed = true;
}

static void lower_broadcast(tn_module *m, tn_op *op, bool *changed)
{
    uint32_t rank = op->operands[0]->type->rank, n = op->results[0].type->rank;
    int64_t *dims = TN_NEW_ARRAY(m->arena, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) dims[i] = n - rank + i;
    tn_op *by = tn_rewrite_op(m, op, TN_OP_broadcast_in_dim, op->results[0].type, 1, op->operands);
    tn_rewrite_ints(m, by, TN_ATTR_broadcast_dimensions, dims, rank);
    replace_by_op(op, by, changed);
}

static void lower_dot(tn_module *m, tn_op *op, bool *changed)
{
    uint32_t rank = op->operands[0]->type->rank;
    if (!rank || !op->operands[1]->type->rank) return;
    tn_op *by = tn_rewrite_op(m, op, TN_OP_dot_general, op->results[0].type, 2, op->operands);
    tn_rewrite_ints(m, by, TN_ATTR_lhs_batching_dimensions, NULL, 0);
    tn_rewrite_ints(m, by, TN_ATTR_rhs_batching_dimensions, NULL, 0);
    tn_rewrite_ints(m, by, TN_ATTR_lhs_contracting_dimensions, (int64_t[]){rank - 1}, 1);
    tn_rewrite_ints(m, by, TN_ATTR_rhs_contracting_dimensions, (int64_t[]){0}, 1);
    tn_op_set_attr(m, by, TN_ATTR_precision_config, tn_op_attr(op, TN_ATTR_precision_config));
    replace_by_op(op, by, changed);
}

/* Where the result's type says all that the shape operand does. */
static void lower_dynamic(tn_module *m, tn_op *op, tn_op_kind kind, uint32_t n, tn_attr_name keep,
                          bool *changed)
{
    if (!tn_type_is_static(op->results[0].type)) return;
    if (n && !tn_type_is_static(op->operands[0]->type)) return;
    tn_op *by = tn_rewrite_op(m, op, kind, op->results[0].type, n, op->operands);
    if (keep) tn_op_set_attr(m, by, keep, tn_op_attr(op, keep));
    replace_by_op(op, by, changed);
}

static void lower_cross_replica_sum(tn_module *m, tn_op *op, bool *changed)
{
    const tn_type *type = op->results[0].type;
    const tn_type *scalar = tn_type_tensor(m->arena, type->element, 0, NULL);
    tn_op *by = tn_op_new(m, TN_OP_all_reduce, 1, 1, 1);
    by->location = op->location;
    by->operands[0] = op->operands[0];
    by->results[0].type = type;
    tn_op_set_attr(m, by, TN_ATTR_replica_groups, tn_op_attr(op, TN_ATTR_replica_groups));
    tn_op_insert_before(op, by);
    tn_region *r = &by->regions[0];
    tn_region_init(m, r, op->region->function, by, 2);
    r->args[0].type = r->args[1].type = scalar;
    tn_op *sum = tn_op_new(m, TN_OP_add, 2, 1, 0), *ret = tn_op_new(m, TN_OP_return, 1, 0, 0);
    sum->operands[0] = &r->args[0];
    sum->operands[1] = &r->args[1];
    sum->results[0].type = scalar;
    ret->operands[0] = &sum->results[0];
    tn_op_append(r, sum);
    tn_op_append(r, ret);
    replace_by_op(op, by, changed);
}

/* --- quantized operands of what is computed in floats --- */

static const tn_type *expressed(tn_module *m, const tn_type *t)
{
    if (!t->quantization) return t;
    return tn_type_tensor(m->arena, t->quantization->expressed, t->rank, t->dims);
}

static void lower_quantized(tn_module *m, tn_op *op, bool *changed)
{
    bool any = false;
    for (uint32_t i = 0; i < op->n_operands; i++) any = any || op->operands[i]->type->quantization;
    if (!any) return;
    tn_op *by = tn_op_new(m, op->kind, op->n_operands, op->n_results, 0);
    by->location = op->location;
    memcpy(by->attrs, op->attrs, op->n_attrs * sizeof *op->attrs);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        tn_value *v = op->operands[i];
        by->operands[i] = v;
        if (v->type->quantization)
            by->operands[i] =
                &tn_rewrite_op(m, op, TN_OP_uniform_dequantize, expressed(m, v->type), 1, &v)
                     ->results[0];
    }
    tn_op_insert_before(op, by);
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_type *t = op->results[i].type;
        tn_value *v = &by->results[i];
        v->type = expressed(m, t);
        if (t->quantization)
            v = &tn_rewrite_op(m, op, TN_OP_uniform_quantize, t, 1, &v)->results[0];
        tn_value_replace(&op->results[i], v);
    }
    tn_op_remove(op);
    *changed = true;
}

/* Without a pair that sends to device 0 its result is zero. */
static void lower_lone_permute(tn_module *m, tn_op *op, bool *changed)
{
    uint32_t n;
    const int64_t *pairs = tn_op_ints(op, TN_ATTR_source_target_pairs, &n);
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        if (pairs[i] || pairs[i + 1]) continue;
        forward(op, changed);
        return;
    }
    const tn_type *type = op->results[0].type;
    if (!tn_type_is_static(type)) return;
    size_t size = tn_element_type_bytes(type->element);
    tn_literal zero = {.type = type, .splat = true, .size = size, .data = tn_alloc(m->arena, 64)};
    tn_rewrite_by(op, tn_rewrite_constant(m, op, zero));
    *changed = true;
}

/* --- async: run at once --- */

static void lower_async_done(tn_op *op, bool *changed)
{
    tn_op *start = op->operands[0]->op;
    if (!start || start->kind != TN_OP_async_start) return;
    const tn_op *ret = start->regions[0].last;
    if (!ret || ret->n_operands != op->n_results) return;
    for (uint32_t i = 0; i < op->n_results; i++)
        tn_value_replace(&op->results[i], ret->operands[i]);
    tn_op_remove(op);
    /* A walk may stand on it, so it is not removed but made into what nobody wants. */
    start->kind = TN_OP_after_all;
    start->n_operands = start->n_regions = start->n_attrs = 0;
    start->results[0].type = tn_type_token();
    *changed = true;
}

/* The ops of the region are moved out of it, and walked there; what stays is the terminator, for
 * async_done. */
static void lower_async_start(tn_op *op, bool *changed)
{
    tn_region *r = &op->regions[0];
    if (r->n_args != op->n_operands || !r->last || r->first == r->last) return;
    for (uint32_t i = 0; i < r->n_args; i++) tn_value_replace(&r->args[i], op->operands[i]);
    tn_op *after = op;
    for (tn_op *o = r->first, *next; o != r->last; o = next) {
        next = o->next;
        tn_op_remove(o);
        /* Behind the async_start, so that the walk comes to them. */
        if (after->next) tn_op_insert_before(after->next, o);
        else tn_op_append(op->region, o);
        after = o;
    }
    *changed = true;
}

static void lower_lone_collective(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind == TN_OP_collective_permute) lower_lone_permute(m, op, changed);
    else forward(op, changed);
}

static void lower_device_id(tn_module *m, tn_op *op, bool *changed)
{
    uint32_t n = op->kind == TN_OP_replica_id ? m->num_replicas : m->num_partitions;
    if (n != 1) return;
    tn_rewrite_by(op, tn_rewrite_splat(m, op, op->results[0].type, 0));
    *changed = true;
}

static tn_status *lower_op(tn_module *m, tn_op *op, bool *changed)
{
    switch (op->kind) {
    case TN_OP_cast:
    case TN_OP_sdy_all_gather:
    case TN_OP_sdy_all_reduce:
    case TN_OP_sdy_all_slice:
    case TN_OP_sdy_data_flow_edge:
    case TN_OP_sdy_propagation_barrier:
    case TN_OP_sdy_reshard:
    case TN_OP_sdy_sharding_constraint: forward(op, changed); break;
    case TN_OP_sdy_sharding_group:
        tn_op_remove(op);
        *changed = true;
        break;
    case TN_OP_sdy_constant: op->kind = TN_OP_constant; break; /* with the same attribute */
    case TN_OP_create_token: op->kind = TN_OP_after_all; break;
    case TN_OP_broadcast: lower_broadcast(m, op, changed); break;
    case TN_OP_dot: lower_dot(m, op, changed); break;
    case TN_OP_dynamic_broadcast_in_dim:
        lower_dynamic(m, op, TN_OP_broadcast_in_dim, 1, TN_ATTR_broadcast_dimensions, changed);
        break;
    case TN_OP_dynamic_iota:
        lower_dynamic(m, op, TN_OP_iota, 0, TN_ATTR_iota_dimension, changed);
        break;
    case TN_OP_dynamic_reshape:
        lower_dynamic(m, op, TN_OP_reshape, 1, TN_ATTR_NONE, changed);
        break;
    case TN_OP_batch_norm_grad:
    case TN_OP_batch_norm_inference:
    case TN_OP_batch_norm_training:
    case TN_OP_cholesky:
    case TN_OP_triangular_solve: lower_quantized(m, op, changed); break;
    case TN_OP_cross_replica_sum: lower_cross_replica_sum(m, op, changed); break;
    case TN_OP_async_done: lower_async_done(op, changed); break;
    case TN_OP_async_start: lower_async_start(op, changed); break;
    case TN_OP_all_gather:
    case TN_OP_all_reduce:
    case TN_OP_all_to_all:
    case TN_OP_collective_broadcast:
    case TN_OP_collective_permute:
    case TN_OP_collective_reduce:
    case TN_OP_reduce_scatter:
        if (is_alone(m)) lower_lone_collective(m, op, changed);
        break;
    case TN_OP_partition_id:
    case TN_OP_replica_id: lower_device_id(m, op, changed); break;
    default: break;
    }
    return NULL;
}

tn_status *tn_pass_lower(tn_module *m, bool *changed)
{
    return tn_rewrite(m, lower_op, changed);
}
