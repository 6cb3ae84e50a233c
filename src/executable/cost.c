/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/program.h"
#include "ops/dot.h"

/* Rough rates of one core, enough to tell microseconds from milliseconds. */
#define STEP_NS           20.0
#define EVALUATOR_NS      100.0  /* finding its way */
#define BODY_NS           1000.0 /* setting up the lanes of a reduction or a scatter */
#define BYTES_PER_NS      8.0
#define FLOPS_PER_NS      2.0
#define REDUCTIONS_PER_NS 10.0
#define PRODUCTS_PER_NS   20.0 /* flops of contractions that have kernels */
#define UNKNOWN_TRIPS     (-1)

static double bytes_of_tile(const tn_tile_program *t)
{
    double bytes = 0;
    for (uint32_t i = 0; i < t->n_inputs; i++)
        bytes += (double)tn_type_bytes(t->inputs[i].value->type);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        bytes += (double)tn_type_bytes(t->outputs[i].value->type);
    return bytes;
}

/* How often an item runs; below zero when a loop around it is of unknown length. */
static double times(const tn_plan *p, const tn_item *item)
{
    double n = 1;
    for (uint32_t l = item->loop; l; l = p->loops[l].parent) {
        if (p->loops[l].trips == UNKNOWN_TRIPS) return -1;
        n *= (double)p->loops[l].trips + 1;
    }
    return n;
}

/* Bytes of an operand that stay where they are: the op writes some of it, in place. */
static double kept_bytes(const tn_plan *p, const tn_op *op)
{
    if (op->kind != TN_OP_dynamic_update_slice && op->kind != TN_OP_scatter) return 0;
    uint32_t from = tn_plan_root(p, op->operands[0]), to = tn_plan_root(p, &op->results[0]);
    if (from == TN_NO_ROOT || to == TN_NO_ROOT) return 0;
    if (tn_plan_class(p, from) != tn_plan_class(p, to)) return 0;
    return (double)tn_type_bytes(op->operands[0]->type) +
           (double)tn_type_bytes(op->results[0].type);
}

/* Nothing moves within one place. */
static double moved_bytes(const tn_plan *p, const tn_move *m)
{
    uint32_t from = tn_plan_root(p, m->from);
    if (from != TN_NO_ROOT && tn_plan_class(p, from) == tn_plan_class(p, m->to)) return 0;
    return 2 * (double)p->roots[m->to].bytes;
}

static double arithmetic_ns(const tn_plan *p, const tn_op *op, double flops)
{
    tn_gemm g;
    bool is_dot = op->kind == TN_OP_dot_general || op->kind == TN_OP_mixed_dot ||
                  op->kind == TN_OP_ordered_dot || op->kind == TN_OP_add_dot;
    if (op->kind == TN_OP_reduce) return flops / REDUCTIONS_PER_NS;
    if (is_dot && tn_dot_gemm(op, p->arena, &g)) return tn_gemm_ns(&g);
    if (!is_dot && op->kind != TN_OP_convolution) return flops / FLOPS_PER_NS;
    switch (op->results[0].type->element) {
    case TN_BF16:
    case TN_F16:
    case TN_F32: return flops / PRODUCTS_PER_NS;
    case TN_F64:
    case TN_C64: return 2 * flops / PRODUCTS_PER_NS;
    default: return flops / FLOPS_PER_NS;
    }
}

static double moves_bytes(const tn_plan *p, const tn_item *item)
{
    double bytes = 0;
    for (uint32_t j = 0; j < item->n; j++) bytes += moved_bytes(p, &p->moves[item->first + j]);
    return bytes;
}

double tn_item_ns(const tn_plan *p, const tn_item *item)
{
    double ns = STEP_NS, bytes;
    switch (item->kind) {
    case TN_ITEM_OP:
        bytes = tn_op_bytes(item->op) - kept_bytes(p, item->op);
        return ns + EVALUATOR_NS + BODY_NS * item->op->n_regions + bytes / BYTES_PER_NS +
               arithmetic_ns(p, item->op, tn_op_flops(item->op));
    case TN_ITEM_TILE: return ns + item->tile->cost_ns * (double)item->tile->n;
    case TN_ITEM_ROWS:
        return ns + item->rows->row_ns * (double)item->rows->n + EVALUATOR_NS * item->rows->n_steps;
    case TN_ITEM_MOVES: return ns + moves_bytes(p, item) / BYTES_PER_NS;
    default: return ns;
    }
}

enum { TRIAL_NS = 10000 };

void tn_estimate_cost(const tn_plan *p, tn_executable_info *info)
{
    double ns = 0;
    bool known = true, pure = true; /* ns counts a turn of each loop of unknown length */
    for (uint32_t i = 0; i < p->n_items; i++) {
        const tn_item *item = &p->items[i];
        double n = times(p, item), flops = 0, bytes = 0;
        known = known && n >= 0;
        if (n < 0) n = 1;
        if (item->kind == TN_ITEM_OP) {
            pure = pure && item->op->kind != TN_OP_custom_call &&
                   !tn_op_has_trait(item->op, TN_TRAIT_SIDE_EFFECT | TN_TRAIT_COLLECTIVE);
            flops = tn_op_flops(item->op);
            bytes = tn_op_bytes(item->op);
        } else if (item->kind == TN_ITEM_TILE) {
            flops = tn_tile_flops(item->tile);
            bytes = bytes_of_tile(item->tile);
        } else if (item->kind == TN_ITEM_ROWS) {
            const tn_rows *r = item->rows;
            for (uint32_t j = 0; j < r->n_inputs; j++)
                bytes += (double)tn_type_bytes(r->values[r->inputs[j]].value->type);
            for (uint32_t j = 0; j < r->n_outputs; j++)
                bytes += (double)tn_type_bytes(r->values[r->outputs[j]].value->type);
            flops = tn_rows_flops(r);
        } else if (item->kind == TN_ITEM_NATIVE) {
            int64_t trips = tn_trip_count(item->op);
            known = known && trips >= 0;
            ns += n * (double)(trips < 0 ? 1 : trips) * item->native->iteration_ns;
        } else if (item->kind == TN_ITEM_MOVES) {
            bytes = moves_bytes(p, item);
        }
        info->flops += flops;
        info->bytes_accessed += bytes;
        ns += n * item->ns;
    }
    if (info->calls_out) known = pure = false;
    info->may_be_short = !known && pure && ns < TRIAL_NS;
    info->cost_ns = known && ns < 1e18 ? (uint64_t)ns : UINT64_MAX;
}
