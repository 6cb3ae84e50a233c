/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_plan.h - internal: how one matrix product is computed. The choice follows from the problem
 * and the instruction set, never from the number of threads. */
#ifndef TN_KERNELS_GEMM_PLAN_H
#define TN_KERNELS_GEMM_PLAN_H

#include "kernels/gemm.h"
#include "kernels/gemm_blocks.h"

typedef enum {
    TN_GEMM_ZERO,    /* k = 0 */
    TN_GEMM_PLAIN,   /* a loop over elements: very small complex products */
    TN_GEMM_DIRECT,  /* tiles on A and B where they are: few rows, or small */
    TN_GEMM_DOTS,    /* sums along k: very few rows, B contiguous along k */
    TN_GEMM_ORDERED, /* the same in order of k, eight columns at a time */
    TN_GEMM_PACKED,  /* gemm_blocks.h */
} tn_gemm_path;

/* What is multiplied in matrix registers, see gemm_amx.h: signed or unsigned bytes of A and B. */
typedef enum {
    TN_AMX_NONE,
    TN_AMX_BF16,
    TN_AMX_SS,
    TN_AMX_SU,
    TN_AMX_US,
    TN_AMX_UU,
    TN_AMX_KIND_COUNT
} tn_amx_kind;

/* One product of the batch, A and B possibly exchanged (then C is seen transposed). Strides in
 * bytes. */
typedef struct {
    tn_gemm_path path;
    tn_gemm_kind kind;
    const tn_gemm_table *table;
    const tn_gemm_loops *loops;
    int64_t m, n, k, e; /* e: bytes of an element of the kind */
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    int64_t a_size, b_size, c_size; /* bytes of an element */
    bool a_plain, b_plain, c_plain; /* of the kind's type */
    tn_gemm_load *load_a, *load_b;
    tn_gemm_store *store_c;
    tn_gemm_dots *const *narrow_dots; /* DOTS, and B is widened as it is read; or NULL */
    tn_gemm_ordered *ordered;         /* ORDERED */
    bool exchanged;
    bool add;             /* to what C holds */
    const char *packed_b; /* or NULL */
    bool pairs;           /* PACKED, and operands fit kind P16 */
    tn_amx_kind amx;      /* tried before the path */
} tn_gemm_plan;

tn_gemm_plan tn_gemm_plan_make(const tn_gemm *g);
int64_t tn_gemm_batch_count(const tn_gemm *g);

/* The PLAIN path does a row of A by a column of B at a time, of at most so many elements. */
enum { TN_GEMM_PLAIN_K = 256 };

/* The PACKED path: operands of one product, and the blocks that compute it. */
typedef struct {
    const tn_gemm_plan *p;
    const char *a, *b;
} tn_gemm_matrices;
tn_gemm_blocks tn_gemm_matrix_blocks(const tn_gemm_matrices *s, char *c);

/* Columns [begin, end) of one product on one thread; `workspace` has the bytes that the function
 * after it says. */
void tn_gemm_direct(const tn_gemm_plan *p, const char *a, const char *b, char *c, int64_t begin,
                    int64_t end, char *workspace);
/* Whether C needs no second look: what is added to it is known at once. */
bool tn_gemm_direct_is_one_sum(const tn_gemm_plan *p);
size_t tn_gemm_direct_workspace(const tn_gemm_plan *p);
void tn_gemm_dots_columns(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                          int64_t begin, int64_t end, char *workspace);
void tn_gemm_ordered_columns(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                             int64_t begin, int64_t end);
size_t tn_gemm_dots_workspace(const tn_gemm_plan *p);
/* Few sums of many elements: all of the product, in parts along k for several threads. */
bool tn_gemm_dots_are_long(const tn_gemm_plan *p);
struct tn_work_parts;
void tn_gemm_dots_long(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                       tn_thread_pool *pool, struct tn_work_parts *memory);
#endif
