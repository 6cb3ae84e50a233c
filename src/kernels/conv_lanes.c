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

enum { BLOCK_ROWS = 16 }; /* of the innermost loop, in one item */

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

size_t tn_conv_lanes_workspace(const tn_conv_part *p)
{
    return (size_t)tn_conv_term_count(p) * 2 * sizeof(int64_t);
}

typedef struct {
    const tn_conv_part *p;
    tn_conv_lanes *const *tiles;
    const char *in, *kernel;
    char *out;
    int64_t vl, width, height; /* elements of a vector; columns and rows of one item */
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
    for (;;) {
        int64_t in = 0, kernel = 0;
        for (int i = 0; i < p->n_terms; i++)
            in += at[i] * p->terms[i].in, kernel += at[i] * p->terms[i].kernel;
        t->in[t->n] = in;
        t->kernel[t->n++] = kernel;
        int i = p->n_terms - 1;
        for (; i >= 0; i--) {
            if (++at[i] < t->end[i]) break;
            at[i] = t->begin[i];
        }
        if (i < 0) return;
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
    size_t size = sizeof(int64_t) * (size_t)p->n_terms;
    return !memcmp(t->begin, begin, size) && !memcmp(t->end, end, size);
}

/* Rows [q, q + rows) of the row loop, vectors from column `j`; of these the columns from `fresh` on
 * are stored. */
static void tile(const job *j, const terms *t, int64_t in, int64_t out, int64_t rows,
                 int64_t column, int64_t vectors, int64_t fresh)
{
    const tn_conv_part *p = j->p;
    _Alignas(64) char beside[TN_CONV_LANE_ROWS * TN_CONV_LANE_VECTORS * 64];
    int64_t e = p->e, pitch = vectors * j->vl * e, block = tn_gemm_k_block(p->kind, t->n);
    bool direct = p->out_column == e && fresh == 0;
    char *to = direct ? j->out + out + column * e : beside;
    int64_t to_row = direct ? j->row.out : pitch;
    tn_conv_lanes *sum = j->tiles[TN_CONV_LANE_VECTORS * (rows - 1) + vectors - 1];
    for (int64_t k = 0; k < t->n || k == 0; k += block)
        sum(tn_least(block, t->n - k), j->in + in + column * e, j->row.in, t->in + k,
            j->kernel + column * p->kernel_column, t->kernel + k, to, to_row, k > 0);
    if (direct) return;
    for (int64_t i = 0; i < rows; i++)
        j->store(j->out + out + i * j->row.out + (column + fresh) * p->out_column, p->out_column,
                 beside + i * pitch + fresh * e, vectors * j->vl - fresh, false);
}

/* All columns of one item. A last part of a vector is done as a whole one that begins earlier. */
static void tiles(const job *j, const terms *t, int64_t in, int64_t out, int64_t rows,
                  int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end;) {
        int64_t vectors = tn_least((end - c) / j->vl, TN_CONV_LANE_VECTORS);
        int64_t fresh = vectors ? 0 : j->vl - (end - c);
        tile(j, t, in, out, rows, c - fresh, vectors ? vectors : 1, fresh);
        c += vectors ? vectors * j->vl : end - c;
    }
}

static void some_items(void *ctx, int64_t begin_item, int64_t end_item)
{
    const job *j = ctx;
    const tn_conv_part *p = j->p;
    char *memory;
    int part = tn_work_parts_take(j->parts, &memory);
    terms t = {
        .n = -1, .in = (int64_t *)memory, .kernel = (int64_t *)memory + tn_conv_term_count(p)};
    for (int64_t item = begin_item; item < end_item; item++) {
        int64_t columns = item % j->column_blocks * j->width, outer = item / j->column_blocks;
        int64_t row = outer % j->row_blocks * j->height,
                end_row = tn_least(row + j->height, j->row.size);
        outer /= j->row_blocks;
        int64_t in = p->in_start, out = p->out_start, begin[TN_CONV_MAX_LOOPS],
                end[TN_CONV_MAX_LOOPS];
        for (int i = 0; i < p->n_terms; i++) begin[i] = 0, end[i] = p->terms[i].size;
        for (int r = p->n_rows - 2; r >= 0; r--) {
            int64_t q = outer % p->rows[r].size;
            outer /= p->rows[r].size;
            in += q * p->rows[r].in, out += q * p->rows[r].out;
            narrow(p, &p->rows[r], q, begin, end);
        }
        for (int64_t q = row, rows; q < end_row; q += rows) {
            int64_t first[TN_CONV_MAX_LOOPS], last[TN_CONV_MAX_LOOPS];
            size_t size = sizeof(int64_t) * (size_t)p->n_terms;
            memcpy(first, begin, size), memcpy(last, end, size);
            /* Rows that use the same terms make a tile. */
            bool whole = q >= j->low && q < j->high;
            rows = whole ? tn_least(TN_CONV_LANE_ROWS, tn_least(end_row, j->high) - q) : 1;
            if (!whole) narrow(p, &j->row, q, first, last);
            if (t.n < 0 || !same_ranges(p, &t, first, last)) {
                memcpy(t.begin, first, size), memcpy(t.end, last, size);
                fill_terms(p, &t);
            }
            tiles(j, &t, in + q * j->row.in, out + q * j->row.out, rows, columns,
                  tn_least(columns + j->width, p->columns));
        }
    }
    tn_work_parts_free(j->parts, part);
}

void tn_conv_lanes_run(const tn_conv_part *p, const char *in, const char *kernel, char *out,
                       tn_thread_pool *pool, char *workspace)
{
    const tn_gemm_loops *loops = &p->table->kinds[p->kind];
    tn_work_parts parts;
    size_t part_size = (tn_conv_lanes_workspace(p) + 63) / 64 * 64;
    tn_work_parts_init(&parts, workspace, part_size, tn_thread_pool_size(pool));
    job j = {.p = p,
             .tiles = (p->kernel_column ? table_get()->kinds : table_get()->shared)[p->kind],
             .in = in,
             .kernel = kernel + p->kernel_start,
             .out = out,
             .vl = loops->vl,
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
    /* Few rows, as in the gradient of a kernel: columns are shared out too. */
    j.height = outer < 32 && j.row.size >= 2 * BLOCK_ROWS ? BLOCK_ROWS : j.row.size;
    j.row_blocks = tn_ceil_div(j.row.size, j.height);
    j.width = outer * j.row_blocks >= 32 ? p->columns : TN_CONV_LANE_VECTORS * j.vl;
    j.column_blocks = tn_ceil_div(p->columns, j.width);
    if (p->columns % j.width &&
        p->columns % j.width < j.vl) { /* the last block must hold a vector */
        j.width = p->columns;
        j.column_blocks = 1;
    }
    double products = (double)rows * (double)tn_conv_term_count(p) * (double)p->columns;
    int64_t items = outer * j.row_blocks * j.column_blocks;
    tn_parallel_for(pool, items, 2 * tn_gemm_cost_ns(p->kind, loops, products) / (double)items,
                    some_items, &j);
}
