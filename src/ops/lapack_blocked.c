/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/lapack_blocked.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm.h"
#include "kernels/gemm_kernels.h"
#include "kernels/int_math.h"

#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#define CALL(routine, ...) ((void (*)())(routine))(__VA_ARGS__)

enum {
    LEAF_BYTES = 256,   /* of a row of a triangle that is solved row by row */
    LU_LEAF = 32,       /* columns of a panel that is left to LAPACK */
    QR_LEAF = 32,       /* the same of a QR factorization, */
    FACTOR = 128,       /* rows of a Cholesky block */
    MOST_COLUMNS = 128, /* of a piece */
    MOST_ROWS = 256,
    FEWEST_RIGHT = 32, /* right sides, and rows of matrices, that are worth it; LAPACK alone is as
                          fast on one thread for Cholesky's method: */
    FEWEST_ROWS = 128,
    LARGE_FACTOR = 512,
};

/* What every part of one problem wants to know. */
typedef struct {
    tn_element_type element;
    int64_t e; /* bytes */
    tn_thread_pool *pool;
    atomic_bool out_of_memory;
    tn_lapack_fn potrf, getrf, geqrf;
} problem;

/* Memory of one thread, which grows. */
typedef struct {
    void *product, *work, *leaf;
    size_t product_bytes, work_bytes, leaf_bytes;
} memory;

static void *grow(problem *p, void **block, size_t *has, size_t wants)
{
    if (*block && *has >= wants) return *block;
    free(*block);
    *has = (wants + 4095) & ~(size_t)4095;
    *block = aligned_alloc(64, *has);
    if (!*block) {
        *has = 0;
        atomic_store(&p->out_of_memory, true);
    }
    return *block;
}

static void end_memory(memory *w)
{
    free(w->product);
    free(w->work);
    free(w->leaf);
}

static bool is_real(const tn_lapack_item *i)
{
    return i->element == TN_F32 || i->element == TN_F64;
}

static problem begin(const tn_lapack_item *i)
{
    return (problem){
        .element = i->element, .e = tn_element_type_bytes(i->element), .pool = i->pool};
}

/* About what a thread takes for so many multiply-adds. */
static double cost_ns(const problem *p, double products)
{
    return products * (p->element == TN_F32 ? 0.015 : 0.03);
}

/* A matrix of any strides, in elements. */
typedef struct {
    char *at;
    int64_t row, col;
} view;

static view at(const problem *p, view v, int64_t row, int64_t col)
{
    v.at += (row * v.row + col * v.col) * p->e;
    return v;
}

static view turned(view v)
{
    return (view){v.at, v.col, v.row};
}

static tn_gemm product_of(const problem *p, int64_t m, int64_t n, int64_t k, view a, view b, view c)
{
    return (tn_gemm){.a_type = p->element,
                     .b_type = p->element,
                     .c_type = p->element,
                     .m = m,
                     .n = n,
                     .k = k,
                     .a_row = a.row,
                     .a_col = a.col,
                     .b_row = b.row,
                     .b_col = b.col,
                     .c_row = c.row,
                     .c_col = c.col};
}

static void run_gemm(problem *p, memory *w, const tn_gemm *g, view a, view b, view c)
{
    size_t bytes = tn_gemm_workspace(g, NULL);
    void *work = bytes ? grow(p, &w->work, &w->work_bytes, bytes) : NULL;
    tn_gemm_run(g, a.at, b.at, c.at, NULL, work);
}

static void run_product(problem *p, memory *w, int64_t m, int64_t n, int64_t k, view a, view b,
                        view c)
{
    tn_gemm g = product_of(p, m, n, k, a, b, c);
    run_gemm(p, w, &g, a, b, c);
}

#define NEGATE(T)                                                                                  \
    for (int64_t j = 0; j < outer; j++) {                                                          \
        const T *x = (const T *)v.at + j * (turn ? v.row : v.col);                                 \
        T *y = (T *)to + j * inner;                                                                \
        for (int64_t r = 0; r < inner; r++) y[r] = -x[r];                                          \
    }

