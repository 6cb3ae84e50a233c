/* SPDX-License-Identifier: Apache-2.0 */
/* sort_head - sorts of which only the first elements are wanted become selections.
 *
 * Before:  %s:2 = sort %x, %iota   %v = slice %s#0 [0:k]   %i = slice %s#1 [0:k]
 * After:   %v, %i = tenon.sort_head %x, 0: tensor<i32>
 * A scalar in the place of an operand: elements are their places along the dimension that is
 * sorted, which the comparator doesn't look at. This is what top_k is lowered to. */
#include "passes/rewrite.h"

/* `mark` of a sort: how many elements are wanted by all that use it so far. */
#define NONE UINT32_MAX /* it has no use yet */
#define ALL  0

/* What a selection costs more than a sort of as many elements must be worth it. */
#define LEAST_RATIO 4

/* The k of a slice [0:k] along `dim`, or ALL. */
static uint32_t head_of(const tn_op *op, int64_t dim)
{
    uint32_t n;
    if (op->kind != TN_OP_slice) return ALL;
    const tn_type *t = op->operands[0]->type;
    const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
    const int64_t *limit = tn_op_ints(op, TN_ATTR_limit_indices, &n);
    const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
    for (uint32_t i = 0; i < n; i++)
        if (start[i] || stride[i] != 1 || (i != dim && limit[i] != t->dims[i])) return ALL;
    return limit[dim] < NONE ? (uint32_t)limit[dim] : ALL;
}

static int64_t dimension(const tn_op *sort)
{
    int64_t d = tn_op_int(sort, TN_ATTR_dimension, -1);
    return d < 0 ? d + sort->results[0].type->rank : d;
}

static bool is_static(const tn_op *sort)
{
    for (uint32_t i = 0; i < sort->n_results; i++)
        if (!tn_type_is_static(sort->results[i].type) || !sort->results[i].type->rank ||
            sort->results[i].type->quantization)
            return false;
    return true;
}

static void look_at(tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_sort) op->mark = is_static(op) ? NONE : ALL;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            tn_op *sort = tn_value_resolve(op->operands[i])->op;
            if (!sort || sort->kind != TN_OP_sort || sort->mark == ALL) continue;
            uint32_t k = head_of(op, dimension(sort));
            sort->mark = sort->mark == NONE || sort->mark == k ? k : ALL;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) look_at(&op->regions[i]);
    }
}

static bool reads(const tn_region *r, const tn_value *v)
{
    bool any = false;
    for (const tn_op *op = r->first; op && !any; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++) any |= tn_value_resolve(op->operands[i]) == v;
        for (uint32_t i = 0; i < op->n_regions && !any; i++) any = reads(&op->regions[i], v);
    }
    return any;
}

/* Are operand i's elements their places along `dim`, and nothing else of it is wanted? */
static bool is_places(const tn_op *sort, uint32_t i, int64_t dim)
{
    const tn_op *iota = tn_value_resolve(sort->operands[i])->op;
    const tn_region *r = &sort->regions[0];
    tn_element_type e = sort->operands[i]->type->element;
    return iota && iota->kind == TN_OP_iota && tn_is_integer(e) && tn_element_type_bits(e) >= 32 &&
           tn_op_int(iota, TN_ATTR_iota_dimension, -1) == dim && !reads(r, &r->args[2 * i]) &&
           !reads(r, &r->args[2 * i + 1]);
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind == TN_OP_sort && op->mark != NONE && op->mark != ALL) {
        int64_t dim = dimension(op), k = op->mark;
        if (k > op->results[0].type->dims[dim] / LEAST_RATIO) return NULL;
        op->kind = TN_OP_sort_head;
        for (uint32_t i = 0; i < op->n_operands; i++) {
            if (!is_places(op, i, dim)) continue;
            tn_element_type e = op->operands[i]->type->element;
            op->operands[i] = tn_rewrite_splat(m, op, tn_type_tensor(m->arena, e, 0, NULL), 0);
        }
        for (uint32_t i = 0; i < op->n_results; i++) {
            const tn_type *t = op->results[i].type;
            int64_t *dims = tn_dup(m->arena, t->dims, t->rank * sizeof *dims);
            dims[dim] = k;
            op->results[i].type = tn_type_tensor(m->arena, t->element, t->rank, dims);
        }
        *changed = true;
    } else if (op->kind == TN_OP_slice && op->operands[0]->op &&
               op->operands[0]->op->kind == TN_OP_sort_head) {
        tn_rewrite_by(op, op->operands[0]);
    }
    return NULL;
}

tn_status *tn_pass_sort_head(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) look_at(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
