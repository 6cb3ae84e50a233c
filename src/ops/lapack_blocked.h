/* SPDX-License-Identifier: Apache-2.0 */
/* lapack_blocked.h - triangular systems and factorizations of larger real matrices, made of
 * products (gemm.h) on all threads; LAPACK does small blocks of them alone. OpenBLAS solves
 * triangular systems at a third of the speed of its products, and factors on one thread or by
 * locks.
 *
 * Matrices lie in columns, `ld` elements from one to the next, of f32 or f64. How a problem is cut
 * follows from its sizes alone, so results have the same bits at any number of threads.
 *
 * Threads: any; pieces go to the item's pool. */
#ifndef TN_OPS_LAPACK_BLOCKED_H
#define TN_OPS_LAPACK_BLOCKED_H

#include "ops/lapack.h"

typedef enum {
    TN_BLOCKED_NOT, /* nothing was done: the problem is small or of another type, or a routine is
                       missing */
    TN_BLOCKED_DONE,
    TN_BLOCKED_NO_MEMORY
} tn_lapack_blocked;

/* BLAS's trsm with alpha = 1: b of `rows` by `columns`, a square of as many as b has rows (side L)
 * or columns (R). */
tn_lapack_blocked tn_lapack_blocked_trsm(const tn_lapack_item *i, char side, char uplo, char trans,
                                         char diag, int rows, int columns, const void *a, void *b);
/* LAPACK's potrf of the lower triangle, getrf, geqrf and orgqr, of the item's sizes. */
tn_lapack_blocked tn_lapack_blocked_potrf(const tn_lapack_item *i, void *a, int *info);
tn_lapack_blocked tn_lapack_blocked_getrf(const tn_lapack_item *i, void *a, int *pivots, int *info);
tn_lapack_blocked tn_lapack_blocked_geqrf(const tn_lapack_item *i, void *a, void *tau);
tn_lapack_blocked tn_lapack_blocked_orgqr(const tn_lapack_item *i, void *a, const void *tau);

#endif