/* v of rows times cols, contiguous along one of them, with all signs changed. */
static view negative(problem *p, memory *w, int64_t rows, int64_t cols, view v)
{
    bool turn = v.row != 1;
    int64_t inner = turn ? cols : rows, outer = turn ? rows : cols;
    void *to = grow(p, &w->product, &w->product_bytes, (size_t)(rows * cols * p->e));
    if (!to) return (view){0};
    if (p->element == TN_F32) NEGATE(float)
    else NEGATE(double)
    return (view){to, turn ? inner : 1, turn ? 1 : inner};
}

#define SUBTRACT(T)                                                                                \
    for (int64_t j = 0; j < n; j++) {                                                              \
        T *x = (T *)c.at + j * c.col;                                                              \
        const T *y = (const T *)t.at + j * t.col;                                                  \
        for (int64_t r = 0; r < m; r++) x[r] -= y[r];                                              \
    }

/* C[m, n] -= A[m, k] B[k, n], with C in columns. */
static void subtract_product(problem *p, memory *w, int64_t m, int64_t n, int64_t k, view a, view b,
                             view c)
{
    tn_gemm g = product_of(p, m, n, k, a, b, c);
    bool left = m < n;
    if (tn_gemm_may_add(&g)) { /* what is negative of the smaller operand */
        view *x = left ? &a : &b;
        *x = left ? negative(p, w, m, k, a) : negative(p, w, k, n, b);
        if (!x->at) return;
        g = product_of(p, m, n, k, a, b, c);
        g.add = true;
        run_gemm(p, w, &g, a, b, c);
        return;
    }
    view t = {grow(p, &w->product, &w->product_bytes, (size_t)(m * n * p->e)), 1, m};
    if (!t.at) return;
    run_product(p, w, m, n, k, a, b, t);
    if (p->element == TN_F32) SUBTRACT(float)
    else SUBTRACT(double)
}

/* --- triangular systems --- */

/* op(A) X = B, or X op(A) = B. */
typedef struct {
    char side, uplo, trans, diag;
} triangle;

#define COEFFICIENTS(T)                                                                            \
    for (int64_t j = 0; j < n; j++)                                                                \
        for (int64_t i = 0; i <= j; i++) {                                                         \
            int64_t now = forward ? j : n - 1 - j, before = forward ? i : n - 1 - i;               \
            int64_t row = across ? before : now, col = across ? now : before;                      \
            T v = ((const T *)a.at)[row + col * a.col];                                            \
            ((T *)c)[j * n + i] = i < j ? v : t.diag == 'U' ? 1 : 1 / v;                           \
        }

/* Right sides lie side by side in whole vectors, the unknowns in the order in which they become
 * known. */
static void solve_leaf(problem *p, memory *w, triangle t, int64_t n, int64_t right, view a, view b)
{
    const tn_gemm_table *table = tn_gemm_table_get();
    bool left = t.side == 'L', trans = t.trans != 'N', lower = (t.uplo == 'L') != trans;
    bool forward = left == lower, across = left == trans;
    int64_t e = p->e, line = tn_round_up(right * e, 64);
    char *c = grow(p, &w->leaf, &w->leaf_bytes, (size_t)(n * line + tn_round_up(n * n * e, 64)));
    if (!c) return;
    char *x = c + tn_round_up(n * n * e, 64), *first = forward ? x : x + (n - 1) * line;
    int64_t step = forward ? line : -line, vector = table->kinds[TN_GEMM_F32].vl * 4;
    if (p->element == TN_F32) COEFFICIENTS(float)
    else COEFFICIENTS(double)
    for (int64_t i = 0; i < n; i++) {
        memset(x + i * line + right * e, 0, (size_t)(line - right * e));
        if (!left) memcpy(first + i * step, b.at + i * b.col * e, (size_t)(right * e));
    }
    if (left)
        (e == 4 ? table->transpose4 : table->transpose8)(first, step, b.at, b.col * e, right, n);
    (e == 4 ? table->solve4 : table->solve8)(n, line / vector, c, x);
    for (int64_t i = 0; i < n && !left; i++)
        memcpy(b.at + i * b.col * e, first + i * step, (size_t)(right * e));
    if (left)
        (e == 4 ? table->transpose4 : table->transpose8)(b.at, b.col * e, first, step, n, right);
}

