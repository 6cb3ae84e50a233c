/* SPDX-License-Identifier: Apache-2.0 */
/* threefry - loops that compute Threefry-2x32 become one op.
 *
 * Before:  %x0 = add %c0, %k0   %x1 = add %c1, %k1
 *          %r:n = while(..., %x0, %x1, %k1, %k2, %k0, ...) { five times four rounds }
 *          %bits = xor %r#2, %r#3
 * After:   %bits = tenon.threefry2x32 %k0, %k1[, %c0, %c1]
 * Counters that are the upper and lower halves of the elements' numbers are left out. Bits of one
 * key for fewer than 2^32 elements are elementwise: tenon.threefry_bits %k0, %k1, iota.
 *
 * This is how JAX lowers jax.random on CPUs. It is recognised by what it computes: the loop is run
 * on expressions, and those that it ends with are compared with Threefry's on the same start. */
#include <string.h>

#include "passes/rewrite.h"

/* --- expressions: numbers in a table in which equal ones are one --- */

typedef enum { NONE, NUMBER, TABLE, LEAF, ADD, SUB, XOR, OR, SHL, SHR } kind;

typedef struct {
    kind kind;
    uint32_t a, b;
    const void *leaf; /* a value, or the constant of TABLE */
} node;

#define NODES 16384
typedef struct {
    node *nodes; /* [NODES]: open addressing; 0 is no expression */
    uint32_t n;
} expressions;

static uint32_t intern(expressions *e, node x)
{
    uint64_t h = ((uint64_t)x.kind * 0x9E3779B97F4A7C15u + x.a) * 0xBF58476D1CE4E5B9u + x.b;
    h = (h ^ (uintptr_t)x.leaf) * 0x94D049BB133111EBu;
    for (uint32_t i = (uint32_t)(h >> 40) % NODES;; i = (i + 1) % NODES) {
        node *n = &e->nodes[i];
        if (i == 0) continue;
        if (n->kind == NONE) {
            if (e->n++ > NODES / 2) return 0;
            *n = x;
            return i;
        }
        if (n->kind == x.kind && n->a == x.a && n->b == x.b && n->leaf == x.leaf) return i;
    }
}

static uint32_t number(expressions *e, uint32_t v)
{
    return intern(e, (node){.kind = NUMBER, .a = v});
}

static uint32_t apply(expressions *e, kind k, uint32_t a, uint32_t b)
{
    if (!a || !b) return 0;
    node x = e->nodes[a], y = e->nodes[b];
    if (x.kind == TABLE || y.kind == TABLE) return 0;
    if (x.kind == NUMBER && y.kind == NUMBER) {
        switch (k) {
        case ADD: return number(e, x.a + y.a);
        case SUB: return number(e, x.a - y.a);
        case XOR: return number(e, x.a ^ y.a);
        case OR: return number(e, x.a | y.a);
        case SHL: return number(e, y.a < 32 ? x.a << y.a : 0);
        default: return number(e, y.a < 32 ? x.a >> y.a : 0);
        }
    }
    bool x_zero = x.kind == NUMBER && !x.a, y_zero = y.kind == NUMBER && !y.a;
    if (y_zero) return a;
    if (x_zero && (k == ADD || k == XOR || k == OR)) return b;
    if ((k == ADD || k == XOR || k == OR) && a > b) {
        uint32_t t = a;
        a = b;
        b = t;
    }
    return intern(e, (node){.kind = k, .a = a, .b = b});
}

static bool is_word(const tn_type *t)
{
    return t->element == TN_U32 || t->element == TN_I32;
}

static kind kind_of(tn_op_kind k)
{
    switch ((int)k) {
    case TN_OP_add: return ADD;
    case TN_OP_subtract: return SUB;
    case TN_OP_xor: return XOR;
    case TN_OP_or: return OR;
    case TN_OP_shift_left: return SHL;
    case TN_OP_shift_right_logical: return SHR;
    default: return NONE;
    }
}

static uint32_t constant(expressions *e, const tn_literal *l)
{
    if (!is_word(l->type)) return 0;
    uint32_t v;
    if (l->splat || l->size == 4) {
        memcpy(&v, l->data, 4);
        return number(e, v);
    }
    return intern(e, (node){.kind = TABLE, .leaf = l});
}

