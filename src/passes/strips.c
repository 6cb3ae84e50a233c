/* SPDX-License-Identifier: Apache-2.0 */
/* strips - loops over a few numbers for each of many places have the places innermost.
 *
 * Before:  while(%y = %x : 64x3) { ... slice %y [0:64, 1:2] ... }   return %r
 * After:   %1 = transpose %x   while(%y = %1 : 3x64) { ... slice %y [1:2, 0:64] ... }
 *          %2 = transpose %r   return %2
 * That is what a loop over a small state becomes under vmap. Turned so, its slices are pieces of
 * memory, and the loop may run as machine code on vectors of places (codegen/native.h).
 * Not:     bodies with ops of which it isn't known here what turning means; more numbers a place.
 */
#include <string.h>

#include "ops/infer.h"
#include "passes/rewrite.h"

enum { FEW = 8 /* numbers of a place */, PLACES = 16 /* at least */, RANK = 8, NONE = -1 };

typedef struct {
    tn_module *m;
    tn_op *loop;
    int64_t places;
    tn_value **turned; /* by id: what stands for a value of outside, or NULL */
    int8_t *dim;       /* by id: that of the places, as it was; NONE: without them */
} turner;

/* NONE: there are no places in it; RANK: it can't be turned. */
static int dim_of(const turner *t, const tn_type *type)
{
    int found = NONE;
    if (type->kind != TN_TYPE_TENSOR || !tn_type_is_static(type)) return RANK;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] != t->places) continue;
        if (found != NONE) return RANK;
        found = (int)i;
    }
    return found != NONE && (type->rank > RANK || type->quantization) ? RANK : found;
}

/* Where dimension `d` of a value is after turning. */
static int64_t moved(int dim, uint32_t rank, int64_t d)
{
    return dim == NONE || d < dim ? d : d == dim ? (int64_t)rank - 1 : d - 1;
}

static const tn_type *turned_type(const turner *t, const tn_type *type, int dim)
{
    int64_t dims[RANK];
    if (dim == NONE || dim == (int)type->rank - 1) return type;
    for (uint32_t d = 0; d < type->rank; d++) dims[moved(dim, type->rank, d)] = type->dims[d];
    return tn_type_like(t->m->arena, type, type->rank, dims);
}

/* --- whether --- */

static bool is_few(const turner *t, const tn_type *type)
{
    return tn_type_elements(type) / t->places <= FEW;
}

static bool ints_are(const tn_op *op, tn_attr_name name, int dim, int64_t value)
{
    uint32_t n;
    const int64_t *v = tn_op_ints(op, name, &n);
    return dim < (int)n && v[dim] == value;
}

static int64_t product(const int64_t *v, int64_t n)
{
    int64_t p = 1;
    for (int64_t i = 0; i < n; i++) p *= v[i];
    return p;
}

/* Of a reduction of the few numbers of a place to one: the op that does it, else NULL. Sums have
 * the order of short rows (kernels/reduce_rows.h), which is written down when it is turned. */
static const tn_op *fold_of(const turner *t, const tn_op *op)
{
    if (op->kind != TN_OP_reduce || op->n_operands != 2) return NULL;
    const tn_type *x = tn_value_resolve(op->operands[0])->type;
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_dimensions, &n);
    const tn_op *one = tn_op_of_body(&op->regions[0]);
    if (!one || one->operands[0] != &op->regions[0].args[0] || x->rank != 2 || n != 1 ||
        dims[0] != 1 || dim_of(t, x) != 0 || !is_few(t, x) || x->dims[1] < 1 ||
        tn_value_resolve(op->operands[1])->type->rank)
        return NULL;
    bool floats = tn_element_type_class(x->element) == TN_CLASS_FLOAT;
    if (floats && x->element != TN_F32 && x->element != TN_F64) return NULL;
    if (x->element != op->results[0].type->element) return NULL;
    switch ((int)one->kind) {
    case TN_OP_add:
    case TN_OP_multiply:
    case TN_OP_maximum:
    case TN_OP_minimum:
    case TN_OP_and:
    case TN_OP_or: return one;
    default: return NULL;
    }
}

/* Does it stay as it is, since all its places are innermost already? */
static bool stays(const turner *t, const tn_op *op)
{
    if (op->n_regions && op->kind != TN_OP_reduce) return false;
    for (uint32_t i = 0; i < op->n_operands + op->n_results; i++) {
        const tn_type *type = i < op->n_operands ? tn_value_resolve(op->operands[i])->type
                                                 : op->results[i - op->n_operands].type;
        int dim = dim_of(t, type);
        if (dim != NONE && dim != (int)type->rank - 1) return false;
    }
    return true;
}

