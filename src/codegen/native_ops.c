/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/native_maker.h"

bool tn_maker_is_movement(const tn_op *op)
{
    return op->kind == TN_OP_reshape || op->kind == TN_OP_broadcast_in_dim ||
           op->kind == TN_OP_transpose || op->kind == TN_OP_slice || op->kind == TN_OP_concatenate;
}

static tn_jv two(tn_maker *m, tn_jit_op op, unsigned bytes, tn_jv a, tn_jv b)
{
    return tn_jit_emit(&m->piece, op, bytes, 0, 0, 2, a, b, 0);
}

/* Division by a constant that it is defined for. */
static bool divide(tn_maker *m, const tn_op *op, const tn_jv *in, tn_jv *out)
{
    tn_element_type e = tn_result_type(op, 0)->element;
    const tn_jit_instruction *by = &m->piece.list[in[1]];
    bool rem = op->kind == TN_OP_remainder, sint = tn_element_type_class(e) == TN_CLASS_SINT;
    if ((op->kind != TN_OP_divide && !rem) || (e != TN_I32 && e != TN_U32)) return false;
    if (by->op != TN_JIT_CONST || !(uint32_t)by->aux || (sint && (uint32_t)by->aux == UINT32_MAX))
        return false;
    tn_jit_op what = sint ? rem ? TN_JIT_SREM : TN_JIT_SDIV : rem ? TN_JIT_UREM : TN_JIT_UDIV;
    *out = two(m, what, 4, in[0], in[1]);
    return true;
}

bool tn_maker_make_elementwise(tn_maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0];
    if (!tn_maker_is_scalars(m, v) || op->n_operands > 3) return tn_maker_fail(m);
    const tn_known *in[3] = {NULL};
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!(in[i] = tn_maker_scalars(m, op->operands[i]))) return false;
    tn_known *k = tn_maker_bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++) {
        tn_jv from[3] = {0}, to;
        for (uint32_t i = 0; i < op->n_operands; i++)
            from[i] = tn_maker_get(m, in[i]->first + (in[i]->n == 1 ? 0 : e));
        if (!(!k->is_wide && divide(m, op, from, &to)) && !tn_jit_lower(&m->piece, op, from, &to))
            return tn_maker_fail(m);
        tn_maker_set(m, k->first + e, to);
    }
    return true;
}

/* Which element (or strip) of which operand each element (or strip) of a movement's result is;
 * false for other ops, and where elements of strips would move. */
