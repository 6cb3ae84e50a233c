/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/native_maker.h"

#include <string.h>

#include "kernels/half.h"
#include "passes/rewrite.h"

#define STRIPS 16 /* of a value, at most */

bool tn_maker_fail(tn_maker *m)
{
    m->failed = true;
    return false;
}

const tn_value *tn_maker_source(const tn_value *v)
{
    return tn_value_resolve((tn_value *)v);
}

void tn_maker_count_uses(tn_maker *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            m->uses[tn_maker_source(op->operands[i])->id]++;
        for (uint32_t i = 0; i < op->n_regions; i++) tn_maker_count_uses(m, &op->regions[i]);
    }
}
void tn_maker_forget_uses(tn_maker *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_operands; i++)
            m->uses[tn_maker_source(op->operands[i])->id] = 0;
        for (uint32_t i = 0; i < op->n_regions; i++) tn_maker_forget_uses(m, &op->regions[i]);
    }
}

int64_t tn_maker_elements_of(const tn_value *v)
{
    if (v->type->kind != TN_TYPE_TENSOR || !tn_type_is_static(v->type)) return -1;
    return tn_type_elements(v->type);
}

int tn_maker_strip_dim(int64_t strip, const tn_type *t)
{
    int64_t n = 1;
    uint32_t d = t->rank;
    while (d && n < strip) n *= t->dims[--d];
    return n == strip ? (int)d : -1;
}

int64_t tn_maker_strips_of(int64_t strip, const tn_value *v)
{
    int64_t n = tn_maker_elements_of(v);
    if (!strip || n <= TN_MAKER_FEW || tn_maker_strip_dim(strip, v->type) < 0) return 0;
    return n / strip <= STRIPS ? n / strip : 0;
}

bool tn_maker_is_apart(int64_t strip, const tn_value *v)
{
    int64_t n = tn_maker_elements_of(v);
    if (n < 1 || !tn_jit_has_type(v->type->element) || v->type->quantization) return false;
    return n <= TN_MAKER_FEW || tn_maker_strips_of(strip, v);
}

bool tn_maker_is_scalars(const tn_maker *m, const tn_value *v)
{
    return tn_maker_is_apart(m->strip, v);
}
bool tn_maker_is_wide(const tn_maker *m, const tn_value *v)
{
    return tn_maker_strips_of(m->strip, v) > 0;
}
static uint32_t parts_of(const tn_maker *m, const tn_value *v)
{
    return tn_maker_is_wide(m, v) ? (uint32_t)tn_maker_strips_of(m->strip, v) * m->unroll
                                  : (uint32_t)tn_maker_elements_of(v);
}
/* Where part e of a value is, from the first element at hand on. */
static uint64_t part_at(const tn_maker *m, bool wide, uint32_t e)
{
    if (!wide) return e;
    return (uint64_t)(e / m->unroll) * (uint64_t)m->strip + e % m->unroll * m->lanes;
}

tn_known *tn_maker_bind(tn_maker *m, const tn_value *v, tn_known k)
{
    if (!m->values[v->id].kind) m->touched[m->n_touched++] = v->id;
    m->values[v->id] = k;
    return &m->values[v->id];
}

uint32_t tn_maker_add_elements(tn_maker *m, uint32_t n, tn_element_type e)
{
    if (m->n_elements + n > TN_MAKER_ELEMENTS) {
        tn_maker_fail(m);
        m->n_elements = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        m->elements[m->n_elements + i] = (tn_part){.variable = -1, .type = e};
    m->n_elements += n;
    return m->n_elements - n;
}

tn_known *tn_maker_bind_scalars(tn_maker *m, const tn_value *v)
{
    uint32_t n = parts_of(m, v);
    return tn_maker_bind(m, v,
                         (tn_known){.kind = TN_KNOWN_SCALARS,
                                    .n = (uint8_t)n,
                                    .is_wide = tn_maker_is_wide(m, v),
                                    .first = tn_maker_add_elements(m, n, v->type->element)});
}

tn_element_type tn_maker_held_as(tn_element_type e)
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

tn_jv tn_maker_get(tn_maker *m, uint32_t at)
{
    tn_part *e = &m->elements[at];
    if (e->piece == m->piece_number) return e->v;
    if (e->variable < 0) {
        tn_maker_fail(m);
        return tn_jit_const(&m->piece, 4, 0);
    }
    e->v = tn_jit_load(&m->piece, TN_JIT_VARIABLE + (uint32_t)e->variable,
                       tn_maker_held_as(e->type), false);
    e->piece = m->piece_number;
    return e->v;
}

void tn_maker_set(tn_maker *m, uint32_t at, tn_jv v)
{
    m->elements[at].v = v;
    m->elements[at].piece = m->piece_number;
}

void tn_maker_keep(tn_maker *m, uint32_t at, uint32_t from)
{
    tn_part *e = &m->elements[at];
    if (e->variable < 0) e->variable = (int32_t)m->n_variables++;
    tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)e->variable, tn_maker_held_as(e->type),
                 tn_maker_get(m, from));
}

/* --- ports --- */

static uint32_t port_of(tn_maker *m, const tn_value *v)
{
    for (uint32_t i = 0; i < m->n_ports; i++)
        if (m->ports[i] == v) return i;
    if (m->n_ports == TN_JIT_PORTS) {
        tn_maker_fail(m);
        return 0;
    }
    m->ports[m->n_ports] = v;
    return m->n_ports++;
}

static bool is_outside(const tn_maker *m, const tn_value *v)
{
    for (const tn_region *r = v->region; r; r = r->parent ? r->parent->region : NULL)
        if (r == &m->loop->regions[0] || r == &m->loop->regions[1]) return false;
    return true;
}

