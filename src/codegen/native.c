/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/native.h"

#include <string.h>

#include "codegen/jit_flow.h"
#include "kernels/half.h"
#include "passes/rewrite.h"

#define FEW      8     /* elements of a value that is taken apart into scalars */
#define ELEMENTS 20000 /* of all values together */

/* One scalar: an instruction of the piece that is being made, or a variable of the stack. */
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
} known;

typedef struct {
    tn_cluster_context *c;
    const tn_op *loop;
    tn_jit_flow flow;
    tn_jit_piece piece;
    uint32_t piece_number;
    bool failed;

    known *values;                /* [n_values]: c->natives */
    uint32_t *uses;               /* [n_values]: that are still to come */
    uint32_t *touched, n_touched; /* ids that have an entry */
    element *elements;
    uint32_t n_elements, n_variables;
    uint32_t *made, n_made; /* elements that this piece made: candidates for variables */

    const tn_value *ports[TN_JIT_PORTS];
    uint32_t versions[TN_JIT_PORTS];
    bool is_changed[TN_JIT_PORTS], is_viewed[TN_JIT_PORTS];
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

static bool is_scalars(const tn_value *v)
{
    int64_t n = elements_of(v);
    return n >= 1 && n <= FEW && tn_jit_has_type(v->type->element) && !v->type->quantization;
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
    uint32_t n = (uint32_t)elements_of(v);
    return bind(m, v,
                (known){.kind = IS_SCALARS,
                        .n = (uint8_t)n,
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

/* Is it from outside of the loop, and in memory there? */
static bool is_captured(maker *m, const tn_value *v)
{
    for (const tn_region *r = v->region; r; r = r->parent ? r->parent->region : NULL)
        if (r == &m->loop->regions[0] || r == &m->loop->regions[1]) return false;
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
        uint64_t bits = literal_bits(l, i, e);
        tn_jv c = tn_jit_const(&m->piece, tn_element_type_bytes(e) == 8 ? 8 : 4, bits);
        if (e == TN_I1)
            c = tn_jit_emit(&m->piece, TN_JIT_ICMP, 4, TN_JIT_IEQ, 0, 2, c,
                            tn_jit_const(&m->piece, 4, 1), 0);
        set(m, k->first + i, c);
    }
}

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
    if (k->kind == IS_ARRAY || !is_scalars(v) || (!l && !is_captured(m, v))) {
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
        set(m, k->first + i, tn_jit_load(&m->piece, port | i << 20, v->type->element, false));
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
    if (!is_scalars(v) || op->n_operands > 3) return fail(m);
    const known *in[3] = {NULL};
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!(in[i] = scalars(m, op->operands[i]))) return false;
    known *k = bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++) {
        tn_jv from[3] = {0}, to;
        for (uint32_t i = 0; i < op->n_operands; i++)
            from[i] = get(m, in[i]->first + (in[i]->n == 1 ? 0 : e));
        if (!divide(m, op, from, &to) && !tn_jit_lower(&m->piece, op, from, &to)) return fail(m);
        set(m, k->first + e, to);
    }
    return true;
}

/* Which element of which operand each element of a movement's result is; false for other ops. */
static bool trace(const tn_op *op, uint32_t at, uint32_t *operand, uint32_t *from)
{
    const tn_type *to = tn_result_type(op, 0), *t = tn_operand_type(op, 0);
    int64_t index[16], n_out = 0;
    if (to->rank > 16 || t->rank > 16) return false;
    uint32_t rest = at, n;
    for (uint32_t d = to->rank; d-- > 0; rest /= (uint32_t)to->dims[d])
        index[d] = rest % (uint32_t)to->dims[d];
    const int64_t *v;
    *operand = 0;
    switch ((int)op->kind) {
    case TN_OP_reshape: *from = at; return true;
    case TN_OP_broadcast_in_dim:
        v = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
        for (uint32_t d = 0; d < t->rank; d++)
            n_out = n_out * t->dims[d] + (t->dims[d] == 1 ? 0 : index[v[d]]);
        break;
    case TN_OP_transpose: {
        int64_t moved[16];
        v = tn_op_ints(op, TN_ATTR_permutation, &n);
        for (uint32_t d = 0; d < t->rank; d++) moved[v[d]] = index[d];
        for (uint32_t d = 0; d < t->rank; d++) n_out = n_out * t->dims[d] + moved[d];
        break;
    }
    case TN_OP_slice: {
        const int64_t *start = tn_op_ints(op, TN_ATTR_start_indices, &n);
        const int64_t *stride = tn_op_ints(op, TN_ATTR_strides, &n);
        for (uint32_t d = 0; d < t->rank; d++)
            n_out = n_out * t->dims[d] + start[d] + index[d] * stride[d];
        break;
    }
    case TN_OP_concatenate: {
        int64_t along = tn_op_int(op, TN_ATTR_dimension, 0);
        while (index[along] >= tn_operand_type(op, *operand)->dims[along])
            index[along] -= tn_operand_type(op, (*operand)++)->dims[along];
        t = tn_operand_type(op, *operand);
        for (uint32_t d = 0; d < t->rank; d++) n_out = n_out * t->dims[d] + index[d];
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
    if (op->kind == TN_OP_reshape && !is_scalars(v)) {
        /* The same memory. */
        const known *a = array(m, x);
        if (a) bind(m, v, *a);
        return !m->failed;
    }
    if (!is_scalars(v)) return fail(m);
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!scalars(m, op->operands[i])) return false;
    known *k = bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++) {
        uint32_t operand, from;
        if (!trace(op, e, &operand, &from)) return fail(m);
        set(m, k->first + e, get(m, scalars(m, op->operands[operand])->first + from));
    }
    return true;
}

/* A start index, limited to [0, most], as an i32. */
static tn_jv start_index(maker *m, const tn_value *v, int64_t most)
{
    const known *k = scalars(m, v);
    if (!k || k->n != 1) {
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

static bool make_dynamic_slice(maker *m, const tn_op *op)
{
    const tn_value *v = &op->results[0], *x = source(op->operands[0]);
    const known *a = array(m, x);
    if (!a || m->failed) return false;
    known from = *a;
    const int64_t *sizes = v->type->dims;
    tn_jv at = offset_of(m, op, 1, x->type, sizes, &from);
    if (m->failed) return false;
    if (!is_scalars(v)) {
        /* A part of memory that isn't changed. */
        if (!is_run(x->type, sizes)) return fail(m);
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
    for (uint32_t e = 0; e < k->n; e++) {
        tn_jv i = plus(m, at, inside(x->type, sizes, e));
        unsigned bytes = tn_element_type_bytes(v->type->element) == 8 ? 8 : 4;
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
    if (m->failed) return false;
    for (uint32_t e = 0; e < k->n; e++) {
        tn_jv i = plus(m, at, inside(x->type, u->type->dims, e));
        unsigned bytes = tn_element_type_bytes(u->type->element) == 8 ? 8 : 4;
        tn_jit_emit(&m->piece, TN_JIT_STORE_AT, bytes, u->type->element, to.port, 2,
                    get(m, k->first + e), i, 0);
    }
    m->is_changed[to.port] = true;
    to.version = ++m->versions[to.port];
    bind(m, v, to);
    return true;
}

/* --- control --- */

static bool make_ops(maker *m, const tn_region *r);

static void begin_piece(maker *m)
{
    tn_jit_begin(m->c->jit, &m->piece);
    m->piece_number++;
    m->n_made = 0;
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
    m->n_instructions += m->piece.n;
    if (!m->failed) tn_jit_flow_piece(&m->flow, &m->piece);
}

/* Lets `v` be what the variables of `like` hold. */
static void bind_to_variables(maker *m, const tn_value *v, const known *like)
{
    uint32_t first = like->first;
    known *k = bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++)
        m->elements[k->first + e].variable = m->elements[first + e].variable;
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
        if (is_scalars(arg)) {
            known init = {0};
            if (outermost) {
                known *k = bind_scalars(m, other); /* of the first piece alone */
                for (uint32_t e = 0; e < k->n; e++)
                    set(m, k->first + e,
                        tn_jit_load(&m->piece, i | e << 20, arg->type->element, false));
                init = *k;
            } else {
                const known *k = scalars(m, op->operands[i]);
                if (!k) return false;
                init = *k;
            }
            known *k = bind_scalars(m, arg);
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
    uint32_t top = tn_jit_flow_label(&m->flow), out = tn_jit_flow_label(&m->flow);
    tn_jit_flow_place(&m->flow, top);
    begin_piece(m);
    if (!make_ops(m, condition)) return false;
    const known *go = scalars(m, condition->last->operands[0]);
    if (!go) return false;
    tn_jit_emit(&m->piece, TN_JIT_EXIT_UNLESS, 4, 0, out, 1, get(m, go->first), 0, 0);
    if (!make_ops(m, body)) return false;
    /* All of the next values before any variable changes. */
    const tn_op *next = body->last;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_scalars(&body->args[i])) continue;
        const known *k = scalars(m, next->operands[i]);
        if (!k) return false;
        for (uint32_t e = 0; e < k->n; e++) get(m, k->first + e);
    }
    for (uint32_t i = 0; i < n; i++) {
        const known *arg = &m->values[body->args[i].id];
        if (source(next->operands[i]) == &body->args[i] && arg->kind == IS_SCALARS) continue;
        if (arg->kind == IS_SCALARS) {
            const known *k = scalars(m, next->operands[i]);
            for (uint32_t e = 0; e < k->n; e++) {
                element *to = &m->elements[arg->first + e];
                tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)to->variable, held_as(to->type),
                             get(m, k->first + e));
            }
            continue;
        }
        /* What it was in the beginning must be what it is in the end: the array's newest state. */
        const known *k = array(m, next->operands[i]);
        if (!k || m->failed || k->port != arg->port || k->has_offset != arg->has_offset ||
            (k->has_offset && k->first != arg->first))
            return fail(m);
    }
    /* The stores above are to variables that end_piece must not store to again. */
    m->n_made = 0;
    end_piece(m);
    tn_jit_flow_jump_back(&m->flow, top, out);
    tn_jit_flow_place(&m->flow, out);
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

static bool make_branches(maker *m, const tn_op *op)
{
    const known *choice = scalars(m, op->operands[0]);
    if (!choice || !op->n_regions) return fail(m);
    uint32_t selector = add_elements(m, 1, source(op->operands[0])->type->element);
    keep(m, selector, choice->first);
    int32_t variable = m->elements[selector].variable;
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (!is_scalars(&op->results[i])) return fail(m);
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
            if (!from) return false;
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
    case TN_OP_case: return make_branches(m, op);
    case TN_OP_dynamic_slice: return make_dynamic_slice(m, op);
    case TN_OP_dynamic_update_slice: return make_update(m, op);
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
            if (op->kind != TN_OP_constant && op->kind != TN_OP_while && op->kind != TN_OP_if &&
                op->kind != TN_OP_case)
                m->made[m->n_made++] = op->results[i].id;
    }
    return !m->failed;
}

/* --- the whole --- */

/* A few ops at most decide most loops, so that large ones cost little. */
static bool may_be(const tn_region *r, uint32_t *budget)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (!*budget) return false;
        --*budget;
        bool control = op->kind == TN_OP_while || op->kind == TN_OP_if || op->kind == TN_OP_case;
        for (uint32_t i = 0; control && i < op->n_regions; i++)
            if (!may_be(&op->regions[i], budget)) return false;
        if (control || op == r->last || op->kind == TN_OP_constant) continue;
        if (op->n_results != 1) return false;
        if (op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_dynamic_update_slice ||
            op->kind == TN_OP_reshape)
            continue;
        if (!is_scalars(&op->results[0])) return false;
    }
    return true;
}

