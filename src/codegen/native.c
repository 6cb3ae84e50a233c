/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/native.h"

#include <string.h>

#include "codegen/jit_flow.h"
#include "kernels/half.h"
#include "ops/elementwise.h"
#include "passes/rewrite.h"

#define FEW      8     /* elements of a value that is taken apart into scalars */
#define STRIPS   16    /* of a value, at most */
#define ELEMENTS 20000 /* of all values together */
#define CHOSEN   16    /* ops of branches that are all done before one is chosen, at most */

/* One scalar, or the part of a strip that is at hand: an instruction of the piece that is being
 * made, or a variable of the stack. */
typedef struct {
    tn_jv v;
    uint32_t piece;
    int32_t variable; /* -1: none */
    tn_element_type type;
} element;

/* What a value of the program is here. */
enum { IS_SCALARS = 1, IS_ARRAY };
typedef struct {
    uint8_t kind, n;
    uint32_t first;         /* of maker.elements; of an array: its offset, if it has one */
    uint32_t port, version; /* of an array */
    bool has_offset;
    bool is_wide; /* n parts of strips */
} known;

/* How an array is used where there are strips. */
enum { READS_ONE = 1, WRITES_ONE = 2, READS_STRIPS = 4, WRITES_STRIPS = 8 };

typedef struct {
    tn_cluster_context *c;
    const tn_op *loop;
    tn_jit_flow flow;
    tn_jit_piece piece;
    uint32_t piece_number;
    bool failed, is_too_wide; /* so many lanes of 8 bytes there aren't */

    known *values;                /* [n_values]: c->natives */
    uint32_t *uses;               /* [n_values]: that are still to come */
    uint32_t *touched, n_touched; /* ids that have an entry */
    element *elements;
    uint32_t n_elements, n_variables;
    uint32_t *made, n_made; /* elements that this piece made: candidates for variables */

    const tn_value *ports[TN_JIT_PORTS];
    uint32_t versions[TN_JIT_PORTS];
    bool is_changed[TN_JIT_PORTS], is_viewed[TN_JIT_PORTS];
    uint8_t usage[TN_JIT_PORTS];
    int64_t strip; /* elements of one; 0: there are none */
    uint32_t lanes, unroll;
    uint32_t n_ports;
    uint32_t n_instructions;
} maker;

static bool fail(maker *m)
{
    m->failed = true;
    return false;
}

/* --- values --- */

static const tn_value *source(const tn_value *v)
{
    return tn_value_resolve((tn_value *)v);
}

static void count_uses(maker *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++) m->uses[source(op->operands[i])->id]++;
        for (uint32_t i = 0; i < op->n_regions; i++) count_uses(m, &op->regions[i]);
    }
}
static void forget_uses(maker *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++) m->uses[source(op->operands[i])->id] = 0;
        for (uint32_t i = 0; i < op->n_regions; i++) forget_uses(m, &op->regions[i]);
    }
}

static int64_t elements_of(const tn_value *v)
{
    if (v->type->kind != TN_TYPE_TENSOR || !tn_type_is_static(v->type)) return -1;
    return tn_type_elements(v->type);
}

/* The first of the innermost dimensions that are a strip; -1: there is none. */
static int strip_dim(int64_t strip, const tn_type *t)
{
    int64_t n = 1;
    uint32_t d = t->rank;
    while (d && n < strip) n *= t->dims[--d];
    return n == strip ? (int)d : -1;
}

/* Strips of a value; 0: it isn't made of some, or of too many. */
static int64_t strips_of(int64_t strip, const tn_value *v)
{
    int64_t n = elements_of(v);
    if (!strip || n <= FEW || strip_dim(strip, v->type) < 0) return 0;
    return n / strip <= STRIPS ? n / strip : 0;
}

static bool is_apart(int64_t strip, const tn_value *v)
{
    int64_t n = elements_of(v);
    if (n < 1 || !tn_jit_has_type(v->type->element) || v->type->quantization) return false;
    return n <= FEW || strips_of(strip, v);
}

static bool is_scalars(const maker *m, const tn_value *v)
{
    return is_apart(m->strip, v);
}
static bool is_wide(const maker *m, const tn_value *v)
{
    return strips_of(m->strip, v) > 0;
}
static uint32_t parts_of(const maker *m, const tn_value *v)
{
    return is_wide(m, v) ? (uint32_t)strips_of(m->strip, v) * m->unroll : (uint32_t)elements_of(v);
}
/* Where part e of a value is, from the first element at hand on. */
static uint64_t part_at(const maker *m, bool wide, uint32_t e)
{
    if (!wide) return e;
    return (uint64_t)(e / m->unroll) * (uint64_t)m->strip + e % m->unroll * m->lanes;
}

static known *bind(maker *m, const tn_value *v, known k)
{
    if (!m->values[v->id].kind) m->touched[m->n_touched++] = v->id;
    m->values[v->id] = k;
    return &m->values[v->id];
}

