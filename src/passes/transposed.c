/* SPDX-License-Identifier: Apache-2.0 */
/* transposed - products read transposed operands where they are.
 *
 * Before:  %0 = transpose %w   %1 = dot_general %x, %0, contracting_dims = [1] x [0]
 * After:   %1 = dot_general %x, %w, contracting_dims = [1] x [1]
 * x @ w.T is lowered so. Sums go along the contracted dimension in the same order either way. Where
 * there are so few rows that it would follow from how operands lie (kernels/gemm.h), %1 becomes
 * tenon.ordered_dot, which keeps the order that sums have now, or stays as it is. */
#include "kernels/gemm.h"
#include "ops/access.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

typedef struct {
    tn_ints batch, contracted;
} numbers;

static const tn_attr_name batching[] = {TN_ATTR_lhs_batching_dimensions,
                                        TN_ATTR_rhs_batching_dimensions},
                          contracting[] = {TN_ATTR_lhs_contracting_dimensions,
                                           TN_ATTR_rhs_contracting_dimensions};

static numbers numbers_of(const tn_op *dot, uint32_t operand)
{
    numbers d;
    d.batch.v = tn_op_ints(dot, batching[operand], &d.batch.n);
    d.contracted.v = tn_op_ints(dot, contracting[operand], &d.contracted.n);
    return d;
}

static bool is_free(const numbers *d, int64_t dim)
{
    return !tn_ints_have(d->batch, dim) && !tn_ints_have(d->contracted, dim);
}

/* Are there more rows than those that may be summed otherwise? */
static bool has_many(const tn_op *dot, uint32_t operand)
{
    numbers d = numbers_of(dot, operand);
    const tn_type *t = tn_operand_type(dot, operand);
    bool any = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!is_free(&d, i) || t->dims[i] == 1) continue;
        if (t->dims[i] <= TN_GEMM_LANE_ROWS) return false;
        any = true;
    }
    return any;
}

/* What an operand's transpose may become. */
typedef enum { STAYS, MOVES, MOVES_IN_ORDER } fate;

/* Sums that are made in order of k now, since neither operand is such that they would be in lanes:
 * of `operand`, with `n` free elements, the contracted dimension isn't the innermost one. */
static bool is_in_order(const tn_type *t, int64_t contracted, int64_t n)
{
    return n > TN_GEMM_LANE_ROWS && tn_step(t, (uint32_t)contracted) != 1;
}

/* One free dimension and one that is contracted, and free ones keep their order. */
static fate fate_of(const tn_op *dot, uint32_t operand, const int64_t *p)
{
    numbers d = numbers_of(dot, operand);
    const tn_type *t = tn_operand_type(dot, operand);
    uint32_t n = 0;
    int64_t last = -1, free = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!is_free(&d, i)) continue;
        if (p[i] < last) return STAYS;
        last = p[i];
        n += t->dims[i] != 1;
        free *= t->dims[i];
    }
    if (n > 1 || d.contracted.n != 1) return STAYS;
    if (t->dims[d.contracted.v[0]] < TN_GEMM_LANE_K || has_many(dot, 1 - operand)) return MOVES;
    return is_in_order(t, d.contracted.v[0], free) ? MOVES_IN_ORDER : STAYS;
}

static void move(tn_module *m, tn_op *dot, tn_attr_name name, const int64_t *p)
{
    uint32_t n;
    const int64_t *v = tn_op_ints(dot, name, &n);
    int64_t *moved = TN_NEW_ARRAY(m->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) moved[i] = p[v[i]];
    tn_rewrite_ints(m, dot, name, moved, n);
}

static void take_operands(tn_module *m, tn_op *dot, bool *changed)
{
    for (uint32_t i = 0; i < 2; i++) {
        const tn_op *t = dot->operands[i]->op;
        if (!t || t->kind != TN_OP_transpose || !tn_type_is_static(dot->operands[i]->type) ||
            !tn_type_is_static(tn_operand_type(dot, 1 - i)) || dot->operands[i]->type->quantization)
            continue;
        uint32_t n;
        const int64_t *p = tn_op_ints(t, TN_ATTR_permutation, &n);
        fate f = fate_of(dot, i, p);
        if (f == STAYS) continue;
        if (f == MOVES_IN_ORDER) dot->kind = TN_OP_ordered_dot;
        move(m, dot, batching[i], p);
        move(m, dot, contracting[i], p);
        dot->operands[i] = tn_value_resolve(t->operands[0]);
        *changed = true;
    }
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind == TN_OP_dot_general || op->kind == TN_OP_mixed_dot) take_operands(m, op, changed);
    return NULL;
}

tn_status *tn_pass_transposed(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