static bool trace(const tn_maker *m, const tn_op *op, uint32_t at, uint32_t *operand,
                  uint32_t *from)
{
    const tn_type *to = tn_result_type(op, 0), *t = tn_operand_type(op, 0);
    bool wide = tn_maker_is_wide(m, &op->results[0]),
         from_wide = tn_maker_is_wide(m, tn_maker_source(op->operands[0]));
    uint32_t rank = wide ? (uint32_t)tn_maker_strip_dim(m->strip, to) : to->rank;
    uint32_t t_rank = from_wide ? (uint32_t)tn_maker_strip_dim(m->strip, t) : t->rank;
    int64_t index[16] = {0}, n_out = 0;
    if (to->rank > 16 || t->rank > 16 || (from_wide && !wide)) return false;
    uint32_t rest = at, n;
    for (uint32_t d = rank; d-- > 0; rest /= (uint32_t)to->dims[d])
        index[d] = rest % (uint32_t)to->dims[d];
    const int64_t *v;
    *operand = 0;
    if (wide && !from_wide && op->kind != TN_OP_broadcast_in_dim) return false;
    switch ((int)op->kind) {
    case TN_OP_reshape: *from = at; return true;
    case TN_OP_broadcast_in_dim:
        v = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
        for (uint32_t d = 0; d < t_rank; d++) {
            if (t->dims[d] != 1 && v[d] >= rank) return false;
            n_out = n_out * t->dims[d] + (t->dims[d] == 1 ? 0 : index[v[d]]);
        }
        for (uint32_t d = t_rank; d < t->rank; d++)
            if (v[d] < rank || (d > t_rank && v[d] <= v[d - 1])) return false;
        break;
    case TN_OP_transpose: {
        int64_t moved[16] = {0};
        v = tn_op_ints(op, TN_ATTR_permutation, &n);
        for (uint32_t d = 0; d < t->rank; d++)
            if (d >= rank ? v[d] != d : v[d] >= rank) return false;
        for (uint32_t d = 0; d < rank; d++) moved[v[d]] = index[d];
        for (uint32_t d = 0; d < rank; d++) n_out = n_out * t->dims[d] + moved[d];
        break;
    }
    case TN_OP_slice: {
        const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
        const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
        for (uint32_t d = rank; d < to->rank; d++)
            if (to->dims[d] != t->dims[d]) return false;
        for (uint32_t d = 0; d < rank; d++)
            n_out = n_out * t->dims[d] + start[d] + index[d] * stride[d];
        break;
    }
    case TN_OP_concatenate: {
        int64_t along = tn_op_int(op, TN_ATTR_dimension, 0);
        if (along >= rank) return false;
        while (index[along] >= tn_operand_type(op, *operand)->dims[along])
            index[along] -= tn_operand_type(op, (*operand)++)->dims[along];
        t = tn_operand_type(op, *operand);
        if (wide != tn_maker_is_wide(m, tn_maker_source(op->operands[*operand]))) return false;
        for (uint32_t d = 0; d < rank; d++) n_out = n_out * t->dims[d] + index[d];
        break;
    }
    default: return false;
    }
    *from = (uint32_t)n_out;
    return true;
}

bool tn_maker_make_movement(tn_maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = tn_maker_source(op->operands[0]);
    if (op->kind == TN_OP_reshape && !tn_maker_is_scalars(m, v)) {
        /* The same memory. */
        const tn_known *a = tn_maker_array(m, x);
        if (a) tn_maker_bind(m, v, *a);
        return !m->failed;
    }
    if (!tn_maker_is_scalars(m, v)) return tn_maker_fail(m);
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_maker_scalars(m, op->operands[i])) return false;
    tn_known *k = tn_maker_bind_scalars(m, v);
    uint32_t unroll = k->is_wide ? m->unroll : 1;
    for (uint32_t e = 0; e < k->n; e++) {
        uint32_t operand, from;
        if (!trace(m, op, e / unroll, &operand, &from)) return tn_maker_fail(m);
        const tn_known *source_of = tn_maker_scalars(m, op->operands[operand]);
        if (source_of->is_wide) from = from * unroll + e % unroll;
        if (from >= source_of->n) return tn_maker_fail(m);
        tn_maker_set(m, k->first + e, tn_maker_get(m, source_of->first + from));
    }
    return true;
}

/* A start index, limited to [0, most], as an i32. */
static tn_jv start_index(tn_maker *m, const tn_value *v, int64_t most)
{
    const tn_known *k = tn_maker_scalars(m, v);
    if (!k || k->n != 1 || k->is_wide) {
        tn_maker_fail(m);
        return 0;
    }
    tn_jv i = tn_maker_get(m, k->first);
    tn_element_type e = tn_maker_source(v)->type->element;
    bool wide = tn_element_type_bytes(e) == 8, sint = tn_element_type_class(e) == TN_CLASS_SINT;
    if (tn_element_type_bytes(e) < 4 || (wide && !m->piece.avx512)) {
        tn_maker_fail(m);
        return i;
    }
    unsigned bytes = wide ? 8 : 4;
    if (sint) i = two(m, TN_JIT_SMAX, bytes, i, tn_jit_const(&m->piece, bytes, 0));
    i = two(m, sint ? TN_JIT_SMIN : TN_JIT_UMIN, bytes, i,
            tn_jit_const(&m->piece, bytes, (uint64_t)most));
    return wide ? tn_jit_emit(&m->piece, TN_JIT_I32_OF_I64, 4, 0, 0, 1, i, 0, 0) : i;
}

