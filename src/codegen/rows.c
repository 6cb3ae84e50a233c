/* SPDX-License-Identifier: Apache-2.0 */
/* Which clusters run together as rows. */
#include "codegen/rows_members.h"

#include <string.h>

#include "ops/dot.h"
#include "ops/elementwise.h"
#include "passes/rewrite.h"

enum {
    LEAST_ROWS = 16,        /* of a product */
    PACKED_BYTES = 2 << 20, /* a larger right operand wants twice as many rows as it has itself */
    MOST_PACKED = 32 << 20,
    STEPS = TN_ROWS_STEPS,
    WINDOW = 12,        /* clusters in a row that a group looks past */
    LEAST_SHARE = 2048, /* of elements: fewer are folded faster than a group begins */
    ALONE_ROWS = 256,   /* of a reduction that is a group by itself; at least, */
    ALONE_COLUMNS = 24, /* and at most, */
    ALONE_KEYS = 64     /* where its fold makes keys */
};
/* A smaller result, or left operand that a member makes, is still in the cache when it is wanted,
 * and a product of all rows at once does better. */
#define LEAST_BYTES (8 << 20)

/* --- who reads what --- */

static void note_read(tn_rows_finder *f, const tn_value *v, uint32_t at)
{
    v = tn_cluster_source(v);
    f->last_read[v->id] = at + 1;
    if (v->op && v->op->kind == TN_OP_broadcast_in_dim) note_read(f, v->op->operands[0], at);
}

static void note_reads(tn_rows_finder *f, const tn_op *op, uint32_t at)
{
    for (uint32_t i = 0; i < op->n_operands; i++) note_read(f, op->operands[i], at);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) note_reads(f, o, at);
}

static void note_all(tn_rows_finder *f, const tn_region *r)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const tn_cluster *k = &f->list[i];
        if (k->tile) {
            for (uint32_t j = 0; j < k->tile->n_inputs; j++)
                note_read(f, k->tile->inputs[j].value, i);
            for (uint32_t j = 0; j < k->tile->n_outputs; j++)
                f->made[k->tile->outputs[j].value->id] = i + 1;
            continue;
        }
        if (!tn_is_relabelling(k->op)) note_reads(f, k->op, i);
        for (uint32_t j = 0; j < k->op->n_results; j++) f->made[k->op->results[j].id] = i + 1;
    }
    for (uint32_t i = 0; i < r->last->n_operands; i++) note_read(f, r->last->operands[i], f->n);
}

/* --- what groups are made of --- */

static tn_op_kind body_of(const tn_op *op)
{
    const tn_op *body = tn_op_of_body(&op->regions[0]);
    return body ? body->kind : TN_OP_INVALID;
}

bool tn_rows_find_lines(const tn_op *op, tn_lines *out)
{
    return op && op->kind == TN_OP_reduce && op->n_operands == 2 &&
           tn_lines_find(op, body_of(op), out) && !out->wide;
}

static bool find_space(const tn_op *op, tn_rows_space *s)
{
    if (!tn_rows_find_lines(op, &s->lines)) return false;
    s->whole = tn_lines_are_whole_rows(&s->lines);
    /* A single row is a share. */
    if (s->whole && s->lines.outer == 1 && s->lines.length >= LEAST_SHARE) s->whole = false;
    s->rows = s->lines.outer * (s->whole ? 1 : s->lines.length * s->lines.inner);
    return s->rows > 1;
}

static bool is_of_space(const tn_lines *l, const tn_rows_space *s)
{
    if (s->whole) return tn_lines_are_whole_rows(l) && l->outer == s->rows;
    return l->outer == s->lines.outer && l->length == s->lines.length &&
           l->inner == s->lines.inner && l->share == s->lines.share;
}

static bool is_along_rows(const tn_access_map *m, int64_t rows, int64_t per_row)
{
    if (m->n_cuts) return false;
    if (per_row == 1) return m->n_dims == 1 && m->size[0] == rows && m->step[0] == 1;
    return m->n_dims == 2 && m->size[0] == rows && m->step[0] == 1 && m->size[1] == per_row &&
           m->step[1] == 0;
}

/* Does tile program `t` read input `port`, which a block makes, only where the same block made it?
 */
