/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_batch.h"

#include <string.h>

#include "kernels/int_math.h"
#include "kernels/interleave.h"

enum {
    LEAST_PRODUCTS = 8,
    MAX_ELEMENTS = 192, /* of both operands and the result of one product */
    MAX_LANES = 16,
    GROUP = 8, /* vectors of products that are transposed together */
    GROUP_BYTES = 32 << 10,
    INTERLEAVED = 6, /* elements of a matrix so small that permuting is less than transposing */
};

static int64_t elements(const tn_gemm_plan *p)
{
    return p->m * p->k + p->k * p->n + p->m * p->n;
}

/* The dimension of the batch along which products lie side by side in vectors. */
static uint32_t longest(const tn_gemm *g)
{
    uint32_t at = 0;
    for (uint32_t d = 1; d < g->batch_rank; d++)
        if (g->batch[d] >= g->batch[at]) at = d;
    return at;
}

bool tn_gemm_batch_fits(const tn_gemm *g, const tn_gemm_plan *p)
{
    if (p->amx || p->pairs || !g->batch_rank || g->batch[longest(g)] < LEAST_PRODUCTS) return false;
    if (p->m > MAX_ELEMENTS || p->n > MAX_ELEMENTS || p->k > MAX_ELEMENTS ||
        elements(p) > MAX_ELEMENTS)
        return false;
    switch (p->path) {
    case TN_GEMM_DIRECT:
    case TN_GEMM_PACKED: return p->loops->batch != NULL;
    case TN_GEMM_DOTS: return p->loops->batch_dots != NULL;
    default: return false;
    }
}

double tn_gemm_batch_ns(const tn_gemm_plan *p)
{
    return 1 + 0.15 * (double)elements(p) +
           (double)(p->m * p->n * p->k) * 0.5 / (double)p->loops->vl;
}

/* One matrix of `rows` by `cols` in each product. Strides in bytes. */
typedef struct {
    int64_t rows, cols, row, col, product, size;
    bool plain;
} matrix;

static void transpose(const tn_gemm_plan *p, char *dst, int64_t dst_row, const char *src,
                      int64_t src_row, int64_t rows, int64_t cols)
{
    if (p->e == 4) p->table->transpose4(dst, dst_row, src, src_row, rows, cols);
    else p->table->transpose8(dst, dst_row, src, src_row, rows, cols);
}

static bool is_dense(const matrix *x)
{
    return (x->col == x->size || x->cols == 1) && (x->row == x->cols * x->size || x->rows == 1);
}

/* Products that lie one after the other, element by element; how many it does. */
static int64_t separate(const tn_gemm_plan *p, const char *from, int64_t n, int64_t count, char *to,
                        int64_t to_row)
{
    char *dst[INTERLEAVED];
    for (int64_t i = 0; i < count; i++) dst[i] = to + i * to_row;
    return tn_separate((size_t)p->e, count, from, n, count, dst);
}

static int64_t interleave(const tn_gemm_plan *p, const char *from, int64_t from_row, int64_t n,
                          int64_t count, char *to)
{
    const char *src[INTERLEAVED];
    for (int64_t i = 0; i < count; i++) src[i] = from + i * from_row;
    return tn_interleave((size_t)p->e, count, src, n, to);
}

static bool are_adjacent(const matrix *x, int64_t count)
{
    return x->product == count * x->size && count > 1 && count <= INTERLEAVED;
}

static void load_dense(const tn_gemm_plan *p, const matrix *x, const char *from, int64_t n,
                       char *to, int64_t to_row)
{
    int64_t count = x->rows * x->cols, done = 0;
    if (are_adjacent(x, count)) done = separate(p, from, n, count, to, to_row);
    transpose(p, to + done * p->e, to_row, from + done * x->product, x->product, n - done, count);
}

/* The matrices of `n` products become rows of all their elements, by rows; false: by columns. */
static bool load(const tn_gemm_plan *p, const matrix *x, tn_gemm_load *load_row, const char *from,
                 int64_t n, char *to, int64_t to_row)
{
    int64_t count = x->rows * x->cols;
    matrix flipped = {x->cols, x->rows, x->col, x->row, x->product, x->size, x->plain};
    if (x->plain && x->product == p->e) {
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->cols; j++, to += to_row)
                memcpy(to, from + i * x->row + j * x->col, (size_t)(n * p->e));
        return true;
    }
    if (x->plain && is_dense(x)) {
        load_dense(p, x, from, n, to, to_row);
        return true;
    }
    if (x->plain && is_dense(&flipped)) {
        load_dense(p, &flipped, from, n, to, to_row);
        return false;
    }
    bool by_rows = x->cols >= x->rows;
    const matrix *y = by_rows ? x : &flipped;
    _Alignas(64) char copy[MAX_LANES * MAX_ELEMENTS * 4];
    int64_t some = MAX_LANES * 4 / p->e;
    for (int64_t l = 0; l < n; l += some) {
        int64_t now = tn_least(some, n - l);
        for (int64_t r = 0; r < now; r++)
            for (int64_t i = 0; i < y->rows; i++)
                load_row(copy + (r * count + i * y->cols) * p->e,
                         from + (l + r) * x->product + i * y->row, y->col, y->cols);
        transpose(p, to + l * p->e, to_row, copy, count * p->e, now, count);
    }
    return by_rows;
}

