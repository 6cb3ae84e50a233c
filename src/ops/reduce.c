/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: checks, and the choice of pieces that the folding of reduce_fold.c works on. */
#include <string.h>

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

/* Along n dimensions of x. */
static tn_status *reduce_along(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *x,
                               const tn_tensor *init, const int64_t *dims, uint32_t n,
                               tn_tensor *results)
{
    tn_lines lines;
    tn_op_kind kind = tn_reduction_kind(ctx->bodies[0]->shortcut);
    if (tn_lines_find_along(op, kind, x->type, dims, n, &lines))
        return tn_lines_run(&lines, ctx, x->data, init->data, results->data);
    tn_reduction r = {.op = op, .ctx = ctx, .sources = x, .inits = init, .results = results};
    TN_TRY(tn_combiner_prepare(op, ctx, 0, x, 1, x, true, &r.combiner));
    tn_nest_init(&r.kept);
    tn_nest_init(&r.reduced);
    for (uint32_t i = 0; i < x->type->rank; i++)
        tn_nest_push(tn_ints_have((tn_ints){dims, n}, i) ? &r.reduced : &r.kept, x->type->dims[i],
                     tn_step(x->type, i));
    return tn_reduction_run(&r);
}

/* One group of dimensions after the other: see tn_lines_first. *done: that is how it is done. */
static tn_status *reduce_apart(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results, bool *done)
{
    enum { RANK = 64 };
    tn_op_kind kind = tn_reduction_kind(ctx->bodies[0]->shortcut);
    tn_tensor x = operands[0], init = operands[1];
    tn_type types[2] = {*x.type, *init.type};
    uint32_t d, n, n_left, turn = 0;
    const int64_t *all = tn_op_ints(op, TN_ATTR_dimensions, &n);
    int64_t left[RANK], first[RANK], sizes[2][RANK];
    uint64_t neutral;
    _Alignas(8) char wide[8];
    if (x.type->rank > RANK) return NULL;
    memcpy(left, all, n * sizeof *left);
    while ((d = tn_lines_first(op, kind, x.type, left, n, &neutral))) {
        uint32_t n_first = 0, rank = 0;
        n_left = 0;
        for (uint32_t i = 0; i < n; i++)
            if (left[i] >= d) first[n_first++] = left[i];
            else left[n_left++] = left[i];
        n = n_left;
        for (uint32_t i = 0; i < x.type->rank; i++)
            if (!tn_ints_have((tn_ints){first, n_first}, i)) sizes[turn][rank++] = x.type->dims[i];
        tn_type part = types[0];
        part.element = tn_result_type(op, 0)->element;
        part.rank = rank;
        part.dims = sizes[turn];
        size_t bytes = tn_type_bytes(&part);
        tn_type scalar = types[1];
        scalar.element = x.type->element;
        tn_tensor none = {.type = &scalar, .data = &neutral}, out = {.type = &part};
        out.data = tn_scratch_alloc(ctx->scratch, bytes + !bytes);
        if (!out.data) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "out of memory");
        TN_TRY(reduce_along(op, ctx, &x, &none, first, n_first, &out));
        types[0] = part;
        x = (tn_tensor){.type = &types[0], .data = out.data};
        turn = 1 - turn;
        *done = true;
    }
    if (!*done) return NULL;
    if (init.type->element != x.type->element) {
        tn_kernel k;
        if (!tn_kernel_convert(tn_cpu_isa(), init.type->element, x.type->element, &k))
            return TN_OP_ERROR(UNIMPLEMENTED, op, "the initial value can't be converted");
        tn_kernel_run(&k, 1, (const void *[]){init.data}, wide);
        types[1].element = x.type->element;
        init = (tn_tensor){.type = &types[1], .data = wide};
    }
    return reduce_along(op, ctx, &x, &init, left, n, results);
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
    bool done = false;
    TN_TRY(reduce_apart(op, ctx, operands, results, &done));
    if (done) return NULL;
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
