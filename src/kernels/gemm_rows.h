/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_rows.h - a product whose rows are computed a few at a time, in between other work on them.
 *
 * B is packed once, before the first rows. The bits are those of tn_gemm_run.
 *
 * Threads: packing and rows are the caller's to spread; both run on the calling thread. */
#ifndef TN_KERNELS_GEMM_ROWS_H
#define TN_KERNELS_GEMM_ROWS_H

#include "kernels/gemm.h"

/* Whether it can be done: f32 or f64 throughout, rows of C contiguous, and neither so few rows nor
 * so few columns that tn_gemm_run would sum along k. */
bool tn_gemm_rows_fit(const tn_gemm *g);
/* Rows of a full tile: multiples of it are computed best. */
int64_t tn_gemm_rows_unit(const tn_gemm *g);
/* About how long a row takes. */
double tn_gemm_rows_ns(const tn_gemm *g);

/* Bytes of the packed B of all products of the batch, and items of equal size into which packing is
 * divided. The memory has to be aligned to 64. */
size_t tn_gemm_rows_packed_bytes(const tn_gemm *g);
int64_t tn_gemm_rows_pack_items(const tn_gemm *g);
void tn_gemm_rows_pack(const tn_gemm *g, const void *b, void *packed, int64_t begin, int64_t end);

/* Bytes that tn_gemm_rows_run needs to work in for `rows` rows; aligned to 64. */
size_t tn_gemm_rows_workspace(const tn_gemm *g, int64_t rows);
/* Rows [first, first + rows) of product `product` of the batch. a: element [0, 0] of A of product
 * 0; c: the first of these rows. */
void tn_gemm_rows_run(const tn_gemm *g, int64_t product, const void *a, const void *packed,
                      int64_t first, int64_t rows, void *c, void *workspace);

#endif
