/* SPDX-License-Identifier: Apache-2.0 */
/* partition - what a program over several partitions needs before it can run as one program on
 * each.
 *
 * A program that shards nothing computes the same everywhere and is left as it is. There is no
 * partitioner yet: a program that shards something over more than one partition is refused with a
 * message that names it. With one partition shardings say nothing. */
#include <string.h>

#include "passes/passes.h"

/* An axis of a mesh in a Shardy sharding, or a tiling in an HLO sharding. */
static bool shards(const tn_attr *a)
{
    if (!a) return false;
    if (a->kind == TN_ATTR_KIND_STRING) return strstr(a->string.data, "devices=") != NULL;
    if (a->kind != TN_ATTR_KIND_LIST) return false;
    if (a->list.tag && !strcmp(a->list.tag, "sdy.axis_ref")) return true;
    for (uint32_t i = 0; i < a->list.n; i++)
        if (shards(a->list.items[i])) return true;
    return false;
}

static bool shards_in(const tn_attr *dict)
{
    return shards(tn_attr_get(dict, "sdy.sharding")) || shards(tn_attr_get(dict, "mhlo.sharding"));
}

static tn_status *check_signature(const tn_module *m, const tn_function *f)
{
    for (uint32_t i = 0; f->arg_attrs && i < f->body.n_args; i++)
        if (shards_in(f->arg_attrs[i]))
            return TN_ERROR(
                UNIMPLEMENTED,
                "parameter %u is sharded over %u partitions: partitioning programs is not "
                "supported yet",
                i, m->num_partitions);
    for (uint32_t i = 0; f->result_attrs && i < f->body.last->n_operands; i++)
        if (shards_in(f->result_attrs[i]))
            return TN_ERROR(
                UNIMPLEMENTED,
                "result %u is sharded over %u partitions: partitioning programs is not supported "
                "yet",
                i, m->num_partitions);
    return NULL;
}

static bool op_shards(const tn_op *op)
{
    if (op->kind == TN_OP_sdy_manual_computation) return true;
    if (shards(tn_op_extra(op, "sdy.sharding")) || shards(tn_op_extra(op, "mhlo.sharding")))
        return true;
    return shards(tn_op_attr(op, TN_ATTR_sharding)) || shards(tn_op_attr(op, TN_ATTR_out_sharding));
}

static tn_status *check_region(const tn_module *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op_shards(op))
            return TN_OP_ERROR(
                UNIMPLEMENTED, op,
                "sharded over %u partitions: partitioning programs is not supported yet",
                m->num_partitions);
        for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(check_region(m, &op->regions[i]));
    }
    return NULL;
}

tn_status *tn_pass_partition(tn_module *m, bool *changed)
{
    if (m->num_partitions == 1) return NULL;
    TN_TRY(check_signature(m, m->main));
    for (const tn_function *f = m->functions; f; f = f->next) TN_TRY(check_region(m, &f->body));
    return NULL;
}
