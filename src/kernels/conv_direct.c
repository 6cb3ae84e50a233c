/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with tiles that read the input where it is.
 *
 * One loop of rows and one of terms run inside a tile: rows step through the input at one stride,
 * terms at another. In a forward convolution these are the positions along a line and the input
 * features; in the gradient of a kernel, where images and features have changed places, the
 * features and the positions. All other loops run around, adding tiles into a buffer the size of
 * one. Where a window leaves the input only the rows or terms inside are computed, so there is no
 * padded copy. */
#include "kernels/conv_paths.h"

#include <string.h>

#include "kernels/gemm_blocks.h"
#include "kernels/int_math.h"

enum {
    BLOCK_ROWS = 512, /* of the result done with one panel of the kernel before the next panel */
    MIN_ITEMS = 32,   /* pieces to aim at when there are few rows */
    PANEL_BYTES = 1 << 19, /* a larger panel of the kernel is done in blocks of terms */
    MAX_TILE_BYTES = 14 * 2 * 64,
};

/* The loop of terms around the run that tiles can go through without coming back, or -1: the last
 * one whose steps all concern the same rows. */
static int fused_term(const tn_conv_part *p, int row, int term)
{
    for (int t = p->n_terms - 1; t >= 0; t--)
        if (t != term)
            return p->terms[t].edge >= 0 && p->terms[t].edge == p->rows[row].edge ? -1 : t;
    return -1;
}

/* Steps of a loop around runs of `run` products that make one block of a sum. */
static int64_t fused_steps(const tn_conv_part *p, int64_t steps, int64_t run)
{
    return tn_most(1, tn_gemm_k_block(p->kind, steps * run) / run);
}

static bool share_edge(const tn_conv_part *p, int row, int term)
{
    return p->rows[row].edge >= 0 && p->rows[row].edge == p->terms[term].edge;
}

/* The share of pairs of an output and a term that are inside of the input. */
static double share_inside(const tn_conv_part *p)
{
    double share = 1;
    for (int r = 0; r < p->n_rows; r++)
        for (int t = 0; t < p->n_terms; t++) {
            if (p->rows[r].edge < 0 || p->rows[r].edge != p->terms[t].edge) continue;
            const tn_conv_edge *e = &p->edges[p->rows[r].edge];
            int64_t taps = p->terms[t].size / p->terms[t].unit, pairs = 0;
            for (int64_t tap = 0, x = e->shift; tap < taps; tap++, x += e->term_step) {
                int64_t begin = x < 0 ? tn_ceil_div(-x, e->step) : 0,
                        end = x < e->size ? tn_ceil_div(e->size - x, e->step) : 0;
                pairs += tn_most(0, tn_least(end, p->rows[r].size) - begin);
            }
            share *= (double)pairs / ((double)taps * (double)p->rows[r].size);
        }
    return share;
}

static double tile_cost(const tn_conv_part *p, int row, int term)
{
    const tn_conv_rows *r = &p->rows[row];
    const tn_conv_terms *t = &p->terms[term];
    int64_t low = 0, high = r->size;
    if (share_edge(p, row, term)) tn_conv_inner_rows(p, r, t, &low, &high);
    double around = (double)tn_conv_row_count(p) / (double)r->size;
    double run = (double)tn_least(t->size, tn_gemm_k_block(p->kind, t->size));
    double runs = (double)tn_conv_term_count(p) / run, fused = 1;
    int f = fused_term(p, row, term);
    if (f >= 0)
        fused = (double)tn_least(p->terms[f].size, fused_steps(p, p->terms[f].size, (int64_t)run));
    double cost = (double)(r->size - high + low) * (run * 5 + 60 / fused),
           tiles = (double)(r->size - high + low);
    if (high > low) {
        double segments = (double)tn_ceil_div(high - low, TN_CONV_MODEL_ROWS),
               rows = (double)(high - low) / segments;
        double busy = rows < 4 ? 4 : rows; /* fewer rows than that wait for each other */
        cost += segments * (run * (busy + 1) + (4 * rows + 50) / fused);
        tiles += segments;
    }
    /* Where columns aren't neighbours in the result, rows should be. */
    double storing = p->out_column == p->e ? 0 : r->out == p->e ? 0.3 : 1.5;
    double stored = (double)r->size * (double)p->columns * storing;
    double panels = (double)tn_ceil_div(p->columns * p->e, TN_CONV_MODEL_BYTES);
    return around * (panels * (runs * cost + 150 * tiles) + stored);
}

