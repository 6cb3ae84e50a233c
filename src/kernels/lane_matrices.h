/* SPDX-License-Identifier: Apache-2.0 */
/* lane_matrices.h - Cholesky's, Gauss's and Householder's methods and substitution on as many small
 * matrices at once as a vector has elements.
 *
 * Element [i][j] of all of them is one vector, at a[i * columns + j], aligned to the vector. Every
 * operation is rounded alone and in the order of ops/lapack_small.c, so values are the same on all
 * instruction sets, and do not depend on the matrices beside. Threads: no state. */
#ifndef TN_KERNELS_LANE_MATRICES_H
#define TN_KERNELS_LANE_MATRICES_H

#include <stdbool.h>
#include <stdint.h>

/* op(a) x = b for b[n][others], or x op(a) = b for b[others][n]. `lower`: the triangle of op(a). */
typedef struct {
    int n, others;
    bool left, lower, transposed, unit;
} tn_lane_solve;

typedef struct {
    int bytes; /* of a vector */
    /* f32, f64 */
    struct {
        /* The triangle becomes its factor; info[lane]: the first pivot that is not positive,
         * counted from 1, or 0. Then that matrix holds no factor. */
        void (*potrf)(int n, bool lower, void *a, int32_t *info);
        /* a[m][n] becomes its factors, pivots[j * lanes + lane] are counted from 1; info: the first
         * zero pivot. */
        void (*getrf)(int m, int n, void *a, int32_t *pivots, int32_t *info);
        void (*trsm)(const tn_lane_solve *s, const void *a, void *b);
        /* a[m][n] becomes R and below it reflectors, tau[min(m, n)]; and these, n <= m columns, the
         * product of the first `reflectors` of them. As LAPACK has them. */
        void (*geqrf)(int m, int n, void *a, void *tau);
        void (*orgqr)(int m, int n, int reflectors, void *a, const void *tau);
    } of[2];
} tn_lane_matrices;

const tn_lane_matrices *tn_lane_matrices_get(void);

#endif
