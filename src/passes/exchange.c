/* SPDX-License-Identifier: Apache-2.0 */
/* exchange - products that are transposed at once have their operands exchanged, where that leaves
 * less to transpose.
 *
 * Before:  %p = dot_general %x, %y : [batch, m, n]   transpose %p, [.., n, m]
 * After:   %p = dot_general %y, %x : [batch, n, m]   and no transpose, or one that moves whole rows
 * Gradients of products and attentions are lowered so. Sums go along the contracted dimensions in
 * the same order either way, so no value changes; but not where matrix registers may be used
 * (kernels/gemm.h), for which operands aren't alike. */
#include <string.h>

#include "passes/rewrite.h"

/* `mark` of a dot_general: how often it is used. */
static void count_uses(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_dot_general) op->mark = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_op *used = tn_value_resolve(op->operands[i])->op;
            if (used && used->kind == TN_OP_dot_general) used->mark++;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) count_uses(&op->regions[i]);
    }
}

static void swap_ints(tn_module *m, tn_op *op, tn_attr_name x, tn_attr_name y)
{
    uint32_t n, k;
    const int64_t *of_x = tn_op_ints(op, x, &n), *of_y = tn_op_ints(op, y, &k);
    int64_t *copy = tn_dup(m->arena, of_x, n * sizeof *of_x);
    tn_rewrite_ints(m, op, x, of_y, k);
    tn_rewrite_ints(m, op, y, copy, n);
}

/* The evaluator takes contracted dimensions in the order of their places in one operand. */
static bool has_one_order(const tn_op *dot)
{
    uint32_t n;
    const int64_t *x = tn_op_ints(dot, TN_ATTR_lhs_contracting_dimensions, &n);
    const int64_t *y = tn_op_ints(dot, TN_ATTR_rhs_contracting_dimensions, &n);
    for (uint32_t i = 1; i < n; i++)
        if ((x[i] > x[i - 1]) != (y[i] > y[i - 1]) || (i > 1 && (x[i] > x[i - 1]) != (x[1] > x[0])))
            return false;
    return true;
}

static bool may_exchange(const tn_op *dot)
{
    const tn_type *x = tn_operand_type(dot, 0), *y = tn_operand_type(dot, 1);
    const tn_type *z = tn_result_type(dot, 0);
    if (!tn_type_is_static(x) || !tn_type_is_static(y) || !tn_type_is_static(z)) return false;
    if (x->quantization || y->quantization || z->quantization) return false;
    if (tn_op_attr(dot, TN_ATTR_accumulation_type) || !has_one_order(dot)) return false;
    return tn_is_float(x->element) && (x->element != TN_BF16 || y->element != TN_BF16);
}

static tn_status *exchange(tn_module *m, tn_op *op, bool *changed)
{
    tn_op *dot = op->kind == TN_OP_transpose ? op->operands[0]->op : NULL;
    if (!dot || dot->kind != TN_OP_dot_general || dot->mark != 1 || !may_exchange(dot)) return NULL;
    uint32_t n, batch, contract;
    const int64_t *p = tn_op_ints(op, TN_ATTR_permutation, &n);
    tn_op_ints(dot, TN_ATTR_lhs_batching_dimensions, &batch);
    tn_op_ints(dot, TN_ATTR_lhs_contracting_dimensions, &contract);
    const tn_type *t = dot->results[0].type;
    uint32_t left = dot->operands[0]->type->rank - batch - contract, right = n - batch - left;
    uint32_t last = n;
    while (last > 0 && t->dims[p[last - 1]] == 1) last--;
    if (!last || p[last - 1] < batch || p[last - 1] >= batch + left) return NULL;

    int64_t *dims = TN_NEW_ARRAY(m->arena, int64_t, n), *after = TN_NEW_ARRAY(m->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = (uint32_t)p[i];
        after[i] = d < batch ? d : d < batch + left ? d + right : d - left;
        dims[after[i]] = t->dims[d];
    }
    tn_value *lhs = dot->operands[0];
    dot->operands[0] = dot->operands[1];
    dot->operands[1] = lhs;
    swap_ints(m, dot, TN_ATTR_lhs_batching_dimensions, TN_ATTR_rhs_batching_dimensions);
    swap_ints(m, dot, TN_ATTR_lhs_contracting_dimensions, TN_ATTR_rhs_contracting_dimensions);
    dot->results[0].type = tn_type_tensor(m->arena, t->element, n, dims);
    *changed = true;
    bool in_order = true;
    for (uint32_t i = 0; i < n; i++) in_order = in_order && after[i] == i;
    if (in_order) tn_rewrite_by(op, &dot->results[0]);
    else tn_rewrite_ints(m, op, TN_ATTR_permutation, after, n);
    return NULL;
}

tn_status *tn_pass_exchange(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) count_uses(&f->body);
    return tn_rewrite(m, exchange, changed);
}