static uint32_t add_elements(maker *m, uint32_t n, tn_element_type e)
{
    if (m->n_elements + n > ELEMENTS) {
        fail(m);
        m->n_elements = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        m->elements[m->n_elements + i] = (element){.variable = -1, .type = e};
    m->n_elements += n;
    return m->n_elements - n;
}

static known *bind_scalars(maker *m, const tn_value *v)
{
    uint32_t n = parts_of(m, v);
    return bind(m, v,
                (known){.kind = IS_SCALARS,
                        .n = (uint8_t)n,
                        .is_wide = is_wide(m, v),
                        .first = add_elements(m, n, v->type->element)});
}

/* As what a variable holds it: what is in a register, as it is there. */
static tn_element_type held_as(tn_element_type e)
{
    switch ((int)e) {
    case TN_I8:
    case TN_U8:
    case TN_I16:
    case TN_U16:
    case TN_U32: return TN_I32;
    case TN_BF16:
    case TN_F16: return TN_F32;
    default: return e;
    }
}

static tn_jv get(maker *m, uint32_t at)
{
    element *e = &m->elements[at];
    if (e->piece == m->piece_number) return e->v;
    if (e->variable < 0) {
        fail(m);
        return tn_jit_const(&m->piece, 4, 0);
    }
    e->v = tn_jit_load(&m->piece, TN_JIT_VARIABLE + (uint32_t)e->variable, held_as(e->type), false);
    e->piece = m->piece_number;
    return e->v;
}

static void set(maker *m, uint32_t at, tn_jv v)
{
    m->elements[at].v = v;
    m->elements[at].piece = m->piece_number;
}

static void keep(maker *m, uint32_t at, uint32_t from)
{
    element *e = &m->elements[at];
    if (e->variable < 0) e->variable = (int32_t)m->n_variables++;
    tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)e->variable, held_as(e->type),
                 get(m, from));
}

/* --- ports --- */

static uint32_t port_of(maker *m, const tn_value *v)
{
    for (uint32_t i = 0; i < m->n_ports; i++)
        if (m->ports[i] == v) return i;
    if (m->n_ports == TN_JIT_PORTS) {
        fail(m);
        return 0;
    }
    m->ports[m->n_ports] = v;
    return m->n_ports++;
}

static bool is_outside(const maker *m, const tn_value *v)
{
    for (const tn_region *r = v->region; r; r = r->parent ? r->parent->region : NULL)
        if (r == &m->loop->regions[0] || r == &m->loop->regions[1]) return false;
    return true;
}

/* Is it from outside of the loop, and in memory there? */
static bool is_captured(maker *m, const tn_value *v)
{
    if (!is_outside(m, v)) return false;
    uint8_t flags = m->c->flags[tn_cluster_source(v)->id];
    return !(flags & TN_VALUE_MAPPED) || flags & TN_VALUE_WANTED;
}

static uint64_t literal_bits(const tn_literal *l, uint32_t k, tn_element_type e)
{
    uint64_t bits = 0;
    size_t n = tn_element_type_bytes(e);
    memcpy(&bits, (const char *)l->data + (l->splat ? 0 : k * n), n);
    switch ((int)e) {
    case TN_I8: return (uint32_t)(int8_t)bits;
    case TN_I16: return (uint32_t)(int16_t)bits;
    case TN_BF16: return bits << 16;
    case TN_F16: return tn_bits_of_f32(tn_f32_of_f16((uint16_t)bits));
    default: return bits;
    }
}

static void bind_constant(maker *m, const tn_value *v, const tn_literal *l)
{
    tn_element_type e = v->type->element;
    known *k = bind_scalars(m, v);
    for (uint32_t i = 0; i < k->n; i++) {
        uint64_t bits = literal_bits(l, k->is_wide ? 0 : i, e);
        tn_jv c = tn_jit_const(&m->piece, tn_element_type_bytes(e) == 8 ? 8 : 4, bits);
        if (e == TN_I1)
            c = tn_jit_emit(&m->piece, TN_JIT_ICMP, 4, TN_JIT_IEQ, 0, 2, c,
                            tn_jit_const(&m->piece, 4, 1), 0);
        set(m, k->first + i, c);
    }
}

static tn_jv load_part(maker *m, uint32_t port, bool wide, uint32_t e, tn_element_type type)
{
    unsigned bytes = tn_element_type_bytes(type) == 8 ? 8 : 4;
    tn_jit_op op = m->strip && !wide ? TN_JIT_SPLAT : TN_JIT_LOAD;
    return tn_jit_emit(&m->piece, op, bytes, (unsigned)type, port | part_at(m, wide, e) << 20, 0, 0,
                       0, 0);
}

static void store_part(maker *m, uint32_t port, bool wide, uint32_t e, tn_element_type type,
                       tn_jv v)
{
    unsigned bytes = tn_element_type_bytes(type) == 8 ? 8 : 4;
    tn_jit_op op = m->strip && !wide ? TN_JIT_PUT : TN_JIT_STORE;
    tn_jit_emit(&m->piece, op, bytes, (unsigned)type, port | part_at(m, wide, e) << 20, 1, v, 0, 0);
}

static bool is_movement(const tn_op *op)
{
    return op->kind == TN_OP_reshape || op->kind == TN_OP_broadcast_in_dim ||
           op->kind == TN_OP_transpose || op->kind == TN_OP_slice || op->kind == TN_OP_concatenate;
}

static bool make_movement(maker *m, const tn_op *op);

/* The scalars of an operand; NULL where it isn't such. */
static const known *scalars(maker *m, const tn_value *v)
{
    v = source(v);
    known *k = &m->values[v->id];
    if (k->kind == IS_SCALARS) {
        const element *e = &m->elements[k->first];
        if (e->piece == m->piece_number || e->variable >= 0) return k;
    }
    const tn_literal *l = tn_constant_of(v);
    bool is_memory = l && !l->splat && is_wide(m, v);
    if (is_memory) l = NULL;
    else if (!l && k->kind != IS_ARRAY && v->op && is_movement(v->op) && is_outside(m, v) &&
             !is_captured(m, v))
        return make_movement(m, v->op) ? k : NULL;
    if (k->kind == IS_ARRAY || !is_scalars(m, v) || (!l && !is_memory && !is_captured(m, v))) {
        fail(m);
        return NULL;
    }
    if (l) {
        bind_constant(m, v, l);
        return k;
    }
    uint32_t port = port_of(m, v);
    bind_scalars(m, v);
    for (uint32_t i = 0; i < k->n; i++)
        set(m, k->first + i, load_part(m, port, k->is_wide, i, v->type->element));
    return k;
}