/* Does it repeat along dimensions of size 1 alone? All that is added has one shape, so an element
 * is then of one place of the operand, and stands for itself. */
static bool only_repeats(const tn_op *op)
{
    const tn_type *from = op->operands[0]->type, *to = op->results[0].type;
    uint32_t n;
    const int64_t *dims = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
    bool same = from->rank == to->rank && tn_type_is_static(from) && tn_type_is_static(to);
    for (uint32_t d = 0; d < from->rank && same; d++) same = dims[d] == d;
    return same;
}

/* What `v` is outside of the loop; a leaf where it is more than a few additions. */
static uint32_t outside(expressions *e, const tn_value *v, int depth)
{
    const tn_op *op = v->op;
    const tn_literal *l = tn_constant_of(v);
    uint32_t x = 0;
    if (l) return constant(e, l);
    if (op && depth && is_word(v->type)) {
        kind k = kind_of(op->kind);
        if (k && op->n_operands == 2)
            x = apply(e, k, outside(e, op->operands[0], depth - 1),
                      outside(e, op->operands[1], depth - 1));
        else if (op->kind == TN_OP_broadcast_in_dim &&
                 (!op->operands[0]->type->rank || only_repeats(op)))
            x = outside(e, op->operands[0], depth - 1);
    }
    return x ? x : intern(e, (node){.kind = LEAF, .leaf = v});
}

/* --- the loop on expressions --- */

typedef struct {
    expressions *e;
    const tn_region *region;
    const uint32_t *args;
    uint32_t *results; /* [ops of the region]; an op's place is its mark */
} frame;

static uint32_t inside(const frame *f, const tn_value *v)
{
    v = tn_value_resolve((tn_value *)v);
    if (v->region != f->region) return outside(f->e, v, 0);
    return v->op ? f->results[v->op->mark] : f->args[v->index];
}

static uint32_t slice_table(expressions *e, const tn_op *op, uint32_t table)
{
    uint32_t n;
    if (!table || e->nodes[table].kind != TABLE || op->results[0].type->rank != 1) return 0;
    const tn_literal *l = e->nodes[table].leaf;
    int64_t start = tn_op_ints(op, TN_ATTR_start_indices, &n)[0];
    uint32_t v;
    if (op->results[0].type->dims[0] != 1) return 0;
    memcpy(&v, (const char *)l->data + 4 * start, 4);
    return number(e, v);
}

static bool run_region(const frame *f)
{
    uint32_t at = 0;
    for (tn_op *op = f->region->first; op != f->region->last; op = op->next) {
        op->mark = at++;
        uint32_t x = 0, a = op->n_operands ? inside(f, op->operands[0]) : 0;
        kind k = kind_of(op->kind);
        const tn_type *t = op->results[0].type;
        if (op->n_results != 1 || op->n_regions) return false;
        if (k) {
            if (!is_word(t)) return false;
            x = apply(f->e, k, a, inside(f, op->operands[1]));
        } else if (op->kind == TN_OP_constant) {
            x = outside(f->e, &op->results[0], 0);
        } else if (op->kind == TN_OP_slice) {
            x = slice_table(f->e, op, a);
        } else if (op->kind == TN_OP_convert) {
            if (is_word(t) && is_word(op->operands[0]->type)) x = a;
        } else if (op->kind == TN_OP_reshape) {
            if (tn_type_is_static(t) && tn_type_elements(t) == 1) x = a;
        } else if (op->kind == TN_OP_broadcast_in_dim) {
            const tn_type *from = op->operands[0]->type;
            if ((tn_type_is_static(from) && tn_type_elements(from) == 1) || only_repeats(op)) x = a;
        } else if (op->kind == TN_OP_compare) {
            const node *p = &f->e->nodes[a], *q = &f->e->nodes[inside(f, op->operands[1])];
            if (p->kind != NUMBER || q->kind != NUMBER ||
                op->operands[0]->type->element != TN_I32 ||
                tn_op_int(op, TN_ATTR_comparison_direction, -1) != TN_comparison_direction_LT)
                return false;
            x = number(f->e, (int32_t)p->a < (int32_t)q->a);
        }
        if (!x) return false;
        f->results[op->mark] = x;
    }
    return true;
}

