/* SPDX-License-Identifier: Apache-2.0 */
/* cse - one op for all that compute the same.
 *
 * Before:  %1 = add %0, %c   %2 = add %0, %c   use %1, %2
 * After:   %1 = add %0, %c                     use %1, %1
 * Not:     effects, random numbers, control flow, optimization barriers and custom calls; inside
 * the bodies of reductions and the like.
 *
 * An op of an enclosing region serves for those inside of it; what a region computed is forgotten
 * at its end. */
#include <string.h>

#include "passes/rewrite.h"

typedef struct entry {
    tn_op *op;
    uint64_t hash;
    struct entry *next;  /* in its bucket */
    struct entry *older; /* in order of entry */
} entry;

typedef struct {
    tn_arena *arena;
    entry **buckets;
    size_t mask;
    entry *newest, *unused;
    bool changed;
} table;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)data + i, size - i < 8 ? size - i : 8);
        h = mix(h, word);
    }
    return h;
}

/* Equal attributes hash alike; kinds that rarely tell ops apart all hash to their kind. */
static uint64_t hash_attr(uint64_t h, const tn_attr *a)
{
    if (!a) return mix(h, 1);
    switch (a->kind) {
    case TN_ATTR_KIND_BOOL: return mix(h, a->boolean + 2u);
    case TN_ATTR_KIND_INT: return mix(h, (uint64_t)a->integer);
    case TN_ATTR_KIND_INTS: return hash_bytes(h, a->ints.data, a->ints.n * sizeof *a->ints.data);
    case TN_ATTR_KIND_STRING: return hash_bytes(h, a->string.data, a->string.size);
    case TN_ATTR_KIND_TENSOR: return hash_bytes(h, a->tensor.data, a->tensor.size);
    case TN_ATTR_KIND_FLOAT:
    case TN_ATTR_KIND_BOOLS:
    case TN_ATTR_KIND_TYPE:
    case TN_ATTR_KIND_LIST:
    case TN_ATTR_KIND_DICT:
    case TN_ATTR_KIND_UNIT: break;
    }
    return mix(h, (uint64_t)a->kind);
}

static uint64_t hash_type(uint64_t h, const tn_type *t)
{
    return t->kind == TN_TYPE_TENSOR
               ? hash_bytes(mix(h, t->element), t->dims, t->rank * sizeof *t->dims)
               : mix(h, t->kind);
}

static uint64_t hash_op(const tn_op *op)
{
    uint64_t h = mix(op->kind, op->n_operands);
    uint64_t sum = 0;
    bool commutes = tn_op_has_trait(op, TN_TRAIT_COMMUTATIVE);
    for (uint32_t i = 0; i < op->n_operands; i++) {
        if (commutes) sum += mix(7, (uintptr_t)op->operands[i]);
        else h = mix(h, (uintptr_t)op->operands[i]);
    }
    h = mix(h, sum);
    for (uint32_t i = 0; i < op->n_attrs; i++) h = hash_attr(h, op->attrs[i]);
    for (uint32_t i = 0; i < op->n_results; i++) h = hash_type(h, op->results[i].type);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) h = mix(h, o->kind);
    return h;
}

static bool same_operands(const tn_op *x, const tn_op *y)
{
    if (x->n_operands != y->n_operands) return false;
    if (tn_op_has_trait(x, TN_TRAIT_COMMUTATIVE) && x->operands[0] == y->operands[1] &&
        x->operands[1] == y->operands[0])
        return true;
    return !x->n_operands || !memcmp(x->operands, y->operands, x->n_operands * sizeof *x->operands);
}

static bool same_outside(const tn_op *x, const tn_op *y)
{
    if (x->kind != y->kind || x->n_results != y->n_results || x->n_regions != y->n_regions)
        return false;
    for (uint32_t i = 0; i < x->n_results; i++)
        if (!tn_type_equal(x->results[i].type, y->results[i].type)) return false;
    for (uint32_t i = 0; i < x->n_attrs; i++)
        if (!tn_attr_equal(x->attrs[i], y->attrs[i])) return false;
    return true;
}

