/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm.h"

#include <string.h>

#include "kernels/gemm_amx.h"
#include "kernels/gemm_batch.h"
#include "kernels/gemm_plan.h"
#include "kernels/gemm_tiny.h"
#include "kernels/work_parts.h"

/* A product of fewer multiply-adds than this is left to one thread when the batch has several. */
static const double OWN_THREAD_PRODUCTS = 1e7;
static const double PRODUCT_NS = 100 /* to begin one */, AMX_IS_FASTER = 6;

bool tn_gemm_supports(tn_element_type a, tn_element_type b, tn_element_type c)
{
    return tn_gemm_kind_for(a, b, c) != TN_GEMM_NONE;
}

/* What one thread needs for one product; PACKED: all threads of the product. */
static size_t part_bytes(const tn_gemm_plan *p, int threads)
{
    size_t size = 0;
    switch (p->path) {
    case TN_GEMM_ZERO:
    case TN_GEMM_PLAIN: break;
    case TN_GEMM_DIRECT: size = tn_gemm_direct_workspace(p); break;
    case TN_GEMM_DOTS: size = tn_gemm_dots_workspace(p); break;
    case TN_GEMM_ORDERED: size = 1; break;
    case TN_GEMM_PACKED: {
        tn_gemm_matrices matrices = {p, NULL, NULL};
        tn_gemm_blocks blocks = tn_gemm_matrix_blocks(&matrices, NULL);
        blocks.threads = threads;
        size = tn_gemm_blocks_workspace(&blocks);
        break;
    }
    }
    return (size + 63) / 64 * 64;
}

static double products(const tn_gemm *g)
{
    return (double)g->m * (double)g->n * (double)g->k;
}

/* Whole products are given to threads, rather than parts of one product to all threads. */
static bool batch_is_parallel(const tn_gemm *g)
{
    return tn_gemm_batch_count(g) > 1 && products(g) < OWN_THREAD_PRODUCTS;
}

static int parts_needed(const tn_gemm *g, const tn_gemm_plan *p, const tn_thread_pool *pool)
{
    bool one = p->path == TN_GEMM_PACKED && !batch_is_parallel(g);
    return one ? 1 : tn_thread_pool_size(pool);
}

/* What one thread needs, or all together where parts of one product go to all threads. */
static size_t part_size(const tn_gemm *g, const tn_gemm_plan *p, const tn_thread_pool *pool)
{
    int threads = batch_is_parallel(g) ? 1 : tn_thread_pool_size(pool);
    size_t size = part_bytes(p, threads), n = (size_t)parts_needed(g, p, pool);
    if (!p->amx) return size;
    size_t amx = tn_gemm_amx_workspace(p, threads);
    if (!batch_is_parallel(g)) amx = (amx + n - 1) / n;
    amx = (amx + 63) / 64 * 64;
    return amx > size ? amx : size;
}

static bool is_empty(const tn_gemm *g)
{
    return g->m <= 0 || g->n <= 0 || tn_gemm_batch_count(g) <= 0;
}

size_t tn_gemm_workspace(const tn_gemm *g, const tn_thread_pool *pool)
{
    if (is_empty(g)) return 0;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    if (tn_gemm_batch_fits(g, &p)) return 0;
    return part_size(g, &p, pool) * (size_t)parts_needed(g, &p, pool);
}

double tn_gemm_ns(const tn_gemm *g)
{
    if (is_empty(g)) return 0;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    if (tn_gemm_batch_fits(g, &p)) return (double)tn_gemm_batch_count(g) * tn_gemm_batch_ns(&p);
    double each = tn_gemm_cost_ns(p.kind, p.loops, products(g));
    return (double)tn_gemm_batch_count(g) * ((p.amx ? each / AMX_IS_FASTER : each) + PRODUCT_NS);
}

bool tn_gemm_may_add(const tn_gemm *g)
{
    enum { LEAST = 4096 }; /* elements of C */
    if ((g->c_type != TN_F32 && g->c_type != TN_F64) || g->a_type != g->c_type ||
        g->b_type != g->c_type || is_empty(g) || tn_gemm_batch_count(g) != 1 ||
        (double)g->m * (double)g->n < LEAST)
        return false;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    if (tn_gemm_batch_fits(g, &p)) return false;
    if (p.path == TN_GEMM_PACKED) return tn_gemm_k_block(p.kind, p.k) == p.k;
    return p.path == TN_GEMM_DIRECT && tn_gemm_direct_is_one_sum(&p);
}

size_t tn_gemm_packed_bytes(const tn_gemm *g)
{
    if ((g->c_type != TN_F32 && g->c_type != TN_F64) || is_empty(g) || tn_gemm_batch_count(g) != 1)
        return 0;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    if (p.path != TN_GEMM_PACKED || p.exchanged || p.amx) return 0;
    tn_gemm_matrices matrices = {&p, NULL, NULL};
    tn_gemm_blocks blocks = tn_gemm_matrix_blocks(&matrices, NULL);
    return tn_gemm_blocks_packed_bytes(&blocks);
}