static uint32_t count_ops(const tn_region *r)
{
    uint32_t n = 0;
    for (const tn_op *op = r->first; op; op = op->next) n++;
    return n;
}

/* The carried values after the last iteration, from those before the first. */
static bool run_loop(tn_module *m, expressions *e, const tn_op *loop, uint32_t *carried)
{
    const tn_region *cond = &loop->regions[0], *body = &loop->regions[1];
    uint32_t n_cond = count_ops(cond), n_body = count_ops(body), n = loop->n_results;
    if (n_cond > 4 || n_body > 100) return false;
    uint32_t *results = TN_NEW_ARRAY(m->arena, uint32_t, n_body + n_cond);
    uint32_t *next = TN_NEW_ARRAY(m->arena, uint32_t, n);
    for (int trip = 0; trip <= 5; trip++) {
        frame f = {e, cond, carried, results};
        if (!run_region(&f)) return false;
        const node *more = &e->nodes[inside(&f, cond->last->operands[0])];
        if (more->kind != NUMBER || more->a != (trip < 5)) return false;
        if (trip == 5) return true;
        f.region = body;
        if (!run_region(&f)) return false;
        for (uint32_t i = 0; i < n; i++)
            if (!(next[i] = inside(&f, body->last->operands[i]))) return false;
        memcpy(carried, next, n * sizeof *next);
    }
    return false;
}

/* Both words of the block with this key and counter. */
static void encrypt(expressions *e, const uint32_t *key, const uint32_t *counter, uint32_t *x)
{
    static const uint32_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t keys[3] = {key[0], key[1],
                        apply(e, XOR, apply(e, XOR, key[0], key[1]), number(e, 0x1BD11BDA))};
    x[0] = apply(e, ADD, counter[0], key[0]);
    x[1] = apply(e, ADD, counter[1], key[1]);
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            uint32_t n = rotations[round & 1][i];
            x[0] = apply(e, ADD, x[0], x[1]);
            uint32_t high = apply(e, SHL, x[1], number(e, n));
            uint32_t low = apply(e, SHR, x[1], number(e, 32 - n));
            x[1] = apply(e, XOR, x[0], apply(e, OR, high, low));
        }
        x[0] = apply(e, ADD, x[0], keys[(round + 1) % 3]);
        x[1] = apply(e, ADD, apply(e, ADD, x[1], keys[(round + 2) % 3]), number(e, round + 1));
    }
}

/* --- what the loop starts with --- */

/* `start` as the sum of a word of the counter and one of the key; NULL is 0. */
typedef struct {
    tn_value *counter, *key;
} sum;

static uint32_t sums_of(tn_value *start, sum *out)
{
    uint32_t n = 0;
    const tn_op *op = start->op;
    if (op && op->kind == TN_OP_add) {
        out[n++] = (sum){op->operands[0], op->operands[1]};
        out[n++] = (sum){op->operands[1], op->operands[0]};
    }
    out[n++] = (sum){start, NULL};
    out[n++] = (sum){NULL, start};
    return n;
}

static uint32_t term(expressions *e, const tn_value *v)
{
    return v ? outside(e, v, 3) : number(e, 0);
}

/* A word of the key as an operand: a scalar where it is one. */
static tn_value *key_operand(tn_module *m, tn_op *where, tn_value *v)
{
    int64_t number = 0;
    if (!v || tn_constant_integer(v, &number)) {
        const tn_type *scalar = tn_type_tensor(m->arena, TN_U32, 0, NULL);
        return tn_rewrite_splat(m, where, scalar, number);
    }
    if (v->op && v->op->kind == TN_OP_broadcast_in_dim && !v->op->operands[0]->type->rank)
        return v->op->operands[0];
    return v;
}

/* A scalar spread out, where the other word of the key isn't one. */
static tn_value *spread(tn_module *m, tn_op *where, tn_value *v, const tn_type *t)
{
    if (v->type->rank) return v;
    tn_op *op = tn_rewrite_op(m, where, TN_OP_broadcast_in_dim, t, 1, &v);
    tn_rewrite_ints(m, op, TN_ATTR_broadcast_dimensions, NULL, 0);
    return &op->results[0];
}