/* An array, as memory that has its content now. */
static const known *array(maker *m, const tn_value *v)
{
    v = source(v);
    known *k = &m->values[v->id];
    if (k->kind == IS_SCALARS || elements_of(v) < 1 || elements_of(v) > INT32_MAX) {
        fail(m);
        return NULL;
    }
    if (!k->kind) {
        if (!tn_jit_has_type(v->type->element) || !is_captured(m, v)) {
            fail(m);
            return NULL;
        }
        uint32_t port = port_of(m, v);
        k = bind(m, v, (known){.kind = IS_ARRAY, .port = port, .version = m->versions[port]});
    }
    if (k->version != m->versions[k->port]) fail(m);
    return k;
}

/* --- ops --- */

static tn_jv two(maker *m, tn_jit_op op, unsigned bytes, tn_jv a, tn_jv b)
{
    return tn_jit_emit(&m->piece, op, bytes, 0, 0, 2, a, b, 0);
}

/* Division by a constant that it is defined for. */
static bool divide(maker *m, const tn_op *op, const tn_jv *in, tn_jv *out)
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

static bool make_elementwise(maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0];
    if (!is_scalars(m, v) || op->n_operands > 3) return fail(m);
    const known *in[3] = {NULL};
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!(in[i] = scalars(m, op->operands[i]))) return false;
    known *k = bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++) {
        tn_jv from[3] = {0}, to;
        for (uint32_t i = 0; i < op->n_operands; i++)
            from[i] = get(m, in[i]->first + (in[i]->n == 1 ? 0 : e));
        if (!(!k->is_wide && divide(m, op, from, &to)) && !tn_jit_lower(&m->piece, op, from, &to))
            return fail(m);
        set(m, k->first + e, to);
    }
    return true;
}

/* Which element (or strip) of which operand each element (or strip) of a movement's result is;
 * false for other ops, and where elements of strips would move. */
static bool trace(const maker *m, const tn_op *op, uint32_t at, uint32_t *operand, uint32_t *from)
{
    const tn_type *to = tn_result_type(op, 0), *t = tn_operand_type(op, 0);
    bool wide = is_wide(m, &op->results[0]), from_wide = is_wide(m, source(op->operands[0]));
    uint32_t rank = wide ? (uint32_t)strip_dim(m->strip, to) : to->rank;
    uint32_t t_rank = from_wide ? (uint32_t)strip_dim(m->strip, t) : t->rank;
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
        if (wide != is_wide(m, source(op->operands[*operand]))) return false;
        for (uint32_t d = 0; d < rank; d++) n_out = n_out * t->dims[d] + index[d];
        break;
    }
    default: return false;
    }
    *from = (uint32_t)n_out;
    return true;
}

static bool make_movement(maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = source(op->operands[0]);
    if (op->kind == TN_OP_reshape && !is_scalars(m, v)) {
        /* The same memory. */
        const known *a = array(m, x);
        if (a) bind(m, v, *a);
        return !m->failed;
    }
    if (!is_scalars(m, v)) return fail(m);
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!scalars(m, op->operands[i])) return false;
    known *k = bind_scalars(m, v);
    uint32_t unroll = k->is_wide ? m->unroll : 1;
    for (uint32_t e = 0; e < k->n; e++) {
        uint32_t operand, from;
        if (!trace(m, op, e / unroll, &operand, &from)) return fail(m);
        const known *source_of = scalars(m, op->operands[operand]);
        if (source_of->is_wide) from = from * unroll + e % unroll;
        if (from >= source_of->n) return fail(m);
        set(m, k->first + e, get(m, source_of->first + from));
    }
    return true;
}

/* A start index, limited to [0, most], as an i32. */
static tn_jv start_index(maker *m, const tn_value *v, int64_t most)
{
    const known *k = scalars(m, v);
    if (!k || k->n != 1 || k->is_wide) {
        fail(m);
        return 0;
    }
    tn_jv i = get(m, k->first);
    tn_element_type e = source(v)->type->element;
    bool wide = tn_element_type_bytes(e) == 8, sint = tn_element_type_class(e) == TN_CLASS_SINT;
    if (tn_element_type_bytes(e) < 4 || (wide && !m->piece.avx512)) {
        fail(m);
        return i;
    }
    unsigned bytes = wide ? 8 : 4;
    if (sint) i = two(m, TN_JIT_SMAX, bytes, i, tn_jit_const(&m->piece, bytes, 0));
    i = two(m, sint ? TN_JIT_SMIN : TN_JIT_UMIN, bytes, i,
            tn_jit_const(&m->piece, bytes, (uint64_t)most));
    return wide ? tn_jit_emit(&m->piece, TN_JIT_I32_OF_I64, 4, 0, 0, 1, i, 0, 0) : i;
}

