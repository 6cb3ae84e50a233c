/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/native_maker.h"

#include <string.h>

#include "ops/elementwise.h"

#define CHOSEN 16 /* ops of branches that are all done before one is chosen, at most */

/* Branches of so little that all are done, and then one's results are chosen. */
static bool are_chosen(const tn_op *op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) {
            if (o == op->regions[i].last || o->kind == TN_OP_constant) continue;
            bool cheap = tn_op_has_trait(o, TN_TRAIT_ELEMENTWISE) && tn_elementwise_cost(o) <= 1.5;
            if (++n > CHOSEN || !(cheap || tn_maker_is_movement(o))) return false;
        }
    return true;
}

bool tn_maker_is_straight(const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op->kind == TN_OP_while) return false;
        if ((op->kind == TN_OP_if || op->kind == TN_OP_case) && !are_chosen(op)) return false;
    }
    return true;
}

void tn_maker_begin_piece(tn_maker *m)
{
    tn_jit_begin(m->c->jit, &m->piece);
    m->piece_number++;
    m->n_made = 0;
}

static bool fits(tn_maker *m)
{
    m->n_instructions += m->piece.n;
    m->is_too_wide |= m->piece.wide && m->lanes > (m->piece.avx512 ? 8 : 4);
    m->failed |= m->is_too_wide;
    return !m->failed;
}

void tn_maker_end_piece(tn_maker *m)
{
    for (uint32_t i = 0; i < m->n_made && !m->failed; i++) {
        uint32_t id = m->made[i];
        const tn_known *k = &m->values[id];
        if (!m->uses[id]) continue;
        uint32_t n = k->kind == TN_KNOWN_ARRAY ? k->has_offset : k->n;
        for (uint32_t e = 0; e < n; e++)
            if (m->elements[k->first + e].variable < 0 &&
                m->elements[k->first + e].piece == m->piece_number)
                tn_maker_keep(m, k->first + e, k->first + e);
    }
    if (fits(m)) tn_jit_flow_piece(&m->flow, &m->piece);
}

/* The same for a piece that is a loop. */
static void end_loop(tn_maker *m, uint32_t out)
{
    m->n_made = 0;
    if (fits(m)) tn_jit_flow_loop(&m->flow, &m->piece, out);
}

/* Lets `v` be what the variables of `like` hold. */
static void bind_to_variables(tn_maker *m, const tn_value *v, const tn_known *like)
{
    uint32_t first = like->first;
    tn_known *k = tn_maker_bind_scalars(m, v);
    for (uint32_t e = 0; e < k->n; e++)
        m->elements[k->first + e].variable = m->elements[first + e].variable;
}

/* Is the argument of a body an array whose elements are read and written at indices? */
static bool is_indexed(const tn_region *body, const tn_value *arg)
{
    for (const tn_op *op = body->first; op; op = op->next)
        if ((op->kind == TN_OP_dynamic_slice || op->kind == TN_OP_dynamic_update_slice ||
             op->kind == TN_OP_scatter) &&
            tn_maker_source(op->operands[0]) == arg)
            return true;
    return false;
}

/* Carried scalars that are in registers while a loop runs. */
typedef struct {
    uint32_t at[TN_JIT_PHIS]; /* of tn_maker.elements: of the body's argument */
    tn_jv v[TN_JIT_PHIS];
    uint32_t n;
} phis;

static void begin_phis(tn_maker *m, const tn_op *op, phis *p)
{
    uint32_t vectors = 0, masks = 0;
    for (uint32_t i = 0; i < op->n_operands; i++) {
        const tn_known *arg = &m->values[op->regions[1].args[i].id];
        const tn_known *other = &m->values[op->regions[0].args[i].id];
        if (arg->kind != TN_KNOWN_SCALARS) continue;
        for (uint32_t e = 0; e < arg->n; e++) {
            const tn_part *x = &m->elements[arg->first + e];
            tn_element_type held = tn_maker_held_as(x->type);
            uint32_t *n = held == TN_I1 && m->piece.avx512 ? &masks : &vectors;
            if (*n == (n == &masks ? 4u : m->piece.avx512 ? 20u : 8u)) continue;
            ++*n;
            tn_jv v = tn_jit_emit(&m->piece, TN_JIT_PHI, tn_element_type_bytes(held) == 8 ? 8 : 4,
                                  held, TN_JIT_VARIABLE + (uint32_t)x->variable, 0, 0, 0, 0);
            tn_maker_set(m, arg->first + e, v);
            tn_maker_set(m, other->first + e, v);
            p->at[p->n] = arg->first + e;
            p->v[p->n++] = v;
        }
    }
}