void tn_gemm_pack(const tn_gemm *g, const void *b, void *packed, tn_thread_pool *pool)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    tn_gemm_matrices matrices = {&p, NULL, b};
    tn_gemm_blocks blocks = tn_gemm_matrix_blocks(&matrices, NULL);
    tn_gemm_blocks_pack(&blocks, pool, packed);
}

typedef struct {
    const tn_gemm *g;
    const tn_gemm_plan *p;
    const char *a, *b;
    char *c;
    tn_work_parts *parts;
} job;

static void zero(const tn_gemm_plan *p, char *c)
{
    static const char zeros[64 * 16];
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j += 64)
            p->store_c(c + i * p->c_row + j * p->c_col, p->c_col, zeros,
                       p->n - j < 64 ? p->n - j : 64, false);
}

static void plain(const job *j)
{
    const tn_gemm_plan *p = j->p;
    _Alignas(16) char row[TN_GEMM_PLAIN_K * 16], column[TN_GEMM_PLAIN_K * 16], sum[16];
    for (int64_t c = 0; c < p->n; c++) {
        p->load_b(column, j->b + c * p->b_col, p->b_row, p->k);
        for (int64_t r = 0; r < p->m; r++) {
            p->load_a(row, j->a + r * p->a_row, p->a_col, p->k);
            tn_gemm_sum_complex(p->kind, row, column, p->k, sum);
            p->store_c(j->c + r * p->c_row + c * p->c_col, p->c_size, sum, 1, false);
        }
    }
}

/* A loop for any kind, for when there is no memory to work in. */
static void naive(const job *one)
{
    const tn_gemm_plan *p = one->p;
    const char *a = one->a, *b = one->b;
    char x[16], y[16], sum[16], *c = one->c;
    tn_element_type a_type = p->exchanged ? one->g->b_type : one->g->a_type;
    tn_element_type b_type = p->exchanged ? one->g->a_type : one->g->b_type;
    tn_gemm_load *load_a = tn_gemm_load_for(p->kind, a_type),
                 *load_b = tn_gemm_load_for(p->kind, b_type);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            memset(sum, 0, sizeof sum);
            for (int64_t q = 0; q < p->k; q++) {
                load_a(x, a + i * p->a_row + q * p->a_col, p->a_size, 1);
                load_b(y, b + q * p->b_row + j * p->b_col, p->b_size, 1);
                tn_gemm_multiply_add(p->kind, x, y, sum);
            }
            p->store_c(c + i * p->c_row + j * p->c_col, p->c_size, sum, 1, p->add);
        }
}

static void columns(const job *j, int64_t begin, int64_t end, char *workspace)
{
    const tn_gemm_plan *p = j->p;
    if (p->path == TN_GEMM_DIRECT) tn_gemm_direct(p, j->a, j->b, j->c, begin, end, workspace);
    else if (p->path == TN_GEMM_DOTS)
        tn_gemm_dots_columns(p, j->a, j->b, j->c, begin, end, workspace);
    else tn_gemm_ordered_columns(p, j->a, j->b, j->c, begin, end);
}

static void some_columns(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t unit = j->p->loops->nv * j->p->loops->vl;
    begin *= unit;
    end = end * unit < j->p->n ? end * unit : j->p->n;
    char *workspace;
    int part = tn_work_parts_take(j->parts, &workspace);
    columns(j, begin, end, workspace);
    tn_work_parts_free(j->parts, part);
}

static void by_columns(const job *j, tn_thread_pool *pool)
{
    const tn_gemm_plan *p = j->p;
    if (!pool) {
        columns(j, 0, p->n, j->parts->memory);
        return;
    }
    int64_t unit = p->loops->nv * p->loops->vl, items = (p->n + unit - 1) / unit;
    double tiles = tn_gemm_cost_ns(p->kind, p->loops, products(j->g));
    double reading = (double)p->n * (double)p->k * (double)p->b_size * 0.05;
    tn_parallel_for(pool, items, (tiles > reading ? tiles : reading) / (double)items, some_columns,
                    (void *)j);
}

static void tiny_by_columns(const job *j, tn_thread_pool *pool)
{
    tn_gemm_tiny t;
    job scaled = *j;
    tn_gemm_tiny_begin(&t, j->p, j->a, j->b);
    scaled.p = &t.plan, scaled.a = t.a, scaled.b = t.b;
    by_columns(&scaled, pool);
    tn_gemm_tiny_end(&t, j->c);
}

static void one_product(const job *j, tn_thread_pool *pool)
{
    const tn_gemm_plan *p = j->p;
    if (p->amx && j->parts->memory && tn_gemm_amx_run(p, j->a, j->b, j->c, pool, j->parts->memory))
        return;
    if (p->path == TN_GEMM_ZERO) {
        zero(p, j->c);
    } else if (p->path == TN_GEMM_PLAIN) {
        plain(j);
    } else if (!j->parts->memory) {
        naive(j);
    } else if (p->path == TN_GEMM_PACKED) {
        tn_gemm_matrices matrices = {p, j->a, j->b};
        tn_gemm_blocks blocks = tn_gemm_matrix_blocks(&matrices, j->c);
        blocks.threads = tn_thread_pool_size(pool);
        tn_gemm_blocks_run(&blocks, pool, j->parts->memory);
    } else if (p->path == TN_GEMM_DOTS && tn_gemm_dots_are_long(p)) {
        tn_gemm_dots_long(p, j->a, j->b, j->c, pool, j->parts);
    } else if (p->path == TN_GEMM_DIRECT && !p->add && tn_gemm_may_be_tiny(p, j->a, j->b)) {
        tiny_by_columns(j, pool);
    } else {
        by_columns(j, pool);
    }
}