static bool can_turn(const turner *t, const tn_op *op, bool *mixes)
{
    const tn_value *x = op->n_operands ? tn_value_resolve(op->operands[0]) : NULL;
    const tn_type *to = op->results[0].type;
    int out = dim_of(t, to), in = x ? dim_of(t, x->type) : NONE;
    uint32_t n;
    if (tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE)) {
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_type *type = tn_value_resolve(op->operands[i])->type;
            if (type->rank && dim_of(t, type) != out) return false;
        }
        return is_few(t, to);
    }
    if (stays(t, op)) return true;
    *mixes = *mixes || op->kind == TN_OP_slice || op->kind == TN_OP_concatenate ||
             op->kind == TN_OP_transpose || op->kind == TN_OP_reduce ||
             (op->kind == TN_OP_broadcast_in_dim && in >= 0 && to->rank > 1);
    switch ((int)op->kind) {
    case TN_OP_constant: return tn_op_attr(op, TN_ATTR_value)->tensor.splat && is_few(t, to);
    case TN_OP_broadcast_in_dim: {
        const int64_t *dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
        if (in >= 0 && dims[in] != out) return false;
        for (uint32_t i = 0; i < n && in == NONE; i++)
            if (dims[i] == out && x->type->dims[i] != 1) return false;
        return out >= 0 && is_few(t, to);
    }
    case TN_OP_slice:
        return in >= 0 && in == out && ints_are(op, TN_ATTR_start_indices, in, 0) &&
               ints_are(op, TN_ATTR_strides, in, 1) && is_few(t, to);
    case TN_OP_concatenate:
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (dim_of(t, tn_value_resolve(op->operands[i])->type) != out) return false;
        return out >= 0 && tn_op_int(op, TN_ATTR_dimension, 0) != out && is_few(t, to);
    case TN_OP_transpose:
        return out >= 0 && in >= 0 && ints_are(op, TN_ATTR_permutation, out, in) && is_few(t, to);
    case TN_OP_reshape:
        return out >= 0 && in >= 0 && is_few(t, to) &&
               product(to->dims, out) == product(x->type->dims, in);
    case TN_OP_dynamic_slice: return in >= 0 && in == out && is_few(t, to);
    case TN_OP_dynamic_update_slice:
        return out >= 0 && dim_of(t, tn_value_resolve(op->operands[1])->type) == out;
    default: return fold_of(t, op) != NULL;
    }
}

static bool has_places(const turner *t, const tn_op *op)
{
    bool any = false;
    for (uint32_t i = 0; i < op->n_operands; i++)
        any |= dim_of(t, tn_value_resolve(op->operands[i])->type) != NONE;
    for (uint32_t i = 0; i < op->n_results; i++) any |= dim_of(t, op->results[i].type) != NONE;
    return any;
}

/* Everything in the loop that has places can be turned, and it pays. */
static bool may_turn(const turner *t)
{
    bool mixes = false, outer = false;
    const tn_op *loop = t->loop;
    for (uint32_t i = 0; i < loop->n_results; i++) {
        int dim = dim_of(t, loop->results[i].type);
        if (dim == RANK) return false;
        outer = outer || (dim >= 0 && dim != (int)loop->results[i].type->rank - 1);
    }
    if (!outer) return false;
    for (const tn_op *op = loop->regions[0].first; op; op = op->next)
        if (op->n_regions || has_places(t, op))
            if (op == loop->regions[0].last || !stays(t, op)) return false;
    for (const tn_op *op = loop->regions[1].first; op; op = op->next) {
        if (op->n_regions && op->kind != TN_OP_reduce) return false;
        if (op == loop->regions[1].last || !has_places(t, op)) continue;
        if (op->n_results != 1 || dim_of(t, op->results[0].type) == RANK) return false;
        for (uint32_t i = 0; i < op->n_operands; i++)
            if (dim_of(t, tn_value_resolve(op->operands[i])->type) == RANK) return false;
        if (!can_turn(t, op, &mixes)) return false;
    }
    return mixes;
}

/* --- turning --- */

static tn_value *transposed(turner *t, tn_op *where, tn_value *v, const tn_type *type,
                            const int64_t *permutation)
{
    tn_op *op = tn_rewrite_op(t->m, where, TN_OP_transpose, type, 1, &v);
    tn_rewrite_ints(t->m, op, TN_ATTR_permutation, permutation, type->rank);
    return &op->results[0];
}

/* A value of outside, turned before the loop. */
static tn_value *turn(turner *t, tn_op *where, tn_value *v, int dim)
{
    int64_t permutation[RANK];
    uint32_t rank = v->type->rank;
    if (dim == NONE || dim == (int)rank - 1) return v;
    const tn_literal *splat = tn_constant_of(v);
    if (splat && splat->splat) {
        tn_literal l = *splat;
        l.type = turned_type(t, v->type, dim);
        return tn_rewrite_constant(t->m, where, l);
    }
    for (uint32_t d = 0; d < rank; d++) permutation[moved(dim, rank, d)] = d;
    return transposed(t, where, v, turned_type(t, v->type, dim), permutation);
}