/* The offset of the first element at start indices operands[first...] of an array. */
static tn_jv offset_of(tn_maker *m, const tn_op *op, uint32_t first, const tn_type *t,
                       const int64_t *sizes, const tn_known *a)
{
    tn_jv at = a->has_offset ? tn_maker_get(m, a->first) : tn_jit_const(&m->piece, 4, 0);
    bool any = a->has_offset;
    int64_t stride = 1;
    for (uint32_t d = t->rank; d-- > 0; stride *= t->dims[d]) {
        if (sizes[d] == t->dims[d]) continue;
        tn_jv i = start_index(m, op->operands[first + d], t->dims[d] - sizes[d]);
        if (m->failed) return at;
        if (stride != 1)
            i = two(m, TN_JIT_IMUL, 4, i, tn_jit_const(&m->piece, 4, (uint64_t)stride));
        at = any ? two(m, TN_JIT_IADD, 4, at, i) : i;
        any = true;
    }
    return at;
}

/* Element e of a box of `sizes` in an array of type t, from the box's first element on. */
static int64_t inside(const tn_type *t, const int64_t *sizes, uint32_t e)
{
    int64_t at = 0, stride = 1;
    for (uint32_t d = t->rank; d-- > 0; stride *= t->dims[d]) {
        at += e % sizes[d] * stride;
        e /= (uint32_t)sizes[d];
    }
    return at;
}

static tn_jv plus(tn_maker *m, tn_jv at, int64_t by)
{
    return by ? two(m, TN_JIT_IADD, 4, at, tn_jit_const(&m->piece, 4, (uint64_t)by)) : at;
}

/* Is a box one run of memory? */
static bool is_run(const tn_type *t, const int64_t *sizes)
{
    uint32_t d = 0;
    while (d < t->rank && sizes[d] == 1) d++;
    for (d++; d < t->rank; d++)
        if (sizes[d] != t->dims[d]) return false;
    return true;
}

/* Does a box of `sizes` in an array have whole strips alone? `otherwise`: for arrays without. */
static bool strips_are_whole(const tn_maker *m, const tn_type *t, const int64_t *sizes,
                             bool otherwise)
{
    int first = m->strip ? tn_maker_strip_dim(m->strip, t) : -1;
    if (first < 0) return otherwise;
    for (int d = first; d >= 0 && d < (int)t->rank; d++)
        if (sizes[d] != t->dims[d]) return false;
    return true;
}

/* Where part e of such a box is, from the first element at hand of the first strip on. */
static uint64_t strip_part(const tn_maker *m, const tn_type *t, const int64_t *sizes, uint32_t e)
{
    uint32_t strip = e / m->unroll * (uint32_t)m->strip;
    return (uint64_t)inside(t, sizes, strip) + e % m->unroll * m->lanes;
}

