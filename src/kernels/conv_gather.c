/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as a matrix product: a row of A is the window of one output, gathered block by block,
 * a row of B the kernel's elements of one term. What lies outside of the input is 0. */
#include "kernels/conv_paths.h"

#include <string.h>

#include "kernels/gemm_blocks.h"
#include "kernels/int_math.h"

/* Terms are numbered with the loop that steps least through the input innermost: its runs are
 * copied whole. */
typedef struct {
    const tn_conv_part *p;
    const char *in, *kernel;
    tn_gemm_load *load;
    int order[TN_CONV_MAX_LOOPS]; /* of the loops of terms; the last is the line */
    tn_conv_terms line;
    int64_t low[TN_CONV_MAX_LOOPS], high[TN_CONV_MAX_LOOPS]; /* rows that use all steps of a loop */
} source;

static source source_of(const tn_conv_part *p, const char *in, const char *kernel)
{
    source s = {.p = p, .in = in, .kernel = kernel, .load = tn_gemm_load_for(p->kind, p->c->type)};
    int line = p->n_terms - 1, n = 0;
    for (int t = p->n_terms - 1; t >= 0; t--) {
        int64_t x = p->terms[t].in, y = p->terms[line].in;
        if ((x < 0 ? -x : x) < (y < 0 ? -y : y)) line = t;
    }
    for (int t = 0; t < p->n_terms; t++)
        if (t != line) s.order[n++] = t;
    s.order[n] = line;
    s.line = p->terms[line];
    for (int t = 0; t < p->n_terms; t++)
        for (int r = 0; r < p->n_rows; r++)
            if (p->terms[t].edge >= 0 && p->rows[r].edge == p->terms[t].edge)
                tn_conv_inner_rows(p, &p->rows[r], &p->terms[t], &s.low[t], &s.high[t]);
    return s;
}

/* Steps of the loops of terms at term k of the numbering; the line's step is returned. */
static int64_t terms_at(const source *s, int64_t k, int64_t *at)
{
    int64_t line = k % s->line.size;
    k /= s->line.size;
    for (int i = s->p->n_terms - 2; i >= 0; i--) {
        int64_t size = s->p->terms[s->order[i]].size;
        at[i] = k % size;
        k /= size;
    }
    return line;
}

static void next_line(const source *s, int64_t *at)
{
    for (int i = s->p->n_terms - 2; i >= 0; i--) {
        if (++at[i] < s->p->terms[s->order[i]].size) return;
        at[i] = 0;
    }
}

/* One output's window. */
typedef struct {
    int64_t in;
    int64_t begin[TN_CONV_MAX_LOOPS], end[TN_CONV_MAX_LOOPS]; /* in the order of the numbering */
} window;

/* Steps of the loops of rows at row i, and at the row after those. */
static void rows_at(const tn_conv_part *p, int64_t i, int64_t *at)
{
    for (int r = p->n_rows - 1; r >= 0; r--, i /= p->rows[r + 1].size) at[r] = i % p->rows[r].size;
}
static void next_row(const tn_conv_part *p, int64_t *at)
{
    for (int r = p->n_rows - 1; r >= 0; r--) {
        if (++at[r] < p->rows[r].size) return;
        at[r] = 0;
    }
}

static window window_at(const source *s, const int64_t *row)
{
    const tn_conv_part *p = s->p;
    window w;
    int64_t q_of_edge[TN_CONV_MAX_SPATIAL];
    w.in = p->in_start;
    for (int r = 0; r < p->n_rows; r++) {
        w.in += row[r] * p->rows[r].in;
        if (p->rows[r].edge >= 0) q_of_edge[p->rows[r].edge] = row[r];
    }
    for (int t = 0; t < p->n_terms; t++) {
        int loop = s->order[t];
        const tn_conv_terms *terms = &p->terms[loop];
        w.begin[t] = 0, w.end[t] = terms->size;
        if (terms->edge < 0) continue;
        int64_t q = q_of_edge[terms->edge];
        if (q < s->low[loop] || q >= s->high[loop])
            tn_conv_term_range(&p->edges[terms->edge], terms, q, &w.begin[t], &w.end[t]);
    }
    return w;
}

/* Elements [begin, end) of the line at the steps `at` of the other loops. */
static void gather_line(const source *s, const window *w, const int64_t *at, int64_t begin,
                        int64_t end, char *dst)
{
    const tn_conv_part *p = s->p;
    int n = p->n_terms - 1;
    int64_t e = p->e, in = w->in, low = tn_most(begin, w->begin[n]),
            high = tn_least(end, w->end[n]);
    bool inside = low < high;
    for (int i = 0; i < n; i++) {
        inside &= at[i] >= w->begin[i] && at[i] < w->end[i];
        in += at[i] * p->terms[s->order[i]].in;
    }
    if (!inside) {
        memset(dst, 0, (size_t)((end - begin) * e));
        return;
    }
    if (low > begin) memset(dst, 0, (size_t)((low - begin) * e));
    const char *src = s->in + in + low * s->line.in;
    if (s->line.in == e) memcpy(dst + (low - begin) * e, src, (size_t)((high - low) * e));
    else s->load(dst + (low - begin) * e, src, s->line.in, high - low);
    if (high < end) memset(dst + (high - begin) * e, 0, (size_t)((end - high) * e));
}

