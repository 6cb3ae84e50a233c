/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.h - what is measured, and the references: numbers of 113 bits where the C library has
 * functions of them, long double elsewhere. */
#ifndef TN_TEST_ACCURACY_H
#define TN_TEST_ACCURACY_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/ir.h"

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define HAS_QUAD 1
typedef _Float128 quad;
#else
#define HAS_QUAD 0
typedef long double quad;
#endif

quad scale_quad(quad x, int exponent); /* x * 2^exponent */
int exponent_of_quad(quad x);          /* as frexp's */

typedef struct {
    const char *name; /* as in StableHLO */
    tn_op_kind kind;
    int arity;
    quad (*real)(double a, double b);
    void (*complex)(const double *a, const double *b, quad *out); /* NULL: not measured */
    double widest; /* parts of complex operands, at most */
    /* A part of a complex value may vanish where nothing in it is exact: errors are in last places
     * of the larger part. */
    bool by_size;
} function;

extern const function functions[]; /* ends with a NULL name */

static inline bool one_in_two(uint64_t bits)
{
    return bits & 1;
}

#endif