/* `right`: right sides, columns or rows of B. */
static void solve(problem *p, memory *w, triangle t, int64_t n, int64_t right, view a, view b)
{
    bool left = t.side == 'L', trans = t.trans != 'N', lower = (t.uplo == 'L') != trans;
    if (n * p->e <= LEAF_BYTES) {
        solve_leaf(p, w, t, n, right, a, b);
        return;
    }
    int64_t n1 = (n / 2 + 15) / 16 * 16, n2 = n - n1;
    view a1 = a, a2 = at(p, a, n1, n1), b1 = b, b2 = left ? at(p, b, n1, 0) : at(p, b, 0, n1);
    view beside = lower != trans ? at(p, a, n1, 0) : at(p, a, 0, n1);
    if (trans) beside = turned(beside);
    bool first = left == lower;
    solve(p, w, t, first ? n1 : n2, right, first ? a1 : a2, first ? b1 : b2);
    view x = first ? b1 : b2, rest = first ? b2 : b1;
    int64_t known = first ? n1 : n2, unknown = n - known;
    if (left) subtract_product(p, w, unknown, right, known, beside, x, rest);
    else subtract_product(p, w, right, unknown, known, x, beside, rest);
    solve(p, w, t, unknown, right, first ? a2 : a1, rest);
}

/* Pieces of a dimension: about four, none very thin or thick. */
static int64_t piece_of(int64_t n, int64_t most)
{
    return tn_least(most, tn_most(FEWEST_RIGHT, tn_round_up(tn_ceil_div(n, 4), 16)));
}

typedef struct {
    problem *p;
    triangle t;
    int64_t n, right, piece;
    view a, b;
} system_job;

static void solve_pieces(void *ctx, int64_t begin, int64_t end)
{
    const system_job *j = ctx;
    memory w = {0};
    for (int64_t k = begin; k < end; k++) {
        int64_t r = k * j->piece, right = tn_least(j->piece, j->right - r);
        view b = j->t.side == 'L' ? at(j->p, j->b, 0, r) : at(j->p, j->b, r, 0);
        solve(j->p, &w, j->t, j->n, right, j->a, b);
    }
    end_memory(&w);
}

static void solve_all(problem *p, triangle t, int64_t n, int64_t right, view a, view b)
{
    system_job j = {p, t, n, right, piece_of(right, MOST_COLUMNS), a, b};
    tn_parallel_for(p->pool, tn_ceil_div(right, j.piece),
                    cost_ns(p, (double)n * (double)n * (double)j.piece), solve_pieces, &j);
}

static tn_lapack_blocked end(const problem *p)
{
    return atomic_load(&p->out_of_memory) ? TN_BLOCKED_NO_MEMORY : TN_BLOCKED_DONE;
}

tn_lapack_blocked tn_lapack_blocked_trsm(const tn_lapack_item *i, char side, char uplo, char trans,
                                         char diag, int rows, int columns, const void *a, void *b)
{
    problem p = begin(i);
    int n = side == 'L' ? rows : columns, right = side == 'L' ? columns : rows;
    if (!is_real(i) || n < FEWEST_ROWS || right < FEWEST_RIGHT) return TN_BLOCKED_NOT;
    solve_all(&p, (triangle){side, uplo, trans == 'N' ? 'N' : 'T', diag}, n, right,
              (view){(char *)a, 1, n}, (view){b, 1, rows});
    return end(&p);
}

/* --- Cholesky --- */

typedef struct {
    problem *p;
    int64_t n, k; /* what is left, and columns that were solved */
    view done, rest;
    int64_t row_pieces;
} update_job;

