/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "executable/constants.h"
#include "executable/program.h"
#include "ops/dot.h"
#include "ops/prepared.h"
#include "passes/rewrite.h"

typedef struct {
    const tn_plan *plan;
    tn_executable *e;
    tn_step *steps;
    uint32_t n_steps, capacity;
    uint32_t *step_of; /* [items + 1]: the first step of an item */
    size_t spare;      /* bytes for breaking cycles of moves */
} maker;

static tn_step_ref ref_to(const tn_plan *p, uint32_t root, const tn_type *type)
{
    if (root == TN_NO_ROOT) return (tn_step_ref){type, 0, TN_BASE_FIXED};
    const tn_class *c = tn_plan_class(p, root);
    uint32_t n_params = p->main->body.n_args;
    switch (c->place) {
    case TN_PLACE_TEMP: return (tn_step_ref){type, c->offset, TN_BASE_TEMP};
    case TN_PLACE_PARAM: return (tn_step_ref){type, 0, TN_BASE_FIRST_PARAM + c->index};
    case TN_PLACE_RESULT:
        return (tn_step_ref){type, c->offset, TN_BASE_FIRST_PARAM + n_params + c->index};
    case TN_PLACE_WINDOW:
        return (tn_step_ref){
            type, 0, TN_BASE_FIRST_PARAM + n_params + p->main->body.last->n_operands + c->index};
    case TN_PLACE_FIXED: break;
    }
    return (tn_step_ref){type, (uintptr_t)c->address, TN_BASE_FIXED};
}

static tn_step_ref ref_of(const tn_plan *p, const tn_value *v)
{
    assert((tn_plan_root(p, v) != TN_NO_ROOT || tn_type_bytes(v->type) == 0 ||
            (v->op && v->op->kind == TN_OP_iota)) &&
           "a value without memory");
    tn_step_ref r = ref_to(p, tn_plan_root(p, v), v->type);
    if (p->view_of[v->id]) r.offset += p->view_of[v->id] - 1;
    return r;
}

static const tn_step_ref *one_ref(maker *m, tn_step_ref r)
{
    return tn_dup(m->plan->arena, &r, sizeof r);
}

static void add_step(maker *m, tn_step step)
{
    TN_PLAN_PUSH(m->plan, m->steps, m->n_steps, m->capacity, step);
}

static bool is_same_place(const tn_step_ref *a, const tn_step_ref *b)
{
    return a->base == b->base && a->offset == b->offset;
}

/* Finds the window that a dynamic slice reads, or that is written before its update. */
static void add_look(maker *m, const tn_op *op)
{
    bool updates = op->kind == TN_OP_dynamic_update_slice;
    uint32_t n = op->n_operands;
    tn_step_ref *refs = TN_NEW_ARRAY(m->plan->arena, tn_step_ref, n + 1);
    for (uint32_t i = 0; i < n; i++) refs[i] = ref_of(m->plan, op->operands[i]);
    refs[n] = ref_of(m->plan, updates ? op->operands[1] : &op->results[0]);
    if (updates) refs[1] = refs[0]; /* not read: what is there is about to be written */
    add_step(m, (tn_step){.kind = TN_STEP_LOOK,
                          .op = op,
                          .n_operands = n,
                          .n_results = 1,
                          .refs = refs,
                          .window = tn_window_of(op, m->plan->arena)});
    if (n + 1 > m->e->refs_at_most) m->e->refs_at_most = n + 1;
}

static bool is_window_of(const tn_plan *p, const tn_value *v, const tn_op *op)
{
    uint32_t root = tn_plan_root(p, v);
    if (root == TN_NO_ROOT) return false;
    const tn_class *c = tn_plan_class(p, root);
    return c->place == TN_PLACE_WINDOW && p->windows[c->index].op == op;
}

/* Whether a loop multiplies by an operand that is the same all the time, in a way in which it is
 * packed: then that is done once. Operands of main stay as they are until all loops around the
 * product end. */
