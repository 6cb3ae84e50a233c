/* SPDX-License-Identifier: Apache-2.0 */
/* take - gathers of single elements become reads by linear index, which run among elementwise ops;
 * scatters by several indices become scatters by one.
 *
 * Before:  gather(%x: tensor<4x8xf32>, concatenate(%i, %j), slice_sizes = [1, 1])
 * After:   %a = clamp(0, %i, 3) * 8   %b = clamp(0, %j, 7)   tenon.take(%x, %a + %b)
 * Batching dimensions and windows whose elements don't lie next to each other are ramps that are
 * added. So the way from the program's indices to the numbers that it makes of what they name is
 * one pass over memory.
 *
 * Before:  gather(%x: tensor<4x8x2xf32>, concatenate(%i, %j), slice_sizes = [1, 1, 2])
 * After:   gather(reshape(%x): tensor<32x2xf32>, clamp(0, %i, 3) * 8 + clamp(0, %j, 7))
 *
 * Before:  scatter(%x: tensor<4x8x2xf32>, concatenate(%i, %j), %u)
 * After:   %k = select(%i and %j are inside, %i * 8 + %j, -1)
 *          scatter(reshape(%x): tensor<32x2xf32>, %k, %u)
 *
 * Source:  StableHLO spec, gather, scatter. */
#include "ops/access.h"
#include "ops/windows.h"
#include "passes/rewrite.h"

enum { RANK_AT_MOST = 16, RAMP_AT_MOST = 4096, POSITIONS_AT_LEAST = 16 };

typedef struct {
    tn_module *m;
    tn_op *op;
    const tn_type *type; /* of the sum: that of the result, in i32 */
    tn_value *sum;
} linear;

static const tn_type *i32_of(tn_module *m, uint32_t rank, const int64_t *dims)
{
    tn_type *t = TN_NEW(m->arena, tn_type);
    *t = (tn_type){.kind = TN_TYPE_TENSOR,
                   .element = TN_I32,
                   .rank = rank,
                   .dims = tn_dup(m->arena, dims, rank * sizeof *dims)};
    return t;
}

static tn_value *binary(const linear *l, tn_op_kind kind, tn_value *a, tn_value *b)
{
    tn_value *sides[] = {a, b};
    return &tn_rewrite_op(l->m, l->op, kind, a->type, 2, sides)->results[0];
}

static tn_value *times(const linear *l, tn_value *v, int64_t factor)
{
    if (factor == 1) return v;
    return binary(l, TN_OP_multiply, v, tn_rewrite_splat(l->m, l->op, v->type, factor));
}

static void add(linear *l, tn_value *v)
{
    l->sum = l->sum ? binary(l, TN_OP_add, l->sum, v) : v;
}

static tn_value *reshaped(const linear *l, tn_value *v, const tn_type *to)
{
    return &tn_rewrite_op(l->m, l->op, TN_OP_reshape, to, 1, &v)->results[0];
}

static tn_value *broadcast(const linear *l, tn_value *v, const tn_type *to, const int64_t *dims)
{
    tn_op *b = tn_rewrite_op(l->m, l->op, TN_OP_broadcast_in_dim, to, 1, &v);
    tn_rewrite_ints(l->m, b, TN_ATTR_broadcast_dimensions, dims, v->type->rank);
    return &b->results[0];
}

/* 0, step, 2 step, ... of `n` elements. */
static tn_value *ramp(const linear *l, int64_t n, int64_t step)
{
    const tn_type *t = i32_of(l->m, 1, &n);
    if (n <= RAMP_AT_MOST) {
        int32_t *data = TN_NEW_ARRAY(l->m->arena, int32_t, n);
        for (int64_t i = 0; i < n; i++) data[i] = (int32_t)(i * step);
        tn_literal values = {.type = t, .data = data, .size = (size_t)n * sizeof *data};
        return tn_rewrite_constant(l->m, l->op, values);
    }
    tn_op *iota = tn_rewrite_op(l->m, l->op, TN_OP_iota, t, 0, NULL);
    tn_op_set_attr(l->m, iota, TN_ATTR_iota_dimension, tn_attr_int(l->m->arena, 0));
    return times(l, &iota->results[0], step);
}

/* Adds, for each dimension of the result, its steps in the operand; those that are one loop in both
 * are one ramp. */