/* Piece (c, r): the lower triangle of columns c, rows r below its diagonal. */
static void update_pieces(void *ctx, int64_t begin, int64_t end)
{
    const update_job *j = ctx;
    memory w = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t c = i / j->row_pieces * MOST_COLUMNS, r = c + i % j->row_pieces * MOST_ROWS;
        if (r >= j->n) continue;
        int64_t cols = tn_least(MOST_COLUMNS, j->n - c), rows = tn_least(MOST_ROWS, j->n - r);
        subtract_product(j->p, &w, rows, cols, j->k, at(j->p, j->done, r, 0),
                         turned(at(j->p, j->done, c, 0)), at(j->p, j->rest, r, c));
    }
    end_memory(&w);
}

tn_lapack_blocked tn_lapack_blocked_potrf(const tn_lapack_item *i, void *a, int *info)
{
    problem p = begin(i);
    int64_t n = i->n;
    if (!is_real(i) || n < LARGE_FACTOR) return TN_BLOCKED_NOT;
    p.potrf = i->routine;
    view all = {a, 1, n};
    *info = 0;
    for (int64_t k = 0; k < n; k += FACTOR) {
        char lower = 'L';
        int size = (int)tn_least(FACTOR, n - k), ld = (int)n;
        view corner = at(&p, all, k, k);
        CALL(p.potrf, &lower, &size, corner.at, &ld, info);
        if (*info) {
            *info += *info > 0 ? (int)k : 0;
            break;
        }
        int64_t left = n - k - size;
        if (!left) break;
        view below = at(&p, corner, size, 0);
        solve_all(&p, (triangle){'R', 'L', 'T', 'N'}, size, left, corner, below);
        update_job j = {
            &p, left, size, below, at(&p, corner, size, size), tn_ceil_div(left, MOST_ROWS)};
        tn_parallel_for(p.pool, tn_ceil_div(left, MOST_COLUMNS) * j.row_pieces,
                        cost_ns(&p, (double)size * MOST_COLUMNS * MOST_ROWS), update_pieces, &j);
    }
    return end(&p);
}

/* --- LU --- */

#define EXCHANGE(T)                                                                                \
    for (int64_t c = 0; c < columns; c++) {                                                        \
        T *x = (T *)a.at + c * a.col;                                                              \
        for (int64_t k = 0; k < n; k++) {                                                          \
            T t = x[k];                                                                            \
            x[k] = x[pivots[k] - 1];                                                               \
            x[pivots[k] - 1] = t;                                                                  \
        }                                                                                          \
    }

static void exchange_rows(const problem *p, view a, int64_t columns, int64_t n, const int *pivots)
{
    if (p->element == TN_F32) EXCHANGE(float)
    else EXCHANGE(double)
}

typedef struct {
    problem *p;
    int64_t m, n1, n2, piece;
    view a;
    const int *pivots;
} right_job;

/* Columns to the right of n1 that were factored. */
static void right_pieces(void *ctx, int64_t begin, int64_t end)
{
    const right_job *j = ctx;
    problem *p = j->p;
    memory w = {0};
    for (int64_t k = begin; k < end; k++) {
        int64_t c = k * j->piece, cols = tn_least(j->piece, j->n2 - c);
        view top = at(p, j->a, 0, j->n1 + c);
        exchange_rows(p, top, cols, j->n1, j->pivots);
        solve(p, &w, (triangle){'L', 'L', 'N', 'U'}, j->n1, cols, j->a, top);
        if (j->m > j->n1)
            subtract_product(p, &w, j->m - j->n1, cols, j->n1, at(p, j->a, j->n1, 0), top,
                             at(p, top, j->n1, 0));
    }
    end_memory(&w);
}

