/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_blocks.h"

#include <string.h>

#include "kernels/int_math.h"
#include "kernels/work_parts.h"

enum {
    MAX_ROWS = 2048, /* of A packed at a time */
    MAX_COLS = 2048, /* of B */
    BLOCK_BYTES =
        1024, /* of a row of B in the part that stays in the second-level cache during one sweep */
    PACK_PANELS = 4, /* packed together, since they share pages and cache lines of B's rows */
    MAX_ROWS_OF_TILE = 14,
    FEW_ITEMS = 16,  /* of a block; then blocks along k are shared out, each summed beside C: */
    MIN_BLOCKS = 4,  /* at least so many */
    SHORT_SUM = 128, /* products; and how large operands are that lie outside of the caches: */
    FAR_BYTES = 1 << 20,
    WAVE_BLOCKS = 64 /* so many before they are added, in order */,
    MAX_TILE_BYTES = MAX_ROWS_OF_TILE * 4 * 64,
};

/* Sizes that follow from a problem. */
typedef struct {
    const tn_gemm_loops *loops;
    int64_t e;  /* bytes of one element of the kind */
    int64_t nr; /* columns of a full tile */
    int64_t kb; /* k block */
    int64_t max_m, max_n;
    int64_t a_pitch; /* elements from one packed row to the next */
    int64_t a_bytes, b_bytes, sum_bytes;
} sizes;

static sizes sizes_of(const tn_gemm_blocks *g)
{
    sizes s;
    s.loops = &g->table->kinds[g->kind];
    s.e = tn_element_type_bytes(tn_gemm_kind_type(g->kind));
    s.nr = s.loops->nv * s.loops->vl;
    s.kb = tn_gemm_k_block(g->kind, g->k);
    /* What is neither packed nor visited twice needs no blocks. */
    s.max_m = g->pack_a || g->k > s.kb ? tn_least(g->m, MAX_ROWS) : g->m;
    s.max_n = tn_least(tn_round_up(g->n, s.nr), MAX_COLS);
    /* A pitch that is a multiple of a page would put all rows of a tile into one cache set. */
    s.a_pitch = tn_round_up(s.kb, 16);
    if (s.a_pitch * s.e % 1024 == 0) s.a_pitch += 16;
    int64_t panels = tn_ceil_div(s.max_m, s.loops->mr);
    int64_t by_rows = s.max_m * s.a_pitch, by_columns = panels * s.loops->mr * s.kb;
    s.a_bytes = g->pack_a ? tn_round_up((g->a_by_columns ? by_columns : by_rows) * s.e, 64) : 0;
    s.b_bytes = s.max_n * s.kb * s.e;
    s.b_bytes = tn_round_up(s.b_bytes, 64);
    s.sum_bytes = !g->c_plain && g->k > s.kb ? tn_round_up(s.max_m * s.max_n * s.e, 64) : 0;
    return s;
}

static int64_t sweep_of(const sizes *s)
{
    return tn_round_up(BLOCK_BYTES / s->e, s->nr);
}

/* Whether C is so small and k so long that threads take blocks along k. Values are the same. */
static bool by_blocks(const tn_gemm_blocks *g, const sizes *s)
{
    if (g->threads < 2 || tn_gemm_is_complex(g->kind) || g->m > s->max_m || g->n > s->max_n)
        return false;
    int64_t items = tn_ceil_div(g->m, s->loops->mr) * tn_ceil_div(g->n, sweep_of(s));
    return items <= FEW_ITEMS && tn_ceil_div(g->k, s->kb) >= MIN_BLOCKS;
}

static int64_t part_bytes(const sizes *s)
{
    return s->a_bytes + s->b_bytes;
}

size_t tn_gemm_blocks_workspace(const tn_gemm_blocks *g)
{
    sizes s = sizes_of(g);
    if (by_blocks(g, &s))
        return (size_t)(part_bytes(&s) * g->threads + (WAVE_BLOCKS + 1) * s.max_m * s.max_n * s.e);
    return (size_t)(s.a_bytes + s.b_bytes + s.sum_bytes);
}

