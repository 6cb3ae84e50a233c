/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_rows.h"

#include <string.h>

#include "kernels/gemm_plan.h"
#include "kernels/int_math.h"

enum {
    SWEEP_BYTES = 1024, /* of a row of B that goes through all rows of A before the next */
    WORTH_COPYING = 64, /* columns of B from which on rows of A may be copied first */
    MAX_TILE_BYTES = 14 * 4 * 64,
};

bool tn_gemm_rows_fit(const tn_gemm *g)
{
    if (g->a_type != g->c_type || g->b_type != g->c_type || g->c_col != 1) return false;
    if (g->c_type != TN_F32 && g->c_type != TN_F64) return false;
    if (g->m < 1 || g->n < 2 || g->k < 1) return false;
    tn_gemm_plan p = tn_gemm_plan_make(g);
    return !p.exchanged && (p.path == TN_GEMM_DIRECT || p.path == TN_GEMM_PACKED);
}

int64_t tn_gemm_rows_unit(const tn_gemm *g)
{
    return tn_gemm_plan_make(g).loops->mr;
}

double tn_gemm_rows_ns(const tn_gemm *g)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    return tn_gemm_cost_ns(p.kind, p.loops, (double)g->n * (double)g->k);
}

/* --- B: [product][k block][panel][k][columns], the last panel of whole vectors --- */

static int64_t panel_columns(const tn_gemm_plan *p)
{
    return p->loops->nv * p->loops->vl;
}

static int64_t product_bytes(const tn_gemm_plan *p)
{
    return tn_round_up(tn_round_up(p->n, p->loops->vl) * p->k * p->e, 64);
}

static int64_t batch_offset(const tn_gemm *g, const int64_t *steps, int64_t product)
{
    int64_t at = 0;
    for (uint32_t d = g->batch_rank; d-- > 0; product /= g->batch[d])
        at += product % g->batch[d] * steps[d];
    return at;
}

size_t tn_gemm_rows_packed_bytes(const tn_gemm *g)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    return (size_t)(tn_gemm_batch_count(g) * product_bytes(&p));
}

int64_t tn_gemm_rows_pack_items(const tn_gemm *g)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    return tn_gemm_batch_count(g) * ((p.n + panel_columns(&p) - 1) / panel_columns(&p));
}

void tn_gemm_rows_pack(const tn_gemm *g, const void *b, void *packed, int64_t begin, int64_t end)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    int64_t nr = panel_columns(&p), panels = (p.n + nr - 1) / nr;
    int64_t kb = tn_gemm_k_block(p.kind, p.k), columns = tn_round_up(p.n, p.loops->vl);
    for (int64_t item = begin; item < end; item++) {
        int64_t product = item / panels, j = item % panels * nr, cols = tn_least(nr, p.n - j);
        int64_t width = tn_round_up(cols, p.loops->vl);
        const char *of = (const char *)b + batch_offset(g, g->b_batch, product) * p.b_size;
        tn_gemm_matrices matrices = {&p, NULL, of};
        tn_gemm_blocks blocks = tn_gemm_matrix_blocks(&matrices, NULL);
        for (int64_t q = 0; q < p.k; q += kb) {
            int64_t k = tn_least(kb, p.k - q);
            char *to = (char *)packed + product * product_bytes(&p) + (q * columns + j * k) * p.e;
            if (cols < width) memset(to, 0, (size_t)(width * k * p.e));
            blocks.pack_b(&matrices, j, cols, q, k, to, width * p.e);
        }
    }
}

/* --- rows --- */

/* A as tiles read it. */
typedef struct {
    const char *at;
    int64_t row, col;
} operand;

/* Rows that are some multiple of a page apart would meet in the same sets of the cache. */
static bool is_read_in_place(const tn_gemm_plan *p)
{
    if (p->a_col != p->e) return false;
    return p->a_row % 1024 != 0 || p->n < WORTH_COPYING;
}