/* Is it from outside of the loop, and in memory there? */
static bool is_captured(tn_maker *m, const tn_value *v)
{
    if (!is_outside(m, v)) return false;
    uint8_t flags = m->c->flags[tn_cluster_source(v)->id];
    return !(flags & TN_VALUE_MAPPED) || flags & TN_VALUE_WANTED;
}

static void bind_constant(tn_maker *m, const tn_value *v, const tn_literal *l)
{
    tn_element_type e = v->type->element;
    tn_known *k = tn_maker_bind_scalars(m, v);
    for (uint32_t i = 0; i < k->n; i++) {
        const uint8_t *data = l->data;
        if (!l->splat && !k->is_wide) data += i * tn_element_type_bytes(e);
        tn_jv c = e == TN_I1 ? tn_jit_emit(&m->piece, TN_JIT_ICMP, 4, TN_JIT_IEQ, 0, 2,
                                           tn_jit_const(&m->piece, 4, *data),
                                           tn_jit_const(&m->piece, 4, 1), 0)
                             : tn_jit_element(&m->piece, e, data);
        tn_maker_set(m, k->first + i, c);
    }
}

static bool is_iota(const tn_maker *m, const tn_value *v)
{
    if (!v->op || v->op->kind != TN_OP_iota || !tn_maker_is_scalars(m, v) || tn_maker_is_wide(m, v))
        return false;
    tn_element_class c = tn_element_type_class(v->type->element);
    return c == TN_CLASS_SINT || c == TN_CLASS_UINT || v->type->element == TN_F32;
}

static void bind_iota(tn_maker *m, const tn_value *v)
{
    const tn_type *t = v->type;
    int64_t dim = tn_op_int(v->op, TN_ATTR_iota_dimension, 0), inner = 1;
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) inner *= t->dims[d];
    tn_known *k = tn_maker_bind_scalars(m, v);
    for (uint32_t i = 0; i < k->n; i++) {
        uint64_t x = i / (uint64_t)inner % (uint64_t)t->dims[dim];
        if (t->element == TN_F32) x = tn_bits_of_f32((float)x);
        tn_maker_set(m, k->first + i,
                     tn_jit_const(&m->piece, tn_element_type_bytes(t->element) == 8 ? 8 : 4, x));
    }
}

tn_jv tn_maker_load_part(tn_maker *m, uint32_t port, bool wide, uint32_t e, tn_element_type type)
{
    unsigned bytes = tn_element_type_bytes(type) == 8 ? 8 : 4;
    tn_jit_op op = m->strip && !wide ? TN_JIT_SPLAT : TN_JIT_LOAD;
    return tn_jit_emit(&m->piece, op, bytes, (unsigned)type, port | part_at(m, wide, e) << 20, 0, 0,
                       0, 0);
}

void tn_maker_store_part(tn_maker *m, uint32_t port, bool wide, uint32_t e, tn_element_type type,
                         tn_jv v)
{
    unsigned bytes = tn_element_type_bytes(type) == 8 ? 8 : 4;
    tn_jit_op op = m->strip && !wide ? TN_JIT_PUT : TN_JIT_STORE;
    tn_jit_emit(&m->piece, op, bytes, (unsigned)type, port | part_at(m, wide, e) << 20, 1, v, 0, 0);
}

const tn_known *tn_maker_scalars(tn_maker *m, const tn_value *v)
{
    v = tn_maker_source(v);
    tn_known *k = &m->values[v->id];
    if (k->kind == TN_KNOWN_SCALARS) {
        const tn_part *e = &m->elements[k->first];
        if (e->piece == m->piece_number || e->variable >= 0) return k;
    }
    const tn_literal *l = tn_constant_of(v);
    if (k->kind != TN_KNOWN_ARRAY && is_iota(m, v)) {
        bind_iota(m, v);
        return k;
    }
    bool is_memory = l && !l->splat && tn_maker_is_wide(m, v);
    if (is_memory) l = NULL;
    else if (!l && k->kind != TN_KNOWN_ARRAY && v->op && tn_maker_is_movement(v->op) &&
             is_outside(m, v) && !is_captured(m, v))
        return tn_maker_make_movement(m, v->op) ? k : NULL;
    if (k->kind == TN_KNOWN_ARRAY || !tn_maker_is_scalars(m, v) ||
        (!l && !is_memory && !is_captured(m, v))) {
        tn_maker_fail(m);
        return NULL;
    }
    if (l) {
        bind_constant(m, v, l);
        return k;
    }
    uint32_t port = port_of(m, v);
    tn_maker_bind_scalars(m, v);
    for (uint32_t i = 0; i < k->n; i++)
        tn_maker_set(m, k->first + i, tn_maker_load_part(m, port, k->is_wide, i, v->type->element));
    return k;
}

const tn_known *tn_maker_array(tn_maker *m, const tn_value *v)
{
    v = tn_maker_source(v);
    tn_known *k = &m->values[v->id];
    if (k->kind == TN_KNOWN_SCALARS || tn_maker_elements_of(v) < 1 ||
        tn_maker_elements_of(v) > INT32_MAX) {
        tn_maker_fail(m);
        return NULL;
    }
    if (!k->kind) {
        if (!tn_jit_has_type(v->type->element) || !is_captured(m, v)) {
            tn_maker_fail(m);
            return NULL;
        }
        uint32_t port = port_of(m, v);
        k = tn_maker_bind(
            m, v, (tn_known){.kind = TN_KNOWN_ARRAY, .port = port, .version = m->versions[port]});
    }
    if (k->version != m->versions[k->port]) tn_maker_fail(m);
    return k;
}