/* The offset of the first element at start indices operands[first...] of an array. */
static tn_jv offset_of(maker *m, const tn_op *op, uint32_t first, const tn_type *t,
                       const int64_t *sizes, const known *a)
{
    tn_jv at = a->has_offset ? get(m, a->first) : tn_jit_const(&m->piece, 4, 0);
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

static tn_jv plus(maker *m, tn_jv at, int64_t by)
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
static bool strips_are_whole(const maker *m, const tn_type *t, const int64_t *sizes, bool otherwise)
{
    int first = m->strip ? strip_dim(m->strip, t) : -1;
    if (first < 0) return otherwise;
    for (int d = first; d >= 0 && d < (int)t->rank; d++)
        if (sizes[d] != t->dims[d]) return false;
    return true;
}

/* Where part e of such a box is, from the first element at hand of the first strip on. */
static uint64_t strip_part(const maker *m, const tn_type *t, const int64_t *sizes, uint32_t e)
{
    uint32_t strip = e / m->unroll * (uint32_t)m->strip;
    return (uint64_t)inside(t, sizes, strip) + e % m->unroll * m->lanes;
}

static bool make_dynamic_slice(maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = source(op->operands[0]);
    const known *a = array(m, x);
    if (!a || m->failed) return false;
    known from = *a;
    const int64_t *sizes = v->type->dims;
    tn_jv at = offset_of(m, op, 1, x->type, sizes, &from);
    if (m->failed) return false;
    if (is_wide(m, v) && !strips_are_whole(m, x->type, sizes, false)) return fail(m);
    if (!is_scalars(m, v)) {
        /* A part of memory that isn't changed. */
        if (!is_run(x->type, sizes) || !strips_are_whole(m, x->type, sizes, true)) return fail(m);
        m->is_viewed[from.port] = true;
        uint32_t offset = add_elements(m, 1, TN_I32);
        set(m, offset, at);
        m->made[m->n_made++] = v->id;
        from.first = offset;
        from.has_offset = true;
        bind(m, v, from);
        return true;
    }
    known *k = bind_scalars(m, v);
    m->usage[from.port] |= k->is_wide ? READS_STRIPS : READS_ONE;
    unsigned bytes = tn_element_type_bytes(v->type->element) == 8 ? 8 : 4;
    for (uint32_t e = 0; e < k->n; e++) {
        if (k->is_wide) {
            set(m, k->first + e,
                tn_jit_emit(&m->piece, TN_JIT_LOAD_STRIP, bytes, v->type->element,
                            from.port | strip_part(m, x->type, sizes, e) << 20, 1, at, 0, 0));
            continue;
        }
        tn_jv i = plus(m, at, inside(x->type, sizes, e));
        set(m, k->first + e,
            tn_jit_emit(&m->piece, TN_JIT_LOAD_AT, bytes, v->type->element, from.port, 1, i, 0, 0));
    }
    return true;
}

static bool make_update(maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = source(op->operands[0]);
    const tn_value *u = source(op->operands[1]);
    const known *a = array(m, x), *k = scalars(m, u);
    if (!a || !k || m->failed) return false;
    known to = *a;
    /* Only memory of the loop's own. */
    if (to.port >= m->loop->n_operands || to.has_offset) return fail(m);
    tn_jv at = offset_of(m, op, 2, x->type, u->type->dims, &to);
    if (m->failed || (k->is_wide && !strips_are_whole(m, x->type, u->type->dims, false)))
        return fail(m);
    m->usage[to.port] |= k->is_wide ? WRITES_STRIPS : WRITES_ONE;
    unsigned bytes = tn_element_type_bytes(u->type->element) == 8 ? 8 : 4;
    for (uint32_t e = 0; e < k->n; e++) {
        if (k->is_wide) {
            tn_jit_emit(&m->piece, TN_JIT_STORE_STRIP, bytes, u->type->element,
                        to.port | strip_part(m, x->type, u->type->dims, e) << 20, 2,
                        get(m, k->first + e), at, 0);
            continue;
        }
        tn_jv i = plus(m, at, inside(x->type, u->type->dims, e));
        tn_jit_emit(&m->piece, TN_JIT_STORE_AT, bytes, u->type->element, to.port, 2,
                    get(m, k->first + e), i, 0);
    }
    m->is_changed[to.port] = true;
    to.version = ++m->versions[to.port];
    bind(m, v, to);
    return true;
}

static bool make_ops(maker *m, const tn_region *r);

/* Branches of so little that all are done, and then one's results are chosen. */
static bool are_chosen(const tn_op *op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) {
            if (o == op->regions[i].last || o->kind == TN_OP_constant) continue;
            bool cheap = tn_op_has_trait(o, TN_TRAIT_ELEMENTWISE) && tn_elementwise_cost(o) <= 1.5;
            if (++n > CHOSEN || !(cheap || is_movement(o))) return false;
        }
    return true;
}

/* No jumps inside? */
static bool is_straight(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_while) return false;
        if ((op->kind == TN_OP_if || op->kind == TN_OP_case) && !are_chosen(op)) return false;
    }
    return true;
}

static tn_jv choose(maker *m, tn_element_type e, tn_jv mask, tn_jv a, tn_jv b)
{
    unsigned bytes = tn_element_type_bytes(e) == 8 ? 8 : 4;
    if (e != TN_I1) return tn_jit_emit(&m->piece, TN_JIT_SELECT, bytes, 0, 0, 3, mask, a, b);
    tn_jv first = two(m, TN_JIT_MASK_AND, 4, mask, a);
    tn_jv not = tn_jit_emit(&m->piece, TN_JIT_MASK_NOT, 4, 0, 0, 1, mask, 0, 0);
    return two(m, TN_JIT_MASK_OR, 4, first, two(m, TN_JIT_MASK_AND, 4, not, b));
}

