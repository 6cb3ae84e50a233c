/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - values of single ops, straight from the specification, element by element: slow,
 * and sharing with the evaluators nothing but conversions of elements. */
#ifndef TN_TEST_VALUES_REFERENCE_H
#define TN_TEST_VALUES_REFERENCE_H

#include "ops/ops.h"

#define REFERENCE_RANK 16

/* --- indices --- */

typedef struct {
    int64_t v[REFERENCE_RANK];
} place;

/* The place of element i, and back. */
place place_of(const tn_type *t, int64_t i);
int64_t element_at(const tn_type *t, const place *p);
/* Do the first `rank` components lie in the shape? */
bool is_inside(const tn_type *t, const place *p);
bool has(const int64_t *list, uint32_t n, int64_t v);
/* Element i of an integer tensor, saturated to int64. */
int64_t index_value(const tn_tensor *t, int64_t i);

/* --- numbers: integers are exact modulo 2^64, the others long double with the sum of sizes --- */

typedef struct {
    uint64_t whole;
    long double re, im, size; /* size: of all that was added up, for the bound */
    int64_t terms;
    bool wild; /* something infinite or NaN took part: not compared */
} number;

number number_at(const tn_tensor *t, int64_t i);
number product(const tn_type *t, number a, number b);
void add_to(number *sum, number term);
/* Does element i of the tensor hold this number, up to the rounding that the accumulation may
 * have? */
bool holds(const tn_tensor *t, int64_t i, const number *n, bool accumulated);

/* Checks of families; true: the op was one of them. *what tells a difference. */
bool reference_moves(const tn_op *op, const tn_tensor *in, const tn_tensor *out, const char **what);
bool reference_products(const tn_op *op, const tn_tensor *in, const tn_tensor *out,
                        const char **what);
bool reference_folds(const tn_op *op, const tn_tensor *in, const tn_tensor *out, const char **what);
const char *differs_at(const tn_type *t, int64_t i);

#endif