bool tn_maker_make_while(tn_maker *m, const tn_op *op, bool outermost)
{
    uint32_t n = op->n_operands;
    const tn_region *condition = &op->regions[0], *body = &op->regions[1];
    if (condition->n_args != n || body->n_args != n || body->last->n_operands != n)
        return tn_maker_fail(m);
    for (uint32_t i = 0; i < n && !m->failed; i++) {
        const tn_value *arg = &body->args[i], *result = &op->results[i];
        const tn_value *other = &condition->args[i];
        if (result->type->kind == TN_TYPE_TOKEN) return tn_maker_fail(m);
        if (tn_maker_is_scalars(m, arg) && !is_indexed(body, arg)) {
            tn_known init = {0};
            /* Where there are strips, other elements' turns have changed what is carried. */
            if (outermost && (!m->strip || tn_maker_is_wide(m, arg))) {
                tn_known *k = tn_maker_bind_scalars(m, other); /* of the first piece alone */
                for (uint32_t e = 0; e < k->n; e++)
                    tn_maker_set(m, k->first + e,
                                 tn_maker_load_part(m, i, k->is_wide, e, arg->type->element));
                init = *k;
            } else {
                const tn_known *k = tn_maker_scalars(m, op->operands[i]);
                if (!k) return false;
                init = *k;
            }
            tn_known *k = tn_maker_bind_scalars(m, arg);
            if (k->n != init.n) return tn_maker_fail(m);
            for (uint32_t e = 0; e < k->n; e++) tn_maker_keep(m, k->first + e, init.first + e);
            tn_known variables = *k;
            bind_to_variables(m, other, &variables);
            if (!outermost) bind_to_variables(m, result, &variables);
            continue;
        }
        if (tn_maker_elements_of(arg) < 1 || tn_maker_elements_of(arg) > INT32_MAX ||
            !tn_jit_has_type(arg->type->element))
            return tn_maker_fail(m);
        tn_known a = {.kind = TN_KNOWN_ARRAY, .port = i, .version = 0};
        if (!outermost) {
            const tn_known *from = tn_maker_array(m, op->operands[i]);
            if (!from || m->failed) return false;
            a = *from;
            /* What is outside sees the array as it was. */
            if (tn_maker_source(body->last->operands[i]) != arg) a.version = ++m->versions[a.port];
        }
        tn_maker_bind(m, arg, a);
        tn_maker_bind(m, other, a);
    }
    if (m->failed) return false;
    tn_maker_end_piece(m);
    bool straight = tn_maker_is_straight(condition) && tn_maker_is_straight(body);
    uint32_t top = tn_jit_flow_label(&m->flow), out = tn_jit_flow_label(&m->flow);
    tn_jit_flow_place(&m->flow, top);
    tn_maker_begin_piece(m);
    phis p = {.n = 0};
    if (straight) begin_phis(m, op, &p);
    if (!tn_maker_make_ops(m, condition)) return false;
    const tn_known *go = tn_maker_scalars(m, condition->last->operands[0]);
    if (!go || go->is_wide) return tn_maker_fail(m);
    tn_jit_emit(&m->piece, TN_JIT_EXIT_UNLESS, 4, 0, out, 1, tn_maker_get(m, go->first), 0, 0);
    for (uint32_t i = 0; i < p.n; i++)
        tn_jit_emit(&m->piece, TN_JIT_KEEP, 4, 0, 0, 1, p.v[i], 0, 0);
    if (!tn_maker_make_ops(m, body)) return false;
    /* All of the next values before any variable changes. */
    const tn_op *next = body->last;
    for (uint32_t i = 0; i < n; i++) {
        if (m->values[body->args[i].id].kind != TN_KNOWN_SCALARS) continue;
        const tn_known *k = tn_maker_scalars(m, next->operands[i]);
        if (!k) return false;
        for (uint32_t e = 0; e < k->n; e++) tn_maker_get(m, k->first + e);
    }
    tn_jv to_phi[TN_JIT_PHIS];
    for (uint32_t i = 0; i < n; i++) {
        const tn_known *arg = &m->values[body->args[i].id];
        if (arg->kind == TN_KNOWN_SCALARS) {
            bool same = tn_maker_source(next->operands[i]) == &body->args[i];
            const tn_known *k = same ? arg : tn_maker_scalars(m, next->operands[i]);
            for (uint32_t e = 0; e < k->n; e++) {
                uint32_t j = 0;
                while (j < p.n && p.at[j] != arg->first + e) j++;
                tn_part *to = &m->elements[arg->first + e];
                if (j < p.n) to_phi[j] = same ? p.v[j] : tn_maker_get(m, k->first + e);
                else if (!same)
                    tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)to->variable,
                                 tn_maker_held_as(to->type), tn_maker_get(m, k->first + e));
            }
            continue;
        }
        /* What it was in the beginning must be what it is in the end: the array's newest state. */
        const tn_known *k = tn_maker_array(m, next->operands[i]);
        if (!k || m->failed || k->port != arg->port || k->has_offset != arg->has_offset ||
            (k->has_offset && k->first != arg->first))
            return tn_maker_fail(m);
    }
    for (uint32_t j = 0; j < p.n; j++)
        tn_jit_emit(&m->piece, TN_JIT_NEXT, 4, 0, p.v[j], 1, to_phi[j], 0, 0);
    if (straight) {
        end_loop(m, out);
    } else {
        /* The stores above are to variables that end_piece must not store to again. */
        m->n_made = 0;
        tn_maker_end_piece(m);
        tn_jit_flow_jump_back(&m->flow, top, out);
        tn_jit_flow_place(&m->flow, out);
    }
    tn_maker_begin_piece(m);
    if (outermost) return !m->failed;
    for (uint32_t i = 0; i < n; i++) {
        tn_known a = m->values[body->args[i].id];
        if (a.kind != TN_KNOWN_ARRAY) continue;
        a.version = m->versions[a.port];
        tn_maker_bind(m, &op->results[i], a);
    }
    return !m->failed;
}