tn_conv_direct_plan tn_conv_direct_choose(const tn_conv_part *p)
{
    tn_conv_direct_plan best = {-1, -1, 1e300};
    if (tn_gemm_is_complex(p->kind)) return best;
    for (int r = 0; r < p->n_rows; r++)
        for (int t = 0; t < p->n_terms; t++) {
            double cost = tile_cost(p, r, t);
            if (cost < best.cost) best = (tn_conv_direct_plan){r, t, cost};
        }
    best.cost *= share_inside(p); /* of the rest nothing is computed */
    return best;
}

size_t tn_conv_direct_workspace(const tn_conv_part *p)
{
    int64_t vl = p->table->kinds[p->kind].vl;
    return (size_t)tn_round_up(tn_conv_term_count(p) * tn_round_up(p->columns, vl) * p->e, 64);
}

typedef struct {
    const tn_conv_part *p;
    const tn_gemm_loops *loops;
    tn_conv_rows row;
    tn_conv_terms run;
    int term;          /* index of the run among the terms */
    int row_edge_term; /* the loop of terms other than the run that shares the row loop's edge, or
                          -1 */
    int fused;         /* the loop that tiles go through, or -1 */
    bool
        shared; /* the run shares the row loop's edge: rows outside of [low, high) are done alone */
    int64_t low, high;
    int64_t n_terms; /* in all */
    int64_t nr, panels;
    int64_t
        packed_step[TN_CONV_MAX_LOOPS]; /* packed rows of the kernel for one step of a term loop */
    int64_t outer_terms;                /* number of steps of all term loops but the run */
    const char *in, *kernel;
    char *out, *packed;
    int outer_rows[TN_CONV_MAX_LOOPS], n_outer_rows;
    int64_t segments, all_segments; /* of the row loop; of all rows */
    int64_t block;                  /* segments in one item */
    int blocked_term;               /* loop whose steps are done in blocks, or -1 */
    int64_t blocked_begin, blocked_end;
    bool add;
    tn_gemm_store *store;
} job;

/* --- the kernel, packed: panels of columns; in a panel one row for each term, the run innermost
 * --- */

static int64_t panel_columns(const job *j, int64_t panel)
{
    return tn_least(j->nr, j->p->columns - panel * j->nr);
}
static int64_t panel_width(const job *j, int64_t panel)
{
    return tn_round_up(panel_columns(j, panel), j->loops->vl);
}
static char *panel_start(const job *j, int64_t panel)
{
    return j->packed + panel * j->nr * j->n_terms * j->p->e;
}

static void pack_run(const job *j, int64_t panel, int64_t outer)
{
    const tn_conv_part *p = j->p;
    int64_t cols = panel_columns(j, panel), pitch = panel_width(j, panel) * p->e;
    char *dst = panel_start(j, panel) + outer * j->run.size * pitch;
    const char *src = j->kernel + panel * j->nr * p->kernel_column;
    for (int t = p->n_terms - 1; t >= 0; t--) {
        if (t == j->term) continue;
        src += outer % p->terms[t].size * p->terms[t].kernel;
        outer /= p->terms[t].size;
    }
    if (cols * p->e < pitch) memset(dst, 0, (size_t)(j->run.size * pitch));
    tn_conv_pack_terms(p, dst, pitch, src, j->run.kernel, j->run.size, cols);
}

static void pack_items(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t i = begin; i < end; i++) pack_run(j, i / j->outer_terms, i % j->outer_terms);
}

/* --- tiles --- */

/* What is known once a segment of rows is chosen. */
typedef struct {
    int64_t first, rows;                                      /* of the row loop */
    int64_t in, out;                                          /* offsets of row 0 of the row loop */
    int64_t begin[TN_CONV_MAX_LOOPS], end[TN_CONV_MAX_LOOPS]; /* of each loop of terms */
} segment;