/* The first pivot that is 0, counted from 1, or 0. */
static int factor(problem *p, int64_t m, int64_t n, view a, int *pivots)
{
    int64_t least = tn_least(m, n), n1 = tn_least(tn_round_up(n / 2, 16), least), n2 = n - n1;
    int info = 0;
    if (n <= LU_LEAF || n1 == 0) {
        int rows = (int)m, cols = (int)n, ld = (int)a.col;
        CALL(p->getrf, &rows, &cols, a.at, &ld, pivots, &info);
        return info;
    }
    info = factor(p, m, n1, a, pivots);
    right_job j = {p, m, n1, n2, piece_of(n2, MOST_COLUMNS), a, pivots};
    tn_parallel_for(p->pool, tn_ceil_div(n2, j.piece),
                    cost_ns(p, (double)m * (double)n1 * (double)j.piece), right_pieces, &j);
    if (m <= n1) return info;
    int below = factor(p, m - n1, n2, at(p, a, n1, n1), pivots + n1);
    exchange_rows(p, at(p, a, n1, 0), n1, least - n1, pivots + n1);
    for (int64_t k = n1; k < least; k++) pivots[k] += (int)n1;
    return info || !below ? info : below + (int)n1;
}

tn_lapack_blocked tn_lapack_blocked_getrf(const tn_lapack_item *i, void *a, int *pivots, int *info)
{
    problem p = begin(i);
    if (!is_real(i) || tn_least(i->m, i->n) < FEWEST_ROWS) return TN_BLOCKED_NOT;
    p.getrf = i->routine;
    *info = factor(&p, i->m, i->n, (view){a, 1, i->m}, pivots);
    return end(&p);
}

/* --- QR --- */

/* Reflectors H1 H2 .. Hk = 1 - V T V', V[m, k] with ones on its diagonal and zeros above. */
typedef struct {
    problem *p;
    int64_t m, k;
    view v, t; /* T by columns, zeros below its diagonal */
} reflectors;

#define REFLECT(T)                                                                                 \
    do {                                                                                           \
        for (int64_t c = 0; c < k; c++) {                                                          \
            T *to = (T *)r->v.at + c * m;                                                          \
            memcpy(to, (const T *)a.at + c * a.col, (size_t)m * sizeof(T));                        \
            for (int64_t i = 0; i < c; i++) to[i] = 0;                                             \
            to[c] = 1;                                                                             \
        }                                                                                          \
        run_product(r->p, w, k, k, m, turned(r->v), r->v, r->t);                                   \
        T *t = (T *)r->t.at, column[QR_LEAF];                                                      \
        for (int64_t c = 0; c < k; c++) {                                                          \
            T by = ((const T *)tau)[c];                                                            \
            for (int64_t i = 0; i < c; i++) column[i] = t[c * k + i];                              \
            for (int64_t i = 0; i < c; i++) {                                                      \
                T sum = 0;                                                                         \
                for (int64_t q = i; q < c; q++) sum += t[q * k + i] * column[q];                   \
                t[c * k + i] = -by * sum;                                                          \
            }                                                                                      \
            t[c * k + c] = by;                                                                     \
            for (int64_t i = c + 1; i < k; i++) t[c * k + i] = 0;                                  \
        }                                                                                          \
    } while (0)

/* r->v and r->t have memory. */
static void make_reflectors(reflectors *r, memory *w, view a, const void *tau)
{
    int64_t m = r->m, k = r->k;
    if (r->p->element == TN_F32) REFLECT(float);
    else REFLECT(double);
}

typedef struct {
    const reflectors *r;
    bool transposed;
    int64_t n, piece;
    view c;
} apply_job;

/* C -= V op(T) (V' C), by columns. */
static void apply_pieces(void *ctx, int64_t begin, int64_t end)
{
    const apply_job *j = ctx;
    const reflectors *r = j->r;
    problem *p = r->p;
    memory w = {0}, spare = {0};
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i * j->piece, cols = tn_least(j->piece, j->n - first);
        size_t bytes = (size_t)(r->k * cols * p->e);
        view c = at(p, j->c, 0, first), x = {0, 1, r->k}, y = {0, 1, r->k};
        x.at = grow(p, &spare.product, &spare.product_bytes, bytes);
        y.at = grow(p, &spare.work, &spare.work_bytes, bytes);
        if (!x.at || !y.at) break;
        run_product(p, &w, r->k, cols, r->m, turned(r->v), c, x);
        run_product(p, &w, r->k, cols, r->k, j->transposed ? turned(r->t) : r->t, x, y);
        subtract_product(p, &w, r->m, cols, r->k, r->v, y, c);
    }
    end_memory(&w);
    end_memory(&spare);
}

