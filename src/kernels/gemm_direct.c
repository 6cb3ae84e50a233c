/* SPDX-License-Identifier: Apache-2.0 */
/* Products that packing would slow down: a few rows against a large B, and small ones. Tiles read A
 * and B where they are; what a tile can't read or write directly (another type, a part of a vector)
 * goes through small buffers. B is streamed: a group of its rows is used for all columns before the
 * next, so that memory is read along rows. */
#include "kernels/gemm_plan.h"
#include "kernels/int_math.h"

#include <string.h>

enum {
    PANELS = 4, /* of A done together */
    GROUP = 16, /* rows of B streamed together, or more if they are short: */
    GROUP_BYTES = 1 << 14,
    LOADED_GROUP = 8,         /* the same where they go through a buffer */
    STREAM_VECTORS = 1 << 14, /* a B of fewer stays in the second-level cache (those are larger
                                 where vectors are wider) and is not streamed */
    STREAMED_VECTORS = 8,     /* of a row that is alone: it is read along */
    SUM_BYTES = 1 << 15,      /* of C being summed */
    MIN_COLS = 128,
    MAX_COLS = 2048,
    MAX_LOADED_COLS = 512,
};

typedef struct {
    int64_t rows; /* of A done together, at most */
    int64_t cols; /* of C done together */
    int64_t kb;
    bool in_place;             /* tiles read and write the operands, also parts of vectors */
    char *a, *b, *chain, *sum; /* buffers: [rows][kb], [LOADED_GROUP][cols], [rows][cols] twice */
} buffers;

static bool is_streamed(const tn_gemm_plan *p, int64_t n)
{
    return p->k * n > (int64_t)STREAM_VECTORS * p->loops->vl;
}

static bool is_in_place(const tn_gemm_plan *p)
{
    return p->loops->masked && p->a_plain && p->b_plain && p->c_plain && p->c_col == p->e;
}

static size_t layout(const tn_gemm_plan *p, char *workspace, buffers *out)
{
    int64_t nr = p->loops->nv * p->loops->vl;
    out->rows = tn_least(p->m, PANELS * p->loops->mr);
    int64_t cols = SUM_BYTES / (out->rows * p->e) / nr * nr;
    cols = tn_most(MIN_COLS, tn_least(cols, p->b_plain ? MAX_COLS : MAX_LOADED_COLS));
    out->cols = tn_least(cols, tn_round_up(p->n, nr));
    out->kb = tn_gemm_k_block(p->kind, p->k);
    out->in_place = is_in_place(p);
    size_t a = p->a_plain ? 0 : (size_t)tn_round_up(out->rows * out->kb * p->e, 64);
    size_t b = (size_t)(LOADED_GROUP * out->cols * p->e),
           c = (size_t)(out->rows * out->cols * p->e);
    out->a = workspace;
    out->b = workspace ? workspace + a : NULL;
    out->chain = workspace ? out->b + b : NULL;
    out->sum = workspace ? out->chain + c : NULL;
    return a + b + 2 * c;
}

size_t tn_gemm_direct_workspace(const tn_gemm_plan *p)
{
    buffers unused;
    return layout(p, NULL, &unused);
}

/* All tiles of rows [0, m) and columns [0, n), n whole vectors or tiles masked. */
static void tiles(const tn_gemm_plan *p, int64_t m, int64_t n, int64_t k, const char *a,
                  int64_t a_row, int64_t a_col, const char *b, int64_t b_row, char *c,
                  int64_t c_row, tn_tile_mode mode)
{
    const tn_gemm_loops *loops = p->loops;
    int64_t panels = (m + loops->mr - 1) / loops->mr;
    if (m == 1 && loops->stream && mode != TN_TILE_ADD && n >= STREAMED_VECTORS * loops->vl) {
        int64_t whole = n / loops->vl * loops->vl;
        loops->stream(k, a, a_col, b, b_row, c, whole, mode == TN_TILE_CHAIN);
        if (whole == n) return;
        n -= whole, b += whole * p->e, c += whole * p->e;
    }
    for (int64_t i = 0, left = panels; left; left--) {
        int64_t rows = (m - i + left - 1) / left;
        for (int64_t j = 0, v = loops->nv; j < n; j += v * loops->vl) {
            while ((v - 1) * loops->vl >= n - j) v--;
            if (v > loops->masked && v * loops->vl > n - j) v--;
            loops->tiles[(rows - 1) * loops->nv + v - 1](
                k, a + i * a_row, a_row, a_col, b + j * p->e, b_row, c + i * c_row + j * p->e,
                c_row, tn_least(n - j, v * loops->vl), mode, NULL);
        }
        i += rows;
    }
}