static tn_value *turn_back(turner *t, tn_op *where, tn_value *v, const tn_type *type, int dim)
{
    int64_t permutation[RANK];
    if (v->type == type) return v;
    for (uint32_t d = 0; d < type->rank; d++) permutation[d] = moved(dim, type->rank, d);
    return transposed(t, where, v, type, permutation);
}

/* What stands for an operand as it was: of the loop itself, where the type is new already, or of
 * outside. */
static tn_value *operand_of(turner *t, tn_value *v)
{
    if (t->dim[v->id] != RANK) return tn_value_resolve(v);
    if (!t->turned[v->id]) t->turned[v->id] = turn(t, t->loop, v, dim_of(t, v->type));
    return t->turned[v->id];
}

/* A value that was another one's transpose is that one now, but what reads it counts as before. */
static int old_dim(const turner *t, const tn_value *v)
{
    return t->dim[v->id] != RANK ? t->dim[v->id] : dim_of(t, v->type);
}

/* A list with a number for each dimension of a value. */
static void move_ints(const turner *t, tn_op *op, tn_attr_name name, int dim)
{
    uint32_t n;
    const int64_t *v = tn_op_ints(op, name, &n);
    int64_t out[RANK];
    for (uint32_t d = 0; d < n; d++) out[moved(dim, n, d)] = v[d];
    tn_rewrite_ints(t->m, op, name, out, n);
}

static void move_indices(tn_op *op, uint32_t first, int dim)
{
    tn_value *old[RANK];
    uint32_t n = op->n_operands - first;
    for (uint32_t d = 0; d < n; d++) old[d] = op->operands[first + d];
    for (uint32_t d = 0; d < n; d++) op->operands[first + moved(dim, n, d)] = old[d];
}

/* x: the numbers of the places, turned. */
static void write_fold(turner *t, tn_op *op, const tn_op *one, tn_value *x)
{
    tn_module *m = t->m;
    const tn_type *to = op->results[0].type;
    int64_t n = x->type->dims[0], half = 1;
    const tn_type *row = tn_type_tensor(m->arena, to->element, 2, (int64_t[]){1, t->places});
    tn_value *lanes[FEW];
    for (int64_t k = 0; k < n; k++) {
        tn_op *slice = tn_rewrite_op(m, op, TN_OP_slice, row, 1, &x);
        tn_rewrite_ints(m, slice, TN_ATTR_start_indices, (int64_t[]){k, 0}, 2);
        tn_rewrite_ints(m, slice, TN_ATTR_limit_indices, (int64_t[]){k + 1, t->places}, 2);
        tn_rewrite_ints(m, slice, TN_ATTR_strides, (int64_t[]){1, 1}, 2);
        tn_value *v = &slice->results[0];
        lanes[k] = &tn_rewrite_op(m, op, TN_OP_reshape, to, 1, &v)->results[0];
    }
    while (2 * half < n) half *= 2;
    for (int64_t left = n; left > 1; left = half, half /= 2)
        for (int64_t k = 0; k + half < left; k++)
            lanes[k] =
                &tn_rewrite_op(m, op, one->kind, to, 2, (tn_value *[]){lanes[k], lanes[k + half]})
                     ->results[0];
    tn_op *init = tn_rewrite_op(m, op, TN_OP_broadcast_in_dim, to, 1, &op->operands[1]);
    tn_rewrite_ints(m, init, TN_ATTR_broadcast_dimensions, NULL, 0);
    tn_value *both[] = {&init->results[0], lanes[0]};
    tn_rewrite_by(op, &tn_rewrite_op(m, op, one->kind, to, 2, both)->results[0]);
}

