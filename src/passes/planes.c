/* SPDX-License-Identifier: Apache-2.0 */
/* planes - what broadcasts make with a few elements innermost is computed a plane at a time.
 *
 * Before:  %d = %x : n x 1 x 3 - %y : 1 x m x 3   %q = reduce(%d * %d, 0, add, [2])
 *          %r = reduce(%d * %w : n x m x 1, 0, add, [1])
 * After:   %dk = %xk : n x 1 - %yk : 1 x m, for each column k
 *          %q = 0 + ((%d0 * %d0 + %d2 * %d2) + %d1 * %d1)
 *          %r = concatenate reduce(%dk * %w, 0, add, [1]) : n x 1, dim = 1
 * Distances of points, forces between them and functions of both then are elementwise ops on n x m
 * and sums of rows, which run together and leave no array of all pairs. Sums have the order that
 * they have before: of short rows, written down here, and of long lines of few columns, which is
 * that of rows (ops/lines.h).
 * Not:     where an array of all pairs is read as it is, or lines are short. */
#include "passes/pieces.h"
#include "passes/rewrite.h"

enum {
    FEW = 8,      /* columns, at most */
    LOOKS = 48,   /* values that are looked at for a reduction */
    INNER = 64,   /* elements of a plane's row, at least */
    LINE = 256,   /* of one that is reduced */
    LINES = 16,   /* of a plane that is reduced, at least: fewer are cut into shares */
    REPEATED = 16 /* times that a sliced array is repeated, at least */
};

static tn_value *make(tn_module *m, tn_op *where, tn_op_kind kind, const tn_type *t, tn_value *a,
                      tn_value *b)
{
    return &tn_rewrite_op(m, where, kind, t, 2, (tn_value *[]){a, b})->results[0];
}

/* The sum of a row, as kernels/reduce_rows.h makes it. */
static tn_value *fold(tn_module *m, tn_op *op, tn_op_kind kind, tn_value **lanes, int64_t n)
{
    const tn_type *t = tn_result_type(op, 0);
    int64_t half = 1;
    while (2 * half < n) half *= 2;
    for (int64_t left = n; left > 1; left = half, half /= 2)
        for (int64_t k = 0; k + half < left; k++)
            lanes[k] = make(m, op, kind, t, lanes[k], lanes[k + half]);
    tn_op *init = tn_rewrite_op(m, op, TN_OP_broadcast_in_dim, t, 1, &op->operands[1]);
    tn_rewrite_ints(m, init, TN_ATTR_broadcast_dimensions, NULL, 0);
    return make(m, op, kind, t, &init->results[0], lanes[0]);
}

/* Each plane reduced along the last dimension, side by side. */
static tn_value *fold_planes(tn_module *m, tn_op *op, tn_value **planes, int64_t n)
{
    const tn_type *t = tn_result_type(op, 0);
    int64_t dims[32], along = t->rank - 1;
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = t->dims[i];
    dims[along] = 1;
    const tn_type *line = tn_type_tensor(m->arena, t->element, t->rank - 1, dims);
    const tn_type *column = tn_type_tensor(m->arena, t->element, t->rank, dims);
    for (int64_t k = 0; k < n; k++) {
        tn_op *one = tn_op_clone(m, op, tn_value_map_new(m->arena, 8));
        one->operands[0] = planes[k];
        one->operands[1] = op->operands[1];
        one->results[0].type = line;
        tn_rewrite_ints(m, one, TN_ATTR_dimensions, &along, 1);
        tn_op_insert_before(op, one);
        tn_value *v = &one->results[0];
        planes[k] = &tn_rewrite_op(m, op, TN_OP_reshape, column, 1, &v)->results[0];
    }
    tn_op *all = tn_rewrite_op(m, op, TN_OP_concatenate, t, (uint32_t)n, planes);
    tn_op_set_attr(m, all, TN_ATTR_dimension, tn_attr_int(m->arena, along));
    return &all->results[0];
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_reduce || op->n_operands != 2) return NULL;
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    tn_value *x = tn_value_resolve(op->operands[0]), *planes[TN_PIECES];
    const tn_type *t = x->type;
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    if (!body || !tn_is_combining(body->kind) || n != 1 || t->rank < 3 || t->rank > 32 ||
        !tn_type_is_static(t) || (t->element != TN_F32 && t->element != TN_F64) ||
        tn_result_type(op, 0)->element != t->element)
        return NULL;
    int64_t few = t->dims[t->rank - 1], inner = t->dims[t->rank - 2];
    bool rows = dims[0] == t->rank - 2;
    if (few < 2 || few > FEW || inner < (rows ? LINE : INNER)) return NULL;
    if (!rows && dims[0] != t->rank - 1) return NULL;
    if (rows && tn_type_elements(t) < LINES * few * inner) return NULL;
    tn_pieces p = {m, op, t->rank - 1, LOOKS, tn_type_elements(t) / REPEATED};
    if (!x->op || !tn_op_has_trait(x->op, TN_TRAIT_ELEMENTWISE) || !tn_pieces_of(&p, x, planes))
        return NULL;
    tn_rewrite_by(op,
                  rows ? fold_planes(m, op, planes, few) : fold(m, op, body->kind, planes, few));
    *changed = true;
    return NULL;
}

tn_status *tn_pass_planes(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