static bool stays_packed(const tn_plan *p, const tn_op *op)
{
    enum { BYTES_AT_MOST = 64 << 20 };
    bool loops = false;
    for (const tn_region *r = op->region; r->parent; r = r->parent->region)
        loops |= r->parent->kind == TN_OP_while && r == &r->parent->regions[1];
    if (!loops || op->kind != TN_OP_dot_general || op->operands[1]->region != &p->main->body)
        return false;
    tn_gemm g;
    if (!tn_dot_gemm(op, p->arena, &g)) return false;
    size_t bytes = tn_gemm_packed_bytes(&g);
    return bytes > 0 && bytes <= BYTES_AT_MOST;
}

static void add_op(maker *m, const tn_item *item)
{
    const tn_op *op = item->op;
    if (op->kind == TN_OP_dynamic_slice && is_window_of(m->plan, &op->results[0], op)) {
        add_look(m, op);
        return;
    }
    if (op->kind == TN_OP_dynamic_update_slice && is_window_of(m->plan, op->operands[1], op))
        return; /* it is there */
    if (op->kind == TN_OP_constant || op->kind == TN_OP_sdy_constant) {
        add_step(m, (tn_step){.kind = TN_STEP_FILL,
                              .op = op,
                              .refs = one_ref(m, ref_of(m->plan, &op->results[0])),
                              .bytes = tn_type_bytes(op->results[0].type),
                              .element = &tn_op_attr(op, TN_ATTR_value)->tensor});
        return;
    }
    uint32_t n = op->n_operands;
    for (uint32_t i = 0; i < op->n_regions; i++) n += item->bodies[i]->n_captures;
    tn_step_ref *refs = TN_NEW_ARRAY(m->plan->arena, tn_step_ref, (size_t)n + op->n_results),
                *r = refs;
    for (uint32_t i = 0; i < op->n_operands; i++) *r++ = ref_of(m->plan, op->operands[i]);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (uint32_t j = 0; j < item->bodies[i]->n_captures; j++)
            *r++ = ref_of(m->plan, item->bodies[i]->captures[j]);
    for (uint32_t i = 0; i < op->n_results; i++) *r++ = ref_of(m->plan, &op->results[i]);
    const tn_window *window = tn_small_window(op, m->plan->arena);
    if (window && op->kind == TN_OP_dynamic_update_slice && !is_same_place(&refs[0], &refs[n]))
        window = NULL;
    if (window) {
        add_step(m, (tn_step){.kind = TN_STEP_WINDOW,
                              .op = op,
                              .n_operands = n,
                              .n_results = 1,
                              .refs = refs,
                              .window = window});
        if (n + 1 > m->e->refs_at_most) m->e->refs_at_most = n + 1;
        return;
    }
    tn_prepared prepared = {tn_op_behaviours[op->kind].eval, NULL};
    tn_prepare_op(op, item->bodies, m->plan->arena, &prepared);
    add_step(m, (tn_step){.kind = TN_STEP_EVAL,
                          .op = op,
                          .n_operands = n,
                          .n_results = op->n_results,
                          .refs = refs,
                          .eval = prepared.eval,
                          .prepared = prepared.data,
                          .pack = stays_packed(m->plan, op) ? ++m->e->n_packs : 0,
                          .bodies = item->bodies});
    if (n + op->n_results > m->e->refs_at_most) m->e->refs_at_most = n + op->n_results;
}

/* False: an operand is nowhere in memory. */
static bool ref_of_scalar(maker *m, const tn_tile_program *t, const tn_value *v, tn_step_ref *out)
{
    const tn_literal *c = tn_constant_of(v);
    if (c) {
        void *copy = tn_alloc(m->plan->arena, 8);
        memcpy(copy, c->data, tn_element_type_bytes(v->type->element));
        *out = (tn_step_ref){v->type, (uintptr_t)copy, TN_BASE_FIXED};
        return true;
    }
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        if (tn_cluster_source(t->inputs[i].value) != tn_cluster_source(v)) continue;
        *out = ref_of(m->plan, t->inputs[i].value);
        return true;
    }
    return false;
}