static void place_segment(const job *j, int64_t part, segment *s)
{
    int64_t inner = j->high - j->low, tiles = tn_ceil_div(inner, j->loops->mr);
    if (part < j->low) {
        s->first = part, s->rows = 1;
    } else if (part >= j->low + tiles) {
        s->first = j->high + part - j->low - tiles, s->rows = 1;
    } else {
        int64_t size = inner / tiles, longer = inner % tiles;
        part -= j->low;
        s->first = j->low + part * size + tn_least(part, longer);
        s->rows = size + (part < longer);
    }
}

/* False: no term is inside of the input. */
static bool open_segment(const job *j, int64_t index, segment *s)
{
    const tn_conv_part *p = j->p;
    int64_t outer = index / j->segments;
    bool any = true;
    place_segment(j, index % j->segments, s);
    s->in = p->in_start, s->out = p->out_start;
    for (int t = 0; t < p->n_terms; t++) s->begin[t] = 0, s->end[t] = p->terms[t].size;
    if (j->blocked_term >= 0)
        s->begin[j->blocked_term] = j->blocked_begin, s->end[j->blocked_term] = j->blocked_end;
    for (int i = j->n_outer_rows - 1; i >= 0; i--) {
        const tn_conv_rows *r = &p->rows[j->outer_rows[i]];
        int64_t q = outer % r->size;
        outer /= r->size;
        s->in += q * r->in, s->out += q * r->out;
        if (r->edge < 0) continue;
        for (int t = 0; t < p->n_terms; t++) {
            int64_t begin, end;
            if (p->terms[t].edge != r->edge) continue;
            tn_conv_term_range(&p->edges[r->edge], &p->terms[t], q, &begin, &end);
            s->begin[t] = tn_most(s->begin[t], begin), s->end[t] = tn_least(s->end[t], end);
        }
    }
    if (j->shared && s->rows == 1) {
        int64_t begin, end;
        tn_conv_term_range(&p->edges[j->row.edge], &j->run, s->first, &begin, &end);
        s->begin[j->term] = tn_most(s->begin[j->term], begin);
        s->end[j->term] = tn_least(s->end[j->term], end);
    }
    for (int t = 0; t < p->n_terms; t++) any &= s->begin[t] < s->end[t];
    return any;
}

/* Rows [*low, *high) of the segment that may use step `at` of the loop that shares the row loop's
 * edge. */
static void row_range(const job *j, const segment *s, int64_t at, int64_t *low, int64_t *high)
{
    const tn_conv_edge *e = &j->p->edges[j->row.edge];
    int64_t tap = at / j->p->terms[j->row_edge_term].unit, x = e->shift + tap * e->term_step;
    int64_t begin = x < 0 ? tn_ceil_div(-x, e->step) : 0,
            end = x < e->size ? tn_ceil_div(e->size - x, e->step) : 0;
    *low = tn_most(begin, s->first) - s->first;
    *high = tn_least(end, s->first + s->rows) - s->first;
}

/* The next step of the loops of terms around what tiles go through. */
static bool next_terms(const job *j, const segment *s, int64_t *at)
{
    for (int t = j->p->n_terms - 1; t >= 0; t--) {
        if (t == j->term || t == j->fused) continue;
        if (++at[t] < s->end[t]) return true;
        at[t] = s->begin[t];
    }
    return false;
}

/* Where the sums of a segment are made: in the result or beside it. */
typedef struct {
    char *at;
    int64_t row;
} place;

static void clear(const job *j, const segment *s, int64_t panel, place tile)
{
    for (int64_t i = 0; i < s->rows; i++)
        memset(tile.at + i * tile.row, 0, (size_t)(panel_width(j, panel) * j->p->e));
}

