/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - matrix multiplication, C[m, n] = A[m, k] B[k, n], for all element types, any strides and
 * a batch.
 *
 * Types: what is computed in follows from the types of A, B and C.
 * - f32, bf16, f16 in any mix: accumulates in f32, rounds once to C's type
 * - any f64 among the three: accumulates in f64
 * - integers and i1 of any width: wraps; C is the sum modulo 2^bits (i1: whether it isn't 0)
 * - complex numbers: accumulates in their own type, or in f64 if any is complex<f64>
 *
 * Small floats (f8 and less) aren't known here: convert them to f32 first.
 *
 * Values: k is cut into blocks whose size follows from k and the type alone. A block is summed in
 * order of k with fused multiply-adds, starting at +0, and blocks are added in order. (Where one of
 * m and n is very small and the other operand is contiguous along k, sums run in 64 bytes' worth of
 * interleaved lanes instead, added in a fixed tree; a few sums of more than 32,768 elements are
 * made in at most 64 parts, whose sums are added in order. Complex products of some thousand
 * multiply-adds in all are summed in order with every operation rounded.) So the same problem gives
 * the same bits at any number of threads, and on every instruction set that has fused multiply-add.
 * The exception are products of bf16 with bf16 on CPUs with matrix registers (AMX): of each 32
 * elements along k the even and the odd ones are summed apart, then added, then added to the sum so
 * far. That is done only where all values are such that nothing becomes subnormal, infinite or NaN
 * on the way. A small product of f32 with an operand below 2^-100 throughout, or two below 2^-50,
 * is rounded to subnormal numbers once, see gemm_tiny.h, but not in a batch of very small ones, see
 * gemm_batch.h.
 *
 * Threads: any; a call uses the pool for itself. C must not overlap A or B. */
#ifndef TN_KERNELS_GEMM_H
#define TN_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/thread_pool.h"
#include "type/type.h"

enum {
    TN_GEMM_MAX_BATCH = 8,
    /* Where rows or columns are at most so many, and k at least so long, sums may be made in lanes:
     * see above. */
    TN_GEMM_LANE_ROWS = 8,
    TN_GEMM_LANE_K = 8,
};

/* One problem. All strides are in elements, may be 0 (A, B: broadcast) or negative. */
typedef struct {
    tn_element_type a_type, b_type, c_type;
    int64_t m, n, k;      /* >= 0; k = 0 gives zeros */
    bool in_order;        /* never sums in lanes, however the operands lie */
    bool add;             /* to what C holds, each sum with one rounding; see tn_gemm_may_add */
    const void *packed_b; /* what tn_gemm_pack made of B, or NULL */
    int64_t a_row, a_col;
    int64_t b_row, b_col;
    int64_t c_row, c_col; /* fastest when c_col is 1 */
    uint32_t batch_rank;  /* at most TN_GEMM_MAX_BATCH; 0: one product */
    int64_t batch[TN_GEMM_MAX_BATCH];
    int64_t a_batch[TN_GEMM_MAX_BATCH], b_batch[TN_GEMM_MAX_BATCH], c_batch[TN_GEMM_MAX_BATCH];
} tn_gemm;

/* Whether the combination of types is one of those above. */
bool tn_gemm_supports(tn_element_type a, tn_element_type b, tn_element_type c);

/* Whether `g` may be added to what C holds: large enough products of f32 or f64 with short sums. */
bool tn_gemm_may_add(const tn_gemm *g);

/* A B that is multiplied many times: how many bytes, aligned to 64, it takes packed (0: that is of
 * no use), and packing it. Values are the same. */
size_t tn_gemm_packed_bytes(const tn_gemm *g);
void tn_gemm_pack(const tn_gemm *g, const void *b, void *packed, tn_thread_pool *pool);

/* Bytes of working memory that tn_gemm_run can use for `g` on `pool`; may be 0. */
size_t tn_gemm_workspace(const tn_gemm *g, const tn_thread_pool *pool);

/* Computes C. The pointers are to element [0, 0] of batch 0. `workspace`: tn_gemm_workspace bytes,
 * aligned to 64, or NULL: then it is slow (a plain loop), never wrong. The types must be supported.
 */
void tn_gemm_run(const tn_gemm *g, const void *a, const void *b, void *c, tn_thread_pool *pool,
                 void *workspace);

/* A problem of some microseconds, planned once for many runs on the caller's thread: what a loop
 * does at each turn. Values are those of tn_gemm_run. NULL: `g` is empty, or large. */
typedef struct tn_gemm_small tn_gemm_small;
const tn_gemm_small *tn_gemm_small_make(const tn_gemm *g, tn_arena *a);
/* Bytes of working memory, aligned to 64, which a run must be given. */
size_t tn_gemm_small_workspace(const tn_gemm_small *s);
void tn_gemm_small_run(const tn_gemm_small *s, const void *a, const void *b, void *c,
                       void *workspace);

/* About how long one thread takes to multiply, in ns; memory aside. The types must be supported. */
double tn_gemm_ns(const tn_gemm *g);

#endif
