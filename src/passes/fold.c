/* SPDX-License-Identifier: Apache-2.0 */
/* fold - computes ops on constants at compile time, with the evaluators that would run later.
 *
 * Before:  %0 = constant 2   %1 = add %0, %0        %2 = broadcast_in_dim %0 : tensor<1024xi32>
 * After:   %1 = constant 4                          %2 = constant dense<2> : tensor<1024xi32>, a
 * splat Not:     large operands or results (but for splats), ops whose cost isn't linear, random
 * numbers, effects. */
#include <string.h>

#include "passes/rewrite.h"

#include "ops/interpret.h"

#define RESULT_AT_MOST  1024 /* elements */
#define OPERAND_AT_MOST 4096

static bool is_foldable(const tn_op *op)
{
    if (tn_op_has_effect(op) || !tn_op_behaviours[op->kind].eval) return false;
    if (tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE)) return true;
    switch (op->kind) {
    case TN_OP_bitcast_convert:
    case TN_OP_broadcast_in_dim:
    case TN_OP_concatenate:
    case TN_OP_dynamic_slice:
    case TN_OP_dynamic_update_slice:
    case TN_OP_gather:
    case TN_OP_pad:
    case TN_OP_reduce:
    case TN_OP_reshape:
    case TN_OP_reverse:
    case TN_OP_slice:
    case TN_OP_transpose: return true;
    default: return false;
    }
}

static bool is_plain_type(const tn_type *t)
{
    return t->kind == TN_TYPE_TENSOR && tn_type_is_static(t);
}

/* Does every value that the regions use come from inside of them? */
static bool is_closed(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) {
            if (o->n_regions) return false;
            for (uint32_t j = 0; j < o->n_operands; j++)
                if (o->operands[j]->region != &op->regions[i]) return false;
        }
    return true;
}

static bool all_constant(const tn_op *op)
{
    if (!op->n_operands) return false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_constant_of(op->operands[i]) || !is_plain_type(op->operands[i]->type)) return false;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!is_plain_type(op->results[i].type)) return false;
    return true;
}

static void *room_for(tn_module *m, const tn_type *t)
{
    size_t bytes = tn_type_bytes(t);
    return tn_alloc(m->arena, bytes < 64 ? 64 : bytes); /* so that it is aligned to 64 */
}

/* Why an op can't be computed is for the run to say: here it only stays as it is. */
static bool evaluate(const tn_op *op, const tn_tensor *operands, tn_tensor *results)
{
    tn_eval_context ctx = {0};
    tn_status *s = tn_interpret_op(op, &ctx, NULL, operands, results);
    bool done = !s;
    tn_status_free(s);
    return done;
}

/* --- splats --- */

static bool all_splats(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_literal *l = tn_constant_of(op->operands[i]);
        if (!l->splat && tn_type_elements(l->type) != 1) return false;
    }
    return true;
}

static bool by_splat(tn_module *m, tn_op *op, const void *data)
{
    const tn_type *t = op->results[0].type;
    tn_literal l = {
        .type = t, .data = data, .splat = true, .size = tn_element_type_bytes(t->element)};
    tn_rewrite_by(op, tn_rewrite_constant(m, op, l));
    return true;
}

/* Ops that only move elements about. */
static bool moves_elements(tn_op_kind kind)
{
    return kind == TN_OP_broadcast_in_dim || kind == TN_OP_reshape || kind == TN_OP_transpose ||
           kind == TN_OP_slice || kind == TN_OP_reverse || kind == TN_OP_dynamic_slice;
}

/* The op on one element of each operand. */
static bool fold_splats(tn_module *m, tn_op *op)
{
    if (!tn_type_elements(op->results[0].type) || op->results[0].type->quantization) return false;
    if (moves_elements(op->kind)) return by_splat(m, op, tn_constant_of(op->operands[0])->data);
    if (!tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) || op->n_results != 1) return false;
    tn_op *one = tn_op_new(m, op->kind, op->n_operands, 1, 0);
    memcpy(one->attrs, op->attrs, op->n_attrs * sizeof *op->attrs);
    one->location = op->location;
    one->region = op->region;
    tn_value *values = TN_NEW_ARRAY(m->arena, tn_value, op->n_operands);
    tn_tensor *operands = TN_NEW_ARRAY(m->arena, tn_tensor, op->n_operands);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_literal *l = tn_constant_of(op->operands[i]);
        values[i].type = tn_type_tensor(m->arena, l->type->element, 0, NULL);
        one->operands[i] = &values[i];
        operands[i] = (tn_tensor){room_for(m, values[i].type), values[i].type};
        memcpy(operands[i].data, l->data, tn_element_type_bytes(l->type->element));
    }
    one->results[0].type = tn_type_tensor(m->arena, op->results[0].type->element, 0, NULL);
    tn_tensor result = {room_for(m, one->results[0].type), one->results[0].type};
    return evaluate(one, operands, &result) && by_splat(m, op, result.data);
}

/* --- small tensors --- */

static bool is_small(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (tn_type_elements(op->operands[i]->type) > OPERAND_AT_MOST) return false;
    for (uint32_t i = 0; i < op->n_results; i++)
        if (tn_type_elements(op->results[i].type) > RESULT_AT_MOST) return false;
    return true;
}

static void *dense(tn_module *m, const tn_literal *l)
{
    char *data = room_for(m, l->type);
    if (!l->splat) return l->size ? memcpy(data, l->data, l->size) : data;
    size_t n = (size_t)tn_type_elements(l->type);
    for (size_t i = 0; i < n; i++) memcpy(data + i * l->size, l->data, l->size);
    return data;
}

static bool fold_small(tn_module *m, tn_op *op)
{
    tn_tensor *operands = TN_NEW_ARRAY(m->arena, tn_tensor, op->n_operands);
    tn_tensor *results = TN_NEW_ARRAY(m->arena, tn_tensor, op->n_results);
    for (uint32_t i = 0; i < op->n_operands; i++)
        operands[i] = (tn_tensor){dense(m, tn_constant_of(op->operands[i])), op->operands[i]->type};
    for (uint32_t i = 0; i < op->n_results; i++)
        results[i] = (tn_tensor){room_for(m, op->results[i].type), op->results[i].type};
    if (!evaluate(op, operands, results)) return false;
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_type *t = op->results[i].type;
        tn_literal l = {.type = t, .data = results[i].data, .size = tn_type_bytes(t)};
        tn_value_replace(&op->results[i], tn_rewrite_constant(m, op, l));
    }
    tn_op_remove(op);
    return true;
}

void tn_fold_op(tn_module *m, tn_op *op, bool *changed)
{
    /* Bodies of reductions and the like stay as they are: their stages know them by sight. */
    if (!is_foldable(op) || !all_constant(op) || !is_closed(op)) return;
    if (all_splats(op) && fold_splats(m, op)) *changed = true;
    else if (is_small(op) && fold_small(m, op)) *changed = true;
}

static tn_status *fold_op(tn_module *m, tn_op *op, bool *changed)
{
    tn_fold_op(m, op, changed);
    return NULL;
}

tn_status *tn_pass_fold(tn_module *m, bool *changed)
{
    return tn_rewrite(m, fold_op, changed);
}