/* A scatter of one element: where it is outside of the array, what is there is written again. */
static bool make_scatter(maker *m, const tn_op *op)
{
    if (op->n_operands != 3 || op->n_results != 1) return fail(m);
    const tn_value *v = &op->results[0], *x = source(op->operands[0]);
    const tn_value *u = source(op->operands[2]);
    const tn_region *body = &op->regions[0];
    tn_element_type e = x->type->element, index_type = source(op->operands[1])->type->element;
    uint32_t n, n_batch;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_scatter_dims_to_operand_dims, &n);
    tn_op_ints(op, TN_ATTR_input_batching_dims, &n_batch);
    const known *a = array(m, x), *new = scalars(m, u), *index = scalars(m, op->operands[1]);
    if (!a || !new || !index || m->failed) return false;
    known to = *a;
    bool wide = tn_element_type_bytes(index_type) == 8;
    bool fits = to.port < m->loop->n_operands && !to.has_offset && new->n == 1 && index->n == n &&
                !n_batch && !new->is_wide && !index->is_wide &&
                u->type->element == e &&tn_element_type_bytes(index_type) >= 4 &&
                (!wide || m->piece.avx512) && body->n_args == 2 && body->last->n_operands == 1 &&
                is_straight(body) && n <= x->type->rank;
    if (!fits) return fail(m);
    unsigned bytes = wide ? 8 : 4;
    bool sint = tn_element_type_class(index_type) == TN_CLASS_SINT;
    tn_jv at = 0, inside = 0;
    for (uint32_t j = 0; j < n; j++) {
        int64_t stride = 1, most = x->type->dims[dims[j]] - 1;
        for (uint32_t d = (uint32_t)dims[j] + 1; d < x->type->rank; d++) stride *= x->type->dims[d];
        tn_jv i = get(m, index->first + j), c = i;
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
    if (!n) return fail(m);
    unsigned width = tn_element_type_bytes(e) == 8 ? 8 : 4;
    tn_jv old = tn_jit_emit(&m->piece, TN_JIT_LOAD_AT, width, e, to.port, 1, at, 0, 0);
    tn_jv update = get(m, new->first);
    const tn_jv args[] = {old, update};
    for (uint32_t i = 0; i < 2; i++) {
        if (body->args[i].type->element != e || elements_of(&body->args[i]) != 1) return fail(m);
        set(m, bind_scalars(m, &body->args[i])->first, args[i]);
    }
    if (!make_ops(m, body)) return false;
    const known *result = scalars(m, body->last->operands[0]);
    if (!result || result->n != 1) return fail(m);
    tn_jv value = choose(m, e, inside, get(m, result->first), old);
    tn_jit_emit(&m->piece, TN_JIT_STORE_AT, width, e, to.port, 2, value, at, 0);
    m->usage[to.port] |= READS_ONE | WRITES_ONE;
    m->is_changed[to.port] = true;
    to.version = ++m->versions[to.port];
    bind(m, v, to);
    return true;
}

/* --- control --- */

static void begin_piece(maker *m)
{
    tn_jit_begin(m->c->jit, &m->piece);
    m->piece_number++;
    m->n_made = 0;
}

static bool fits(maker *m)
{
    m->n_instructions += m->piece.n;
    m->is_too_wide |= m->piece.wide && m->lanes > (m->piece.avx512 ? 8 : 4);
    m->failed |= m->is_too_wide;
    return !m->failed;
}

/* What this piece has made and others want goes to variables. */
static void end_piece(maker *m)
{
    for (uint32_t i = 0; i < m->n_made && !m->failed; i++) {
        uint32_t id = m->made[i];
        const known *k = &m->values[id];
        if (!m->uses[id]) continue;
        uint32_t n = k->kind == IS_ARRAY ? k->has_offset : k->n;
        for (uint32_t e = 0; e < n; e++)
            if (m->elements[k->first + e].variable < 0 &&
                m->elements[k->first + e].piece == m->piece_number)
                keep(m, k->first + e, k->first + e);
    }
    if (fits(m)) tn_jit_flow_piece(&m->flow, &m->piece);
}

/* The same for a piece that is a loop. */
static void end_loop(maker *m, uint32_t out)
{
    m->n_made = 0;
    if (fits(m)) tn_jit_flow_loop(&m->flow, &m->piece, out);
}

/* Lets `v` be what the variables of `like` hold. */
static void bind_to_variables(maker *m, const tn_value *v, const known *like)
{
    uint32_t first = like->first;
    known *k = bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++)
        m->elements[k->first + e].variable = m->elements[first + e].variable;
}

/* Is the argument of a body an array whose elements are read and written at indices? */
static bool is_indexed(const tn_region *body, const tn_value *arg)
{
    for (const tn_op *op = body->first; op; op = op->next)
        if ((op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_dynamic_update_slice ||
             op->kind == TN_OP_scatter) &&
            source(op->operands[0]) == arg)
            return true;
    return false;
}

/* Carried scalars that are in registers while a loop runs. */
typedef struct {
    uint32_t at[TN_JIT_PHIS]; /* of maker.elements: of the body's argument */
    tn_jv v[TN_JIT_PHIS];
    uint32_t n;
} phis;

static void begin_phis(maker *m, const tn_op *op, phis *p)
{
    uint32_t vectors = 0, masks = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const known *arg = &m->values[op->regions[1].args[i].id];
        const known *other = &m->values[op->regions[0].args[i].id];
        if (arg->kind != IS_SCALARS) continue;
        for (uint32_t e = 0; e < arg->n; e++) {
            const element *x = &m->elements[arg->first + e];
            tn_element_type held = held_as(x->type);
            uint32_t *n = held == TN_I1 && m->piece.avx512 ? &masks : &vectors;
            if (*n == (n == &masks ? 4u : m->piece.avx512 ? 20u : 8u)) continue;
            ++*n;
            tn_jv v = tn_jit_emit(&m->piece, TN_JIT_PHI, tn_element_type_bytes(held) == 8 ? 8 : 4,
                                  held, TN_JIT_VARIABLE + (uint32_t)x->variable, 0, 0, 0, 0);
            set(m, arg->first + e, v);
            set(m, other->first + e, v);
            p->at[p->n] = arg->first + e;
            p->v[p->n++] = v;
        }
    }
}