double tn_gemm_cost_ns(tn_gemm_kind kind, const tn_gemm_loops *loops, double products)
{
    static const double slower[] = {
        [TN_GEMM_F32] = 1,   [TN_GEMM_F64] = 1, [TN_GEMM_I32] = 3, [TN_GEMM_I64] = 6,
        [TN_GEMM_P16] = 1.5, [TN_GEMM_C64] = 4, [TN_GEMM_C128] = 4};
    return products * slower[kind] / (3.0 * loops->vl);
}

/* One block: rows [i0, i0 + m) and columns [j0, j0 + n) of C, products [p0, p0 + k). */
typedef struct {
    const tn_gemm_blocks *g;
    sizes s;
    int64_t i0, m, j0, n, p0, k;
    int64_t panels;             /* of A; they differ by at most one row: */
    int64_t panel_rows, longer; /* the first `longer` ones have one more */
    int64_t sweep;              /* columns of B in one item */
    char *packed_a, *packed_b;
    char *sum; /* NULL: into C itself */
    bool add;  /* to what is there */
    int64_t a_items, b_items;
} block;

static int64_t panel_start(const block *b, int64_t panel)
{
    return panel * b->panel_rows + tn_least(panel, b->longer);
}

static void pack_a_panel(const block *b, int64_t panel)
{
    const tn_gemm_blocks *g = b->g;
    int64_t i = panel_start(b, panel), rows = panel_start(b, panel + 1) - i, mr = b->s.loops->mr;
    if (g->a_by_columns)
        g->pack_a(g->source, b->i0 + i, rows, b->p0, b->k,
                  b->packed_a + panel * mr * b->s.kb * b->s.e, b->s.e, mr * b->s.e);
    else
        g->pack_a(g->source, b->i0 + i, rows, b->p0, b->k, b->packed_a + i * b->s.a_pitch * b->s.e,
                  b->s.a_pitch * b->s.e, b->s.e);
}

/* Vectors that hold `cols` columns. */
static int64_t vectors(const block *b, int64_t cols)
{
    return tn_ceil_div(cols, b->s.loops->vl);
}

static void pack_b_panels(const block *b, int64_t item)
{
    const tn_gemm_blocks *g = b->g;
    int64_t e = b->s.e, nr = b->s.nr;
    int64_t end = tn_least((item + 1) * PACK_PANELS * nr, b->n);
    for (int64_t j = item * PACK_PANELS * nr; j < end; j += nr) {
        int64_t cols = tn_least(nr, b->n - j), width = vectors(b, cols) * b->s.loops->vl;
        char *dst = b->packed_b + j * b->k * e;
        if (cols < width) memset(dst, 0, (size_t)(width * b->k * e));
        g->pack_b(g->source, b->j0 + j, cols, b->p0, b->k, dst, width * e);
        if (tn_gemm_is_complex(g->kind)) tn_gemm_split_complex(g->kind, dst, b->k, width);
    }
}

static void pack_items(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    for (int64_t item = begin; item < end; item++) {
        if (item < b->a_items) pack_a_panel(b, item);
        else pack_b_panels(b, item - b->a_items);
    }
}

static int64_t c_offset(const tn_gemm_blocks *g, int64_t i)
{
    int64_t at = i * g->c_row;
    if (g->c_offsets) g->c_offsets(g->source, i, 1, &at);
    return at;
}

/* Where the rows of one panel go. */
typedef struct {
    char *c; /* of the block's first column */
    int64_t rows[MAX_ROWS_OF_TILE], col;
    int64_t step; /* from row to row if that is always the same, else 0 */
    bool direct;  /* whole tiles may be written in place */
    bool columns; /* C lies by columns */
    tn_gemm_store *store;
} target;

