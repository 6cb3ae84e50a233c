/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "executable/program.h"

/* Rough rates of one core, enough to tell microseconds from milliseconds. */
#define STEP_NS       20.0
#define EVALUATOR_NS  100.0  /* finding its way */
#define BODY_NS       1000.0 /* setting up the lanes of a reduction or a scatter */
#define BYTES_PER_NS  8.0
#define FLOPS_PER_NS  2.0
#define UNKNOWN_TRIPS (-1)

static double bytes_of(const tn_op *op)
{
    double bytes = 0;
    for (uint32_t i = 0; i < op->n_operands; i++)
        bytes += (double)tn_type_bytes(op->operands[i]->type);
    for (uint32_t i = 0; i < op->n_results; i++)
        bytes += (double)tn_type_bytes(op->results[i].type);
    return bytes;
}

static double bytes_of_tile(const tn_tile_program *t)
{
    double bytes = 0;
    for (uint32_t i = 0; i < t->n_inputs; i++)
        bytes += (double)tn_type_bytes(t->inputs[i].value->type);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        bytes += (double)tn_type_bytes(t->outputs[i].value->type);
    return bytes;
}

static double product(const tn_type *t, const int64_t *dims, uint32_t n)
{
    double p = 1;
    for (uint32_t i = 0; i < n; i++)
        if (dims[i] >= 0 && dims[i] < t->rank) p *= (double)t->dims[dims[i]];
    return p;
}

/* Multiply-adds count as two. */
static double flops_of(const tn_op *op)
{
    double in = op->n_operands ? (double)tn_type_elements(op->operands[0]->type) : 0;
    double out = op->n_results ? (double)tn_type_elements(op->results[0].type) : 0;
    switch (op->kind) {
    case TN_OP_dot_general: {
        uint32_t n;
        const int64_t *dims = tn_op_ints(op, TN_ATTR_lhs_contracting_dimensions, &n);
        return 2 * out * product(op->operands[0]->type, dims, n);
    }
    case TN_OP_convolution: {
        const tn_type *kernel = op->operands[1]->type;
        int64_t dim = tn_op_int(op, TN_ATTR_kernel_output_feature_dimension, 0);
        double outputs = product(kernel, &dim, 1);
        return outputs > 0 ? 2 * out * (double)tn_type_elements(kernel) / outputs : 0;
    }
    case TN_OP_reduce_window:
    case TN_OP_select_and_scatter: {
        uint32_t n;
        const int64_t *dims = tn_op_ints(op, TN_ATTR_window_dimensions, &n);
        double window = 1;
        for (uint32_t i = 0; i < n; i++) window *= (double)dims[i];
        return (op->kind == TN_OP_reduce_window ? out : in) * window;
    }
    case TN_OP_sort: return in * log2(in + 2);
    case TN_OP_fft: return 5 * in * log2(in + 2);
    case TN_OP_cholesky:
    case TN_OP_triangular_solve: {
        const tn_type *t = op->operands[0]->type;
        return t->rank ? in * (double)t->dims[t->rank - 1] : in;
    }
    case TN_OP_reduce: return in;
    default: return tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) ? out : 0;
    }
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

void tn_estimate_cost(const tn_plan *p, tn_executable_info *info)
{
    double ns = 0;
    bool known = true;
    for (uint32_t i = 0; i < p->n_items; i++) {
        const tn_item *item = &p->items[i];
        double n = times(p, item), flops = 0, bytes = 0;
        known = known && n >= 0;
        if (item->kind == TN_ITEM_OP) {
            flops = flops_of(item->op);
            bytes = bytes_of(item->op);
            ns += n * (EVALUATOR_NS + BODY_NS * item->op->n_regions);
        } else if (item->kind == TN_ITEM_TILE) {
            flops = (double)item->tile->n * item->tile->n_ops;
            bytes = bytes_of_tile(item->tile);
            ns += n * item->tile->cost_ns * (double)item->tile->n;
        } else if (item->kind == TN_ITEM_ROWS) {
            const tn_rows *r = item->rows;
            for (uint32_t j = 0; j < r->n_inputs; j++)
                bytes += (double)tn_type_bytes(r->values[r->inputs[j]].value->type);
            for (uint32_t j = 0; j < r->n_outputs; j++)
                bytes += (double)tn_type_bytes(r->values[r->outputs[j]].value->type);
            for (uint32_t j = 0; j < r->n_steps; j++)
                flops += (double)(r->n * r->steps[j].per_row) *
                         (r->steps[j].tile ? r->steps[j].tile->n_ops : 1);
            ns += n * r->row_ns * (double)r->n;
        } else if (item->kind == TN_ITEM_NATIVE) {
            int64_t trips = tn_trip_count(item->op);
            known = known && trips >= 0;
            ns += n * (double)trips * item->native->iteration_ns;
        } else if (item->kind == TN_ITEM_MOVES) {
            for (uint32_t j = 0; j < item->n; j++)
                bytes += 2 * (double)p->roots[p->moves[item->first + j].to].bytes;
        }
        info->flops += flops;
        info->bytes_accessed += bytes;
        ns += n * (STEP_NS + bytes / BYTES_PER_NS + flops / FLOPS_PER_NS);
    }
    if (info->calls_out) known = false;
    info->cost_ns = known && ns < 1e18 ? (uint64_t)ns : UINT64_MAX;
}