/* Products [begin, end) of the batch, each on `pool`. */
static void products_of_batch(const job *all, int64_t begin, int64_t end, tn_thread_pool *pool)
{
    const tn_gemm *g = all->g;
    const tn_gemm_plan *p = all->p;
    const char *a0 = p->exchanged ? all->b : all->a, *b0 = p->exchanged ? all->a : all->b;
    for (int64_t i = begin; i < end; i++) {
        int64_t a = 0, b = 0, c = 0, rest = i;
        for (uint32_t d = g->batch_rank; d-- > 0; rest /= g->batch[d]) {
            int64_t at = rest % g->batch[d];
            a += at * (p->exchanged ? g->b_batch[d] : g->a_batch[d]);
            b += at * (p->exchanged ? g->a_batch[d] : g->b_batch[d]);
            c += at * g->c_batch[d];
        }
        job one = *all;
        one.a = p->k ? a0 + a * p->a_size : NULL; /* without products A and B may be NULL */
        one.b = p->k ? b0 + b * p->b_size : NULL;
        one.c = all->c + c * p->c_size;
        one_product(&one, pool);
    }
}

static void some_products(void *ctx, int64_t begin, int64_t end)
{
    const job *all = ctx;
    job own = *all;
    tn_work_parts part_alone;
    char *memory;
    int part = tn_work_parts_take(all->parts, &memory);
    tn_work_parts_init(&part_alone, memory, all->parts->part_size, 1);
    own.parts = &part_alone;
    products_of_batch(&own, begin, end, NULL);
    tn_work_parts_free(all->parts, part);
}

void tn_gemm_run(const tn_gemm *g, const void *a, const void *b, void *c, tn_thread_pool *pool,
                 void *workspace)
{
    if (is_empty(g)) return;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    if (tn_gemm_batch_fits(g, &p)) {
        tn_gemm_batch_run(g, &p, p.exchanged ? b : a, p.exchanged ? a : b, c, pool);
        return;
    }
    tn_work_parts parts;
    tn_work_parts_init(&parts, workspace, part_size(g, &p, pool), parts_needed(g, &p, pool));
    job all = {.g = g, .p = &p, .a = a, .b = b, .c = c, .parts = &parts};
    int64_t count = tn_gemm_batch_count(g);
    if (batch_is_parallel(g)) {
        tn_parallel_for(pool, count, tn_gemm_ns(g) / (double)count, some_products, &all);
    } else {
        products_of_batch(&all, 0, count, pool);
    }
}

struct tn_gemm_small {
    tn_gemm g;
    tn_gemm_plan plan;
    int64_t count;
    bool together; /* gemm_batch.h */
    size_t bytes;
};

/* More than a few times what it costs to plan. */
static const double SMALL_NS = 8000;

const tn_gemm_small *tn_gemm_small_make(const tn_gemm *g, tn_arena *a)
{
    if (is_empty(g) || tn_gemm_ns(g) > SMALL_NS) return NULL;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    if (p.amx) return NULL;
    tn_gemm_small *s = TN_NEW(a, tn_gemm_small);
    bool together = tn_gemm_batch_fits(g, &p);
    *s = (tn_gemm_small){*g, p, tn_gemm_batch_count(g), together, together ? 0 : part_bytes(&p, 1)};
    return s;
}

size_t tn_gemm_small_workspace(const tn_gemm_small *s)
{
    return s->bytes;
}

void tn_gemm_small_run(const tn_gemm_small *s, const void *a, const void *b, void *c,
                       void *workspace)
{
    const tn_gemm_plan *p = &s->plan;
    const char *x = p->exchanged ? b : a, *y = p->exchanged ? a : b;
    bool one = s->count == 1;
    if (s->together) {
        tn_gemm_batch_run(&s->g, p, x, y, c, NULL);
        return;
    }
    if (one && p->path == TN_GEMM_DIRECT && !tn_gemm_may_be_tiny(p, x, y)) {
        tn_gemm_direct(p, x, y, c, 0, p->n, workspace);
        return;
    }
    if (one && p->path == TN_GEMM_DOTS && !tn_gemm_dots_are_long(p)) {
        tn_gemm_dots_columns(p, x, y, c, 0, p->n, workspace);
        return;
    }
    tn_work_parts parts;
    tn_work_parts_init(&parts, workspace, s->bytes, 1);
    job all = {.g = &s->g, .p = p, .a = a, .b = b, .c = c, .parts = &parts};
    products_of_batch(&all, 0, s->count, NULL);
}