static bool reads_by_rows(const tn_tile_program *t, uint32_t port, int64_t rows)
{
    const tn_tile_port *in = &t->inputs[port];
    if (in->is_linear) return true;
    uint32_t base = TN_TILE_FIRST_PORT + port;
    if (tn_type_elements(in->value->type) != rows) return false;
    for (uint32_t i = 0; i < t->n_fills; i++)
        if (t->fills[i].from.base == base) return false;
    for (uint32_t i = 0; i < t->n_ops; i++) {
        const tn_tile_op *op = &t->ops[i];
        for (uint32_t k = 0; k < op->n_ports; k++) {
            const tn_tile_place *p = &op->places[k];
            bool by_row = t->row == t->n / rows && p->step == 0 && p->row_step == in->bytes;
            if (p->base == base && !by_row) return false;
        }
        if (op->code) continue;
        if (op->kernel.run) {
            for (uint32_t k = 0; k < op->kernel.n_operands; k++)
                if (op->in[k].base == base) return false;
        } else if (!op->ramp && op->in[0].base == base &&
                   !is_along_rows(op->map, rows, t->n / rows)) {
            return false;
        }
    }
    return true;
}

static int64_t product_rows(const tn_gemm *g)
{
    int64_t rows = g->m;
    for (uint32_t d = 0; d < g->batch_rank; d++) rows *= g->batch[d];
    return rows;
}

/* Do rows of `n` elements follow each other, through all of the batch? */
static bool are_dense(const tn_gemm *g, int64_t row, int64_t n, const int64_t *batch)
{
    int64_t step = g->m * n;
    if (row != n) return false;
    for (uint32_t d = g->batch_rank; d-- > 0; step *= g->batch[d])
        if (batch[d] != step) return false;
    return true;
}

/* A product whose rows are rows of the result, one after the other. */
static const tn_gemm *row_product(const tn_rows_finder *f, const tn_op *op)
{
    if (op->kind != TN_OP_dot_general && op->kind != TN_OP_dot) return NULL;
    tn_gemm *g = TN_NEW(f->c->arena, tn_gemm);
    if (!tn_dot_gemm(op, f->c->arena, g) || !tn_gemm_rows_fit(g)) return NULL;
    if (g->m < LEAST_ROWS || !are_dense(g, g->c_row, g->n, g->c_batch)) return NULL;
    int64_t longest = g->n > g->k ? g->n : g->k;
    if (product_rows(g) * longest * tn_element_type_bytes(g->c_type) < LEAST_BYTES) return NULL;
    size_t packed = tn_gemm_rows_packed_bytes(g);
    if (packed > MOST_PACKED || (packed > PACKED_BYTES && g->m < 2 * g->k)) return NULL;
    return g;
}

/* --- who makes what is read --- */

/* 1 + the cluster that makes input i; 0: it is from outside. */
uint32_t tn_rows_maker(const tn_rows_finder *f, const tn_cluster *k, uint32_t i)
{
    const tn_value *v = k->tile ? k->tile->inputs[i].value : k->op->operands[i];
    for (;;) {
        v = tn_cluster_source(v);
        if (f->made[v->id] || !v->op || v->op->kind != TN_OP_broadcast_in_dim)
            return f->made[v->id];
        v = v->op->operands[0];
    }
}

static tn_rows_role maker_role(const tn_rows_finder *f, const tn_cluster *k, uint32_t i)
{
    uint32_t by = tn_rows_maker(f, k, i);
    return by ? f->roles[by - 1] : TN_ROWS_UNDECIDED;
}

static bool reads(const tn_rows_finder *f, const tn_cluster *k, tn_rows_role what)
{
    for (uint32_t i = 0; i < tn_rows_n_inputs(k); i++)
        if (maker_role(f, k, i) == what) return true;
    return false;
}

/* --- what can be part of a group --- */

/* Is `k` of space `s`, and does it read what members make by rows? */
static bool reads_members_by_rows(const tn_rows_finder *f, const tn_cluster *k,
                                  const tn_rows_space *s)
{
    uint32_t at = (uint32_t)(k - f->list);
    if (k->tile) {
        const tn_tile_program *t = k->tile;
        if (t->joins) return false;
        if (s->whole ? t->n % s->rows != 0 : t->n != s->rows) return false;
        if (t->n_inputs + t->n_outputs > TN_ROWS_PORTS) return false;
        for (uint32_t i = 0; i < t->n_inputs; i++) {
            if (maker_role(f, k, i) != TN_ROWS_MEMBER) continue;
            /* What lines come to is known behind the last of them. */
            if (!s->whole && !f->list[tn_rows_maker(f, k, i) - 1].tile) return false;
            if (!reads_by_rows(t, i, s->rows)) return false;
        }
        return true;
    }
    if (f->products[at]) {
        const tn_gemm *g = f->products[at];
        if (!s->whole || product_rows(g) != s->rows || maker_role(f, k, 1) == TN_ROWS_MEMBER)
            return false;
        return maker_role(f, k, 0) != TN_ROWS_MEMBER ||
               (g->a_col == 1 && are_dense(g, g->a_row, g->k, g->a_batch));
    }
    tn_lines l;
    return tn_rows_find_lines(k->op, &l) && is_of_space(&l, s) &&
           maker_role(f, k, 1) != TN_ROWS_MEMBER;
}

