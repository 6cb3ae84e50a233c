/* SPDX-License-Identifier: Apache-2.0 */
/* lapack.h - the lapack_*_ffi custom calls of JAX's cpu lowerings.
 *
 * A routine works on one matrix of a batch. Matrices come to it and leave it in columns, as LAPACK
 * wants them; the frame around it transposes. Routines `by_rows` are asked for the transposed
 * problem instead, and take matrices as they stand. */
#ifndef TN_OPS_LAPACK_H
#define TN_OPS_LAPACK_H

#include "base/thread_pool.h"
#include "kernels/lapack.h"
#include "ops/ops.h"

/* Working memory that the items of a piece have one after the other; zeroed at first, and freed
 * with tn_lapack_work_end. */
typedef struct {
    void *memory;
    int size; /* what the routine asked for, in elements */
    void *more;
} tn_lapack_work;

/* One item of a batch, and what its routine needs to know. */
typedef struct {
    const tn_op *op;
    const tn_attr *config;   /* mhlo.backend_config */
    tn_element_type element; /* s, d, c or z */
    tn_lapack_fn routine;
    int m, n, p, q, r, a; /* the dims of the signature, see lapack.c */
    const void *in[4];
    void *out[6];
    tn_lapack_work *work;
    tn_thread_pool *pool; /* of one matrix alone */
} tn_lapack_item;

/* False: out of memory. Failures of the routine itself go into its info result. */
typedef bool tn_lapack_run(const tn_lapack_item *i);

/* signature: operands > results, each a type letter and a letter for each dimension.
 *   types   T the element type, R its real type, C its complex type, I i32
 *   dims    m n p q r a are free, and equal wherever they stand; k is min(m, n), e is max(n - 1, 0)
 */
typedef struct {
    const char *name;           /* "potrf"; of complex types where that is another name: see real */
    const char *real, *complex; /* signatures; NULL: the routine is not for these types */
    tn_lapack_run *run;
    bool by_rows;
    /* Counted from 1: the operand that the routine changes in place, and the result that it is
     * then; in[] and out[] may be the same for these. 0: none. */
    unsigned char from, to;
    /* Vectors that it need not compute: result, counted from 1, and the key of the configuration
     * that is then 'N'. Those of one key go together. */
    struct {
        unsigned char real, complex;
        const char *key;
    } vectors[2];
} tn_lapack_family;

/* Transposes a[n][n] of elements of 4 or 8 bytes in place. */
void tn_lapack_turn(void *a, int64_t n, int64_t width);

void tn_lapack_work_end(tn_lapack_work *w);

int64_t tn_lapack_config_int(const tn_lapack_item *i, const char *key, int64_t otherwise);
char tn_lapack_config_char(const tn_lapack_item *i, const char *key, char otherwise);

/* Whether a batch is one of matrices so small that many are done at once; and all of it. Of the
 * item only sizes and configuration are looked at. */
bool tn_lapack_together_fits(const tn_lapack_family *f, const tn_lapack_item *i, int64_t items);
void tn_lapack_together(const tn_lapack_family *f, const tn_lapack_item *i,
                        const tn_tensor *operands, tn_tensor *results, int64_t items,
                        tn_thread_pool *pool);

/* What a call of LAPACK would take longer for than it computes; on out[0], which is the operand's
 * copy already. `lower`: the triangle of `a` that counts. False: larger, or of another type. */
enum { TN_LAPACK_SMALL = 8 };
bool tn_lapack_small_trsm(const tn_lapack_item *i, bool left, bool lower, bool transposed,
                          bool unit);
bool tn_lapack_small_potrf(const tn_lapack_item *i, bool lower);
bool tn_lapack_small_getrf(const tn_lapack_item *i);

extern const tn_lapack_family tn_lapack_families[]; /* ends with a NULL name */

#endif