static bool is_by_columns(const tn_gemm_plan *p)
{
    return p->a_row == p->e && p->a_col != p->e;
}

static int64_t pitch(const tn_gemm_plan *p)
{
    int64_t n = tn_round_up(tn_gemm_k_block(p->kind, p->k), 16);
    return n * p->e % 1024 ? n : n + 16;
}

static size_t copy_bytes(const tn_gemm_plan *p, int64_t rows)
{
    if (is_read_in_place(p)) return 0;
    int64_t n = is_by_columns(p) ? tn_gemm_k_block(p->kind, p->k) * rows : rows * pitch(p);
    return (size_t)tn_round_up(n * p->e, 64);
}

size_t tn_gemm_rows_workspace(const tn_gemm *g, int64_t rows)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    return copy_bytes(&p, rows);
}

static operand place_rows(const tn_gemm_plan *p, const char *a, int64_t rows, int64_t k, char *copy)
{
    if (is_read_in_place(p)) return (operand){a, p->a_row, p->a_col};
    if (is_by_columns(p)) {
        for (int64_t q = 0; q < k; q++)
            p->load_a(copy + q * rows * p->e, a + q * p->a_col, p->a_row, rows);
        return (operand){copy, p->e, rows * p->e};
    }
    for (int64_t r = 0; r < rows; r++)
        p->load_a(copy + r * pitch(p) * p->e, a + r * p->a_row, p->a_col, k);
    return (operand){copy, pitch(p) * p->e, p->e};
}

static void panel(const tn_gemm_plan *p, const operand *a, int64_t i, int64_t rows, int64_t k,
                  const char *b, int64_t cols, char *c, bool add)
{
    _Alignas(64) char beside[MAX_TILE_BYTES];
    int64_t vectors = (cols + p->loops->vl - 1) / p->loops->vl;
    int64_t row = vectors * p->loops->vl * p->e;
    tn_gemm_tile *tile = p->loops->tiles[(rows - 1) * p->loops->nv + vectors - 1];
    const char *from = a->at + i * a->row;
    if (row == cols * p->e || vectors <= p->loops->masked) {
        tile(k, from, a->row, a->col, b, row, c, p->c_row, cols, add ? TN_TILE_ADD : TN_TILE_STORE,
             NULL);
        return;
    }
    tile(k, from, a->row, a->col, b, row, beside, row, vectors * p->loops->vl, TN_TILE_STORE, NULL);
    for (int64_t r = 0; r < rows; r++)
        p->store_c(c + r * p->c_row, p->c_col, beside + r * row, cols, add);
}

void tn_gemm_rows_run(const tn_gemm *g, int64_t product, const void *a, const void *packed,
                      int64_t first, int64_t rows, void *c, void *workspace)
{
    tn_gemm_plan p = tn_gemm_plan_make(g);
    int64_t nr = panel_columns(&p), sweep = tn_round_up(SWEEP_BYTES / p.e, nr);
    int64_t kb = tn_gemm_k_block(p.kind, p.k), columns = tn_round_up(p.n, p.loops->vl);
    int64_t panels = (rows + p.loops->mr - 1) / p.loops->mr;
    const char *b = (const char *)packed + product * product_bytes(&p);
    const char *from = (const char *)a + batch_offset(g, g->a_batch, product) * p.a_size;
    from += first * p.a_row;
    for (int64_t q = 0; q < p.k; q += kb) {
        int64_t k = tn_least(kb, p.k - q);
        operand block = place_rows(&p, from + q * p.a_col, rows, k, workspace);
        for (int64_t s = 0; s < p.n; s += sweep)
            for (int64_t i = 0, left = panels; left > 0; left--) {
                int64_t n = (rows - i + left - 1) / left;
                for (int64_t j = s; j < tn_least(s + sweep, p.n); j += nr)
                    panel(&p, &block, i, n, k, b + (q * columns + j * k) * p.e,
                          tn_least(nr, p.n - j), (char *)c + i * p.c_row + j * p.e, q > 0);
                i += n;
            }
    }
}
