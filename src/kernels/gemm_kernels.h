/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_kernels.h - internal: the inner loops of gemm and convolution, one table for each
 * instruction set.
 *
 * A kind is what a product is computed in. A tile is a block of C that lives in registers: up to
 * `mr` rows by `nv` vectors of `vl` elements. All strides here are in bytes. */
#ifndef TN_KERNELS_GEMM_KERNELS_H
#define TN_KERNELS_GEMM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "type/type.h"

/* X(KIND, element type that holds it, k block). The k block is part of a product's value, see
 * gemm.h. */
#define TN_GEMM_KINDS(X)                                                                           \
    X(F32, F32, 384)                                                                               \
    X(F64, F64, 256)                                                                               \
    X(I32, I32, 384)                                                                               \
    X(I64, I64, 256)                                                                               \
    X(P16, I32, 384)                                                                               \
    X(C64, C64, 256)                                                                               \
    X(C128, C128, 192)

typedef enum {
#define X(KIND, element, block) TN_GEMM_##KIND,
    TN_GEMM_KINDS(X)
#undef X
        TN_GEMM_KIND_COUNT,
    TN_GEMM_NONE = TN_GEMM_KIND_COUNT
} tn_gemm_kind;

/* Tiles of sums of at most so many products ask for the lines of C that they write. */
enum { TN_TILE_ASKS = 48 };

/* What a tile does with C. */
typedef enum {
    TN_TILE_STORE, /* C = sum */
    TN_TILE_ADD,   /* C = C + sum */
    TN_TILE_CHAIN  /* C goes on being summed: the first product is added to it */
} tn_tile_mode;

/* Steps through A and B beyond one run of k products, for sums that go on elsewhere. */
typedef struct {
    int64_t n, a, b; /* runs, and bytes from the start of one to the start of the next */
} tn_tile_runs;

/* One tile. A is read at a + i * a_row + p * a_col, B at b + p * b_row, and C is at c + i * c_row
 * (any alignment), `cols` elements of both: whole vectors, or where tn_gemm_loops.masked says so up
 * to as many. `runs`: NULL for one run. Complex kinds: A is
 * interleaved; a row of B holds nv vectors of real, then nv of imaginary parts; so does a row of C,
 * and the mode must be STORE. */
typedef void tn_gemm_tile(int64_t k, const char *a, int64_t a_row, int64_t a_col, const char *b,
                          int64_t b_row, char *c, int64_t c_row, int64_t cols, tn_tile_mode mode,
                          const tn_tile_runs *runs);

/* Sums along k in 64-byte lane vectors: lanes[r][c] += A[r] * B[c] for `steps` steps of 64 bytes.
 */
typedef void tn_gemm_dots(int64_t steps, const char *a, int64_t a_row, const char *b, int64_t b_col,
                          char *lanes);

/* Elements of B that lane sums widen as they read them; 16 of them for each step. */
typedef enum {
    TN_GEMM_NARROW_BF16,
    TN_GEMM_NARROW_I8,
    TN_GEMM_NARROW_U8,
    TN_GEMM_NARROW_COUNT,
} tn_gemm_narrow;

/* `vl` very small products side by side: element [i, p] of all of them is one vector, A's at
 * a[i * a_row + p * a_col], so is B's, and C's at c[(i * n + j) * step]. Steps in vectors. */
typedef struct {
    int64_t m, n, k;
    const char *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    char *c;
    int64_t step;
} tn_gemm_together;

typedef struct {
    int mr, nv, vl;
    tn_gemm_tile *const *tiles; /* [(rows - 1) * nv + vectors - 1] */
    int masked;                 /* tiles of up to so many vectors need not be whole ones */
    /* Lane sums, [log2 rows][log2 cols] for powers of two up to the limits; NULL: kind has none. */
    int dot_rows, dot_cols;
    tn_gemm_dots *const *dots; /* [3 * log2 rows + log2 cols] */
    /* One row by 1 or 4 columns of narrower elements; see tn_gemm_narrow. */
    tn_gemm_dots *const *narrow_dots[TN_GEMM_NARROW_COUNT];
    /* One row by one column: step s of lanes is added to lanes[s % 4]. */
    void (*dot_line)(int64_t steps, const char *a, const char *b, char *lanes);
    /* out[i] = the sum of lanes[i], in a fixed tree. */
    void (*reduce_lanes)(const char *lanes, int64_t n, char *out);
    /* The same sums of one row by `cols` columns, all of k at once: out[j]. */
    void (*dot_row)(int64_t k, const char *a, const char *b, int64_t b_col, int64_t cols,
                    char *out);
    /* A tile of one row by n columns, whole vectors, that reads along rows of B, for sums that
     * start or go on; NULL: kind has none. */
    void (*stream)(int64_t k, const char *a, int64_t a_col, const char *b, int64_t b_row, char *c,
                   int64_t n, bool chain);
    /* Products side by side, summed in order of k, or in lanes as above; NULL: kind has none. */
    void (*batch)(const tn_gemm_together *g);
    void (*batch_dots)(const tn_gemm_together *g);
} tn_gemm_loops;

