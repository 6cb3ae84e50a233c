/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - what ops and fused groups compute and touch. */
#include <math.h>

#include "executable/program.h"

static double product(const tn_type *t, const int64_t *dims, uint32_t n)
{
    double p = 1;
    for (uint32_t i = 0; i < n; i++)
        if (dims[i] >= 0 && dims[i] < t->rank) p *= (double)t->dims[dims[i]];
    return p;
}

double tn_op_flops(const tn_op *op)
{
    double in = op->n_operands ? (double)tn_type_elements(op->operands[0]->type) : 0;
    double out = op->n_results ? (double)tn_type_elements(op->results[0].type) : 0;
    switch (op->kind) {
    case TN_OP_dot_general:
    case TN_OP_mixed_dot:
    case TN_OP_ordered_dot:
    case TN_OP_add_dot: {
        uint32_t n;
        const int64_t *dims = tn_op_ints(op, TN_ATTR_lhs_contracting_dimensions, &n);
        return 2 * out * product(op->operands[op->kind == TN_OP_add_dot]->type, dims, n);
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

double tn_op_bytes(const tn_op *op)
{
    double bytes = 0;
    for (uint32_t i = 0; i < op->n_results; i++)
        bytes += (double)tn_type_bytes(op->results[i].type);
    bool reads_part =
        op->kind == TN_OP_slice || op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_gather;
    if (reads_part) bytes *= 2;
    for (uint32_t i = reads_part; i < op->n_operands; i++)
        bytes += (double)tn_type_bytes(op->operands[i]->type);
    return bytes;
}

/* Whether the result is the operand's memory with some of it written. */
static bool writes_part(const tn_step *s)
{
    if ((s->kind != TN_STEP_EVAL && s->kind != TN_STEP_WINDOW) || s->n_operands < 2 ||
        !s->n_results)
        return false;
    if (s->op->kind != TN_OP_dynamic_update_slice && s->op->kind != TN_OP_scatter) return false;
    const tn_step_ref *from = &s->refs[0], *to = &s->refs[s->n_operands];
    return from->base == to->base && from->offset == to->offset;
}

double tn_step_bytes(const tn_step *s)
{
    double bytes = 0;
    uint32_t n = s->n_operands + s->n_results;
    switch ((tn_step_kind)s->kind) {
    case TN_STEP_FILL: return (double)s->bytes;
    case TN_STEP_LOOK: return 0;
    case TN_STEP_COPY: return 2 * (double)s->bytes;
    case TN_STEP_SCALAR:
    case TN_STEP_WINDOW:
    case TN_STEP_EVAL:
        if (!writes_part(s)) return tn_op_bytes(s->op);
        for (uint32_t i = 1; i < s->n_operands; i++)
            bytes += (double)tn_type_bytes(s->refs[i].type);
        return bytes + (double)tn_type_bytes(
                           s->refs[s->op->kind == TN_OP_scatter ? s->n_operands - 1 : 1].type);
    case TN_STEP_TILE:
    case TN_STEP_ROWS:
    case TN_STEP_NATIVE:
        for (uint32_t i = 0; i < n; i++) bytes += (double)tn_type_bytes(s->refs[i].type);
        return bytes;
    case TN_STEP_JUMP:
    case TN_STEP_UNLESS:
    case TN_STEP_SWITCH:
    case TN_STEP_END: break;
    }
    return 0;
}

double tn_step_flops(const tn_step *s)
{
    switch ((tn_step_kind)s->kind) {
    case TN_STEP_TILE: return tn_tile_flops(s->tile);
    case TN_STEP_ROWS: return tn_rows_flops(s->rows);
    case TN_STEP_SCALAR:
    case TN_STEP_WINDOW:
    case TN_STEP_EVAL: return tn_op_flops(s->op);
    case TN_STEP_LOOK:
    case TN_STEP_NATIVE:
    case TN_STEP_FILL:
    case TN_STEP_COPY:
    case TN_STEP_JUMP:
    case TN_STEP_UNLESS:
    case TN_STEP_SWITCH:
    case TN_STEP_END: break;
    }
    return 0;
}

double tn_tile_flops(const tn_tile_program *t)
{
    return (double)t->n * t->n_fused;
}

/* For an element of what it goes over. */
static double flops_of_row_step(const tn_rows_step *s)
{
    if (s->product) return 2 * (double)s->product->gemm.k;
    return s->tile ? s->tile->n_fused : 1;
}

double tn_rows_flops(const tn_rows *r)
{
    double flops = 0;
    for (uint32_t i = 0; i < r->n_steps; i++)
        flops += (double)(r->n * r->steps[i].per_row) * flops_of_row_step(&r->steps[i]);
    return flops;
}