static void load_b(const tn_gemm_plan *p, const char *b, int64_t k, int64_t n, int64_t width,
                   char *to)
{
    for (int64_t q = 0; q < k; q++, to += width * p->e) {
        /* Short pieces of rows that lie far apart: nobody else fetches the next ones ahead. */
        const char *ahead = b + (q + k) * p->b_row;
        for (int64_t at = 0; at < n * p->b_size; at += 64) __builtin_prefetch(ahead + at);
        p->load_b(to, b + q * p->b_row, p->b_col, n);
        if (n < width) memset(to + n * p->e, 0, (size_t)((width - n) * p->e));
    }
}

/* Rows [0, m) x columns [0, n) of C. `whole`: n is whole vectors or tiles are masked, so B can be
 * read and C written in place (where the types allow it). */
static void block(const tn_gemm_plan *p, const buffers *w, bool whole, int64_t m, int64_t n,
                  const char *a, const char *b, char *c)
{
    bool b_direct = whole && p->b_plain, c_direct = whole && p->c_plain && p->c_col == p->e;
    int64_t width = tn_round_up(n, p->loops->vl), pitch = w->cols * p->e;
    char *sum = c_direct ? c : w->sum;
    int64_t sum_row = c_direct ? p->c_row : pitch;
    bool stream = !b_direct || is_streamed(p, p->n);
    int64_t streamed = tn_most(GROUP, GROUP_BYTES / (width * p->e));

    for (int64_t p0 = 0; p0 < p->k; p0 += w->kb) {
        int64_t kc = tn_least(w->kb, p->k - p0), a_row = p->a_row, a_col = p->a_col;
        int64_t group = b_direct ? (stream ? streamed : kc) : LOADED_GROUP * w->cols / width;
        const char *block_a = a + p0 * a_col;
        if (!p->a_plain) {
            for (int64_t i = 0; i < m; i++)
                p->load_a(w->a + i * w->kb * p->e, block_a + i * a_row, a_col, kc);
            block_a = w->a, a_row = w->kb * p->e, a_col = p->e;
        }
        bool aside = p0 > 0 && kc > group; /* a later block that comes in several groups */
        char *to = aside ? w->chain : sum;
        int64_t to_row = aside ? pitch : sum_row;
        for (int64_t q = 0; q < kc; q += group) {
            int64_t k = tn_least(group, kc - q), b_row = p->b_row;
            const char *from = b + (p0 + q) * b_row;
            if (!b_direct) {
                load_b(p, from, k, n, width, w->b);
                from = w->b, b_row = width * p->e;
            }
            tn_tile_mode mode = q > 0              ? TN_TILE_CHAIN
                                : aside || p0 == 0 ? TN_TILE_STORE
                                                   : TN_TILE_ADD;
            tiles(p, m, b_direct && c_direct ? n : width, k, block_a + q * a_col, a_row, a_col,
                  from, b_row, to, to_row, mode);
        }
        if (!aside) continue;
        tn_gemm_store *add = tn_gemm_store_for(p->kind, tn_gemm_kind_type(p->kind));
        for (int64_t i = 0; i < m; i++) add(sum + i * sum_row, p->e, w->chain + i * pitch, n, true);
    }
    if (c_direct) return;
    for (int64_t i = 0; i < m; i++)
        p->store_c(c + i * p->c_row, p->c_col, w->sum + i * pitch, n, false);
}

bool tn_gemm_direct_is_one_sum(const tn_gemm_plan *p)
{
    return is_in_place(p) && !is_streamed(p, p->n) && tn_gemm_k_block(p->kind, p->k) == p->k;
}

void tn_gemm_direct(const tn_gemm_plan *p, const char *a, const char *b, char *c, int64_t begin,
                    int64_t end, char *workspace)
{
    if (is_in_place(p) && !is_streamed(p, end - begin) && tn_gemm_k_block(p->kind, p->k) == p->k) {
        tiles(p, p->m, end - begin, p->k, a, p->a_row, p->a_col, b + begin * p->e, p->b_row,
              c + begin * p->e, p->c_row, p->add ? TN_TILE_ADD : TN_TILE_STORE);
        return;
    }
    buffers w;
    layout(p, workspace, &w);
    int64_t panels = (p->m + p->loops->mr - 1) / p->loops->mr;
    for (int64_t j = begin; j < end; j += w.cols) {
        int64_t n = tn_least(w.cols, end - j);
        int64_t full = w.in_place ? n : n / p->loops->vl * p->loops->vl;
        const char *block_b = b + j * p->b_col;
        for (int64_t i = 0, left = panels; left > 0; left -= PANELS) {
            int64_t m = left <= PANELS ? p->m - i : (p->m - i) * PANELS / left;
            const char *block_a = a + i * p->a_row;
            char *block_c = c + i * p->c_row + j * p->c_col;
            if (full) block(p, &w, true, m, full, block_a, block_b, block_c);
            if (full < n)
                block(p, &w, false, m, n - full, block_a, block_b + full * p->b_col,
                      block_c + full * p->c_col);
            i += m;
        }
    }
}
