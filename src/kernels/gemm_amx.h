/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_amx.h - internal: products of bytes and of bf16 in the matrix registers (AMX) of x86-64.
 *
 * Both operands are packed whole, into tiles of 1 KiB: a tile of A is 16 rows by 64 bytes along k,
 * one of B is 64 bytes along k by 16 columns, four bytes along k of each column together. Sums of
 * bytes are exact. Sums of bf16 are made of f32 sums over the even and the odd ones of 32 elements
 * along k each, without subnormal numbers: see tn_gemm_amx_run. */
#ifndef TN_KERNELS_GEMM_AMX_H
#define TN_KERNELS_GEMM_AMX_H

#include "kernels/gemm_plan.h"

/* Whether this process may use the matrix registers: the CPU has them, the system lets us, and
 * TN_ISA and TN_AMX don't say otherwise. The first call asks the system for the whole process. */
bool tn_amx_usable(void);

/* How the product of these two types is made there; TN_AMX_NONE if it isn't, or isn't worth it. */
tn_amx_kind tn_gemm_amx_kind(const tn_gemm_plan *p, tn_element_type a, tn_element_type b);

size_t tn_gemm_amx_workspace(const tn_gemm_plan *p, int threads);
/* One product. False: nothing is written, since values of bf16 are such that flushing subnormal
 * numbers could show, or a sum might overflow in one order and not in another.
 *
 * Flushing can't show if the smallest operands (but 0) have exponents with eA + eB - 14 >= -126 and
 * none is subnormal: a bf16 has 8 significant bits, so every product, and hence every sum, rounded
 * or not, is a multiple of 2^(eA + eB - 14), which is a normal f32. */
bool tn_gemm_amx_run(const tn_gemm_plan *p, const char *a, const char *b, char *c,
                     tn_thread_pool *pool, char *workspace);

/* The kind for two types of elements; TN_AMX_NONE if it isn't bytes or bf16. */
tn_amx_kind tn_amx_kind_of(tn_element_type a, tn_element_type b);

/* The smallest |x| but 0, minus one, and the largest |x| of bf16 numbers, as 16-bit integers. */
typedef struct {
    uint16_t low, high;
} tn_amx_range;
#define TN_AMX_NO_RANGE ((tn_amx_range){UINT16_MAX, 0})
/* Whether sums of k products of bf16 numbers in these ranges come out as they should. */
bool tn_amx_values_fit(tn_amx_range a, tn_amx_range b, int64_t k);

/* --- gemm_amx_isa.c --- */

enum { TN_AMX_LANES = 16, TN_AMX_ROW = 64, TN_AMX_TILE = 1024 };

/* Elements to pack: lanes are rows of A or columns of B. Strides in bytes; one of the two is the
 * element size. */
typedef struct {
    const char *src;
    int64_t lane, along_k;
    int64_t lanes, k, e;
    bool is_b;
} tn_amx_operand;

/* Writes the tiles of `panels` times 16 lanes from 16 panel on, lanes and elements beyond the end
 * as 0. Best for some panels at once, such that lines are used whole. */
void tn_amx_pack(const tn_amx_operand *o, int64_t panel, int64_t panels, char *dst,
                 tn_amx_range *range);

/* Copies rows, filled with 0 to whole 64 bytes. */
void tn_amx_copy(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t rows,
                 int64_t bytes, tn_amx_range *range);

/* c = (add ? c : 0) + sum over `steps` tiles. The tile of A of step s has its rows, a_row bytes
 * apart, at a + at[s]; a_panel, b_panel: bytes from one panel to the next. */
typedef void tn_amx_block(int64_t steps, const char *a, const int64_t *at, int64_t a_row,
                          int64_t a_panel, const char *b, int64_t b_panel, char *c, int64_t c_row,
                          bool add);
/* [kind - 1][2 * (panels of A - 1) + panels of B - 1] */
extern tn_amx_block *const tn_amx_blocks[TN_AMX_KIND_COUNT - 1][4];

/* Around uses of blocks on a thread. Nothing is left in the registers. */
void tn_amx_begin(void);
void tn_amx_end(void);

#endif