static void add_ramps(linear *l, const int64_t *step)
{
    const tn_type *t = l->type;
    for (uint32_t i = 0, end; i < t->rank; i = end) {
        end = i + 1;
        if (!step[i] || t->dims[i] == 1) continue;
        int64_t n = t->dims[i], s = step[i];
        while (end < t->rank && step[end] && s == step[end] * t->dims[end]) {
            s = step[end];
            n *= t->dims[end++];
        }
        int64_t dims[RANK_AT_MOST];
        uint32_t rank = 0;
        for (uint32_t k = 0; k < i; k++) dims[rank++] = t->dims[k];
        dims[rank++] = n;
        for (uint32_t k = end; k < t->rank; k++) dims[rank++] = t->dims[k];
        tn_value *v = broadcast(l, ramp(l, n, s), i32_of(l->m, rank, dims), (int64_t[]){i});
        add(l, rank == t->rank ? v : reshaped(l, v, t));
    }
}

/* An integer as i32, moved into [0, limit]. */
static tn_value *clamped(const linear *l, tn_value *v, int64_t limit)
{
    const tn_type *t = v->type, *to = i32_of(l->m, t->rank, t->dims);
    bool narrow = tn_element_type_bytes(t->element) < 4;
    if (narrow) v = &tn_rewrite_op(l->m, l->op, TN_OP_convert, to, 1, &v)->results[0];
    tn_value *in[] = {tn_rewrite_splat(l->m, l->op, v->type, 0), v,
                      tn_rewrite_splat(l->m, l->op, v->type, limit)};
    v = &tn_rewrite_op(l->m, l->op, TN_OP_clamp, v->type, 3, in)->results[0];
    if (v->type->element == TN_I32) return v;
    return &tn_rewrite_op(l->m, l->op, TN_OP_convert, to, 1, &v)->results[0];
}

/* Component k of the index vectors, without their dimension; NULL: they are only there together. */
static tn_value *component(const linear *l, const tn_window_dims *d, uint32_t k)
{
    tn_value *v = l->op->operands[1];
    const tn_type *t = v->type;
    int64_t dims[RANK_AT_MOST];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != d->vector_dim) dims[rank++] = t->dims[i];
    if (d->index_map.n > 1) {
        const tn_op *whole = v->op;
        if (!whole || whole->kind != TN_OP_concatenate || whole->n_operands != d->index_map.n ||
            tn_op_int(whole, TN_ATTR_dimension, -1) != d->vector_dim)
            return NULL;
        v = tn_value_resolve(whole->operands[k]);
    }
    return rank == t->rank ? v : reshaped(l, v, tn_type_like(l->m->arena, t, rank, dims));
}

/* Steps of the operand, in elements, along each dimension of the result. */
static void find_steps(const tn_op *op, const tn_window_dims *d, const int64_t *step_of,
                       int64_t *step)
{
    const tn_type *t = tn_operand_type(op, 0), *r = tn_result_type(op, 0);
    for (uint32_t i = 0, nth = 0; i < r->rank; i++) {
        step[i] = 0;
        if (tn_ints_have(d->window_dims, i)) continue;
        uint32_t from = tn_index_dim(d, nth++);
        for (uint32_t k = 0; k < d->index_batching.n; k++)
            if (d->index_batching.v[k] == from) step[i] = step_of[d->batching_dims.v[k]];
    }
    for (uint32_t i = 0, nth = 0; i < t->rank; i++)
        if (tn_is_window_dim(d, i)) step[d->window_dims.v[nth++]] = step_of[i];
}

/* Do windows have elements that lie next to each other in both tensors? They are copied as they
 * are. */
static bool has_runs(const tn_op *op, const tn_window_dims *d, const int64_t *step)
{
    const tn_type *r = tn_result_type(op, 0);
    for (uint32_t i = r->rank; i--;) {
        if (r->dims[i] == 1) continue;
        return tn_ints_have(d->window_dims, i) && step[i] == 1;
    }
    return false;
}

static bool is_candidate(const tn_op *op)
{
    if (op->kind != TN_OP_gather) return false;
    const tn_type *t = tn_operand_type(op, 0), *index = tn_operand_type(op, 1);
    const tn_type *r = tn_result_type(op, 0);
    if (!tn_type_is_static(t) || !tn_type_is_static(index) || t->quantization || r->quantization)
        return false;
    const tn_literal *l = tn_constant_of(op->operands[0]);
    return t->rank <= RANK_AT_MOST && index->rank <= RANK_AT_MOST && r->rank <= RANK_AT_MOST &&
           tn_type_elements(t) > 1 && tn_type_elements(t) <= INT32_MAX && tn_type_elements(r) > 1 &&
           tn_element_type_bytes(t->element) <= 16 && !(l && l->splat);
}

/* --- several indices of leading dimensions --- */