static bool make_while(maker *m, const tn_op *op, bool outermost)
{
    uint32_t n = op->n_operands;
    const tn_region *condition = &op->regions[0], *body = &op->regions[1];
    if (condition->n_args != n || body->n_args != n || body->last->n_operands != n) return fail(m);
    for (uint32_t i = 0; i < n && !m->failed; i++) {
        const tn_value *arg = &body->args[i], *result = &op->results[i];
        const tn_value *other = &condition->args[i];
        if (result->type->kind == TN_TYPE_TOKEN) return fail(m);
        if (is_scalars(m, arg) && !is_indexed(body, arg)) {
            known init = {0};
            /* Where there are strips, other elements' turns have changed what is carried. */
            if (outermost && (!m->strip || is_wide(m, arg))) {
                known *k = bind_scalars(m, other); /* of the first piece alone */
                for (uint32_t e = 0; e < k->n; e++)
                    set(m, k->first + e, load_part(m, i, k->is_wide, e, arg->type->element));
                init = *k;
            } else {
                const known *k = scalars(m, op->operands[i]);
                if (!k) return false;
                init = *k;
            }
            known *k = bind_scalars(m, arg);
            if (k->n != init.n) return fail(m);
            for (uint32_t e = 0; e < k->n; e++) keep(m, k->first + e, init.first + e);
            known variables = *k;
            bind_to_variables(m, other, &variables);
            if (!outermost) bind_to_variables(m, result, &variables);
            continue;
        }
        if (elements_of(arg) < 1 || elements_of(arg) > INT32_MAX ||
            !tn_jit_has_type(arg->type->element))
            return fail(m);
        known a = {.kind = IS_ARRAY, .port = i, .version = 0};
        if (!outermost) {
            const known *from = array(m, op->operands[i]);
            if (!from || m->failed) return false;
            a = *from;
            /* What is outside sees the array as it was. */
            if (source(body->last->operands[i]) != arg) a.version = ++m->versions[a.port];
        }
        bind(m, arg, a);
        bind(m, other, a);
    }
    if (m->failed) return false;
    end_piece(m);
    bool straight = is_straight(condition) && is_straight(body);
    uint32_t top = tn_jit_flow_label(&m->flow), out = tn_jit_flow_label(&m->flow);
    tn_jit_flow_place(&m->flow, top);
    begin_piece(m);
    phis p = {.n = 0};
    if (straight) begin_phis(m, op, &p);
    if (!make_ops(m, condition)) return false;
    const known *go = scalars(m, condition->last->operands[0]);
    if (!go || go->is_wide) return fail(m);
    tn_jit_emit(&m->piece, TN_JIT_EXIT_UNLESS, 4, 0, out, 1, get(m, go->first), 0, 0);
    for (uint32_t i = 0; i < p.n; i++)
        tn_jit_emit(&m->piece, TN_JIT_KEEP, 4, 0, 0, 1, p.v[i], 0, 0);
    if (!make_ops(m, body)) return false;
    /* All of the next values before any variable changes. */
    const tn_op *next = body->last;
    for (uint32_t i = 0; i < n; i++) {
        if (m->values[body->args[i].id].kind != IS_SCALARS) continue;
        const known *k = scalars(m, next->operands[i]);
        if (!k) return false;
        for (uint32_t e = 0; e < k->n; e++) get(m, k->first + e);
    }
    tn_jv to_phi[TN_JIT_PHIS];
    for (uint32_t i = 0; i < n; i++) {
        const known *arg = &m->values[body->args[i].id];
        if (arg->kind == IS_SCALARS) {
            bool same = source(next->operands[i]) == &body->args[i];
            const known *k = same ? arg : scalars(m, next->operands[i]);
            for (uint32_t e = 0; e < k->n; e++) {
                uint32_t j = 0;
                while (j < p.n && p.at[j] != arg->first + e) j++;
                element *to = &m->elements[arg->first + e];
                if (j < p.n) to_phi[j] = same ? p.v[j] : get(m, k->first + e);
                else if (!same)
                    tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)to->variable,
                                 held_as(to->type), get(m, k->first + e));
            }
            continue;
        }
        /* What it was in the beginning must be what it is in the end: the array's newest state. */
        const known *k = array(m, next->operands[i]);
        if (!k || m->failed || k->port != arg->port || k->has_offset != arg->has_offset ||
            (k->has_offset && k->first != arg->first))
            return fail(m);
    }
    for (uint32_t j = 0; j < p.n; j++)
        tn_jit_emit(&m->piece, TN_JIT_NEXT, 4, 0, p.v[j], 1, to_phi[j], 0, 0);
    if (straight) {
        end_loop(m, out);
    } else {
        /* The stores above are to variables that end_piece must not store to again. */
        m->n_made = 0;
        end_piece(m);
        tn_jit_flow_jump_back(&m->flow, top, out);
        tn_jit_flow_place(&m->flow, out);
    }
    begin_piece(m);
    if (outermost) return !m->failed;
    for (uint32_t i = 0; i < n; i++) {
        known a = m->values[body->args[i].id];
        if (a.kind != IS_ARRAY) continue;
        a.version = m->versions[a.port];
        bind(m, &op->results[i], a);
    }
    return !m->failed;
}

/* All branches, the last one first, whose results are what holds unless an earlier one is meant. */
static bool make_chosen(maker *m, const tn_op *op)
{
    const known *choice = scalars(m, op->operands[0]);
    if (!choice || choice->is_wide || !op->n_regions) return fail(m);
    tn_jv selector = get(m, choice->first);
    bool is_if = op->kind == TN_OP_if;
    for (uint32_t k = op->n_regions; k-- > 0;) {
        const tn_region *r = &op->regions[k];
        if (!make_ops(m, r) || r->last->n_operands != op->n_results) return fail(m);
        tn_jv mask = selector;
        if (!is_if)
            mask = tn_jit_emit(&m->piece, TN_JIT_ICMP, 4, TN_JIT_IEQ, 0, 2, selector,
                               tn_jit_const(&m->piece, 4, k), 0);
        for (uint32_t i = 0; i < op->n_results; i++) {
            const tn_value *result = &op->results[i];
            bool is_last = k + 1 == op->n_regions;
            const known *from = scalars(m, r->last->operands[i]);
            if (!from || !is_scalars(m, result)) return fail(m);
            known *to = is_last ? bind_scalars(m, result) : &m->values[result->id];
            if (from->n != to->n) return fail(m);
            for (uint32_t e = 0; e < to->n; e++) {
                tn_jv v = get(m, from->first + e);
                if (!is_last) v = choose(m, result->type->element, mask, v, get(m, to->first + e));
                set(m, to->first + e, v);
            }
        }
    }
    return true;
}

