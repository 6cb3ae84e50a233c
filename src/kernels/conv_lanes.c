/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv_lanes.h"

#include <string.h>

#include "base/cpu_features.h"
#include "kernels/gemm_blocks.h"
#include "kernels/int_math.h"
#include "kernels/work_parts.h"

#if defined(__x86_64__)
extern const tn_conv_lanes_table tn_conv_lanes_table_avx512, tn_conv_lanes_table_avx2;
#endif
extern const tn_conv_lanes_table tn_conv_lanes_table_baseline;

enum {
    MAX_TILE_BYTES = TN_CONV_LANE_ROWS * 4 * 64,
    ITEMS = 4,        /* for a thread */
    BLOCK_ROWS = 16,  /* of the innermost loop, in one item, where there are few */
    SHORT_LIST = 128, /* terms of which several lists are kept */
    KEPT_LISTS = 9,
};

static const tn_conv_lanes_table *table_get(void)
{
#if defined(__x86_64__)
    if (tn_cpu_has(TN_ISA_AVX512)) return &tn_conv_lanes_table_avx512;
    if (tn_cpu_has(TN_ISA_AVX2)) return &tn_conv_lanes_table_avx2;
#endif
    return &tn_conv_lanes_table_baseline;
}

bool tn_conv_is_lanes(const tn_conv *c)
{
    tn_gemm_kind kind = tn_gemm_kind_for(c->type, c->type, c->type);
    return c->out_features == 1 && c->in_group == 1 && c->kernel_group == 1 &&
           !tn_gemm_is_complex(kind) && c->groups >= tn_gemm_table_get()->kinds[kind].vl;
}

static int64_t list_count(const tn_conv_part *p)
{
    return tn_conv_term_count(p) <= SHORT_LIST ? KEPT_LISTS : 1;
}

size_t tn_conv_lanes_workspace(const tn_conv_part *p)
{
    return (size_t)(list_count(p) * tn_conv_term_count(p)) * 2 * sizeof(int64_t);
}

typedef struct {
    const tn_conv_part *p;
    tn_conv_lanes *const *tiles;
    const char *in, *kernel;
    char *out;
    int64_t vl, vectors;   /* elements of a vector; vectors of a tile */
    int64_t width, height; /* columns and rows of one item */
    int64_t column_blocks, row_blocks;
    tn_conv_rows row;  /* the innermost loop of rows, done in tiles */
    int64_t low, high; /* rows of it of which all terms are inside */
    tn_gemm_store *store;
    tn_work_parts *parts;
} job;

/* The terms that a row may use, and where they are. */
typedef struct {
    int64_t begin[TN_CONV_MAX_LOOPS], end[TN_CONV_MAX_LOOPS];
    int64_t n;
    int64_t *in, *kernel;
} terms;

static void fill_terms(const tn_conv_part *p, terms *t)
{
    int64_t at[TN_CONV_MAX_LOOPS];
    t->n = 0;
    for (int i = 0; i < p->n_terms; i++)
        if (t->begin[i] >= t->end[i]) return;
    memcpy(at, t->begin, sizeof at);
    const int inner = p->n_terms - 1;
    for (int i = inner; i >= 0;) {
        int64_t in = 0, kernel = 0;
        for (i = 0; i < p->n_terms; i++)
            in += at[i] * p->terms[i].in, kernel += at[i] * p->terms[i].kernel;
        for (int64_t k = t->begin[inner]; k < t->end[inner]; k++) {
            t->in[t->n] = in, t->kernel[t->n++] = kernel;
            in += p->terms[inner].in, kernel += p->terms[inner].kernel;
        }
        for (i = inner - 1; i >= 0; i--) {
            if (++at[i] < t->end[i]) break;
            at[i] = t->begin[i];
        }
    }
}

/* Narrows the ranges to what row q of a loop of rows may use. */
static void narrow(const tn_conv_part *p, const tn_conv_rows *r, int64_t q, int64_t *begin,
                   int64_t *end)
{
    for (int i = 0; i < p->n_terms && r->edge >= 0; i++) {
        int64_t low, high;
        if (p->terms[i].edge != r->edge) continue;
        tn_conv_term_range(&p->edges[r->edge], &p->terms[i], q, &low, &high);
        begin[i] = tn_most(begin[i], low), end[i] = tn_least(end[i], high);
    }
}