/* Adds the products of the run, at all steps of the fused loop, to rows [low, high) of the tile. */
static void sum_runs(const job *j, const segment *s, int64_t panel, const int64_t *at, int64_t low,
                     int64_t high, place tile, bool *started)
{
    const tn_conv_part *p = j->p;
    int64_t width = panel_width(j, panel), pitch = width * p->e;
    int64_t in = s->in + (s->first + low) * j->row.in, k = 0,
            run = s->end[j->term] - s->begin[j->term];
    for (int t = 0; t < p->n_terms; t++)
        if (t != j->term && t != j->fused)
            in += at[t] * p->terms[t].in, k += at[t] * j->packed_step[t];
    int64_t block = tn_gemm_k_block(p->kind, run), first = 0, last = 1, steps = 1;
    tn_tile_runs runs = {1, 0, 0};
    if (j->fused >= 0) {
        first = s->begin[j->fused], last = s->end[j->fused];
        steps = fused_steps(p, last - first, run);
        runs.a = p->terms[j->fused].in, runs.b = j->packed_step[j->fused] * pitch;
    }
    tn_gemm_tile *sum = j->loops->tiles[(high - low - 1) * j->loops->nv + width / j->loops->vl - 1];
    const char *packed = panel_start(j, panel) + k * pitch;
    for (int64_t f = first; f < last; f += steps) {
        runs.n = tn_least(steps, last - f);
        for (int64_t q = s->begin[j->term]; q < s->end[j->term]; q += block) {
            sum(tn_least(block, s->end[j->term] - q), j->in + in + f * runs.a + q * j->run.in,
                j->row.in, j->run.in, packed + f * runs.b + q * pitch, pitch,
                tile.at + low * tile.row, tile.row, width, *started ? TN_TILE_ADD : TN_TILE_STORE,
                &runs);
            *started = true;
        }
    }
}

/* Adds the products of all terms of the segment to `tile`. */
static void sum_segment(const job *j, const segment *s, int64_t panel, place tile, bool started)
{
    const tn_conv_part *p = j->p;
    int64_t at[TN_CONV_MAX_LOOPS];
    memcpy(at, s->begin, sizeof(int64_t) * (size_t)p->n_terms);
    do {
        int64_t low = 0, high = s->rows;
        if (j->row_edge_term >= 0) row_range(j, s, at[j->row_edge_term], &low, &high);
        if (low >= high) continue;
        if (!started && high - low < s->rows) {
            clear(j, s, panel, tile);
            started = true;
        }
        sum_runs(j, s, panel, at, low, high, tile, &started);
    } while (next_terms(j, s, at));
    if (!started) clear(j, s, panel, tile);
}

static char *out_of(const job *j, const segment *s, int64_t panel)
{
    return j->out + s->out + s->first * j->row.out + panel * j->nr * j->p->out_column;
}

static void store_segment(const job *j, const segment *s, int64_t panel, const char *tile)
{
    const tn_conv_part *p = j->p;
    int64_t cols = panel_columns(j, panel), pitch = panel_width(j, panel) * p->e;
    char *out = out_of(j, s, panel);
    if (!j->add && p->out_column != p->e && j->row.out == p->e) {
        if (p->e == 4) p->table->transpose4(out, p->out_column, tile, pitch, s->rows, cols);
        else p->table->transpose8(out, p->out_column, tile, pitch, s->rows, cols);
        return;
    }
    for (int64_t i = 0; i < s->rows; i++, out += j->row.out, tile += pitch)
        j->store(out, p->out_column, tile, cols, j->add);
}

/* Asks for the lines of the result while its sums are made. */
static void fetch(place to, int64_t rows, int64_t bytes)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(to.at + i * to.row + b, 1);
}

static void compute_items(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    _Alignas(64) char beside[MAX_TILE_BYTES];
    for (int64_t item = begin; item < end; item++) {
        int64_t panel = item % j->panels, first = item / j->panels * j->block;
        int64_t last = tn_least(first + j->block, j->all_segments);
        int64_t width = panel_width(j, panel);
        bool in_place = j->p->out_column == j->p->e && width == panel_columns(j, panel);
        for (int64_t i = first; i < last; i++) {
            segment s;
            bool any = open_segment(j, i, &s);
            if (!any && j->add) continue;
            place to = {beside, width * j->p->e};
            if (in_place) {
                to = (place){out_of(j, &s, panel), j->row.out};
                fetch(to, s.rows, width * j->p->e);
            } else if (j->row.out == j->p->e) {
                fetch((place){out_of(j, &s, panel), j->p->out_column}, panel_columns(j, panel), 1);
            }
            if (any) sum_segment(j, &s, panel, to, in_place && j->add);
            else clear(j, &s, panel, to);
            if (!in_place) store_segment(j, &s, panel, beside);
        }
    }
}