/* All branches, the last one first, whose results are what holds unless an earlier one is meant. */
static bool make_chosen(tn_maker *m, const tn_op *op)
{
    const tn_known *choice = tn_maker_scalars(m, op->operands[0]);
    if (!choice || choice->is_wide || !op->n_regions) return tn_maker_fail(m);
    tn_jv selector = tn_maker_get(m, choice->first);
    bool is_if = op->kind == TN_OP_if;
    for (uint32_t k = op->n_regions; k-- > 0;) {
        const tn_region *r = &op->regions[k];
        if (!tn_maker_make_ops(m, r) || r->last->n_operands != op->n_results)
            return tn_maker_fail(m);
        tn_jv mask = selector;
        if (!is_if)
            mask = tn_jit_emit(&m->piece, TN_JIT_ICMP, 4, TN_JIT_IEQ, 0, 2, selector,
                               tn_jit_const(&m->piece, 4, k), 0);
        for (uint32_t i = 0; i < op->n_results; i++) {
            const tn_value *result = &op->results[i];
            bool is_last = k + 1 == op->n_regions;
            const tn_known *from = tn_maker_scalars(m, r->last->operands[i]);
            if (!from || !tn_maker_is_scalars(m, result)) return tn_maker_fail(m);
            tn_known *to = is_last ? tn_maker_bind_scalars(m, result) : &m->values[result->id];
            if (from->n != to->n) return tn_maker_fail(m);
            for (uint32_t e = 0; e < to->n; e++) {
                tn_jv v = tn_maker_get(m, from->first + e);
                if (!is_last)
                    v = tn_maker_choose(m, result->type->element, mask, v,
                                        tn_maker_get(m, to->first + e));
                tn_maker_set(m, to->first + e, v);
            }
        }
    }
    return true;
}

