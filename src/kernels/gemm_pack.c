/* SPDX-License-Identifier: Apache-2.0 */
/* Strided matrices as the operands of gemm_blocks.h. */
#include "kernels/gemm_plan.h"

#include <string.h>

static void transpose(const tn_gemm_plan *p, char *dst, int64_t dst_row, const char *src,
                      int64_t src_row, int64_t rows, int64_t cols)
{
    if (p->e == 4) p->table->transpose4(dst, dst_row, src, src_row, rows, cols);
    else p->table->transpose8(dst, dst_row, src, src_row, rows, cols);
}

/* dst[r * row + q * col] = src[r][q], where src is contiguous along q, through a buffer if the type
 * differs. */
static void copy_transposed(const tn_gemm_plan *p, tn_gemm_load *load, bool plain, const char *src,
                            int64_t src_row, int64_t src_col, int64_t rows, int64_t cols, char *dst,
                            int64_t dst_row)
{
    enum { ROWS = 16, COLS = 64 };
    char buffer[ROWS * COLS * 8];
    if (plain) {
        transpose(p, dst, dst_row, src, src_row, rows, cols);
        return;
    }
    for (int64_t r = 0; r < rows; r += ROWS) {
        int64_t n_rows = rows - r < ROWS ? rows - r : ROWS;
        for (int64_t q = 0; q < cols; q += COLS) {
            int64_t n_cols = cols - q < COLS ? cols - q : COLS;
            for (int64_t i = 0; i < n_rows; i++)
                load(buffer + i * COLS * p->e, src + (r + i) * src_row + q * src_col, src_col,
                     n_cols);
            transpose(p, dst + q * dst_row + r * p->e, dst_row, buffer, COLS * p->e, n_rows,
                      n_cols);
        }
    }
}

static void pack_a(const void *source, int64_t i, int64_t rows, int64_t q, int64_t k, char *dst,
                   int64_t row, int64_t col)
{
    const tn_gemm_matrices *s = source;
    const tn_gemm_plan *p = s->p;
    const char *src = s->a + i * p->a_row + q * p->a_col;
    if (col == p->e)
        for (int64_t r = 0; r < rows; r++)
            p->load_a(dst + r * row, src + r * p->a_row, p->a_col, k);
    else
        for (int64_t c = 0; c < k; c++)
            p->load_a(dst + c * col, src + c * p->a_col, p->a_row, rows);
}

static void pack_b(const void *source, int64_t j, int64_t cols, int64_t q, int64_t k, char *dst,
                   int64_t row)
{
    const tn_gemm_matrices *s = source;
    const tn_gemm_plan *p = s->p;
    const char *src = s->b + q * p->b_row + j * p->b_col;
    if (p->b_row == p->b_size && p->e <= 8)
        copy_transposed(p, p->load_b, p->b_plain, src, p->b_col, p->b_row, cols, k, dst, row);
    else if (p->b_plain && p->b_col == p->e && cols * p->e == row &&
             row % (p->loops->vl * p->e) == 0 && !tn_gemm_is_complex(p->kind))
        p->table->copy_panel(dst, src, p->b_row, k, cols / p->loops->vl);
    else
        for (int64_t c = 0; c < k; c++)
            p->load_b(dst + c * row, src + c * p->b_row, p->b_col, cols);
}

/* Kind P16: `q` and `k` count pairs along k; an odd end is filled with 0. */
static void pack_a_pairs(const void *source, int64_t i, int64_t rows, int64_t q, int64_t k,
                         char *dst, int64_t row, int64_t col)
{
    const tn_gemm_matrices *s = source;
    const tn_gemm_plan *p = s->p;
    int64_t n = 2 * k < p->k - 2 * q ? 2 * k : p->k - 2 * q;
    const char *src = s->a + i * p->a_row + 2 * q * p->a_col;
    for (int64_t r = 0; r < rows; r++, dst += row, src += p->a_row) {
        p->load_a(dst, src, p->a_col, n);
        if (n % 2) memset(dst + 2 * n, 0, 2);
    }
}

static void pack_b_pairs(const void *source, int64_t j, int64_t cols, int64_t q, int64_t k,
                         char *dst, int64_t row)
{
    enum { ROWS = 16, COLS = 32, MAX_COLS = 64 };
    const tn_gemm_matrices *s = source;
    const tn_gemm_plan *p = s->p;
    int64_t end = 2 * (q + k) < p->k ? 2 * (q + k) : p->k;
    const char *src = s->b + j * p->b_col;
    char buffer[ROWS * COLS * 4];
    if (p->b_row == p->b_size) {
        for (int64_t c = 0; c < cols; c += ROWS)
            for (int64_t d = 0; d < k; d += COLS) {
                int64_t rows = cols - c < ROWS ? cols - c : ROWS,
                        pairs = k - d < COLS ? k - d : COLS;
                int64_t from = 2 * (q + d), n = 2 * pairs < end - from ? 2 * pairs : end - from;
                for (int64_t r = 0; r < rows; r++) {
                    char *to = buffer + r * COLS * 4;
                    p->load_b(to, src + (c + r) * p->b_col + from * p->b_row, p->b_row, n);
                    if (n % 2) memset(to + 2 * n, 0, 2);
                }
                p->table->transpose4(dst + d * row + c * 4, row, buffer, COLS * 4, rows, pairs);
            }
        return;
    }
    char *even = buffer, *odd = buffer + MAX_COLS * 2;
    for (int64_t d = 0; d < k; d++, dst += row) {
        int64_t from = 2 * (q + d);
        p->load_b(even, src + from * p->b_row, p->b_col, cols);
        if (from + 1 < end) p->load_b(odd, src + (from + 1) * p->b_row, p->b_col, cols);
        else memset(odd, 0, (size_t)cols * 2);
        tn_gemm_interleave16(dst, even, odd, cols);
    }
}

/* Tiles may read A where it is, unless each step along k would touch another page. */
static bool a_in_place(const tn_gemm_plan *p)
{
    enum { NEAR = 1024 }; /* bytes */
    return p->a_plain &&
           (p->a_col == p->e || (p->a_row == p->e && p->a_col > 0 && p->a_col <= NEAR));
}

tn_gemm_blocks tn_gemm_matrix_blocks(const tn_gemm_matrices *s, char *c)
{
    const tn_gemm_plan *p = s->p;
    tn_gemm_blocks g = {
        .kind = p->kind,
        .table = p->table,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .source = s,
        .pack_a = a_in_place(p) ? NULL : pack_a,
        .a_by_columns = p->a_row == p->a_size && p->a_col != p->a_size,
        .a = s->a,
        .a_row = p->a_row,
        .a_col = p->a_col,
        .pack_b = pack_b,
        .c = c,
        .c_row = p->c_row,
        .c_col = p->c_col,
        .store = p->store_c,
        .c_plain = p->c_plain,
        .add = p->add,
        .packed_b = p->packed_b,
    };
    if (p->pairs) {
        g.kind = TN_GEMM_P16;
        g.k = (p->k + 1) / 2;
        g.pack_a = pack_a_pairs;
        g.a_by_columns = false;
        g.pack_b = pack_b_pairs;
    }
    return g;
}