/* The outermost loop of terms other than the run is cut so that a panel of the kernel fits the
 * cache. */
static int64_t choose_blocks(job *j)
{
    const tn_conv_part *p = j->p;
    int64_t bytes = j->n_terms * TN_CONV_MODEL_BYTES;
    j->blocked_term = -1;
    if (bytes <= PANEL_BYTES) return 1;
    for (int t = 0; t < p->n_terms && j->blocked_term < 0; t++)
        if (t != j->term && p->terms[t].size > 1) j->blocked_term = t;
    if (j->blocked_term < 0) return 1;
    int64_t steps = p->terms[j->blocked_term].size;
    return tn_least(steps, tn_ceil_div(2 * bytes, PANEL_BYTES));
}

static void prepare(job *j, const tn_conv_direct_plan *plan)
{
    const tn_conv_part *p = j->p;
    j->loops = &p->table->kinds[p->kind];
    j->row = p->rows[plan->row];
    j->run = p->terms[plan->term];
    j->term = plan->term;
    j->row_edge_term = -1;
    j->n_terms = tn_conv_term_count(p);
    j->outer_terms = j->n_terms / j->run.size;
    j->nr = j->loops->nv * j->loops->vl;
    j->panels = tn_ceil_div(p->columns, j->nr);
    j->store = tn_gemm_store_for(p->kind, p->c->type);
    int64_t step = j->run.size;
    for (int t = p->n_terms - 1; t >= 0; t--) {
        if (t == plan->term) continue;
        if (p->terms[t].edge >= 0 && p->terms[t].edge == j->row.edge) j->row_edge_term = t;
        j->packed_step[t] = step;
        step *= p->terms[t].size;
    }
    j->fused = fused_term(p, plan->row, plan->term);
    j->shared = share_edge(p, plan->row, plan->term);
    j->low = 0, j->high = j->row.size;
    if (j->shared) tn_conv_inner_rows(p, &j->row, &j->run, &j->low, &j->high);
    j->segments = j->low + tn_ceil_div(j->high - j->low, j->loops->mr) + j->row.size - j->high;
    j->all_segments = tn_conv_row_count(p) / j->row.size * j->segments;
    j->n_outer_rows = 0;
    for (int r = 0; r < p->n_rows; r++)
        if (r != plan->row) j->outer_rows[j->n_outer_rows++] = r;
    j->block = tn_least(tn_ceil_div(BLOCK_ROWS, tn_ceil_div(j->row.size, j->segments)),
                        tn_most(1, j->all_segments * j->panels / MIN_ITEMS));
}

void tn_conv_direct_run(const tn_conv_part *p, const tn_conv_direct_plan *plan, const char *in,
                        const char *kernel, char *out, tn_thread_pool *pool, char *workspace)
{
    job j = {.p = p, .in = in, .kernel = kernel + p->kernel_start, .out = out, .packed = workspace};
    prepare(&j, plan);
    double size = (double)j.n_terms * (double)p->columns;
    tn_parallel_for(pool, j.panels * j.outer_terms, 0.4 * size / (double)(j.panels * j.outer_terms),
                    pack_items, &j);

    int64_t blocks = choose_blocks(&j), items = tn_ceil_div(j.all_segments, j.block) * j.panels;
    int64_t steps = j.blocked_term >= 0 ? p->terms[j.blocked_term].size : 1;
    double cost = tn_gemm_cost_ns(p->kind, j.loops, size * (double)tn_conv_row_count(p));
    for (int64_t b = 0; b < blocks; b++) {
        j.blocked_begin = b * steps / blocks, j.blocked_end = (b + 1) * steps / blocks;
        j.add = b > 0;
        tn_parallel_for(pool, items, cost / (double)(blocks * items), compute_items, &j);
    }
}
