/* SPDX-License-Identifier: Apache-2.0 */
/* inline - calls, composites and computations that are only named become what they stand for.
 *
 * Before:  %1 = func.call @f(%0)        func @f(%a) { %2 = add %a, %a   return %2 }
 * After:   %2 = add %0, %0              use %2; @f is gone
 * Source:  StableHLO spec, composite: semantics are those of the decomposition; calls may not
 * recur.
 *
 * Functions that a custom call names stay. A body is moved to its last call and copied to the
 * others. */
#include <string.h>

#include "ir/functions.h"
#include "passes/call_sites.h"
#include "passes/passes.h"

/* Later stages walk regions by recursion, and every call may copy a body: both are bounded, so that
 * a small hostile program can't use up stack or memory. */
#define DEPTH_AT_MOST 200
#define OPS_AT_MOST   4000000

enum { UNSEEN, OPEN, DONE };

typedef struct {
    tn_op *op;
    uint32_t callee;
    uint32_t depth; /* of regions around it, in its function */
} call;

typedef struct {
    tn_function *f;
    call *calls;
    uint32_t n_calls, capacity;
    uint32_t n_ops, n_values, depth; /* with all that was inlined */
    uint32_t uses;                   /* calls left to inline */
    uint32_t state, next_call;
    bool is_root;
} node;

typedef struct {
    tn_module *m;
    node *nodes;
    uint32_t n_nodes;
    uint32_t *order, n_order;
    uint32_t *stack;
    uint64_t n_ops;
    bool changed;
    tn_call_sites *sites; /* NULL: nobody asks for places */
} inliner;

static void make_nodes(inliner *in)
{
    for (tn_function *f = in->m->functions; f; f = f->next) in->n_nodes++;
    in->nodes = TN_NEW_ARRAY(in->m->arena, node, in->n_nodes);
    in->order = TN_NEW_ARRAY(in->m->arena, uint32_t, in->n_nodes);
    in->stack = TN_NEW_ARRAY(in->m->arena, uint32_t, in->n_nodes);
    uint32_t i = 0;
    for (tn_function *f = in->m->functions; f; f = f->next, i++) {
        in->nodes[i].f = f;
        f->mark = i;
    }
}

static void add_call(inliner *in, node *n, call c)
{
    if (n->n_calls == n->capacity) {
        call *old = n->calls;
        n->capacity = n->capacity ? n->capacity * 2 : 8;
        n->calls = TN_NEW_ARRAY(in->m->arena, call, n->capacity);
        if (old) memcpy(n->calls, old, n->n_calls * sizeof *old);
    }
    n->calls[n->n_calls++] = c;
}

/* Functions that a custom call names are kept as functions. */
static void keep_called(inliner *in, const tn_op *op)
{
    const tn_attr *list = tn_op_attr(op, TN_ATTR_called_computations);
    if (!list || list->kind != TN_ATTR_KIND_LIST) return;
    for (uint32_t i = 0; i < list->list.n; i++) {
        const tn_attr *a = list->list.items[i];
        if (!a || a->kind != TN_ATTR_KIND_STRING) continue;
        const tn_function *f = tn_module_find(in->m, a->string.data);
        if (f) in->nodes[f->mark].is_root = true;
    }
}

static tn_status *find_calls(inliner *in, node *n, tn_region *r, uint32_t depth)
{
    if (depth > n->depth) n->depth = depth;
    n->n_values += r->n_args;
    for (tn_op *op = r->first; op; op = op->next) {
        n->n_ops++;
        n->n_values += op->n_results;
        if (op->n_regions && depth >= DEPTH_AT_MOST)
            return TN_OP_ERROR(UNIMPLEMENTED, op, "regions are nested more than %d deep",
                               DEPTH_AT_MOST);
        for (uint32_t i = 0; i < op->n_regions; i++)
            TN_TRY(find_calls(in, n, &op->regions[i], depth + 1));
        if (op->kind == TN_OP_custom_call) keep_called(in, op);
        if (op->kind != TN_OP_call && op->kind != TN_OP_composite) continue;
        const char *name =
            tn_op_string(op, op->kind == TN_OP_call ? TN_ATTR_callee : TN_ATTR_decomposition);
        const tn_function *callee = tn_module_find(in->m, name);
        if (!callee) return TN_OP_ERROR(INVALID_ARGUMENT, op, "there is no function @%s", name);
        add_call(in, n, (call){op, callee->mark, depth});
    }
    return NULL;
}

