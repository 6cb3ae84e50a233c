/* SPDX-License-Identifier: Apache-2.0 */
#include "executable/constants.h"
#include "executable/plan.h"

static tn_status *flatten_ops(tn_plan *p, const tn_region *r, uint32_t loop);

static uint32_t add_item(tn_plan *p, tn_item item)
{
    TN_PLAN_PUSH(p, p->items, p->n_items, p->item_capacity, item);
    return p->n_items - 1;
}

static void set_segments(tn_plan *p, uint32_t root, uint32_t n, const tn_segment *segments)
{
    tn_root *r = &p->roots[root];
    r->n_segments = n;
    r->segments = tn_dup(p->arena, segments, n * sizeof *segments);
    for (uint32_t i = 0; i < n; i++) r->segments[i].born = r->segments[i].dies = root;
}

/* A root for `v`, which begins at item `at`. Values of no bytes have none. */
static uint32_t add_root(tn_plan *p, const tn_value *v, size_t bytes, uint32_t at)
{
    if (!bytes) return TN_NO_ROOT;
    tn_root root = {.value = v, .bytes = bytes, .anchor = at};
    TN_PLAN_PUSH(p, p->roots, p->n_roots, p->root_capacity, root);
    set_segments(p, p->n_roots - 1, 1, &(tn_segment){2 * at, 2 * at + 1, 0, 0});
    return p->n_roots - 1;
}

/* Values of which the executable knows the size. */
static tn_status *check_type(const tn_op *op, const tn_type *t)
{
    if (t->kind == TN_TYPE_TOKEN) return NULL;
    if (t->kind == TN_TYPE_TENSOR && tn_type_is_static(t)) return NULL;
    char text[256];
    return TN_OP_ERROR(UNIMPLEMENTED, op, "values of type %s are not supported",
                       tn_type_format(t, text, sizeof text));
}

static tn_status *check_results(const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++) TN_TRY(check_type(op, op->results[i].type));
    return NULL;
}

static void add_move(tn_plan *p, uint32_t to, const tn_value *from)
{
    if (to == TN_NO_ROOT || (from->op && from->op->kind == TN_OP_unset)) return;
    tn_move m = {to, from};
    TN_PLAN_PUSH(p, p->moves, p->n_moves, p->move_capacity, m);
}

/* An item that moves `n` values to the roots in to[]. */
static uint32_t add_moves(tn_plan *p, uint32_t loop, const tn_op *op, const uint32_t *to,
                          tn_value *const *from, uint32_t n)
{
    uint32_t first = p->n_moves;
    for (uint32_t i = 0; i < n; i++) add_move(p, to[i], from[i]);
    return add_item(p, (tn_item){.kind = TN_ITEM_MOVES,
                                 .loop = loop,
                                 .op = op,
                                 .first = first,
                                 .n = p->n_moves - first});
}

/* The verifier saw to it that what a region takes and gives has the types of its op; this is what
 * keeps memory safe, so it is looked at again. */
static tn_status *check_returned(const tn_op *op, const tn_region *r)
{
    bool fits = r->last && r->last->n_operands == op->n_results;
    for (uint32_t i = 0; fits && i < op->n_results; i++)
        fits = tn_type_equal(r->last->operands[i]->type, op->results[i].type);
    return fits ? NULL : TN_OP_ERROR(INVALID_ARGUMENT, op, "a region gives values of other types");
}

static tn_status *check_taken(const tn_op *op, const tn_region *r)
{
    bool fits = r->n_args == op->n_operands && op->n_results == op->n_operands;
    for (uint32_t i = 0; fits && i < r->n_args; i++)
        fits = tn_type_equal(r->args[i].type, op->results[i].type) &&
               tn_type_equal(op->operands[i]->type, op->results[i].type);
    return fits ? NULL : TN_OP_ERROR(INVALID_ARGUMENT, op, "a region takes values of other types");
}

static uint32_t add_jump(tn_plan *p, uint32_t loop, const tn_op *op, uint32_t target)
{
    return add_item(p, (tn_item){.kind = TN_ITEM_JUMP, .loop = loop, .op = op, .target = target});
}

static bool ports_are_in_memory(const tn_plan *p, const tn_native *native)
{
    for (uint32_t i = 0; i < native->n_ports; i++)
        if (native->ports[i] && tn_plan_root(p, native->ports[i]) == TN_NO_ROOT) return false;
    return true;
}