/* --- counters --- */

/* Adds the coefficients of the element's place in each dimension to steps[rank]. */
static bool add_places(const tn_value *v, int64_t by, int64_t *steps, int depth)
{
    const tn_op *op = v->op;
    int64_t c;
    if (!op || !depth) return false;
    if (op->kind == TN_OP_iota) {
        steps[tn_op_int(op, TN_ATTR_iota_dimension, 0)] += by;
        return true;
    }
    if (tn_constant_integer(v, &c)) return c == 0;
    if (op->kind == TN_OP_add)
        return add_places(op->operands[0], by, steps, depth - 1) &&
               add_places(op->operands[1], by, steps, depth - 1);
    if (op->kind == TN_OP_broadcast_in_dim) {
        uint32_t n;
        const int64_t *map = tn_op_ints(op, TN_ATTR_broadcast_dimensions, &n);
        const tn_op *iota = op->operands[0]->op;
        if (n != 1 || !iota || iota->kind != TN_OP_iota ||
            iota->results[0].type->dims[0] != v->type->dims[map[0]])
            return false;
        steps[map[0]] += by;
        return true;
    }
    if (op->kind != TN_OP_multiply) return false;
    int side = tn_constant_integer(op->operands[0], &c) ? 1 : 0;
    if (!side && !tn_constant_integer(op->operands[1], &c)) return false;
    return c >= 0 && c < (int64_t)1 << 40 && by < (int64_t)1 << 20 &&
           add_places(op->operands[side], by * c, steps, depth - 1);
}

/* Is element i of `v`, of 64 bits, i? */
static bool counts_elements(const tn_value *v)
{
    enum { RANK = 8 };
    int64_t steps[RANK] = {0}, step = 1;
    const tn_type *t = v->type;
    if (t->element != TN_U64 || t->rank > RANK) return false;
    if (!add_places(v, 1, steps, 8)) return false;
    for (uint32_t i = t->rank; i--; step *= t->dims[i])
        if (t->dims[i] != 1 && steps[i] != step) return false;
    return true;
}

static const tn_value *converted(const tn_value *v)
{
    return v && v->op && v->op->kind == TN_OP_convert ? v->op->operands[0] : NULL;
}

static bool are_halves(const tn_value *high, const tn_value *low)
{
    int64_t n;
    const tn_value *shifted = converted(high), *whole = converted(low);
    if (!shifted || !whole || !shifted->op || shifted->op->kind != TN_OP_shift_right_logical)
        return false;
    return shifted->op->operands[0] == whole && tn_constant_integer(shifted->op->operands[1], &n) &&
           n == 32 && counts_elements(whole);
}

/* --- */

static tn_value *counter_operand(tn_module *m, tn_op *where, tn_value *v, const tn_type *t)
{
    return v ? v : tn_rewrite_splat(m, where, t, 0);
}

static void replace(tn_module *m, tn_op *loop, const uint32_t *words, sum s0, sum s1)
{
    const tn_type *t = loop->results[words[0]].type;
    bool counted = are_halves(s0.counter, s1.counter);
    tn_op *op = tn_op_new(m, TN_OP_threefry2x32, counted ? 2 : 4, 2, 0);
    op->location = loop->location;
    tn_value *k0 = key_operand(m, loop, s0.key), *k1 = key_operand(m, loop, s1.key);
    if (k0->type->rank || k1->type->rank) {
        k0 = spread(m, loop, k0, t);
        k1 = spread(m, loop, k1, t);
    }
    op->operands[0] = k0;
    op->operands[1] = k1;
    if (!counted) {
        op->operands[2] = counter_operand(m, loop, s0.counter, t);
        op->operands[3] = counter_operand(m, loop, s1.counter, t);
    }
    for (uint32_t i = 0; i < 2; i++) op->results[i].type = t;
    tn_op_insert_before(loop, op);
    for (uint32_t i = 0; i < 2; i++) tn_value_replace(&loop->results[words[i]], &op->results[i]);
}

