/* SPDX-License-Identifier: Apache-2.0 */
/* apart - reductions along dimensions that are not next to each other become several.
 *
 * Before:  %1 = reduce(%x, %i, add, [0, 2])
 * After:   %2 = reduce(%x, -0.0, add, [2])   %1 = reduce(%2, %i, add, [0])
 * Each goes along lines of memory, and runs together with what makes its operand. Evaluators of the
 * first do the same: see tn_lines_first.
 * Not:     sums that give f16 and bf16, which would be rounded in between.
 * Source:  StableHLO spec, reduce. */
#include <string.h>

#include "ops/lines.h"
#include "passes/rewrite.h"

enum { RANK = 64 };

/* `op` on other operands and dimensions, before it. */
static tn_op *reduce_along(tn_module *m, tn_op *op, tn_value *x, tn_value *init,
                           const int64_t *dims, uint32_t n)
{
    const tn_type *t = x->type;
    int64_t kept[RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool reduced = false;
        for (uint32_t k = 0; k < n; k++) reduced |= dims[k] == i;
        if (!reduced) kept[rank++] = t->dims[i];
    }
    tn_op *by = tn_op_clone(m, op, tn_value_map_new(m->arena, 8));
    by->operands[0] = x;
    by->operands[1] = init;
    by->results[0].type = tn_type_tensor(m->arena, op->results[0].type->element, rank, kept);
    tn_rewrite_ints(m, by, TN_ATTR_dimensions, dims, n);
    tn_op_insert_before(op, by);
    return by;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_reduce || op->n_operands != 2) return NULL;
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    tn_value *x = op->operands[0], *init = op->operands[1];
    if (!body || x->type->rank > RANK) return NULL;
    uint64_t neutral;
    uint32_t n, n_dims;
    const int64_t *all = tn_op_ints(op, TN_ATTR_dimensions, &n_dims);
    int64_t dims[RANK], first[RANK];
    memcpy(dims, all, n_dims * sizeof *dims);
    while ((n = tn_lines_first(op, body->kind, x->type, dims, n_dims, &neutral))) {
        uint32_t n_first = 0, n_left = 0;
        for (uint32_t i = 0; i < n_dims; i++)
            if (dims[i] >= n) first[n_first++] = dims[i];
            else dims[n_left++] = dims[i];
        n_dims = n_left;
        const tn_type *one = tn_type_tensor(m->arena, x->type->element, 0, NULL);
        tn_value *none = tn_rewrite_splat(m, op, one, (int64_t)neutral);
        x = &reduce_along(m, op, x, none, first, n_first)->results[0];
    }
    if (x == op->operands[0]) return NULL;
    if (init->type->element != x->type->element) {
        const tn_type *one = tn_type_tensor(m->arena, x->type->element, 0, NULL);
        init = &tn_rewrite_op(m, op, TN_OP_convert, one, 1, &init)->results[0];
    }
    tn_rewrite_by(op, &reduce_along(m, op, x, init, dims, n_dims)->results[0]);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_apart(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
