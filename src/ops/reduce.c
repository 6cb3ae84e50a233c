/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: checks, and the choice of pieces that the folding of reduce_fold.c works on. */
#include "ops/access.h"
#include "ops/behaviours.h"
#include "ops/infer.h"
#include "ops/lines.h"
#include "ops/reduce_arg.h"
#include "ops/reduce_fold.h"

tn_status *tn_infer_reduce(const tn_op *op, tn_arena *a, const tn_type **out)
{
    uint32_t n = op->n_operands / 2;
    if (!n || op->n_operands % 2)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "expected as many initial values as inputs, got %u operands",
                           op->n_operands);
    TN_TRY(tn_check_count(op, "number of results", n, op->n_results));
    TN_TRY(tn_check_tensor(op, 0));
    const tn_type *first = tn_operand_type(op, 0);
    tn_ints dims;
    TN_TRY(tn_check_dims(op, TN_ATTR_dimensions, first->rank, false, &dims));
    TN_TRY(tn_check_reduction_body(op, a, n));
    uint32_t rank = 0;
    int64_t *kept = TN_NEW_ARRAY(a, int64_t, first->rank);
    for (uint32_t i = 0; i < first->rank; i++)
        if (!tn_ints_have(dims, i)) kept[rank++] = first->dims[i];
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(tn_check_rank(op, i, first->rank));
        TN_TRY(tn_check_same_shape(op, 0, i));
        tn_element_type e = op->regions[0].args[i].type->element;
        const tn_type *t = tn_operand_type(op, i);
        out[i] =
            t->element == e ? tn_type_like(a, t, rank, kept) : tn_type_tensor(a, e, rank, kept);
    }
    return NULL;
}

tn_status *tn_eval_reduce(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                          tn_tensor *results)
{
    const tn_type *t = operands[0].type;
    uint32_t n = op->n_operands / 2;
    if (tn_is_empty(results[0].type)) return NULL;
    tn_lines lines;
    if (tn_lines_find(op, tn_reduction_kind(ctx->bodies[0]->shortcut), &lines))
        return tn_lines_run(&lines, ctx, operands[0].data, operands[1].data, results[0].data);
    tn_ints dims;
    dims.v = tn_op_ints(op, TN_ATTR_dimensions, &dims.n);
    tn_reduction r = {.op = op, .ctx = ctx, .results = results};
    bool arg = tn_reduce_is_arg(op, ctx->bodies[0]) && !tn_is_empty(t);
    if (arg && tn_reduce_arg_starts_low(ctx->bodies[0], operands))
        return tn_reduce_arg(op, ctx, operands, NULL, results);
    TN_TRY(tn_combiner_prepare(op, ctx, 0, operands, n, operands, true, &r.combiner));
    if (arg) return tn_reduce_arg(op, ctx, operands, &r.combiner, results);
    r.sources = operands;
    r.inits = operands + n;
    tn_nest_init(&r.kept);
    tn_nest_init(&r.reduced);
    bool empty = tn_is_empty(t);
    for (uint32_t i = 0; i < t->rank; i++)
        tn_nest_push(tn_ints_have(dims, i) ? &r.reduced : &r.kept, t->dims[i],
                     empty ? 0 : tn_step(t, i));
    return tn_reduction_run(&r);
}
