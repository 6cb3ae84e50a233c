/* SPDX-License-Identifier: Apache-2.0 */
/* unset - a tensor of which a loop writes every row needs no value before.
 *
 * Before:  %0 = broadcast 0   while (%i = 0, %ys = %0) i < n { update %ys at [%i, 0], i + 1 }
 * After:   %0 = tenon.unset, where %ys has n rows
 * Scans stack what they give so, forwards or backwards (at n - 1 - i). */
#include "passes/rewrite.h"

static bool is_argument(const tn_region *r, const tn_value *v, uint32_t i)
{
    return v == &r->args[i];
}

static bool is_number(const tn_value *v, int64_t n)
{
    int64_t x;
    return tn_constant_integer(v, &x) && x == n;
}

/* The carried value that counts 0, 1, ... `n` - 1; false: there is none. */
static bool find_counter(const tn_op *loop, int64_t n, uint32_t *counter)
{
    const tn_region *condition = &loop->regions[0], *body = &loop->regions[1];
    const tn_op *compare = condition->last->operands[0]->op;
    if (!compare || compare->kind != TN_OP_compare || compare->region != condition ||
        tn_op_int(compare, TN_ATTR_comparison_direction, -1) != TN_comparison_direction_LT ||
        !is_number(compare->operands[1], n))
        return false;
    const tn_value *v = compare->operands[0];
    if (v->op || v->region != condition || !is_number(loop->operands[v->index], 0)) return false;
    tn_element_type e = v->type->element;
    if (e != TN_I32 && e != TN_I64 && e != TN_U32 && e != TN_U64) return false;
    const tn_op *add = tn_value_resolve(body->last->operands[v->index])->op;
    if (!add || add->kind != TN_OP_add) return false;
    *counter = v->index;
    for (uint32_t side = 0; side < 2; side++)
        if (is_argument(body, tn_value_resolve(add->operands[side]), v->index) &&
            is_number(tn_value_resolve(add->operands[1 - side]), 1))
            return true;
    return false;
}

/* Does index `v` go through all of [0, n) as the counter does? */
static bool covers(const tn_region *body, const tn_value *v, uint32_t counter, int64_t n)
{
    if (is_argument(body, v, counter)) return true;
    return v->op && v->op->kind == TN_OP_subtract &&
           is_argument(body, tn_value_resolve(v->op->operands[1]), counter) &&
           is_number(tn_value_resolve(v->op->operands[0]), n - 1);
}

static bool is_written_all_over(const tn_op *loop, uint32_t i)
{
    const tn_region *body = &loop->regions[1];
    const tn_type *t = body->args[i].type;
    if (!tn_type_is_static(t) || !t->rank || t->dims[0] < 1 || body->args[i].id != 1 ||
        loop->regions[0].args[i].id != 0)
        return false;
    const tn_op *update = tn_value_resolve(body->last->operands[i])->op;
    if (!update || update->kind != TN_OP_dynamic_update_slice || update->region != body ||
        update->results[0].id != 1 || !is_argument(body, tn_value_resolve(update->operands[0]), i))
        return false;
    const tn_type *part = update->operands[1]->type;
    if (part->dims[0] != 1) return false;
    for (uint32_t d = 1; d < t->rank; d++)
        if (part->dims[d] != t->dims[d]) return false;
    uint32_t counter;
    return find_counter(loop, t->dims[0], &counter) &&
           covers(body, tn_value_resolve(update->operands[2]), counter, t->dims[0]);
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_while) return NULL;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_op *from = op->operands[i]->op;
        if ((from && from->kind == TN_OP_unset) || !is_written_all_over(op, i)) continue;
        op->operands[i] =
            &tn_rewrite_op(m, op, TN_OP_unset, op->operands[i]->type, 0, NULL)->results[0];
        *changed = true;
    }
    return NULL;
}

tn_status *tn_pass_unset(tn_module *m, bool *changed)
{
    for (tn_function *f = m->functions; f; f = f->next) tn_count_uses(&f->body);
    return tn_rewrite(m, rewrite, changed);
}
