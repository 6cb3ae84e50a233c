/* SPDX-License-Identifier: Apache-2.0 */
/* tridiagonal_solve_perturbed_ffi(below, diagonal, above, b): solutions that are finite for
 * singular matrices too, for inverse iteration.
 *
 * As LAPACK's lagtf and lagts: rows change places where that gives the larger pivot by the scale
 * of its row, and a pivot by which the division would overflow is moved away from zero, by
 * eps * max|U| and twice that again until it does not. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/thread_pool.h"
#include "ops/custom_call.h"
#include "ops/infer.h"

typedef struct {
    const tn_tensor *operands;
    void *result;
    int64_t rows, columns;
    char *memory; /* four vectors and the marks of each piece */
    size_t bytes; /* of one item */
} job;

/* One matrix: d, b (above), c (below, then multipliers), f (second above); right sides in place.
 * pivot: what to divide by, so that `largest` of what is divided does not overflow; one for all
 * columns, so that they are solutions of one matrix. */
#define DEFINE(name, type, real, abs, EPS, LEAST)                                                  \
    static void factor_##name(type *d, type *b, type *c, type *f, bool *swapped, int64_t n)        \
    {                                                                                              \
        real scale = abs(d[0]) + (n > 1 ? abs(b[0]) : 0);                                          \
        for (int64_t k = 0; k + 1 < n; k++) {                                                      \
            bool last = k + 2 == n;                                                                \
            real next = abs(c[k]) + abs(d[k + 1]) + (last ? 0 : abs(b[k + 1]));                    \
            real pivot = abs(d[k]) == 0 ? 0 : abs(d[k]) / scale;                                   \
            f[k] = 0;                                                                              \
            swapped[k] = abs(c[k]) != 0 && abs(c[k]) / next > pivot;                               \
            if (!swapped[k]) {                                                                     \
                if (abs(c[k]) != 0) {                                                              \
                    c[k] /= d[k];                                                                  \
                    d[k + 1] -= c[k] * b[k];                                                       \
                }                                                                                  \
                scale = next;                                                                      \
                continue;                                                                          \
            }                                                                                      \
            type factor = d[k] / c[k], moved = d[k + 1];                                           \
            d[k] = c[k];                                                                           \
            d[k + 1] = b[k] - factor * moved;                                                      \
            b[k] = moved;                                                                          \
            c[k] = factor;                                                                         \
            if (last) continue;                                                                    \
            f[k] = b[k + 1];                                                                       \
            b[k + 1] = -factor * f[k];                                                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static type pivot_##name(type pivot, real largest, real step)                                  \
    {                                                                                              \
        real size = abs(pivot);                                                                    \
        type way = size > 0 ? pivot / size : 1;                                                    \
        for (; size < 1 && isfinite(step); step *= 2) {                                            \
            bool fits =                                                                            \
                size < LEAST ? size > 0 && largest * LEAST <= size : largest <= size / LEAST;      \
            if (fits) break;                                                                       \
            pivot += step * way;                                                                   \
            size = abs(pivot);                                                                     \
        }                                                                                          \
        return pivot;                                                                              \
    }                                                                                              \
                                                                                                   \
    static void forth_##name(const type *c, const bool *swapped, type *y, int64_t n,               \
                             int64_t columns)                                                      \
    {                                                                                              \
        for (int64_t k = 1; k < n; k++) {                                                          \
            type *above = &y[(k - 1) * columns], *here = &y[k * columns];                          \
            for (int64_t i = 0; i < columns; i++) {                                                \
                type kept = above[i];                                                              \
                if (swapped[k - 1]) {                                                              \
                    above[i] = here[i];                                                            \
                    here[i] = kept - c[k - 1] * here[i];                                           \
                } else {                                                                           \
                    here[i] -= c[k - 1] * kept;                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void back_##name(const type *d, const type *b, const type *f, real step, type *y,       \
                            int64_t n, int64_t columns)                                            \
    {                                                                                              \
        for (int64_t k = n - 1; k >= 0; k--) {                                                     \
            type *here = &y[k * columns];                                                          \
            real largest = 0;                                                                      \
            for (int64_t i = 0; i < columns; i++) {                                                \
                if (k + 1 < n) here[i] -= b[k] * here[columns + i];                                \
                if (k + 2 < n) here[i] -= f[k] * here[2 * columns + i];                            \
                largest = abs(here[i]) > largest ? abs(here[i]) : largest;                         \
            }                                                                                      \
            type pivot = pivot_##name(d[k], largest, step);                                        \
            bool tiny = abs(pivot) < LEAST;                                                        \
            for (int64_t i = 0; i < columns; i++)                                                  \
                here[i] = tiny ? (here[i] / LEAST) / (pivot / LEAST) : here[i] / pivot;            \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void run_##name(void *ctx, int64_t begin, int64_t end)                                  \
    {                                                                                              \
        const job *j = ctx;                                                                        \
        int64_t n = j->rows, columns = j->columns;                                                 \
        for (int64_t i = begin; i < end; i++) {                                                    \
            type *d = (type *)(j->memory + (size_t)i * j->bytes);                                  \
            type *b = d + n, *c = b + n, *f = c + n;                                               \
            bool *swapped = (bool *)(f + n);                                                       \
            const type *below = (const type *)j->operands[0].data + i * n;                         \
            memcpy(d, (const type *)j->operands[1].data + i * n, (size_t)n * sizeof(type));        \
            memcpy(b, (const type *)j->operands[2].data + i * n, (size_t)n * sizeof(type));        \
            memcpy(c, below + 1, (size_t)(n - 1) * sizeof(type));                                  \
            type *y = (type *)j->result + i * n * columns;                                         \
            memcpy(y, (const type *)j->operands[3].data + i * n * columns,                         \
                   (size_t)(n * columns) * sizeof(type));                                          \
            factor_##name(d, b, c, f, swapped, n);                                                 \
            real largest = 0;                                                                      \
            for (int64_t k = 0; k < n; k++) {                                                      \
                largest = abs(d[k]) > largest ? abs(d[k]) : largest;                               \
                if (k + 1 < n) largest = abs(b[k]) > largest ? abs(b[k]) : largest;                \
                if (k + 2 < n) largest = abs(f[k]) > largest ? abs(f[k]) : largest;                \
            }                                                                                      \
            real step = largest * EPS > LEAST ? largest * EPS : LEAST;                             \
            forth_##name(c, swapped, y, n, columns);                                               \
            back_##name(d, b, f, step, y, n, columns);                                             \
        }                                                                                          \
    }
DEFINE(f32, float, float, fabsf, FLT_EPSILON, FLT_MIN)
DEFINE(f64, double, double, fabs, DBL_EPSILON, DBL_MIN)
DEFINE(c64, float complex, float, cabsf, FLT_EPSILON, FLT_MIN)
DEFINE(c128, double complex, double, cabs, DBL_EPSILON, DBL_MIN)
#undef DEFINE

static tn_parallel_fn *function_for(tn_element_type e)
{
    switch (e) {
    case TN_F32: return run_f32;
    case TN_F64: return run_f64;
    case TN_C64: return run_c64;
    case TN_C128: return run_c128;
    default: return NULL;
    }
}

static bool is_of(const tn_type *t, tn_element_type e, const int64_t *dims, uint32_t rank)
{
    return t->kind == TN_TYPE_TENSOR && t->element == e && t->rank == rank &&
           !memcmp(t->dims, dims, rank * sizeof *dims);
}

tn_status *tn_infer_tridiagonal(const tn_op *op, tn_arena *a, const tn_type **out)
{
    if (op->n_operands != 4 || op->n_results != 1)
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "target 'tridiagonal_solve_perturbed_ffi' takes three diagonals and "
                           "right sides and gives solutions; got %u operands and %u results",
                           op->n_operands, op->n_results);
    const tn_type *b = tn_operand_type(op, 3);
    if (b->kind != TN_TYPE_TENSOR || b->rank < 2 || !function_for(b->element))
        return TN_OP_ERROR(INVALID_ARGUMENT, op,
                           "operand 3 should be matrices of f32, f64 or a complex type and is %s",
                           TN_TYPE_IN_MESSAGE(b));
    for (uint32_t i = 0; i < 3; i++) {
        const tn_type *t = tn_operand_type(op, i);
        if (!is_of(t, b->element, b->dims, b->rank - 1))
            return TN_OP_ERROR(INVALID_ARGUMENT, op,
                               "operand %u should have an element for each row of operand 3, which "
                               "is %s, and is %s",
                               i, TN_TYPE_IN_MESSAGE(b), TN_TYPE_IN_MESSAGE(t));
    }
    out[0] = b;
    return NULL;
}

tn_status *tn_eval_tridiagonal(const tn_op *op, const tn_eval_context *ctx,
                               const tn_tensor *operands, tn_tensor *results)
{
    const tn_type *t = results->type;
    job j = {.operands = operands,
             .result = results->data,
             .rows = t->dims[t->rank - 2],
             .columns = t->dims[t->rank - 1]};
    int64_t items = 1;
    for (uint32_t i = 0; i + 2 < t->rank; i++) items *= t->dims[i];
    if (items == 0 || j.rows == 0 || j.columns == 0) return NULL;
    size_t width = tn_element_type_bytes(t->element);
    size_t item = (size_t)j.rows * (4 * width + sizeof(bool));
    j.bytes = (item + 15) / 16 * 16;
    j.memory = tn_scratch_alloc(ctx->scratch, (size_t)items * j.bytes);
    if (!j.memory)
        return TN_OP_ERROR(RESOURCE_EXHAUSTED, op, "no memory for %" PRId64 " matrices", items);
    tn_parallel_for(ctx->pool, items, (double)j.rows * (double)(20 + 5 * j.columns),
                    function_for(t->element), &j);
    return NULL;
}
