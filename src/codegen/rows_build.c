/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a group of rows of the clusters that were chosen for it. */
#include "codegen/rows_code.h"
#include "codegen/rows_members.h"

enum {
    BLOCK_BYTES = 48 << 10,    /* what a block's rows should take of the cache */
    PRODUCT_BYTES = 768 << 10, /* the same where there are products, which need more rows */
    LEAST_UNITS = 2,           /* of a block with products: tiles of rows, */
    MOST_UNITS = 8,            /* and at most */
    CHUNK_OF_ROW = 4096,       /* elements of a share that go through together */
    CHUNK_OF_COLUMNS = 4096,
    STEPS = TN_ROWS_STEPS,
    VALUES = TN_ROWS_VALUES
};

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

static void add_tile(tn_rows_finder *f, group *g, const tn_tile_program *t, int64_t rows)
{
    uint32_t *refs = TN_NEW_ARRAY(f->c->arena, uint32_t, t->n_inputs + t->n_outputs);
    for (uint32_t i = 0; i < t->n_inputs; i++) refs[i] = index_of(g, t->inputs[i].value);
    for (uint32_t i = 0; i < t->n_outputs; i++)
        refs[t->n_inputs + i] = make(g, t->outputs[i].value, rows);
    g->steps[g->n_steps++] = (tn_rows_step){.tile = t, .per_row = t->n / rows, .refs = refs};
}

/* The refs of an op of two operands and one result. */
static uint32_t *refs_of(tn_rows_finder *f, group *g, const tn_op *op, int64_t rows)
{
    uint32_t *refs = TN_NEW_ARRAY(f->c->arena, uint32_t, 3);
    refs[0] = index_of(g, tn_cluster_source(op->operands[0]));
    refs[1] = index_of(g, tn_cluster_source(op->operands[1]));
    refs[2] = make(g, &op->results[0], rows);
    return refs;
}

static void add_product(tn_rows_finder *f, group *g, const tn_op *op, const tn_gemm *gemm,
                        int64_t rows)
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

static void add_reduction(tn_rows_finder *f, group *g, const tn_op *op, const tn_rows_space *s)
{
    tn_lines *l = TN_NEW(f->c->arena, tn_lines);
    tn_rows_find_lines(op, l);
    uint32_t *refs = refs_of(f, g, op, s->whole ? s->rows : 1);
    g->is_total[refs[2]] = !s->whole;
    g->steps[g->n_steps++] =
        (tn_rows_step){.lines = l, .reduce = op, .per_row = s->whole ? l->length : 1, .refs = refs};
}

/* Is what cluster k of the window makes read by any but members? */
static bool is_read_outside(const tn_rows_finder *f, const tn_value *v, uint32_t first,
                            uint32_t end)
{
    if (f->last_read[v->id] > end) return true;
    for (uint32_t k = first; k < end; k++) {
        if (f->roles[k] == TN_ROWS_MEMBER || tn_rows_is_passed_over(&f->list[k])) continue;
        for (uint32_t i = 0; i < tn_rows_n_inputs(&f->list[k]); i++)
            if (tn_rows_maker(f, &f->list[k], i) == f->made[v->id]) return true;
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
static int64_t place_temps(tn_rows_finder *f, group *g)
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

/* Where steps run one after the other for a block: reading in the step that writes, or behind it.
 */
static const uint64_t *find_kept(tn_arena *a, const group *g)
{
    uint64_t *kept = TN_NEW_ARRAY(a, uint64_t, g->n_values);
    uint64_t written = 0; /* by the steps before */
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const tn_rows_step *s = &g->steps[i];
        const tn_tile_program *t = s->tile;
        uint32_t n_in = t ? t->n_inputs : 2;
        for (uint32_t k = 0; k < n_in; k++) {
            bool by_rows = t ? t->inputs[k].is_linear : s->lines && k == 0;
            uint64_t *of = &kept[s->refs[k]];
            *of |= by_rows ? written : UINT64_MAX;
            for (uint32_t o = 0; t && o < t->n_outputs; o++)
                if (!tn_tile_may_overwrite(t, k, o)) *of |= 1ull << s->refs[n_in + o];
        }
        for (uint32_t o = 0; t && o < t->n_outputs; o++) written |= 1ull << s->refs[n_in + o];
        if (!t) written |= 1ull << s->refs[2];
    }
    /* What a product or a reduction gives is written while, or where, others are read. */
    for (uint32_t i = 0; i < g->n_steps; i++)
        for (uint32_t v = 0; v < g->n_values && !g->steps[i].tile; v++)
            kept[v] |= 1ull << g->steps[i].refs[2];
    return kept;
}

bool tn_rows_may_overwrite(const tn_rows *p, uint32_t in, uint32_t out)
{
    const tn_type *i = p->values[p->inputs[in]].value->type;
    const tn_type *o = p->values[p->outputs[out]].value->type;
    return tn_type_bytes(i) == tn_type_bytes(o) &&
           tn_element_type_bytes(i->element) == tn_element_type_bytes(o->element) &&
           !(p->kept_from[p->inputs[in]] >> p->outputs[out] & 1);
}

static const tn_rows *finish(tn_rows_finder *f, group *g, const tn_rows_space *s, uint32_t first,
                             uint32_t end)
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
    if (s->whole && !p->packed_bytes) p->code = tn_rows_code_make(f->c->jit, a, p);
    p->kept_from = p->code ? p->code->kept_from : find_kept(a, g);
    return p;
}

const tn_rows *tn_rows_build(tn_rows_finder *f, uint32_t first, uint32_t end,
                             const tn_rows_space *s)
{
    group made = {.chunk = s->rows, .unit = 1}, *g = &made;
    for (uint32_t i = first; i < end && !g->failed; i++) {
        const tn_cluster *k = &f->list[i];
        if (f->roles[i] != TN_ROWS_MEMBER) continue;
        if (g->n_steps == STEPS) return NULL;
        if (k->tile) add_tile(f, g, k->tile, s->rows);
        else if (f->products[i]) add_product(f, g, k->op, f->products[i], s->rows);
        else add_reduction(f, g, k->op, s);
    }
    return g->failed ? NULL : finish(f, g, s, first, end);
}