/* moves, condition, branch out, body, moves, jump back. The carried slot has the content of the
 * regions' argument until the body's last use of it, and that of the next iteration from the moves
 * on; after the loop it is the result. */
static tn_status *flatten_while(tn_plan *p, const tn_op *op, uint32_t outer)
{
    TN_TRY(check_taken(op, &op->regions[0]));
    TN_TRY(check_taken(op, &op->regions[1]));
    TN_TRY(check_returned(op, &op->regions[1]));
    uint32_t n = op->n_operands, *slots = TN_NEW_ARRAY(p->arena, uint32_t, n);
    uint32_t entry = p->n_items;
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = add_root(p, &op->results[i], tn_type_bytes(op->results[i].type), entry + 1);
        p->root_of[op->results[i].id] = slots[i];
        p->root_of[op->regions[0].args[i].id] = slots[i];
        p->root_of[op->regions[1].args[i].id] = slots[i];
    }
    add_moves(p, outer, op, slots, op->operands, n);

    const tn_native *native = tn_native_make(&p->clusters, op, tn_trip_count(op));
    if (native && ports_are_in_memory(p, native)) {
        uint32_t at = add_item(
            p, (tn_item){.kind = TN_ITEM_NATIVE, .loop = outer, .op = op, .native = native});
        for (uint32_t i = 0; i < n; i++)
            if (slots[i] != TN_NO_ROOT)
                set_segments(p, slots[i], 1, &(tn_segment){2 * entry, 2 * at + 1, 0, 0});
        return NULL;
    }

    uint32_t loop = p->n_loops;
    tn_loop l = {.parent = outer, .first = entry + 1, .trips = tn_trip_count(op)};
    TN_PLAN_PUSH(p, p->loops, p->n_loops, p->loop_capacity, l);
    const tn_op *condition = op->regions[0].last, *next = op->regions[1].last;
    TN_TRY(flatten_ops(p, &op->regions[0], loop));
    uint32_t branch = add_item(
        p,
        (tn_item){.kind = TN_ITEM_BRANCH, .loop = loop, .op = op, .value = condition->operands[0]});
    TN_TRY(flatten_ops(p, &op->regions[1], loop));
    uint32_t moves = add_moves(p, loop, op, slots, next->operands, n);
    uint32_t last = add_jump(p, loop, op, entry + 1);
    p->items[branch].target = last + 1;
    p->loops[loop].last = last;

    for (uint32_t i = 0; i < n; i++)
        if (slots[i] != TN_NO_ROOT)
            set_segments(
                p, slots[i], 2,
                (tn_segment[]){{2 * entry, 2 * branch, 0, 0}, {2 * moves, 2 * last + 1, 0, 0}});
    return NULL;
}

/* The result slots hold a content of their own at the end of each branch. */
static tn_status *flatten_branches(tn_plan *p, const tn_op *op, uint32_t loop)
{
    uint32_t n = op->n_results, n_regions = op->n_regions;
    if (!n_regions) return TN_OP_ERROR(INVALID_ARGUMENT, op, "there is no branch");
    uint32_t *slots = TN_NEW_ARRAY(p->arena, uint32_t, n);
    uint32_t at = p->n_items;
    for (uint32_t i = 0; i < n; i++)
        slots[i] = add_root(p, &op->results[i], tn_type_bytes(op->results[i].type), at);

    uint32_t first_target = p->n_targets;
    tn_item choice = {.loop = loop, .op = op, .value = op->operands[0]};
    choice.kind = op->kind == TN_OP_if ? TN_ITEM_BRANCH : TN_ITEM_SWITCH;
    if (choice.kind == TN_ITEM_SWITCH) {
        choice.first = first_target;
        choice.n = n_regions;
        for (uint32_t i = 0; i < n_regions; i++)
            TN_PLAN_PUSH(p, p->targets, p->n_targets, p->target_capacity, 0);
    }
    add_item(p, choice);

    tn_segment *segments = TN_NEW_ARRAY(p->arena, tn_segment, n_regions);
    uint32_t *jumps = TN_NEW_ARRAY(p->arena, uint32_t, n_regions);
    for (uint32_t i = 0; i < n_regions; i++) {
        const tn_region *r = &op->regions[i];
        TN_TRY(check_returned(op, r));
        if (choice.kind == TN_ITEM_SWITCH) p->targets[first_target + i] = p->n_items;
        else if (i == 1) p->items[at].target = p->n_items;
        TN_TRY(flatten_ops(p, r, loop));
        uint32_t moves = add_moves(p, loop, op, slots, r->last->operands, n);
        segments[i] = (tn_segment){2 * moves, 2 * moves + 1, 0, 0};
        if (i + 1 == n_regions) break;
        jumps[i] = add_jump(p, loop, op, 0);
        segments[i].end = 2 * jumps[i] + 1;
    }
    for (uint32_t i = 0; i + 1 < n_regions; i++) p->items[jumps[i]].target = p->n_items;
    for (uint32_t i = 0; i < n; i++) {
        if (slots[i] != TN_NO_ROOT) set_segments(p, slots[i], n_regions, segments);
        p->root_of[op->results[i].id] = slots[i];
    }
    return NULL;
}