/* Does it read what a member makes, or the other way round? */
static bool meets_members(const tn_rows_finder *f, uint32_t at, uint32_t end)
{
    if (reads(f, &f->list[at], TN_ROWS_MEMBER)) return true;
    for (uint32_t k = at + 1; k < end; k++) {
        if (f->roles[k] != TN_ROWS_MEMBER) continue;
        for (uint32_t i = 0; i < tn_rows_n_inputs(&f->list[k]); i++)
            if (tn_rows_maker(f, &f->list[k], i) == at + 1) return true;
    }
    return false;
}

static bool can_move(const tn_cluster *k)
{
    if (k->tile) return true;
    if (k->op->kind == TN_OP_reduce) return true;
    return !k->op->n_regions && !tn_op_has_trait(k->op, TN_TRAIT_SIDE_EFFECT) &&
           !tn_op_has_trait(k->op, TN_TRAIT_COLLECTIVE) &&
           !tn_op_has_trait(k->op, TN_TRAIT_IN_PLACE) && k->op->kind != TN_OP_custom_call;
}

/* May cluster `at`, before all members, be one too? */
static bool joins_before(tn_rows_finder *f, uint32_t at, uint32_t end, const tn_rows_space *s)
{
    bool fits = reads_members_by_rows(f, &f->list[at], s) && meets_members(f, at, end);
    f->roles[at] = TN_ROWS_MEMBER;
    for (uint32_t k = at + 1; k < end && fits; k++) {
        bool is_member = f->roles[k] == TN_ROWS_MEMBER;
        for (uint32_t i = 0; i < tn_rows_n_inputs(&f->list[k]) && fits; i++)
            if (tn_rows_maker(f, &f->list[k], i) == at + 1 && f->roles[k] == TN_ROWS_BEFORE)
                fits = false;
        if (is_member) fits = fits && reads_members_by_rows(f, &f->list[k], s);
    }
    if (!fits) f->roles[at] = TN_ROWS_BEFORE;
    return fits;
}

static bool joins_behind(tn_rows_finder *f, uint32_t at, const tn_rows_space *s)
{
    const tn_cluster *k = &f->list[at];
    bool fits =
        !reads(f, k, TN_ROWS_AFTER) && reads_members_by_rows(f, k, s) && meets_members(f, at, at);
    f->roles[at] = fits                                                        ? TN_ROWS_MEMBER
                   : reads(f, k, TN_ROWS_MEMBER) || reads(f, k, TN_ROWS_AFTER) ? TN_ROWS_AFTER
                                                                               : TN_ROWS_BEFORE;
    return fits;
}

/* Gives clusters around `seed` their roles; those of [*first, *end) have one. Returns how many
 * steps the group has. */
static uint32_t gather(tn_rows_finder *f, uint32_t seed, uint32_t done, const tn_rows_space *s,
                       uint32_t *first, uint32_t *end)
{
    uint32_t n_steps = 1, low = seed, high = seed + 1;
    *first = seed, *end = seed + 1;
    f->roles[seed] = TN_ROWS_MEMBER;
    while (low > done && *first - low < WINDOW && n_steps < STEPS / 2) {
        low--;
        if (tn_rows_is_passed_over(&f->list[low])) {
            f->roles[low] = TN_ROWS_BEFORE;
        } else if (!can_move(&f->list[low])) {
            break;
        } else if (joins_before(f, low, *end, s)) {
            *first = low;
            n_steps++;
        }
    }
    for (; high < f->n && high - *end < WINDOW && n_steps < STEPS; high++) {
        const tn_cluster *k = &f->list[high];
        if (tn_rows_is_passed_over(k)) {
            f->roles[high] = reads(f, k, TN_ROWS_MEMBER) || reads(f, k, TN_ROWS_AFTER)
                                 ? TN_ROWS_AFTER
                                 : TN_ROWS_BEFORE;
        } else if (!can_move(k)) {
            break;
        } else if (joins_behind(f, high, s)) {
            *end = high + 1;
            n_steps++;
        }
    }
    for (uint32_t k = low; k < *first; k++) f->roles[k] = TN_ROWS_UNDECIDED;
    for (uint32_t k = *end; k < high; k++) f->roles[k] = TN_ROWS_UNDECIDED;
    return n_steps;
}

