/* SPDX-License-Identifier: Apache-2.0 */
/* narrow - products of few rows read operands before they are widened.
 *
 * Before:  %0 = convert %w : bf16 -> f32   %1 = dot_general %x, %0
 * After:   %1 = dot_general %x, %w, or tenon.mixed_dot where %w holds integers
 * Weights of bf16 or int8 are used so. Memory is what holds such products, and a kernel widens what
 * it reads on the way; every value that is widened is exact, and sums are those of the wide type.
 */
#include <math.h>

#include "kernels/gemm.h"
#include "passes/rewrite.h"

enum { FEW_ROWS = 32, LEAST_BYTES = 1 << 14 };

static bool is_dot(const tn_op *op)
{
    return op->kind == TN_OP_dot_general || op->kind == TN_OP_ordered_dot;
}

/* Elements along the dimensions of an operand that stay in the result, but for those of a batch. */
static double free_elements(const tn_op *dot, uint32_t operand)
{
    static const tn_attr_name lists[2][2] = {
        {TN_ATTR_lhs_batching_dimensions, TN_ATTR_lhs_contracting_dimensions},
        {TN_ATTR_rhs_batching_dimensions, TN_ATTR_rhs_contracting_dimensions}};
    const tn_type *t = tn_operand_type(dot, operand);
    if (!tn_type_is_static(t)) return INFINITY;
    double n = (double)tn_type_elements(t);
    for (uint32_t l = 0; l < 2; l++) {
        uint32_t count;
        const int64_t *dims = tn_op_ints(dot, lists[operand][l], &count);
        for (uint32_t i = 0; i < count; i++) n /= (double)t->dims[dims[i]];
    }
    return n;
}

static bool holds(tn_element_type wide, tn_element_type narrow)
{
    uint32_t bits = tn_element_type_bits(narrow);
    if (wide != TN_F32 && wide != TN_F64) return false;
    if (tn_is_float(narrow)) return narrow == TN_BF16 || narrow == TN_F16 || narrow == TN_F32;
    return tn_is_integer(narrow) && bits <= (wide == TN_F32 ? 16 : 32);
}

static bool is_plain(const tn_type *t)
{
    return tn_type_is_static(t) && !t->quantization && tn_type_elements(t) > 0;
}

static void take_narrow(tn_op *dot, uint32_t i, bool *changed)
{
    const tn_op *c = dot->operands[i]->op;
    if (!c || c->kind != TN_OP_convert || c->mark) return;
    tn_value *from = tn_value_resolve(c->operands[0]);
    const tn_type *narrow = from->type, *wide = dot->operands[i]->type,
                  *other = tn_operand_type(dot, 1 - i), *out = tn_result_type(dot, 0);
    if (!is_plain(narrow) || !is_plain(wide) || !is_plain(other) || !is_plain(out)) return;
    if (!holds(wide->element, narrow->element) || tn_type_bytes(narrow) < LEAST_BYTES) return;
    if (tn_element_type_bits(narrow->element) >= tn_element_type_bits(wide->element)) return;
    /* In f32 before and after; of two bf16 sums may be made otherwise, see kernels/gemm.h. */
    if (!tn_is_float(other->element) || !tn_is_float(out->element)) return;
    if (narrow->element == TN_BF16 && other->element == TN_BF16) return;
    if (wide->element == TN_F64 && other->element != TN_F64 && out->element != TN_F64) return;
    if (!tn_gemm_supports(narrow->element, other->element, out->element)) return;
    if (free_elements(dot, 1 - i) > FEW_ROWS) return;
    dot->operands[i] = from;
    if (!tn_is_float(narrow->element) && dot->kind == TN_OP_dot_general)
        dot->kind = TN_OP_mixed_dot;
    *changed = true;
}

/* `mark` of a convert: whether anything but products of few rows uses it. */
static void mark_converts(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_convert) op->mark = 0;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_op *c = tn_value_resolve(op->operands[i])->op;
            if (c && c->kind == TN_OP_convert &&
                !(is_dot(op) && free_elements(op, 1 - i) <= FEW_ROWS))
                c->mark = 1;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) mark_converts(&op->regions[i]);
    }
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    (void)m;
    if (!is_dot(op)) return NULL;
    bool rhs_first =
        tn_type_is_static(op->operands[0]->type) && tn_type_is_static(op->operands[1]->type) &&
        tn_type_elements(op->operands[1]->type) > tn_type_elements(op->operands[0]->type);
    for (uint32_t i = 0; i < 2 && is_dot(op); i++) take_narrow(op, i ^ rhs_first, changed);
    return NULL;
}

tn_status *tn_pass_narrow(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) mark_converts(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