static target target_of(const block *b, int64_t i, int64_t rows)
{
    const tn_gemm_blocks *g = b->g;
    target t;
    int64_t e = b->s.e, pitch = b->s.max_n * e;
    t.c = b->sum ? b->sum : g->c + b->j0 * g->c_col;
    t.col = b->sum ? e : g->c_col;
    if (!b->sum && g->c_offsets) {
        g->c_offsets(g->source, b->i0 + i, rows, t.rows);
        t.step = rows > 1 ? t.rows[1] - t.rows[0] : e;
        for (int64_t r = 1; r < rows; r++)
            if (t.rows[r] - t.rows[r - 1] != t.step) t.step = 0;
    } else {
        int64_t row = b->sum ? pitch : g->c_row, first = (b->sum ? i : b->i0 + i) * row;
        for (int64_t r = 0; r < rows; r++) t.rows[r] = first + r * row;
        t.step = rows > 1 ? row : e;
    }
    t.direct = t.step && t.col == e && (b->sum || g->c_plain) && !tn_gemm_is_complex(g->kind);
    t.columns = t.step == e && t.col != e && rows > 1 && g->c_plain && e <= 8 && !t.direct &&
                !tn_gemm_is_complex(g->kind);
    t.store = b->sum ? tn_gemm_store_for(g->kind, tn_gemm_kind_type(g->kind)) : g->store;
    return t;
}

static void store_columns(const block *b, const char *tile, int64_t pitch, int64_t rows,
                          int64_t cols, char *c, int64_t col)
{
    const tn_gemm_table *table = b->g->table;
    _Alignas(64) char turned[MAX_TILE_BYTES];
    int64_t e = b->s.e, row = rows * e;
    char *to = b->add ? turned : c;
    (e == 4 ? table->transpose4 : table->transpose8)(to, b->add ? row : col, tile, pitch, rows,
                                                     cols);
    if (!b->add) return;
    tn_gemm_store *add = tn_gemm_store_for(b->g->kind, tn_gemm_kind_type(b->g->kind));
    for (int64_t j = 0; j < cols; j++) add(c + j * col, e, turned + j * row, rows, true);
}

/* Computes one tile beside C and moves what belongs to C. */
static void tile_aside(const block *b, tn_gemm_tile *tile, int64_t rows, int64_t j, int64_t cols,
                       const char *a, int64_t a_row, int64_t a_col, const char *panel,
                       const target *t)
{
    _Alignas(64) char beside[MAX_TILE_BYTES], joined[4 * 64];
    bool is_complex = tn_gemm_is_complex(b->g->kind);
    int64_t width = vectors(b, cols) * b->s.loops->vl, pitch = width * b->s.e;
    tile(b->k, a, a_row, a_col, panel, pitch, beside, pitch, width, TN_TILE_STORE, NULL);
    if (t->columns) {
        store_columns(b, beside, pitch, rows, cols, t->c + t->rows[0] + j * t->col, t->col);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        const char *row = beside + r * pitch;
        if (is_complex) {
            tn_gemm_join_complex(b->g->kind, joined, row, width, cols);
            row = joined;
        }
        t->store(t->c + t->rows[r] + j * t->col, t->col, row, cols, b->add);
    }
}

static void sweep_panel(const block *b, int64_t panel, int64_t j_begin, int64_t j_end)
{
    const tn_gemm_blocks *g = b->g;
    const tn_gemm_loops *loops = b->s.loops;
    int64_t e = b->s.e, i = panel_start(b, panel), rows = panel_start(b, panel + 1) - i;
    const char *a;
    int64_t a_row, a_col;
    if (!g->pack_a) {
        a_row = g->a_row, a_col = g->a_col;
        a = g->a + (b->i0 + i) * a_row + b->p0 * a_col;
    } else if (g->a_by_columns) {
        a_row = e, a_col = loops->mr * e;
        a = b->packed_a + panel * loops->mr * b->s.kb * e;
    } else {
        a_row = b->s.a_pitch * e, a_col = e;
        a = b->packed_a + i * a_row;
    }
    target t = target_of(b, i, rows);
    /* Where sums are short, rows of the next panel and of C come meanwhile. */
    bool far = !g->pack_a && a_col == e && b->k <= SHORT_SUM && t.direct &&
               b->m * (b->k + b->n) * e > FAR_BYTES;
    bool ask = far && b->k > TN_TILE_ASKS; /* or else the tile does */
    int64_t asked = 0, ahead = far && panel + 1 < b->panels ? rows : 0;
    for (int64_t j = j_begin; j < j_end; j += b->s.nr) {
        int64_t now = tn_least(ahead, ahead * (j + b->s.nr - j_begin) / (j_end - j_begin));
        for (; asked < now; asked++)
            for (int64_t at = 0; at < b->k * e; at += 64)
                __builtin_prefetch(a + (rows + asked) * a_row + at);
        for (int64_t r = 0; ask && r < rows; r++)
            for (int64_t at = 0; at < b->s.nr * e; at += 64)
                __builtin_prefetch(t.c + t.rows[r] + j * t.col + at, 1);
        int64_t cols = tn_least(b->s.nr, j_end - j), v = vectors(b, cols);
        const char *packed = b->packed_b + j * b->k * e;
        tn_gemm_tile *tile = loops->tiles[(rows - 1) * loops->nv + v - 1];
        if (t.direct && (cols == v * loops->vl || v <= loops->masked))
            tile(b->k, a, a_row, a_col, packed, v * loops->vl * e, t.c + t.rows[0] + j * t.col,
                 t.step, cols, b->add ? TN_TILE_ADD : TN_TILE_STORE, NULL);
        else tile_aside(b, tile, rows, j, cols, a, a_row, a_col, packed, &t);
    }
}