/* Bodies of plain ops, compared op by op; `id` of a value is its number in its body. */
static bool same_body(const tn_region *x, const tn_region *y)
{
    uint32_t n = 0;
    if (x->n_args != y->n_args) return false;
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!tn_type_equal(x->args[i].type, y->args[i].type)) return false;
        x->args[i].id = y->args[i].id = n++;
    }
    const tn_op *a = x->first, *b = y->first;
    for (; a && b; a = a->next, b = b->next) {
        if (a->n_regions || !same_outside(a, b) || a->n_operands != b->n_operands) return false;
        for (uint32_t i = 0; i < a->n_operands; i++) {
            const tn_value *v = tn_value_resolve(a->operands[i]),
                           *w = tn_value_resolve(b->operands[i]);
            bool inside = v->region == x && w->region == y && v->id == w->id;
            if (v != w && !inside) return false;
        }
        for (uint32_t i = 0; i < a->n_results; i++) a->results[i].id = b->results[i].id = n++;
    }
    return a == b;
}

static bool same(const tn_op *x, const tn_op *y)
{
    if (!same_outside(x, y) || !same_operands(x, y)) return false;
    for (uint32_t i = 0; i < x->n_regions; i++)
        if (!same_body(&x->regions[i], &y->regions[i])) return false;
    return true;
}

static bool is_candidate(const tn_op *op)
{
    if (!op->n_results || tn_op_has_effect(op)) return false;
    if (tn_op_has_trait(op, TN_TRAIT_CONTROL | TN_TRAIT_TERMINATOR | TN_TRAIT_SYMBOL)) return false;
    switch (op->kind) {
    case TN_OP_custom_call:
    case TN_OP_optimization_barrier:
    case TN_OP_rng:
    case TN_OP_after_all: return false;
    default: return true;
    }
}

static void add(table *t, tn_op *op, uint64_t hash)
{
    entry *e = t->unused;
    if (e) t->unused = e->older;
    else e = TN_NEW(t->arena, entry);
    *e = (entry){op, hash, t->buckets[hash & t->mask], t->newest};
    t->buckets[hash & t->mask] = t->newest = e;
}

static void forget(table *t, entry *down_to)
{
    while (t->newest != down_to) {
        entry *e = t->newest;
        t->newest = e->older;
        t->buckets[e->hash & t->mask] = e->next;
        e->older = t->unused;
        t->unused = e;
    }
}

static void merge(table *t, tn_op *op)
{
    uint64_t hash = hash_op(op);
    for (entry *e = t->buckets[hash & t->mask]; e; e = e->next) {
        if (e->hash != hash || !same(e->op, op)) continue;
        for (uint32_t i = 0; i < op->n_results; i++)
            tn_value_replace(&op->results[i], &e->op->results[i]);
        tn_op_remove(op);
        t->changed = true;
        return;
    }
    add(t, op, hash);
}

static void walk(table *t, tn_region *r, bool is_body)
{
    entry *outside = t->newest;
    for (tn_op *op = r->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->n_operands; i++)
            op->operands[i] = tn_value_resolve(op->operands[i]);
        bool control = tn_op_has_trait(op, TN_TRAIT_CONTROL);
        for (uint32_t i = 0; i < op->n_regions; i++) walk(t, &op->regions[i], is_body || !control);
        if (!is_body && is_candidate(op)) merge(t, op);
    }
    forget(t, outside);
}

tn_status *tn_pass_cse(tn_module *m, bool *changed)
{
    tn_module_number(m); /* for the number of values */
    table t = {.arena = m->arena, .mask = 64};
    while (t.mask < m->n_values) t.mask *= 2;
    t.buckets = TN_NEW_ARRAY(m->arena, entry *, t.mask);
    t.mask--;
    for (tn_function *f = m->functions; f; f = f->next) walk(&t, &f->body, false);
    *changed = *changed || t.changed;
    return NULL;
}