bool tn_maker_make_dynamic_slice(tn_maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = tn_maker_source(op->operands[0]);
    const tn_known *a = tn_maker_array(m, x);
    if (!a || m->failed) return false;
    tn_known from = *a;
    const int64_t *sizes = v->type->dims;
    tn_jv at = offset_of(m, op, 1, x->type, sizes, &from);
    if (m->failed) return false;
    if (tn_maker_is_wide(m, v) && !strips_are_whole(m, x->type, sizes, false))
        return tn_maker_fail(m);
    if (!tn_maker_is_scalars(m, v)) {
        /* A part of memory that isn't changed. */
        if (!is_run(x->type, sizes) || !strips_are_whole(m, x->type, sizes, true))
            return tn_maker_fail(m);
        m->is_viewed[from.port] = true;
        uint32_t offset = tn_maker_add_elements(m, 1, TN_I32);
        tn_maker_set(m, offset, at);
        m->made[m->n_made++] = v->id;
        from.first = offset;
        from.has_offset = true;
        tn_maker_bind(m, v, from);
        return true;
    }
    tn_known *k = tn_maker_bind_scalars(m, v);
    m->usage[from.port] |= k->is_wide ? TN_READS_STRIPS : TN_READS_ONE;
    unsigned bytes = tn_element_type_bytes(v->type->element) == 8 ? 8 : 4;
    for (uint32_t e = 0; e < k->n; e++) {
        if (k->is_wide) {
            tn_maker_set(m, k->first + e,
                         tn_jit_emit(&m->piece, TN_JIT_LOAD_STRIP, bytes, v->type->element,
                                     from.port | strip_part(m, x->type, sizes, e) << 20, 1, at, 0,
                                     0));
            continue;
        }
        tn_jv i = plus(m, at, inside(x->type, sizes, e));
        tn_maker_set(
            m, k->first + e,
            tn_jit_emit(&m->piece, TN_JIT_LOAD_AT, bytes, v->type->element, from.port, 1, i, 0, 0));
    }
    return true;
}

bool tn_maker_make_update(tn_maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = tn_maker_source(op->operands[0]);
    const tn_value *u = tn_maker_source(op->operands[1]);
    const tn_known *a = tn_maker_array(m, x), *k = tn_maker_scalars(m, u);
    if (!a || !k || m->failed) return false;
    tn_known to = *a;
    /* Only memory of the loop's own. */
    if (to.port >= m->loop->n_operands || to.has_offset) return tn_maker_fail(m);
    tn_jv at = offset_of(m, op, 2, x->type, u->type->dims, &to);
    if (m->failed || (k->is_wide && !strips_are_whole(m, x->type, u->type->dims, false)))
        return tn_maker_fail(m);
    m->usage[to.port] |= k->is_wide ? TN_WRITES_STRIPS : TN_WRITES_ONE;
    unsigned bytes = tn_element_type_bytes(u->type->element) == 8 ? 8 : 4;
    for (uint32_t e = 0; e < k->n; e++) {
        if (k->is_wide) {
            tn_jit_emit(&m->piece, TN_JIT_STORE_STRIP, bytes, u->type->element,
                        to.port | strip_part(m, x->type, u->type->dims, e) << 20, 2,
                        tn_maker_get(m, k->first + e), at, 0);
            continue;
        }
        tn_jv i = plus(m, at, inside(x->type, u->type->dims, e));
        tn_jit_emit(&m->piece, TN_JIT_STORE_AT, bytes, u->type->element, to.port, 2,
                    tn_maker_get(m, k->first + e), i, 0);
    }
    m->is_changed[to.port] = true;
    to.version = ++m->versions[to.port];
    tn_maker_bind(m, v, to);
    return true;
}

tn_jv tn_maker_choose(tn_maker *m, tn_element_type e, tn_jv mask, tn_jv a, tn_jv b)
{
    unsigned bytes = tn_element_type_bytes(e) == 8 ? 8 : 4;
    if (e != TN_I1) return tn_jit_emit(&m->piece, TN_JIT_SELECT, bytes, 0, 0, 3, mask, a, b);
    tn_jv first = two(m, TN_JIT_MASK_AND, 4, mask, a);
    tn_jv not = tn_jit_emit(&m->piece, TN_JIT_MASK_NOT, 4, 0, 0, 1, mask, 0, 0);
    return two(m, TN_JIT_MASK_OR, 4, first, two(m, TN_JIT_MASK_AND, 4, not, b));
}