/* Items run through the panels of A within one sweep, so B's part of the sweep stays in cache. */
static void compute_items(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    int64_t j = begin / b->panels * b->sweep, panel = begin % b->panels;
    for (int64_t item = begin; item < end; item++) {
        sweep_panel(b, panel, j, tn_least(j + b->sweep, b->n));
        if (++panel == b->panels) panel = 0, j += b->sweep;
    }
}

static void store_sums(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    const tn_gemm_blocks *g = b->g;
    for (int64_t i = begin; i < end; i++)
        g->store(g->c + c_offset(g, b->i0 + i) + b->j0 * g->c_col, g->c_col,
                 b->sum + i * b->s.max_n * b->s.e, b->n, false);
}

/* Of the block among those of a whole B, in bytes. */
static int64_t packed_offset(const block *b)
{
    return (b->j0 * b->g->k + vectors(b, b->n) * b->s.loops->vl * b->p0) * b->s.e;
}

size_t tn_gemm_blocks_packed_bytes(const tn_gemm_blocks *g)
{
    sizes s = sizes_of(g);
    return (size_t)tn_round_up(tn_round_up(g->n, s.loops->vl) * g->k * s.e, 64);
}

void tn_gemm_blocks_pack(const tn_gemm_blocks *g, tn_thread_pool *pool, char *to)
{
    block b = {.g = g, .s = sizes_of(g)};
    for (b.j0 = 0; b.j0 < g->n; b.j0 += b.s.max_n)
        for (b.p0 = 0; b.p0 < g->k; b.p0 += b.s.kb) {
            b.n = tn_least(b.s.max_n, g->n - b.j0);
            b.k = tn_least(b.s.kb, g->k - b.p0);
            b.packed_b = to + packed_offset(&b);
            b.b_items = tn_ceil_div(b.n, PACK_PANELS * b.s.nr);
            tn_parallel_for(pool, b.b_items, 0.3 * (double)b.n * (double)b.k / (double)b.b_items,
                            pack_items, &b);
        }
}

static void run_block(block *b, tn_thread_pool *pool)
{
    b->panels = tn_ceil_div(b->m, b->s.loops->mr);
    b->panel_rows = b->m / b->panels;
    b->longer = b->m % b->panels;
    b->a_items = b->g->pack_a ? b->panels : 0;
    b->b_items = b->g->packed_b ? 0 : tn_ceil_div(b->n, PACK_PANELS * b->s.nr);
    if (b->g->packed_b) b->packed_b = (char *)b->g->packed_b + packed_offset(b);
    double elements = (double)b->m * (double)b->k * (b->a_items > 0) +
                      (double)b->n * (double)b->k * (b->b_items > 0);
    int64_t items = b->a_items + b->b_items;
    if (items) tn_parallel_for(pool, items, 0.3 * elements / (double)items, pack_items, b);

    b->sweep = sweep_of(&b->s);
    items = b->panels * tn_ceil_div(b->n, b->sweep);
    double products = (double)b->m * (double)b->n * (double)b->k;
    tn_parallel_for(pool, items, tn_gemm_cost_ns(b->g->kind, b->s.loops, products) / (double)items,
                    compute_items, b);
}