static bool same_ranges(const tn_conv_part *p, const terms *t, const int64_t *begin,
                        const int64_t *end)
{
    for (int i = 0; i < p->n_terms; i++)
        if (t->begin[i] != begin[i] || t->end[i] != end[i]) return false;
    return true;
}

/* Sums of `rows` rows and `vectors` vectors, in tiles of that size, from `column` on. */
static void sum(const job *j, const terms *t, int64_t rows, int64_t vectors, tn_conv_span *s,
                const char *in, int64_t column, char *to)
{
    const tn_conv_part *p = j->p;
    tn_conv_lanes *tiles = j->tiles[j->vectors * (rows - 1) + vectors - 1];
    int64_t block = tn_gemm_k_block(p->kind, t->n);
    for (int64_t k = 0; k < t->n || k == 0; k += block) {
        s->terms = tn_least(block, t->n - k), s->a_at = t->in + k, s->b_at = t->kernel + k;
        s->add = k > 0;
        tiles(s, in, j->kernel + column * p->kernel_column, to);
    }
}

/* A block of the result from `column` on: tiles of `rows` rows by `vectors` vectors. */
static void block(const job *j, const terms *t, int64_t in, int64_t out, int64_t column,
                  int64_t rows, int64_t tiles, int64_t vectors, int64_t groups)
{
    const tn_conv_part *p = j->p;
    const char *from = j->in + in + column * p->e;
    char *to = j->out + out + column * p->out_column;
    tn_conv_span s = {.a_row = j->row.in, .c_row = j->row.out, .tiles = tiles, .groups = groups};
    if (p->out_column == p->e) {
        sum(j, t, rows, vectors, &s, from, column, to);
        return;
    }
    _Alignas(64) char beside[MAX_TILE_BYTES];
    int64_t count = vectors * j->vl;
    s.c_row = count * p->e, s.tiles = s.groups = 1;
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = 0; i < tiles * rows; i += rows) {
            sum(j, t, rows, vectors, &s, from + g * count * p->e + i * j->row.in,
                column + g * count, beside);
            for (int64_t r = 0; r < rows; r++)
                j->store(to + (i + r) * j->row.out + g * count * p->out_column, p->out_column,
                         beside + r * s.c_row, count, false);
        }
}

/* All columns of some rows that use the same terms. A last part of a vector is done as a whole one
 * that begins earlier: what it does again becomes the same. */
static void columns(const job *j, const terms *t, int64_t in, int64_t out, int64_t rows,
                    int64_t tiles, int64_t begin, int64_t end)
{
    int64_t whole = (end - begin) / j->vl, groups = whole / j->vectors, rest = whole % j->vectors;
    if (groups) block(j, t, in, out, begin, rows, tiles, j->vectors, groups);
    begin += groups * j->vectors * j->vl;
    if (rest) block(j, t, in, out, begin, rows, tiles, rest, 1);
    if ((end - begin) % j->vl) block(j, t, in, out, end - j->vl, rows, tiles, 1, 1);
}

/* The terms of row q of the innermost loop; *rows: how many from there on use the same. Rows at the
 * ends have lists of their own, which the items around use again. */
static const terms *terms_of(const job *j, terms *lists, int64_t q, const int64_t *begin,
                             const int64_t *end, int64_t *rows)
{
    const tn_conv_part *p = j->p;
    int64_t first[TN_CONV_MAX_LOOPS], last[TN_CONV_MAX_LOOPS];
    size_t size = sizeof(int64_t) * (size_t)p->n_terms;
    bool whole = q >= j->low && q < j->high;
    terms *t = &lists[whole ? 0 : (1 + q % (KEPT_LISTS - 1)) % list_count(p)];
    memcpy(first, begin, size), memcpy(last, end, size);
    if (!whole) narrow(p, &j->row, q, first, last);
    if (t->n < 0 || !same_ranges(p, t, first, last)) {
        memcpy(t->begin, first, size), memcpy(t->end, last, size);
        fill_terms(p, t);
    }
    *rows = whole ? j->high - q : 1;
    return t;
}

/* The rows of block `i`; ends of the loop belong to the first and the last. */
static void row_block(const job *j, int64_t i, int64_t *begin, int64_t *end)
{
    *begin = i ? j->low + i * j->height : 0;
    *end = i + 1 < j->row_blocks ? j->low + (i + 1) * j->height : j->row.size;
}

