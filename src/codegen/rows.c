/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/rows.h"

#include <string.h>

#include "ops/dot.h"
#include "ops/elementwise.h"

enum {
    BLOCK_BYTES = 48 << 10,    /* what a block's rows should take of the cache */
    PRODUCT_BYTES = 768 << 10, /* the same where there are products, which need more rows */
    LEAST_UNITS = 2,           /* of a block with products: tiles of rows, */
    MOST_UNITS = 8,            /* and at most */
    LEAST_ROWS = 16,           /* of a product */
    PACKED_BYTES = 2 << 20, /* a larger right operand wants twice as many rows as it has itself */
    MOST_PACKED = 32 << 20,
    CHUNK_OF_ROW = 4096, /* elements of a share that go through together */
    CHUNK_OF_COLUMNS = 8192,
    STEPS = TN_ROWS_STEPS,
    VALUES = TN_ROWS_VALUES,
    WINDOW = 12 /* clusters in a row that a group looks past */
};
/* A smaller result, or left operand that a member makes, is still in the cache when it is wanted,
 * and a product of all rows at once does better. */
#define LEAST_BYTES (8 << 20)

/* What becomes of a cluster near a group. */
typedef enum { UNDECIDED, MEMBER, BEFORE, AFTER } role;

typedef struct {
    tn_cluster_context *c;
    const tn_cluster *list;
    uint32_t n;
    uint32_t *last_read;      /* [n_values]: 1 + the last cluster that reads it */
    uint32_t *made;           /* [n_values]: 1 + the cluster that makes it */
    const tn_gemm **products; /* [n]: of a cluster that is one, or NULL */
    uint8_t *roles;           /* [n] */
} finder;

/* --- who reads what --- */

static void note_read(finder *f, const tn_value *v, uint32_t at)
{
    v = tn_cluster_source(v);
    f->last_read[v->id] = at + 1;
    if (v->op && v->op->kind == TN_OP_broadcast_in_dim) note_read(f, v->op->operands[0], at);
}

static void note_reads(finder *f, const tn_op *op, uint32_t at)
{
    for (uint32_t i = 0; i < op->n_operands; i++) note_read(f, op->operands[i], at);
    for (uint32_t i = 0; i < op->n_regions; i++)
        for (const tn_op *o = op->regions[i].first; o; o = o->next) note_reads(f, o, at);
}

static void note_all(finder *f, const tn_region *r)
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
    const tn_region *r = &op->regions[0];
    const tn_op *o = r->first;
    if (r->n_args != 2 || !o || o->next != r->last || o->n_operands != 2) return TN_OP_INVALID;
    if (r->last->n_operands != 1 || r->last->operands[0] != &o->results[0]) return TN_OP_INVALID;
    const tn_value *a = o->operands[0], *b = o->operands[1];
    bool args = (a == &r->args[0] && b == &r->args[1]) || (a == &r->args[1] && b == &r->args[0]);
    return args ? o->kind : TN_OP_INVALID;
}

static bool find_lines(const tn_op *op, tn_lines *out)
{
    return op && op->kind == TN_OP_reduce && op->n_operands == 2 &&
           tn_lines_find(op, body_of(op), out);
}

/* What a group goes through: rows, or the elements of lines that are cut into shares. */
typedef struct {
    tn_lines lines; /* where it isn't whole rows */
    int64_t rows;
    bool whole;
} space;

static bool find_space(const tn_op *op, space *s)
{
    if (!find_lines(op, &s->lines)) return false;
    s->whole = tn_lines_are_whole_rows(&s->lines);
    s->rows = s->lines.outer * (s->whole ? 1 : s->lines.length * s->lines.inner);
    return s->rows > 1;
}

static bool is_of_space(const tn_lines *l, const space *s)
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