/* --- blocks along k shared out --- */

typedef struct {
    const tn_gemm_blocks *g;
    sizes s;
    int64_t first, blocks; /* of this wave */
    bool last;             /* wave */
    char *total, *sums;    /* [max_m][max_n], [blocks][max_m][max_n] */
    tn_work_parts parts;
} wave;

static void wave_blocks(void *ctx, int64_t begin, int64_t end)
{
    wave *w = ctx;
    const tn_gemm_blocks *g = w->g;
    char *memory;
    int part = tn_work_parts_take(&w->parts, &memory);
    for (int64_t i = begin; i < end; i++) {
        block b = {.g = g, .s = w->s, .m = g->m, .n = g->n, .p0 = (w->first + i) * w->s.kb};
        b.k = tn_least(w->s.kb, g->k - b.p0);
        b.packed_a = memory;
        b.packed_b = memory + w->s.a_bytes;
        b.sum = w->sums + i * w->s.max_m * w->s.max_n * w->s.e;
        run_block(&b, NULL);
    }
    tn_work_parts_free(&w->parts, part);
}

static void add_wave(void *ctx, int64_t begin, int64_t end)
{
    const wave *w = ctx;
    const tn_gemm_blocks *g = w->g;
    int64_t pitch = w->s.max_n * w->s.e;
    tn_gemm_store *add = tn_gemm_store_for(g->kind, tn_gemm_kind_type(g->kind));
    for (int64_t r = begin; r < end; r++) {
        char *total = w->total + r * pitch;
        for (int64_t i = 0; i < w->blocks; i++)
            add(total, w->s.e, w->sums + (i * w->s.max_m + r) * pitch, g->n, w->first + i > 0);
        if (w->last) g->store(g->c + c_offset(g, r), g->c_col, total, g->n, false);
    }
}

static void run_by_blocks(const tn_gemm_blocks *g, const sizes *s, tn_thread_pool *pool,
                          char *workspace)
{
    wave w = {.g = g, .s = *s};
    int64_t all = tn_ceil_div(g->k, s->kb);
    tn_work_parts_init(&w.parts, workspace, (size_t)part_bytes(s), g->threads);
    w.total = workspace + part_bytes(s) * g->threads;
    w.sums = w.total + s->max_m * s->max_n * s->e;
    double cost = tn_gemm_cost_ns(g->kind, s->loops, (double)g->m * (double)g->n * (double)s->kb) +
                  0.3 * (double)(g->n * s->kb);
    for (; w.first < all; w.first += w.blocks) {
        w.blocks = tn_least(WAVE_BLOCKS, all - w.first);
        w.last = w.first + w.blocks == all;
        tn_parallel_for(pool, w.blocks, cost, wave_blocks, &w);
        tn_parallel_for(pool, g->m, 0.1 * (double)(g->n * w.blocks), add_wave, &w);
    }
}

void tn_gemm_blocks_run(const tn_gemm_blocks *g, tn_thread_pool *pool, char *workspace)
{
    block b = {.g = g, .s = sizes_of(g)};
    if (by_blocks(g, &b.s)) {
        run_by_blocks(g, &b.s, pool, workspace);
        return;
    }
    b.packed_a = workspace;
    b.packed_b = workspace + b.s.a_bytes;
    b.sum = b.s.sum_bytes ? b.packed_b + b.s.b_bytes : NULL;
    for (b.j0 = 0; b.j0 < g->n; b.j0 += b.s.max_n) {
        b.n = tn_least(b.s.max_n, g->n - b.j0);
        for (b.i0 = 0; b.i0 < g->m; b.i0 += b.s.max_m) {
            b.m = tn_least(b.s.max_m, g->m - b.i0);
            for (b.p0 = 0; b.p0 < g->k; b.p0 += b.s.kb) {
                b.k = tn_least(b.s.kb, g->k - b.p0);
                b.add = b.p0 > 0 || g->add;
                run_block(&b, pool);
            }
            if (b.sum) tn_parallel_for(pool, b.m, 0.5 * (double)b.n, store_sums, &b);
        }
    }
}