static void some_items(void *ctx, int64_t begin_item, int64_t end_item)
{
    const job *j = ctx;
    const tn_conv_part *p = j->p;
    char *memory;
    int part = tn_work_parts_take(j->parts, &memory);
    terms lists[KEPT_LISTS];
    for (int64_t i = 0, n = tn_conv_term_count(p); i < list_count(p); i++) {
        int64_t *list = (int64_t *)memory + 2 * i * n;
        lists[i].n = -1, lists[i].in = list, lists[i].kernel = list + n;
    }
    for (int64_t item = begin_item; item < end_item; item++) {
        int64_t q, end_row, outer = item;
        int64_t in = p->in_start, out = p->out_start, begin[TN_CONV_MAX_LOOPS],
                end[TN_CONV_MAX_LOOPS];
        for (int i = 0; i < p->n_terms; i++) begin[i] = 0, end[i] = p->terms[i].size;
        int64_t column = outer % j->column_blocks * j->width;
        outer /= j->column_blocks;
        row_block(j, outer % j->row_blocks, &q, &end_row);
        outer /= j->row_blocks;
        for (int r = p->n_rows - 2; r >= 0; r--) {
            int64_t at = outer % p->rows[r].size;
            outer /= p->rows[r].size;
            in += at * p->rows[r].in, out += at * p->rows[r].out;
            narrow(p, &p->rows[r], at, begin, end);
        }
        for (int64_t rows; q < end_row; q += rows) {
            const terms *t = terms_of(j, lists, q, begin, end, &rows);
            rows = tn_least(rows, end_row - q);
            int64_t tiles = rows / TN_CONV_LANE_ROWS, rest = rows % TN_CONV_LANE_ROWS;
            int64_t from = in + q * j->row.in, to = out + q * j->row.out;
            int64_t last = tn_least(column + j->width, p->columns);
            if (tiles) columns(j, t, from, to, TN_CONV_LANE_ROWS, tiles, column, last);
            if (!rest) continue;
            columns(j, t, from + (rows - rest) * j->row.in, to + (rows - rest) * j->row.out, rest,
                    1, column, last);
        }
    }
    tn_work_parts_free(j->parts, part);
}

void tn_conv_lanes_run(const tn_conv_part *p, const char *in, const char *kernel, char *out,
                       tn_thread_pool *pool, char *workspace)
{
    const tn_gemm_loops *loops = &p->table->kinds[p->kind];
    const tn_conv_lanes_table *table = table_get();
    tn_work_parts parts;
    size_t part_size = (tn_conv_lanes_workspace(p) + 63) / 64 * 64;
    tn_work_parts_init(&parts, workspace, part_size, tn_thread_pool_size(pool));
    job j = {.p = p,
             .tiles = (p->kernel_column ? table->kinds : table->shared)[p->kind],
             .in = in,
             .kernel = kernel + p->kernel_start,
             .out = out,
             .vl = loops->vl,
             .vectors = table->vectors,
             .row = p->rows[p->n_rows - 1],
             .store = tn_gemm_store_for(p->kind, p->c->type),
             .parts = &parts};
    j.high = j.row.size;
    for (int i = 0; i < p->n_terms && j.row.edge >= 0; i++) {
        int64_t low, high;
        if (p->terms[i].edge != j.row.edge) continue;
        tn_conv_inner_rows(p, &j.row, &p->terms[i], &low, &high);
        j.low = tn_most(j.low, low), j.high = tn_least(j.high, high);
    }
    int64_t rows = tn_conv_row_count(p), outer = rows / j.row.size;
    int64_t enough = (int64_t)ITEMS * tn_thread_pool_size(pool);
    j.height = outer < enough ? BLOCK_ROWS : j.row.size;
    j.row_blocks = tn_most(1, tn_ceil_div(j.high - j.low, j.height));
    /* Few rows, as in the gradient of a kernel: columns are shared out too. */
    j.width = outer * j.row_blocks < enough ? j.vectors * j.vl : p->columns;
    int64_t last = p->columns % j.width; /* block must hold a vector */
    if (last && last < j.vl) j.width = p->columns;
    j.column_blocks = tn_ceil_div(p->columns, j.width);
    int64_t items = outer * j.row_blocks * j.column_blocks;
    double products = (double)rows * (double)tn_conv_term_count(p) * (double)p->columns;
    tn_parallel_for(pool, items, 2 * tn_gemm_cost_ns(p->kind, loops, products) / (double)items,
                    some_items, &j);
}
