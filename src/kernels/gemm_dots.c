/* SPDX-License-Identifier: Apache-2.0 */
/* Products of very few rows with a B that is contiguous along k: each element of C is a sum over
 * two contiguous runs, so neither operand is transposed. */
#include "kernels/gemm_plan.h"
#include "kernels/int_math.h"
#include "kernels/work_parts.h"

#include <string.h>

enum {
    LANE_BYTES = 64,
    MAX_ROWS = 8,
    MAX_COLS = 16,
    CHUNK = 256, /* elements along k that go through the buffers at a time; whole lane vectors */
    MAX_SUM_BYTES = MAX_ROWS * MAX_COLS * 8,
    LEAST_LINE = 1024,
    LEAST_PART = 1 << 15, /* elements along k; whole lane vectors */
    MAX_PARTS = 64,
};

static bool a_is_direct(const tn_gemm_plan *p)
{
    return p->a_plain && p->a_col == p->e;
}

size_t tn_gemm_dots_workspace(const tn_gemm_plan *p)
{
    return (size_t)((MAX_ROWS + MAX_COLS) * CHUNK * p->e);
}

/* One sum that isn't short. */
static bool is_line(const tn_gemm_plan *p)
{
    return p->m == 1 && p->n == 1 && p->k >= LEAST_LINE;
}

static int log2_below(int64_t x)
{
    return x >= 4 ? 2 : x >= 2 ? 1 : 0;
}

/* lanes[i][j] += over `steps` lane vectors, for all rows and columns. */
static void sum(const tn_gemm_plan *p, int64_t rows, int64_t cols, int64_t steps, const char *a,
                int64_t a_row, const char *b, int64_t b_col, char *lanes)
{
    const tn_gemm_loops *loops = p->loops;
    for (int64_t i = 0; i < rows;) {
        int r = log2_below(tn_least(rows - i, loops->dot_rows));
        for (int64_t j = 0; j < cols;) {
            int c = log2_below(tn_least(cols - j, loops->dot_cols));
            loops->dots[3 * r + c](steps, a + i * a_row, a_row, b + j * b_col, b_col, lanes);
            lanes += LANE_BYTES << r << c;
            j += 1 << c;
        }
        i += 1 << r;
    }
}

/* The same for one row whose columns are widened on the way. */
static void sum_narrow(const tn_gemm_plan *p, int64_t cols, int64_t steps, const char *a,
                       const char *b, char *lanes)
{
    for (int64_t j = 0; j < cols;) {
        int64_t n = cols - j >= 4 ? 4 : 1;
        p->narrow_dots[n > 1](steps, a, 0, b + j * p->b_col, p->b_col, lanes);
        lanes += LANE_BYTES * n;
        j += n;
    }
}

/* Brings the sums, block after block as `sum` left them, into rows of MAX_COLS. */
static void arrange(const tn_gemm_plan *p, int64_t rows, int64_t cols, const char *out,
                    char *arranged)
{
    for (int64_t i = 0; i < rows;) {
        int64_t r = (int64_t)1 << log2_below(tn_least(rows - i, p->loops->dot_rows));
        for (int64_t j = 0; j < cols;) {
            int64_t c = (int64_t)1 << log2_below(tn_least(cols - j, p->loops->dot_cols));
            for (int64_t x = i; x < i + r; x++, out += c * p->e)
                memcpy(arranged + (x * MAX_COLS + j) * p->e, out, (size_t)(c * p->e));
            j += c;
        }
        i += r;
    }
}

/* The sums over [begin, end) along k of all rows and `cols` columns, as `sum` orders them, or of
 * one by one as `dot_line` does, then lanes by neighbours; begin is whole lane vectors. */