static bool add_scalar(maker *m, const tn_tile_program *t)
{
    const tn_op *op;
    tn_scalar_fn *fn = tn_small_scalar(t, &op);
    tn_step_ref refs[3];
    if (!fn || !ref_of_scalar(m, t, op->operands[0], &refs[0]) ||
        !ref_of_scalar(m, t, op->operands[1], &refs[1]))
        return false;
    refs[2] = ref_of(m->plan, &op->results[0]);
    add_step(m, (tn_step){.kind = TN_STEP_SCALAR,
                          .op = op,
                          .n_operands = 2,
                          .n_results = 1,
                          .refs = tn_dup(m->plan->arena, refs, sizeof refs),
                          .scalar = fn});
    return true;
}

static void add_tile(maker *m, const tn_item *item)
{
    const tn_tile_program *t = item->tile;
    if (add_scalar(m, t)) return;
    uint32_t n = t->n_inputs + t->n_outputs;
    tn_step_ref *refs = TN_NEW_ARRAY(m->plan->arena, tn_step_ref, n), *r = refs;
    for (uint32_t i = 0; i < t->n_inputs; i++) *r++ = ref_of(m->plan, t->inputs[i].value);
    for (uint32_t i = 0; i < t->n_outputs; i++) *r++ = ref_of(m->plan, t->outputs[i].value);
    add_step(m, (tn_step){.kind = TN_STEP_TILE,
                          .n_operands = t->n_inputs,
                          .n_results = t->n_outputs,
                          .refs = refs,
                          .tile = t});
    if (n > m->e->refs_at_most) m->e->refs_at_most = n;
}

static void add_rows(maker *m, const tn_item *item)
{
    const tn_rows *p = item->rows;
    uint32_t n = p->n_inputs + p->n_outputs;
    tn_step_ref *refs = TN_NEW_ARRAY(m->plan->arena, tn_step_ref, n), *r = refs;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        *r++ = ref_of(m->plan, p->values[p->inputs[i]].value);
    for (uint32_t i = 0; i < p->n_outputs; i++)
        *r++ = ref_of(m->plan, p->values[p->outputs[i]].value);
    const tn_op *op = NULL;
    for (uint32_t i = 0; i < p->n_steps && !op; i++) op = p->steps[i].reduce;
    add_step(m, (tn_step){.kind = TN_STEP_ROWS,
                          .op = op,
                          .n_operands = p->n_inputs,
                          .n_results = p->n_outputs,
                          .refs = refs,
                          .rows = p});
    if (n > m->e->refs_at_most) m->e->refs_at_most = n;
}

static void add_native(maker *m, const tn_item *item)
{
    const tn_native *native = item->native;
    uint32_t n = native->n_ports;
    tn_step_ref *refs = TN_NEW_ARRAY(m->plan->arena, tn_step_ref, n);
    for (uint32_t i = 0; i < n; i++) {
        const tn_value *v = native->ports[i] ? native->ports[i] : &item->op->results[i];
        refs[i] = ref_of(m->plan, v);
    }
    add_step(m, (tn_step){.kind = TN_STEP_NATIVE,
                          .op = item->op,
                          .n_operands = n,
                          .refs = refs,
                          .native = native});
    if (n > m->e->refs_at_most) m->e->refs_at_most = n;
}

static void add_moves(maker *m, const tn_item *item)
{
    const tn_plan *p = m->plan;
    tn_copy *moves = TN_NEW_ARRAY(p->arena, tn_copy, item->n);
    tn_copy *ordered = TN_NEW_ARRAY(p->arena, tn_copy, 2 * (size_t)item->n);
    for (uint32_t i = 0; i < item->n; i++) {
        const tn_move *move = &p->moves[item->first + i];
        moves[i].from = ref_of(p, move->from);
        moves[i].to = ref_to(p, move->to, move->from->type);
        moves[i].bytes = p->roots[move->to].bytes;
    }
    tn_step_ref spare = {NULL, p->temp_bytes, TN_BASE_TEMP};
    uint32_t n = tn_order_moves(p->arena, moves, item->n, spare, ordered);
    for (uint32_t i = 0; i < n; i++) {
        const tn_copy *c = &ordered[i];
        bool saves = c->to.base == TN_BASE_TEMP && c->to.offset == p->temp_bytes;
        if (saves && c->bytes > m->spare) m->spare = c->bytes;
        add_step(m, (tn_step){.kind = TN_STEP_COPY,
                              .op = item->op,
                              .refs = tn_dup(p->arena, (tn_step_ref[]){c->from, c->to},
                                             2 * sizeof(tn_step_ref)),
                              .bytes = c->bytes});
    }
}

