/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/native.h"

#include <string.h>

#include "codegen/native_maker.h"

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
        if ((op->kind == TN_OP_reduce || op->kind == TN_OP_iota) &&
            tn_maker_is_apart(strip, &op->results[0]))
            continue;
        if (op->n_results != 1) return false;
        if (op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_dynamic_update_slice ||
            op->kind == TN_OP_reshape || op->kind == TN_OP_scatter)
            continue;
        if (!tn_maker_is_apart(strip, &op->results[0])) return false;
        if (!tn_maker_is_movement(op) && !tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE)) return false;
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
            tn_maker_elements_of(&op->results[0]) > TN_MAKER_FEW)
            return op->results[0].type;
    }
    return NULL;
}

/* How much of strips to do at once: with few values more, which overlap in time. */
static uint32_t unrolling(const tn_op *op, int64_t strip, uint32_t lanes)
{
    int64_t strips = 0, groups = strip / lanes;
    uint32_t n_ops = 0, by = 8;
    for (uint32_t i = 0; i < op->n_operands; i++)
        strips += tn_maker_strips_of(strip, &op->results[i]);
    for (const tn_op *o = op->regions[1].first; o; o = o->next)
        n_ops += tn_op_has_trait(o, TN_TRAIT_ELEMENTWISE);
    while (by > 1 && (strips * by > 8 || n_ops * by > 200 || groups % by)) by /= 2;
    return by;
}

static const tn_jit_code *make_code(tn_maker *m, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_operands; i++)
        m->ports[i] = tn_type_bytes(op->results[i].type) ? &op->results[i] : NULL;
    tn_maker_count_uses(m, &op->regions[0]);
    tn_maker_count_uses(m, &op->regions[1]);
    tn_jit_flow_begin(&m->flow, m->c->jit, m->lanes, m->strip ? m->lanes * m->unroll : 0);
    tn_maker_begin_piece(m);
    if (tn_maker_make_while(m, op, true)) {
        for (uint32_t i = 0; i < op->n_operands; i++) {
            const tn_value *arg = &op->regions[1].args[i];
            const tn_known *k = &m->values[arg->id];
            if (k->kind != TN_KNOWN_SCALARS) continue;
            for (uint32_t e = 0; e < k->n; e++)
                tn_maker_store_part(m, i, k->is_wide, e, arg->type->element,
                                    tn_maker_get(m, k->first + e));
        }
        m->n_made = 0;
        tn_maker_end_piece(m);
    }
    for (uint32_t i = 0; i < m->n_ports; i++) {
        uint8_t u = m->usage[i];
        bool mixes = (u & TN_WRITES_STRIPS && u & (TN_READS_ONE | TN_WRITES_ONE)) ||
                     (u & TN_WRITES_ONE && u & (TN_READS_ONE | TN_READS_STRIPS));
        if ((m->is_changed[i] && m->is_viewed[i]) || (m->strip && mixes)) m->failed = true;
    }
    for (uint32_t i = 0; i < m->n_touched; i++) m->values[m->touched[i]] = (tn_known){0};
    tn_maker_forget_uses(m, &op->regions[0]);
    tn_maker_forget_uses(m, &op->regions[1]);
    return tn_jit_flow_end(&m->flow, m->n_variables, m->failed);
}

static tn_maker begin_maker(tn_cluster_context *c, const tn_op *op, int64_t strip, uint32_t lanes,
                            uint32_t unroll)
{
    return (tn_maker){.c = c,
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

static tn_native *make_native(tn_maker *m, const tn_op *op)
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
        tn_maker m = begin_maker(c, op, strip, lanes, unroll);
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
        tn_maker rest = begin_maker(c, op, strip, 1, 1);
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
        if (wide && (strip <= TN_MAKER_FEW || strip > INT32_MAX)) continue;
        uint32_t budget = 600;
        if (!may_be(&op->regions[0], wide ? strip : 0, &budget) ||
            !may_be(&op->regions[1], wide ? strip : 0, &budget))
            continue;
        if (!c->natives) {
            tn_arena *a = c->arena;
            uint32_t n_values = c->n_values;
            c->natives = TN_NEW_ARRAY(a, tn_known, n_values);
            c->native_uses = TN_NEW_ARRAY(a, uint32_t, n_values);
            c->native_touched = TN_NEW_ARRAY(a, uint32_t, 4 * (size_t)n_values);
            c->native_elements = TN_NEW_ARRAY(a, tn_part, TN_MAKER_ELEMENTS);
        }
        if (wide) return make_strips(c, op, strip, trips);
        tn_maker m = begin_maker(c, op, 0, 1, 1);
        return make_native(&m, op);
    }
    return NULL;
}
