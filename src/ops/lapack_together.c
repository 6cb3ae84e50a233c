/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of small matrices, as many at once as a vector has elements. Their elements are
 * transposed so that one place of all of them is a vector, and so are results. */
#include <string.h>

#include "base/thread_pool.h"
#include "kernels/gemm_kernels.h"
#include "kernels/lane_matrices.h"
#include "ops/lapack.h"

enum {
    LEAST_ITEMS = 8,  /* LAPACK is quicker for fewer, but for QR */
    MOST = 16,        /* rows and columns */
    MOST_RIGHT = 512, /* elements of right sides */
    LANES = 16,
};

typedef struct job {
    void (*run)(const struct job *j, int64_t first, int64_t n);
    const tn_lapack_item *item;
    const tn_lane_matrices *lanes;
    const tn_tensor *operands;
    tn_tensor *results;
    int64_t items;
    int e, per_vector;
    tn_lane_solve solve;
} job;

static bool is_named(const tn_lapack_family *f, const char *name)
{
    return !strcmp(f->name, name);
}

bool tn_lapack_together_fits(const tn_lapack_family *f, const tn_lapack_item *i, int64_t items)
{
    if (i->element != TN_F32 && i->element != TN_F64) return false;
    if (is_named(f, "geqrf"))
        return i->m > 0 && i->n > 0 && i->n <= MOST && i->m * (int64_t)i->n <= MOST * MOST;
    if (is_named(f, "orgqr"))
        return i->m >= i->n && i->n >= i->r && i->r > 0 && i->n <= MOST &&
               i->m * (int64_t)i->n <= MOST * MOST;
    if (items < LEAST_ITEMS) return false;
    if (is_named(f, "potrf")) return i->n > 0 && i->n <= MOST;
    if (is_named(f, "getrf")) return i->m > 0 && i->n > 0 && i->m <= MOST && i->n <= MOST;
    if (!is_named(f, "trsm")) return false;
    bool left = tn_lapack_config_char(i, "side", 'L') == 'L';
    return i->m > 0 && i->n > 0 && i->a == (left ? i->m : i->n) && i->a <= MOST &&
           (int64_t)i->m * i->n <= MOST_RIGHT;
}

static void transpose(const job *j, char *to, int64_t to_row, const char *from, int64_t from_row,
                      int64_t rows, int64_t columns)
{
    const tn_gemm_table *t = tn_gemm_table_get();
    (j->e == 4 ? t->transpose4 : t->transpose8)(to, to_row, from, from_row, rows, columns);
}

static void load(const job *j, const tn_tensor *from, int64_t count, int64_t first, int64_t n,
                 char *to)
{
    if (n < j->per_vector) memset(to, 0, (size_t)(count * j->lanes->bytes));
    transpose(j, to, j->lanes->bytes, (const char *)from->data + first * count * j->e, count * j->e,
              n, count);
}

static void store(const job *j, const char *from, int64_t count, int64_t first, int64_t n,
                  const tn_tensor *to)
{
    transpose(j, (char *)to->data + first * count * j->e, count * j->e, from, j->lanes->bytes,
              count, n);
}

static void potrf(const job *j, int64_t first, int64_t n)
{
    const tn_lapack_item *i = j->item;
    _Alignas(64) char a[MOST * MOST * 64];
    int32_t info[LANES];
    load(j, &j->operands[0], i->n * i->n, first, n, a);
    j->lanes->of[j->e == 8].potrf(i->n, tn_lapack_config_char(i, "uplo", 'L') == 'L', a, info);
    store(j, a, i->n * i->n, first, n, &j->results[0]);
    memcpy((int32_t *)j->results[1].data + first, info, (size_t)n * sizeof(int32_t));
}