static tn_status *flatten_same_bytes(tn_plan *p, const tn_op *op)
{
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_type *from = op->operands[i]->type, *to = op->results[i].type;
        TN_TRY(check_type(op, from));
        if (tn_type_bytes(from) != tn_type_bytes(to))
            return TN_OP_ERROR(INTERNAL, op, "operand %u has %zu bytes and its result %zu", i,
                               tn_type_bytes(from), tn_type_bytes(to));
        p->root_of[op->results[i].id] = tn_plan_root(p, op->operands[i]);
        p->view_of[op->results[i].id] = p->view_of[op->operands[i]->id];
    }
    return NULL;
}

static void flatten_constant(tn_plan *p, const tn_op *op, uint32_t at)
{
    const tn_value *v = &op->results[0];
    uint32_t root = p->root_of[v->id] = add_root(p, v, tn_type_bytes(v->type), at);
    if (root == TN_NO_ROOT) return;
    p->roots[root].place = TN_PLACE_FIXED;
    p->roots[root].address = tn_constant_data(p->arena, op, &p->constant_bytes);
}

static tn_status *flatten_plain(tn_plan *p, const tn_op *op, uint32_t loop)
{
    if (!tn_op_behaviours[op->kind].eval)
        return TN_OP_ERROR(UNIMPLEMENTED, op, "this op is not supported yet");
    size_t bytes = 0;
    for (uint32_t i = 0; i < op->n_results; i++) bytes += tn_type_bytes(op->results[i].type);
    bool effects = tn_op_has_trait(op, TN_TRAIT_SIDE_EFFECT | TN_TRAIT_COLLECTIVE) ||
                   op->kind == TN_OP_custom_call;
    if (bytes || effects) {
        const tn_body **bodies = TN_NEW_ARRAY(p->arena, const tn_body *, op->n_regions);
        for (uint32_t i = 0; i < op->n_regions; i++)
            TN_TRY(tn_body_compile(&op->regions[i], p->arena, &bodies[i]));
        add_item(p, (tn_item){.kind = TN_ITEM_OP, .loop = loop, .op = op, .bodies = bodies});
    }
    for (uint32_t i = 0; i < op->n_results; i++) {
        const tn_value *v = &op->results[i];
        p->root_of[v->id] = add_root(p, v, tn_type_bytes(v->type), p->n_items - 1);
    }
    return NULL;
}

static tn_status *flatten_op(tn_plan *p, const tn_op *op, uint32_t loop)
{
    TN_TRY(check_results(op));
    switch (op->kind) {
    case TN_OP_while: return flatten_while(p, op, loop);
    case TN_OP_if:
    case TN_OP_case: return flatten_branches(p, op, loop);
    case TN_OP_unset: /* only loops take it, into memory of their own */
    case TN_OP_sdy_sharding_group:
    case TN_OP_sdy_mesh: return NULL;
    case TN_OP_constant:
    case TN_OP_sdy_constant:
        if (!tn_constant_is_filled(op)) {
            flatten_constant(p, op, p->n_items - 1);
            return NULL;
        }
        return flatten_plain(p, op, loop);
    default: break;
    }
    if (tn_op_has_trait(op, TN_TRAIT_SAME_BYTES) || tn_is_relabelling(op))
        return flatten_same_bytes(p, op);
    if (p->fuse && tn_plan_make_view(p, op)) return NULL;
    bool looks = p->fuse && tn_plan_may_look(p, op);
    TN_TRY(flatten_plain(p, op, loop));
    if (!looks) return NULL;
    tn_root *r = &p->roots[tn_plan_root(p, &op->results[0])];
    r->place = TN_PLACE_WINDOW;
    r->index = p->n_windows;
    TN_PLAN_PUSH(p, p->windows, p->n_windows, p->window_capacity, (tn_moving_window){.op = op});
    return NULL;
}