static void sum_range(const tn_gemm_plan *p, int64_t cols, int64_t begin, int64_t end,
                      const char *a, const char *b, char *buffer, char *out)
{
    _Alignas(64) char lanes[MAX_ROWS * MAX_COLS * LANE_BYTES], tail_a[MAX_ROWS * LANE_BYTES],
        tail_b[MAX_COLS * LANE_BYTES];
    int64_t per_step = LANE_BYTES / p->e, whole = end / per_step * per_step, m = p->m;
    bool line = is_line(p);
    bool a_direct = a_is_direct(p), widens = p->narrow_dots && a_direct && !line;
    bool both_direct = a_direct && (p->b_plain || widens);
    memset(lanes, 0, (size_t)(line ? 4 : m * cols) * LANE_BYTES);
    char *buffer_b = buffer + MAX_ROWS * CHUNK * p->e;
    for (int64_t p0 = begin; p0 < whole;) {
        int64_t k = both_direct ? whole - begin : tn_least(CHUNK, whole - p0);
        const char *chunk_a = a + p0 * p->a_col, *chunk_b = b + p0 * p->b_row;
        int64_t a_row = p->a_row, b_col = p->b_col;
        if (!a_direct) {
            for (int64_t i = 0; i < m; i++)
                p->load_a(buffer + i * CHUNK * p->e, chunk_a + i * a_row, p->a_col, k);
            chunk_a = buffer, a_row = CHUNK * p->e;
        }
        if (!p->b_plain && !widens) {
            for (int64_t j = 0; j < cols; j++)
                p->load_b(buffer_b + j * CHUNK * p->e, chunk_b + j * b_col, p->b_row, k);
            chunk_b = buffer_b, b_col = CHUNK * p->e;
        }
        if (widens) sum_narrow(p, cols, k / per_step, chunk_a, chunk_b, lanes);
        else if (line) p->loops->dot_line(k / per_step, chunk_a, chunk_b, lanes);
        else sum(p, m, cols, k / per_step, chunk_a, a_row, chunk_b, b_col, lanes);
        p0 += k;
    }
    if (whole <
        end) { /* the rest, filled with zeros: they leave a sum that started at +0 as it is */
        memset(tail_a, 0, (size_t)(m * LANE_BYTES));
        memset(tail_b, 0, (size_t)(cols * LANE_BYTES));
        for (int64_t i = 0; i < m; i++)
            p->load_a(tail_a + i * LANE_BYTES, a + i * p->a_row + whole * p->a_col, p->a_col,
                      end - whole);
        for (int64_t j = 0; j < cols; j++)
            p->load_b(tail_b + j * LANE_BYTES, b + j * p->b_col + whole * p->b_row, p->b_row,
                      end - whole);
        sum(p, m, cols, 1, tail_a, LANE_BYTES, tail_b, LANE_BYTES, lanes);
    }
    if (line) {
        tn_gemm_store *add = tn_gemm_store_for(p->kind, tn_gemm_kind_type(p->kind));
        add(lanes, p->e, lanes + LANE_BYTES, per_step, true);
        add(lanes + 2 * LANE_BYTES, p->e, lanes + 3 * LANE_BYTES, per_step, true);
        add(lanes, p->e, lanes + 2 * LANE_BYTES, per_step, true);
    }
    p->loops->reduce_lanes(lanes, m * cols, out);
}

static void store(const tn_gemm_plan *p, int64_t cols, const char *out, char *c)
{
    char arranged[MAX_SUM_BYTES];
    arrange(p, p->m, cols, out, arranged);
    for (int64_t i = 0; i < p->m; i++)
        p->store_c(c + i * p->c_row, p->c_col, arranged + i * MAX_COLS * p->e, cols, false);
}

void tn_gemm_dots_columns(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                          int64_t begin, int64_t end, char *workspace)
{
    if (!is_line(p) && p->m == 1 && p->b_plain && p->c_plain && p->c_col == p->e &&
        a_is_direct(p)) {
        p->loops->dot_row(p->k, a, b + begin * p->b_col, p->b_col, end - begin,
                          c + begin * p->c_col);
        return;
    }
    _Alignas(64) char out[MAX_SUM_BYTES];
    for (int64_t j = begin; j < end; j += MAX_COLS) {
        int64_t cols = tn_least(MAX_COLS, end - j);
        sum_range(p, cols, 0, p->k, a, b + j * p->b_col, workspace, out);
        store(p, cols, out, c + j * p->c_col);
    }
}