bool tn_maker_make_scatter(tn_maker *m, const tn_op *op)
{
    if (op->n_operands != 3 || op->n_results != 1) return tn_maker_fail(m);
    const tn_value *v = &op->results[0], *x = tn_maker_source(op->operands[0]);
    const tn_value *u = tn_maker_source(op->operands[2]);
    const tn_region *body = &op->regions[0];
    tn_element_type e = x->type->element,
                    index_type = tn_maker_source(op->operands[1])->type->element;
    uint32_t n, n_batch;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_scatter_dims_to_operand_dims, &n);
    tn_op_ints(op, TN_ATTR_input_batching_dims, &n_batch);
    const tn_known *a = tn_maker_array(m, x), *added = tn_maker_scalars(m, u),
                   *index = tn_maker_scalars(m, op->operands[1]);
    if (!a || !added || !index || m->failed) return false;
    tn_known to = *a;
    bool wide = tn_element_type_bytes(index_type) == 8;
    bool fits = to.port < m->loop->n_operands && !to.has_offset && added->n == 1 && index->n == n &&
                !n_batch && !added->is_wide && !index->is_wide && u->type->element == e &&
                tn_element_type_bytes(index_type) >= 4 && (!wide || m->piece.avx512) &&
                body->n_args == 2 && body->last->n_operands == 1 && tn_maker_is_straight(body) &&
                n <= x->type->rank;
    if (!fits) return tn_maker_fail(m);
    unsigned bytes = wide ? 8 : 4;
    bool sint = tn_element_type_class(index_type) == TN_CLASS_SINT;
    tn_jv at = 0, inside = 0;
    for (uint32_t j = 0; j < n; j++) {
        int64_t stride = 1, most = x->type->dims[dims[j]] - 1;
        for (uint32_t d = (uint32_t)dims[j] + 1; d < x->type->rank; d++) stride *= x->type->dims[d];
        tn_jv i = tn_maker_get(m, index->first + j), c = i;
        if (sint) c = two(m, TN_JIT_SMAX, bytes, c, tn_jit_const(&m->piece, bytes, 0));
        c = two(m, sint ? TN_JIT_SMIN : TN_JIT_UMIN, bytes, c,
                tn_jit_const(&m->piece, bytes, (uint64_t)most));
        tn_jv same = tn_jit_emit(&m->piece, TN_JIT_ICMP, bytes, TN_JIT_IEQ, 0, 2, i, c, 0);
        if (wide) c = tn_jit_emit(&m->piece, TN_JIT_I32_OF_I64, 4, 0, 0, 1, c, 0, 0);
        if (stride != 1)
            c = two(m, TN_JIT_IMUL, 4, c, tn_jit_const(&m->piece, 4, (uint64_t)stride));
        at = j ? two(m, TN_JIT_IADD, 4, at, c) : c;
        inside = j ? two(m, TN_JIT_MASK_AND, 4, inside, same) : same;
    }
    if (!n) return tn_maker_fail(m);
    unsigned width = tn_element_type_bytes(e) == 8 ? 8 : 4;
    tn_jv old = tn_jit_emit(&m->piece, TN_JIT_LOAD_AT, width, e, to.port, 1, at, 0, 0);
    tn_jv update = tn_maker_get(m, added->first);
    const tn_jv args[] = {old, update};
    for (uint32_t i = 0; i < 2; i++) {
        if (body->args[i].type->element != e || tn_maker_elements_of(&body->args[i]) != 1)
            return tn_maker_fail(m);
        tn_maker_set(m, tn_maker_bind_scalars(m, &body->args[i])->first, args[i]);
    }
    if (!tn_maker_make_ops(m, body)) return false;
    const tn_known *result = tn_maker_scalars(m, body->last->operands[0]);
    if (!result || result->n != 1) return tn_maker_fail(m);
    tn_jv value = tn_maker_choose(m, e, inside, tn_maker_get(m, result->first), old);
    tn_jit_emit(&m->piece, TN_JIT_STORE_AT, width, e, to.port, 2, value, at, 0);
    m->usage[to.port] |= TN_READS_ONE | TN_WRITES_ONE;
    m->is_changed[to.port] = true;
    to.version = ++m->versions[to.port];
    tn_maker_bind(m, v, to);
    return true;
}