static bool make_branches(maker *m, const tn_op *op)
{
    const known *choice = scalars(m, op->operands[0]);
    if (!choice || choice->is_wide || !op->n_regions) return fail(m);
    uint32_t selector = add_elements(m, 1, source(op->operands[0])->type->element);
    keep(m, selector, choice->first);
    int32_t variable = m->elements[selector].variable;
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (!is_scalars(m, &op->results[i])) return fail(m);
        known *k = bind_scalars(m, &op->results[i]);
        for (uint32_t e = 0; e < k->n; e++)
            m->elements[k->first + e].variable = (int32_t)m->n_variables++;
    }
    end_piece(m);
    uint32_t end = tn_jit_flow_label(&m->flow), first = end + 1;
    for (uint32_t i = 0; i < op->n_regions; i++) tn_jit_flow_label(&m->flow);
    if (op->kind == TN_OP_if) tn_jit_flow_jump_if(&m->flow, variable, 1, 0, first + 1);
    else
        for (uint32_t i = 0; i + 1 < op->n_regions; i++)
            tn_jit_flow_jump_if(&m->flow, variable, 4, i, first + i);
    tn_jit_flow_jump(&m->flow, op->kind == TN_OP_if ? first : first + op->n_regions - 1);
    uint32_t versions[TN_JIT_PORTS];
    memcpy(versions, m->versions, sizeof versions);
    for (uint32_t i = 0; i < op->n_regions && !m->failed; i++) {
        const tn_region *r = &op->regions[i];
        tn_jit_flow_place(&m->flow, first + i);
        begin_piece(m);
        if (!make_ops(m, r) || r->last->n_operands != op->n_results) return fail(m);
        for (uint32_t k = 0; k < op->n_results; k++) {
            const known *from = scalars(m, r->last->operands[k]);
            const known *to = &m->values[op->results[k].id];
            if (!from || from->n != to->n) return fail(m);
            for (uint32_t e = 0; e < to->n; e++) {
                const element *x = &m->elements[to->first + e];
                tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)x->variable, held_as(x->type),
                             get(m, from->first + e));
            }
        }
        m->n_made = 0;
        end_piece(m);
        tn_jit_flow_jump(&m->flow, end);
        if (memcmp(versions, m->versions, sizeof versions)) return fail(m);
    }
    tn_jit_flow_place(&m->flow, end);
    begin_piece(m);
    return !m->failed;
}

static bool make_op(maker *m, const tn_op *op)
{
    switch ((int)op->kind) {
    case TN_OP_constant: return true; /* where it is used */
    case TN_OP_while: return make_while(m, op, false);
    case TN_OP_if:
    case TN_OP_case: return are_chosen(op) ? make_chosen(m, op) : make_branches(m, op);
    case TN_OP_dynamic_slice: return make_dynamic_slice(m, op);
    case TN_OP_dynamic_update_slice: return make_update(m, op);
    case TN_OP_scatter: return make_scatter(m, op);
    case TN_OP_reshape:
    case TN_OP_broadcast_in_dim:
    case TN_OP_transpose:
    case TN_OP_slice:
    case TN_OP_concatenate: return make_movement(m, op);
    default: break;
    }
    if (!tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE)) return fail(m);
    return make_elementwise(m, op);
}

static bool make_ops(maker *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op == r->last) break;
        if (!make_op(m, op) || m->failed || m->piece.n > TN_JIT_INSTRUCTIONS - 400) return fail(m);
        for (uint32_t i = 0; i < op->n_operands; i++) {
            uint32_t *uses = &m->uses[source(op->operands[i])->id];
            if (*uses) --*uses;
        }
        for (uint32_t i = 0; i < op->n_results; i++)
            if (op->kind != TN_OP_constant && op->kind != TN_OP_while &&
                ((op->kind != TN_OP_if && op->kind != TN_OP_case) || are_chosen(op)))
                m->made[m->n_made++] = op->results[i].id;
    }
    return !m->failed;
}

/* --- the whole --- */

/* A few ops at most decide most loops, so that large ones cost little. */
static bool may_be(const tn_region *r, int64_t strip, uint32_t *budget)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (!*budget) return false;
        --*budget;
        bool control = op->kind == TN_OP_while || op->kind == TN_OP_if || op->kind == TN_OP_case;
        for (uint32_t i = 0; control && i < op->n_regions; i++)
            if (!may_be(&op->regions[i], strip, budget)) return false;
        if (control || op == r->last || op->kind == TN_OP_constant) continue;
        if (op->n_results != 1) return false;
        if (op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_dynamic_update_slice ||
            op->kind == TN_OP_reshape || op->kind == TN_OP_scatter)
            continue;
        if (!is_apart(strip, &op->results[0])) return false;
        if (!is_movement(op) && !tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE)) return false;
    }
    return true;
}

/* The type of the first value of many elements that the loop computes with. */
static const tn_type *wide_type(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_regions; i++) {
            const tn_type *t = wide_type(&op->regions[i]);
            if (t) return t;
        }
        if (op->n_results == 1 && tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE) &&
            elements_of(&op->results[0]) > FEW)
            return op->results[0].type;
    }
    return NULL;
}

