/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - loops over dense arrays for elementwise ops and conversions, one build for each
 * instruction set.
 *
 * A kernel is data: a function and what it needs to know, so that a caller fills one once and calls
 * it per tile for some nanoseconds. Every build gives the same bits: nothing is contracted, and
 * fused multiply-adds are written out. An element's value never depends on its position or on n.
 *
 * Threads: kernels are immutable and keep no state. */
#ifndef TN_KERNELS_ELEMENTWISE_H
#define TN_KERNELS_ELEMENTWISE_H

#include "base/cpu_features.h"
#include "ir/ir.h"

typedef struct tn_kernel tn_kernel;
typedef void tn_kernel_fn(const tn_kernel *k, size_t n, const void *const *in, void *out);

#define TN_KERNEL_OPERANDS 3
#define TN_KERNEL_STAGES   3

struct tn_kernel {
    tn_kernel_fn *run;
    uint8_t n_operands;
    uint8_t in_step[TN_KERNEL_OPERANDS]; /* bytes from one element to the next; 0: a scalar */
    uint8_t out_step;
    /* The rest is private to the kernels. */
    uint8_t mid_step[TN_KERNEL_STAGES]; /* bytes of an element after each stage */
    tn_kernel_fn *stages[TN_KERNEL_STAGES];
    union {
        int32_t bits[4]; /* reduce_precision: exponent, mantissa; see elementwise.c for the rest */
        const void *data;
    };
};

/* Computes n elements: in[i] points to n elements of operand i (one if in_step[i] is 0). `out` may
 * be in[i] if their steps are equal; it overlaps no operand otherwise. */
static inline void tn_kernel_run(const tn_kernel *k, size_t n, const void *const *in, void *out)
{
    k->run(k, n, in, out);
}

/* Fills `out` with the kernel of ISA `isa` and returns true, or returns false if StableHLO doesn't
 * define the op on that type. `e` is the operands' element type. */
bool tn_kernel_elementwise(tn_isa isa, tn_op_kind op, tn_element_type e, tn_kernel *out);
/* direction and type are values of enums.def; `total` orders -NaN < -inf < -0 < +0 < inf < NaN. */
bool tn_kernel_compare(tn_isa isa, int direction, bool total, tn_element_type e, tn_kernel *out);
/* Every pair of element types but tokens. From floats to integers: truncates, saturates, NaN is 0.
 */
bool tn_kernel_convert(tn_isa isa, tn_element_type from, tn_element_type to, tn_kernel *out);
/* Operands: pred (i1), on_true, on_false. */
bool tn_kernel_select(tn_isa isa, bool scalar_pred, tn_element_type e, tn_kernel *out);
/* Operands: min, operand, max. */
bool tn_kernel_clamp(tn_isa isa, bool scalar_min, bool scalar_max, tn_element_type e,
                     tn_kernel *out);
/* exponent_bits >= 1, mantissa_bits >= 0; widths beyond those of the type change nothing. */
bool tn_kernel_reduce_precision(tn_isa isa, int exponent_bits, int mantissa_bits, tn_element_type e,
                                tn_kernel *out);

/* Operands: a table of `size` elements of `bytes` bytes, and indices, i32, that are moved into
 * [0, size), size < 2^31. False: there is none for that width. */
bool tn_kernel_take(tn_isa isa, unsigned bytes, int64_t size, tn_kernel *out);

/* Operands: both words of a key, u32, and counters. Gives the exclusive or of the words of the
 * block of Threefry-2x32 with the counter (0, counter). */
bool tn_kernel_threefry_bits(tn_isa isa, tn_kernel *out);

/* --- between the files of the family --- */

/* Elements that composed kernels hold in buffers on the stack. */
#define TN_KERNEL_TILE 512

/* What one build supplies: functions on types that have a C type of their own, NULL for the rest.
 * i4 and u4 count as types of their own, narrow floats don't. */
typedef struct {
    tn_kernel_fn *(*elementwise)(tn_op_kind op, tn_element_type e);
    tn_kernel_fn *(*compare)(int direction, bool total, tn_element_type e);
    tn_kernel_fn *(*clamp)(bool scalar_min, bool scalar_max, tn_element_type e);
    tn_kernel_fn *(*select)(bool scalar_pred, unsigned element_bytes);
    /* Between i1, i8..i64, u8..u64, f32, f64; from floats to i4, i2, u4, u2 too. */
    tn_kernel_fn *(*convert)(tn_element_type from, tn_element_type to);
    tn_kernel_fn *(*wrap)(tn_element_type to);   /* one-byte integers to i4, i2, u4, u2 */
    tn_kernel_fn *(*load)(tn_element_type from); /* narrow floats to f32 */
    tn_kernel_fn *(*store)(tn_element_type to);  /* f32 to narrow floats */
    /* i32, u32, i64, u64, f64 to f32, inexact results rounded to odd: what is then rounded to a
     * narrower float is as if it had been rounded once. */
    tn_kernel_fn *(*to_odd)(tn_element_type from);
    tn_kernel_fn *(*real_part)(tn_element_type from);     /* complex to its real type */
    tn_kernel_fn *(*to_complex)(tn_element_type from);    /* f32 or f64 to complex, imag 0 */
    tn_kernel_fn *(*reduce_precision)(tn_element_type e); /* f32, f64 */
} tn_elementwise_build;

extern const tn_elementwise_build tn_elementwise_build_baseline, tn_elementwise_build_avx2,
    tn_elementwise_build_avx512;

#endif
