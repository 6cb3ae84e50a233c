/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/prepared.h"

#include "ops/access.h"
#include "ops/combiner.h"
#include "ops/dot.h"
#include "ops/infer.h"
#include "ops/lines.h"
#include "ops/strided.h"

/* --- products --- */

static tn_status *run_product(const tn_op *op, const tn_eval_context *ctx,
                              const tn_tensor *operands, tn_tensor *results)
{
    const tn_gemm_small *s = ctx->prepared;
    void *workspace = tn_scratch_alloc(ctx->scratch, tn_gemm_small_workspace(s));
    if (!workspace) return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory to work in");
    tn_gemm_small_run(s, operands[0].data, operands[1].data, results[0].data, workspace);
    return NULL;
}

static bool prepare_product(const tn_op *op, tn_arena *a, tn_prepared *out)
{
    tn_gemm g;
    if (!tn_dot_gemm(op, a, &g)) return false;
    const tn_gemm_small *small = tn_gemm_small_make(&g, a);
    if (small) *out = (tn_prepared){run_product, small};
    return small != NULL;
}

/* --- copies --- */

/* The copies that an evaluator makes are recorded, with numbers for the memory of its tensors that
 * tell one from the other. */
enum { OPERANDS = 4, COPIED_BYTES = 1 << 15, SPACE_BITS = 40 };

typedef struct {
    uint32_t n;
    struct {
        uint32_t operand;
        tn_strided_copy copy;
    } of[];
} copies;

static tn_status *run_copies(const tn_op *op, const tn_eval_context *ctx, const tn_tensor *operands,
                             tn_tensor *results)
{
    const copies *c = ctx->prepared;
    for (uint32_t i = 0; i < c->n; i++)
        tn_strided_copy_run(&c->of[i].copy, (char *)results[0].data + c->of[i].copy.dst,
                            (const char *)operands[c->of[i].operand].data + c->of[i].copy.src);
    return NULL;
}

static bool is_copy(tn_op_kind kind)
{
    switch ((int)kind) {
    case TN_OP_slice:
    case TN_OP_transpose:
    case TN_OP_reverse:
    case TN_OP_concatenate:
    case TN_OP_broadcast_in_dim:
    case TN_OP_pad: return true;
    default: return false;
    }
}

static bool is_small(const tn_type *t)
{
    return tn_type_is_static(t) && !t->quantization && tn_type_bytes(t) <= COPIED_BYTES;
}

static bool prepare_copies(const tn_op *op, tn_arena *a, tn_prepared *out)
{
    if (!op->n_operands || op->n_operands > OPERANDS || !is_small(op->results[0].type))
        return false;
    tn_tensor operands[OPERANDS],
        result = {(void *)((uintptr_t)1 << SPACE_BITS), op->results[0].type};
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (!tn_type_is_static(t) || t->quantization || tn_type_bytes(t) >> (SPACE_BITS - 1))
            return false;
        operands[i] = (tn_tensor){(void *)((uintptr_t)(i + 2) << SPACE_BITS), t};
    }
    tn_strided_record record, *r = &record;
    tn_eval_context ctx = {0};
    tn_strided_begin_record(r);
    tn_status *s = tn_op_behaviours[op->kind].eval(op, &ctx, operands, &result);
    tn_strided_end_record();
    if (s || !r->fits) {
        tn_status_free(s);
        return false;
    }
    copies *c = tn_alloc(a, sizeof *c + r->n * sizeof c->of[0]);
    c->n = r->n;
    for (uint32_t i = 0; i < r->n; i++) {
        c->of[i].operand = (uint32_t)(r->copies[i].src >> SPACE_BITS) - 2;
        c->of[i].copy = r->copies[i];
        c->of[i].copy.src &= ((uintptr_t)1 << SPACE_BITS) - 1;
        c->of[i].copy.dst &= ((uintptr_t)1 << SPACE_BITS) - 1;
    }
    *out = (tn_prepared){run_copies, c};
    return true;
}

/* --- reductions --- */

static tn_status *run_reduction(const tn_op *op, const tn_eval_context *ctx,
                                const tn_tensor *operands, tn_tensor *results)
{
    return tn_lines_run(ctx->prepared, ctx, operands[0].data, operands[1].data, results[0].data);
}

static bool prepare_reduction(const tn_op *op, const tn_body *const *bodies, tn_arena *a,
                              tn_prepared *out)
{
    tn_lines lines;
    if (!bodies || tn_is_empty(tn_result_type(op, 0)) ||
        !tn_lines_find(op, tn_reduction_kind(bodies[0]->shortcut), &lines))
        return false;
    *out = (tn_prepared){run_reduction, tn_dup(a, &lines, sizeof lines)};
    return true;
}

bool tn_prepare_op(const tn_op *op, const tn_body *const *bodies, tn_arena *a, tn_prepared *out)
{
    if (op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_dynamic_update_slice)
        return tn_prepare_slice(op, a, out);
    if (op->kind == TN_OP_scatter) return tn_prepare_window(op, bodies, a, out);
    if (op->kind == TN_OP_reduce) return prepare_reduction(op, bodies, a, out);
    if (op->kind == TN_OP_dot_general || op->kind == TN_OP_ordered_dot)
        return prepare_product(op, a, out);
    return is_copy(op->kind) && prepare_copies(op, a, out);
}