static bool is_passed_over(const tn_cluster *k)
{
    return !k->tile && (tn_is_relabelling(k->op) || k->op->kind == TN_OP_constant);
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
static const tn_gemm *row_product(const finder *f, const tn_op *op)
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

static uint32_t n_inputs(const tn_cluster *k)
{
    return k->tile ? k->tile->n_inputs : k->op->n_operands;
}

/* 1 + the cluster that makes input i; 0: it is from outside. */
static uint32_t maker(const finder *f, const tn_cluster *k, uint32_t i)
{
    const tn_value *v = k->tile ? k->tile->inputs[i].value : k->op->operands[i];
    for (;;) {
        v = tn_cluster_source(v);
        if (f->made[v->id] || !v->op || v->op->kind != TN_OP_broadcast_in_dim)
            return f->made[v->id];
        v = v->op->operands[0];
    }
}

static role maker_role(const finder *f, const tn_cluster *k, uint32_t i)
{
    uint32_t by = maker(f, k, i);
    return by ? f->roles[by - 1] : UNDECIDED;
}

static bool reads(const finder *f, const tn_cluster *k, role what)
{
    for (uint32_t i = 0; i < n_inputs(k); i++)
        if (maker_role(f, k, i) == what) return true;
    return false;
}

/* --- what can be part of a group --- */

/* Is `k` of space `s`, and does it read what members make by rows? */
static bool reads_members_by_rows(const finder *f, const tn_cluster *k, const space *s)
{
    uint32_t at = (uint32_t)(k - f->list);
    if (k->tile) {
        const tn_tile_program *t = k->tile;
        if (s->whole ? t->n % s->rows != 0 : t->n != s->rows) return false;
        if (t->n_inputs + t->n_outputs > TN_ROWS_PORTS) return false;
        for (uint32_t i = 0; i < t->n_inputs; i++) {
            if (maker_role(f, k, i) != MEMBER) continue;
            /* What lines come to is known behind the last of them. */
            if (!s->whole && !f->list[maker(f, k, i) - 1].tile) return false;
            if (!reads_by_rows(t, i, s->rows)) return false;
        }
        return true;
    }
    if (f->products[at]) {
        const tn_gemm *g = f->products[at];
        if (!s->whole || product_rows(g) != s->rows || maker_role(f, k, 1) == MEMBER) return false;
        return maker_role(f, k, 0) != MEMBER ||
               (g->a_col == 1 && are_dense(g, g->a_row, g->k, g->a_batch));
    }
    tn_lines l;
    return find_lines(k->op, &l) && is_of_space(&l, s) && maker_role(f, k, 1) != MEMBER;
}

/* Does it read what a member makes, or the other way round? */
static bool meets_members(const finder *f, uint32_t at, uint32_t end)
{
    if (reads(f, &f->list[at], MEMBER)) return true;
    for (uint32_t k = at + 1; k < end; k++) {
        if (f->roles[k] != MEMBER) continue;
        for (uint32_t i = 0; i < n_inputs(&f->list[k]); i++)
            if (maker(f, &f->list[k], i) == at + 1) return true;
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
static bool joins_before(finder *f, uint32_t at, uint32_t end, const space *s)
{
    bool fits = reads_members_by_rows(f, &f->list[at], s) && meets_members(f, at, end);
    f->roles[at] = MEMBER;
    for (uint32_t k = at + 1; k < end && fits; k++) {
        bool is_member = f->roles[k] == MEMBER;
        for (uint32_t i = 0; i < n_inputs(&f->list[k]) && fits; i++)
            if (maker(f, &f->list[k], i) == at + 1 && f->roles[k] == BEFORE) fits = false;
        if (is_member) fits = fits && reads_members_by_rows(f, &f->list[k], s);
    }
    if (!fits) f->roles[at] = BEFORE;
    return fits;
}

static bool joins_behind(finder *f, uint32_t at, const space *s)
{
    const tn_cluster *k = &f->list[at];
    bool fits = !reads(f, k, AFTER) && reads_members_by_rows(f, k, s) && meets_members(f, at, at);
    f->roles[at] = fits ? MEMBER : reads(f, k, MEMBER) || reads(f, k, AFTER) ? AFTER : BEFORE;
    return fits;
}

/* Gives clusters around `seed` their roles; those of [*first, *end) have one. Returns how many
 * steps the group has. */
static uint32_t gather(finder *f, uint32_t seed, uint32_t done, const space *s, uint32_t *first,
                       uint32_t *end)
{
    uint32_t n_steps = 1, low = seed, high = seed + 1;
    *first = seed, *end = seed + 1;
    f->roles[seed] = MEMBER;
    while (low > done && *first - low < WINDOW && n_steps < STEPS / 2) {
        low--;
        if (is_passed_over(&f->list[low])) {
            f->roles[low] = BEFORE;
        } else if (!can_move(&f->list[low])) {
            break;
        } else if (joins_before(f, low, *end, s)) {
            *first = low;
            n_steps++;
        }
    }
    for (; high < f->n && high - *end < WINDOW && n_steps < STEPS; high++) {
        const tn_cluster *k = &f->list[high];
        if (is_passed_over(k)) {
            f->roles[high] = reads(f, k, MEMBER) || reads(f, k, AFTER) ? AFTER : BEFORE;
        } else if (!can_move(k)) {
            break;
        } else if (joins_behind(f, high, s)) {
            *end = high + 1;
            n_steps++;
        }
    }
    for (uint32_t k = low; k < *first; k++) f->roles[k] = UNDECIDED;
    for (uint32_t k = *end; k < high; k++) f->roles[k] = UNDECIDED;
    return n_steps;
}

/* --- making a group --- */

typedef struct {
    tn_rows_value values[VALUES];
    uint32_t n_values;
    tn_rows_step steps[STEPS];
    uint32_t n_steps;
    /* Made here; the right operand of a product; of lines that are cut. */
    bool is_made[VALUES], is_right[VALUES], is_total[VALUES];
    int64_t chunk, unit; /* as in tn_rows */
    size_t packed_bytes;
    bool failed;
} group;

static uint32_t index_of(group *g, const tn_value *v)
{
    for (uint32_t i = 0; i < g->n_values; i++)
        if (g->values[i].value == v) return i;
    if (g->n_values == VALUES) {
        g->failed = true;
        return 0;
    }
    g->values[g->n_values] = (tn_rows_value){.value = v};
    return g->n_values++;
}

static uint32_t make(group *g, const tn_value *v, int64_t rows)
{
    uint32_t i = index_of(g, v);
    g->is_made[i] = true;
    g->values[i].row_bytes = (int64_t)tn_type_bytes(v->type) / rows;
    return i;
}

static void add_tile(finder *f, group *g, const tn_tile_program *t, int64_t rows)
{
    uint32_t *refs = TN_NEW_ARRAY(f->c->arena, uint32_t, t->n_inputs + t->n_outputs);
    for (uint32_t i = 0; i < t->n_inputs; i++) refs[i] = index_of(g, t->inputs[i].value);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        refs[t->n_inputs + i] = make(g, t->outputs[i].value, rows);
    g->steps[g->n_steps++] = (tn_rows_step){.tile = t, .per_row = t->n / rows, .refs = refs};
}

/* The refs of an op of two operands and one result. */
static uint32_t *refs_of(finder *f, group *g, const tn_op *op, int64_t rows)
{
    uint32_t *refs = TN_NEW_ARRAY(f->c->arena, uint32_t, 3);
    refs[0] = index_of(g, tn_cluster_source(op->operands[0]));
    refs[1] = index_of(g, tn_cluster_source(op->operands[1]));
    refs[2] = make(g, &op->results[0], rows);
    return refs;
}

static void add_product(finder *f, group *g, const tn_op *op, const tn_gemm *gemm, int64_t rows)
{
    tn_rows_product *p = TN_NEW(f->c->arena, tn_rows_product);
    *p = (tn_rows_product){.gemm = *gemm, .packed = g->packed_bytes};
    g->packed_bytes += tn_gemm_rows_packed_bytes(gemm);
    g->unit = tn_gemm_rows_unit(gemm);
    if (gemm->m < g->chunk) g->chunk = gemm->m;
    uint32_t *refs = refs_of(f, g, op, rows);
    g->is_right[refs[1]] = true;
    g->steps[g->n_steps++] = (tn_rows_step){.product = p, .per_row = gemm->n, .refs = refs};
}

static void add_reduction(finder *f, group *g, const tn_op *op, const space *s)
{
    tn_lines *l = TN_NEW(f->c->arena, tn_lines);
    find_lines(op, l);
    uint32_t *refs = refs_of(f, g, op, s->whole ? s->rows : 1);
    g->is_total[refs[2]] = !s->whole;
    g->steps[g->n_steps++] =
        (tn_rows_step){.lines = l, .reduce = op, .per_row = s->whole ? l->length : 1, .refs = refs};
}

/* Is what cluster k of the window makes read by any but members? */
static bool is_read_outside(const finder *f, const tn_value *v, uint32_t first, uint32_t end)
{
    if (f->last_read[v->id] > end) return true;
    for (uint32_t k = first; k < end; k++) {
        if (f->roles[k] == MEMBER || is_passed_over(&f->list[k])) continue;
        for (uint32_t i = 0; i < n_inputs(&f->list[k]); i++)
            if (maker(f, &f->list[k], i) == f->made[v->id]) return true;
    }
    return false;
}

/* Rows of a block; 0: there would be too few for the products. */
static int64_t block_rows(const group *g, int64_t rows, int64_t row_bytes)
{
    int64_t block = (g->packed_bytes ? PRODUCT_BYTES : BLOCK_BYTES) / (row_bytes + 1);
    if (g->packed_bytes) {
        if (block < LEAST_UNITS * g->unit) return 0;
        if (block > MOST_UNITS * g->unit) block = MOST_UNITS * g->unit;
        block -= block % g->unit;
    }
    return block < 1 ? 1 : block > rows ? rows : block;
}

/* Values that are never there at the same time share memory. */
static int64_t place_temps(finder *f, group *g)
{
    struct slot {
        int64_t offset, row_bytes;
        uint32_t free_from; /* the step */
    } slots[VALUES];
    uint32_t n_slots = 0;
    uint32_t *last = TN_NEW_ARRAY(f->c->arena, uint32_t, g->n_values);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const tn_rows_step *s = &g->steps[i];
        uint32_t n = s->tile ? s->tile->n_inputs + s->tile->n_outputs : 3;
        for (uint32_t k = 0; k < n; k++) last[s->refs[k]] = i;
    }
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const tn_rows_step *s = &g->steps[i];
        uint32_t from = s->tile ? s->tile->n_inputs : 2;
        uint32_t to = s->tile ? from + s->tile->n_outputs : 3;
        for (uint32_t k = from; k < to; k++) {
            tn_rows_value *v = &g->values[s->refs[k]];
            if (!v->is_temp) continue;
            uint32_t at = 0;
            while (at < n_slots && (slots[at].free_from > i || slots[at].row_bytes != v->row_bytes))
                at++;
            if (at == n_slots) {
                slots[n_slots++] = (struct slot){bytes, v->row_bytes, 0};
                bytes += v->row_bytes;
            }
            slots[at].free_from = last[s->refs[k]] + 1;
            v->slot = at;
            v->offset = slots[at].offset;
        }
    }
    return bytes;
}

/* Elements that go through together; steps of a block are a multiple of those of a chunk. */
static int64_t chunk_of(const tn_lines *l)
{
    int64_t steps = 1;
    if (l->inner == 1) return CHUNK_OF_ROW;
    if (l->inner > TN_LINES_COLUMNS) return TN_LINES_COLUMNS;
    while (2 * steps <= TN_LINES_BLOCK && 2 * steps * l->inner <= CHUNK_OF_COLUMNS) steps *= 2;
    return steps * l->inner;
}

static const tn_rows *finish(finder *f, group *g, const space *s, uint32_t first, uint32_t end)
{
    tn_arena *a = f->c->arena;
    int64_t rows = s->rows;
    tn_rows *p = TN_NEW(a, tn_rows);
    uint32_t *inputs = TN_NEW_ARRAY(a, uint32_t, g->n_values), n_inputs = 0;
    uint32_t *outputs = TN_NEW_ARRAY(a, uint32_t, g->n_values), n_outputs = 0;
    int64_t row_bytes = 0;
    for (uint32_t i = 0; i < g->n_values; i++) {
        tn_rows_value *v = &g->values[i];
        if (!g->is_made[i]) {
            inputs[n_inputs++] = i;
            int64_t bytes = (int64_t)tn_type_bytes(v->value->type);
            if (bytes >= 256 * rows && !g->is_right[i]) row_bytes += bytes / rows;
            continue;
        }
        v->is_temp = !g->is_total[i] && !is_read_outside(f, v->value, first, end);
        if (v->is_temp) continue;
        outputs[n_outputs++] = i;
        row_bytes += v->row_bytes;
    }
    p->temp_bytes = place_temps(f, g);
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const tn_rows_step *x = &g->steps[i];
        p->row_ns += x->product ? tn_gemm_rows_ns(&x->product->gemm)
                                : (x->tile ? x->tile->cost_ns : 0.06) * (double)x->per_row;
    }
    p->n = rows;
    p->chunk = g->chunk;
    p->unit = g->unit;
    p->packed_bytes = g->packed_bytes;
    if (!s->whole) p->shares = tn_dup(a, &s->lines, sizeof s->lines);
    p->block = s->whole ? block_rows(g, p->chunk, row_bytes + p->temp_bytes) : chunk_of(&s->lines);
    if (!p->block) return NULL;
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const tn_rows_step *x = &g->steps[i];
        if (rows % p->chunk || (x->product && x->product->gemm.m % p->chunk)) return NULL;
        size_t bytes = x->product ? tn_gemm_rows_workspace(&x->product->gemm, p->block) : 0;
        if (bytes > p->workspace) p->workspace = bytes;
    }
    p->n_values = g->n_values;
    p->n_steps = g->n_steps;
    p->values = tn_dup(a, g->values, g->n_values * sizeof *g->values);
    p->steps = tn_dup(a, g->steps, g->n_steps * sizeof *g->steps);
    p->n_inputs = n_inputs;
    p->n_outputs = n_outputs;
    p->inputs = inputs;
    p->outputs = outputs;
    return p;
}

