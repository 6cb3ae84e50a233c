/* SPDX-License-Identifier: Apache-2.0 */
/* refine_call.c - custom calls that carry sizes: indices_of_shape_operands, shape_assertion, the
 * dynamic ops that StableHLO has only as custom calls. */
#include <string.h>

#include "ops/access.h"
#include "ops/infer.h"
#include "ops/interpret.h"
#include "passes/refine.h"
#include "passes/rewrite.h"

#define WRAPPER "stablehlo.shape_refinement_operand_wrapper"

static bool is_target(const tn_op *op, const char *name)
{
    return op->kind == TN_OP_custom_call &&
           !strcmp(tn_op_string(op, TN_ATTR_call_target_name), name);
}

bool tn_is_shape_assertion(const tn_op *op)
{
    return is_target(op, "shape_assertion");
}

/* Operand k of the list is the shape of result k. */
static uint32_t shape_operands(tn_module *m, const tn_op *op, const int64_t **out)
{
    const tn_attr *a = tn_op_extra(op, "indices_of_shape_operands");
    if (a && a->kind == TN_ATTR_KIND_INTS) {
        *out = a->ints.data;
        return a->ints.n;
    }
    if (!a || a->kind != TN_ATTR_KIND_TENSOR || !tn_is_integer(a->tensor.type->element)) return 0;
    uint32_t n = (uint32_t)tn_type_elements(a->tensor.type);
    int64_t *v = m ? TN_NEW_ARRAY(m->arena, int64_t, n) : NULL;
    for (uint32_t i = 0; v && i < n; i++)
        v[i] = tn_read_index(a->tensor.data, a->tensor.type->element, a->tensor.splat ? 0 : i);
    *out = v;
    return n;
}

static bool is_shape_operand(const tn_op *op, uint32_t i)
{
    const tn_attr *a = tn_op_extra(op, "indices_of_shape_operands");
    if (!a) return false;
    if (a->kind == TN_ATTR_KIND_INTS) return tn_ints_have((tn_ints){a->ints.data, a->ints.n}, i);
    if (a->kind != TN_ATTR_KIND_TENSOR || !tn_is_integer(a->tensor.type->element)) return false;
    int64_t n = a->tensor.splat ? 1 : tn_type_elements(a->tensor.type);
    for (int64_t k = 0; k < n; k++)
        if (tn_read_index(a->tensor.data, a->tensor.type->element, k) == i) return true;
    return false;
}

/* The handler wants to see neither the shapes nor their layouts. */
static void drop_shape_operands(tn_module *m, tn_op *op)
{
    const tn_attr *layouts = tn_op_attr(op, TN_ATTR_operand_layouts);
    bool lists = layouts && layouts->kind == TN_ATTR_KIND_LIST && layouts->list.n == op->n_operands;
    const tn_attr **items = TN_NEW_ARRAY(m->arena, const tn_attr *, op->n_operands);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (is_shape_operand(op, i)) continue;
        if (lists) items[kept] = layouts->list.items[i];
        op->operands[kept++] = op->operands[i];
    }
    if (lists) {
        tn_attr *a = tn_dup(m->arena, layouts, sizeof *a);
        a->list.items = items;
        a->list.n = kept;
        tn_op_set_attr(m, op, TN_ATTR_operand_layouts, a);
    }
    op->n_operands = kept;
    tn_named_attr *extra = TN_NEW_ARRAY(m->arena, tn_named_attr, op->n_extra);
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_extra; i++)
        if (strcmp(op->extra[i].key, "indices_of_shape_operands")) extra[n++] = op->extra[i];
    op->extra = extra;
    op->n_extra = n;
}

static tn_status *refine_by_operands(tn_module *m, tn_op *op)
{
    const int64_t *at = NULL;
    uint32_t n = shape_operands(m, op, &at);
    if (n != op->n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "indices_of_shape_operands should name one operand for each of the %u "
                           "results and names %u",
                           op->n_results, n);
    for (uint32_t i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] >= op->n_operands)
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "indices_of_shape_operands names operand %" PRId64 " of %u", at[i],
                               op->n_operands);
        TN_TRY(tn_refine_from_operand(m, op, i, (uint32_t)at[i]));
        if (!tn_constant_of(op->operands[at[i]]) || !tn_type_is_static(op->results[i].type))
            return NULL;
    }
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_type_is_static(op->operands[i]->type)) return NULL;
    drop_shape_operands(m, op);
    return NULL;
}

/* What the evaluator says about it is what a run would say. */
static tn_status *refine_assertion(tn_module *m, tn_op *op)
{
    tn_tensor *operands = TN_NEW_ARRAY(m->arena, tn_tensor, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_literal *l = tn_constant_of(op->operands[i]);
        if (!l || l->type->rank) return NULL;
        operands[i] = (tn_tensor){(void *)l->data, l->type};
    }
    tn_eval_context ctx = {0};
    TN_TRY(tn_interpret_op(op, &ctx, NULL, operands, NULL));
    tn_op_remove(op);
    return NULL;
}

bool tn_refine_is_pending(const tn_op *op)
{
    if (op->kind != TN_OP_custom_call) return false;
    return tn_is_shape_assertion(op) || tn_op_extra(op, "indices_of_shape_operands") ||
           is_target(op, WRAPPER) || tn_refine_is_dynamic_call(op);
}

tn_status *tn_refine_custom_call(tn_module *m, tn_op *op)
{
    if (tn_is_shape_assertion(op)) return refine_assertion(m, op);
    if (is_target(op, WRAPPER)) {
        if (op->n_operands && op->n_results == 1) tn_rewrite_by(op, op->operands[0]);
        return NULL;
    }
    if (tn_op_extra(op, "indices_of_shape_operands")) return refine_by_operands(m, op);
    return tn_refine_dynamic_call(m, op);
}

bool tn_refine_call_needs_value(const tn_op *op, uint32_t i)
{
    return tn_is_shape_assertion(op) || is_shape_operand(op, i) ||
           tn_refine_dynamic_call_needs_value(op, i);
}