/* Puts what is reached from `root` into order, callees first, without recursion. */
static tn_status *visit(inliner *in, uint32_t root)
{
    if (in->nodes[root].state == DONE) return NULL;
    uint32_t *stack = in->stack, depth = 0;
    in->nodes[root].state = OPEN;
    TN_TRY(find_calls(in, &in->nodes[root], &in->nodes[root].f->body, 0));
    stack[depth++] = root;
    while (depth) {
        node *n = &in->nodes[stack[depth - 1]];
        if (n->next_call == n->n_calls) {
            n->state = DONE;
            in->order[in->n_order++] = stack[--depth];
            continue;
        }
        const call *c = &n->calls[n->next_call++];
        node *callee = &in->nodes[c->callee];
        callee->uses++;
        if (callee->state == OPEN)
            return TN_OP_ERROR(INVALID_ARGUMENT, c->op,
                               "function @%s calls itself, which StableHLO forbids",
                               callee->f->name);
        if (callee->state == DONE) continue;
        callee->state = OPEN;
        TN_TRY(find_calls(in, callee, &callee->f->body, 0));
        stack[depth++] = c->callee;
    }
    return NULL;
}

/* Links the ops of `r` but for its terminator in place of `op`, and lets its arguments and results
 * stand for operands and what the terminator returns. Their `region` is put right in the end. */
static void splice(tn_op *op, tn_region *r)
{
    for (uint32_t i = 0; i < r->n_args; i++) tn_value_replace(&r->args[i], op->operands[i]);
    for (uint32_t i = 0; i < op->n_results; i++)
        tn_value_replace(&op->results[i], r->last->operands[i]);
    tn_op *first = r->first, *last = r->last->prev;
    if (last) {
        first->prev = op->prev;
        if (op->prev) op->prev->next = first;
        else op->region->first = first;
        last->next = op;
        op->prev = last;
    }
    tn_op_remove(op);
}

static void copy_body(tn_module *m, const node *callee, tn_op *op)
{
    const tn_region *r = &callee->f->body;
    tn_value_map *map = tn_value_map_new(m->arena, callee->n_values);
    for (uint32_t i = 0; i < r->n_args; i++) tn_value_map_set(map, &r->args[i], op->operands[i]);
    for (const tn_op *o = r->first; o != r->last; o = o->next)
        tn_op_insert_before(op, tn_op_clone(m, o, map));
    for (uint32_t i = 0; i < op->n_results; i++) {
        tn_value *v = tn_value_resolve(r->last->operands[i]), *copy = tn_value_map_get(map, v);
        tn_value_replace(&op->results[i], copy ? copy : v);
    }
    tn_op_remove(op);
}

/* What stands for each other must have one type: everything behind relies on it. */
static tn_status *check_types(const tn_op *op, const tn_region *r, const char *what)
{
    if (r->n_args != op->n_operands || !r->last || r->last->n_operands != op->n_results)
        return TN_OP_ERROR(INVALID_ARGUMENT, op, "%u operands and %u results don't fit %s",
                           op->n_operands, op->n_results, what);
    char want[256], got[256];
    for (uint32_t i = 0; i < op->n_operands; i++)
        if (!tn_type_equal(op->operands[i]->type, r->args[i].type))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "operand %u is %s, but %s takes %s", i,
                               tn_type_format(op->operands[i]->type, got, sizeof got), what,
                               tn_type_format(r->args[i].type, want, sizeof want));
    for (uint32_t i = 0; i < op->n_results; i++)
        if (!tn_type_equal(op->results[i].type, r->last->operands[i]->type))
            return TN_OP_ERROR(INVALID_ARGUMENT, op, "result %u is %s, but %s gives %s", i,
                               tn_type_format(op->results[i].type, got, sizeof got), what,
                               tn_type_format(r->last->operands[i]->type, want, sizeof want));
    return NULL;
}

