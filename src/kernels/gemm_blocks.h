/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_blocks.h - internal: the packed, blocked product that gemm and convolution share.
 *
 * C is computed in blocks that fit the caches. For each, rows of A and panels of B are packed in
 * parallel by whoever describes the problem, so A may be a strided matrix or the windows of an
 * image, and then all tiles of the block are computed in parallel. */
#ifndef TN_KERNELS_GEMM_BLOCKS_H
#define TN_KERNELS_GEMM_BLOCKS_H

#include "base/thread_pool.h"
#include "kernels/gemm_kernels.h"

typedef struct {
    tn_gemm_kind kind;
    const tn_gemm_table *table;
    int64_t m, n, k; /* > 0 */

    const void *source; /* for the two below */
    /* Writes rows [i, i + rows) of A, columns [p, p + k), in the kind's type: dst[r * row + q *
     * col], strides in bytes. NULL: A is read where it is, at a + i * a_row + p * a_col. */
    void (*pack_a)(const void *source, int64_t i, int64_t rows, int64_t p, int64_t k, char *dst,
                   int64_t row, int64_t col);
    bool a_by_columns; /* pack_a is given row = element size (fast where A is contiguous along m) */
    const char *a;
    int64_t a_row, a_col;
    /* Writes columns [j, j + cols) of B, rows [p, p + k): dst[q * row + c * element size]. For
     * complex kinds plain interleaved elements, split afterwards. */
    void (*pack_b)(const void *source, int64_t j, int64_t cols, int64_t p, int64_t k, char *dst,
                   int64_t row);

    const char *packed_b; /* what tn_gemm_blocks_pack made of B, in place of pack_b; or NULL */

    char *c;
    int64_t c_row, c_col; /* bytes */
    /* Where rows [i, i + rows) lie, in bytes, in place of i * c_row; or NULL. */
    void (*c_offsets)(const void *source, int64_t i, int64_t rows, int64_t *out);
    tn_gemm_store *store; /* kind to C's type */
    bool c_plain;         /* C is of the kind's type */
    bool add;             /* to what C holds: where it is plain and k one block */
    int threads;          /* of the pool, if there may be working memory for each; else 0 */
} tn_gemm_blocks;

/* Bytes of working memory, which has to be aligned to 64. */
size_t tn_gemm_blocks_workspace(const tn_gemm_blocks *g);
void tn_gemm_blocks_run(const tn_gemm_blocks *g, tn_thread_pool *pool, char *workspace);

/* B as products of all rows read it, which may be used many times. */
size_t tn_gemm_blocks_packed_bytes(const tn_gemm_blocks *g);
void tn_gemm_blocks_pack(const tn_gemm_blocks *g, tn_thread_pool *pool, char *to);

/* About how long `products` multiply-adds of a kind take in tiles. */
double tn_gemm_cost_ns(tn_gemm_kind kind, const tn_gemm_loops *loops, double products);

#endif