static bool make_branches(tn_maker *m, const tn_op *op)
{
    const tn_known *choice = tn_maker_scalars(m, op->operands[0]);
    if (!choice || choice->is_wide || !op->n_regions) return tn_maker_fail(m);
    uint32_t selector =
        tn_maker_add_elements(m, 1, tn_maker_source(op->operands[0])->type->element);
    tn_maker_keep(m, selector, choice->first);
    int32_t variable = m->elements[selector].variable;
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (!tn_maker_is_scalars(m, &op->results[i])) return tn_maker_fail(m);
        tn_known *k = tn_maker_bind_scalars(m, &op->results[i]);
        for (uint32_t e = 0; e < k->n; e++)
            m->elements[k->first + e].variable = (int32_t)m->n_variables++;
    }
    tn_maker_end_piece(m);
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
        tn_maker_begin_piece(m);
        if (!tn_maker_make_ops(m, r) || r->last->n_operands != op->n_results)
            return tn_maker_fail(m);
        for (uint32_t k = 0; k < op->n_results; k++) {
            const tn_known *from = tn_maker_scalars(m, r->last->operands[k]);
            const tn_known *to = &m->values[op->results[k].id];
            if (!from || from->n != to->n) return tn_maker_fail(m);
            for (uint32_t e = 0; e < to->n; e++) {
                const tn_part *x = &m->elements[to->first + e];
                tn_jit_store(&m->piece, TN_JIT_VARIABLE + (uint32_t)x->variable,
                             tn_maker_held_as(x->type), tn_maker_get(m, from->first + e));
            }
        }
        m->n_made = 0;
        tn_maker_end_piece(m);
        tn_jit_flow_jump(&m->flow, end);
        if (memcmp(versions, m->versions, sizeof versions)) return tn_maker_fail(m);
    }
    tn_jit_flow_place(&m->flow, end);
    tn_maker_begin_piece(m);
    return !m->failed;
}

static bool make_op(tn_maker *m, const tn_op *op)
{
    switch ((int)op->kind) {
    case TN_OP_constant:
    case TN_OP_iota: return true; /* where it is used */
    case TN_OP_while: return tn_maker_make_while(m, op, false);
    case TN_OP_if:
    case TN_OP_case: return are_chosen(op) ? make_chosen(m, op) : make_branches(m, op);
    case TN_OP_dynamic_slice: return tn_maker_make_dynamic_slice(m, op);
    case TN_OP_dynamic_update_slice: return tn_maker_make_update(m, op);
    case TN_OP_scatter: return tn_maker_make_scatter(m, op);
    case TN_OP_reduce: return tn_maker_make_reduce(m, op);
    case TN_OP_reshape:
    case TN_OP_broadcast_in_dim:
    case TN_OP_transpose:
    case TN_OP_slice:
    case TN_OP_concatenate: return tn_maker_make_movement(m, op);
    default: break;
    }
    if (!tn_op_has_trait(op, TN_TRAIT_ELEMENTWISE)) return tn_maker_fail(m);
    return tn_maker_make_elementwise(m, op);
}

bool tn_maker_make_ops(tn_maker *m, const tn_region *r)
{
    for (const tn_op *op = r->first; op; op = op->next) {
        if (op == r->last) break;
        if (!make_op(m, op) || m->failed || m->piece.n > TN_JIT_INSTRUCTIONS - 400)
            return tn_maker_fail(m);
        for (uint32_t i = 0; i < op->n_operands; i++) {
            uint32_t *uses = &m->uses[tn_maker_source(op->operands[i])->id];
            if (*uses) --*uses;
        }
        for (uint32_t i = 0; i < op->n_results; i++)
            if (op->kind != TN_OP_constant && op->kind != TN_OP_iota && op->kind != TN_OP_while &&
                ((op->kind != TN_OP_if && op->kind != TN_OP_case) || are_chosen(op)))
                m->made[m->n_made++] = op->results[i].id;
    }
    return !m->failed;
}