static void turn_op(turner *t, tn_op *op)
{
    int in = op->n_operands ? old_dim(t, op->operands[0]) : NONE;
    uint32_t in_rank = op->n_operands ? op->operands[0]->type->rank : 0, n;
    tn_value *v = &op->results[0];
    uint32_t rank = v->type->rank;
    int out = dim_of(t, v->type);
    t->dim[v->id] = (int8_t)out;
    v->type = turned_type(t, v->type, out);
    for (uint32_t i = 0; i < op->n_operands; i++) op->operands[i] = operand_of(t, op->operands[i]);
    int64_t list[RANK];
    const int64_t *dims;
    switch ((int)op->kind) {
    case TN_OP_constant: {
        tn_literal l = tn_op_attr(op, TN_ATTR_value)->tensor;
        l.type = v->type;
        tn_op_set_attr(t->m, op, TN_ATTR_value, tn_attr_tensor(t->m->arena, &l));
        break;
    }
    case TN_OP_broadcast_in_dim:
        dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
        for (uint32_t d = 0; d < n; d++) list[moved(in, in_rank, d)] = moved(out, rank, dims[d]);
        tn_rewrite_ints(t->m, op, TN_ATTR_broadcast_dimensions, list, n);
        break;
    case TN_OP_slice:
        move_ints(t, op, TN_ATTR_start_indices, in);
        move_ints(t, op, TN_ATTR_limit_indices, in);
        move_ints(t, op, TN_ATTR_strides, in);
        break;
    case TN_OP_concatenate:
        tn_op_set_attr(
            t->m, op, TN_ATTR_dimension,
            tn_attr_int(t->m->arena, moved(out, rank, tn_op_int(op, TN_ATTR_dimension, 0))));
        break;
    case TN_OP_transpose: {
        dims = tn_op_ints(op, TN_ATTR_permutation, &n);
        bool same = true;
        for (uint32_t d = 0; d < n; d++) list[moved(out, rank, d)] = moved(in, in_rank, dims[d]);
        for (uint32_t d = 0; d < n; d++) same = same && list[d] == d;
        tn_rewrite_ints(t->m, op, TN_ATTR_permutation, list, n);
        if (same) tn_rewrite_by(op, op->operands[0]);
        break;
    }
    case TN_OP_reshape:
        if (tn_type_equal(v->type, op->operands[0]->type)) tn_rewrite_by(op, op->operands[0]);
        break;
    case TN_OP_dynamic_slice:
        move_ints(t, op, TN_ATTR_slice_sizes, in);
        move_indices(op, 1, in);
        break;
    case TN_OP_dynamic_update_slice: move_indices(op, 2, out); break;
    case TN_OP_reduce:
        if (in == 0 && in_rank == 2)
            write_fold(t, op, tn_op_of_body(&op->regions[0]), op->operands[0]);
        break;
    default: break;
    }
}

static void resolve(const tn_region *r)
{
    for (tn_op *op = r->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
}

/* The loop with turned values, in place of the old one. */
static void turn_loop(turner *t)
{
    tn_op *old = t->loop, *by = tn_op_new(t->m, old->kind, old->n_operands, old->n_results, 2);
    by->location = old->location;
    for (uint32_t i = 0; i < old->n_results; i++) {
        int dim = dim_of(t, old->results[i].type);
        by->operands[i] = turn(t, old, old->operands[i], dim);
        by->results[i].type = by->operands[i]->type;
    }
    for (uint32_t r = 0; r < 2; r++) {
        tn_region *from = &old->regions[r], *to = &by->regions[r];
        tn_region_init(t->m, to, from->function, by, from->n_args);
        for (uint32_t i = 0; i < from->n_args; i++) {
            to->args[i].type = by->results[i].type;
            to->args[i].id = from->args[i].id;
            t->dim[from->args[i].id] = (int8_t)dim_of(t, from->args[i].type);
            tn_value_replace(&from->args[i], &to->args[i]);
        }
        for (tn_op *op = from->first, *next; op; op = next) {
            next = op->next;
            bool turns = r == 1 && op != from->last && has_places(t, op);
            for (uint32_t i = 0; i < op->n_results && !turns; i++) t->dim[op->results[i].id] = NONE;
            tn_op_remove(op);
            tn_op_append(to, op);
            if (turns) turn_op(t, op);
            for (uint32_t i = 0; i < op->n_operands && !turns; i++)
                op->operands[i] = operand_of(t, op->operands[i]);
        }
    }
    tn_op_insert_before(old, by);
    for (uint32_t i = 0; i < old->n_results; i++) {
        const tn_type *type = old->results[i].type;
        tn_value_replace(&old->results[i],
                         turn_back(t, old, &by->results[i], type, dim_of(t, type)));
    }
    tn_op_remove(old);
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (op->kind != TN_OP_while) return NULL;
    turner t = {.m = m, .loop = op};
    for (uint32_t i = 0; i < op->n_results && !t.places; i++) {
        const tn_type *type = op->results[i].type;
        if (type->kind != TN_TYPE_TENSOR || type->rank < 2 || !tn_type_is_static(type)) continue;
        int64_t n = tn_type_elements(type);
        if (type->dims[0] >= PLACES && n && n / type->dims[0] <= FEW) t.places = type->dims[0];
    }
    if (!t.places || !may_turn(&t)) return NULL;
    for (uint32_t i = 0; i < 2; i++) resolve(&op->regions[i]);
    tn_module_number(m);
    t.turned = TN_NEW_ARRAY(m->arena, tn_value *, m->n_values + 1);
    t.dim = tn_alloc(m->arena, m->n_values + 1);
    memset(t.dim, RANK, m->n_values + 1);
    turn_loop(&t);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_strips(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
