/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of a few rows, of which a batch has thousands: a call of LAPACK takes longer than what
 * it computes. Substitution, Cholesky's and Gauss's method as the textbooks have them, row by row.
 */
#include <math.h>

#include "ops/lapack.h"

/* Element [i][k] of op(a), which is stored by rows. */
#define OP(i, k) (transposed ? a[(k) * n + (i)] : a[(i) * n + (k)])

#define DEFINE(T)                                                                                  \
    /* op(a) x = b for `columns` right sides, b[n][columns]. */                                    \
    static void solve_left_##T(const T *a, T *b, int n, int columns, bool lower, bool transposed,  \
                               bool unit)                                                          \
    {                                                                                              \
        for (int step = 0; step < n; step++) {                                                     \
            int i = lower ? step : n - 1 - step;                                                   \
            T *x = b + i * columns;                                                                \
            for (int k = lower ? 0 : i + 1; k < (lower ? i : n); k++)                              \
                for (int c = 0; c < columns; c++) x[c] -= OP(i, k) * b[k * columns + c];           \
            if (!unit)                                                                             \
                for (int c = 0; c < columns; c++) x[c] /= OP(i, i);                                \
        }                                                                                          \
    }                                                                                              \
    /* x op(a) = b for each of `rows` rows, b[rows][n]. */                                         \
    static void solve_right_##T(const T *a, T *b, int n, int rows, bool lower, bool transposed,    \
                                bool unit)                                                         \
    {                                                                                              \
        for (int r = 0; r < rows; r++, b += n)                                                     \
            for (int step = 0; step < n; step++) {                                                 \
                int j = lower ? n - 1 - step : step;                                               \
                T x = b[j];                                                                        \
                for (int k = lower ? j + 1 : 0; k < (lower ? n : j); k++) x -= b[k] * OP(k, j);    \
                b[j] = unit ? x : x / OP(j, j);                                                    \
            }                                                                                      \
    }                                                                                              \
    /* The triangle of a[n][n] becomes its factor: row by row the lower one, column by column the  \
     * upper one. Gives the first pivot that is not positive, counted from 1, or 0. */             \
    static int cholesky_##T(T *a, int n, bool lower)                                               \
    {                                                                                              \
        int along = lower ? 1 : n, across = lower ? n : 1;                                         \
        for (int i = 0; i < n; i++)                                                                \
            for (int j = 0; j <= i; j++) {                                                         \
                T *x = a + i * across, *y = a + j * across, s = x[j * along];                      \
                for (int k = 0; k < j; k++) s -= x[k * along] * y[k * along];                      \
                if (i != j) {                                                                      \
                    x[j * along] = s / y[j * along];                                               \
                    continue;                                                                      \
                }                                                                                  \
                if (!(s > 0)) return i + 1;                                                        \
                x[i * along] = (T)sqrt((double)s);                                                 \
            }                                                                                      \
        return 0;                                                                                  \
    }                                                                                              \
    /* By columns, as LAPACK has it: a[columns][rows]. */                                          \
    static int factor_##T(T *a, int m, int n, int *pivots)                                         \
    {                                                                                              \
        int zero = 0;                                                                              \
        for (int j = 0; j < m && j < n; j++) {                                                     \
            T *column = a + j * m;                                                                 \
            int p = j;                                                                             \
            for (int i = j + 1; i < m; i++)                                                        \
                if (fabs((double)column[i]) > fabs((double)column[p])) p = i;                      \
            pivots[j] = p + 1;                                                                     \
            if (column[p] == 0) {                                                                  \
                if (!zero) zero = j + 1;                                                           \
                continue;                                                                          \
            }                                                                                      \
            for (int c = 0; p != j && c < n; c++) {                                                \
                T x = a[c * m + j];                                                                \
                a[c * m + j] = a[c * m + p];                                                       \
                a[c * m + p] = x;                                                                  \
            }                                                                                      \
            for (int i = j + 1; i < m; i++) column[i] /= column[j];                                \
            for (int c = j + 1; c < n; c++)                                                        \
                for (int i = j + 1; i < m; i++) a[c * m + i] -= column[i] * a[c * m + j];          \
        }                                                                                          \
        return zero;                                                                               \
    }
DEFINE(float)
DEFINE(double)

bool tn_lapack_small_trsm(const tn_lapack_item *i, bool left, bool lower, bool transposed,
                          bool unit)
{
    int n = i->a, others = left ? i->n : i->m;
    if (n > TN_LAPACK_SMALL || others > 4 * TN_LAPACK_SMALL) return false;
    lower = lower != transposed; /* that of op(a) */
#define SOLVE(T)                                                                                   \
    (left ? solve_left_##T : solve_right_##T)(i->in[0], i->out[0], n, others, lower, transposed,   \
                                              unit)
    if (i->element == TN_F32) SOLVE(float);
    else if (i->element == TN_F64) SOLVE(double);
    else return false;
    return true;
}

bool tn_lapack_small_potrf(const tn_lapack_item *i, bool lower)
{
    int *info = i->out[1];
    if (i->n > TN_LAPACK_SMALL) return false;
    if (i->element == TN_F32) *info = cholesky_float(i->out[0], i->n, lower);
    else if (i->element == TN_F64) *info = cholesky_double(i->out[0], i->n, lower);
    else return false;
    return true;
}

bool tn_lapack_small_getrf(const tn_lapack_item *i)
{
    int *info = i->out[2];
    if (i->m > TN_LAPACK_SMALL || i->n > TN_LAPACK_SMALL) return false;
    if (i->element == TN_F32) *info = factor_float(i->out[0], i->m, i->n, i->out[1]);
    else if (i->element == TN_F64) *info = factor_double(i->out[0], i->m, i->n, i->out[1]);
    else return false;
    return true;
}