static tn_value *compared(const linear *l, tn_value *v, int64_t direction, int64_t with)
{
    tn_value *sides[] = {v, tn_rewrite_splat(l->m, l->op, v->type, with)};
    const tn_type *t = tn_type_tensor(l->m->arena, TN_I1, v->type->rank, v->type->dims);
    tn_op *op = tn_rewrite_op(l->m, l->op, TN_OP_compare, t, 2, sides);
    tn_op_set_attr(l->m, op, TN_ATTR_comparison_direction, tn_attr_int(l->m->arena, direction));
    return &op->results[0];
}

/* Is index `v` in [0, size)? What is left of it in i32 counts only where it is. */
static tn_value *is_inside(const linear *l, tn_value **v, int64_t size)
{
    const tn_type *t = (*v)->type, *to = i32_of(l->m, t->rank, t->dims);
    bool narrow = tn_element_type_bytes(t->element) < 4;
    if (narrow) *v = &tn_rewrite_op(l->m, l->op, TN_OP_convert, to, 1, v)->results[0];
    tn_value *inside = compared(l, *v, TN_comparison_direction_LT, size);
    if (tn_element_type_class((*v)->type->element) == TN_CLASS_SINT)
        inside = binary(l, TN_OP_and, inside, compared(l, *v, TN_comparison_direction_GE, 0));
    if ((*v)->type->element != TN_I32)
        *v = &tn_rewrite_op(l->m, l->op, TN_OP_convert, to, 1, v)->results[0];
    return inside;
}

/* Do all indices name the first dimensions, of which windows have one element? */
static bool has_leading_indices(const tn_op *op, const tn_window_dims *d)
{
    if (d->index_map.n < 2 || d->batching_dims.n || d->dropped_dims.n != d->index_map.n)
        return false;
    for (uint32_t i = 0; i < d->index_map.n; i++)
        if (!tn_ints_have(d->dropped_dims, i) || !tn_ints_have(d->index_map, i)) return false;
    const tn_type *t = tn_operand_type(op, 0), *index = tn_operand_type(op, 1);
    if (op->kind == TN_OP_scatter && !tn_type_is_static(tn_operand_type(op, 2))) return false;
    return tn_type_is_static(t) && tn_type_is_static(index) && !t->quantization &&
           !tn_is_empty(t) && t->rank <= RANK_AT_MOST && index->rank < RANK_AT_MOST &&
           tn_type_elements(index) / d->index_map.n >= POSITIONS_AT_LEAST;
}

/* Steps of the leading dimensions among their places; false where these are too many. */
static bool leading_steps(const tn_type *t, uint32_t n, int64_t *step, int64_t *all)
{
    *all = 1;
    for (uint32_t i = n; i--;) {
        step[i] = *all;
        if (__builtin_mul_overflow(*all, t->dims[i], all) || *all > INT32_MAX) return false;
    }
    return true;
}

/* `op` with one dimension and one index in place of the n leading ones; its result is as before. */
static tn_op *by_one_index(const linear *l, uint32_t n, int64_t all, tn_value *at)
{
    const tn_type *t = tn_operand_type(l->op, 0);
    int64_t dims[RANK_AT_MOST + 1];
    uint32_t rank = at->type->rank;
    tn_op *op = tn_op_clone(l->m, l->op, tn_value_map_new(l->m->arena, 16));
    memcpy(dims, at->type->dims, rank * sizeof *dims);
    dims[rank++] = 1;
    op->operands[1] = reshaped(l, at, i32_of(l->m, rank, dims));
    tn_op_set_attr(l->m, op, TN_ATTR_index_vector_dim, tn_attr_int(l->m->arena, rank - 1));
    rank = 0;
    dims[rank++] = all;
    for (uint32_t i = n; i < t->rank; i++) dims[rank++] = t->dims[i];
    op->operands[0] = reshaped(l, l->op->operands[0], tn_type_like(l->m->arena, t, rank, dims));
    return op;
}

static bool rewrite_gather_of_windows(linear *l, const tn_window_dims *d, const int64_t *sizes)
{
    tn_module *m = l->m;
    tn_op *op = l->op;
    if (!has_leading_indices(op, d)) return false;
    const tn_type *t = tn_operand_type(op, 0);
    uint32_t n = d->index_map.n;
    int64_t step[RANK_AT_MOST], all, rest[RANK_AT_MOST];
    if (!leading_steps(t, n, step, &all)) return false;
    for (uint32_t k = 0; k < n; k++) {
        tn_value *v = component(l, d, k);
        if (!v) return false;
        int64_t dim = d->index_map.v[k];
        add(l, times(l, clamped(l, v, t->dims[dim] - 1), step[dim]));
    }
    tn_op *by_one = by_one_index(l, n, all, l->sum);
    rest[0] = 1;
    for (uint32_t i = n; i < t->rank; i++) rest[i - n + 1] = sizes[i];
    tn_rewrite_ints(m, by_one, TN_ATTR_slice_sizes, rest, t->rank - n + 1);
    tn_rewrite_ints(m, by_one, TN_ATTR_collapsed_slice_dims, (int64_t[]){0}, 1);
    tn_rewrite_ints(m, by_one, TN_ATTR_start_index_map, (int64_t[]){0}, 1);
    tn_op_insert_before(op, by_one);
    tn_rewrite_by(op, &by_one->results[0]);
    return true;
}