static void pack_windows(const void *ctx, int64_t i, int64_t rows, int64_t k, int64_t n, char *dst,
                         int64_t row, int64_t col)
{
    const source *s = ctx;
    int64_t first[TN_CONV_MAX_LOOPS], at[TN_CONV_MAX_LOOPS], start = terms_at(s, k, first);
    int64_t place[TN_CONV_MAX_LOOPS];
    (void)col;
    rows_at(s->p, i, place);
    for (int64_t r = 0; r < rows; r++, dst += row, next_row(s->p, place)) {
        window w = window_at(s, place);
        memcpy(at, first, sizeof(int64_t) * (size_t)s->p->n_terms);
        int64_t line = start;
        for (int64_t q = 0; q < n;) {
            int64_t size = tn_least(s->line.size - line, n - q);
            gather_line(s, &w, at, line, line + size, dst + q * s->p->e);
            q += size;
            line = 0;
            next_line(s, at);
        }
    }
}

static void pack_kernel(const void *ctx, int64_t j, int64_t cols, int64_t k, int64_t n, char *dst,
                        int64_t row)
{
    const source *s = ctx;
    const tn_conv_part *p = s->p;
    int64_t at[TN_CONV_MAX_LOOPS], line = terms_at(s, k, at);
    for (int64_t q = 0; q < n;) {
        const char *src = s->kernel + j * p->kernel_column;
        for (int i = 0; i < p->n_terms - 1; i++) src += at[i] * p->terms[s->order[i]].kernel;
        int64_t rows = tn_least(s->line.size - line, n - q);
        tn_conv_pack_terms(p, dst, row, src + line * s->line.kernel, s->line.kernel, rows, cols);
        q += rows, dst += rows * row, line = 0;
        next_line(s, at);
    }
}

int64_t tn_conv_out_offset(const tn_conv_part *p, int64_t i)
{
    int64_t out = p->out_start;
    for (int r = p->n_rows - 1; r >= 0; r--) {
        out += i % p->rows[r].size * p->rows[r].out;
        i /= p->rows[r].size;
    }
    return out;
}

static void out_offsets(const void *ctx, int64_t i, int64_t rows, int64_t *out)
{
    const tn_conv_part *p = ((const source *)ctx)->p;
    int64_t at[TN_CONV_MAX_LOOPS];
    rows_at(p, i, at);
    for (int64_t r = 0; r < rows; r++, next_row(p, at)) {
        out[r] = p->out_start;
        for (int d = 0; d < p->n_rows; d++) out[r] += at[d] * p->rows[d].out;
    }
}

static tn_gemm_blocks blocks_of(const source *s, char *out)
{
    const tn_conv_part *p = s->p;
    return (tn_gemm_blocks){.kind = p->kind,
                            .table = p->table,
                            .m = tn_conv_row_count(p),
                            .n = p->columns,
                            .k = tn_conv_term_count(p),
                            .source = s,
                            .pack_a = pack_windows,
                            .pack_b = pack_kernel,
                            .c = out,
                            .c_col = p->out_column,
                            .c_offsets = out_offsets,
                            .store = tn_gemm_store_for(p->kind, p->c->type),
                            .c_plain = true};
}

double tn_conv_gather_cost(const tn_conv_part *p)
{
    source s = source_of(p, NULL, NULL);
    double products = (double)tn_conv_row_count(p) * (double)tn_conv_term_count(p);
    double panels = (double)tn_ceil_div(p->columns * p->e, TN_CONV_MODEL_BYTES);
    double copying =
        s.line.in == p->e ? 0.3 + 15.0 / (double)s.line.size : 1.5 + 15.0 / (double)s.line.size;
    return products * (panels * 1.1 + copying);
}

size_t tn_conv_gather_workspace(const tn_conv_part *p)
{
    source s = source_of(p, NULL, NULL);
    tn_gemm_blocks blocks = blocks_of(&s, NULL);
    return tn_gemm_blocks_workspace(&blocks);
}

void tn_conv_gather_run(const tn_conv_part *p, const char *in, const char *kernel, char *out,
                        tn_thread_pool *pool, char *workspace)
{
    source s = source_of(p, in, kernel + p->kernel_start);
    tn_gemm_blocks blocks = blocks_of(&s, out);
    tn_gemm_blocks_run(&blocks, pool, workspace);
}