static void store(const tn_gemm_plan *p, const matrix *x, const char *from, int64_t from_row,
                  int64_t n, char *to)
{
    int64_t count = x->rows * x->cols;
    if (x->plain && x->product == p->e) {
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->cols; j++, from += from_row)
                memcpy(to + i * x->row + j * x->col, from, (size_t)(n * p->e));
        return;
    }
    if (x->plain && is_dense(x)) {
        int64_t done = are_adjacent(x, count) ? interleave(p, from, from_row, n, count, to) : 0;
        transpose(p, to + done * x->product, x->product, from + done * p->e, from_row, count,
                  n - done);
        return;
    }
    _Alignas(64) char copy[MAX_LANES * MAX_ELEMENTS * 4];
    int64_t some = MAX_LANES * 4 / p->e;
    for (int64_t l = 0; l < n; l += some) {
        int64_t now = tn_least(some, n - l);
        transpose(p, copy, count * p->e, from + l * p->e, from_row, count, now);
        for (int64_t r = 0; r < now; r++)
            for (int64_t i = 0; i < x->rows; i++)
                p->store_c(to + (l + r) * x->product + i * x->row, x->col,
                           copy + (r * count + i * x->cols) * p->e, x->cols, false);
    }
}

typedef struct {
    const tn_gemm *g;
    const tn_gemm_plan *p;
    const char *a, *b;
    char *c;
    uint32_t along; /* dimension of the batch */
    int64_t group;  /* vectors of products in one piece of it */
    int64_t pieces;
    matrix am, bm, cm;
} job;

/* Offsets of the first product of an item, in elements. */
typedef struct {
    int64_t a, b, c;
} offsets;

static offsets place(const job *j, int64_t item, int64_t *n)
{
    const tn_gemm *g = j->g;
    int64_t most = j->p->loops->vl * j->group, at = item % j->pieces * most;
    int64_t rest = item / j->pieces;
    const int64_t *a = j->p->exchanged ? g->b_batch : g->a_batch,
                  *b = j->p->exchanged ? g->a_batch : g->b_batch;
    offsets o = {at * a[j->along], at * b[j->along], at * g->c_batch[j->along]};
    *n = tn_least(most, g->batch[j->along] - at);
    for (uint32_t d = g->batch_rank; d-- > 0;) {
        if (d == j->along) continue;
        int64_t i = rest % g->batch[d];
        rest /= g->batch[d];
        o.a += i * a[d], o.b += i * b[d], o.c += i * g->c_batch[d];
    }
    return o;
}

static void items(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const tn_gemm_plan *p = j->p;
    _Alignas(64) char memory[GROUP_BYTES];
    int64_t vector = p->loops->vl * p->e;
    for (int64_t item = begin; item < end; item++) {
        int64_t n;
        offsets o = place(j, item, &n);
        int64_t step = tn_ceil_div(n, p->loops->vl), row = step * vector;
        char *a = memory, *b = a + p->m * p->k * row, *c = b + p->k * p->n * row;
        if (n % p->loops->vl) memset(memory, 0, (size_t)(c - memory));
        bool a_rows = load(p, &j->am, p->load_a, j->a + o.a * p->a_size, n, a, row);
        bool b_rows = load(p, &j->bm, p->load_b, j->b + o.b * p->b_size, n, b, row);
        for (int64_t v = 0; v < step; v++) {
            tn_gemm_together t = {.m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .a = a + v * vector,
                                  .b = b + v * vector,
                                  .a_row = (a_rows ? p->k : 1) * step,
                                  .a_col = (a_rows ? 1 : p->m) * step,
                                  .b_row = (b_rows ? p->n : 1) * step,
                                  .b_col = (b_rows ? 1 : p->k) * step,
                                  .c = c + v * vector,
                                  .step = step};
            if (p->path == TN_GEMM_DOTS) p->loops->batch_dots(&t);
            else p->loops->batch(&t);
        }
        store(p, &j->cm, c, row, n, j->c + o.c * p->c_size);
    }
}

void tn_gemm_batch_run(const tn_gemm *g, const tn_gemm_plan *p, const char *a, const char *b,
                       char *c, tn_thread_pool *pool)
{
    uint32_t along = longest(g);
    const int64_t *x = p->exchanged ? g->b_batch : g->a_batch,
                  *y = p->exchanged ? g->a_batch : g->b_batch;
    job j = {.g = g, .p = p, .a = a, .b = b, .c = c, .along = along};
    int64_t vectors = tn_ceil_div(g->batch[along], p->loops->vl);
    j.group = tn_least(tn_least(GROUP, GROUP_BYTES / (elements(p) * p->loops->vl * p->e)), vectors);
    j.pieces = tn_ceil_div(vectors, j.group);
    j.am = (matrix){p->m, p->k, p->a_row, p->a_col, x[along] * p->a_size, p->a_size, p->a_plain};
    j.bm = (matrix){p->k, p->n, p->b_row, p->b_col, y[along] * p->b_size, p->b_size, p->b_plain};
    j.cm = (matrix){p->m,      p->n,      p->c_row, p->c_col, g->c_batch[along] * p->c_size,
                    p->c_size, p->c_plain};
    int64_t n = tn_gemm_batch_count(g) / g->batch[along] * j.pieces;
    tn_parallel_for(pool, n, tn_gemm_batch_ns(p) * (double)(p->loops->vl * j.group), items, &j);
}