/* How much of strips to do at once: with few values more, which overlap in time. */
static uint32_t unrolling(const tn_op *op, int64_t strip, uint32_t lanes)
{
    int64_t strips = 0, groups = strip / lanes;
    uint32_t n_ops = 0, by = 8;
    for (uint32_t i = 0; i < op->n_operands; i++) strips += strips_of(strip, &op->results[i]);
    for (const tn_op *o = op->regions[1].first; o; o = o->next)
        n_ops += tn_op_has_trait(o, TN_TRAIT_ELEMENTWISE);
    while (by > 1 && (strips * by > 8 || n_ops * by > 200 || groups % by)) by /= 2;
    return by;
}

static const tn_jit_code *make_code(maker *m, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        m->ports[i] = tn_type_bytes(op->results[i].type) ? &op->results[i] : NULL;
    count_uses(m, &op->regions[0]);
    count_uses(m, &op->regions[1]);
    tn_jit_flow_begin(&m->flow, m->c->jit, m->lanes, m->strip ? m->lanes * m->unroll : 0);
    begin_piece(m);
    if (make_while(m, op, true)) {
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_value *arg = &op->regions[1].args[i];
            const known *k = &m->values[arg->id];
            if (k->kind != IS_SCALARS) continue;
            for (uint32_t e = 0; e < k->n; e++)
                store_part(m, i, k->is_wide, e, arg->type->element, get(m, k->first + e));
        }
        m->n_made = 0;
        end_piece(m);
    }
    for (uint32_t i = 0; i < m->n_ports; i++) {
        uint8_t u = m->usage[i];
        bool mixes = (u & WRITES_STRIPS && u & (READS_ONE | WRITES_ONE)) ||
                     (u & WRITES_ONE && u & (READS_ONE | READS_STRIPS));
        if ((m->is_changed[i] && m->is_viewed[i]) || (m->strip && mixes)) m->failed = true;
    }
    for (uint32_t i = 0; i < m->n_touched; i++) m->values[m->touched[i]] = (known){0};
    forget_uses(m, &op->regions[0]);
    forget_uses(m, &op->regions[1]);
    return tn_jit_flow_end(&m->flow, m->n_variables, m->failed);
}

static maker begin_maker(tn_cluster_context *c, const tn_op *op, int64_t strip, uint32_t lanes,
                         uint32_t unroll)
{
    return (maker){.c = c,
                   .loop = op,
                   .strip = strip,
                   .lanes = lanes,
                   .unroll = unroll,
                   .values = c->natives,
                   .uses = c->native_uses,
                   .touched = c->native_touched,
                   .made = c->native_touched + c->n_values,
                   .elements = c->native_elements,
                   .n_ports = op->n_operands};
}

static tn_native *make_native(maker *m, const tn_op *op)
{
    const tn_jit_code *code = make_code(m, op);
    if (!code) return NULL;
    tn_native *n = TN_NEW(m->c->arena, tn_native);
    *n = (tn_native){.code = code,
                     .ports = tn_dup(m->c->arena, m->ports, m->n_ports * sizeof *m->ports),
                     .n_ports = m->n_ports,
                     .n_carried = op->n_operands,
                     .iteration_ns = 0.5 * m->n_instructions,
                     .turn_ns = 0.5 * m->n_instructions};
    return n;
}

static const tn_native *make_strips(tn_cluster_context *c, const tn_op *op, int64_t strip,
                                    int64_t trips)
{
    uint32_t most = c->jit->avx512 ? 16 : 8;
    for (uint32_t lanes = most; lanes >= most / 2; lanes /= 2) {
        if (strip < lanes) continue;
        uint32_t unroll = unrolling(op, strip, lanes);
        maker m = begin_maker(c, op, strip, lanes, unroll);
        tn_native *n = make_native(&m, op);
        if (!n) {
            if (m.is_too_wide) continue;
            return NULL;
        }
        n->strip = strip;
        n->whole = strip / lanes * lanes;
        n->group = lanes * unroll;
        n->group_ns = n->iteration_ns * (double)(trips < 1 ? 1 : trips);
        n->iteration_ns *= (double)n->whole / n->group;
        if (n->whole == strip) return n;
        maker rest = begin_maker(c, op, strip, 1, 1);
        n->rest = make_code(&rest, op);
        /* The same ports, in the same order. */
        if (!n->rest || rest.n_ports != m.n_ports ||
            memcmp(rest.ports, m.ports, m.n_ports * sizeof *m.ports) != 0)
            return NULL;
        n->iteration_ns += 0.5 * rest.n_instructions * (double)(strip - n->whole);
        return n;
    }
    return NULL;
}

const tn_native *tn_native_make(tn_cluster_context *c, const tn_op *op, int64_t trips)
{
    if (!c->jit || op->n_operands > TN_JIT_PORTS) return NULL;
    const tn_type *wide = wide_type(&op->regions[1]);
    int64_t strip = 1;
    for (uint32_t d = 0; d < (wide ? wide->rank : 1); d++) {
        /* The longest strips first. */
        strip = 1;
        for (uint32_t k = d; wide && k < wide->rank; k++) strip *= wide->dims[k];
        if (wide && (strip <= FEW || strip > INT32_MAX)) continue;
        uint32_t budget = 600;
        if (!may_be(&op->regions[0], wide ? strip : 0, &budget) ||
            !may_be(&op->regions[1], wide ? strip : 0, &budget))
            continue;
        if (!c->natives) {
            tn_arena *a = c->arena;
            uint32_t n_values = c->n_values;
            c->natives = TN_NEW_ARRAY(a, known, n_values);
            c->native_uses = TN_NEW_ARRAY(a, uint32_t, n_values);
            c->native_touched = TN_NEW_ARRAY(a, uint32_t, 4 * (size_t)n_values);
            c->native_elements = TN_NEW_ARRAY(a, element, ELEMENTS);
        }
        if (wide) return make_strips(c, op, strip, trips);
        maker m = begin_maker(c, op, 0, 1, 1);
        return make_native(&m, op);
    }
    return NULL;
}