static void flatten_tile(tn_plan *p, const tn_tile_program *t, uint32_t loop)
{
    uint32_t at = add_item(p, (tn_item){.kind = TN_ITEM_TILE, .loop = loop, .tile = t});
    for (uint32_t i = 0; i < t->n_outputs; i++) {
        const tn_value *v = t->outputs[i].value;
        p->root_of[v->id] = add_root(p, v, tn_type_bytes(v->type), at);
    }
}

static void flatten_rows(tn_plan *p, const tn_rows *rows, uint32_t loop)
{
    uint32_t at = add_item(p, (tn_item){.kind = TN_ITEM_ROWS, .loop = loop, .rows = rows});
    for (uint32_t i = 0; i < rows->n_outputs; i++) {
        const tn_value *v = rows->values[rows->outputs[i]].value;
        p->root_of[v->id] = add_root(p, v, tn_type_bytes(v->type), at);
    }
}

static tn_status *flatten_ops(tn_plan *p, const tn_region *r, uint32_t loop)
{
    const tn_cluster *clusters;
    uint32_t n;
    tn_cluster_region(&p->clusters, r, &clusters, &n);
    if (p->fuse) tn_plan_order(p, r, &clusters, n);
    for (uint32_t i = 0; i < n; i++) {
        if (clusters[i].tile) flatten_tile(p, clusters[i].tile, loop);
        else if (clusters[i].rows) flatten_rows(p, clusters[i].rows, loop);
        else TN_TRY(flatten_op(p, clusters[i].op, loop));
    }
    return NULL;
}

static tn_status *flatten_params(tn_plan *p)
{
    for (uint32_t i = 0; i < p->main->body.n_args; i++) {
        const tn_value *v = &p->main->body.args[i];
        if (v->type->kind != TN_TYPE_TOKEN &&
            (v->type->kind != TN_TYPE_TENSOR || !tn_type_is_static(v->type))) {
            char text[256];
            return TN_ERROR(UNIMPLEMENTED, "parameter %u has type %s, which is not supported", i,
                            tn_type_format(v->type, text, sizeof text));
        }
        uint32_t root = p->root_of[v->id] = add_root(p, v, tn_type_bytes(v->type), 0);
        if (root == TN_NO_ROOT) continue;
        p->roots[root].place = p->aliases[i] < 0 ? TN_PLACE_PARAM : TN_PLACE_RESULT;
        p->roots[root].index = p->aliases[i] < 0 ? i : (uint32_t)p->aliases[i];
    }
    return NULL;
}

tn_status *tn_plan_flatten(tn_plan *p)
{
    p->root_of = TN_NEW_ARRAY(p->arena, uint32_t, p->module->n_values);
    for (uint32_t i = 0; i < p->module->n_values; i++) p->root_of[i] = TN_NO_ROOT;
    tn_plan_find_views(p);
    tn_cluster_begin(p->main, p->fuse, p->jit, p->arena, &p->clusters);
    tn_loop program = {.trips = 1};
    TN_PLAN_PUSH(p, p->loops, p->n_loops, p->loop_capacity, program);
    add_item(p, (tn_item){.kind = TN_ITEM_START});
    TN_TRY(flatten_params(p));
    TN_TRY(flatten_ops(p, &p->main->body, 0));

    const tn_op *ret = p->main->body.last;
    uint32_t *slots = p->result_roots = TN_NEW_ARRAY(p->arena, uint32_t, ret->n_operands);
    for (uint32_t i = 0; i < ret->n_operands; i++) {
        slots[i] = add_root(p, NULL, tn_type_bytes(ret->operands[i]->type), p->n_items);
        if (slots[i] == TN_NO_ROOT) continue;
        p->roots[slots[i]].place = TN_PLACE_RESULT;
        p->roots[slots[i]].index = i;
    }
    add_moves(p, 0, ret, slots, ret->operands, ret->n_operands);
    p->loops[0].last = add_item(p, (tn_item){.kind = TN_ITEM_END});
    return NULL;
}
