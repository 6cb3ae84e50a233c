/* SPDX-License-Identifier: Apache-2.0 */
/* outer - products that sum nothing, and that only elementwise ops want, become elementwise.
 *
 * Before:  %0 = dot_general %x: 1x256, %y: 1x1024, contracting_dims = [0] x [0]   %1 = add %a, %0
 * After:   %x and %y broadcast to 256x1024, multiplied; for each 0 is added where it is 0, and -0
 *          elsewhere, which changes nothing; %1 as before
 * Gradients of weights for one row are such, and are added to others at each step of a loop: so
 * they have no memory of their own. Elsewhere a product is added to 0 without being rounded before,
 * so -0 is none unless it is what is left of a number below the smallest. */
#include "base/cpu_features.h"
#include "passes/rewrite.h"

/* Do kernels add a product before it is rounded? Where they can't, -0 is never left. */
static bool is_fused(void)
{
#ifdef __x86_64__
    return tn_cpu_isa() != TN_ISA_BASELINE;
#else
    return true;
#endif
}

/* The operand, of which dimensions that are summed have one element, and what is to be added for
 * it, at the places of the result, of which its own begin at `first`. Gives how many those are. */
static uint32_t spread(tn_module *m, tn_op *dot, uint32_t operand, uint32_t first, tn_value **out,
                       tn_value **added)
{
    static const tn_attr_name summed[] = {TN_ATTR_lhs_contracting_dimensions,
                                          TN_ATTR_rhs_contracting_dimensions};
    tn_value *x = dot->operands[operand];
    const tn_type *to = tn_result_type(dot, 0);
    uint32_t kept = 0;
    int64_t *dims = TN_NEW_ARRAY(m->arena, int64_t, x->type->rank);
    int64_t *places = TN_NEW_ARRAY(m->arena, int64_t, x->type->rank);
    for (uint32_t d = 0; d < x->type->rank; d++) {
        if (tn_op_has_int(dot, summed[operand], d)) continue;
        dims[kept] = x->type->dims[d];
        places[kept] = first + kept;
        kept++;
    }
    const tn_type *plain = tn_type_tensor(m->arena, x->type->element, kept, dims);
    tn_op *reshaped = tn_rewrite_op(m, dot, TN_OP_reshape, plain, 1, &x);
    tn_value *v = &reshaped->results[0];
    tn_value *sides[] = {v, tn_rewrite_splat(m, dot, plain, 0)};
    const tn_type *truth = tn_type_tensor(m->arena, TN_I1, kept, dims);
    tn_op *compare = tn_rewrite_op(m, dot, TN_OP_compare, truth, 2, sides);
    tn_op_set_attr(m, compare, TN_ATTR_comparison_direction,
                   tn_attr_int(m->arena, TN_comparison_direction_EQ));
    int64_t minus = x->type->element == TN_F64 ? INT64_MIN : INT32_MIN;
    if (!is_fused()) minus = 0;
    tn_value *choice[] = {&compare->results[0], sides[1], tn_rewrite_splat(m, dot, plain, minus)};
    tn_value *zero = &tn_rewrite_op(m, dot, TN_OP_select, plain, 3, choice)->results[0];
    tn_value *from[] = {v, zero}, **to_which[] = {out, added};
    for (uint32_t i = 0; i < 2; i++) {
        tn_op *by = tn_rewrite_op(m, dot, TN_OP_broadcast_in_dim, to, 1, &from[i]);
        tn_rewrite_ints(m, by, TN_ATTR_broadcast_dimensions, places, kept);
        *to_which[i] = &by->results[0];
    }
    return kept;
}

static bool sums_one(const tn_op *dot)
{
    uint32_t n, n_batch;
    const int64_t *dims = tn_op_ints(dot, TN_ATTR_lhs_contracting_dimensions, &n);
    tn_op_ints(dot, TN_ATTR_lhs_batching_dimensions, &n_batch);
    for (uint32_t i = 0; i < n; i++)
        if (tn_operand_type(dot, 0)->dims[dims[i]] != 1) return false;
    return !n_batch;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_dot_general || op->mark) return NULL;
    const tn_type *to = tn_result_type(op, 0);
    tn_element_type e = to->element;
    if ((e != TN_F32 && e != TN_F64) || !tn_type_is_static(to) || !tn_type_elements(to))
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (t->element != e || !tn_type_is_static(t) || t->quantization) return NULL;
    }
    if (!sums_one(op)) return NULL;
    tn_value *both[2], *zeros[2];
    uint32_t rank = spread(m, op, 0, 0, &both[0], &zeros[0]);
    spread(m, op, 1, rank, &both[1], &zeros[1]);
    tn_value *v = &tn_rewrite_op(m, op, TN_OP_multiply, to, 2, both)->results[0];
    for (uint32_t i = 0; i < 2; i++) {
        tn_value *sides[] = {v, zeros[i]};
        v = &tn_rewrite_op(m, op, TN_OP_add, to, 2, sides)->results[0];
    }
    tn_rewrite_by(op, v);
    *changed = true;
    return NULL;
}

/* `mark` of a product: whether anything but elementwise ops uses it, or nothing. */
static void mark_products(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_dot_general) op->mark = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_op *by = tn_value_resolve(op->operands[i])->op;
            if (by && by->kind == TN_OP_dot_general && !tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE))
                by->mark = 1;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) mark_products(&op->regions[i]);
    }
}

tn_status *tn_pass_outer(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) mark_products(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