static const tn_rows *make_group(finder *f, uint32_t first, uint32_t end, const space *s)
{
    group *g = TN_NEW(f->c->arena, group);
    g->chunk = s->rows;
    g->unit = 1;
    for (uint32_t i = first; i < end && !g->failed; i++) {
        const tn_cluster *k = &f->list[i];
        if (f->roles[i] != MEMBER) continue;
        if (g->n_steps == STEPS) return NULL;
        if (k->tile) add_tile(f, g, k->tile, s->rows);
        else if (f->products[i]) add_product(f, g, k->op, f->products[i], s->rows);
        else add_reduction(f, g, k->op, s);
    }
    return g->failed ? NULL : finish(f, g, s, first, end);
}

/* Lets the members among the products stay outside; false: there are none. */
static bool leave_products(finder *f, uint32_t first, uint32_t end)
{
    bool any = false;
    for (uint32_t i = first; i < end; i++) {
        if (f->roles[i] != MEMBER || !f->products[i]) continue;
        f->products[i] = NULL;
        any = true;
    }
    return any;
}

/* The group around cluster `seed`, or NULL. Where it can't be made with products, it is tried
 * without. */
static const tn_rows *group_around(finder *f, uint32_t seed, uint32_t done, uint32_t *first,
                                   uint32_t *end)
{
    const tn_cluster *k = &f->list[seed];
    for (bool again = !k->tile; again;) {
        space s;
        const tn_gemm *g = f->products[seed];
        if (g) s = (space){.rows = product_rows(g), .whole = true};
        else if (!find_space(k->op, &s)) return NULL;
        bool several = gather(f, seed, done, &s, first, end) > 1;
        const tn_rows *p = several ? make_group(f, *first, *end, &s) : NULL;
        if (p) return p;
        again = leave_products(f, *first, *end);
        memset(f->roles + *first, UNDECIDED, *end - *first);
    }
    return NULL;
}

static void emit(const finder *f, role what, uint32_t first, uint32_t end, tn_cluster *out,
                 uint32_t *n_out)
{
    for (uint32_t k = first; k < end; k++)
        if (f->roles[k] == what) out[(*n_out)++] = f->list[k];
}

void tn_rows_find(tn_cluster_context *c, const tn_region *r, const tn_cluster **list, uint32_t *n)
{
    finder f = {.c = c, .list = *list, .n = *n};
    f.products = TN_NEW_ARRAY(c->arena, const tn_gemm *, *n);
    space s;
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
        emit(&f, BEFORE, first, end, out, &n_out);
        out[n_out++] = (tn_cluster){.rows = p};
        emit(&f, AFTER, first, end, out, &n_out);
        done = end;
    }
    while (done < *n) out[n_out++] = f.list[done++];
    *list = out;
    *n = n_out;
}
