/* SPDX-License-Identifier: Apache-2.0 */
/* accumulate - products that a loop adds up are added where the sum is.
 *
 * Before:  while { body(%sum): %1 = dot_general %a, %b   %2 = add %sum, %1   return %2 }
 * After:   while { body(%sum): %2 = tenon.add_dot %sum, %a, %b   return %2 }
 * The gradient of weights that all steps of a scan share is such a sum. Each product is rounded as
 * before and then added; of products that end among the subnormal numbers the bits may be those of
 * several roundings (kernels/gemm_tiny.h). */
#include "ops/dot.h"
#include "passes/rewrite.h"

/* The carried value to which `add` adds a product; it has no other use. */
static tn_value *sum_of(const tn_op *add, uint32_t side)
{
    const tn_region *r = add->region;
    tn_value *sum = add->operands[side];
    if (sum->op || sum->region != r || sum->id != 1 || sum->index >= r->last->n_operands)
        return NULL;
    bool carried = tn_value_resolve(r->last->operands[sum->index]) == &add->results[0];
    return carried && add->results[0].id == 1 ? sum : NULL;
}

static bool may_take(tn_module *m, const tn_op *dot, const tn_op *add)
{
    tn_gemm g;
    return dot && dot->kind == TN_OP_dot_general && dot->region == add->region &&
           dot->results[0].id == 1 && tn_type_equal(dot->results[0].type, add->results[0].type) &&
           tn_dot_gemm(dot, m->arena, &g) && tn_gemm_may_add(&g);
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    const tn_op *loop = op->region->parent;
    if (op->kind != TN_OP_add || !loop || loop->kind != TN_OP_while ||
        op->region != &loop->regions[1])
        return NULL;
    for (uint32_t side = 0; side < 2; side++) {
        tn_value *sum = sum_of(op, side);
        tn_op *dot = op->operands[1 - side]->op;
        if (!sum || !may_take(m, dot, op)) continue;
        tn_value *operands[] = {sum, dot->operands[0], dot->operands[1]};
        dot->operands = tn_dup(m->arena, operands, sizeof operands);
        dot->n_operands = 3;
        dot->kind = TN_OP_add_dot;
        tn_rewrite_by(op, &dot->results[0]);
        *changed = true;
        return NULL;
    }
    return NULL;
}

tn_status *tn_pass_accumulate(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) tn_count_uses(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