static void rewrite_gather(tn_module *m, tn_op *op, bool *changed)
{
    if (!is_candidate(op)) return;
    const tn_type *t = tn_operand_type(op, 0), *r = tn_result_type(op, 0);
    tn_window_dims d = tn_gather_dims(op);
    uint32_t n;
    const int64_t *sizes = tn_op_ints(op, TN_ATTR_slice_sizes, &n);
    int64_t step_of[RANK_AT_MOST], step[RANK_AT_MOST], all = 1, places[RANK_AT_MOST];
    for (uint32_t i = t->rank; i--; all *= t->dims[i]) step_of[i] = all;
    find_steps(op, &d, step_of, step);
    linear l = {.m = m, .op = op, .type = i32_of(m, r->rank, r->dims)};
    if (has_runs(op, &d, step)) {
        *changed |= rewrite_gather_of_windows(&l, &d, sizes);
        return;
    }
    uint32_t n_places = 0;
    for (uint32_t i = 0; i < r->rank; i++)
        if (!tn_ints_have(d.window_dims, i)) places[n_places++] = i;
    for (uint32_t k = 0; k < d.index_map.n; k++) {
        int64_t dim = d.index_map.v[k];
        tn_value *v = component(&l, &d, k);
        if (!v) return;
        if (t->dims[dim] == sizes[dim]) continue;
        /* An index into all that there is is moved inside by the op itself. */
        bool plain = v->type->element == TN_I32 && t->dims[dim] == all && r->rank == n_places;
        if (!plain) v = times(&l, clamped(&l, v, t->dims[dim] - sizes[dim]), step_of[dim]);
        add(&l, v);
    }
    if (!l.sum) return;
    if (tn_type_elements(l.sum->type) != tn_type_elements(r))
        l.sum = broadcast(&l, l.sum, l.type, places);
    else if (r->rank != n_places) l.sum = reshaped(&l, l.sum, l.type);
    add_ramps(&l, step);
    tn_value *in[] = {op->operands[0], l.sum};
    tn_rewrite_by(op, &tn_rewrite_op(m, op, TN_OP_take, r, 2, in)->results[0]);
    *changed = true;
}

static void rewrite_scatter(tn_module *m, tn_op *op, bool *changed)
{
    if (op->n_operands != 3) return;
    tn_window_dims d = tn_scatter_dims(op);
    if (!has_leading_indices(op, &d)) return;
    const tn_type *t = tn_operand_type(op, 0), *old = tn_result_type(op, 0);
    int64_t step[RANK_AT_MOST], all;
    if (!leading_steps(t, d.index_map.n, step, &all)) return;
    linear l = {.m = m, .op = op};
    tn_value *inside = NULL;
    for (uint32_t k = 0; k < d.index_map.n; k++) {
        int64_t dim = d.index_map.v[k];
        tn_value *v = component(&l, &d, k);
        if (!v) return;
        tn_value *in = is_inside(&l, &v, t->dims[dim]);
        inside = inside ? binary(&l, TN_OP_and, inside, in) : in;
        add(&l, times(&l, v, step[dim]));
    }
    tn_value *choice[] = {inside, l.sum, tn_rewrite_splat(m, op, l.sum->type, -1)};
    tn_value *at = &tn_rewrite_op(m, op, TN_OP_select, l.sum->type, 3, choice)->results[0];
    tn_op *by_one = by_one_index(&l, d.index_map.n, all, at);
    const tn_type *flat = tn_operand_type(by_one, 0);
    by_one->results[0].type = tn_type_like(m->arena, old, flat->rank, flat->dims);
    tn_rewrite_ints(m, by_one, TN_ATTR_inserted_window_dims, (int64_t[]){0}, 1);
    tn_rewrite_ints(m, by_one, TN_ATTR_scatter_dims_to_operand_dims, (int64_t[]){0}, 1);
    tn_op_insert_before(op, by_one);
    tn_region_put_in(&by_one->regions[0], op->region->function);
    tn_rewrite_by(op, reshaped(&l, &by_one->results[0], old));
    *changed = true;
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind == TN_OP_scatter) rewrite_scatter(m, op, changed);
    else rewrite_gather(m, op, changed);
    return NULL;
}

tn_status *tn_pass_take(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