/* Lets the members among the products stay outside; false: there are none. */
static bool leave_products(tn_rows_finder *f, uint32_t first, uint32_t end)
{
    bool any = false;
    for (uint32_t i = first; i < end; i++) {
        if (f->roles[i] != TN_ROWS_MEMBER || !f->products[i]) continue;
        f->products[i] = NULL;
        any = true;
    }
    return any;
}

/* Rows that code turns, where their fold alone takes them one by one: as it does unless they have
 * 2^k elements, and where it makes keys of floats. */
static bool is_short(const tn_op *op, const tn_lines *l)
{
    int64_t n = l->length;
    tn_op_kind kind = body_of(op);
    bool keys = n >= 16 && tn_is_float(l->from) && (kind == TN_OP_maximum || kind == TN_OP_minimum);
    return l->outer >= ALONE_ROWS && (keys || (n & (n - 1))) &&
           n <= (keys ? ALONE_KEYS : ALONE_COLUMNS);
}

/* The group around cluster `seed`, or NULL. Where it can't be made with products, it is tried
 * without. */
static const tn_rows *group_around(tn_rows_finder *f, uint32_t seed, uint32_t done, uint32_t *first,
                                   uint32_t *end)
{
    const tn_cluster *k = &f->list[seed];
    for (bool again = !k->tile; again;) {
        tn_rows_space s;
        const tn_gemm *g = f->products[seed];
        if (g) s = (tn_rows_space){.rows = product_rows(g), .whole = true};
        else if (!find_space(k->op, &s)) return NULL;
        bool several = gather(f, seed, done, &s, first, end) > 1;
        bool alone = !several && !g && s.whole && f->c->jit && is_short(k->op, &s.lines);
        const tn_rows *p = several || alone ? tn_rows_build(f, *first, *end, &s) : NULL;
        if (p && (several || p->code)) return p;
        again = leave_products(f, *first, *end);
        memset(f->roles + *first, TN_ROWS_UNDECIDED, *end - *first);
    }
    return NULL;
}

static void emit(const tn_rows_finder *f, tn_rows_role what, uint32_t first, uint32_t end,
                 tn_cluster *out, uint32_t *n_out)
{
    for (uint32_t k = first; k < end; k++)
        if (f->roles[k] == what) out[(*n_out)++] = f->list[k];
}

void tn_rows_find(tn_cluster_context *c, const tn_region *r, const tn_cluster **list, uint32_t *n)
{
    tn_rows_finder f = {.c = c, .list = *list, .n = *n};
    f.products = TN_NEW_ARRAY(c->arena, const tn_gemm *, *n);
    tn_rows_space s;
    bool any = false;
    for (uint32_t i = 0; i < *n; i++) {
        const tn_op *op = f.list[i].tile ? NULL : f.list[i].op;
        if (!op) continue;
        f.products[i] = row_product(&f, op);
        any = any || f.products[i] || find_space(op, &s);
    }
    if (!any) return;
    f.roles = TN_NEW_ARRAY(c->arena, uint8_t, *n);
    if (!c->last_read) {
        c->last_read = TN_NEW_ARRAY(c->arena, uint32_t, c->n_values);
        c->made_by = TN_NEW_ARRAY(c->arena, uint32_t, c->n_values);
    }
    f.last_read = c->last_read;
    f.made = c->made_by;
    note_all(&f, r);
    tn_cluster *out = TN_NEW_ARRAY(c->arena, tn_cluster, *n);
    uint32_t n_out = 0, done = 0; /* clusters before `done` are in `out` */
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t first, end;
        const tn_rows *p = i < done ? NULL : group_around(&f, i, done, &first, &end);
        if (!p) continue;
        while (done < first) out[n_out++] = f.list[done++];
        emit(&f, TN_ROWS_BEFORE, first, end, out, &n_out);
        out[n_out++] = (tn_cluster){.rows = p};
        emit(&f, TN_ROWS_AFTER, first, end, out, &n_out);
        done = end;
    }
    while (done < *n) out[n_out++] = f.list[done++];
    *list = out;
    *n = n_out;
}