/* Carried arrays of words that the loop changes. */
static uint32_t find_words(const tn_op *loop, const uint32_t *before, const uint32_t *after,
                           uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loop->n_results; i++) {
        const tn_type *t = loop->results[i].type;
        if (t->element != TN_U32 || !t->rank || !tn_type_is_static(t)) continue;
        bool kept = false;
        for (uint32_t k = 0; k < loop->n_results; k++) kept = kept || after[i] == before[k];
        if (kept) continue;
        if (n == 2) return 0;
        out[n++] = i;
    }
    return n == 2 && tn_type_equal(loop->results[out[0]].type, loop->results[out[1]].type) ? 2 : 0;
}

static bool may_be_threefry(const tn_op *op)
{
    if (op->kind != TN_OP_while || op->n_results < 4 || op->n_results > 12) return false;
    uint32_t words = 0;
    for (uint32_t i = 0; i < op->n_results; i++)
        words += op->results[i].type->element == TN_U32 && op->results[i].type->rank > 0;
    return words >= 2;
}

static void rewrite_loop(tn_module *m, tn_op *loop, bool *changed)
{
    expressions e = {.nodes = TN_NEW_ARRAY(m->arena, node, NODES)};
    uint32_t n = loop->n_results, words[2];
    uint32_t *before = TN_NEW_ARRAY(m->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) before[i] = outside(&e, loop->operands[i], 4);
    uint32_t *after = tn_dup(m->arena, before, n * sizeof *before);
    if (!run_loop(m, &e, loop, after) || !find_words(loop, before, after, words)) return;
    for (int swapped = 0; swapped < 2; swapped++) {
        uint32_t w[2] = {words[swapped], words[!swapped]};
        sum s0[4], s1[4];
        uint32_t n0 = sums_of(loop->operands[w[0]], s0), n1 = sums_of(loop->operands[w[1]], s1);
        for (uint32_t i = 0; i < n0; i++)
            for (uint32_t k = 0; k < n1; k++) {
                uint32_t key[2] = {term(&e, s0[i].key), term(&e, s1[k].key)}, x[2];
                uint32_t counter[2] = {term(&e, s0[i].counter), term(&e, s1[k].counter)};
                encrypt(&e, key, counter, x);
                if (!x[0] || x[0] != after[w[0]] || x[1] != after[w[1]]) continue;
                replace(m, loop, w, s0[i], s1[k]);
                *changed = true;
                return;
            }
    }
}

/* The numbers of the elements of `t`. */
static tn_value *numbers(tn_module *m, tn_op *where, const tn_type *t)
{
    int64_t n = tn_type_elements(t);
    const tn_type *line = tn_type_tensor(m->arena, TN_U32, 1, &n);
    tn_op *op = tn_rewrite_op(m, where, TN_OP_iota, line, 0, NULL);
    tn_op_set_attr(m, op, TN_ATTR_iota_dimension, tn_attr_int(m->arena, 0));
    tn_value *v = &op->results[0];
    return t->rank == 1 ? v : &tn_rewrite_op(m, where, TN_OP_reshape, t, 1, &v)->results[0];
}

static tn_status *rewrite(tn_module *m, tn_op *op, bool *changed)
{
    if (may_be_threefry(op)) rewrite_loop(m, op, changed);
    if (op->kind != TN_OP_xor) return NULL;
    const tn_op *words = op->operands[0]->op;
    if (!words || words->kind != TN_OP_threefry2x32 || words->n_results != 2 ||
        op->operands[1]->op != words || op->operands[0] == op->operands[1])
        return NULL;
    const tn_type *t = op->results[0].type;
    tn_value *const *in = words->operands;
    bool plain = words->n_operands == 2 && !in[0]->type->rank && tn_type_elements(t) >> 32 == 0;
    tn_op *bits = plain ? tn_rewrite_op(m, op, TN_OP_threefry_bits, t, 3,
                                        (tn_value *[]){in[0], in[1], numbers(m, op, t)})
                        : tn_rewrite_op(m, op, TN_OP_threefry2x32, t, words->n_operands, in);
    tn_rewrite_by(op, &bits->results[0]);
    *changed = true;
    return NULL;
}

tn_status *tn_pass_threefry(tn_module *m, bool *changed)
{
    return tn_rewrite(m, rewrite, changed);
}