void tn_gemm_ordered_columns(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                             int64_t begin, int64_t end)
{
    enum { ROWS = 4, SUMS = 32, MAX_KB = 384 };
    tn_gemm_store *add = tn_gemm_store_for(TN_GEMM_F32, TN_F32);
    int64_t kb = tn_gemm_k_block(p->kind, p->k), width = p->m == 1 ? 16 : 8;
    for (int64_t j = begin; j < end; j += width)
        for (int64_t i = 0; i < p->m; i += ROWS) {
            float sums[SUMS], block[SUMS], copy[ROWS * MAX_KB];
            int64_t rows = tn_least(ROWS, p->m - i), cols = tn_least(width, end - j);
            for (int64_t q = 0; q < p->k; q += kb) {
                int64_t k = tn_least(kb, p->k - q), a_row = p->a_row;
                const char *from = a + i * a_row + q * p->e;
                if (p->m > 1 && rows < ROWS) { /* there have to be four rows */
                    for (int64_t r = 0; r < ROWS; r++)
                        memcpy(copy + r * k, from + (r < rows ? r : 0) * a_row, (size_t)(k * p->e));
                    from = (char *)copy, a_row = k * p->e;
                }
                p->ordered(p->m, k, from, a_row, b + j * p->b_col + q * p->b_row, p->b_col, cols,
                           q ? block : sums);
                if (q) add((char *)sums, p->e, (char *)block, SUMS / 2, true);
                if (q && p->m > 1)
                    add((char *)(sums + SUMS / 2), p->e, (char *)(block + SUMS / 2), SUMS / 2,
                        true);
            }
            for (int64_t r = 0; r < rows; r++)
                p->store_c(c + (i + r) * p->c_row + j * p->c_col, p->c_col,
                           (char *)(sums + r * width), cols, false);
        }
}

/* --- few and long sums: in parts along k, added in order --- */

typedef struct {
    const tn_gemm_plan *p;
    const char *a, *b;
    int64_t part; /* elements along k */
    tn_work_parts *memory;
    char (*sums)[MAX_SUM_BYTES];
} long_job;

static int64_t part_of(const tn_gemm_plan *p)
{
    int64_t per_step = LANE_BYTES / p->e, k = (p->k + MAX_PARTS - 1) / MAX_PARTS;
    k = (k + per_step - 1) / per_step * per_step;
    return k > LEAST_PART ? k : LEAST_PART;
}

bool tn_gemm_dots_are_long(const tn_gemm_plan *p)
{
    return p->n <= MAX_COLS && p->k > LEAST_PART;
}

static void some_parts(void *ctx, int64_t begin, int64_t end)
{
    const long_job *j = ctx;
    char *workspace;
    int taken = tn_work_parts_take(j->memory, &workspace);
    for (int64_t i = begin; i < end; i++)
        sum_range(j->p, j->p->n, i * j->part, tn_least((i + 1) * j->part, j->p->k), j->a, j->b,
                  workspace, j->sums[i]);
    tn_work_parts_free(j->memory, taken);
}

void tn_gemm_dots_long(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                       tn_thread_pool *pool, tn_work_parts *memory)
{
    _Alignas(64) char sums[MAX_PARTS][MAX_SUM_BYTES];
    long_job j = {p, a, b, part_of(p), memory, sums};
    int64_t n = (p->k + j.part - 1) / j.part;
    double bytes = (double)j.part * (double)(p->m * p->a_size + p->n * p->b_size);
    tn_parallel_for(pool, n, 0.05 * bytes, some_parts, &j);
    tn_gemm_store *add = tn_gemm_store_for(p->kind, tn_gemm_kind_type(p->kind));
    for (int64_t i = 1; i < n; i++) add(sums[0], p->e, sums[i], p->m * p->n, true);
    store(p, p->n, sums[0], c);
}