static tn_status *check_call(const inliner *in, const call *c, const node *caller,
                             const node *callee)
{
    TN_TRY(check_types(c->op, &callee->f->body, callee->f->name));
    if (c->depth + callee->depth > DEPTH_AT_MOST)
        return TN_OP_ERROR(UNIMPLEMENTED, c->op, "regions are nested more than %d deep by calls",
                           DEPTH_AT_MOST);
    if ((uint64_t)caller->n_ops + callee->n_ops > OPS_AT_MOST || in->n_ops > OPS_AT_MOST)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, c->op, "calls expand the program beyond %d ops",
                           OPS_AT_MOST);
    return NULL;
}

static tn_status *inline_calls(inliner *in, node *n)
{
    for (uint32_t i = 0; i < n->n_calls; i++) {
        const call *c = &n->calls[i];
        node *callee = &in->nodes[c->callee];
        TN_TRY(check_call(in, c, n, callee));
        callee->uses--;
        if (n->is_root) tn_call_sites_mark(in->sites, &callee->f->body, c->op->location);
        if (!callee->uses && !callee->is_root) {
            splice(c->op, &callee->f->body);
        } else {
            in->n_ops += callee->n_ops;
            copy_body(in->m, callee, c->op);
        }
        n->n_ops += callee->n_ops;
        n->n_values += callee->n_values;
        if (c->depth + callee->depth > n->depth) n->depth = c->depth + callee->depth;
        in->changed = true;
    }
    return NULL;
}

/* As tn_value_resolve, and lets every value on the way point to the end. */
static tn_value *resolve(tn_value *v)
{
    tn_value *end = tn_value_resolve(v);
    while (v->forward && v->forward != end) {
        tn_value *next = v->forward;
        v->forward = end;
        v = next;
    }
    return end;
}

/* Makes every op of `r` belong to it, resolves operands, and opens computations that are only
 * named. */
static tn_status *settle(inliner *in, tn_function *f, tn_region *r)
{
    r->function = f;
    for (tn_op *op = r->first, *next; op; op = next) {
        op->region = r;
        for (uint32_t i = 0; i < op->n_results; i++) op->results[i].region = r;
        for (uint32_t i = 0; i < op->n_operands; i++) op->operands[i] = resolve(op->operands[i]);
        /* Those of several devices are the partition pass's. */
        bool manual = op->kind == TN_OP_sdy_manual_computation && in->m->num_partitions == 1;
        if (op->kind == TN_OP_sdy_named_computation || manual) {
            TN_TRY(check_types(op, &op->regions[0], "its region"));
            tn_op *before = op->prev;
            splice(op, &op->regions[0]);
            next = before ? before->next : r->first;
            in->changed = true;
            continue;
        }
        for (uint32_t i = 0; i < op->n_regions; i++) TN_TRY(settle(in, f, &op->regions[i]));
        next = op->next;
    }
    return NULL;
}

tn_status *tn_pass_inline(tn_module *m, bool *changed)
{
    inliner in = {.m = m, .sites = tn_call_sites_new(m)};
    make_nodes(&in);
    for (uint32_t i = 0; i < in.n_nodes; i++)
        if (in.nodes[i].f == m->main) in.nodes[i].is_root = true;
    /* Visiting one function may find that others are called by custom calls. */
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < in.n_nodes; i++) {
            if (!in.nodes[i].is_root || in.nodes[i].state == DONE) continue;
            TN_TRY(visit(&in, i));
            more = true;
        }
    }
    for (uint32_t i = 0; i < in.n_order; i++) TN_TRY(inline_calls(&in, &in.nodes[in.order[i]]));

    tn_function **end = &m->functions;
    m->last_function = NULL;
    for (uint32_t i = 0; i < in.n_nodes; i++) {
        tn_function *f = in.nodes[i].f;
        if (!in.nodes[i].is_root) continue;
        TN_TRY(settle(&in, f, &f->body));
        *end = m->last_function = f;
        end = &f->next;
    }
    in.changed = in.changed || *end != NULL;
    *end = NULL;
    tn_module_index_functions(m);
    *changed = *changed || in.changed;
    return NULL;
}