static void apply(const reflectors *r, bool transposed, int64_t n, view c)
{
    if (n <= 0) return;
    apply_job j = {r, transposed, n, piece_of(n, MOST_COLUMNS), c};
    tn_parallel_for(r->p->pool, tn_ceil_div(n, j.piece),
                    cost_ns(r->p, 2 * (double)r->m * (double)r->k * (double)j.piece), apply_pieces,
                    &j);
}

static bool begin_reflectors(reflectors *r, problem *p, int64_t m, void **memory_out)
{
    *memory_out =
        aligned_alloc(64, (size_t)tn_round_up((m * QR_LEAF + QR_LEAF * QR_LEAF) * p->e, 64));
    *r = (reflectors){.p = p, .v = {*memory_out, 1, m}, .t = {NULL, 1, QR_LEAF}};
    if (*memory_out) r->t.at = (char *)*memory_out + m * QR_LEAF * p->e;
    return *memory_out != NULL;
}

static void size_reflectors(reflectors *r, int64_t m, int64_t k)
{
    r->m = r->v.col = m;
    r->k = r->t.col = k;
}

tn_lapack_blocked tn_lapack_blocked_geqrf(const tn_lapack_item *i, void *a, void *tau)
{
    problem p = begin(i);
    int64_t m = i->m, n = i->n, least = tn_least(m, n);
    if (!is_real(i) || least < FEWEST_ROWS) return TN_BLOCKED_NOT;
    p.geqrf = i->routine;
    reflectors r;
    memory w = {0};
    void *own, *work = aligned_alloc(64, (size_t)(64 * QR_LEAF * p.e));
    if (begin_reflectors(&r, &p, m, &own) && work)
        for (int64_t k = 0; k < least; k += QR_LEAF) {
            int rows = (int)(m - k), cols = (int)tn_least(QR_LEAF, least - k), ld = (int)m, info,
                lwork = 64 * QR_LEAF;
            view corner = at(&p, (view){a, 1, m}, k, k);
            char *by = (char *)tau + k * p.e;
            CALL(p.geqrf, &rows, &cols, corner.at, &ld, by, work, &lwork, &info);
            if (k + cols >= n) break;
            size_reflectors(&r, rows, cols);
            make_reflectors(&r, &w, corner, by);
            apply(&r, true, n - k - cols, at(&p, corner, 0, cols));
        }
    else atomic_store(&p.out_of_memory, true);
    end_memory(&w);
    free(own);
    free(work);
    return end(&p);
}

#define IDENTITY(T)                                                                                \
    for (int64_t c = 0; c < cols; c++) {                                                           \
        T *x = (T *)all.at + (k + c) * m;                                                          \
        memset(x, 0, (size_t)m * sizeof(T));                                                       \
        x[k + c] = 1;                                                                              \
    }

/* The last block first; columns behind it are done already, and its own begin as those of 1. */
tn_lapack_blocked tn_lapack_blocked_orgqr(const tn_lapack_item *i, void *a, const void *tau)
{
    problem p = begin(i);
    int64_t m = i->m, n = i->n, count = i->r;
    if (!is_real(i) || m < FEWEST_ROWS || n != count || n > m || n < FEWEST_ROWS)
        return TN_BLOCKED_NOT;
    view all = {a, 1, m};
    reflectors r;
    memory w = {0};
    void *own;
    if (begin_reflectors(&r, &p, m, &own))
        for (int64_t k = (count - 1) / QR_LEAF * QR_LEAF; k >= 0; k -= QR_LEAF) {
            int64_t cols = tn_least(QR_LEAF, count - k);
            size_reflectors(&r, m - k, cols);
            make_reflectors(&r, &w, at(&p, all, k, k), (const char *)tau + k * p.e);
            if (p.element == TN_F32) IDENTITY(float)
            else IDENTITY(double)
            apply(&r, false, n - k, at(&p, all, k, k));
        }
    else atomic_store(&p.out_of_memory, true);
    end_memory(&w);
    free(own);
    return end(&p);
}