static void getrf(const job *j, int64_t first, int64_t n)
{
    const tn_lapack_item *i = j->item;
    int least = i->m < i->n ? i->m : i->n;
    _Alignas(64) char a[MOST * MOST * 64];
    int32_t pivots[MOST * LANES], info[LANES];
    load(j, &j->operands[0], i->m * i->n, first, n, a);
    j->lanes->of[j->e == 8].getrf(i->m, i->n, a, pivots, info);
    store(j, a, i->m * i->n, first, n, &j->results[0]);
    int32_t *to = (int32_t *)j->results[1].data + first * least;
    for (int64_t l = 0; l < n; l++)
        for (int k = 0; k < least; k++) *to++ = pivots[k * j->per_vector + l];
    memcpy((int32_t *)j->results[2].data + first, info, (size_t)n * sizeof(int32_t));
}

static void trsm(const job *j, int64_t first, int64_t n)
{
    const tn_lapack_item *i = j->item;
    _Alignas(64) char a[MOST * MOST * 64], b[MOST_RIGHT * 64];
    load(j, &j->operands[0], i->a * i->a, first, n, a);
    load(j, &j->operands[1], i->m * i->n, first, n, b);
    j->lanes->of[j->e == 8].trsm(&j->solve, a, b);
    store(j, b, i->m * i->n, first, n, &j->results[0]);
}

static void geqrf(const job *j, int64_t first, int64_t n)
{
    const tn_lapack_item *i = j->item;
    int least = i->m < i->n ? i->m : i->n;
    _Alignas(64) char a[MOST * MOST * 64], tau[MOST * 64];
    load(j, &j->operands[0], (int64_t)i->m * i->n, first, n, a);
    j->lanes->of[j->e == 8].geqrf(i->m, i->n, a, tau);
    store(j, a, (int64_t)i->m * i->n, first, n, &j->results[0]);
    store(j, tau, least, first, n, &j->results[1]);
}

static void orgqr(const job *j, int64_t first, int64_t n)
{
    const tn_lapack_item *i = j->item;
    _Alignas(64) char a[MOST * MOST * 64], tau[MOST * 64];
    load(j, &j->operands[0], (int64_t)i->m * i->n, first, n, a);
    load(j, &j->operands[1], i->r, first, n, tau);
    j->lanes->of[j->e == 8].orgqr(i->m, i->n, i->r, a, tau);
    store(j, a, (int64_t)i->m * i->n, first, n, &j->results[0]);
}

static void pieces(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t p = begin; p < end; p++) {
        int64_t first = p * j->per_vector, rest = j->items - first;
        int64_t n = rest < j->per_vector ? rest : j->per_vector;
        j->run(j, first, n);
    }
}

void tn_lapack_together(const tn_lapack_family *f, const tn_lapack_item *i,
                        const tn_tensor *operands, tn_tensor *results, int64_t items,
                        tn_thread_pool *pool)
{
    job j = {.item = i, .operands = operands, .results = results, .items = items};
    j.run = is_named(f, "potrf")   ? potrf
            : is_named(f, "getrf") ? getrf
            : is_named(f, "geqrf") ? geqrf
            : is_named(f, "orgqr") ? orgqr
                                   : trsm;
    j.lanes = tn_lane_matrices_get();
    j.e = tn_element_type_bytes(i->element);
    j.per_vector = j.lanes->bytes / j.e;
    bool left = tn_lapack_config_char(i, "side", 'L') == 'L',
         transposed = tn_lapack_config_char(i, "trans_x", 'N') != 'N',
         lower = tn_lapack_config_char(i, "uplo", 'L') == 'L';
    j.solve = (tn_lane_solve){.n = i->a,
                              .others = left ? i->n : i->m,
                              .left = left,
                              .lower = lower != transposed,
                              .transposed = transposed,
                              .unit = tn_lapack_config_char(i, "diag", 'N') == 'U'};
    double n = i->n > i->m ? i->n : i->m;
    tn_parallel_for(pool, (items + j.per_vector - 1) / j.per_vector, 100 + 0.3 * n * n * n, pieces,
                    &j);
}
