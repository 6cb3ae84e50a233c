/* SPDX-License-Identifier: Apache-2.0 */
/* one_window - scatters of one window whose place is known become updates of that place.
 *
 * Before:  scatter(%x, [1, 1], %u, add)
 * After:   %1 = slice %x   %2 = add %1, %u   dynamic_update_slice(%x, %2, 1, 1)
 * That is what x.at[1:-1, 1:-1].add(u) is in JAX; the sum then runs together with what makes %u.
 * Not:     windows that don't fit, which a scatter leaves out; bodies of more than one op.
 * Source:  StableHLO spec, scatter. */
#include "ops/access.h"
#include "passes/rewrite.h"

enum { RANK_AT_MOST = 16 };

typedef struct {
    int64_t start[RANK_AT_MOST], size[RANK_AT_MOST];
} window;

/* Where the one window lies. */
static bool find_window(const tn_op *op, window *w)
{
    const tn_type *whole = op->operands[0]->type, *update = op->operands[2]->type;
    const tn_literal *indices = tn_constant_of(op->operands[1]);
    uint32_t n, n_indexed;
    tn_op_ints(op, TN_ATTR_input_batching_dims, &n);
    if (!indices || n || whole->rank > RANK_AT_MOST) return false;
    const int64_t *kept = tn_op_ints(op, TN_ATTR_update_window_dims, &n);
    const int64_t *indexed = tn_op_ints(op, TN_ATTR_scatter_dims_to_operand_dims, &n_indexed);
    for (uint32_t i = 0; i < update->rank; i++)
        if (!tn_op_has_int(op, TN_ATTR_update_window_dims, i) && update->dims[i] != 1) return false;
    if (tn_type_elements(op->operands[1]->type) != n_indexed) return false;
    for (uint32_t i = 0, k = 0; i < whole->rank; i++) {
        w->start[i] = 0;
        w->size[i] =
            tn_op_has_int(op, TN_ATTR_inserted_window_dims, i) ? 1 : update->dims[kept[k++]];
    }
    for (uint32_t i = 0; i < n_indexed; i++)
        w->start[indexed[i]] =
            tn_read_index(indices->data, indices->type->element, indices->splat ? 0 : i);
    for (uint32_t i = 0; i < whole->rank; i++)
        if (w->start[i] < 0 || w->start[i] > whole->dims[i] - w->size[i]) return false;
    return true;
}

/* Of the kinds that the window can be combined by. */
static const tn_op *combining_op(const tn_region *r)
{
    const tn_op *op = tn_op_of_body(r);
    return op && (tn_is_combining(op->kind) || op->kind == TN_OP_subtract) ? op : NULL;
}

static tn_value *combine(tn_module *m, tn_op *op, const tn_op *with, const window *w,
                         const tn_type *part, tn_value *update)
{
    const tn_region *r = &op->regions[0];
    uint32_t rank = part->rank;
    int64_t limit[RANK_AT_MOST], stride[RANK_AT_MOST];
    for (uint32_t i = 0; i < rank; i++) limit[i] = w->start[i] + w->size[i], stride[i] = 1;
    tn_op *slice = tn_rewrite_op(m, op, TN_OP_slice, part, 1, &op->operands[0]);
    tn_rewrite_ints(m, slice, TN_ATTR_start_indices, w->start, rank);
    tn_rewrite_ints(m, slice, TN_ATTR_limit_indices, limit, rank);
    tn_rewrite_ints(m, slice, TN_ATTR_strides, stride, rank);
    tn_value *both[2] = {&slice->results[0], update};
    if (with->operands[0] == &r->args[1]) both[0] = update, both[1] = &slice->results[0];
    return &tn_rewrite_op(m, op, with->kind, part, 2, both)->results[0];
}

static bool has_one_type(const tn_op *op)
{
    const tn_region *r = &op->regions[0];
    tn_element_type e = op->operands[0]->type->element;
    for (uint32_t i = 0; i < r->n_args; i++)
        if (r->args[i].type->element != e) return false;
    return op->operands[2]->type->element == e && op->results[0].type->element == e &&
           !op->operands[0]->type->quantization && r->last->operands[0]->type->element == e;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    window w;
    if (op->kind != TN_OP_scatter || op->n_operands != 3 || !has_one_type(op)) return NULL;
    const tn_type *whole = op->operands[0]->type;
    if (!tn_type_is_static(whole) || !tn_type_is_static(op->operands[2]->type) ||
        !tn_type_elements(op->operands[2]->type))
        return NULL;
    const tn_region *body = &op->regions[0];
    const tn_op *with = combining_op(body);
    bool overwrites = body->last->operands[0] == &body->args[1];
    if ((!with && !overwrites) || !find_window(op, &w)) return NULL;

    const tn_type *part = tn_type_tensor(m->arena, whole->element, whole->rank, w.size);
    tn_value *v = op->operands[2];
    if (!tn_type_equal(v->type, part))
        v = &tn_rewrite_op(m, op, TN_OP_reshape, part, 1, &v)->results[0];
    if (with) v = combine(m, op, with, &w, part, v);
    tn_value *operands[RANK_AT_MOST + 2] = {op->operands[0], v};
    const tn_type *index = tn_type_tensor(m->arena, TN_I64, 0, NULL);
    for (uint32_t i = 0; i < whole->rank; i++)
        operands[i + 2] = tn_rewrite_splat(m, op, index, w.start[i]);
    tn_op *update = tn_rewrite_op(m, op, TN_OP_dynamic_update_slice, op->results[0].type,
                                  whole->rank + 2, operands);
    tn_rewrite_by(op, &update->results[0]);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_one_window(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