static void add_item(maker *m, const tn_item *item)
{
    switch (item->kind) {
    case TN_ITEM_START: break;
    case TN_ITEM_OP: add_op(m, item); break;
    case TN_ITEM_TILE: add_tile(m, item); break;
    case TN_ITEM_NATIVE: add_native(m, item); break;
    case TN_ITEM_ROWS: add_rows(m, item); break;
    case TN_ITEM_MOVES: add_moves(m, item); break;
    case TN_ITEM_BRANCH:
        add_step(m, (tn_step){.kind = TN_STEP_UNLESS,
                              .op = item->op,
                              .refs = one_ref(m, ref_of(m->plan, item->value)),
                              .target = item->target});
        break;
    case TN_ITEM_SWITCH:
        add_step(m, (tn_step){.kind = TN_STEP_SWITCH,
                              .op = item->op,
                              .refs = one_ref(m, ref_of(m->plan, item->value)),
                              .targets = m->plan->targets + item->first,
                              .n_targets = item->n});
        break;
    case TN_ITEM_JUMP:
        add_step(m, (tn_step){.kind = TN_STEP_JUMP, .op = item->op, .target = item->target});
        break;
    case TN_ITEM_END: add_step(m, (tn_step){.kind = TN_STEP_END}); break;
    }
}

/* Targets are items until all steps are there. */
static void resolve_targets(maker *m)
{
    for (uint32_t i = 0; i < m->n_steps; i++)
        if (m->steps[i].kind == TN_STEP_JUMP || m->steps[i].kind == TN_STEP_UNLESS)
            m->steps[i].target = m->step_of[m->steps[i].target];
    for (uint32_t i = 0; i < m->plan->n_targets; i++)
        m->plan->targets[i] = m->step_of[m->plan->targets[i]];
}

static size_t align(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

void tn_make_steps(const tn_plan *p, tn_executable *e)
{
    maker m = {.plan = p, .e = e};
    m.step_of = TN_NEW_ARRAY(p->arena, uint32_t, p->n_items);
    for (uint32_t i = 0; i < p->n_items; i++) {
        m.step_of[i] = m.n_steps;
        for (uint32_t w = p->windows_before ? p->windows_before[i] : 0; w;
             w = p->windows[w - 1].next)
            add_look(&m, p->windows[w - 1].op);
        uint32_t first = m.n_steps;
        tn_item *item = &p->items[i];
        add_item(&m, item);
        item->ns = tn_item_ns(p, item);
        if (m.n_steps == first + 1 && m.steps[first].kind != TN_STEP_LOOK)
            m.steps[first].ns = (float)item->ns;
    }
    resolve_targets(&m);
    e->steps = m.steps;
    e->n_steps = m.n_steps;
    e->n_bases =
        TN_BASE_FIRST_PARAM + p->main->body.n_args + p->main->body.last->n_operands + p->n_windows;
    size_t at = align(p->temp_bytes + m.spare);
    e->bases_at = at;
    if (e->n_bases > TN_FEW_REFS) at = align(at + e->n_bases * sizeof(uintptr_t));
    e->tensors_at = at;
    if (e->refs_at_most > TN_FEW_REFS) at = align(at + e->refs_at_most * sizeof(tn_tensor));
    e->info.temp_bytes = at;
    e->info.constant_bytes = p->constant_bytes;
}