/* Sums in order of k of 1 row by up to 16 columns or 4 rows by up to 8, A of f32 and both
 * contiguous along k: out[16] or [4][8]. */
typedef void tn_gemm_ordered(int64_t rows, int64_t k, const char *a, int64_t a_row, const char *b,
                             int64_t b_col, int64_t cols, float *out);

typedef struct {
    tn_gemm_loops kinds[TN_GEMM_KIND_COUNT];
    /* Columns of f32, then of narrower elements; NULL where there is none. */
    tn_gemm_ordered *ordered[1 + TN_GEMM_NARROW_COUNT];
    /* dst[p][i] = src[i][p] for 4- and 8-byte elements; i < rows, p < cols; strides in bytes. */
    void (*transpose4)(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows,
                       int64_t cols);
    void (*transpose8)(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows,
                       int64_t cols);
    /* n dense elements to f32 and back, half floats as half.h does. */
    void (*f32_of_bf16)(float *dst, const uint16_t *src, int64_t n);
    void (*f32_of_f16)(float *dst, const uint16_t *src, int64_t n);
    void (*f32_of_i8)(float *dst, const int8_t *src, int64_t n);
    void (*f32_of_u8)(float *dst, const uint8_t *src, int64_t n);
    void (*f32_of_i16)(float *dst, const int16_t *src, int64_t n);
    void (*f32_of_u16)(float *dst, const uint16_t *src, int64_t n);
    void (*bf16_of_f32)(uint16_t *dst, const float *src, int64_t n);
    void (*f16_of_f32)(uint16_t *dst, const float *src, int64_t n);
    /* Triangular systems side by side, of f32 and f64: x[j] = (x[j] - sum of c[j][i] x[i], i < j)
     * c[j][j] for j < n in order, where an element of x is `vectors` whole vectors; c[n][n]. */
    void (*solve4)(int64_t n, int64_t vectors, const char *c, char *x);
    void (*solve8)(int64_t n, int64_t vectors, const char *c, char *x);
    /* `rows` rows of whole vectors (1 or 2), read at any address, written one after the other. */
    void (*copy_panel)(char *dst, const char *src, int64_t src_row, int64_t rows, int64_t vectors);
} tn_gemm_table;

/* The table for this machine. */
const tn_gemm_table *tn_gemm_table_get(void);

/* Reads n elements, `stride` bytes apart, into dense elements of a kind (P16: 16-bit integers). */
typedef void tn_gemm_load(char *dst, const char *src, int64_t stride, int64_t n);
/* Writes n dense elements of a kind to elements `stride` bytes apart, or adds them to what is
 * there. */
typedef void tn_gemm_store(char *dst, int64_t stride, const char *src, int64_t n, bool add);

/* NULL where the kind can't be read from (written to) the type. */
tn_gemm_load *tn_gemm_load_for(tn_gemm_kind kind, tn_element_type type);
tn_gemm_store *tn_gemm_store_for(tn_gemm_kind kind, tn_element_type type);

/* The kind of a product; never P16. */
tn_gemm_kind tn_gemm_kind_for(tn_element_type a, tn_element_type b, tn_element_type c);
tn_element_type tn_gemm_kind_type(tn_gemm_kind kind);
/* Size of one k block when k is cut: at most the kind's limit, all blocks but the last equal. */
int64_t tn_gemm_k_block(tn_gemm_kind kind, int64_t k);
/* dst = x[0] y[0] x[1] y[1] ... of 16-bit elements. */
void tn_gemm_interleave16(char *dst, const char *x, const char *y, int64_t n);
/* sum = x * y + sum on one element of a kind. */
void tn_gemm_multiply_add(tn_gemm_kind kind, const char *x, const char *y, char *sum);
/* out = sum of x[i] * y[i] over n elements of a complex kind, every operation rounded. */
void tn_gemm_sum_complex(tn_gemm_kind kind, const char *x, const char *y, int64_t n, char *out);
/* Each of `rows` rows of `width` elements, re im re im ..., becomes re re ... im im ..., in place.
 */
void tn_gemm_split_complex(tn_gemm_kind kind, char *panel, int64_t rows, int64_t width);
/* The first `cols` elements of a row of `width` that was split, joined again. */
void tn_gemm_join_complex(tn_gemm_kind kind, char *dst, const char *row, int64_t width,
                          int64_t cols);
static inline bool tn_gemm_is_complex(tn_gemm_kind kind)
{
    return kind >= TN_GEMM_C64;
}

#endif