const tn_native *tn_native_make(tn_cluster_context *c, const tn_op *op)
{
    uint32_t budget = 600;
    if (!c->jit || op->n_operands > TN_JIT_PORTS || !may_be(&op->regions[0], &budget) ||
        !may_be(&op->regions[1], &budget))
        return NULL;
    tn_arena *a = c->arena;
    uint32_t n_values = c->n_values;
    if (!c->natives) {
        c->natives = TN_NEW_ARRAY(a, known, n_values);
        c->native_uses = TN_NEW_ARRAY(a, uint32_t, n_values);
        c->native_touched = TN_NEW_ARRAY(a, uint32_t, 4 * (size_t)n_values);
        c->native_elements = TN_NEW_ARRAY(a, element, ELEMENTS);
    }
    maker m = {.c = c,
               .loop = op,
               .values = c->natives,
               .uses = c->native_uses,
               .touched = c->native_touched,
               .made = c->native_touched + n_values,
               .elements = c->native_elements,
               .n_ports = op->n_operands};
    for (uint32_t i = 0; i < op->n_operands; i++)
        m.ports[i] = tn_type_bytes(op->results[i].type) ? &op->results[i] : NULL;
    count_uses(&m, &op->regions[0]);
    count_uses(&m, &op->regions[1]);
    tn_jit_flow_begin(&m.flow, c->jit);
    begin_piece(&m);
    if (make_while(&m, op, true)) {
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_value *arg = &op->regions[1].args[i];
            const known *k = &m.values[arg->id];
            if (k->kind != IS_SCALARS) continue;
            for (uint32_t e = 0; e < k->n; e++)
                tn_jit_store(&m.piece, i | e << 20, arg->type->element, get(&m, k->first + e));
        }
        m.n_made = 0;
        end_piece(&m);
    }
    for (uint32_t i = 0; i < m.n_ports; i++)
        if (m.is_changed[i] && m.is_viewed[i]) m.failed = true;
    for (uint32_t i = 0; i < m.n_touched; i++) m.values[m.touched[i]] = (known){0};
    forget_uses(&m, &op->regions[0]);
    forget_uses(&m, &op->regions[1]);
    const tn_jit_code *code = tn_jit_flow_end(&m.flow, m.n_variables, m.failed);
    if (!code) return NULL;
    tn_native *n = TN_NEW(a, tn_native);
    *n = (tn_native){.code = code,
                     .ports = tn_dup(a, m.ports, m.n_ports * sizeof *m.ports),
                     .n_ports = m.n_ports,
                     .n_carried = op->n_operands,
                     .iteration_ns = 0.5 * m.n_instructions};
    return n;
}
