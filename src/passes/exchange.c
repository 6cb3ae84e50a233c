/* SPDX-License-Identifier: Apache-2.0 */
/* exchange - transposes of products become products of exchanged operands.
 *
 * Before:  %0 = dot_general %g, %x   %1 = transpose %0, dims = [1, 0]
 * After:   %1 = dot_general %x, %g
 * Gradients of products are lowered so. Sums go along the contracted dimensions in the same order
 * either way, so no value changes; but not where matrix registers may be used (kernels/gemm.h),
 * for which operands aren't alike. */
#include "passes/rewrite.h"

/* `mark` of a product: how many uses it has, up to MANY. */
enum { MANY = 2 };

static void look_at(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_dot_general) op->mark = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_op *dot = tn_value_resolve(op->operands[i])->op;
            if (dot && dot->kind == TN_OP_dot_general && dot->mark < MANY) dot->mark++;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) look_at(&op->regions[i]);
    }
}

static bool may_exchange(const tn_op *dot)
{
    const tn_type *x = tn_operand_type(dot, 0), *y = tn_operand_type(dot, 1);
    const tn_type *z = tn_result_type(dot, 0);
    if (x->quantization || y->quantization || z->quantization) return false;
    return tn_is_float(x->element) && (x->element != TN_BF16 || y->element != TN_BF16);
}

/* Does the permutation put the free dimensions of rhs before those of lhs, and nothing else? */
static bool exchanges(const tn_op *dot, const int64_t *p, uint32_t n)
{
    uint32_t batch, contracted;
    tn_op_ints(dot, TN_ATTR_lhs_batching_dimensions, &batch);
    tn_op_ints(dot, TN_ATTR_lhs_contracting_dimensions, &contracted);
    uint32_t lhs = tn_operand_type(dot, 0)->rank - batch - contracted;
    uint32_t rhs = tn_operand_type(dot, 1)->rank - batch - contracted;
    if (!lhs || !rhs || batch + lhs + rhs != n) return false;
    for (uint32_t i = 0; i < batch; i++)
        if (p[i] != i) return false;
    for (uint32_t i = 0; i < rhs; i++)
        if (p[batch + i] != batch + lhs + i) return false;
    for (uint32_t i = 0; i < lhs; i++)
        if (p[batch + rhs + i] != batch + i) return false;
    return true;
}

static void copy_ints(tn_module *m, tn_op *to, tn_attr_name name, const tn_op *from,
                      tn_attr_name from_name)
{
    uint32_t n;
    const int64_t *v = tn_op_ints(from, from_name, &n);
    tn_rewrite_ints(m, to, name, tn_dup(m->arena, v, n * sizeof *v), n);
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_transpose) return NULL;
    tn_op *dot = op->operands[0]->op;
    if (!dot || dot->kind != TN_OP_dot_general || dot->mark != 1 || dot->region != op->region ||
        !may_exchange(dot))
        return NULL;
    uint32_t n;
    const int64_t *p = tn_op_ints(op, TN_ATTR_permutation, &n);
    if (!exchanges(dot, p, n)) return NULL;
    tn_value *operands[2] = {tn_value_resolve(dot->operands[1]),
                             tn_value_resolve(dot->operands[0])};
    tn_op *other = tn_rewrite_op(m, op, TN_OP_dot_general, tn_result_type(op, 0), 2, operands);
    for (uint32_t i = 0; i < dot->n_attrs; i++) other->attrs[i] = dot->attrs[i];
    copy_ints(m, other, TN_ATTR_lhs_batching_dimensions, dot, TN_ATTR_rhs_batching_dimensions);
    copy_ints(m, other, TN_ATTR_rhs_batching_dimensions, dot, TN_ATTR_lhs_batching_dimensions);
    copy_ints(m, other, TN_ATTR_lhs_contracting_dimensions, dot,
              TN_ATTR_rhs_contracting_dimensions);
    copy_ints(m, other, TN_ATTR_rhs_contracting_dimensions, dot,
              TN_ATTR_lhs_contracting_dimensions);
    other->mark = MANY;
    tn_rewrite_by(op, &other->results[0]);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_exchange(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) look_at(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
